//! Low-pass filters with decimation, whose work is replicable: what a filter must know of earlier frames comes on a wire of its
//! own, and a small task puts it there.

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::fir::{Fir, Sample};
use bief_dsp::low_pass::{Window, length, low_pass, low_pass_of_length};

use crate::parameter::{below_half, positive};

/// Gives each frame the last samples before it, zeros before the first.
///
/// It copies a few samples and is all that must be done in order; the filter that reads them may be replicated.
///
/// # Sockets
/// - in: `T` (`f32` or `Complex32`), any frame length
/// - out: `T`, the samples before the frame
///
/// # Errors
/// None.
///
/// # Source
/// None: a copy.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::History;
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], 2), ());
/// let before = chain.add(History::new(3)?, &samples);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &before);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct History<T> {
    last: Vec<T>,
}

impl<T: Sample> History<T> {
    /// Remembers `samples` samples.
    ///
    /// # Errors
    /// No samples, or more than 2²⁸.
    pub fn new(samples: usize) -> Result<Self> {
        if samples == 0 || samples > 1 << 28 {
            return Err(Error::new(format!("a history of {samples} samples: give 1 to {}", 1 << 28)));
        }
        Ok(Self { last: vec![T::default(); samples] })
    }
}

impl<T: Sample> Task for History<T> {
    type In = In<T>;
    type Out = Out<T>;

    fn name(&self) -> String {
        "history".to_owned()
    }

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(self.last.len())
    }

    fn run(&mut self, samples: &[T], before: &mut [T]) -> Result<Flow> {
        before.copy_from_slice(&self.last);
        let new = samples.len().min(self.last.len());
        self.last.copy_within(new.., 0);
        let kept = self.last.len() - new;
        self.last[kept..].copy_from_slice(&samples[samples.len() - new..]);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.last.fill(T::default());
        Ok(())
    }
}

/// Low-pass filter of linear phase that keeps one output of every `decimation`.
///
/// # Sockets
/// - in: `T` (`f32` or `Complex32`), the samples before the frame, as a [`History`] makes them: [`history`](Self::history) of
///   them or more
/// - in: `T`, a frame of a whole multiple of `decimation` samples
/// - out: `T`, one sample of every `decimation`
///
/// # Errors
/// At build, a history that is too short, a frame that is no whole multiple.
///
/// # Source
/// The window method, see [`bief_dsp::low_pass`].
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::low_pass::Window;
/// use bief_radio::{History, LowPass};
/// let low_pass = LowPass::new(48e3, 3e3, 1e3, Window::Hamming, 4)?;
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[1.0_f32; 480], 48), ());
/// let before = chain.add(History::new(low_pass.history())?, &samples);
/// let slow = chain.add(low_pass, (&before, &samples));
/// let (collect, result) = sink::collect();
/// chain.add(collect, &slow);
/// chain.build()?.run()?;
/// let slow = result.take();
/// assert!(slow.len() == 120 && (slow[119] - 1.0).abs() < 1e-5); // a constant passes
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LowPass<T> {
    fir: Fir<T>,
}

impl<T: Sample> LowPass<T> {
    /// The most samples of which it keeps one: all of them are taken apart at once.
    pub(crate) const MOST_DECIMATION: usize = 65_536;

    /// Passes what lies below `cutoff` (where half of the amplitude passes), going from passband to stopband within `transition`,
    /// all in Hz, for samples at `sample_rate`.
    ///
    /// # Errors
    /// Frequencies or a decimation that make no filter, a transition without a passband, one of more than 100 000 taps, a decimation above 65 536, a cutoff above
    /// half of the output's rate.
    pub fn new(sample_rate: f64, cutoff: f64, transition: f64, window: Window, decimation: usize) -> Result<Self> {
        if decimation == 0 {
            return Err(Error::new("a decimation of 0 would keep no sample: give at least 1"));
        }
        if decimation > Self::MOST_DECIMATION {
            let most = Self::MOST_DECIMATION;
            return Err(Error::new(format!(
                "a decimation of {decimation}: give at most {most}, and decimate again after it"
            )));
        }
        check(sample_rate, cutoff, transition, window)?;
        let most = sample_rate / (2.0 * cutoff);
        if decimation as f64 > most {
            return Err(Error::new(format!(
                "a decimation of {decimation} leaves {} Hz, less than twice the cutoff of {cutoff} Hz: give at most {}",
                sample_rate / decimation as f64,
                most.floor()
            )));
        }
        let taps = low_pass(cutoff / sample_rate, transition / sample_rate, window);
        Ok(Self { fir: Fir::new(&taps, decimation) })
    }

    /// The same, but so long that the output lags behind the input by a whole number of its own samples.
    pub(crate) fn aligned(
        sample_rate: f64,
        cutoff: f64,
        transition: f64,
        window: Window,
        decimation: usize,
    ) -> Result<Self> {
        let shortest = Self::new(sample_rate, cutoff, transition, window, decimation)?;
        let history = shortest.history().next_multiple_of(2 * decimation);
        let taps = low_pass_of_length(cutoff / sample_rate, history + 1, window);
        Ok(Self { fir: Fir::new(&taps, decimation) })
    }

    /// Samples before a frame that it needs: one less than it has taps.
    pub fn history(&self) -> usize {
        self.fir.history()
    }

    /// Samples by which the output lags behind the input, at the input's rate.
    pub fn delay(&self) -> usize {
        self.fir.history() / 2
    }
}

/// The most taps of a filter.
const LONGEST: usize = 100_000;

/// Refuses frequencies in Hz that make no low-pass filter.
pub(crate) fn check(sample_rate: f64, cutoff: f64, transition: f64, window: Window) -> Result<()> {
    positive("the sample rate", sample_rate)?;
    below_half("the cutoff", cutoff, sample_rate)?;
    positive("the transition", transition)?;
    let taps = length(transition / sample_rate, window);
    if taps > LONGEST {
        return Err(Error::new(format!(
            "a transition of {transition} Hz takes {taps} taps at {sample_rate} Hz: give a wider one, at most {LONGEST} taps"
        )));
    }
    if transition > 2.0 * cutoff {
        return Err(Error::new(format!(
            "a transition of {transition} Hz around a cutoff of {cutoff} Hz leaves no passband: give at most {}",
            2.0 * cutoff
        )));
    }
    Ok(())
}

impl<T: Sample> Task for LowPass<T> {
    type In = (In<T>, In<T>);
    type Out = Out<T>;

    fn name(&self) -> String {
        "low pass".to_owned()
    }

    fn lens(&self, (history, samples): (usize, usize)) -> Result<usize> {
        if history < self.history() {
            return Err(Error::new(format!(
                "needs a history of {} samples or more as its first input, not {history}",
                self.history()
            )));
        }
        let decimation = self.fir.decimation();
        if samples == 0 || !samples.is_multiple_of(decimation) {
            return Err(Error::new(format!("needs frames of a whole multiple of {decimation} samples, not {samples}")));
        }
        Ok(samples / decimation)
    }

    fn run(&mut self, (history, samples): (&[T], &[T]), out: &mut [T]) -> Result<Flow> {
        self.fir.filter(history, samples, out);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
