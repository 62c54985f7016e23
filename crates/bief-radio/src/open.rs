//! Recordings by their address.

use std::path::{Path, PathBuf};

use bief::kinds::{Address, Openers};
use bief::{Error, Result};

use crate::iq::SampleFormat;
use crate::recording::{Recording, RecordingError, Samples};

/// Opens a recording: a path as [`Recording::open`] does, standard input, or what an opener of the address's scheme gives: it may
/// tell format and sample rate.
///
/// ```
/// use bief::kinds::Openers;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nbfm_tones.sigmf-meta");
/// let recording = bief_radio::open_recording(&path.parse()?, &Openers::new(), None)?;
/// assert_eq!(recording.sample_rate, Some(576e3));
/// # Ok::<(), bief::Error>(())
/// ```
///
/// # Errors
/// A [`RecordingError`] (its [`source`](std::error::Error::source)), or what the opener says.
pub fn open_recording(address: &Address, openers: &Openers, format: Option<SampleFormat>) -> Result<Recording> {
    if let Some(path) = address.path() {
        return Recording::open(path, format).map_err(Error::from_source);
    }
    if address.is_standard() {
        return Recording::from_stdin(format).map_err(Error::from_source);
    }
    let source = openers.reader(address)?;
    let name = address.to_string();
    let format = format.or_else(|| source.format.as_deref().and_then(|format| format.parse().ok()));
    let Some(format) = format else { return Err(Error::from_source(RecordingError::NoFormat { name })) };
    Ok(Recording {
        name,
        format,
        sample_rate: source.rate,
        bytes: source.bytes,
        files: Vec::new(),
        samples: Samples::Once(source.reader),
        gaps: source.gaps,
    })
}

/// The files of a recording: all of a SigMF one, by any of them or their common name. Only files are looked into: a pipe would be
/// waited for.
pub(crate) fn files_of(path: &Path) -> Vec<PathBuf> {
    if path.exists() && !path.is_file() {
        return vec![path.to_owned()];
    }
    // The format does not matter, but one must be known.
    Recording::open(path, Some(SampleFormat::Ci8)).map_or_else(|_| vec![path.to_owned()], |recording| recording.files)
}
