//! How many frames pass until a signal is found, and until its first packet, where there is more noise than signal, or little less.
//!
//! `cargo bench -p bief-radio --bench first_packet [-- ROUNDS]`, 40 unless told. Each recording is listened to from a random place in a
//! frame on, as it comes, with a carrier offset within ±0.005 cycles per symbol and a clock that is 20 ppm off. The Es/N0 is given, and
//! as so much above that of the standard's table. A frame counts from its first sample: 1 is the shortest time in which a packet can
//! come, 1.5 the mean of a receiver that loses no whole frame.

mod common;

use bief::Application;
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Layout, Pls};
use bief_radio::dvbs2::Transmitter;
use common::signal::{FORMAT, SAMPLES_PER_SYMBOL};
use common::tests::{PACKET, Shared, found_after, packets, recorded, samples, transmitter};

/// Frames that are sent.
const FRAMES: usize = 16;
/// MODCOD, frame size, pilots, and the Es/N0 of Table 13 of EN 302 307-1 in dB.
const SIGNALS: [(&str, FrameSize, bool, f64); 6] = [
    ("qpsk-1/4", FrameSize::Normal, true, -2.35),
    ("qpsk-1/4", FrameSize::Short, true, -2.35),
    ("qpsk-1/2", FrameSize::Normal, true, 1.0),
    ("qpsk-1/2", FrameSize::Normal, false, 1.0),
    ("qpsk-3/4", FrameSize::Short, true, 4.03),
    ("8psk-3/5", FrameSize::Normal, true, 5.5),
];
const ABOVE_DB: [f64; 3] = [0.3, 1.0, 2.0];

/// Frames from the beginning of a recording until its signal is found, and to the end of the frame that the first sound packet is
/// complete with; `None` where nothing comes.
fn received(bytes: Vec<u8>, stream: &[u8], frame: usize, start: f64, field: usize) -> Option<(f64, f64)> {
    let (receiver, given) = found_after(bytes).ok()?;
    let found = given as f64 / (frame * FORMAT.bytes()) as f64;
    let out = Shared::default();
    receiver.to(out.clone()).program().unwrap().run().unwrap();
    let packets = out.take();
    let sound = |packet: &[u8]| stream.chunks(PACKET).position(|sent| sent == packet);
    let first = packets.chunks(PACKET).find_map(sound)?;
    let last_frame = ((first + 1) * PACKET - 1) / field;
    Some((found, (last_frame + 1) as f64 - start / frame as f64))
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(40);
    let mut random = fastrand::Rng::with_seed(5);
    println!(
        "{:<28} {:>8} {:>7}   {:>16}   {:>16}   {:>7}",
        "frames until", "Es/N0 dB", "above", "found", "first packet", "neither"
    );
    println!("{:<28} {:>8} {:>7}   {:>8}{:>8}   {:>8}{:>8}", "", "", "", "median", "worst", "median", "worst");
    for (modcod, size, pilots, threshold) in SIGNALS {
        let pls = Pls::from_parts(modcod.parse().unwrap(), size, pilots).unwrap();
        let frame = SAMPLES_PER_SYMBOL as usize * Layout::new(pls).unwrap().symbols();
        let field = pls.fec().unwrap().kbch / 8 - 10;
        let stream = packets(FRAMES * field / PACKET, 1);
        let sent = samples(&Transmitter { frames: vec![pls], ..transmitter(true) }, &stream);
        for above in ABOVE_DB {
            let (mut found, mut first) = (Vec::new(), Vec::new());
            for seed in 0..rounds {
                let start = random.f64() * frame as f64;
                let channel = Channel {
                    start: start + 64.0,
                    carrier: 0.01 * (random.f64() - 0.5),
                    clock_ppm: 20.0,
                    phase: random.f64() * 6.0,
                    noise_power: Channel::noise_for(threshold + above, SAMPLES_PER_SYMBOL),
                    gain: 0.2,
                    seed,
                    ..Channel::clear()
                };
                if let Some((found_after, first_after)) =
                    received(recorded(&sent, channel), &stream, frame, start, field)
                {
                    found.push(found_after);
                    first.push(first_after.max(found_after));
                }
            }
            let [found_text, first_text] = [&mut found, &mut first].map(|frames| {
                frames.sort_by(f64::total_cmp);
                match (frames.get(frames.len() / 2), frames.last()) {
                    (Some(median), Some(worst)) => format!("{median:>8.2}{worst:>8.2}"),
                    _ => format!("{:>8}{:>8}", "-", "-"),
                }
            });
            let none = rounds as usize - found.len();
            println!(
                "{:<28} {:>8.2} {above:>7.1}   {found_text}   {first_text}   {none:>7}",
                pls.to_string(),
                threshold + above
            );
        }
    }
}
