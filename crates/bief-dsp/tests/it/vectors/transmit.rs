//! The transmitter, stage by stage, fed by the transport stream that all reference vectors were made from.

use bief_dsp::dvbs2::bch::Bch;
use bief_dsp::dvbs2::ldpc::{Code, Encoder};
use bief_dsp::dvbs2::scramble::scramble_bbframe;
use bief_dsp::dvbs2::{FrameSize, Interleaver, Layout, Modcod, PACKET, Pls, RollOff, Slicer};
use sha2::{Digest, Sha256};

/// The reference transport stream: 96 packets of PID 0x100 with pseudo-random payload.
pub(crate) fn reference_stream() -> Vec<u8> {
    let mut state = 0x2545_F491u32;
    let mut stream = Vec::with_capacity(96 * PACKET);
    for packet in 0..96 {
        stream.extend([0x47, 0x01, 0x00, 0x10 | (packet % 16)]);
        stream.extend((0..PACKET - 4).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 24) as u8
        }));
    }
    stream
}

/// What each stage makes of one frame: packed bits, and for `labels` one byte per symbol.
pub(crate) struct Stages {
    pub(crate) bbframe: Vec<u8>,
    pub(crate) scrambled: Vec<u8>,
    pub(crate) bch: Vec<u8>,
    pub(crate) ldpc: Vec<u8>,
    pub(crate) labels: Vec<u8>,
}

/// The first two frames of the reference stream, with a roll-off of 0.20.
pub(crate) fn two_frames(modcod: Modcod, size: FrameSize) -> Vec<Stages> {
    two_frames_of(modcod, size, RollOff::R20)
}

/// The first two frames of the reference stream.
pub(crate) fn two_frames_of(modcod: Modcod, size: FrameSize, roll_off: RollOff) -> Vec<Stages> {
    let stream = reference_stream();
    let layout = Layout::new(Pls::from_parts(modcod, size, false).unwrap()).unwrap();
    let mut slicer = Slicer::new(roll_off);
    let mut taken = 0;
    let bch = Bch::new(size, modcod.rate(size)).unwrap();
    let code = Code::get(size, modcod.rate(size)).unwrap();
    let mut encoder = Encoder::new(code);
    (0..2)
        .map(|_| {
            let mut bbframe = vec![0; bch.message_bytes()];
            taken += slicer.fill(&stream[taken..], &mut bbframe).unwrap();
            let mut scrambled = bbframe.clone();
            scramble_bbframe(&mut scrambled);
            let mut ldpc = vec![0; code.nldpc / 8];
            let (message, rest) = ldpc.split_at_mut(bch.message_bytes());
            message.copy_from_slice(&scrambled);
            bch.encode(message, &mut rest[..bch.codeword_bytes() - bch.message_bytes()]);
            let codeword = ldpc[..bch.codeword_bytes()].to_vec();
            encoder.encode(&mut ldpc);
            let mut labels = vec![0; layout.payload_symbols()];
            Interleaver::new(modcod, size).labels(&ldpc, 0, &mut labels);
            Stages { bbframe, scrambled, bch: codeword, ldpc, labels }
        })
        .collect()
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
