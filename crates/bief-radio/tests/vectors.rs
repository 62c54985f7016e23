//! The transmitter's tasks against reference vectors, stage by stage.

use std::path::Path;

use bief::{Chain, sink};
use bief_dsp::dvbs2::{FrameSize, Modcod, Pls, RollOff};
use bief_radio::SampleFormat;
use bief_radio::dvbs2::{BuildPlframe, EncodeBch, EncodeLdpc, ScrambleBb, SliceTransportStream};
use num_complex::Complex32;

/// Frames in each file of bits; files of symbols have the first of them.
const FRAMES: usize = 2;

#[test]
fn every_stage_of_the_qpsk_transmitter_equals_its_vector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors");
    if !folder.is_dir() {
        println!("skipped: {} not found", folder.display());
        return;
    }
    for (set, modcod, size) in
        [("qpsk_8_9_short", "qpsk-8/9", FrameSize::Short), ("qpsk_1_2_normal", "qpsk-1/2", FrameSize::Normal)]
    {
        let modcod: Modcod = modcod.parse().unwrap();
        let rate = modcod.rate();
        let packets = std::fs::File::open(folder.join("ts_input.ts")).unwrap();
        let mut tx = Chain::new();
        let mut frames = tx.add(SliceTransportStream::new(packets, size, rate, RollOff::R20).unwrap(), ());
        let (keep, bbframes) = sink::collect();
        tx.add(keep, &frames);
        tx.add(ScrambleBb::new(size, rate).unwrap(), &mut frames);
        let (keep, scrambled) = sink::collect();
        tx.add(keep, &frames);
        let mut codewords = tx.add(EncodeBch::new(size, rate).unwrap(), &frames);
        let (keep, bch) = sink::collect();
        tx.add(keep, &codewords);
        tx.add(EncodeLdpc::new(size, rate).unwrap(), &mut codewords);
        let (keep, ldpc) = sink::collect();
        tx.add(keep, &codewords);
        let plframes = [("7_plframe_pilots.cf32", true), ("7_plframe_no_pilots.cf32", false)].map(|(file, pilots)| {
            let symbols = tx.add(BuildPlframe::new(Pls::from_parts(modcod, size, pilots)).unwrap(), &codewords);
            let (keep, plframes) = sink::collect();
            tx.add(keep, &symbols);
            (file, plframes)
        });
        tx.build().unwrap().run().unwrap();

        let vector = |file: &str| std::fs::read(folder.join(set).join(file)).unwrap();
        let fec = Pls::from_parts(modcod, size, true).fec().unwrap();
        let parts = [
            ("1_bbframe.bin", bbframes.take(), fec.kbch / 8, fec.kbch / 8),
            ("2_scrambled.bin", scrambled.take(), fec.kbch / 8, fec.kbch / 8),
            // Behind the BCH codeword there is room for the parity of the other code.
            ("3_bch.bin", bch.take(), fec.nldpc / 8, fec.nbch / 8),
            ("4_ldpc.bin", ldpc.take(), fec.nldpc / 8, fec.nldpc / 8),
        ];
        for (file, made, frame, used) in parts {
            let made: Vec<u8> = made.chunks(frame).take(FRAMES).flat_map(|frame| &frame[..used]).copied().collect();
            assert!(made == vector(file), "{set}: {file}");
        }
        for (file, made) in plframes {
            let bytes = vector(file);
            let mut expected = vec![Complex32::ZERO; bytes.len() / 8];
            SampleFormat::Cf32.read(&bytes, &mut expected);
            let made = made.take();
            assert!(made.len() > expected.len());
            assert!(made.iter().zip(&expected).all(|(a, b)| (a - b).norm() < 1e-5), "{set}: {file}");
        }
    }
}
