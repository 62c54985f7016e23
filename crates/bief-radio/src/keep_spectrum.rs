//! Samples that are kept so that someone can look at their spectrum.

use std::sync::OnceLock;

use bief::{Error, Figures, Flow, In, InVar, Result, Task};
use bief_dsp::spectrum::Spectrum;
use num_complex::Complex32;

use crate::iq::SampleFormat;
use crate::parameter::positive;

/// Bins of a spectrum, and the windows that it is the mean of: the latest ones.
const BINS: usize = 512;
const WINDOWS: usize = 16;

/// The latest windows, one after the other. Nothing is computed of them before someone asks.
#[derive(Debug)]
struct Latest {
    samples: Vec<Complex32>,
    /// Where the next sample goes once there are enough.
    next: usize,
    /// Samples per second, where they are known.
    sample_rate: Option<f64>,
    /// Made when someone asks first.
    spectrum: OnceLock<Spectrum>,
}

impl Latest {
    fn new(sample_rate: Option<f64>) -> Self {
        Self { samples: Vec::with_capacity(WINDOWS * BINS), next: 0, sample_rate, spectrum: OnceLock::new() }
    }

    /// Room for samples of a window, up to its end, and no more than are there.
    fn room(&mut self, there: usize) -> &mut [Complex32] {
        if self.next == WINDOWS * BINS {
            self.next = 0;
        }
        let (from, to) = (self.next, self.next + there.min(BINS - self.next % BINS));
        if self.samples.len() < to {
            self.samples.resize(to, Complex32::ZERO);
        }
        self.next = to;
        &mut self.samples[from..to]
    }

    fn tell(&self, figures: &mut Figures) {
        if self.samples.len() < BINS {
            return;
        }
        let (rate, axis) = self.sample_rate.map_or((1.0, "cycles per sample"), |rate| (rate, "Hz"));
        let values = self.spectrum.get_or_init(|| Spectrum::new(BINS)).of(&self.samples);
        figures.curve("spectrum", "dB", (-rate / 2.0, rate / BINS as f64), values).of("axis", axis);
    }

    fn clear(&mut self) {
        self.samples.clear();
        self.next = 0;
    }
}

/// Keeps some samples of each frame, 16 windows of 512 at most, and tells their spectrum: the curve `spectrum` in dB of full scale,
/// labelled with its `axis`, `Hz` around the middle where the sample rate is known, else `cycles per sample`.
///
/// Of each frame it copies 512 samples at most; the transforms are made when someone asks.
///
/// # Sockets
/// - in: `Complex32`, samples of full scale ±1, any frame length
///
/// # Errors
/// None.
///
/// # Source
/// Welch's method with a Hann window, see [`bief_dsp::spectrum`].
///
/// # Example
/// ```
/// use bief::report::Reading;
/// use bief::{Chain, source};
/// use bief_radio::KeepSpectrum;
/// use num_complex::Complex32;
/// // 12 kHz, at 48 kHz.
/// let tone: Vec<Complex32> = (0..4800).map(|k| Complex32::cis(std::f32::consts::TAU * k as f32 / 4.0)).collect();
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&tone, 480), ());
/// chain.add(KeepSpectrum::new(Some(48e3))?, &samples);
/// let told = chain.build()?.run()?.figures;
/// let Reading::Curve { start, step, values } = &told.get("spectrum").unwrap().reading else { panic!("a curve") };
/// let highest = (0..512).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
/// assert_eq!(start + step * highest as f64, 12e3);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct KeepSpectrum(Latest);

impl KeepSpectrum {
    /// Of samples at this rate per second, if it is known.
    ///
    /// # Errors
    /// A rate that is not positive.
    pub fn new(sample_rate: Option<f64>) -> Result<Self> {
        let rate = sample_rate.map(|rate| positive("the sample rate", rate)).transpose()?;
        Ok(Self(Latest::new(rate)))
    }
}

impl Task for KeepSpectrum {
    type In = In<Complex32>;
    type Out = ();

    fn name(&self) -> String {
        "keep spectrum".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<()> {
        if samples == 0 { Err(Error::new("needs frames of at least 1 sample")) } else { Ok(()) }
    }

    fn run(&mut self, frame: &[Complex32], (): ()) -> Result<Flow> {
        // Short frames make up windows together.
        let room = self.0.room(frame.len());
        room.copy_from_slice(&frame[..room.len()]);
        Ok(Flow::Next)
    }

    /// A replica keeps those of its own frames.
    fn replica(&self) -> Option<Self> {
        Some(Self(Latest::new(self.0.sample_rate)))
    }

    fn figures(&self, figures: &mut Figures) {
        self.0.tell(figures);
    }

    fn reset(&mut self) -> Result<()> {
        self.0.clear();
        Ok(())
    }
}

/// The same of samples as they were recorded, in frames of any length: the middle of each that has a whole window, as the fronts may be
/// alike.
#[derive(Debug)]
pub(crate) struct KeepRecordedSpectrum {
    latest: Latest,
    format: SampleFormat,
}

impl KeepRecordedSpectrum {
    pub(crate) fn new(format: SampleFormat, sample_rate: Option<f64>) -> Self {
        Self { latest: Latest::new(sample_rate), format }
    }
}

impl Task for KeepRecordedSpectrum {
    type In = InVar<u8>;
    type Out = ();

    fn name(&self) -> String {
        "keep spectrum".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, frame: &[u8], (): ()) -> Result<Flow> {
        let each = self.format.bytes();
        if let Some(spare) = (frame.len() / each).checked_sub(BINS) {
            let window = &frame[spare / 2 * each..][..BINS * each];
            self.format.read(window, self.latest.room(BINS));
        }
        Ok(Flow::Next)
    }

    /// A replica keeps those of its own frames.
    fn replica(&self) -> Option<Self> {
        Some(Self::new(self.format, self.latest.sample_rate))
    }

    fn figures(&self, figures: &mut Figures) {
        self.latest.tell(figures);
    }

    fn reset(&mut self) -> Result<()> {
        self.latest.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bief::report::Reading;

    use super::*;

    fn bins(task: &impl Task) -> Option<Vec<f32>> {
        let mut figures = Figures::default();
        task.figures(&mut figures);
        figures.get("spectrum").map(|figure| match &figure.reading {
            Reading::Curve { values, .. } => values.clone(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn frames_of_any_length_make_up_windows_and_the_latest_count() {
        for frame in [1, 7, 100, 512, 700] {
            let mut task = KeepSpectrum::new(None).unwrap();
            let before = task.0.samples.capacity();
            for _ in 0..20_000 {
                task.run(&vec![Complex32::ONE; frame], ()).unwrap();
            }
            assert_eq!((task.0.samples.len(), task.0.samples.capacity()), (WINDOWS * BINS, before), "{frame}");
            let constant = bins(&task).unwrap();
            assert!(constant[BINS / 2].abs() < 1e-3 && constant[0] < -80.0, "{frame}");
            // Half of a cycle per sample, for as long as what is kept.
            let alternating: Vec<Complex32> =
                (0..frame).map(|k| if k % 2 == 0 { Complex32::ONE } else { -Complex32::ONE }).collect();
            if frame % 2 == 0 {
                (0..20_000).for_each(|_| _ = task.run(&alternating, ()).unwrap());
                let alternating = bins(&task).unwrap();
                assert!(alternating[BINS / 2] < -80.0 && alternating[0].abs() < 1e-3, "{frame}");
            }
            task.reset().unwrap();
            assert_eq!(bins(&task), None);
        }
    }

    #[test]
    fn recorded_samples_are_read_as_their_format_says() {
        let mut task = KeepRecordedSpectrum::new(SampleFormat::Ci8, Some(1e6));
        task.run(&[64; 2 * BINS - 1], ()).unwrap();
        assert_eq!(bins(&task), None, "less than a window");
        task.run(&[64, 0].repeat(BINS), ()).unwrap();
        assert!((bins(&task).unwrap()[BINS / 2] - 20.0 * 0.5_f32.log10()).abs() < 1e-3);
    }
}
