//! Every MODCOD, frame size and pilot setting, a decibel above what it needs: every bit comes back.

use crate::common::{PACKET, packets, receive, recorded, samples, transmitter};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Pls, RollOff, VlSnr};
use bief_radio::SampleFormat;
use bief_radio::dvbs2::Transmitter;

const FRAMES: usize = 20;
/// Decibels above the threshold of Table 13, which is that of normal frames; and by how much short frames need more.
const MARGIN_DB: f64 = 1.0;
const SHORT_DB: f64 = 0.3;

/// The kinds of frames of DVB-S2 whose PLS value leaves this remainder when divided by 4: of one frame size, with or without pilots.
fn all_of_s2_come_back(which: usize) {
    all_come_back(Pls::of_s2().filter(|pls| usize::from(pls.value()) % 4 == which), &[RollOff::R20]);
}

/// Those of DVB-S2X, with or without pilots, with all roll-offs in turn.
fn all_of_s2x_come_back(pilots: bool) {
    all_come_back(Pls::all().skip(128).filter(|pls| pls.pilots() == pilots), &RollOff::ALL);
}

fn all_come_back(kinds: impl Iterator<Item = Pls>, roll_offs: &[RollOff]) {
    let mut wrong = Vec::new();
    for (index, pls) in kinds.filter(|pls| pls.fec().is_some()).enumerate() {
        let fec = pls.fec().unwrap();
        let stream = packets(FRAMES * (fec.kbch / 8 - 10) / PACKET, index as u64);
        let sent = samples(
            &Transmitter { frames: vec![pls], roll_off: roll_offs[index % roll_offs.len()], ..transmitter(true) },
            &stream,
        );
        let mut random = fastrand::Rng::with_seed(index as u64);
        // What has short frames only is told for them.
        let has_normal = Pls::from_parts(pls.modcod().unwrap(), FrameSize::Normal, true).is_some();
        let short = if pls.frame_size() == FrameSize::Short && has_normal { SHORT_DB } else { 0.0 };
        let es_n0 = f64::from(pls.modcod().unwrap().ideal_esn0_db()) + MARGIN_DB + short;
        let channel = Channel {
            clock_ppm: 40.0 * random.f64() - 20.0,
            start: random.f64(),
            carrier: 0.5 * (0.04 * random.f64() - 0.02),
            phase: 6.0 * random.f64(),
            noise_power: Channel::noise_for(es_n0, 2.0),
            gain: 0.2,
            seed: index as u64,
            ..Channel::clear()
        };
        let (received, figures) = receive(recorded(&sent, channel), SampleFormat::Ci16, 2.0);
        if received != stream {
            wrong.push(format!("{pls}: {} of {} packets, {figures:?}", received.len() / PACKET, stream.len() / PACKET));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A decibel above what is needed for one frame in 10^5.
#[test]
#[ignore = "long: part of .ci/run"]
fn vl_snr_frames() {
    const QEF_DB: f64 = 0.35;
    let mut wrong = Vec::new();
    for (index, kind) in VlSnr::all().enumerate() {
        let stream = packets(FRAMES * (kind.kbch() / 8 - 10) / PACKET, index as u64);
        let frames = vec![Pls::of_vl_snr(kind)];
        let sent = samples(&Transmitter { frames, roll_off: RollOff::ALL[index % 6], ..transmitter(true) }, &stream);
        let mut random = fastrand::Rng::with_seed(index as u64);
        let channel = Channel {
            clock_ppm: 40.0 * random.f64() - 20.0,
            start: random.f64(),
            carrier: 0.5 * (0.04 * random.f64() - 0.02),
            phase: 6.0 * random.f64(),
            noise_power: Channel::noise_for(f64::from(kind.ideal_esn0_db()) + QEF_DB + MARGIN_DB, 2.0),
            gain: 0.1,
            seed: index as u64,
            ..Channel::clear()
        };
        let (received, figures) = receive(recorded(&sent, channel), SampleFormat::Ci16, 2.0);
        if received != stream {
            wrong.push(format!(
                "{kind}: {} of {} packets, {figures:?}",
                received.len() / PACKET,
                stream.len() / PACKET
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn all_kinds_and_dummy_frames_in_one_stream() {
    mixed(Pls::of_s2(), 16.05);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn all_kinds_of_both_standards_in_one_stream() {
    mixed(Pls::all(), 19.57);
}

/// All these kinds of frames, the last of which needs so many decibels.
fn mixed(kinds: impl Iterator<Item = Pls>, needed_db: f64) {
    let mut frames: Vec<Pls> = kinds.filter(|pls| pls.fec().is_some()).collect();
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        random.shuffle(&mut frames);
        let mixed: Vec<Pls> = frames.chunks(5).flat_map(|five| [five, &[Pls::DUMMY]].concat()).collect();
        let bytes: usize = frames.iter().map(|pls| pls.fec().unwrap().kbch / 8 - 10).sum();
        let stream = packets(bytes / PACKET, seed);
        let sent = samples(&Transmitter { frames: mixed, ..transmitter(true) }, &stream);
        let channel = Channel {
            clock_ppm: 20.0,
            start: random.f64(),
            carrier: 0.5 * (0.04 * random.f64() - 0.02),
            phase: 6.0 * random.f64(),
            noise_power: Channel::noise_for(needed_db + MARGIN_DB + SHORT_DB, 2.0),
            gain: 0.2,
            seed,
            ..Channel::clear()
        };
        let (received, figures) = receive(recorded(&sent, channel), SampleFormat::Ci16, 2.0);
        assert!(received == stream, "{} of {} packets, {figures:?}", received.len() / PACKET, stream.len() / PACKET);
        // The stream ends a frame or two into another turn.
        assert!(figures.kinds.len() == frames.len() && figures.dummy_frames >= 20, "{figures:?}");
        assert_eq!((figures.missed_headers, figures.losses), (0, 0));
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn normal_frames_without_pilots() {
    all_of_s2_come_back(0);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn normal_frames_with_pilots() {
    all_of_s2_come_back(1);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn short_frames_without_pilots() {
    all_of_s2_come_back(2);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn short_frames_with_pilots() {
    all_of_s2_come_back(3);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn frames_of_s2x_without_pilots() {
    all_of_s2x_come_back(false);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn frames_of_s2x_with_pilots() {
    all_of_s2x_come_back(true);
}
