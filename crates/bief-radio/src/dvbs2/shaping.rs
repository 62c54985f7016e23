//! From PLFRAMEs to the samples of a recording, as tasks.

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::pulse::Shaper;
use num_complex::Complex32;

use crate::iq::SampleFormat;

/// Shapes symbols by root-raised-cosine pulses. The samples lag by [`Shaper::DELAY`] symbols.
///
/// # Sockets
/// - in: `Complex32`, symbols of unit energy
/// - out: `Complex32`, samples of unit energy per symbol; samples per symbol times as many
///
/// # Errors
/// At build, a frame that does not make a whole number of samples.
///
/// # Source
/// EN 302 307-1, clause 5.6.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::dvbs2::ShapePulses;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let symbols = chain.add(source::from_slice(&[Complex32::new(1.0, 0.0); 90], 90), ());
/// let samples = chain.add(ShapePulses::new(0.2, 2.0)?, &symbols);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &samples);
/// chain.build()?.run()?;
/// assert_eq!(result.take().len(), 180);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct ShapePulses {
    shaper: Shaper,
}

impl ShapePulses {
    /// Pulses of this roll-off (0 to 1) at `samples_per_symbol` (1 to 64).
    ///
    /// # Errors
    /// Samples per symbol that are no ratio of small numbers.
    pub fn new(rolloff: f64, samples_per_symbol: f64) -> Result<Self> {
        let shaper = Shaper::new(rolloff, samples_per_symbol).ok_or_else(|| {
            Error::new(format!(
                "{samples_per_symbol} samples per symbol cannot be made: choose a ratio of small numbers of at least 1, \
                 such as 2, 2.5 or 4"
            ))
        })?;
        Ok(Self { shaper })
    }
}

impl Task for ShapePulses {
    type In = In<Complex32>;
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "shape pulses".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<usize> {
        self.shaper
            .samples(symbols)
            .ok_or_else(|| Error::new(format!("{symbols} symbols do not make a whole number of samples")))
    }

    fn run(&mut self, symbols: &[Complex32], samples: &mut [Complex32]) -> Result<Flow> {
        self.shaper.shape(symbols, samples);
        Ok(Flow::Next)
    }
}

/// Writes samples in the format of a recording, at a given level.
///
/// # Sockets
/// - in: `Complex32`, samples of unit energy per symbol
/// - out: `u8`, the bytes of as many samples; what exceeds full scale is clipped
///
/// # Errors
/// None.
///
/// # Source
/// The SigMF specification's `core:datatype`.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::{SampleFormat, dvbs2::Quantise};
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[Complex32::new(1.0, -1.0)], 1), ());
/// let bytes = chain.add(Quantise::new(SampleFormat::Ci8, 0.5), &samples);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &bytes);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [64, 192]);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantise {
    format: SampleFormat,
    level: f32,
    scaled: Vec<Complex32>,
}

impl Quantise {
    /// Writes in `format`; a sample of magnitude 1 becomes `level` of full scale.
    pub fn new(format: SampleFormat, level: f32) -> Self {
        Self { format, level, scaled: Vec::new() }
    }
}

impl Task for Quantise {
    type In = In<Complex32>;
    type Out = Out<u8>;

    fn name(&self) -> String {
        "quantise".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<usize> {
        Ok(samples * self.format.bytes())
    }

    fn run(&mut self, samples: &[Complex32], bytes: &mut [u8]) -> Result<Flow> {
        // Reaches its full length at the first frame.
        self.scaled.clear();
        self.scaled.extend(samples.iter().map(|sample| sample * self.level));
        self.format.write(&self.scaled, bytes);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
