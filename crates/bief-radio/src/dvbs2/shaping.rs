//! From PLFRAMEs to the samples of a recording, as tasks.

use std::marker::PhantomData;

use bief::{Error, Flow, In, InVar, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::pulse::Shaper;
use num_complex::Complex32;

use crate::iq::SampleFormat;

/// Shapes symbols by root-raised-cosine pulses. The samples lag by [`Shaper::DELAY`] symbols.
///
/// # Sockets
/// - in: variable `Complex32`, symbols of unit energy
/// - out: variable `Complex32`, samples of unit energy per symbol; samples per symbol times as many
///
/// # Errors
/// None.
///
/// # Source
/// EN 302 307-1, clause 5.6.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, sink, source};
/// use bief_radio::dvbs2::ShapePulses;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let ones = source::from_fn_var(90, |mut symbols: VarFrame<'_, Complex32>| {
///     symbols.extend_from_slice(&[Complex32::new(1.0, 0.0); 90])?;
///     Ok(Flow::Next)
/// });
/// let symbols = chain.add(ones, ());
/// let samples = chain.add(ShapePulses::new(0.2, 2.0)?, &symbols);
/// chain.add(
///     sink::for_each_var(|samples: &[Complex32]| {
///         assert_eq!(samples.len(), 180);
///         Ok(Flow::Stop)
///     }),
///     &samples,
/// );
/// chain.build()?.run()?;
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
    /// A roll-off that is not from 0 to 1; samples per symbol that are no ratio of small numbers.
    pub fn new(rolloff: f64, samples_per_symbol: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&rolloff) {
            return Err(Error::new(format!("a roll-off of {rolloff}: give a number from 0 to 1")));
        }
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
    type In = InVar<Complex32>;
    type Out = OutVar<Complex32>;

    fn name(&self) -> String {
        "shape pulses".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<usize> {
        Ok(self.shaper.max_samples(symbols))
    }

    fn run(&mut self, symbols: &[Complex32], mut samples: VarFrame<'_, Complex32>) -> Result<Flow> {
        let made = self.shaper.shape(symbols, samples.space());
        samples.set_len(made)?;
        Ok(Flow::Next)
    }
}

/// Writes samples in the format of a recording, at a given level: frames of one length ([`new`](Self::new)), or each with its
/// own ([`variable`](Quantise::variable)), as the socket `S` tells.
///
/// # Sockets
/// - in: `Complex32`, or variable `Complex32`, samples of unit energy per symbol
/// - out: `u8`, or variable `u8`, the bytes of as many samples; what exceeds full scale is clipped
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
#[derive(Debug)]
pub struct Quantise<S = In<Complex32>> {
    scale: Scale,
    socket: PhantomData<fn() -> S>,
}

#[derive(Debug, Clone)]
struct Scale {
    format: SampleFormat,
    level: f32,
    scaled: Vec<Complex32>,
}

impl Scale {
    fn write(&mut self, samples: &[Complex32], bytes: &mut [u8]) {
        // Reaches its full length at the first frame.
        self.scaled.clear();
        self.scaled.extend(samples.iter().map(|sample| sample * self.level));
        self.format.write(&self.scaled, bytes);
    }
}

impl Quantise {
    /// Writes frames of one length in `format`; a sample of magnitude 1 becomes `level` of full scale.
    pub fn new(format: SampleFormat, level: f32) -> Self {
        Self { scale: Scale { format, level, scaled: Vec::new() }, socket: PhantomData }
    }
}

impl Quantise<InVar<Complex32>> {
    /// The same for frames of any length.
    pub fn variable(format: SampleFormat, level: f32) -> Self {
        Self { scale: Scale { format, level, scaled: Vec::new() }, socket: PhantomData }
    }
}

impl Task for Quantise {
    type In = In<Complex32>;
    type Out = Out<u8>;

    fn name(&self) -> String {
        "quantise".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<usize> {
        Ok(samples * self.scale.format.bytes())
    }

    fn run(&mut self, samples: &[Complex32], bytes: &mut [u8]) -> Result<Flow> {
        self.scale.write(samples, bytes);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { scale: self.scale.clone(), socket: PhantomData })
    }
}

impl Task for Quantise<InVar<Complex32>> {
    type In = InVar<Complex32>;
    type Out = OutVar<u8>;

    fn name(&self) -> String {
        "quantise".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<usize> {
        Ok(samples * self.scale.format.bytes())
    }

    fn run(&mut self, samples: &[Complex32], mut bytes: VarFrame<'_, u8>) -> Result<Flow> {
        bytes.set_len(samples.len() * self.scale.format.bytes())?;
        self.scale.write(samples, &mut bytes);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { scale: self.scale.clone(), socket: PhantomData })
    }
}
