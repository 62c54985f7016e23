//! The forms of frames that need no other program: y4m, PGM, raw grey.

use std::io::{self, BufRead, ErrorKind, Read};

use bief::{Error, Result};

use crate::size::Size;

/// The longest header of a video or a frame.
const LONGEST_HEADER: u64 = 4096;
const Y4M: &[u8] = b"YUV4MPEG2 ";
const PGM: &[u8] = b"P5";

/// What a header tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) size: Size,
    /// Frames per second.
    pub(super) rate: Option<f64>,
    pub(super) format: Format,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Format {
    Raw,
    /// So many bytes of colour follow the grey levels, which go from 16 to 235 where they are `narrow`.
    Y4m {
        colour: usize,
        is_narrow: bool,
    },
    /// The header of the first picture is read. The greatest value stands for white.
    Pgm {
        greatest: u16,
        is_first: bool,
    },
}

/// Whether a video begins like none of the forms here; one without a beginning is none for another program either.
pub(super) fn is_unknown(reader: &mut impl BufRead) -> io::Result<bool> {
    let start = reader.fill_buf()?;
    Ok(!start.is_empty() && !start.starts_with(Y4M) && !start.starts_with(PGM))
}

/// Reads the header of a video, or takes it for raw grey of this size if it begins like nothing else.
pub(super) fn header(reader: &mut impl BufRead, size: Option<Size>) -> Result<Header> {
    let start = reader.fill_buf().map_err(Error::from_source)?;
    if start.is_empty() {
        return Err(Error::new("empty: there is no frame in it"));
    }
    if start.starts_with(Y4M) {
        let line = line(reader)?;
        return y4m(&line);
    }
    if start.starts_with(PGM) {
        let (size, greatest) = pgm(reader)?;
        return Ok(Header { size, rate: None, format: Format::Pgm { greatest, is_first: true } });
    }
    match size {
        Some(size) => Ok(Header { size, rate: None, format: Format::Raw }),
        None => Err(Error::new(
            "neither y4m nor PGM: give --size WIDTHxHEIGHT for raw grey, or send it through ffmpeg \
             (ffmpeg -i VIDEO -pix_fmt gray -f yuv4mpegpipe -strict -1 - | …)",
        )),
    }
}

/// A line of text, without its end.
fn line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line).map_err(Error::from_source)?;
    if line.pop() != Some(b'\n') {
        return Err(Error::new("its header has no end: is it cut short?"));
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn y4m(line: &str) -> Result<Header> {
    let (mut width, mut height, mut rate) = (None, None, None);
    let (mut colour, mut range) = ("420", None);
    for word in line.split(' ').skip(1) {
        let Some((kind, value)) = word.split_at_checked(1) else { continue };
        match kind {
            "W" => width = value.parse().ok(),
            "H" => height = value.parse().ok(),
            "F" => {
                let parts =
                    value.split_once(':').and_then(|(a, b)| Some((a.parse::<f64>().ok()?, b.parse::<f64>().ok()?)));
                // 0:0 is a rate that nobody knows.
                rate = parts.filter(|&(frames, seconds)| frames > 0.0 && seconds > 0.0).map(|(a, b)| a / b);
            }
            "C" => colour = value,
            "X" => range = value.strip_prefix("COLORRANGE=").or(range),
            _ => {}
        }
    }
    let (Some(width), Some(height)) = (width, height) else {
        return Err(Error::new(format!("y4m: its header tells no width and height: `{}`", line.escape_debug())));
    };
    let size = Size::new(width, height)?;
    let (half, quarter) = (width.div_ceil(2), width.div_ceil(4));
    let (is_mono, colour) = match colour {
        "mono" => (true, 0),
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => (false, 2 * half * height.div_ceil(2)),
        "422" => (false, 2 * half * height),
        "411" => (false, 2 * quarter * height),
        "444" => (false, 2 * width * height),
        "444alpha" => (false, 3 * width * height),
        other => {
            return Err(Error::new(format!(
                "y4m: colours `{}` are not read: 8 bits are, in Cmono, C420…, C422, C411 and C444: convert it, with ffmpeg \
                 -pix_fmt gray",
                other.escape_debug()
            )));
        }
    };
    let is_narrow = match range {
        Some("FULL") => false,
        Some("LIMITED") => true,
        _ => !is_mono,
    };
    Ok(Header { size, rate, format: Format::Y4m { colour, is_narrow } })
}

/// Reads the header of a picture.
fn pgm(reader: &mut impl BufRead) -> Result<(Size, u16)> {
    let mut left = LONGEST_HEADER;
    let mut byte = || -> Result<u8> {
        let mut byte = [0];
        left = left.checked_sub(1).ok_or_else(|| Error::new("PGM: a header without an end"))?;
        reader.read_exact(&mut byte).map_err(|_| Error::new("PGM: cut short in a header"))?;
        Ok(byte[0])
    };
    if [byte()?, byte()?] != *PGM {
        return Err(Error::new("no PGM picture (P5) where one should begin"));
    }
    let mut numbers = [0_usize; 3];
    for number in &mut numbers {
        let mut digits = 0;
        loop {
            match byte()? {
                digit @ b'0'..=b'9' => {
                    digits += 1;
                    *number = (*number * 10 + usize::from(digit - b'0')).min(1 << 20);
                }
                b'#' if digits == 0 => while byte()? != b'\n' {},
                b' ' | b'\t' | b'\r' | b'\n' if digits > 0 => break,
                b' ' | b'\t' | b'\r' | b'\n' => {}
                other => {
                    return Err(Error::new(format!(
                        "PGM: `{}` in a header, where a number is",
                        char::from(other).escape_debug()
                    )));
                }
            }
        }
    }
    let [width, height, greatest] = numbers;
    let known = u16::try_from(greatest).ok().filter(|&greatest| greatest > 0);
    let greatest =
        known.ok_or_else(|| Error::new(format!("PGM: a greatest value of {greatest}: 1 to 65535 can be")))?;
    Ok((Size::new(width, height)?, greatest))
}

impl Header {
    /// Bytes of a frame that are no grey levels.
    pub(super) fn bytes_behind(&self) -> usize {
        match self.format {
            Format::Y4m { colour, .. } => colour,
            // The low bytes of 16 bits.
            Format::Pgm { .. } | Format::Raw => 0,
        }
    }

    /// Reads a frame; `false` at the end.
    pub(super) fn read(&mut self, reader: &mut impl BufRead, frame: &mut [u8], rest: &mut [u8]) -> Result<bool> {
        let is_first = matches!(self.format, Format::Pgm { is_first: true, .. });
        if !is_first && at_end(reader)? {
            return Ok(false);
        }
        match &mut self.format {
            Format::Raw => fill(reader, frame)?,
            Format::Y4m { colour, is_narrow } => {
                let line = line(reader)?;
                if line != "FRAME" && !line.starts_with("FRAME ") {
                    return Err(Error::new("y4m: no FRAME where one should begin: is it damaged?"));
                }
                fill(reader, frame)?;
                let mut left = *colour;
                while left > 0 {
                    let part = left.min(rest.len());
                    fill(reader, &mut rest[..part])?;
                    left -= part;
                }
                if *is_narrow {
                    frame.iter_mut().for_each(|grey| *grey = widened(*grey));
                }
            }
            Format::Pgm { greatest, is_first } => {
                if !std::mem::take(is_first) {
                    let (size, new) = pgm(reader)?;
                    if size != self.size {
                        return Err(Error::new(format!(
                            "it is {size}, those before are {}: all must be of one size",
                            self.size
                        )));
                    }
                    *greatest = new;
                }
                match greatest {
                    255 => fill(reader, frame)?,
                    1..255 => {
                        fill(reader, frame)?;
                        let greatest = u32::from(*greatest);
                        frame
                            .iter_mut()
                            .for_each(|grey| *grey = (u32::from(*grey).min(greatest) * 255 / greatest) as u8);
                    }
                    _ => {
                        let greatest = u32::from(*greatest);
                        for grey in frame {
                            let mut value = [0; 2];
                            fill(reader, &mut value)?;
                            *grey = (u32::from(u16::from_be_bytes(value)).min(greatest) * 255 / greatest) as u8;
                        }
                    }
                }
                skip_space(reader)?;
            }
        }
        Ok(true)
    }
}

/// Black is 16 and white 235 in most videos.
fn widened(grey: u8) -> u8 {
    ((u32::from(grey.saturating_sub(16)) * 255 + 109) / 219).min(255) as u8
}

fn at_end(reader: &mut impl BufRead) -> Result<bool> {
    Ok(reader.fill_buf().map_err(Error::from_source)?.is_empty())
}

/// Some programs end each picture with a line break.
fn skip_space(reader: &mut impl BufRead) -> Result<()> {
    while let Some(b'\n' | b'\r') = reader.fill_buf().map_err(Error::from_source)?.first() {
        reader.consume(1);
    }
    Ok(())
}

fn fill(reader: &mut impl Read, space: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    while filled < space.len() {
        match reader.read(&mut space[filled..]) {
            Ok(0) => {
                return Err(Error::new(format!("cut short: {filled} of {} bytes are there", space.len())));
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::from_source(error)),
        }
    }
    Ok(())
}
