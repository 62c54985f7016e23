//! Audio as bytes without a header.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use bief::{Flow, In, Result, Task};

/// How a sample of raw audio is written, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AudioFormat {
    /// A signed 16-bit integer, full scale 32767; what exceeds it is clipped.
    S16,
    /// A 32-bit float, full scale 1.0, never clipped.
    F32,
}

impl AudioFormat {
    /// Every format.
    pub const ALL: [Self; 2] = [Self::S16, Self::F32];

    /// Bytes of a sample.
    pub const fn bytes(self) -> usize {
        match self {
            Self::S16 => 2,
            Self::F32 => 4,
        }
    }

    /// The name of files' extensions: `s16` or `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S16 => "s16",
            Self::F32 => "f32",
        }
    }
}

impl fmt::Display for AudioFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AudioFormat {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let named = Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        named.ok_or_else(|| format!("unknown audio format `{name}`: choose s16 or f32"))
    }
}

/// A sample as an integer of full scale 32767; what exceeds it is clipped.
pub(crate) fn as_i16(sample: f32) -> i16 {
    // Casts from float to integer saturate.
    (sample * 32767.0).round() as i16
}

/// Writes audio as bytes without a header: what programs that play or convert sound take from a pipe.
///
/// # Sockets
/// - in: `f32`, any frame length; full scale ±1
///
/// # Errors
/// A writer that fails; what it took before is kept.
///
/// # Source
/// None: bytes.
///
/// # Example
/// ```
/// use bief::{Chain, source};
/// use bief_radio::{AudioFormat, WriteAudio};
/// let mut chain = Chain::new();
/// let audio = chain.add(source::from_slice(&[0.0_f32, 0.5], 1), ());
/// chain.add(WriteAudio::new(std::io::sink(), AudioFormat::S16), &audio);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub struct WriteAudio<W> {
    writer: W,
    format: AudioFormat,
}

impl<W: Write> WriteAudio<W> {
    /// Writes samples of this format to `writer`, a few bytes at a time, and flushes it at the end: give one that buffers.
    pub fn new(writer: W, format: AudioFormat) -> Self {
        Self { writer, format }
    }
}

impl<W: Write + Send + 'static> Task for WriteAudio<W> {
    type In = In<f32>;
    type Out = ();

    fn name(&self) -> String {
        "write audio".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, audio: &[f32], (): ()) -> Result<Flow> {
        for sample in audio {
            match self.format {
                AudioFormat::S16 => self.writer.write_all(&as_i16(*sample).to_le_bytes())?,
                AudioFormat::F32 => self.writer.write_all(&sample.to_le_bytes())?,
            }
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.writer.flush()?;
        Ok(())
    }
}
