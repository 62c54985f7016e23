//! What is transmitted is received: through no channel byte for byte, and through channels all that came whole.

use crate::common::{FRAME_BYTES, PACKET, packets, receive, recorded, samples, transmit, transmitter};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::RollOff;
use bief_radio::SampleFormat;
use bief_radio::dvbs2::Transmitter;

#[test]
fn the_same_bytes_come_back() {
    for (pilots, roll_off, samples_per_symbol, format, count) in [
        (true, RollOff::R20, 2.0, SampleFormat::Ci16, 100),
        (false, RollOff::R35, 2.0, SampleFormat::Cf32, 95),
        (true, RollOff::R25, 4.0, SampleFormat::Ci8, 60),
        (false, RollOff::R20, 4.0, SampleFormat::Cu8, 33),
        (true, RollOff::R35, 2.5, SampleFormat::Ci16, 47),
        (true, RollOff::R20, 2.0, SampleFormat::Ci16, 9),
        (false, RollOff::R20, 2.0, SampleFormat::Ci16, 1),
    ] {
        let level = if format == SampleFormat::Cf32 { 1.0 } else { 0.35 };
        let transmitter = Transmitter { roll_off, samples_per_symbol, format, level, ..transmitter(pilots) };
        let stream = packets(count, count as u64);
        let (received, figures) = receive(transmit(&transmitter, &stream), format, samples_per_symbol);
        assert!(received == stream, "{transmitter:?}: {figures:?}");
        assert_eq!((figures.packet_errors, figures.frame_errors, figures.gaps), (0, 0, 0));
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn all_that_comes_whole_through_a_channel_is_received() {
    let symbols = |pilots| if pilots { 8370.0 } else { 8190.0 };
    let mut random = fastrand::Rng::with_seed(11);
    for (round, (pilots, samples_per_symbol)) in
        [(true, 2.0), (false, 2.0), (true, 4.0), (false, 4.0)].into_iter().cycle().take(32).enumerate()
    {
        let transmitter = Transmitter { samples_per_symbol, ..transmitter(pilots) };
        let frames = 3 + round % 14;
        let stream = packets((frames * FRAME_BYTES).div_ceil(PACKET), round as u64);
        let sent = samples(&transmitter, &stream);
        let offset = |random: &mut fastrand::Rng, most: f64| most * (2.0 * random.f64() - 1.0);
        // Half of the rounds begin inside the first or second frame.
        let frame = symbols(pilots) * samples_per_symbol;
        let start = if round % 2 == 0 { random.f64() } else { (0.1 + 1.8 * random.f64()) * frame };
        let channel = Channel {
            clock_ppm: offset(&mut random, 50.0),
            start,
            carrier: offset(&mut random, 0.02) / samples_per_symbol,
            phase: offset(&mut random, 3.0),
            noise_power: Channel::noise_for(7.5 + 3.0 * random.f64(), samples_per_symbol),
            gain: 10_f64.powf(-0.3 - 1.7 * random.f64()),
            seed: round as u64,
            ..Channel::clear()
        };
        let (received, figures) = receive(recorded(&sent, channel), SampleFormat::Ci16, samples_per_symbol);
        // Symbols lag 32 behind the samples, and so do the ends of frames.
        let whole_from = ((start / samples_per_symbol - 32.0) / symbols(pilots)).ceil().max(0.0) as usize;
        let first = (whole_from * FRAME_BYTES).div_ceil(PACKET);
        assert!(
            received == stream[first * PACKET..],
            "round {round}, {frames} frames, {channel:?}: {} packets, not {}; {figures:?}",
            received.len() / PACKET,
            stream.len() / PACKET - first
        );
        assert!((figures.clock_ppm.unwrap() - channel.clock_ppm).abs() < 5.0, "{figures:?} after {channel:?}");
        let carrier = channel.carrier * samples_per_symbol;
        assert!((figures.carrier_per_symbol.unwrap() - carrier).abs() < 3e-4, "{figures:?} after {channel:?}");
    }
}

#[test]
fn a_hole_in_the_recording_costs_what_is_in_it() {
    let stream = packets(400, 3);
    let sent = samples(&transmitter(true), &stream);
    let channel = Channel { noise_power: Channel::noise_for(9.0, 2.0), gain: 0.2, carrier: 0.003, ..Channel::clear() };
    let bytes = recorded(&sent, channel);
    // 20 frames of noise, then the rest, moved by an odd number of samples.
    let frame = 8370 * 2 * 4;
    let mut random = fastrand::Rng::with_seed(5);
    let noise: Vec<u8> = (0..20 * frame + 4 * 12_345).map(|_| random.u8(..) & 0x0F).collect();
    let cut = 15 * frame + 4 * 1001;
    let holed = [&bytes[..cut], &noise, &bytes[cut + 2 * frame + 40..]].concat();
    let (received, figures) = receive(holed, SampleFormat::Ci16, 2.0);
    let received: Vec<&[u8]> = received.chunks_exact(PACKET).collect();
    let sent: Vec<&[u8]> = stream.chunks_exact(PACKET).collect();
    let good = received.iter().filter(|packet| sent.contains(packet)).count();
    assert!(good > 400 - 10 * 8, "{good} packets of 400: {figures:?}");
    // What is not good says so.
    assert!(received.iter().filter(|packet| !sent.contains(packet)).all(|packet| packet[1] & 0x80 != 0));
    assert_eq!(figures.losses, 1, "{figures:?}");
    assert_eq!(received.last(), sent.last());
}
