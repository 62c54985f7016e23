//! What `/proc` tells of a process and its threads.

use std::fs::{self, File};
use std::io;

use super::meter::read_start;

/// The folder of a process, or of this one.
pub(super) fn of_process(process: Option<u32>) -> String {
    process.map_or_else(|| "/proc/self".to_owned(), |process| format!("/proc/{process}"))
}

pub(super) fn of_thread(process: &str, thread: i32) -> String {
    format!("{process}/task/{thread}")
}

/// Its threads, ascending, into `threads`; none where it has ended.
pub(super) fn list(process: &str, threads: &mut Vec<i32>) -> io::Result<()> {
    threads.clear();
    let entries = match fs::read_dir(format!("{process}/task")) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Ok(()),
        entries => entries?,
    };
    threads.extend(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()));
    threads.sort_unstable();
    // One that has ended stays listed until its parent has asked for its status.
    if let [last] = threads[..]
        && matches!(state(&of_thread(process, last)), None | Some('Z' | 'X'))
    {
        threads.clear();
    }
    Ok(())
}

/// The folder of a process's threads, kept open.
pub(super) struct Tasks(File);

impl Tasks {
    pub(super) fn open(process: &str) -> io::Result<Self> {
        File::open(format!("{process}/task")).map(Self)
    }

    /// How many links it has: Linux counts one for each thread, and two.
    pub(super) fn links(&self) -> Option<u64> {
        #[cfg(unix)]
        return Some(std::os::unix::fs::MetadataExt::nlink(&self.0.metadata().ok()?));
        #[cfg(not(unix))]
        None
    }
}

/// What a thread calls itself.
pub(super) fn name(thread: &str) -> Option<String> {
    let name = fs::read(format!("{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

fn state(thread: &str) -> Option<char> {
    after_name(&fs::read_to_string(format!("{thread}/stat")).ok()?)?.chars().next()
}

/// The fields from the third on: the second is a name, which may hold anything.
fn after_name(stat: &str) -> Option<&str> {
    Some(stat[stat.rfind(')')? + 1..].trim_start())
}

/// The state of a thread, kept open.
pub(super) struct Stat(File);

impl Stat {
    pub(super) fn open(thread: &str) -> io::Result<Self> {
        File::open(format!("{thread}/stat")).map(Self)
    }

    /// Whether it runs, or would if it had a core.
    pub(super) fn is_ready(&self) -> bool {
        self.with_fields(|fields| Some(fields.starts_with('R'))).unwrap_or(false)
    }

    /// The hardware thread on which it runs, or ran last.
    pub(super) fn hardware_thread(&self) -> Option<usize> {
        self.with_fields(processor)
    }

    fn with_fields<T>(&self, look: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let mut text = [0; 1024];
        let length = read_start(&self.0, &mut text).ok()?;
        // Names need not be UTF-8.
        let start = text[..length].iter().rposition(|&byte| byte == b')')? + 1;
        look(std::str::from_utf8(&text[start..length]).ok()?.trim_start())
    }
}

/// Field 39 of those from the third on.
fn processor(fields: &str) -> Option<usize> {
    fields.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_hide_what_comes_after_them() {
        let stat = "12 (a) R (b)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 \
                    32 33 34 35 7 0 0";
        let fields = after_name(stat).unwrap();
        assert_eq!((fields.chars().next(), processor(fields)), (Some('S'), Some(7)));
        assert_eq!((after_name("12 x"), processor("S 1 2")), (None, None));
    }
}
