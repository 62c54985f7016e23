//! Samples as bytes: the formats that recordings use, and the task that makes complex numbers of them.

use std::fmt;
use std::str::FromStr;

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::convert;
use bief_dsp::filter::Recorded;
use num_complex::Complex32;

/// How a complex sample is written: I then Q, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleFormat {
    /// Two 32-bit floats, full scale 1.0. SigMF `cf32_le`.
    Cf32,
    /// Two signed 16-bit integers, full scale 32768. SigMF `ci16_le`.
    Ci16,
    /// Two signed bytes, full scale 128. SigMF `ci8`.
    Ci8,
    /// Two unsigned bytes around 127.5, full scale 127.5. SigMF `cu8`.
    Cu8,
}

impl SampleFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Cf32, Self::Ci16, Self::Ci8, Self::Cu8];

    /// Bytes of one complex sample.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Cf32 => 8,
            Self::Ci16 => 4,
            Self::Ci8 | Self::Cu8 => 2,
        }
    }

    /// The name on a command line: `cf32`, `ci16`, `ci8` or `cu8`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cf32 => "cf32",
            Self::Ci16 => "ci16",
            Self::Ci8 => "ci8",
            Self::Cu8 => "cu8",
        }
    }

    /// The value of SigMF's `core:datatype`.
    pub const fn datatype(self) -> &'static str {
        match self {
            Self::Cf32 => "cf32_le",
            Self::Ci16 => "ci16_le",
            Self::Ci8 => "ci8",
            Self::Cu8 => "cu8",
        }
    }

    /// The format of a SigMF `core:datatype`, if it is one of ours.
    pub fn from_datatype(datatype: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.datatype() == datatype)
    }

    /// Makes complex numbers of full scale 1 from bytes; a float that is not finite, or of 10¹² and more, becomes 0.
    ///
    /// # Panics
    /// When `bytes` is not [`bytes`](Self::bytes) times as long as `samples`.
    ///
    /// ```
    /// use bief_radio::SampleFormat;
    /// let mut samples = [Default::default(); 2];
    /// SampleFormat::Ci8.read(&[64, 0, 0, 192], &mut samples);
    /// assert_eq!((samples[0].re, samples[1].im), (0.5, -0.5));
    /// ```
    pub fn read(self, bytes: &[u8], samples: &mut [Complex32]) {
        assert_eq!(bytes.len(), self.bytes() * samples.len(), "bytes of a whole number of samples");
        let parts: &mut [f32] = bytemuck::cast_slice_mut(samples);
        match self {
            Self::Cf32 => convert::from_f32(bytes, parts),
            Self::Ci16 => convert::from_i16(bytes, parts),
            Self::Ci8 => convert::from_i8(bytes, parts),
            Self::Cu8 => convert::from_u8(bytes, parts),
        }
    }

    /// Bytes of samples as a filter takes them.
    pub(crate) fn recorded(self, bytes: &[u8]) -> Recorded<'_> {
        match self {
            Self::Cf32 => Recorded::F32(bytes),
            Self::Ci16 => Recorded::I16(bytes),
            Self::Ci8 => Recorded::I8(bytes),
            Self::Cu8 => Recorded::U8(bytes),
        }
    }

    /// Writes complex numbers as bytes, rounded to the nearest step; what exceeds full scale is clipped.
    ///
    /// # Panics
    /// When `bytes` is not [`bytes`](Self::bytes) times as long as `samples`.
    pub fn write(self, samples: &[Complex32], bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.bytes() * samples.len(), "bytes of a whole number of samples");
        let parts: &[f32] = bytemuck::cast_slice(samples);
        // Casts from float to integer round towards zero and saturate.
        match self {
            Self::Cf32 => {
                for (bytes, part) in bytes.as_chunks_mut().0.iter_mut().zip(parts) {
                    *bytes = part.to_le_bytes();
                }
            }
            Self::Ci16 => {
                for (bytes, part) in bytes.as_chunks_mut().0.iter_mut().zip(parts) {
                    *bytes = ((part * 32768.0).round() as i16).to_le_bytes();
                }
            }
            Self::Ci8 => {
                for (byte, part) in bytes.iter_mut().zip(parts) {
                    *byte = ((part * 128.0).round() as i8).cast_unsigned();
                }
            }
            Self::Cu8 => {
                for (byte, part) in bytes.iter_mut().zip(parts) {
                    *byte = (part * 127.5 + 127.5).round() as u8;
                }
            }
        }
    }
}

impl fmt::Display for SampleFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SampleFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|format| format.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("unknown sample format `{name}`: choose one of {names}"))
    }
}

/// Makes complex samples of full scale 1 from a recording's bytes.
///
/// # Sockets
/// - in: `u8`, the bytes of a whole number of samples
/// - out: `Complex32`, as many samples; full scale ±1
///
/// # Errors
/// At build, a frame that is not a whole number of samples.
///
/// # Source
/// The SigMF specification's `core:datatype`.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_radio::{Convert, SampleFormat};
/// let mut chain = Chain::new();
/// let bytes = chain.add(source::from_slice(&[0_u8, 64, 192, 0], 4), ());
/// let samples = chain.add(Convert::new(SampleFormat::Ci8), &bytes);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &samples);
/// chain.build()?.run()?;
/// assert_eq!(result.take()[1].re, -0.5);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Convert {
    format: SampleFormat,
}

impl Convert {
    /// Reads bytes of this format.
    pub fn new(format: SampleFormat) -> Self {
        Self { format }
    }
}

impl Task for Convert {
    type In = In<u8>;
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "convert".to_owned()
    }

    fn lens(&self, bytes: usize) -> Result<usize> {
        let each = self.format.bytes();
        if bytes == 0 || !bytes.is_multiple_of(each) {
            return Err(Error::new(format!(
                "{bytes} bytes are not a whole number of {} samples of {each}",
                self.format
            )));
        }
        Ok(bytes / each)
    }

    fn run(&mut self, bytes: &[u8], samples: &mut [Complex32]) -> Result<Flow> {
        self.format.read(bytes, samples);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let samples: Vec<Complex32> = (-8..8).map(|k| Complex32::new(k as f32 / 8.0, -k as f32 / 9.0)).collect();
        for (format, step) in SampleFormat::ALL.into_iter().zip([0.0, 1.0 / 32768.0, 1.0 / 128.0, 1.0 / 127.5]) {
            let mut bytes = vec![0; samples.len() * format.bytes()];
            format.write(&samples, &mut bytes);
            let mut back = vec![Complex32::default(); samples.len()];
            format.read(&bytes, &mut back);
            for (a, b) in samples.iter().zip(&back) {
                // The top of the scale is clipped by at most one step.
                assert!((a - b).re.abs() <= step && (a - b).im.abs() <= step, "{format}: {a} became {b}");
            }
        }
    }

    #[test]
    fn floats_that_are_not_finite_become_zero_and_big_ones_are_clipped() {
        let mut sample = [Complex32::default()];
        let bytes: Vec<u8> = [f32::NAN, f32::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
        SampleFormat::Cf32.read(&bytes, &mut sample);
        assert_eq!(sample[0], Complex32::default());
        let mut bytes = [0; 4];
        SampleFormat::Ci16.write(&[Complex32::new(9.0, -9.0)], &mut bytes);
        assert_eq!(bytes, [0xFF, 0x7F, 0x00, 0x80]);
    }

    #[test]
    fn names_are_read_and_wrong_ones_refused_with_the_list() {
        assert_eq!("CI16".parse(), Ok(SampleFormat::Ci16));
        assert!("cs32".parse::<SampleFormat>().unwrap_err().contains("cf32, ci16, ci8, cu8"));
        assert_eq!(SampleFormat::from_datatype("cu8"), Some(SampleFormat::Cu8));
        assert_eq!(SampleFormat::from_datatype("rf32_le"), None);
    }
}
