//! What the cores of the machine that reads do in the place of workers: frames that do not leave, and are worked on where they lie.

use std::time::Duration;

use crate::tally::WorkerTally;

/// What reports call this machine among workers.
pub const HERE: &str = "this machine";

/// The cores of this machine that do the work of workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCores {
    /// Where no worker is there; 0 waits for one.
    pub alone: usize,
    /// Where some are: frames for which no worker has credit.
    pub helping: usize,
}

/// The frames that do not leave.
#[derive(Debug)]
pub(crate) struct OwnFrames {
    cores: OwnCores,
    /// So many did not leave so far.
    count: u64,
    /// Those that help workers and are not done, as far as is known.
    open: Vec<u64>,
}

impl OwnFrames {
    pub(crate) fn new(cores: OwnCores) -> Self {
        Self { cores, count: 0, open: Vec::with_capacity(cores.helping) }
    }

    /// Whether a frame is worked on here; then it is counted.
    pub(crate) fn takes(&mut self, frame: u64, has_workers: bool, has_waiting: bool) -> bool {
        let takes = match has_workers {
            true => has_waiting && self.open.len() < self.cores.helping,
            false => self.cores.alone > 0,
        };
        if takes {
            self.count += 1;
            if has_workers {
                self.open.push(frame);
            }
        }
        takes
    }

    /// A frame has been worked on.
    pub(crate) fn done(&mut self, frame: u64) {
        self.open.retain(|&open| open != frame);
    }

    /// All frames before this one have been: also those that went nowhere.
    pub(crate) fn passed(&mut self, frame: u64) {
        self.open.retain(|&open| open > frame);
    }

    /// Adds what this machine did to the rows of workers.
    pub(crate) fn add_to(&self, rows: &mut Vec<WorkerTally>, time: Duration) {
        if self.count == 0 {
            return;
        }
        let seconds = time.as_secs_f64();
        match rows.iter_mut().find(|row| row.name == HERE) {
            // What workers left undone was done here, too.
            Some(row) => {
                row.frames += self.count;
                row.seconds = seconds;
            }
            None => rows.push(WorkerTally {
                name: HERE.to_owned(),
                cores: u32::try_from(self.cores.alone).unwrap_or(u32::MAX),
                times: 1,
                seconds,
                frames: self.count,
                again: 0,
                late: 0,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_where_nobody_is_there_or_has_room() {
        let mut own = OwnFrames::new(OwnCores { alone: 4, helping: 2 });
        assert!(own.takes(0, false, false));
        assert!(!own.takes(1, true, false), "a worker has room");
        assert!(own.takes(2, true, true) && own.takes(3, true, true));
        assert!(!own.takes(4, true, true), "two help");
        own.done(3);
        assert!(own.takes(5, true, true) && !own.takes(6, true, true));
        // Frame 2 went nowhere, which is known when a later one comes to the end.
        own.passed(4);
        assert!(own.takes(7, true, true) && !own.takes(8, true, true));
        assert!(!OwnFrames::new(OwnCores::default()).takes(0, false, false), "the run waits");
    }
}
