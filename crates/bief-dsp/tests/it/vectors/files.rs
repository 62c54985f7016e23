//! The transmitter, stage by stage, and the tables of the standard against the whole reference data.

use std::fs;
use std::path::PathBuf;

use super::transmit::{reference_stream, sha256, two_frames};
use bief_dsp::Complex32;
use bief_dsp::dvbs2::ldpc::Code;
use bief_dsp::dvbs2::plheader::{SOF, pls_codeword};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{
    Constellation, Fec, FrameSize, Interleaver, Layout, Modcod, Modulation, PlframeBuilder, Pls, Rate,
};
use serde_json::Value;

/// The reference data, or `None`, said aloud, where it is not at hand.
fn reference() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/dvbs2"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} not found", folder.display());
    None
}

fn json(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn symbols(path: PathBuf) -> Vec<Complex32> {
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    fs::read(path).unwrap().chunks_exact(8).map(|pair| Complex32::new(float(&pair[..4]), float(&pair[4..]))).collect()
}

fn assert_near(found: &[Complex32], expected: &[Complex32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).norm() < 1e-5, "{what}: symbol {i} is {a}, not {b}");
    }
}

fn modcod(entry: &Value) -> Modcod {
    Modcod::new(entry["modcod"].as_u64().unwrap() as u8).unwrap()
}

fn frame_size(entry: &Value) -> FrameSize {
    match entry["frame"].as_str().unwrap() {
        "normal" => FrameSize::Normal,
        "short" => FrameSize::Short,
        other => panic!("frame size {other}"),
    }
}

fn plframe(pls: Pls, codeword: &[u8]) -> Vec<Complex32> {
    let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).unwrap();
    let mut frame = vec![Complex32::ZERO; builder.layout().symbols()];
    builder.build(codeword, &mut frame);
    frame
}

#[test]
fn the_reference_stream_is_the_one_on_file() {
    let Some(folder) = reference() else { return };
    let file = fs::read(folder.join("vectors/ts_input.ts")).unwrap();
    assert_eq!(reference_stream(), file);
}

#[test]
fn five_sets_agree_at_every_stage() {
    let Some(folder) = reference() else { return };
    let folder = folder.join("vectors");
    let index = json(folder.join("index.json"));
    let sets = index["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 5);
    for set in sets {
        let (modcod, size) = (modcod(set), frame_size(set));
        let name = set["name"].as_str().unwrap();
        let frames = two_frames(modcod, size);
        let file = |stage: &str| folder.join(name).join(stage);
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
        assert_near(&mapped, &symbols(file("6_mapped.cf32")), name);
        for (pilots, stage) in [(true, "7_plframe_pilots.cf32"), (false, "7_plframe_no_pilots.cf32")] {
            let pls = Pls::from_parts(modcod, size, pilots).unwrap();
            let made = plframe(pls, &frames[0].ldpc);
            assert_near(&made, &symbols(file(stage)), name);
        }
    }
}

#[test]
fn every_modcod_agrees() {
    let Some(folder) = reference() else { return };
    let index = json(folder.join("vectors/index.json"));
    let entries = index["all_modcods"].as_array().unwrap();
    assert_eq!(entries.len(), 52);
    for entry in entries {
        let (modcod, size) = (modcod(entry), frame_size(entry));
        let name = entry["name"].as_str().unwrap();
        let frames = two_frames(modcod, size);
        for (frame, digests) in frames.iter().zip(["sha256_frame0", "sha256_frame1"]) {
            for (stage, made) in [
                ("bbframe", &frame.bbframe),
                ("scrambled", &frame.scrambled),
                ("bch", &frame.bch),
                ("ldpc", &frame.ldpc),
                ("labels", &frame.labels),
            ] {
                assert_eq!(entry[digests][stage], sha256(made), "{name} {stage}");
            }
        }
        let pls = Pls::from_parts(modcod, size, true).unwrap();
        assert_eq!(entry["pls_pilots"], pls.value());
        let file = format!("vectors/all_modcods/{name}.plframe_pilots.cf32");
        let made = plframe(pls, &frames[0].ldpc);
        assert_near(&made, &symbols(folder.join(file)), name);
    }
}

#[test]
fn the_dummy_plframe_agrees() {
    let Some(folder) = reference() else { return };
    let expected = symbols(folder.join("vectors/dummy_plframe.cf32"));
    assert_near(&plframe(Pls::DUMMY, &[]), &expected, "dummy PLFRAME");
}

#[test]
fn header_codewords_and_scrambling_sequences_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("framing_tables.json"));
    assert_eq!(tables["sof"]["hex_26_bits"], format!("0x{SOF:X}"));
    let codewords = tables["pls"]["codewords_after_scrambling_index_is_pls"].as_array().unwrap();
    assert_eq!(codewords.len(), 128);
    for (pls, codeword) in Pls::of_s2().zip(codewords) {
        assert_eq!(codeword, &format!("{:016X}", pls_codeword(pls)), "{pls}");
    }
    let scrambling = &tables["pl_scrambling"];
    let others = scrambling["first_16_other_n"].as_object().unwrap();
    assert_eq!(others.len(), 5);
    for (code, expected) in others {
        let scrambler = PlScrambler::new(code.parse().unwrap()).unwrap();
        assert_eq!(expected, &Value::from(scrambler.rotations()[..16].to_vec()), "code {code}");
    }
}

#[test]
fn constellation_points_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("framing_tables.json"));
    for modcod in Modcod::of_s2() {
        let size = FrameSize::Normal;
        let table = &tables["constellations"][modcod.modulation().to_string()];
        let rate = modcod.rate(FrameSize::Normal).to_string();
        let radius = |ring: u64| match modcod.modulation() {
            Modulation::Qpsk | Modulation::Psk8 => 1.0,
            Modulation::Apsk16 => table["radii_R1_R2"][&rate][ring as usize - 1].as_f64().unwrap(),
            _ => table["radii_R1_R2_R3"][&rate][ring as usize - 1].as_f64().unwrap(),
        };
        let constellation = Constellation::new(modcod, size);
        let entries = table["points"].as_array().unwrap();
        assert_eq!(entries.len(), constellation.points().len());
        for entry in entries {
            let label = usize::from_str_radix(entry[0].as_str().unwrap(), 2).unwrap();
            let angle = entry[2].as_f64().unwrap().to_radians();
            let radius = radius(entry[1].as_u64().unwrap());
            let expected = Complex32::from_polar(radius as f32, angle as f32);
            assert!((constellation.points()[label] - expected).norm() < 1e-6, "{modcod} {label}");
        }
    }
}

#[test]
fn frame_parameters_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("modcods.json"));
    for entry in tables["modcods"].as_array().unwrap() {
        let modcod = modcod(entry);
        assert_eq!(entry["modulation"], modcod.modulation().to_string());
        assert_eq!(entry["rate"], modcod.rate(FrameSize::Normal).to_string());
        let esn0 = entry["esn0_qef_db"].as_f64().unwrap() as f32;
        assert_eq!(esn0, modcod.ideal_esn0_db(), "{modcod}");
        let frames = &tables["frame_sizes_by_modulation"][modcod.modulation().to_string()];
        for size in [FrameSize::Normal, FrameSize::Short] {
            let sizes = &frames[size.to_string()];
            for (pilots, symbols) in [(false, "plframe_no_pilots"), (true, "plframe_pilots")] {
                let Some(pls) = Pls::from_parts(modcod, size, pilots) else {
                    assert_eq!((modcod.rate(size), size), (Rate::R9_10, FrameSize::Short));
                    continue;
                };
                let layout = Layout::new(pls).unwrap();
                assert_eq!(sizes["slots"], layout.slots(), "{pls}");
                assert_eq!(sizes["payload_symbols"], layout.payload_symbols(), "{pls}");
                assert_eq!(sizes[symbols], layout.symbols(), "{pls}");
                if pilots {
                    assert_eq!(sizes["pilot_blocks"], layout.pilot_blocks(), "{pls}");
                }
            }
        }
    }
    for (size, list) in [(FrameSize::Normal, "fec_normal"), (FrameSize::Short, "fec_short")] {
        let entries = tables[list].as_array().unwrap();
        let exists = |rate: &&Rate| Fec::new(size, **rate).is_some();
        assert_eq!(entries.len(), Rate::ALL[..Rate::OF_S2].iter().filter(exists).count());
        for entry in entries {
            let named = |rate: &&Rate| entry["rate"] == rate.to_string();
            let rate = *Rate::ALL.iter().find(named).unwrap();
            let fec = Fec::new(size, rate).unwrap();
            assert_eq!(entry["kbch"], fec.kbch);
            assert_eq!(entry["nbch_kldpc"], fec.nbch);
            assert_eq!(entry["nldpc"], fec.nldpc);
            assert_eq!(entry["bch_t"], fec.bch_t);
            assert_eq!(entry["q"], fec.q);
            assert_eq!(entry["max_dfl"], fec.max_dfl());
        }
    }
}

#[test]
fn interleaver_columns_agree() {
    let Some(folder) = reference() else { return };
    let tables = json(folder.join("framing_tables.json"));
    for entry in tables["interleaver"].as_array().unwrap() {
        let Some(order) = entry["label_bits_msb_first_from_columns"].as_array() else {
            assert_eq!(entry["modulation"], "QPSK");
            continue;
        };
        for modcod in Modcod::of_s2() {
            if entry["modulation"] != modcod.modulation().to_string() {
                continue;
            }
            let order = match modcod.rate(FrameSize::Normal) {
                Rate::R3_5 => entry["exception_rate_3/5"].as_array().unwrap(),
                _ => order,
            };
            for (size, rows) in [(FrameSize::Normal, "rows_normal"), (FrameSize::Short, "rows_short")] {
                let interleaver = Interleaver::new(modcod, size);
                let rows = entry[rows].as_u64().unwrap() as usize;
                for (bit, column) in order.iter().enumerate() {
                    let column = column.as_u64().unwrap() as usize;
                    assert_eq!(interleaver.bit(5, bit), column * rows + 5, "{modcod}");
                }
            }
        }
    }
}

#[test]
fn ldpc_address_tables_agree() {
    let Some(folder) = reference() else { return };
    for (size, file) in [(FrameSize::Normal, "ldpc_normal.json"), (FrameSize::Short, "ldpc_short.json")] {
        let tables = json(folder.join(file));
        for entry in tables["codes"].as_array().unwrap() {
            let named = |rate: &&Rate| entry["rate"] == rate.to_string();
            let rate = *Rate::ALL.iter().find(named).unwrap();
            let code = Code::get(size, rate).unwrap();
            let rows: Vec<Vec<u16>> = serde_json::from_value(entry["rows"].clone()).unwrap();
            assert_eq!(code.rows, rows, "{rate} {size}");
        }
    }
}
