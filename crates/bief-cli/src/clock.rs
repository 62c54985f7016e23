//! What this process and its threads have taken of the processor.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time that all threads of this process have run, those too that have ended.
pub fn processor_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

/// The time that the calling thread has run.
pub fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_takes_processor_time() {
        let before = (processor_time(), thread_time());
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(5) {}
        assert!(processor_time() > before.0 && thread_time() > before.1);
    }
}
