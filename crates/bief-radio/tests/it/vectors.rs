//! The transmitter's tasks against reference vectors, stage by stage, for every kind of frame.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bief::{Chain, Flow, Out, OutVar, Task, VarFrame, VarWire, sink};
use bief_dsp::dvbs2::plheader::header_symbols;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, HEADER, Layout, Modcod, Pls, RollOff};
use bief_radio::SampleFormat;
use bief_radio::dvbs2::{BuildPlframe, EncodeBch, EncodeLdpc, InputStream, ScrambleBb, Slice};
use num_complex::Complex32;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn vectors() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors");
    if !folder.is_dir() {
        println!("skipped: {} not found", folder.display());
        return None;
    }
    Some(folder)
}

fn index(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("index.json")).unwrap()).unwrap()
}

/// The PLS of an entry of the index, with pilots.
fn pls(entry: &Value) -> Pls {
    let modcod = Modcod::new(entry["modcod"].as_u64().unwrap() as u8).unwrap();
    let size = if entry["frame"] == "short" { FrameSize::Short } else { FrameSize::Normal };
    Pls::from_parts(modcod, size, true).unwrap()
}

fn without_pilots(pls: Pls) -> Pls {
    Pls::from_parts(pls.modcod().unwrap(), pls.frame_size(), false).unwrap()
}

fn symbols(path: &Path) -> Vec<Complex32> {
    let bytes = std::fs::read(path).unwrap();
    let mut symbols = vec![Complex32::ZERO; bytes.len() / 8];
    SampleFormat::Cf32.read(&bytes, &mut symbols);
    symbols
}

fn assert_near(made: &[Complex32], expected: &[Complex32], what: &str) {
    assert_eq!(made.len(), expected.len(), "{what}");
    assert!(made.iter().zip(expected).all(|(made, expected)| (made - expected).norm() < 1e-5), "{what}");
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

type Frames<T> = Arc<Mutex<Vec<Vec<T>>>>;

/// Keeps every frame of a wire.
fn keep<T: Copy + Default + Send + Sync + 'static>(chain: &mut Chain, wire: &VarWire<T>) -> Frames<T> {
    let kept = Frames::default();
    let frames = Arc::clone(&kept);
    let keep = move |frame: &[T]| {
        frames.lock().unwrap().push(frame.to_vec());
        Ok(Flow::Next)
    };
    chain.add(sink::for_each_var(keep), wire);
    kept
}

/// The first two BBFRAMEs that the transport stream of the vectors makes.
fn bbframes(folder: &Path, pls: Pls) -> Vec<Vec<u8>> {
    let packets = std::fs::File::open(folder.join("ts_input.ts")).unwrap();
    let mut chain = Chain::new();
    let slice = Slice::new([InputStream::transport(packets)], [pls], RollOff::R20).unwrap();
    let (frames, _) = chain.add(slice, ());
    let kept = keep(&mut chain, &frames);
    chain.build().unwrap().run().unwrap();
    let mut frames = std::mem::take(&mut *kept.lock().unwrap());
    frames.truncate(2);
    frames
}

/// Plays BBFRAMEs of any kinds.
struct Play(std::vec::IntoIter<(Vec<u8>, Pls)>);

impl Task for Play {
    type In = ();
    type Out = (OutVar<u8>, Out<Pls>);
    fn lens(&self, (): ()) -> bief::Result<(usize, usize)> {
        Ok((8_100, 1))
    }
    fn run(&mut self, (): (), (mut frame, pls): (VarFrame<'_, u8>, &mut [Pls])) -> bief::Result<Flow> {
        let Some((bbframe, of)) = self.0.next() else { return Ok(Flow::Stop) };
        frame.extend_from_slice(&bbframe)?;
        pls[0] = of;
        Ok(Flow::Next)
    }
}

/// What the tasks make of one frame.
struct Stages {
    scrambled: Vec<u8>,
    bch: Vec<u8>,
    ldpc: Vec<u8>,
    symbols: Vec<Complex32>,
}

/// Everything that the tasks make of those BBFRAMEs, in one chain.
fn transmit(frames: Vec<(Vec<u8>, Pls)>) -> Vec<Stages> {
    let mut tx = Chain::new();
    let (mut frames, pls) = tx.add(Play(frames.into_iter()), ());
    tx.add(ScrambleBb, &mut frames);
    let scrambled = keep(&mut tx, &frames);
    let mut codewords = tx.add(EncodeBch::new(), (&frames, &pls));
    let bch = keep(&mut tx, &codewords);
    tx.add(EncodeLdpc::new(), (&mut codewords, &pls));
    let ldpc = keep(&mut tx, &codewords);
    let plframes = tx.add(BuildPlframe::new(0).unwrap(), (&codewords, &pls));
    let symbols = keep(&mut tx, &plframes);
    tx.build().unwrap().run().unwrap();
    let [scrambled, bch, ldpc] = [scrambled, bch, ldpc].map(|kept| std::mem::take(&mut *kept.lock().unwrap()));
    let symbols = std::mem::take(&mut *symbols.lock().unwrap());
    let stages = scrambled.into_iter().zip(bch).zip(ldpc).zip(symbols);
    stages.map(|(((scrambled, bch), ldpc), symbols)| Stages { scrambled, bch, ldpc, symbols }).collect()
}

#[test]
fn every_stage_of_every_kind_of_frame_equals_its_vector() {
    let Some(folder) = vectors() else { return };
    let index = index(&folder);
    let entries = index["all_modcods"].as_array().unwrap();
    assert_eq!(entries.len(), 52);
    // All of them in one stream: both frames with pilots, the first without, and a dummy frame behind.
    let mut frames = Vec::new();
    for entry in entries {
        let pls = pls(entry);
        let [first, second] = bbframes(&folder, pls).try_into().unwrap();
        assert_eq!(entry["sha256_frame0"]["bbframe"], digest(&first), "{pls}");
        assert_eq!(entry["sha256_frame1"]["bbframe"], digest(&second), "{pls}");
        frames.extend([(first.clone(), pls), (second, pls), (first, without_pilots(pls)), (vec![], Pls::DUMMY)]);
    }
    let made = transmit(frames);
    assert_eq!(made.len(), 4 * 52);
    let dummy = symbols(&folder.join("dummy_plframe.cf32"));
    for (entry, made) in entries.iter().zip(made.chunks(4)) {
        let (pls, name) = (pls(entry), entry["name"].as_str().unwrap());
        let fec = pls.fec().unwrap();
        for (made, digests) in [(&made[0], "sha256_frame0"), (&made[1], "sha256_frame1"), (&made[2], "sha256_frame0")] {
            assert_eq!(entry[digests]["scrambled"], digest(&made.scrambled), "{name}");
            // Behind the BCH codeword there is room for the parity of the other code.
            assert_eq!(made.bch.len(), fec.nldpc / 8);
            assert_eq!(entry[digests]["bch"], digest(&made.bch[..fec.nbch / 8]), "{name}");
            assert_eq!(entry[digests]["ldpc"], digest(&made.ldpc), "{name}");
        }
        let codeword = std::fs::read(folder.join(format!("all_modcods/{name}.ldpc.bin"))).unwrap();
        assert!(made[0].ldpc == codeword, "{name}");
        let with_pilots = symbols(&folder.join(format!("all_modcods/{name}.plframe_pilots.cf32")));
        assert_near(&made[0].symbols, &with_pilots, name);
        assert_near(&made[2].symbols, &remove_pilots(pls, with_pilots), name);
        assert!(made[3].ldpc.is_empty());
        assert_near(&made[3].symbols, &dummy, "dummy PLFRAME");
    }
}

/// A frame of that PLS, made of the one that has pilots.
fn remove_pilots(pls: Pls, mut frame: Vec<Complex32>) -> Vec<Complex32> {
    let scrambler = PlScrambler::broadcast();
    scrambler.descramble(0, &mut frame[HEADER..]);
    let runs = Layout::new(pls).unwrap().payload_runs();
    let mut payload: Vec<Complex32> = runs.flat_map(|run| &frame[run]).copied().collect();
    scrambler.scramble(0, &mut payload);
    [&header_symbols(without_pilots(pls))[..], &payload].concat()
}

#[test]
fn five_sets_equal_their_files() {
    let Some(folder) = vectors() else { return };
    let index = index(&folder);
    for set in index["sets"].as_array().unwrap() {
        let (pls, name) = (pls(set), set["name"].as_str().unwrap());
        let bbframes = bbframes(&folder, pls);
        let frames: Vec<_> = [pls, without_pilots(pls)]
            .into_iter()
            .flat_map(|pls| bbframes.iter().map(move |frame| (frame.clone(), pls)))
            .collect();
        let made = transmit(frames);
        let nbch = pls.fec().unwrap().nbch / 8;
        let both = |part: fn(&Stages) -> &[u8]| [part(&made[0]), part(&made[1])].concat();
        for (file, made) in [
            ("1_bbframe.bin", bbframes.concat()),
            ("2_scrambled.bin", both(|made| &made.scrambled)),
            ("3_bch.bin", [&made[0].bch[..nbch], &made[1].bch[..nbch]].concat()),
            ("4_ldpc.bin", both(|made| &made.ldpc)),
        ] {
            assert!(made == std::fs::read(folder.join(name).join(file)).unwrap(), "{name}: {file}");
        }
        for (file, made) in [("7_plframe_pilots.cf32", &made[0]), ("7_plframe_no_pilots.cf32", &made[2])] {
            assert_near(&made.symbols, &symbols(&folder.join(name).join(file)), &format!("{name}: {file}"));
        }
    }
}
