//! The transmitter of DVB-S2X, stage by stage, and the tables of the standard against the whole reference data.

use std::fs;
use std::path::{Path, PathBuf};

use super::transmit::{reference_stream, sha256, two_frames_of};
use bief_dsp::Complex32;
use bief_dsp::dvbs2::crc::crc8;
use bief_dsp::dvbs2::ldpc::Code;
use bief_dsp::dvbs2::plheader::pls_codeword;
use bief_dsp::dvbs2::scramble::{PlScrambler, scramble_bbframe};
use bief_dsp::dvbs2::{
    BBHEADER, BbHeader, Constellation, Fec, FrameSize, Layout, PACKET, PlframeBuilder, Pls, Rate, RollOff, VlSnr,
    VlSnrEncoder,
};
use serde_json::Value;

/// The reference data, or `None`, said aloud, where it is not at hand.
fn reference() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/dvbs2x"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} not found", folder.display());
    None
}

fn json(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The PLS of an entry, without pilots.
fn pls(entry: &Value) -> Pls {
    Pls::new(entry["pls"].as_u64().unwrap() as u8)
}

fn with_pilots(pls: Pls) -> Pls {
    Pls::new(pls.value() + 1)
}

fn plframe(pls: Pls, codeword: &[u8]) -> Vec<Complex32> {
    let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).unwrap();
    let mut frame = vec![Complex32::ZERO; builder.layout().symbols()];
    builder.build(codeword, &mut frame);
    frame
}

fn assert_near(found: &[Complex32], path: &Path) {
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let bytes = fs::read(path).unwrap();
    assert_eq!(8 * found.len(), bytes.len(), "{}", path.display());
    for (i, (found, expected)) in found.iter().zip(bytes.chunks_exact(8)).enumerate() {
        let expected = Complex32::new(float(&expected[..4]), float(&expected[4..]));
        assert!((found - expected).norm() < 1e-6, "{}: symbol {i} is {found}, not {expected}", path.display());
    }
}

#[test]
fn seven_sets_agree_at_every_stage() {
    let Some(folder) = reference() else { return };
    let folder = folder.join("vectors");
    let index = json(folder.join("index.json"));
    let sets = index["sets"].as_array().unwrap().iter().filter(|set| pls(set).fec().is_some());
    assert_eq!(sets.clone().count(), 7);
    for set in sets {
        let pls = pls(set);
        let (modcod, size) = (pls.modcod().unwrap(), pls.frame_size());
        let name = set["name"].as_str().unwrap();
        let file = |stage: &str| folder.join(name).join(stage);
        let frames = two_frames_of(modcod, size, RollOff::R10);
        for (i, frame) in frames.iter().enumerate() {
            for (stage, made) in [
                ("1_bbframe.bin", &frame.bbframe),
                ("2_scrambled.bin", &frame.scrambled),
                ("3_bch.bin", &frame.bch),
                ("4_ldpc.bin", &frame.ldpc),
                ("5_labels.bin", &frame.labels),
            ] {
                let expected = fs::read(file(stage)).unwrap();
                assert_eq!(expected.len(), 2 * made.len(), "{name} {stage}");
                assert!(expected[i * made.len()..].starts_with(made), "{name} {stage} {i}");
            }
        }
        let mut mapped = vec![Complex32::ZERO; frames[0].labels.len()];
        Constellation::new(modcod, size).map(&frames[0].labels, &mut mapped);
        assert_near(&mapped, &file("6_mapped.cf32"));
        assert_near(&plframe(pls, &frames[0].ldpc), &file("7_plframe_no_pilots.cf32"));
        assert_near(&plframe(with_pilots(pls), &frames[0].ldpc), &file("7_plframe_pilots.cf32"));
    }
}

#[test]
fn every_modcod_agrees() {
    let Some(folder) = reference() else { return };
    let index = json(folder.join("vectors/index.json"));
    let entries = index["all_modcods"].as_array().unwrap().iter().filter(|entry| pls(entry).fec().is_some());
    assert_eq!(entries.clone().count(), 55);
    for entry in entries {
        let pls = pls(entry);
        assert_eq!(entry["modcod"], pls.modcod().unwrap().to_string());
        let frames = two_frames_of(pls.modcod().unwrap(), pls.frame_size(), RollOff::R10);
        for (frame, digests) in frames.iter().zip(["sha256_frame0", "sha256_frame1"]) {
            for (stage, made) in [
                ("bbframe", &frame.bbframe),
                ("scrambled", &frame.scrambled),
                ("bch", &frame.bch),
                ("ldpc", &frame.ldpc),
                ("labels", &frame.labels),
            ] {
                assert_eq!(entry[digests][stage], sha256(made), "{pls} {stage}");
            }
        }
        let file = entry["name"].as_str().unwrap();
        let codeword = fs::read(folder.join(format!("vectors/all_modcods/{file}.ldpc.bin"))).unwrap();
        assert!(codeword == frames[0].ldpc, "{pls}");
    }
}

#[test]
fn frame_parameters_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("modcods.json"));
    for entry in tables["modcods"].as_array().unwrap() {
        let pls = pls(entry);
        let (modcod, fec) = (pls.modcod().unwrap(), pls.fec().unwrap());
        assert_eq!(entry["name"], modcod.to_string());
        assert_eq!(entry["modulation"], modcod.modulation().to_string());
        assert_eq!(entry["code"], modcod.rate(pls.frame_size()).to_string());
        assert_eq!(entry["frame"], pls.frame_size().to_string());
        assert_eq!(entry["kbch"], fec.kbch);
        if let Some(es_n0) = entry["esn0_qef_db"].as_f64().filter(|_| pls.value() == modcod.number()) {
            assert_eq!(es_n0 as f32, modcod.ideal_esn0_db());
        }
        let [without, with] = [pls, with_pilots(pls)].map(|pls| Layout::new(pls).unwrap());
        assert_eq!(entry["slots"], without.slots());
        assert_eq!(entry["pilot_blocks"], with.pilot_blocks());
        assert_eq!(entry["plframe_no_pilots"], without.symbols());
        assert_eq!(entry["plframe_pilots"], with.symbols());
    }
    for entry in tables["pls_code"]["reserved_with_known_length"].as_array().unwrap() {
        let pls = pls(entry);
        let layout = Layout::new(pls).unwrap();
        assert_eq!((entry["plframe"].as_u64(), pls.fec()), (Some(layout.symbols() as u64), None), "{pls}");
    }
    for entry in tables["vlsnr"].as_array().unwrap() {
        assert_eq!(entry["plframe"], Layout::new(pls(entry)).unwrap().symbols());
    }
    for (size, list) in [(FrameSize::Normal, "fec_normal"), (FrameSize::Short, "fec_short")] {
        for entry in tables[list].as_array().unwrap() {
            let fec =
                Fec::new(size, *Rate::ALL.iter().find(|rate| entry["rate"] == rate.to_string()).unwrap()).unwrap();
            let told = ["kbch", "nbch_kldpc", "nldpc", "bch_t", "q", "max_dfl"].map(|key| entry[key].as_u64().unwrap());
            let known = [fec.kbch, fec.nbch, fec.nldpc, fec.bch_t, fec.q, fec.max_dfl()];
            assert_eq!(told, known.map(|number| number as u64));
        }
    }
}

#[test]
fn header_codewords_and_address_tables_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("framing_tables.json"));
    let codewords = tables["pls"]["codewords_after_scrambling_pls_128_to_255"].as_array().unwrap();
    assert_eq!(codewords.len(), 128);
    for (pls, codeword) in Pls::all().skip(128).zip(codewords) {
        assert_eq!(codeword, &format!("{:016X}", pls_codeword(pls)), "{pls}");
    }
    let mut seen = 0;
    for (size, file) in [(FrameSize::Normal, "ldpc_normal.json"), (FrameSize::Short, "ldpc_short.json")] {
        for entry in json(folder.join(file))["codes"].as_array().unwrap() {
            let Some(rate) = Rate::ALL.iter().find(|rate| entry["rate"] == rate.to_string()) else {
                assert_eq!(entry["rate"], "2/9", "a code of VL-SNR frames");
                continue;
            };
            let rows: Vec<Vec<u16>> = serde_json::from_value(entry["rows"].clone()).unwrap();
            assert_eq!(Code::get(size, *rate).unwrap().rows, rows, "{rate} {size}");
            seen += 1;
        }
    }
    assert_eq!(seen, 30);
}

/// BBFRAME `number` of the reference stream with a roll-off of 0.10, of any number of bits.
fn bbframe(number: usize, kbch: usize) -> Vec<u8> {
    let mut stream = reference_stream();
    let mut crc = 0;
    for packet in stream.chunks_exact_mut(PACKET) {
        packet[0] = std::mem::replace(&mut crc, crc8(&packet[1..]));
    }
    let dfl = kbch - 8 * BBHEADER;
    let start = number * dfl;
    let header = BbHeader {
        syncd: (start.next_multiple_of(8 * PACKET) - start) as u16,
        roll_off: [None, Some(RollOff::R25)][number],
        ..BbHeader::transport(RollOff::R25, dfl as u16)
    };
    let mut frame = header.to_bytes().to_vec();
    frame.resize(kbch.div_ceil(8), 0);
    for bit in 0..dfl {
        let value = stream[(start + bit) / 8] >> (7 - (start + bit) % 8) & 1;
        frame[BBHEADER + bit / 8] |= value << (7 - bit % 8);
    }
    frame
}

#[test]
fn every_vl_snr_frame_agrees() {
    let Some(folder) = reference() else { return };
    let folder = folder.join("vectors");
    let index = json(folder.join("index.json"));
    let header_index = |entry: &Value| entry["vlsnr_header_index"].as_u64();
    let entries = index["all_modcods"].as_array().unwrap().iter().filter(|entry| header_index(entry).is_some());
    assert_eq!(entries.clone().count(), 9);
    let mut sets = 0;
    for entry in entries {
        let name = entry["name"].as_str().unwrap();
        let kind = VlSnr::of_header(header_index(entry).unwrap() as u8).unwrap();
        assert_eq!(
            (kind.pls(), entry["frame"].as_str().unwrap()),
            (pls(entry), kind.frame_size().to_string().as_str())
        );
        let mut encoder = VlSnrEncoder::new(kind);
        let mut scrambled = [vec![], vec![]];
        for (number, digests) in ["sha256_frame0", "sha256_frame1"].into_iter().enumerate() {
            let made = bbframe(number, kind.kbch());
            assert_eq!(entry[digests]["bbframe"], sha256(&made), "{name}");
            scrambled[number] = made;
            scramble_bbframe(&mut scrambled[number]);
            if !kind.kbch().is_multiple_of(8) {
                *scrambled[number].last_mut().unwrap() &= 0xFF << (8 - kind.kbch() % 8);
            }
            let stages = [
                ("scrambled", scrambled[number].clone()),
                ("bch", encoder.encode_bch(&scrambled[number])),
                ("ldpc", encoder.encode(&scrambled[number])),
            ];
            for (stage, made) in stages {
                assert_eq!(entry[digests][stage], sha256(&made), "{name} {stage}");
            }
        }
        let file = fs::read(folder.join(format!("all_modcods/{name}.ldpc.bin"))).unwrap();
        assert!(file == encoder.encode(&scrambled[0]), "{name}");
        let symbols = folder.join(name).join("7_plframe_pilots.cf32");
        if symbols.is_file() {
            sets += 1;
            let mut frame = vec![Complex32::ZERO; encoder.symbols()];
            encoder.build(&scrambled[0], PlScrambler::broadcast(), &mut frame);
            assert_near(&frame, &symbols);
        }
    }
    assert_eq!(sets, 2);
}

#[test]
fn vl_snr_parameters_and_headers_agree() {
    let Some(folder) = reference() else { return };
    for entry in json(folder.join("modcods.json"))["vlsnr"].as_array().unwrap() {
        let kind = VlSnr::of_header(entry["header_index"].as_u64().unwrap() as u8).unwrap();
        let told = ["kbch", "nbch", "kldpc", "nldpc", "transmitted_bits", "data_symbols"];
        let code = kind.code();
        let known = [kind.kbch(), kind.nbch(), code.kldpc, code.nldpc, kind.sent_bits(), kind.data_symbols()];
        assert_eq!(told.map(|key| entry[key].as_u64().unwrap()), known.map(|number| number as u64), "{kind}");
        assert_eq!(entry["esn0_measured_fer_1e-2_db"].as_f64().unwrap() as f32, kind.ideal_esn0_db(), "{kind}");
    }
    let tables = json(folder.join("framing_tables.json"));
    for kind in VlSnr::all() {
        let words = tables["vlsnr_header"]["patterns_896bit_hex_by_header_index"].as_array().unwrap();
        let word = words[usize::from(kind.header_index())].as_str().unwrap();
        let header = kind.header_symbols();
        for (bit, symbol) in header[2..898].iter().enumerate() {
            let digit = u8::from_str_radix(&word[bit / 4..=bit / 4], 16).unwrap();
            let is_one = digit >> (3 - bit % 4) & 1 == 1;
            assert_eq!(symbol.im < 0.0, is_one, "{kind}, {bit}");
        }
        let set = if kind.pls().value() == 129 { "set1" } else { "set2" };
        let pieces = tables["vlsnr_layout"][set].as_array().unwrap();
        let told = pieces.iter().map(|piece| piece[1].as_u64().unwrap() as usize);
        let known = kind.runs().flat_map(|(data, pilots)| [data.len(), pilots.len()]).filter(|length| *length > 0);
        assert!(told.eq(known), "{kind}");
    }
}
