//! The transmitter of DVB-S2X, stage by stage, and the tables of the standard against the whole reference data.

use std::fs;
use std::path::{Path, PathBuf};

use super::transmit::{sha256, two_frames_of};
use bief_dsp::Complex32;
use bief_dsp::dvbs2::ldpc::Code;
use bief_dsp::dvbs2::plheader::pls_codeword;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Constellation, Fec, FrameSize, Layout, PlframeBuilder, Pls, Rate, RollOff};
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
