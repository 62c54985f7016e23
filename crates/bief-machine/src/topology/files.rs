//! What files tell, of a system that may be damaged or made to do harm.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::arrange::Notes;
use super::{MAX_THREADS, list};

/// The folders of processors.
pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// Files under a root, which may be damaged or made to do harm.
pub(super) struct Files {
    root: PathBuf,
    /// Links lead where they will on this machine, whose files are what they are; elsewhere not out of the root.
    is_here: bool,
    pub(super) notes: Notes,
}

/// What is read of a file, in bytes: more than any has that is read whole.
const LONGEST: u64 = 1 << 16;
/// Characters of a text that are shown in a note.
const SHOWN: usize = 40;

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        let is_here = root == Path::new("/");
        Self { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()), is_here, notes: Notes::default() }
    }

    /// The beginning of a file; `None` where there is none that can be read.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        let mut place = self.root.join(path);
        if !self.is_here {
            let real = place.canonicalize().ok()?;
            if !real.starts_with(&self.root) {
                self.odd(path, "is a link that leaves the folder");
                return None;
            }
            place = real;
        }
        // A pipe or a device might never answer.
        if !fs::metadata(&place).ok()?.is_file() {
            self.odd(path, "is not a file");
            return None;
        }
        let mut bytes = Vec::new();
        File::open(place).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// A whole number; one that is not in `range` is noted.
    pub(super) fn number(&mut self, path: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let text = self.text(path)?;
        self.parsed(path, &text, |text| u32::from_str(text.trim()).ok().filter(|number| range.contains(number)))
    }

    /// A list of hardware threads.
    pub(super) fn threads(&mut self, path: &str) -> Option<Vec<usize>> {
        let text = self.text(path)?;
        self.parsed(path, &text, list::threads)
    }

    /// The number of a package, which is -1 where the system knows of none.
    pub(super) fn package(&mut self, path: &str) -> usize {
        let Some(text) = self.text(path) else { return 0 };
        if text.trim() == "-1" {
            return 0;
        }
        self.parsed(path, &text, |text| usize::from_str(text.trim()).ok().filter(|&id| id < MAX_THREADS)).unwrap_or(0)
    }

    /// The numbers of the folders of processors.
    pub(super) fn processors(&self) -> Vec<usize> {
        let Ok(folder) = fs::read_dir(self.root.join(CPUS)) else { return Vec::new() };
        let number = |name: &str| name.strip_prefix("cpu")?.parse().ok().filter(|&thread| thread < MAX_THREADS);
        let names = folder.take(2 * MAX_THREADS).filter_map(|entry| number(entry.ok()?.file_name().to_str()?));
        let mut processors: Vec<usize> = names.collect();
        processors.sort_unstable();
        processors.dedup();
        processors
    }

    pub(super) fn parsed<T>(&mut self, path: &str, text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = parse(text);
        if value.is_none() {
            let text: String = text.trim().chars().take(SHOWN).collect();
            self.odd(path, &format!("reads {text:?}"));
        }
        value
    }

    /// Notes that a file is not what it should be, which is why it is not used.
    pub(super) fn odd(&mut self, path: &str, what: &str) {
        self.notes.add(|| format!("{path} {what}: it is not used."));
    }
}
