//! Audio as a WAV file.

use std::io::{Seek, Write};

use bief::{Error, Flow, In, Result, Task};
use hound::{SampleFormat, WavSpec, WavWriter};

use crate::raw_audio::as_i16;

/// Writes audio as WAV, 16 bits per sample; what exceeds ±1 is clipped.
///
/// The header is completed when the run ends, also by a fault or a stop from outside, and once for each second of audio, so
/// that a program which is killed leaves a file that can be played; a later run of the same pipeline goes on behind what was
/// written.
///
/// # Sockets
/// - in: `f32`, a whole number of samples of each channel in turn (left, right, left, right …); full scale ±1
///
/// # Errors
/// At build, a frame that is not a whole number of samples of each channel. A writer that fails; a file of more than 4 GiB, which
/// the format does not allow: what was written before is kept.
///
/// # Source
/// *Multimedia Programming Interface and Data Specifications 1.0* (IBM and Microsoft, 1991): RIFF WAVE, PCM.
///
/// # Example
/// ```
/// use bief::{Chain, source};
/// use bief_radio::WriteWav;
/// let mut chain = Chain::new();
/// let audio = chain.add(source::from_slice(&[0.0_f32, 0.5, -0.5, 1.5], 2), ());
/// let file = std::io::Cursor::new(Vec::new()); // or `BufWriter::new(File::create("out.wav")?)`
/// chain.add(WriteWav::new(file, 48_000, 1)?, &audio);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub struct WriteWav<W: Write + Seek> {
    /// Until the first frame: a chain that is only built writes nothing.
    unused: Option<W>,
    writer: Option<WavWriter<W>>,
    spec: WavSpec,
    /// Bytes of samples for which there is room.
    room: usize,
    /// Samples written since the header was last completed.
    untold: usize,
}

impl<W: Write + Seek> WriteWav<W> {
    /// Writes `channels` channels at `sample_rate` samples per second each.
    ///
    /// # Errors
    /// No channels or more than 65 535, a rate that WAV cannot tell.
    pub fn new(writer: W, sample_rate: u32, channels: usize) -> Result<Self> {
        let count = u16::try_from(channels).ok().filter(|count| *count > 0);
        let Some(count) = count else {
            return Err(Error::new(format!("{channels} channels: a WAV file has 1 to {}", u16::MAX)));
        };
        if sample_rate == 0 || u64::from(sample_rate) * u64::from(count) * 2 > u64::from(u32::MAX) {
            return Err(Error::new(format!("{channels} channels at {sample_rate} Hz: WAV cannot tell this rate")));
        }
        let spec = WavSpec { channels: count, sample_rate, bits_per_sample: 16, sample_format: SampleFormat::Int };
        // All that a 32-bit length can tell, less the header.
        Ok(Self { unused: Some(writer), writer: None, spec, room: u32::MAX as usize - 100, untold: 0 })
    }

    /// The file, with its header written.
    fn writer(&mut self) -> Result<&mut WavWriter<W>> {
        if let Some(unused) = self.unused.take() {
            self.writer = Some(WavWriter::new(unused, self.spec).map_err(Error::from_source)?);
        }
        self.writer.as_mut().ok_or_else(|| Error::new("the WAV file could not be begun"))
    }
}

impl<W: Write + Seek + Send + 'static> Task for WriteWav<W> {
    type In = In<f32>;
    type Out = ();

    fn name(&self) -> String {
        "write wav".to_owned()
    }

    fn lens(&self, samples: usize) -> Result<()> {
        let channels = self.spec.channels;
        if !samples.is_multiple_of(channels.into()) {
            return Err(Error::new(format!(
                "{samples} samples are not a whole number for each of {channels} channels"
            )));
        }
        Ok(())
    }

    fn run(&mut self, audio: &[f32], (): ()) -> Result<Flow> {
        let bytes = size_of::<i16>() * audio.len();
        self.room = self.room.checked_sub(bytes).ok_or_else(|| {
            Error::new("the WAV file is full: it holds 4 GiB at most; write shorter files, or at a lower rate")
        })?;
        let mut samples = self.writer()?.get_i16_writer(audio.len() as u32);
        for sample in audio {
            samples.write_sample(as_i16(*sample));
        }
        samples.flush().map_err(Error::from_source)?;
        self.untold += audio.len();
        if self.untold >= self.spec.sample_rate as usize * usize::from(self.spec.channels) {
            self.untold = 0;
            self.writer()?.flush().map_err(Error::from_source)?;
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.writer()?.flush().map_err(Error::from_source)
    }
}
