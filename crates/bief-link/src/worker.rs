//! A worker: the frames that it holds, and what it tells of them.

use std::collections::VecDeque;

/// More frames came than a worker has credit for: whoever sends does not keep to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame {number} is one more than the {credit} that may be here at a time: does the sender keep to another protocol?"
)]
pub struct Overrun {
    /// The frame that was not taken.
    pub number: u64,
    /// The most frames at a time.
    pub credit: usize,
}

/// What a worker holds, as it tells with each answer, and where it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held<'a> {
    /// Messages with frames that have come, or will not come any more: one more than the latest number of such a message.
    pub seen: u64,
    /// The numbers of the frames that it holds, answered for or not yet.
    pub held: &'a [u64],
}

/// The frames of one run at a worker: at most as many as its credit. `P` is a frame.
///
/// Its answers, and what it tells of what it holds, must leave in the order in which it gives them.
#[derive(Debug)]
pub struct Worker<P> {
    credit: usize,
    seen: u64,
    waiting: VecDeque<(u64, P)>,
    /// Those that wait, and those that are worked on.
    held: Vec<u64>,
}

impl<P> Worker<P> {
    /// A worker that takes up to `credit` frames at a time: twice its cores and what is under way to it keep it busy.
    pub fn new(credit: usize) -> Self {
        Self { credit, seen: 0, waiting: VecDeque::with_capacity(credit), held: Vec::with_capacity(credit) }
    }

    /// Takes a frame, of a message of that number, to be worked on; one that is here already is passed over.
    ///
    /// # Errors
    /// There are as many as may be here.
    pub fn take(&mut self, sequence: u64, number: u64, frame: P) -> Result<(), Overrun> {
        // A message that was doubled is older than the latest, and its frame may have been answered for.
        let is_new = sequence >= self.seen;
        self.seen = self.seen.max(sequence.saturating_add(1));
        if !is_new || self.held.contains(&number) {
            return Ok(());
        }
        if self.held.len() >= self.credit {
            return Err(Overrun { number, credit: self.credit });
        }
        self.held.push(number);
        self.waiting.push_back((number, frame));
        Ok(())
    }

    /// The frame to work on next, and its number.
    #[expect(clippy::should_implement_trait, reason = "frames come in between: this is no iterator")]
    pub fn next(&mut self) -> Option<(u64, P)> {
        self.waiting.pop_front()
    }

    /// Notes that a frame is worked on no more; what is to be told with its answer.
    pub fn done(&mut self, number: u64) -> Held<'_> {
        self.held.retain(|&held| held != number);
        self.held_now()
    }

    /// What is to be told where it is asked: so many messages with frames were sent to it. Those that have not come were lost.
    pub fn asked(&mut self, sent: u64) -> Held<'_> {
        self.seen = self.seen.max(sent);
        self.held_now()
    }

    fn held_now(&self) -> Held<'_> {
        Held { seen: self.seen, held: &self.held }
    }

    /// The numbers of the frames that it holds.
    pub fn held(&self) -> &[u64] {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_takes_as_many_frames_as_its_credit() {
        let mut worker = Worker::new(2);
        worker.take(0, 7, 'a').unwrap();
        worker.take(1, 9, 'b').unwrap();
        let refused = worker.take(2, 11, 'c').unwrap_err();
        assert_eq!(refused, Overrun { number: 11, credit: 2 });
        assert!(refused.to_string().contains("frame 11 is one more than the 2"));
        assert_eq!(worker.next(), Some((7, 'a')));
        // One that is worked on is here, too.
        assert!(worker.take(3, 11, 'c').is_err());
        assert_eq!(worker.done(7), Held { seen: 4, held: &[9] });
        worker.take(4, 11, 'c').unwrap();
        assert_eq!((worker.next(), worker.next(), worker.next()), (Some((9, 'b')), Some((11, 'c')), None));
    }

    #[test]
    fn what_has_not_come_when_it_is_asked_is_lost() {
        let mut worker = Worker::new(4);
        worker.take(0, 5, ()).unwrap();
        assert_eq!(worker.asked(2), Held { seen: 2, held: &[5] });
        // It comes all the same: it is held by another one now.
        worker.take(1, 6, ()).unwrap();
        assert_eq!(worker.asked(1), Held { seen: 2, held: &[5] });
    }

    #[test]
    fn a_message_that_comes_twice_is_one_frame() {
        let mut worker = Worker::new(4);
        worker.take(0, 5, ()).unwrap();
        worker.take(0, 5, ()).unwrap();
        assert_eq!(worker.next(), Some((5, ())));
        worker.done(5);
        worker.take(0, 5, ()).unwrap();
        assert_eq!(worker.next(), None, "it was answered for");
        // The same frame sent anew is another message.
        worker.take(1, 5, ()).unwrap();
        assert_eq!(worker.next(), Some((5, ())));
    }
}
