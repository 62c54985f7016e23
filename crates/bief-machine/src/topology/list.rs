//! Lists of hardware threads, as Linux writes them.

use super::MAX_THREADS;

/// The numbers of a list such as `0-3,8`, ascending, each once; `None` where it is not of this form or has a number that no
/// hardware thread has.
pub(crate) fn threads(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&thread| thread < MAX_THREADS);
    let mut threads = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        threads.extend(first..=last);
        // The system names each once.
        if threads.len() > MAX_THREADS {
            return None;
        }
    }
    threads.sort_unstable();
    threads.dedup();
    Some(threads)
}

/// These numbers of hardware threads in short, as Linux writes them.
///
/// ```
/// assert_eq!(bief_machine::thread_list([5, 0, 1, 2]), "0-2,5");
/// ```
pub fn thread_list(threads: impl IntoIterator<Item = usize>) -> String {
    let mut threads: Vec<usize> = threads.into_iter().collect();
    threads.sort_unstable();
    threads.dedup();
    let ranges = threads.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_linux_writes_them() {
        assert_eq!(threads("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(threads("7,0-1,1"), Some(vec![0, 1, 7]));
        assert_eq!(threads("\n"), Some(vec![]), "an empty set");
    }

    #[test]
    fn lists_are_written_as_they_are_read() {
        for list in ["", "3", "0-2,5,7-8"] {
            assert_eq!(thread_list(threads(list).unwrap()), list);
        }
        assert_eq!(thread_list([5, 0, 1, 0]), "0-1,5");
    }

    #[test]
    fn damaged_lists_are_none() {
        for text in ["x", "3-", "-", "3-2", "0,,1", "0-99999999999", "8192", "-1", "0-8191,0", "0x3"] {
            assert_eq!(threads(text), None, "{text}");
        }
    }
}
