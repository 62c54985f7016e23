//! Signals that change from one sample to the next: the frames that the change hits are lost, and no others for long.

use crate::common::{PACKET, packets, receive, samples, transmitter};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Pls};
use bief_radio::SampleFormat;
use bief_radio::dvbs2::{Figures, Transmitter};
use num_complex::Complex32;

const FRAMES: usize = 40;

/// Forty frames of a kind, at two samples per symbol and a level below full scale.
struct Signal {
    name: String,
    stream: Vec<u8>,
    samples: Vec<Complex32>,
    /// Packets of a frame.
    per_frame: usize,
}

impl Signal {
    fn new(modcod: &str, size: FrameSize, pilots: bool, es_n0_db: f64, seed: u64) -> Self {
        let pls = Pls::from_parts(modcod.parse().unwrap(), size, pilots).unwrap();
        let frame_bytes = pls.fec().unwrap().kbch / 8 - 10;
        let stream = packets(FRAMES * frame_bytes / PACKET, seed);
        let sent = samples(&Transmitter { frames: vec![pls], ..transmitter(true) }, &stream);
        let noise_power = Channel::noise_for(es_n0_db, 2.0);
        let channel = Channel { noise_power, carrier: 0.004, start: 0.3, gain: 0.2, seed, ..Channel::clear() };
        let per_frame = frame_bytes.div_ceil(PACKET);
        Self { name: format!("{pls}, {es_n0_db} dB"), stream, samples: channel.apply(&sent), per_frame }
    }

    /// Packets that were received rightly of this signal, changed; none is wrong without saying so.
    fn received(&self, format: SampleFormat, change: impl FnOnce(&mut [Complex32])) -> Outcome {
        let mut samples = self.samples.clone();
        change(&mut samples);
        let mut bytes = vec![0; format.bytes() * samples.len()];
        format.write(&samples, &mut bytes);
        let (received, figures) = receive(bytes, format, 2.0);
        let mut sent = self.stream.chunks_exact(PACKET).enumerate();
        let mut right = Vec::new();
        for packet in
            received.chunks_exact(PACKET).filter(|packet| packet[1] & 0x80 == 0 && packet[1..3] != [0x1F, 0xFF])
        {
            let place = sent.find(|(_, sent)| *sent == packet);
            let (place, _) = place.unwrap_or_else(|| panic!("{}: a packet was not sent; {figures:?}", self.name));
            right.push(place);
        }
        Outcome { right, figures }
    }

    /// What the receiver told.
    fn told(&self, outcome: &Outcome) -> String {
        format!("{}: {} frames missing, {:?}", self.name, self.missing(outcome), outcome.figures)
    }

    /// Frames whose packets are missing: one that is lost may have part of one packet more than others.
    fn missing(&self, outcome: &Outcome) -> usize {
        match self.stream.len() / PACKET - outcome.right.len() {
            0 => 0,
            packets => (packets - 1).div_ceil(self.per_frame).max(1),
        }
    }
}

struct Outcome {
    /// Numbers of the packets that came.
    right: Vec<usize>,
    figures: Figures,
}

/// Turns samples by so many cycles per symbol from one of them on.
fn step(samples: &mut [Complex32], at: usize, cycles_per_symbol: f64) {
    for (k, sample) in samples[at..].iter_mut().enumerate() {
        let cycles = (0.5 * cycles_per_symbol * k as f64).fract();
        *sample *= Complex32::cis((std::f64::consts::TAU * cycles) as f32);
    }
}

fn signals(seed: u64) -> Vec<Signal> {
    vec![
        Signal::new("qpsk-1/2", FrameSize::Short, true, 2.3, seed + 1),
        Signal::new("qpsk-8/9", FrameSize::Short, true, 7.4, seed + 2),
        Signal::new("qpsk-8/9", FrameSize::Short, false, 7.4, seed + 3),
        Signal::new("8psk-3/4", FrameSize::Short, true, 9.4, seed + 4),
        Signal::new("8psk-3/4", FrameSize::Short, false, 9.4, seed + 5),
        Signal::new("16apsk-8/9", FrameSize::Short, true, 14.0, seed + 6),
        Signal::new("16apsk-8/9", FrameSize::Short, false, 14.0, seed + 7),
        Signal::new("32apsk-4/5", FrameSize::Short, true, 15.2, seed + 8),
        Signal::new("32apsk-4/5", FrameSize::Short, false, 15.2, seed + 9),
    ]
}

/// Asserts that nothing is listed.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_signal_that_stays_as_it_is_is_not_lost() {
    for seed in 0..4 {
        for signal in signals(10 * seed) {
            let outcome = signal.received(SampleFormat::Ci16, |_| ());
            let Figures { losses, passed_over_samples, missed_headers, .. } = outcome.figures;
            let told = signal.told(&outcome);
            assert_eq!((signal.missing(&outcome), losses, passed_over_samples, missed_headers), (0, 0, 0, 0), "{told}");
        }
    }
}

#[test]
fn samples_that_are_searched_in_vain_are_counted() {
    let signal = &signals(50)[1];
    let frame = signal.samples.len() / FRAMES;
    // Before the signal, less and more than is searched at a time; in its midst.
    for (at, noise) in [(0, 10 * frame), (0, 80 * frame), (20 * frame + 777, 10 * frame)] {
        let mut bytes = vec![0; 4 * signal.samples.len()];
        SampleFormat::Ci16.write(&signal.samples, &mut bytes);
        let mut random = fastrand::Rng::with_seed(7);
        let noise_bytes: Vec<u8> = (0..4 * noise).map(|_| random.u8(..) & 0x0F).collect();
        bytes.splice(4 * at..4 * at, noise_bytes);
        let (_, figures) = receive(bytes, SampleFormat::Ci16, 2.0);
        let counted = figures.passed_over_samples as usize;
        assert!((noise - 3 * frame..noise + frame).contains(&counted), "{noise} at {at}: {figures:?}");
        assert!(figures.frames as usize >= FRAMES - 3, "{noise} at {at}: {figures:?}");
    }
}

#[test]
fn a_narrow_disturbance_is_no_constant_that_jumps() {
    for (cycles_per_symbol, amplitude) in [(0.003, 0.04), (-0.0007, 0.03), (0.02, 0.04)] {
        let signal = Signal::new("qpsk-8/9", FrameSize::Short, true, 9.0, 30);
        let outcome = signal.received(SampleFormat::Ci16, |samples| {
            for (k, sample) in samples.iter_mut().enumerate() {
                let cycles = (0.5 * cycles_per_symbol * k as f64).fract();
                *sample += Complex32::from_polar(amplitude, (std::f64::consts::TAU * cycles) as f32);
            }
        });
        let told = signal.told(&outcome);
        assert!(signal.missing(&outcome) == 0 && outcome.figures.losses <= 1, "{cycles_per_symbol}: {told}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_carrier_that_jumps_costs_about_three_frames() {
    let sizes = [0.0005, 0.0013, 0.0018, 0.0022, 0.0028, 0.0035, 0.005, 0.0065, 0.008, 0.011, 0.016, 0.03, 0.06, 0.096];
    let mut wrong = Vec::new();
    for signal in signals(0) {
        let frame = signal.samples.len() / FRAMES;
        for (index, size) in sizes.into_iter().flat_map(|size| [size, -size]).enumerate() {
            // Anywhere in a frame, early and late in what is searched.
            let at = frame * [13, 4, 27][index % 3] + 1_234 * index;
            let outcome = signal.received(SampleFormat::Ci16, |samples| step(samples, at, size));
            // Packets whose frames ended before.
            let before = (at / frame - 1) * (signal.stream.len() / PACKET) / FRAMES;
            let came = outcome.right.iter().filter(|place| **place < before).count();
            // The smallest is nearly noise in a header, and more than 16APSK without pilots bears.
            let most = if size.abs() < 0.001 { 8 } else { 4 };
            if signal.missing(&outcome) > most || came < before || outcome.figures.losses > 2 {
                wrong.push(format!("{size} at {at}: {came} of {before} before; {}", signal.told(&outcome)));
            }
        }
    }
    none(&wrong);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_carrier_that_never_rests_does_not_hold_the_receiver_up() {
    for signal in signals(20) {
        let frame = (signal.samples.len() / FRAMES) as f64;
        for (size, frames) in [(0.002, 0.7), (0.003, 3.1), (0.006, 5.0), (0.02, 2.0)] {
            let outcome = signal.received(SampleFormat::Ci16, |samples| {
                let mut cycles = 0.0;
                for (k, sample) in samples.iter_mut().enumerate() {
                    *sample *= Complex32::cis((std::f64::consts::TAU * cycles) as f32);
                    cycles += 0.5 * size * (std::f64::consts::TAU * k as f64 / (frames * frame)).sin();
                }
            });
            assert_eq!(outcome.figures.bytes as usize, 4 * signal.samples.len(), "{}", signal.told(&outcome));
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_constant_that_jumps_costs_about_three_frames() {
    let mut wrong = Vec::new();
    for signal in signals(0) {
        let frame = signal.samples.len() / FRAMES;
        for (index, size) in [0.3, 0.5, 1.0, 1.5].into_iter().enumerate() {
            let dc = 0.2 * Complex32::from_polar(size, index as f32);
            for at in [1, 13, 30].map(|before| before * frame + 4_321 * index) {
                let outcome = signal.received(SampleFormat::Cf32, |samples| {
                    samples[at..].iter_mut().for_each(|sample| *sample += dc);
                });
                if signal.missing(&outcome) > 5 {
                    wrong.push(format!("{size} at {at}: {}", signal.told(&outcome)));
                }
            }
        }
    }
    none(&wrong);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn where_i_or_q_comes_back_so_does_the_signal() {
    let mut wrong = Vec::new();
    for signal in signals(0) {
        let frame = signal.samples.len() / FRAMES;
        for (frames, q) in [2, 6, 20].into_iter().flat_map(|frames| [(frames, false), (frames, true)]) {
            let outcome = signal.received(SampleFormat::Ci16, |samples| {
                for sample in &mut samples[10 * frame + 777..(10 + frames) * frame + 777] {
                    *(if q { &mut sample.im } else { &mut sample.re }) = 0.0;
                }
            });
            if signal.missing(&outcome) > frames + 8 {
                wrong.push(format!("{frames} frames, Q {q}: {}", signal.told(&outcome)));
            }
        }
    }
    none(&wrong);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_sample_that_is_damage_costs_no_more_than_its_frame() {
    let mut wrong = Vec::new();
    for signal in signals(0) {
        for (value, most) in [(1e18, 0), (f32::NAN, 0), (f32::MAX, 0), (1e11, 1), (1e4, 1), (100.0, 1)] {
            let at = signal.samples.len() / 3;
            let outcome = signal.received(SampleFormat::Cf32, |samples| samples[at].im = value);
            if signal.missing(&outcome) > most || outcome.figures.passed_over_samples > 0 {
                wrong.push(format!("{value}: {}", signal.told(&outcome)));
            }
        }
    }
    none(&wrong);
}
