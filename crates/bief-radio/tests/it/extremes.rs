//! Signals as far from their nominal values as the receiver promises to follow.

use crate::common::{PACKET, Shared, packets, receive, recorded, samples, transmitter};
use bief::Application;
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Pls, RollOff};
use bief_radio::dvbs2::{Receiver, Settings, Transmitter};
use bief_radio::{Recording, SampleFormat};
use num_complex::Complex32;

/// All packets of a signal at this Es/N0 come back through the channel.
fn comes_back(name: &str, transmitter: &Transmitter, es_n0_db: f64, channel: Channel, format: SampleFormat) {
    let fec = transmitter.frames[0].fec().unwrap();
    let stream = packets(12 * (fec.kbch / 8 - 10) / PACKET, 3);
    let sent = samples(transmitter, &stream);
    let rate = transmitter.samples_per_symbol;
    let noise_power = Channel::noise_for(es_n0_db, rate);
    let received = Channel { noise_power, carrier: channel.carrier / rate, ..channel }.apply(&sent);
    let mut bytes = vec![0; format.bytes() * received.len()];
    format.write(&received, &mut bytes);
    let (packets, figures) = receive(bytes, format, rate);
    assert!(packets == stream, "{name}: {} of {} packets; {figures:?}", packets.len() / PACKET, stream.len() / PACKET);
}

fn of(modcod: &str, size: FrameSize, pilots: bool) -> Transmitter {
    Transmitter { frames: vec![Pls::from_parts(modcod.parse().unwrap(), size, pilots).unwrap()], ..transmitter(true) }
}

/// A level that fills the format well.
const GAIN: f64 = 0.2;
/// Es/N0 in dB at which it is received, and the signal.
fn signals() -> [(f64, Transmitter); 4] {
    [
        (2.3, of("qpsk-1/2", FrameSize::Short, true)),
        (7.5, of("qpsk-8/9", FrameSize::Short, false)),
        (9.2, of("8psk-3/4", FrameSize::Short, true)),
        (15.2, of("32apsk-4/5", FrameSize::Short, true)),
    ]
}

#[test]
#[ignore = "long: part of .ci/run"]
fn carriers_and_clocks_may_be_far_off() {
    for (es_n0_db, transmitter) in signals() {
        for (carrier, clock_ppm) in [(0.1, 100.0), (-0.1, -100.0), (0.05, -100.0), (-0.03, 60.0)] {
            let channel = Channel { carrier, clock_ppm, start: 0.4, gain: GAIN, phase: 2.0, ..Channel::clear() };
            comes_back(
                &format!("carrier {carrier}, {clock_ppm} ppm"),
                &transmitter,
                es_n0_db,
                channel,
                SampleFormat::Ci16,
            );
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn spectra_may_be_inverted_and_have_a_constant_as_strong_as_the_signal() {
    for (es_n0_db, transmitter) in signals() {
        for (swapped, dc) in [(true, 0.0), (false, 0.7), (true, 1.0)] {
            let dc = Complex32::from_polar(dc, 1.0);
            let channel = Channel { swapped, dc, carrier: 0.01, gain: GAIN, ..Channel::clear() };
            comes_back(&format!("swapped {swapped}, DC {dc}"), &transmitter, es_n0_db, channel, SampleFormat::Ci16);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn levels_may_be_low_and_high() {
    for (es_n0_db, transmitter) in signals() {
        for db in [-50.0, -30.0, -10.0, 0.0] {
            // 0 dBFS of power clips the peaks of what is not QPSK or 8PSK, and then some.
            if db == 0.0 && es_n0_db > 10.0 {
                continue;
            }
            let channel = Channel { gain: 10_f64.powf(db / 20.0), carrier: -0.004, ..Channel::clear() };
            comes_back(&format!("{db} dBFS"), &transmitter, es_n0_db + 0.7, channel, SampleFormat::Ci16);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn roll_offs_and_samples_per_symbol_are_free() {
    for (es_n0_db, transmitter) in signals() {
        for (samples_per_symbol, roll_off) in [
            (1.5, RollOff::R20),
            (1.6, RollOff::R25),
            (2.5, RollOff::R35),
            (3.0, RollOff::R20),
            (16.0 / 3.0, RollOff::R25),
            (8.0, RollOff::R35),
        ] {
            let transmitter = Transmitter { samples_per_symbol, roll_off, ..transmitter.clone() };
            let channel = Channel { carrier: 0.02, clock_ppm: -30.0, start: 0.7, gain: GAIN, ..Channel::clear() };
            let name = format!("{samples_per_symbol} per symbol, {roll_off:?}");
            comes_back(&name, &transmitter, es_n0_db, channel, SampleFormat::Ci16);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn symbol_rates_are_found() {
    for (es_n0_db, transmitter) in signals() {
        for (samples_per_symbol, roll_off) in
            [(1.5, RollOff::R20), (2.0, RollOff::R35), (2.5, RollOff::R20), (4.0, RollOff::R25)]
        {
            let transmitter = Transmitter { samples_per_symbol, roll_off, ..transmitter.clone() };
            let stream = packets(20 * (transmitter.frames[0].fec().unwrap().kbch / 8 - 10) / PACKET, 3);
            let sent = samples(&transmitter, &stream);
            let noise_power = Channel::noise_for(es_n0_db + 1.0, samples_per_symbol);
            let carrier = 0.02 / samples_per_symbol;
            let channel = Channel { noise_power, carrier, clock_ppm: 70.0, gain: GAIN, ..Channel::clear() };
            let recording = Recording::from_memory("test", SampleFormat::Ci16, recorded(&sent, channel));
            let receiver = Receiver::find(recording, Settings::default(), |_| ()).unwrap();
            let ppm = 1e6 * (receiver.samples_per_symbol() / samples_per_symbol * (1.0 + 70e-6) - 1.0);
            assert!(ppm.abs() < 100.0, "{samples_per_symbol}: {ppm} ppm");
            let out = Shared::default();
            receiver.to(out.clone()).program().unwrap().run().unwrap();
            assert!(out.take() == stream, "{samples_per_symbol} samples per symbol");
        }
    }
}
