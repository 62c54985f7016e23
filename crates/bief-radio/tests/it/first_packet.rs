//! How soon a receiver has what it waits for: from a stream that cannot be read ahead.

use crate::common::{found_after, packets, recorded, samples, transmitter};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Layout, Pls};
use bief_radio::dvbs2::Transmitter;

#[test]
fn a_signal_is_found_within_its_first_three_frames() {
    let mut random = fastrand::Rng::with_seed(17);
    for (modcod, size, es_n0_db) in [
        ("qpsk-1/4", FrameSize::Short, 6.0),
        ("qpsk-1/2", FrameSize::Normal, 6.0),
        ("qpsk-8/9", FrameSize::Short, 7.2),
        ("8psk-3/5", FrameSize::Normal, 6.5),
        ("16apsk-2/3", FrameSize::Short, 10.0),
        ("32apsk-3/4", FrameSize::Short, 13.7),
    ] {
        let pls = Pls::from_parts(modcod.parse().unwrap(), size, true).unwrap();
        let frame = 2 * Layout::new(pls).unwrap().symbols();
        let field = pls.fec().unwrap().kbch / 8 - 10;
        let stream = packets(6 * field / 188, 1);
        let sent = samples(&Transmitter { frames: vec![pls], ..transmitter(true) }, &stream);
        for round in 0..6 {
            let channel = Channel {
                start: random.f64() * frame as f64 + 64.0,
                carrier: 0.01 * (random.f64() - 0.5),
                clock_ppm: 20.0,
                phase: random.f64() * 6.0,
                noise_power: Channel::noise_for(es_n0_db, 2.0),
                gain: 0.2,
                seed: round,
                ..Channel::clear()
            };
            let found = found_after(recorded(&sent, channel));
            let (receiver, bytes) = found.unwrap_or_else(|error| panic!("{pls}, round {round}: {error}"));
            assert_eq!(receiver.pls(), pls);
            let frames = bytes as f64 / (4 * frame) as f64;
            assert!(frames <= 3.0, "{pls}, round {round}: found after {frames:.2} frames");
        }
    }
}
