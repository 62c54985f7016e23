//! How a command ended, as its exit status tells whoever started it: a person, a script, a queue of jobs.

/// An exit status. A signal that ended a run has 128 and its number: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
///
/// The numbers above 63 are those of `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// All that was asked for is there, whole.
    Done = 0,
    /// The machine cannot, as with a disk that is full.
    Failed = 1,
    /// Options, chain files or plans that cannot be, and outputs that may not be written. The parser of options has the same.
    Usage = 2,
    /// The input was read, and has no signal, or nothing in it of what was asked for.
    NoSignal = 65,
    /// The input is not there, or is not what it should be.
    NoInput = 66,
    /// The work had begun when a fault ended it, or an input that is cut short did.
    Partial = 74,
    /// Something that others have, or that is not there now: a network, a radio, an output that another run writes.
    TryAgain = 75,
}

impl Status {
    /// All of them, in their order.
    pub const ALL: [Self; 7] =
        [Self::Done, Self::Failed, Self::Usage, Self::NoSignal, Self::NoInput, Self::Partial, Self::TryAgain];
}

/// The exit status of what a signal ended, as shells have it.
pub fn of_signal(signal: u8) -> u8 {
    128 + signal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_them_all() {
        let chapter = include_str!("../../../book/src/jobs.md");
        let rows: Vec<&str> = chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let told: Vec<u8> = rows.iter().filter_map(|number| number.parse().ok()).collect();
        let signals = [130, 143, 129];
        let known: Vec<u8> = Status::ALL.iter().map(|status| *status as u8).chain(signals).collect();
        assert_eq!(told, known);
    }
}
