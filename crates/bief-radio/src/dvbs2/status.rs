//! What a receiver has seen so far, to be looked at while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bief_dsp::dvbs2::Pls;
use serde::Serialize;

use super::decode::Decoding;
use super::streams::{StreamFigures, Streams};

/// Counters of a running receiver: written by its tasks, read by whoever shows them.
#[derive(Debug, Default)]
pub struct Status {
    bytes: AtomicU64,
    lost_samples: AtomicU64,
    passed_over_samples: AtomicU64,
    frames: AtomicU64,
    frame_errors: AtomicU64,
    missed_headers: AtomicU64,
    dummy_frames: AtomicU64,
    other_frames: AtomicU64,
    losses: AtomicU64,
    iterations: AtomicU64,
    corrected: AtomicU64,
    bits: AtomicU64,
    kinds: Kinds,
    streams: Arc<Streams>,
    es_n0: Number,
    carrier: Number,
    clock: Number,
    margin: Number,
}

/// Frames of each PLS, and those of them with errors.
#[derive(Debug)]
struct Kinds([[AtomicU64; 2]; 128]);

impl Default for Kinds {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Default::default()))
    }
}

/// A float that one thread writes and others read; NaN bits stand for "not yet".
#[derive(Debug)]
struct Number(AtomicU64);

impl Default for Number {
    fn default() -> Self {
        Self(AtomicU64::new(f64::NAN.to_bits()))
    }
}

impl Number {
    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }

    fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Relaxed))).filter(|value| value.is_finite())
    }
}

/// A copy of a [`Status`] at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes of the recording read.
    pub bytes: u64,
    /// Samples that were dropped before the receiver, which was too slow for live input.
    pub lost_samples: u64,
    /// Samples that were searched for a signal in vain: as many as a frame has, or more, before the first frame that was found or
    /// after a loss.
    pub passed_over_samples: u64,
    /// PLFRAMEs received.
    pub frames: u64,
    /// PLFRAMEs that could not be decoded without errors.
    pub frame_errors: u64,
    /// PLFRAMEs whose header was not recognised where it was expected.
    pub missed_headers: u64,
    /// Dummy PLFRAMEs.
    pub dummy_frames: u64,
    /// PLFRAMEs of MODCODs that are not wanted, which were passed over.
    pub other_frames: u64,
    /// Frames of each kind that came.
    pub kinds: Vec<KindFigures>,
    /// Times that the signal was lost and had to be found again.
    pub losses: u64,
    /// Mean iterations of the LDPC decoder per frame.
    pub mean_iterations: f64,
    /// Bits that the BCH decoder corrected.
    pub corrected_bits: u64,
    /// Information bits of the frames that were decoded without errors.
    pub bits: u64,
    /// Transport-stream packets written.
    pub packets: u64,
    /// Of these, packets with errors, marked by their transport error indicator.
    pub packet_errors: u64,
    /// Places where packets are missing, nobody knows how many.
    pub gaps: u64,
    /// Each input stream that was found.
    pub streams: Vec<StreamFigures>,
    /// BBFRAMEs that belong to nobody knows which stream, because they could not be read.
    pub unreadable_frames: u64,
    /// Signal-to-noise ratio Es/N0 in dB, averaged over the frames; `None` before the first.
    pub es_n0_db: Option<f64>,
    /// Carrier offset in cycles per symbol.
    pub carrier_per_symbol: Option<f64>,
    /// Error of the sender's symbol clock against the receiver's, in parts per million.
    pub clock_ppm: Option<f64>,
    /// Es/N0 above what the MODCOD of the last frame needs at least (EN 302 307-1, Table 13), in dB.
    pub margin_db: Option<f64>,
}

/// How frames of one kind fared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindFigures {
    /// MODCOD, size and pilots, as in `QPSK 8/9 short, pilots`.
    pub name: String,
    /// The PLS value.
    pub pls: u8,
    /// PLFRAMEs received.
    pub frames: u64,
    /// PLFRAMEs that could not be decoded without errors.
    pub frame_errors: u64,
}

impl Status {
    /// The figures of this moment.
    pub fn figures(&self) -> Figures {
        let frames = self.frames();
        let streams = self.streams.figures();
        let sum = |figure: fn(&StreamFigures) -> u64| streams.iter().map(figure).sum();
        Figures {
            bytes: self.bytes.load(Relaxed),
            lost_samples: self.lost_samples.load(Relaxed),
            passed_over_samples: self.passed_over_samples.load(Relaxed),
            frames,
            frame_errors: self.frame_errors.load(Relaxed),
            missed_headers: self.missed_headers.load(Relaxed),
            dummy_frames: self.dummy_frames.load(Relaxed),
            other_frames: self.other_frames.load(Relaxed),
            kinds: self.kinds(),
            losses: self.losses.load(Relaxed),
            mean_iterations: self.iterations.load(Relaxed) as f64 / frames.max(1) as f64,
            corrected_bits: self.corrected.load(Relaxed),
            bits: self.bits.load(Relaxed),
            packets: sum(|stream| stream.packets),
            packet_errors: sum(|stream| stream.errors),
            gaps: sum(|stream| stream.gaps),
            unreadable_frames: self.streams.unreadable(),
            streams,
            es_n0_db: self.es_n0.get(),
            carrier_per_symbol: self.carrier.get(),
            clock_ppm: self.clock.get(),
            margin_db: self.margin.get(),
        }
    }

    /// PLFRAMEs received so far: [`Figures::frames`] alone, for who asks often.
    pub fn frames(&self) -> u64 {
        self.frames.load(Relaxed)
    }

    fn kinds(&self) -> Vec<KindFigures> {
        let figures = |(pls, counts): (Pls, &[AtomicU64; 2])| {
            let [frames, frame_errors] = [&counts[0], &counts[1]].map(|count| count.load(Relaxed));
            KindFigures { name: pls.to_string(), pls: pls.value(), frames, frame_errors }
        };
        Pls::all().zip(&self.kinds.0).map(figures).filter(|kind| kind.frames > 0).collect()
    }

    /// The input streams that were found.
    pub fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    pub(super) fn count_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn count_lost_samples(&self, samples: u64) {
        self.lost_samples.fetch_add(samples, Relaxed);
    }

    pub(super) fn count_passed_over(&self, samples: u64) {
        self.passed_over_samples.fetch_add(samples, Relaxed);
    }

    pub(super) fn count_missed_header(&self) {
        self.missed_headers.fetch_add(1, Relaxed);
    }

    /// A frame that is passed over.
    pub(super) fn count_other_frame(&self, pls: Pls) {
        let count = if pls.is_dummy() { &self.dummy_frames } else { &self.other_frames };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn count_loss(&self) {
        self.losses.fetch_add(1, Relaxed);
    }

    pub(super) fn count_frame(&self, pls: Pls, decoding: &Decoding) {
        self.frames.fetch_add(1, Relaxed);
        let [frames, errors] = &self.kinds.0[usize::from(pls.value())];
        frames.fetch_add(1, Relaxed);
        errors.fetch_add(u64::from(!decoding.sound), Relaxed);
        if let Some(fec) = pls.fec().filter(|_| decoding.sound) {
            self.bits.fetch_add(fec.kbch as u64, Relaxed);
        }
        self.frame_errors.fetch_add(u64::from(!decoding.sound), Relaxed);
        self.iterations.fetch_add(u64::from(decoding.iterations), Relaxed);
        self.corrected.fetch_add(u64::from(decoding.corrected), Relaxed);
    }

    pub(super) fn set_signal(&self, es_n0_db: f64, carrier_per_symbol: f64, clock_ppm: f64) {
        self.es_n0.set(es_n0_db);
        self.carrier.set(carrier_per_symbol);
        self.clock.set(clock_ppm);
    }

    pub(super) fn set_margin(&self, margin_db: f64) {
        self.margin.set(margin_db);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_begin_unknown_and_add_up() {
        let status = Status::default();
        assert_eq!(status.figures().es_n0_db, None);
        let qpsk_8_9_short = Pls::new(43).unwrap();
        status.count_frame(qpsk_8_9_short, &Decoding { iterations: 4, sound: true, ..Decoding::default() });
        status.count_frame(qpsk_8_9_short, &Decoding { iterations: 20, ..Decoding::default() });
        status.set_signal(7.5, 0.01, -3.0);
        let figures = status.figures();
        assert_eq!((figures.frames, figures.frame_errors, figures.mean_iterations), (2, 1, 12.0));
        assert_eq!((figures.es_n0_db, figures.clock_ppm), (Some(7.5), Some(-3.0)));
        let kind = KindFigures { name: "QPSK 8/9 short, pilots".into(), pls: 43, frames: 2, frame_errors: 1 };
        assert_eq!((figures.bits, figures.kinds), (14_232, vec![kind]));
    }
}
