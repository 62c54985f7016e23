//! What a worker counts.

use std::ops::AddAssign;
use std::time::Duration;

/// What one replica did in a run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Count {
    pub(crate) batches: u64,
    /// Frames that left the stage.
    pub(crate) frames: u64,
    pub(crate) busy: Duration,
    /// Waiting for input.
    pub(crate) starved: Duration,
    /// Waiting for room in the output.
    pub(crate) blocked: Duration,
    /// Batches that had to be waited for.
    pub(crate) waits_for_input: u64,
    /// Batches that had to wait for room.
    pub(crate) waits_for_output: u64,
}

impl AddAssign<&Self> for Count {
    fn add_assign(&mut self, other: &Self) {
        self.batches += other.batches;
        self.frames += other.frames;
        self.busy += other.busy;
        self.starved += other.starved;
        self.blocked += other.blocked;
        self.waits_for_input += other.waits_for_input;
        self.waits_for_output += other.waits_for_output;
    }
}
