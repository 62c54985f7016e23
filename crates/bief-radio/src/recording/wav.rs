//! IQ recordings as WAV files: two channels, left I and right Q, as SDR programs write them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::sigmf::unsupported;
use super::{Recording, RecordingError, Samples, Stored, io_error};
use crate::iq::SampleFormat;

/// What a chunk begins with: four letters, and its bytes.
const CHUNK: usize = 8;
/// Chunks that are looked at for that of the samples.
const MOST_CHUNKS: usize = 1_000;
/// Bytes of the chunk that tells the format: as many as any has that matter here.
const FORMAT: usize = 40;
/// A length that is told elsewhere, or was not known when it was written.
const UNKNOWN: u32 = u32::MAX;
/// Codes of the format: whole numbers, floats, and one of these told further behind.
const INTEGERS: u16 = 1;
const FLOATS: u16 = 3;
const EXTENSIBLE: u16 = 0xFFFE;

/// Whether a file that begins so is a WAV file: one of up to 4 GiB, or a longer one (RF64, BW64).
pub(super) fn is_wav(head: &[u8]) -> bool {
    [&b"RIFF"[..], b"RF64", b"BW64"].iter().any(|mark| head.starts_with(mark)) && head.get(8..12) == Some(b"WAVE")
}

/// Opens a WAV file of so many bytes, whose samples are complex; `format` takes the place of the one that it tells.
///
/// # Source
/// *Multimedia Programming Interface and Data Specifications 1.0* (IBM and Microsoft, 1991); EBU Tech 3306 (RF64).
pub(super) fn open(
    mut file: File,
    length: u64,
    path: &Path,
    format: Option<SampleFormat>,
) -> Result<Recording, RecordingError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => unsupported(path, "a WAV file that ends before its samples"),
        _ => io_error(path, error),
    };
    let mut told = None;
    let mut long = None;
    let mut start = 12;
    for _ in 0..MOST_CHUNKS {
        let mut head = [0; CHUNK];
        read_at(&mut file, start, &mut head).map_err(failed)?;
        let ([name @ .., _, _, _, _], bytes) = (head, u32_of(&head, 4));
        start += CHUNK as u64;
        match &name {
            b"data" => {
                let (of_file, rate) =
                    told.ok_or_else(|| unsupported(path, "a WAV file that does not tell its format"))??;
                let format = format.unwrap_or(of_file);
                // A program that was killed leaves no length, or the one of its last save.
                let told = if bytes == UNKNOWN { long.unwrap_or(0) } else { bytes.into() };
                let there = length.saturating_sub(start);
                let bytes = if told == 0 { there } else { told.min(there) };
                if bytes == 0 {
                    return Err(RecordingError::Empty(path.to_owned()));
                }
                let (name, files) = (path.display().to_string(), vec![path.to_owned()]);
                return Ok(Recording {
                    name,
                    format,
                    sample_rate: rate,
                    bytes: Some(bytes),
                    files,
                    samples: Samples::Stored(Stored::file(file, start, bytes)),
                    gaps: None,
                });
            }
            b"fmt " => {
                let mut chunk = [0; FORMAT];
                let there = FORMAT.min(bytes as usize);
                read_at(&mut file, start, &mut chunk[..there]).map_err(failed)?;
                told = Some(format_of(&chunk, path));
            }
            b"ds64" => {
                let mut sizes = [0; 16];
                read_at(&mut file, start, &mut sizes).map_err(failed)?;
                long = Some(u64::from(u32_of(&sizes, 8)) | u64::from(u32_of(&sizes, 12)) << 32);
            }
            _ => {}
        }
        // Chunks begin at even places.
        start += u64::from(bytes) + u64::from(bytes % 2);
    }
    Err(unsupported(path, format_args!("a WAV file with more than {MOST_CHUNKS} chunks before its samples")))
}

/// The format of samples, and their rate.
fn format_of(chunk: &[u8; FORMAT], path: &Path) -> Result<(SampleFormat, Option<f64>), RecordingError> {
    let [code, channels, bits, extended] = [0, 2, 14, 24].map(|at| u16::from_le_bytes([chunk[at], chunk[at + 1]]));
    let rate = u32_of(chunk, 4);
    if channels != 2 {
        let reason = format_args!("a WAV file of {channels} channels: a recording of IQ samples has two, I and Q");
        return Err(unsupported(path, reason));
    }
    let format = match (if code == EXTENSIBLE { extended } else { code }, bits) {
        (INTEGERS, 8) => SampleFormat::Cu8,
        (INTEGERS, 16) => SampleFormat::Ci16,
        (FLOATS, 32) => SampleFormat::Cf32,
        (code, bits) => {
            let reason =
                format_args!("WAV samples of {bits} bits, code {code}: 8 or 16 bits, or floats of 32, can be read");
            return Err(unsupported(path, reason));
        }
    };
    Ok((format, (rate > 0).then_some(rate.into())))
}

fn u32_of(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn read_at(file: &mut File, start: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(bytes)
}
