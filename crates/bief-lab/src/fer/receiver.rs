//! The whole chain: transmitter, channel, receiver with its own synchronisation, from memory to memory.
//!
//! A block begins inside a PLFRAME and ends behind others that do not count, so that every frame that counts is whole and has
//! neighbours. Whether a frame came through is seen by a packet of random content that lies in it alone, with its CRC-8.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::io::{self, Cursor, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bief::{Flow, sink};
use bief_cli::failure::Failure;
use bief_dsp::Complex32;
use bief_dsp::channel::{Channel, PhaseNoise};
use bief_dsp::dvbs2::{BBHEADER, Layout, PACKET, SYNC_BYTE};
use bief_radio::dvbs2::{Decoding, Deliver, ReceiveError, Receiver, Settings, Transmitter};
use bief_radio::{Recording, SampleFormat};
use fastrand::Rng;

use super::count::Tally;
use super::measure::Chain;
use super::setup::{CARRIER, CLOCK_PPM, EsN0, Setup};

/// Symbols of a block, about, and how many frames may count in it.
const SYMBOLS: usize = 270_000;
const FRAMES: std::ops::RangeInclusive<usize> = 20..=60;
/// Frames before those that count: one that is cut, one that is whole.
const BEFORE: usize = 2;
/// Frames behind them.
const BEHIND: usize = 2;

/// Sends blocks and receives them.
pub(super) struct Whole {
    setup: Setup,
    transmitter: Transmitter,
    /// Samples of a PLFRAME.
    frame_samples: f64,
    /// Bytes of transport stream in a frame.
    room: usize,
    /// Frames of a block that count.
    frames: usize,
}

/// What was sent.
struct Sent {
    packets: Vec<u8>,
    samples: Vec<Complex32>,
}

/// What came out of the receiver: packets, and how many frames had been decoded when each came.
#[derive(Default)]
struct Delivered {
    bytes: Vec<u8>,
    frames: Vec<u64>,
}

/// Where a receiver writes.
struct Writer {
    delivered: Arc<Mutex<Delivered>>,
    /// Frames decoded so far.
    decoded: Arc<AtomicU64>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut delivered = self.delivered.lock().expect("no thread panics while it holds the lock");
        delivered.bytes.extend_from_slice(bytes);
        let packets = delivered.bytes.len() / PACKET;
        delivered.frames.resize(packets, self.decoded.load(Ordering::Relaxed));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Whole {
    /// # Errors
    /// A signal that DVB-S2 does not define, or samples per symbol that cannot be made.
    pub(super) fn new(setup: &Setup) -> Result<Self, Failure> {
        let pls = setup.pls();
        let parts = pls.fec().zip(Layout::new(pls));
        let (fec, layout) = parts.ok_or_else(|| Failure::new(format!("DVB-S2 has no {pls}")))?;
        let transmitter = Transmitter {
            roll_off: setup.roll_off,
            samples_per_symbol: setup.samples_per_symbol,
            format: SampleFormat::Cf32,
            level: 1.0,
            ..Transmitter::new(pls)
        };
        transmitter
            .chain(io::empty(), io::sink())
            .and_then(bief::Chain::build)
            .map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self {
            setup: *setup,
            transmitter,
            frame_samples: layout.symbols() as f64 * setup.samples_per_symbol,
            room: fec.kbch / 8 - BBHEADER,
            frames: (SYMBOLS / layout.symbols()).clamp(*FRAMES.start(), *FRAMES.end()),
        })
    }

    /// Frames of a block, those that do not count included.
    fn all_frames(&self) -> usize {
        BEFORE + self.frames + BEHIND
    }

    /// The packet that lies in that frame alone, with the byte behind it; `None` where there is no room for one.
    fn witness(&self, frame: usize) -> Option<usize> {
        let packet = (frame * self.room).div_ceil(PACKET);
        (packet * PACKET + PACKET < (frame + 1) * self.room).then_some(packet)
    }

    fn transmit(&self, random: &mut Rng) -> Result<Sent, Failure> {
        let mut packets = vec![0; (self.all_frames() * self.room).div_ceil(PACKET) * PACKET];
        random.fill(&mut packets);
        for packet in packets.chunks_exact_mut(PACKET) {
            packet[0] = SYNC_BYTE;
            // No transport error indicator: the receiver sets it.
            packet[1] &= 0x7F;
        }
        let out = Shared::default();
        let chain = self.transmitter.chain(Cursor::new(packets.clone()), out.clone());
        chain.and_then(bief::Chain::build).and_then(bief::Program::run).map_err(Failure::from_error)?;
        let bytes = out.take();
        let mut samples = vec![Complex32::ZERO; bytes.len() / SampleFormat::Cf32.bytes()];
        SampleFormat::Cf32.read(&bytes, &mut samples);
        Ok(Sent { packets, samples })
    }

    fn channel(&self, es_n0: EsN0, random: &mut Rng) -> Channel {
        let Setup { samples_per_symbol, carrier, clock_ppm, oscillator, .. } = self.setup;
        let mut within = |most: f64| most * (2.0 * random.f64() - 1.0);
        let drawn = [within(CARRIER), within(CLOCK_PPM), within(0.5)];
        Channel {
            clock_ppm: clock_ppm.unwrap_or(drawn[1]),
            start: (0.5 + drawn[2]) * self.frame_samples,
            carrier: carrier.unwrap_or(drawn[0]) / samples_per_symbol,
            phase: TAU * random.f64(),
            phase_noise: oscillator.map(|oscillator| PhaseNoise {
                mask: PhaseNoise::DVB_S2,
                shift_db: oscillator.shift_db,
                sample_rate: oscillator.symbol_rate * samples_per_symbol,
            }),
            noise_power: Channel::noise_for(es_n0.db(), samples_per_symbol),
            seed: random.u64(..),
            ..Channel::clear()
        }
    }

    /// What the receiver makes of samples, and the frames that it decoded; `None` where it finds no such signal.
    fn receive(&self, samples: &[Complex32]) -> Result<Option<(Delivered, u64)>, Failure> {
        let mut bytes = vec![0; samples.len() * SampleFormat::Cf32.bytes()];
        SampleFormat::Cf32.write(samples, &mut bytes);
        let recording = Recording::from_memory("bief lab fer", SampleFormat::Cf32, bytes);
        let receiver = match Receiver::find(recording, Settings::at(self.setup.samples_per_symbol), |_| ()) {
            Ok(receiver) => receiver,
            Err(ReceiveError::NoSignal { .. }) => return Ok(None),
            Err(error) => return Err(Failure::from_error(error)),
        };
        let (delivered, decoded) = (Arc::default(), Arc::<AtomicU64>::default());
        let writer = Writer { delivered: Arc::clone(&delivered), decoded: Arc::clone(&decoded) };
        let count = Arc::clone(&decoded);
        let count = sink::for_each(move |_: &[Decoding]| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Flow::Next)
        });
        let mut chain = bief::Chain::new();
        let (frames, decoding) = receiver.decode(&mut chain);
        // On one core, it has counted a frame before that is delivered.
        chain.add(count, &decoding);
        chain.add(Deliver::single(writer), (&frames, &decoding));
        chain.build().and_then(bief::Program::run).map_err(Failure::from_error)?;
        let delivered = std::mem::take(&mut *delivered.lock().expect("the run is over"));
        Ok(Some((delivered, decoded.load(Ordering::Relaxed))))
    }

    /// Counts the frames whose witness is missing among what was delivered, with so many frames decoded in the end.
    fn count(&self, packets: &[u8], delivered: &Delivered, decoded: u64) -> Tally {
        let sent: HashMap<&[u8], usize> =
            packets.chunks_exact(PACKET).enumerate().map(|(packet, bytes)| (bytes, packet)).collect();
        // How many frames had been decoded when each packet sent had come.
        let mut came = vec![None; packets.len() / PACKET];
        for (bytes, &frames) in delivered.bytes.chunks_exact(PACKET).zip(&delivered.frames) {
            if let Some(&packet) = sent.get(bytes) {
                came[packet] = Some(frames);
            }
        }
        let (mut tally, mut lost) = (Tally::default(), 0);
        // Decoded frames before the next that counts.
        let mut decoded_before = 0;
        let mut missing = 0;
        for frame in BEFORE..BEFORE + self.frames {
            let Some(witness) = self.witness(frame) else { continue };
            tally.frames += 1;
            missing += 1;
            match came[witness] {
                Some(frames) => {
                    // Of the frames since the last one that came, this one included, so many were decoded.
                    lost += u64::saturating_sub(missing, frames.saturating_sub(decoded_before));
                    (decoded_before, missing) = (frames, 0);
                }
                None => tally.errors += 1,
            }
        }
        lost += u64::saturating_sub(missing, decoded.saturating_sub(decoded_before));
        Tally { lost: lost.min(tally.errors), ..tally }
    }
}

impl Chain for Whole {
    fn block(&mut self, es_n0: EsN0, seed: u64) -> Result<Tally, Failure> {
        let mut random = Rng::with_seed(seed);
        let sent = self.transmit(&mut random)?;
        let samples = self.channel(es_n0, &mut random).apply(&sent.samples);
        let (delivered, decoded) = self.receive(&samples)?.unwrap_or_default();
        Ok(self.count(&sent.packets, &delivered, decoded))
    }
}

/// Bytes that a chain writes.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().expect("no thread panics while it holds the lock"))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread panics while it holds the lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup::TESTED;
    use super::*;

    fn whole() -> Whole {
        Whole::new(&TESTED).unwrap()
    }

    #[test]
    fn a_witness_lies_in_its_frame_alone() {
        let mut whole = whole();
        for room in [374, 375, 376, 1769, 6000] {
            whole.room = room;
            let mut without = 0;
            for frame in 0..1000 {
                let Some(packet) = whole.witness(frame) else {
                    without += 1;
                    continue;
                };
                assert!(frame * room <= packet * PACKET && packet * PACKET + PACKET < (frame + 1) * room);
            }
            assert!(without <= if room < 376 { 11 } else { 0 }, "{room}: {without}");
        }
    }

    #[test]
    fn a_clean_channel_loses_nothing_and_noise_loses_all() {
        let mut whole = whole();
        let frames = whole.frames as u64;
        for seed in 0..3 {
            assert_eq!(whole.block(EsN0(12_000), seed).unwrap(), Tally { frames, errors: 0, lost: 0 });
        }
        assert_eq!(whole.block(EsN0(-30_000), 1).unwrap(), Tally { frames, errors: frames, lost: frames });
    }

    /// What would be delivered if each frame in `wrong` were decoded with errors, and each in `lost` not at all.
    fn delivered(whole: &Whole, packets: &[u8], wrong: &[usize], lost: &[usize]) -> (Delivered, u64) {
        let mut delivered = Delivered::default();
        let mut decoded = 0;
        for frame in 1..whole.all_frames() {
            decoded += u64::from(!lost.contains(&frame));
            if !wrong.contains(&frame) && !lost.contains(&frame) {
                let witness = whole.witness(frame).unwrap() * PACKET;
                delivered.bytes.extend_from_slice(&packets[witness..witness + PACKET]);
                delivered.frames.push(decoded);
            }
        }
        (delivered, decoded)
    }

    #[test]
    fn errors_and_losses_are_told_apart_and_those_at_the_edges_do_not_count() {
        let whole = whole();
        let packets = whole.transmit(&mut Rng::with_seed(1)).unwrap().packets;
        let (frames, end) = (whole.frames as u64, BEFORE + whole.frames);
        for (wrong, lost, errors, of_them_lost) in [
            (&[][..], &[][..], 0, 0),
            (&[5, 9], &[], 2, 0),
            (&[], &[5, 6, 20], 3, 3),
            (&[5, 7], &[6, 8], 4, 2),
            (&[1, end], &[], 0, 0),
            (&[end - 1], &[7], 2, 1),
        ] {
            let (delivered, decoded) = delivered(&whole, &packets, wrong, lost);
            let tally = whole.count(&packets, &delivered, decoded);
            assert_eq!(tally, Tally { frames, errors, lost: of_them_lost }, "{wrong:?} {lost:?}");
        }
        // Synchronisation that comes late, and that goes early.
        let late: Vec<usize> = (1..12).collect();
        let (late, decoded) = delivered(&whole, &packets, &[], &late);
        assert_eq!(whole.count(&packets, &late, decoded), Tally { frames, errors: 10, lost: 10 });
        let early: Vec<usize> = (end - 6..whole.all_frames()).collect();
        let (early, decoded) = delivered(&whole, &packets, &[], &early);
        assert_eq!(whole.count(&packets, &early, decoded), Tally { frames, errors: 6, lost: 6 });
    }
}
