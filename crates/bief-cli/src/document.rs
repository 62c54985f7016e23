//! Documents that commands read and write: profiles, platforms, schedules, places.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;
use crate::files::{is_dash, put};
use crate::status::Status;

/// More than any document has, in bytes.
const LONGEST: u64 = 1 << 26;

/// The text of a document that is a file or, for `-`, standard input; and what messages call it.
pub(crate) fn text(path: &Path) -> (String, io::Result<String>) {
    if is_dash(path) {
        return ("standard input".to_owned(), all_of(io::stdin()));
    }
    (path.display().to_string(), File::open(path).and_then(all_of))
}

/// All text of what may be a device, and have no end.
fn all_of(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(LONGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LONGEST {
        true => Err(io::Error::other(format!("it is longer than {} MiB: no document is", LONGEST >> 20))),
        false => Ok(text),
    }
}

/// Why a document could not be read.
pub(crate) fn unreadable(name: &str, reason: impl Display) -> Failure {
    Failure::new(format!("cannot read {name}: {reason}")).with(Status::NoInput)
}

/// Reads a document, which messages name.
pub(crate) fn read<T, E: Display>(path: &Path, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Failure> {
    let (name, text) = text(path);
    let text = text.map_err(|error| unreadable(&name, error))?;
    parse(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Writes a document to a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    put(path, text).map_err(Failure::from_error)
}
