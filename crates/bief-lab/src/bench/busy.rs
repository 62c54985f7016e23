//! Work of a known length.

use std::hint::black_box;
use std::time::Duration;

use bief::machine::clock::thread_time;

/// Keeps the processor busy for this time of the calling thread, as the system counts it: a core that is slower for a while, or
/// that others take, makes it no shorter or longer.
pub(super) fn work(time: Duration) {
    /// Some microseconds at most: much more than a look at the clock.
    const STEPS: u32 = 2000;
    let end = thread_time() + time;
    while thread_time() < end {
        (0..STEPS).for_each(|step| {
            black_box(step);
        });
    }
}
