//! The task that tells what the receiver sees of frames and signal.

use bief::report::Figures;
use bief::{Flow, In, Result, Task};
use bief_dsp::dvbs2::{FrameSync, SignalLevel};

use super::decode::Decoding;
use super::figures::{KINDS, all_kinds, of_kind, place_of};
use super::tables::expect;

/// Frames over which noise is averaged.
const AVERAGED: f64 = 100.0;

/// Counts frames, averages what was measured of the signal, and tells it: [`Figures`](super::Figures) says under which names.
///
/// # Sockets
/// - in: `Option<FrameSync>`, 1 per frame
/// - in: [`SignalLevel`], 1 per frame
/// - in: [`Decoding`], 1 per frame
///
/// # Errors
/// None.
///
/// # Source
/// None: arithmetic.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug)]
pub struct Observe {
    samples_per_symbol: f64,
    seen: Seen,
}

/// What was seen in this run.
#[derive(Debug)]
struct Seen {
    /// Frames of each kind, and those of them with errors.
    kinds: Box<[[u64; 2]; KINDS]>,
    /// Iterations of the LDPC decoder.
    iterations: u64,
    /// Bits that the BCH decoder corrected.
    corrected: u64,
    /// The mean noise, and of how many frames.
    n0: f64,
    averaged: f64,
    /// Of the last frame: cycles per symbol, ppm.
    carrier: f64,
    clock: f64,
    /// What its MODCOD needs at least, in dB, of the last frame that has one.
    needed_db: Option<f64>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            kinds: Box::new([[0; 2]; KINDS]),
            iterations: 0,
            corrected: 0,
            n0: 0.0,
            averaged: 0.0,
            carrier: 0.0,
            clock: 0.0,
            needed_db: None,
        }
    }
}

impl Observe {
    /// Clock errors are against `samples_per_symbol`.
    pub fn new(samples_per_symbol: f64) -> Self {
        Self { samples_per_symbol, seen: Seen::default() }
    }
}

impl Task for Observe {
    type In = (In<Option<FrameSync>>, In<SignalLevel>, In<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "observe".to_owned()
    }

    fn lens(&self, (sync, level, decoding): (usize, usize, usize)) -> Result<()> {
        expect("record", 1, sync).and(expect("record", 1, level)).and(expect("record", 1, decoding))
    }

    fn run(
        &mut self,
        (sync, level, decoding): (&[Option<FrameSync>], &[SignalLevel], &[Decoding]),
        (): (),
    ) -> Result<Flow> {
        let (Some(sync), seen) = (sync[0], &mut self.seen) else { return Ok(Flow::Next) };
        let [frames, errors] = &mut seen.kinds[place_of(sync.pls)];
        *frames += 1;
        *errors += u64::from(!decoding[0].sound);
        seen.iterations += u64::from(decoding[0].iterations);
        seen.corrected += u64::from(decoding[0].corrected);
        // The mean over all frames at first, then over about the last hundred.
        seen.averaged = (seen.averaged + 1.0).min(AVERAGED);
        seen.n0 += (f64::from(level[0].n0) - seen.n0) / seen.averaged;
        // The sender's symbols come late when the receiver counts too many samples in each.
        seen.clock = 1e6 * (self.samples_per_symbol / sync.step - 1.0);
        // The other fields of an inverted signal are those of its mirror image.
        seen.carrier = if sync.inverted { -sync.frequency } else { sync.frequency };
        let needed = sync.pls.modcod().map(|modcod| modcod.ideal_esn0_db());
        if let Some(needed) = needed.or_else(|| Some(sync.pls.vl_snr()?.ideal_esn0_db())) {
            seen.needed_db = Some(f64::from(needed));
        }
        Ok(Flow::Next)
    }

    fn figures(&self, figures: &mut Figures) {
        let Seen { kinds, iterations, corrected, n0, averaged, carrier, clock, needed_db } = &self.seen;
        let (mut all, mut information) = (0, 0);
        for (pls, [frames, errors]) in all_kinds().zip(**kinds).filter(|(_, [frames, _])| *frames > 0) {
            of_kind(figures.count("frames", "", frames), pls);
            of_kind(figures.count("frame_errors", "", errors), pls);
            all += frames;
            information += frames * pls.fec().map_or(0, |fec| fec.kbch as u64);
        }
        figures.count("information", "bits", information);
        figures.count("corrected", "bits", *corrected);
        // Nothing is told of means over no frames.
        figures.level("ldpc_iterations", "", *iterations as f64 / all as f64, all as f64);
        let es_n0 = -10.0 * n0.log10();
        figures.level("es_n0", "dB", es_n0, *averaged);
        figures.level("margin", "dB", needed_db.map_or(f64::NAN, |needed| es_n0 - needed), *averaged);
        figures.level("carrier", "cycles per symbol", *carrier, *averaged);
        figures.level("clock", "ppm", *clock, *averaged);
    }

    fn reset(&mut self) -> Result<()> {
        self.seen = Seen::default();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bief_dsp::dvbs2::Pls;
    use num_complex::Complex32;

    use super::*;

    #[test]
    fn what_is_seen_is_told_for_each_run_anew() {
        let mut observe = Observe::new(2.0);
        let told = |observe: &Observe| {
            let mut figures = Figures::default();
            observe.figures(&mut figures);
            super::super::Figures::of(&figures)
        };
        assert_eq!(told(&observe).es_n0_db, None);
        let pls = Pls::new(43);
        let sync = FrameSync {
            pls,
            position: 0.0,
            step: 2.0 * (1.0 + 3e-6),
            frequency: 0.01,
            phase: 0.0,
            amplitude: 1.0,
            quality: 1.0,
            measured: true,
            inverted: false,
            dc: Complex32::ZERO,
        };
        let level = SignalLevel { n0: 0.1, ..SignalLevel::default() };
        for (iterations, sound) in [(4, true), (20, false)] {
            let decoding = Decoding { iterations, sound, ..Decoding::default() };
            observe.run((&[Some(sync)], &[level], &[decoding]), ()).unwrap();
        }
        let figures = told(&observe);
        assert_eq!((figures.frames, figures.frame_errors, figures.mean_iterations), (2, 1, 12.0));
        assert_eq!((figures.bits, figures.kinds[0].pls, figures.carrier_per_symbol), (14_232, 43, Some(0.01)));
        assert!((figures.es_n0_db.unwrap() - 10.0).abs() < 1e-6 && (figures.clock_ppm.unwrap() + 3.0).abs() < 1e-3);
        assert!((figures.margin_db.unwrap() - (10.0 - 6.2)).abs() < 1e-6, "{figures:?}");
        observe.reset().unwrap();
        assert_eq!((told(&observe).frames, told(&observe).margin_db), (0, None));
    }
}
