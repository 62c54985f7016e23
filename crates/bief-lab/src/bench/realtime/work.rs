//! Frames at planned times, and tasks that take a known time of the processor.

use std::time::Duration;

use bief::{Chain, Flow, InOut, Program, Result, Task, sink, source};

use crate::bench::busy::work;

/// From one frame to the next.
pub(super) const PERIOD: Duration = Duration::from_millis(1);
/// Frames that go through the chain at once.
pub(super) const BATCH: u32 = 4;
/// What the source works on each frame.
pub(super) const SOURCE: Duration = Duration::from_micros(200);
/// What the two stages after it work on each batch.
pub(super) const MIDDLE: Duration = Duration::from_micros(1000);
pub(super) const LAST: Duration = Duration::from_micros(500);

/// Three stages and so many batches.
pub(super) fn three_stages(batches: u32) -> Result<Program> {
    let mut chain = Chain::new().batch(BATCH as usize);
    chain.stage("source");
    let mut left = BATCH * batches;
    let count = move |frame: &mut [u32]| {
        frame[0] = left;
        let more = left.checked_sub(1);
        left = more.unwrap_or(0);
        Ok(if more.is_some() { Flow::Next } else { Flow::Stop })
    };
    let mut numbers = chain.add(source::from_fn(1, count), ());
    chain.add(source::pace(1.0 / PERIOD.as_secs_f64()).0, &mut numbers);
    chain.add(Busy(SOURCE), &mut numbers);
    for (name, time) in [("middle", MIDDLE), ("last", LAST)] {
        chain.stage(name);
        chain.add(Busy(time / BATCH), &mut numbers);
    }
    chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &numbers);
    chain.build()
}

/// Works on each number for so long.
struct Busy(Duration);

impl Task for Busy {
    type In = InOut<u32>;
    type Out = ();
    fn name(&self) -> String {
        "busy".to_owned()
    }
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u32], (): ()) -> Result<Flow> {
        work(self.0);
        Ok(Flow::Next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bief::machine::clock::thread_time;

    #[test]
    fn every_batch_comes_and_takes_its_time() {
        let before = thread_time();
        let report = three_stages(3).unwrap().one_core().unwrap().run().unwrap();
        assert_eq!((report.frames, report.batch), (12, 4));
        let least = 3 * (4 * SOURCE + MIDDLE + LAST);
        assert!(thread_time() - before >= least, "the chain runs on the calling thread");
        assert!(report.seconds >= 0.011);
    }
}
