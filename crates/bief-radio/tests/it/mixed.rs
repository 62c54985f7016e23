//! Carriers whose frames differ: only headers tell where the next one begins.

use crate::common::{PACKET, packets, receive, samples, transmitter};
use bief::Application;
use bief_dsp::dvbs2::Pls;
use bief_radio::dvbs2::{Modcods, Receiver, Settings, Transmitter, frame_list};
use bief_radio::{Recording, SampleFormat};

/// A recording in 16 bits of packets in frames of these kinds, over and over.
fn recording(frames: &str, samples_per_symbol: f64, stream: &[u8]) -> Vec<u8> {
    let frames = frame_list(frames).unwrap();
    let samples = samples(&Transmitter { frames, samples_per_symbol, ..transmitter(true) }, stream);
    let scaled: Vec<_> = samples.iter().map(|sample| sample * 0.3).collect();
    let mut bytes = vec![0; 4 * scaled.len()];
    SampleFormat::Ci16.write(&scaled, &mut bytes);
    bytes
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_lost_sample_costs_the_frame_that_it_is_part_of() {
    let stream = packets(200, 5);
    for samples_per_symbol in [1.5, 2.0, 2.7, 3.0, 4.0] {
        let whole = recording("qpsk-1/2:short:pilots,8psk-3/5:short,dummy", samples_per_symbol, &stream);
        for lost in 1..4 {
            let mut bytes = whole.clone();
            let at = bytes.len() / 8 * 4;
            bytes.drain(at..at + 4 * lost);
            let (received, figures) = receive(bytes, SampleFormat::Ci16, samples_per_symbol);
            let right = received.chunks(PACKET).filter(|packet| packet[1] & 0x80 == 0).count();
            assert!(
                right + 15 >= 200 && figures.missed_headers <= 3,
                "{lost} samples lost at {samples_per_symbol}: {right} packets, {figures:?}"
            );
        }
    }
}

#[test]
fn what_is_profiled_is_the_frames_that_are_delivered() {
    let bytes = recording("dummy,qpsk-8/9:short:pilots", 2.0, &packets(60, 1));
    let found = |modcods| {
        let recording = Recording::from_memory("test", SampleFormat::Ci16, bytes.clone());
        Receiver::find(recording, Settings { modcods, ..Settings::at(2.0) }, |_| ()).unwrap()
    };
    let receiver = found(Modcods::ALL);
    assert_eq!(receiver.pls(), Pls::DUMMY);
    assert_eq!(receiver.rehearsal(u64::MAX).unwrap().profile(12).unwrap().bits_per_frame(), Some(14_232));
    let none = found(Modcods::from_iter([])).rehearsal(u64::MAX).unwrap();
    assert_eq!(none.profile(12).unwrap().bits_per_frame(), None);
}
