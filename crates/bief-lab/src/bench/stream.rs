//! The chains that are measured: frames as fast as they are taken, for as long as a measurement lasts.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use bief::pipeline::Waiting;
use bief::placement::Policy;
use bief::{Chain, Flow, InOut, Machine, Out, Pipeline, Result, Task, Wire};
use bief_cli::failure::Failure;

/// How a chain is run.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) batch: usize,
    /// `None`: as it is unless set.
    pub(super) depth: Option<usize>,
    pub(super) waiting: Waiting,
    /// How long one measurement takes.
    pub(super) time: Duration,
}

impl Setting {
    /// What a user gets who sets nothing.
    pub(super) const DEFAULT: Self =
        Self { batch: 1, depth: None, waiting: Waiting::Adaptive, time: Duration::from_millis(30) };
}

/// A pipeline behind a source that never lets it wait. Its threads are started once and are parked between measurements.
pub(super) struct Stream {
    pipeline: Pipeline,
    time: Duration,
}

impl Stream {
    /// The chain of a source and of what `write` adds behind it, which gets the source's wire; cut where it marks stages.
    pub(super) fn new(setting: Setting, write: impl FnOnce(&mut Chain, Wire<u64>)) -> Result<Self, Failure> {
        Self::of(setting, |chain| {
            let wire = chain.add(Source, ());
            write(chain, wire);
        })
    }

    /// The chain that `write` makes, of which the source never ends; cut where it marks stages.
    pub(super) fn of(setting: Setting, write: impl FnOnce(&mut Chain)) -> Result<Self, Failure> {
        let mut chain = Chain::new().batch(setting.batch);
        write(&mut chain);
        let pipeline = chain.build().and_then(|program| program.pipeline_as_marked()).and_then(|pipeline| {
            let pipeline = pipeline.waiting(setting.waiting);
            match setting.depth {
                Some(depth) => pipeline.depth(depth),
                None => Ok(pipeline),
            }
        });
        let pipeline = pipeline.map_err(Failure::from_error)?;
        Ok(Self { pipeline, time: setting.time })
    }

    /// The same chain, with its threads in these places.
    pub(super) fn placed(self, policy: &Policy, machine: &Machine) -> Result<Self, Failure> {
        Ok(Self { pipeline: self.pipeline.place(policy, machine).map_err(Failure::from_error)?, ..self })
    }

    /// `stages` stages of one task each, all empty.
    pub(super) fn of_stages(stages: usize, setting: Setting) -> Result<Self, Failure> {
        Self::new(setting, |chain, mut wire| add_stages(chain, &mut wire, stages - 1))
    }

    /// Lets frames through for the time of the setting, and answers the time of the run divided by their number.
    pub(super) fn ns_per_frame(&mut self) -> Result<f64, Failure> {
        let stopper = self.pipeline.stopper();
        loop {
            let report = thread::scope(|scope| {
                let run = scope.spawn(|| self.pipeline.run());
                thread::sleep(self.time);
                stopper.stop();
                run.join().unwrap_or_else(|panic| resume_unwind(panic))
            });
            let report = report.map_err(Failure::from_error)?;
            // There are none where its threads did not get a core in all that time.
            if report.frames > 0 {
                return Ok(report.seconds * 1e9 / report.frames as f64);
            }
        }
    }
}

/// Adds so many stages of one empty task each.
pub(super) fn add_stages(chain: &mut Chain, wire: &mut Wire<u64>, stages: usize) {
    for _ in 0..stages {
        chain.stage("empty");
        chain.add(Empty, &mut *wire);
    }
}

/// Makes frames that nobody looks at, without end.
pub(super) struct Source;

impl Task for Source {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u64]) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

/// Does nothing to the frame that it gets.
#[derive(Clone)]
pub(super) struct Empty;

impl Task for Empty {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use bief::sink;

    use super::*;

    #[test]
    fn every_measurement_lets_frames_through() {
        let setting = Setting { time: Duration::from_millis(2), batch: 3, ..Setting::DEFAULT };
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        let mut stream = Stream::new(setting, |chain, wire| {
            chain.stage("count");
            let count = move |_: &[u64]| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(Flow::Next)
            };
            chain.add(sink::for_each(count), &wire);
        })
        .unwrap();
        for _ in 0..3 {
            let ns = stream.ns_per_frame().unwrap();
            let frames = seen.swap(0, Ordering::Relaxed);
            assert!(frames >= 1 && ns > 0.0 && ns.is_finite(), "{frames} frames of {ns} ns");
        }
    }
}
