//! A narrowband FM channel becomes audio, and tells what it hears.

use bief::report::Reading;
use bief::{Error, Figures, Flow, In, Out, Result, Task};
use bief_dsp::fm::Demodulator;
use bief_dsp::low_pass::{Window, low_pass};
use num_complex::Complex32;
use serde::Serialize;

use crate::low_pass::check;
use crate::parameter::{below_half, positive};

/// Seconds in which a carrier that has moved is followed by 63 %: no audio is as slow.
const FOLLOWED_IN: f64 = 2.0;
/// What is heard.
const SIGNAL: &str = "signal";
const NOISE: &str = "noise";

/// Keeps one narrowband FM channel, demodulates it, and follows its carrier.
///
/// What lies beside the channel is filtered out: beyond `cutoff` and half of `transition`, by 74 dB. The middle of the filter stays
/// on the carrier: the mean of what was demodulated moves it, slowly (2 s), and noise does not; the audio is not changed by
/// that, so that a carrier which moves is direct current in it ([`RemoveDc`](crate::RemoveDc)). So the task remembers, and is not
/// replicable: it works at the rate of the channel, where that costs little. What it hears it tells: see [`FmFigures`].
///
/// # Sockets
/// - in: `Complex32`, samples around the channel, any frame length; their level does not matter
/// - out: `f32`, as many; ±1 at the largest deviation
///
/// # Errors
/// None.
///
/// # Source
/// The angle from sample to sample (quadrature demodulation) behind a filter of linear phase, see [`bief_dsp::fm`].
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::DemodulateFm;
/// use num_complex::Complex32;
/// // 2 kHz above the middle, at 48 kHz.
/// let tone: Vec<Complex32> = (0..480).map(|k| Complex32::cis(std::f32::consts::TAU * k as f32 / 24.0)).collect();
/// let mut chain = Chain::new();
/// let channel = chain.add(source::from_slice(&tone, 48), ());
/// let audio = chain.add(DemodulateFm::new(48e3, 4e3, 7e3, 2.8e3)?, &channel);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &audio);
/// chain.build()?.run()?;
/// assert!(result.take()[100..].iter().all(|x| (x - 0.5).abs() < 1e-3));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct DemodulateFm {
    channel: Demodulator,
    sample_rate: f64,
    /// Samples of this run.
    samples: u64,
}

impl DemodulateFm {
    /// The channel in the middle of samples at `sample_rate`, whose carrier deviates by `deviation` at full scale: half of the amplitude
    /// passes at `cutoff`, and the filter goes from passband to stopband within `transition`, all in Hz. The carrier stays where it
    /// is.
    ///
    /// # Errors
    /// Frequencies that make no filter, as of [`LowPass`](crate::LowPass::new); a deviation that is not between 0 and half of the rate.
    pub fn new(sample_rate: f64, deviation: f64, cutoff: f64, transition: f64) -> Result<Self> {
        check(sample_rate, cutoff, transition, Window::Blackman)?;
        below_half("the deviation", deviation, sample_rate)?;
        let taps = low_pass(cutoff / sample_rate, transition / sample_rate, Window::Blackman);
        let channel = Demodulator::new(&taps, deviation / sample_rate);
        Ok(Self { channel, sample_rate, samples: 0 })
    }

    /// The same, but it follows the carrier, so far in Hz from where it is.
    ///
    /// # Errors
    /// A range that is not between 0 and half of the sample rate.
    pub fn following(self, range: f64) -> Result<Self> {
        self.following_within(range, FOLLOWED_IN)
    }

    /// The same within another time, in seconds.
    pub(crate) fn following_within(self, range: f64, seconds: f64) -> Result<Self> {
        let range =
            below_half("the range in which the carrier is followed", range, self.sample_rate)? / self.sample_rate;
        let samples = positive("the time in which the carrier is followed", seconds)? * self.sample_rate;
        Ok(Self { channel: self.channel.following(range, samples), ..self })
    }

    /// Samples by which the output lags behind.
    pub fn delay(&self) -> usize {
        self.channel.delay()
    }
}

impl Task for DemodulateFm {
    type In = In<Complex32>;
    type Out = Out<f32>;

    fn name(&self) -> String {
        "demodulate".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<usize> {
        match samples {
            0 => Err(Error::new("needs frames of at least 1 sample")),
            samples => Ok(samples),
        }
    }

    fn run(&mut self, samples: &[Complex32], frequency: &mut [f32]) -> Result<Flow> {
        self.channel.demodulate(samples, frequency);
        self.samples += samples.len() as u64;
        Ok(Flow::Next)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.level("demodulated", "s", self.samples as f64 / self.sample_rate, 1.0);
        figures.level("carrier_moved", "Hz", self.channel.offset() * self.sample_rate, 1.0);
        if let Some(has_signal) = self.channel.has_signal() {
            figures.text("heard", if has_signal { SIGNAL } else { NOISE });
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.channel.reset();
        self.samples = 0;
        Ok(())
    }
}

/// What a [`DemodulateFm`] has heard, read from what it tells: while it works, or of a whole run, also one that a fault ended.
///
/// It tells the levels `demodulated` in s and `carrier_moved` in Hz, and, where it follows the carrier, the text `heard`: `signal` or
/// `noise`.
///
/// ```
/// use bief::{Chain, Flow, sink, source};
/// use bief_radio::{DemodulateFm, FmFigures};
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let channel = chain.add(source::from_slice(&[Complex32::ONE; 48_000], 480), ());
/// let audio = chain.add(DemodulateFm::new(48e3, 4e3, 7e3, 2.8e3)?.following(2e3)?, &channel);
/// chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &audio);
/// let figures = FmFigures::of(&chain.build()?.run()?.figures);
/// assert_eq!((figures.seconds, figures.has_signal), (1.0, Some(true)));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FmFigures {
    /// Seconds of the channel that were demodulated.
    pub seconds: f64,
    /// How far the carrier has moved from where it was at first, in Hz, as far as it was followed.
    pub offset: f64,
    /// Whether there was a signal lately, or only noise; `None` where the carrier is not followed.
    pub has_signal: Option<bool>,
}

impl FmFigures {
    /// What a demodulator tells among `told`: of [`Report::figures`](bief::Report::figures) or
    /// [`Watch::figures`](bief::pipeline::Watch::figures).
    pub fn of(told: &Figures) -> Self {
        Self {
            seconds: told.measured("demodulated").unwrap_or(0.0),
            offset: told.measured("carrier_moved").unwrap_or(0.0),
            has_signal: told.get("heard").and_then(|figure| match &figure.reading {
                Reading::Text(heard) => Some(heard == SIGNAL),
                _ => None,
            }),
        }
    }
}
