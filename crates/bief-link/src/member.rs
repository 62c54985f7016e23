//! What a window knows of a worker.

use std::time::Duration;

/// A worker: what it may hold, and holds as far as is known.
#[derive(Debug)]
pub(crate) struct Member {
    cores: usize,
    credit: usize,
    /// In the order of sending.
    copies: Vec<Given>,
    /// The number of the next message with a frame.
    sequence: u64,
}

/// A frame that was sent to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) number: u64,
    sequence: u64,
    pub(crate) sent: Duration,
}

impl Member {
    pub(crate) fn new(cores: usize, credit: usize) -> Self {
        Self { cores, credit, copies: Vec::new(), sequence: 0 }
    }

    /// Frames that it may be sent now.
    pub(crate) fn free(&self) -> usize {
        self.credit.saturating_sub(self.copies.len())
    }

    /// Frames that it has not answered for.
    pub(crate) fn open(&self) -> usize {
        self.copies.len()
    }

    pub(crate) fn has(&self, number: u64) -> bool {
        self.copies.iter().any(|copy| copy.number == number)
    }

    pub(crate) fn has_copy(&self, number: u64, sequence: u64) -> bool {
        self.copies.iter().any(|copy| copy.number == number && copy.sequence == sequence)
    }

    /// Messages with frames so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sequence
    }

    /// Notes that a frame is sent to it; answers the number of the message.
    pub(crate) fn send(&mut self, number: u64, now: Duration) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        self.copies.push(Given { number, sequence, sent: now });
        sequence
    }

    /// Notes that it has answered for a frame, and when that was sent; `None` if it did not hold it.
    pub(crate) fn answered(&mut self, number: u64) -> Option<Duration> {
        let at = self.copies.iter().position(|copy| copy.number == number)?;
        Some(self.copies.remove(at).sent)
    }

    /// Forgets, and answers, the frames that are lost: all messages before `seen` have come, or never will, and it holds these alone.
    /// Their answers, if they had some, would have been here before.
    pub(crate) fn lost(&mut self, seen: u64, held: &[u64]) -> Vec<u64> {
        let is_lost = |copy: &mut Given| copy.sequence < seen && !held.contains(&copy.number);
        self.copies.extract_if(.., is_lost).map(|copy| copy.number).collect()
    }

    /// All that it holds, in the order of sending, and how many of them it works on at most: the first ones.
    pub(crate) fn into_held(self) -> (Vec<u64>, usize) {
        (self.copies.into_iter().map(|copy| copy.number).collect(), self.cores)
    }
}
