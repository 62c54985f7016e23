//! Documents that commands read and write: profiles, platforms, schedules, places.

use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;
use crate::files::is_dash;

/// The text of a document that is a file or, for `-`, standard input; and what messages call it.
pub(crate) fn text(path: &Path) -> (String, io::Result<String>) {
    if is_dash(path) {
        let mut text = String::new();
        return ("standard input".to_owned(), io::stdin().read_to_string(&mut text).map(|_| text));
    }
    (path.display().to_string(), fs::read_to_string(path))
}

/// Why a document could not be read.
pub(crate) fn unreadable(name: &str, reason: impl Display) -> Failure {
    Failure::new(format!("cannot read {name}: {reason}"))
}

/// Reads a document, which messages name.
pub(crate) fn read<T, E: Display>(path: &Path, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Failure> {
    let (name, text) = text(path);
    let text = text.map_err(|error| unreadable(&name, error))?;
    parse(&text).map_err(|error| Failure::new(format!("{name}: {error}")))
}

/// Writes a document to a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}
