//! Where a receiver begins: samples read, shifted in frequency, brought to a level.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bief::{Error, Flow, InOut, Out, Result, Task};
use bief_dsp::agc;
use bief_dsp::derotate::Phasor;
use num_complex::{Complex32, Complex64};

use crate::files::Input;
use crate::iq::SampleFormat;
use crate::parameter::{GREATEST, positive};
use crate::recording::Recording;

/// Reads a recording as frames of complex samples, and ends the stream with it.
///
/// Nothing of the recording is lost: zeros fill the last frame. Filters delay what they are given; for what they still hold at
/// the end, zeros can be asked for.
///
/// # Sockets
/// - out: `Complex32`, one frame; full scale ±1
///
/// # Errors
/// When the stream has ended: a recording that cannot be read any more, or that ends inside a sample; what was read before is
/// delivered.
///
/// # Source
/// The SigMF specification's `core:datatype`.
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_radio::{ReadSamples, Recording, SampleFormat};
/// let recording = Recording::from_memory("a test", SampleFormat::Ci8, vec![64; 6]);
/// let mut chain = Chain::new();
/// let samples = chain.add(ReadSamples::new(recording, 2, 0)?, ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &samples);
/// chain.build()?.run()?;
/// assert_eq!(result.take().iter().map(|z| z.re).collect::<Vec<_>>(), [0.5, 0.5, 0.5, 0.0]);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ReadSamples {
    name: String,
    format: SampleFormat,
    input: Input,
    bytes: Vec<u8>,
    /// Zeros to be played yet, and at the end so many at least: what filters hold back is known when they are there.
    tail: usize,
    held_back: Arc<AtomicUsize>,
    /// Bytes of a sample that has only begun.
    left_over: usize,
}

impl ReadSamples {
    /// The most samples in a frame.
    const LONGEST: usize = 1 << 28;

    /// Reads `frame` samples at a time; at least `tail` zeros follow the recording.
    ///
    /// # Errors
    /// A frame of no samples, or of more than 2²⁸.
    pub fn new(recording: Recording, frame: usize, tail: usize) -> Result<Self> {
        let Recording { name, format, samples, .. } = recording;
        if frame == 0 || frame > Self::LONGEST {
            return Err(Error::new(format!("a frame of {frame} samples: give 1 to {}", Self::LONGEST)));
        }
        let (input, bytes) = (Input::new(samples.into_reader()), vec![0; frame * format.bytes()]);
        Ok(Self { name, format, input, bytes, tail, held_back: Arc::default(), left_over: 0 })
    }

    /// Lets at least as many zeros follow the recording as this number says at its end.
    pub(crate) fn with_held_back(self, held_back: Arc<AtomicUsize>) -> Self {
        Self { held_back, ..self }
    }
}

impl Task for ReadSamples {
    type In = ();
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "read samples".to_owned()
    }

    fn lens(&self, (): ()) -> Result<usize> {
        Ok(self.bytes.len() / self.format.bytes())
    }

    fn run(&mut self, (): (), samples: &mut [Complex32]) -> Result<Flow> {
        let bytes = self.input.fill(&mut self.bytes);
        let each = self.format.bytes();
        let read = bytes / each;
        if read < samples.len() {
            self.tail = self.tail.max(self.held_back.swap(0, Ordering::Relaxed));
        }
        self.left_over += bytes % each; // only the last block ends inside a sample
        if read == 0 && self.tail == 0 {
            return Ok(Flow::Stop);
        }
        let (filled, zeros) = samples.split_at_mut(read);
        self.format.read(&self.bytes[..read * each], filled);
        zeros.fill(Complex32::ZERO);
        self.tail = self.tail.saturating_sub(zeros.len());
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.input.fault()?;
        match std::mem::take(&mut self.left_over) {
            0 => Ok(()),
            bytes => Err(Error::new(format!(
                "{}: ends inside a sample ({bytes} of {} bytes): is it cut short, or of another format?",
                self.name,
                self.format.bytes()
            ))),
        }
    }
}

/// Shifts samples in frequency. The phase goes on from frame to frame, so that the task is not replicable; it is a matter of a
/// quarter of a nanosecond per sample.
///
/// # Sockets
/// - in-place: `Complex32`, any frame length
///
/// # Errors
/// None.
///
/// # Source
/// None: a multiplication by exp(2πj · shift · t).
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::Shift;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let mut samples = chain.add(source::from_slice(&[Complex32::ONE; 4], 2), ());
/// chain.add(Shift::new(8000.0, 2000.0)?, &mut samples); // a quarter of a turn per sample
/// let (collect, result) = sink::collect();
/// chain.add(collect, &samples);
/// chain.build()?.run()?;
/// assert!((result.take()[3] + Complex32::I).norm() < 1e-6);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct Shift {
    phasor: Phasor,
    fresh: Phasor,
}

impl Shift {
    /// Shifts by so many Hz, up when above 0.
    ///
    /// # Errors
    /// A sample rate that is not above 0, a shift that is not a number, either beyond 1e15.
    pub fn new(sample_rate: f64, shift: f64) -> Result<Self> {
        if !(-GREATEST..=GREATEST).contains(&shift) {
            return Err(Error::new(format!(
                "a shift of {shift:e} Hz: give a number from -{GREATEST:e} to {GREATEST:e}"
            )));
        }
        let fresh = Phasor::new(shift / positive("the sample rate", sample_rate)?, Complex64::ONE);
        Ok(Self { phasor: fresh.clone(), fresh })
    }
}

impl Task for Shift {
    type In = InOut<Complex32>;
    type Out = ();

    fn name(&self) -> String {
        "shift".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, samples: &mut [Complex32], (): ()) -> Result<Flow> {
        self.phasor.multiply(samples);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.phasor = self.fresh.clone();
        Ok(())
    }
}

/// Automatic gain control: brings each frame to a level, measured in the frame itself.
///
/// Within a frame the gain goes on a straight line from the gain of the frame before; so the task is not replicable. Frames
/// without signal keep the gain.
///
/// # Sockets
/// - in-place: `Complex32`, any frame length
/// - out: `f32`, 1 per frame: the level (root mean square) that the frame had
///
/// # Errors
/// None.
///
/// # Source
/// None: arithmetic.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::Agc;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let mut samples = chain.add(source::from_slice(&[Complex32::new(0.0, 0.25); 6], 3), ());
/// let level = chain.add(Agc::new(1.0, 100.0)?, &mut samples);
/// let ((levels, level_of), (collect, result)) = (sink::collect(), sink::collect());
/// chain.add(levels, &level);
/// chain.add(collect, &samples);
/// chain.build()?.run()?;
/// assert_eq!(level_of.take(), [0.25; 2]);
/// assert_eq!(result.take()[5], Complex32::I);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct Agc {
    agc: agc::Agc,
    fresh: agc::Agc,
}

impl Agc {
    /// Controls to the level `target` by gains of `most_gain` or less.
    ///
    /// # Errors
    /// A target or a gain that is not above 0.
    pub fn new(target: f64, most_gain: f64) -> Result<Self> {
        let agc = agc::Agc::new(positive("the target", target)? as f32, positive("the most gain", most_gain)? as f32);
        Ok(Self { fresh: agc.clone(), agc })
    }
}

impl Task for Agc {
    type In = InOut<Complex32>;
    type Out = Out<f32>;

    fn name(&self) -> String {
        "agc".to_owned()
    }

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, samples: &mut [Complex32], level: &mut [f32]) -> Result<Flow> {
        level[0] = self.agc.control(samples);
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.agc = self.fresh.clone();
        Ok(())
    }
}
