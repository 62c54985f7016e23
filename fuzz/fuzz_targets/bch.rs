//! Any word: corrected in as many bits as are told, or left alone; a codeword with few errors is always corrected.
#![no_main]

use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::{FrameSize, Rate};
use bief_fuzz::cycled;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, Vec<u32>, &[u8])| {
    let (normal, rate, errors, bytes) = input;
    let size = if normal { FrameSize::Normal } else { FrameSize::Short };
    let Some(bch) = Bch::new(size, Rate::ALL[usize::from(rate) % Rate::ALL.len()]) else { return };

    let mut word = cycled(bytes, bch.codeword_bytes());
    let before = word.clone();
    let outcome = bch.decode(&mut word);
    let changed: u32 = word.iter().zip(&before).map(|(a, b)| (a ^ b).count_ones()).sum();
    match outcome {
        Outcome::Corrected(bits) => {
            assert!(bits <= bch.correctable() && changed as usize == bits);
            assert_eq!(bch.decode(&mut word), Outcome::Corrected(0));
        }
        Outcome::Uncorrectable => assert_eq!(changed, 0),
    }

    let mut codeword = before;
    let (message, parity) = codeword.split_at_mut(bch.message_bytes());
    bch.encode(message, parity);
    let mut positions: Vec<usize> = errors.iter().map(|error| *error as usize % (8 * codeword.len())).collect();
    positions.truncate(bch.correctable());
    positions.sort_unstable();
    positions.dedup();
    let mut damaged = codeword.clone();
    for position in &positions {
        damaged[position / 8] ^= 0x80 >> (position % 8);
    }
    assert_eq!(bch.decode(&mut damaged), Outcome::Corrected(positions.len()));
    assert!(damaged == codeword);
});
