//! What each worker did, as a report tells it.

use std::collections::BTreeMap;
use std::time::Duration;

use bief_link::{Counts, WorkerId};

/// What a worker did in a run: one that went and came back is one worker, by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerTally {
    /// Its name.
    pub name: String,
    /// The frames that it works on at a time.
    pub cores: u32,
    /// How often it came.
    pub times: u32,
    /// How long it was there, in seconds.
    pub seconds: f64,
    /// Frames whose result it made.
    pub frames: u64,
    /// Frames that were sent again to another, or to it, as it went or as they were lost on the way.
    pub again: u64,
    /// Times that a frame was late with it: another one got that frame, too.
    pub late: u64,
}

impl WorkerTally {
    /// Frames per second, while it was there; 0 for one that was not.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.frames as f64 / self.seconds } else { 0.0 }
    }

    fn add(&mut self, time: Duration, counts: Counts) {
        self.seconds += time.as_secs_f64();
        self.frames += counts.answered;
        self.again += counts.again;
        self.late += counts.late;
    }
}

/// Workers by name, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: Vec<WorkerTally>,
    /// The row of each.
    of: BTreeMap<WorkerId, usize>,
}

impl Tally {
    /// Whether no worker came so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn came(&mut self, worker: WorkerId, name: &str, cores: u32) {
        let row = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            let name = name.to_owned();
            self.rows.push(WorkerTally { name, cores, times: 0, seconds: 0.0, frames: 0, again: 0, late: 0 });
            self.rows.len() - 1
        });
        self.rows[row].cores = cores;
        self.rows[row].times += 1;
        self.of.insert(worker, row);
    }

    pub(crate) fn went(&mut self, worker: WorkerId, time: Duration, counts: Counts) {
        if let Some(&row) = self.of.get(&worker) {
            self.rows[row].add(time, counts);
        }
    }

    /// All of them, with those that are still here.
    pub(crate) fn with(&self, here: impl Iterator<Item = (WorkerId, Duration, Counts)>) -> Vec<WorkerTally> {
        let mut rows = self.rows.clone();
        for (worker, time, counts) in here {
            if let Some(&row) = self.of.get(&worker) {
                rows[row].add(time, counts);
            }
        }
        rows
    }

    /// The name of one that came.
    pub(crate) fn name(&self, worker: WorkerId) -> Option<String> {
        self.of.get(&worker).map(|&row| self.rows[row].name.clone())
    }
}
