//! From a filtered channel to audio: FM demodulated, treble and direct current taken out.

use std::f64::consts::TAU;

use bief::{Flow, In, InOut, Out, Result, Task};
use bief_dsp::discriminator::discriminate;
use bief_dsp::one_pole::OnePole;
use num_complex::Complex32;

use crate::parameter::{below_half, positive};

/// Demodulates FM: the frequency of each sample, as a share of the largest deviation.
///
/// It remembers one sample, and is not replicable; it works at the rate of the channel, where that costs little.
///
/// # Sockets
/// - in: `Complex32`, the channel, any frame length; its level does not matter
/// - out: `f32`, as many; ±1 at the largest deviation
///
/// # Errors
/// None.
///
/// # Source
/// None: the angle from sample to sample (quadrature demodulation), right to 5e-7 rad.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::Discriminate;
/// use num_complex::Complex32;
/// // 2 kHz above the carrier, at 48 kHz.
/// let tone: Vec<Complex32> = (0..480).map(|k| Complex32::cis(std::f32::consts::TAU * k as f32 / 24.0)).collect();
/// let mut chain = Chain::new();
/// let channel = chain.add(source::from_slice(&tone, 48), ());
/// let audio = chain.add(Discriminate::new(48e3, 4e3)?, &channel);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &audio);
/// chain.build()?.run()?;
/// assert!(result.take()[1..].iter().all(|x| (x - 0.5).abs() < 1e-4));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct Discriminate {
    gain: f32,
    previous: Complex32,
}

impl Discriminate {
    /// For a channel at `sample_rate`, with a largest deviation of so many Hz.
    ///
    /// # Errors
    /// A rate that is not above 0, a deviation that is not between 0 and half of it.
    pub fn new(sample_rate: f64, deviation: f64) -> Result<Self> {
        positive("the sample rate", sample_rate)?;
        below_half("the deviation", deviation, sample_rate)?;
        Ok(Self { gain: (sample_rate / (TAU * deviation)) as f32, previous: Complex32::ZERO })
    }
}

impl Task for Discriminate {
    type In = In<Complex32>;
    type Out = Out<f32>;

    fn name(&self) -> String {
        "discriminate".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<usize> {
        Ok(samples)
    }

    fn run(&mut self, samples: &[Complex32], frequency: &mut [f32]) -> Result<Flow> {
        discriminate(self.previous, samples, self.gain, frequency);
        self.previous = samples.last().copied().unwrap_or(self.previous);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.previous = Complex32::ZERO;
        Ok(())
    }
}

/// Takes out what a sender's pre-emphasis added: treble above a corner given by a time constant.
///
/// # Sockets
/// - in-place: `f32`, audio, any frame length
///
/// # Errors
/// None.
///
/// # Source
/// A low-pass filter of one pole, see [`OnePole`]; 50 and 75 µs are those of ITU-R BS.450.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::DeEmphasis;
/// let mut chain = Chain::new();
/// let mut audio = chain.add(source::from_slice(&[1.0_f32; 48], 24), ());
/// chain.add(DeEmphasis::new(48e3, 1e-3)?, &mut audio);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &audio);
/// chain.build()?.run()?;
/// assert!((result.take()[47] - 0.632).abs() < 1e-3); // after one time constant
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct DeEmphasis {
    filter: OnePole,
}

impl DeEmphasis {
    /// For audio at `sample_rate`, with this time constant in seconds.
    ///
    /// # Errors
    /// Either is not above 0.
    pub fn new(sample_rate: f64, time_constant: f64) -> Result<Self> {
        let samples = positive("the time constant", time_constant)? * positive("the sample rate", sample_rate)?;
        Ok(Self { filter: OnePole::new(samples) })
    }
}

impl Task for DeEmphasis {
    type In = InOut<f32>;
    type Out = ();

    fn name(&self) -> String {
        "de-emphasis".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, audio: &mut [f32], (): ()) -> Result<Flow> {
        self.filter.low_pass(audio);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.filter.reset();
        Ok(())
    }
}

/// Takes out direct current, and what lies below a corner: after a [`Discriminate`], what the carrier is off.
///
/// # Sockets
/// - in-place: `f32`, audio, any frame length
///
/// # Errors
/// None.
///
/// # Source
/// A high-pass filter of one pole, see [`OnePole`].
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::RemoveDc;
/// let mut chain = Chain::new();
/// let mut audio = chain.add(source::from_slice(&[0.5_f32; 4800], 480), ());
/// chain.add(RemoveDc::new(48e3, 50.0)?, &mut audio);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &audio);
/// chain.build()?.run()?;
/// assert!(result.take()[4799].abs() < 1e-6);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct RemoveDc {
    filter: OnePole,
}

impl RemoveDc {
    /// For audio at `sample_rate`, with this corner in Hz.
    ///
    /// # Errors
    /// A rate that is not above 0, a corner that is not between 0 and half of it.
    pub fn new(sample_rate: f64, corner: f64) -> Result<Self> {
        positive("the sample rate", sample_rate)?;
        Ok(Self { filter: OnePole::with_corner(below_half("the corner", corner, sample_rate)? / sample_rate) })
    }
}

impl Task for RemoveDc {
    type In = InOut<f32>;
    type Out = ();

    fn name(&self) -> String {
        "remove dc".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, audio: &mut [f32], (): ()) -> Result<Flow> {
        self.filter.high_pass(audio);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.filter.reset();
        Ok(())
    }
}
