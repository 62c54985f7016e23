//! Small files that describe a machine, read without trust in what is there: in place of a file may stand a folder, a pipe, a
//! device or a link to one.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes of such a file at most: one that is longer is another kind of file.
const LONGEST: usize = 4096;
/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 4096;
/// Characters of damaged text that a message shows.
const SHOWN: usize = 24;

/// Where a machine's files are.
#[derive(Debug, Clone)]
pub(super) struct Root {
    path: PathBuf,
    /// They are those of the running system, so what they tell of it holds here.
    pub(super) is_here: bool,
}

impl Root {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_here: path.canonicalize().is_ok_and(|path| path == Path::new("/")) }
    }

    pub(super) fn join(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }
}

/// The text without blanks around it.
pub(super) fn text(path: &Path) -> io::Result<String> {
    // Opening a device may do something, and reading one may have no end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "is no file"));
    }
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    match String::from_utf8(bytes) {
        Ok(text) if text.len() <= LONGEST => Ok(text.trim().to_owned()),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidData, "is too long")),
        Err(_) => Err(io::Error::new(ErrorKind::InvalidData, "is no text")),
    }
}

/// The one number of a file.
pub(super) fn number<T: FromStr>(path: &Path) -> io::Result<T> {
    let text = text(path)?;
    text.parse().map_err(|_| {
        let message = format!("holds no number that fits: `{}`", printable(&text, SHOWN));
        io::Error::new(ErrorKind::InvalidData, message)
    })
}

/// Opens for reading what must never make anybody wait: a pipe without a writer, a line that is silent.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

/// The names in a folder, in the order of the numbers in them; none where it cannot be read.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names
}

/// Why something cannot be read, and what helps.
pub(super) fn why(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied => format!("{path}: readable by root only: run as root, or `chmod a+r {path}`"),
        ErrorKind::NotFound => format!("{path}: is not there"),
        _ => format!("{path}: {error}"),
    }
}

/// At most so many characters of a text, without those that move a cursor.
pub(super) fn printable(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_is_told_what_helps() {
        let shown = why(Path::new("/sys/energy_uj"), &io::Error::from(ErrorKind::PermissionDenied));
        assert_eq!(shown, "/sys/energy_uj: readable by root only: run as root, or `chmod a+r /sys/energy_uj`");
    }

    #[test]
    fn what_shows_of_damaged_text_is_short_and_still() {
        assert_eq!(printable("a\u{1b}[2Jbcd", 5), "a?[2J");
    }
}
