//! The parts of an emulated device.

use std::time::{Duration, Instant};

use crate::sync::{Mutex, PoisonError};

/// What reads, what works and what writes, each for one launch at a time: until when each has something to do. Lanes sleep meanwhile.
#[derive(Default)]
pub(super) struct Parts(Mutex<[Option<Instant>; 3]>);

impl Parts {
    pub(super) const WORKS: usize = 1;

    /// Has a launch, which begins then or when the device is free for it, take each of the parts for so long, one after the other; answers
    /// when they begin.
    pub(super) fn work(&self, begin: Instant, times: [Duration; 3]) -> [Instant; 3] {
        let mut busy_until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready = begin;
        std::array::from_fn(|part| {
            let start = busy_until[part].map_or(ready, |until| until.max(ready));
            // A part that has nothing to do lets a launch pass.
            let start = if times[part].is_zero() { ready } else { start };
            ready = start + times[part];
            if !times[part].is_zero() {
                busy_until[part] = Some(ready);
            }
            start
        })
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn launches_overlap_in_different_parts() {
        let parts = Parts::default();
        let zero = Instant::now();
        let us = Duration::from_micros;
        let times = [us(10), us(30), us(20)];
        let work = |at: u64, times| parts.work(zero + us(at), times).map(|start| (start - zero).as_micros());
        assert_eq!(work(0, times), [0, 10, 40]);
        assert_eq!(work(5, times), [10, 40, 70], "each part is free when the one before leaves it");
        assert_eq!(work(500, times), [500, 510, 540], "it rests where nothing is to be done");
        assert_eq!(work(500, [us(0), us(5), us(0)]), [500, 540, 545], "nothing is copied");
    }
}
