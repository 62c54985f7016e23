//! Runs that are stopped from outside: what was taken is delivered, and nothing more is taken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::common::{Act, Add, Count, Probe, Relay, rig, watched};
use bief::error::ErrorKind;
use bief::pipeline::{Stopper, Waiting};
use bief::{Chain, Error, Flow, In, Out, Pipeline, Report, Result, Task, sink, source};

/// Runs, and stops from another thread as soon as `made` has grown to so many.
fn stop_after(frames: u64, made: &AtomicU64, pipeline: &mut Pipeline) -> Result<Report> {
    let stopper = pipeline.stopper();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while made.load(Ordering::Relaxed) < frames {
                std::thread::sleep(Duration::from_micros(100));
            }
            stopper.stop();
        });
        pipeline.run()
    })
}

/// Numbers without end, counted in `made`: from 0 in the first run, from where they were in later ones.
fn numbers(made: &Arc<AtomicU64>) -> impl Task<In = (), Out = Out<u64>> + use<> {
    let made = Arc::clone(made);
    source::from_fn(1, move |frame: &mut [u64]| {
        frame[0] = made.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Next)
    })
}

#[test]
fn an_endless_stream_is_delivered_up_to_where_it_stops() {
    for (counts, batch, depth) in [([1, 1], 1, 1), ([2, 3], 1, 16), ([3, 1], 4, 2)] {
        for waiting in [Waiting::Adaptive, Waiting::Passive, Waiting::Active] {
            let made = Arc::new(AtomicU64::new(0));
            let mut chain = Chain::new().batch(batch);
            let mut wire = chain.add(numbers(&made), ());
            for (index, threads) in counts.into_iter().enumerate() {
                chain.stage(&format!("s{index}")).threads(threads);
                chain.add(Add(5), &mut wire);
            }
            chain.stage("out");
            let (collect, result) = sink::collect();
            chain.add(collect, &wire);
            watched(move || {
                let pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
                let mut pipeline = pipeline.depth(depth).unwrap().waiting(waiting);
                for _ in 0..3 {
                    let before = made.load(Ordering::Relaxed);
                    let report = stop_after(before + 1000, &made, &mut pipeline).unwrap();
                    let after = made.load(Ordering::Relaxed);
                    assert_eq!(result.take(), (before + 10..after + 10).collect::<Vec<_>>());
                    assert_eq!((report.frames, report.executions * batch as u64), (after - before, after - before));
                }
            });
        }
    }
}

#[test]
fn a_stop_between_runs_is_for_the_next_one_only() {
    let rig = rig(50, 1, [1, 2, 1], [Act::Pass; 3]);
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap();
        let stopper = pipeline.stopper();
        for _ in 0..2 {
            stopper.clone().stop();
            assert_eq!(pipeline.run().unwrap().frames, 0);
            assert_eq!(rig.finished.swap(0, Ordering::Relaxed), 4, "every task is finished");
            assert_eq!(pipeline.run().unwrap().frames, 50);
            rig.finished.store(0, Ordering::Relaxed);
        }
        drop(pipeline);
        stopper.stop();
    });
}

#[test]
fn a_pipeline_blocked_by_a_slow_sink_drains() {
    let made = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new();
    let wire = chain.add(numbers(&made), ());
    chain.stage("work").threads(2);
    let wire = chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    let wire = chain.add(Probe::sequential(Act::Sleep(Duration::from_millis(2))), &wire);
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(8).unwrap();
        let report = stop_after(30, &made, &mut pipeline).unwrap();
        assert_eq!(result.take(), (2000..2000 + made.load(Ordering::Relaxed)).collect::<Vec<_>>());
        assert!(report.frames >= 30, "{report}");
    });
}

/// A stopper that a task calls at a frame.
fn stopped_at(frame: u64, act: Act) -> (Pipeline, sink::Collected<u64>) {
    let stopper = Arc::new(OnceLock::<Stopper>::new());
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(u64::MAX), ());
    chain.stage("work").threads(2);
    let wire = chain.add(Probe::new(act), &wire);
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    let told = Arc::clone(&stopper);
    chain.add(
        sink::for_each(move |number: &[u64]| {
            if number[0] == 1000 + frame {
                told.get().unwrap().stop();
            }
            Ok(Flow::Next)
        }),
        &wire,
    );
    let pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    stopper.set(pipeline.stopper()).unwrap();
    (pipeline, result)
}

#[test]
fn a_task_may_stop_the_run_and_no_more_is_taken_than_was_on_its_way() {
    let (mut pipeline, result) = stopped_at(100, Act::Pass);
    let report = watched(move || pipeline.run().unwrap());
    assert_eq!(result.take(), (1000..1000 + report.frames).collect::<Vec<_>>());
    assert!((101..=101 + report.max_frames_in_flight).contains(&report.frames), "{}", report.frames);
}

#[test]
fn a_fault_on_the_way_out_is_still_told() {
    let (mut pipeline, result) = stopped_at(100, Act::Fail(100));
    let error = watched(move || pipeline.run().unwrap_err());
    assert_eq!((error.kind(), error.place().frame), (ErrorKind::Task, Some(100)));
    assert_eq!(result.take(), (1000..1100).collect::<Vec<_>>());
}

#[test]
fn a_fault_after_the_stop_is_still_told() {
    let (made, stopper) = (Arc::new(AtomicU64::new(0)), Arc::new(OnceLock::<Stopper>::new()));
    let mut chain = Chain::new();
    let wire = chain.add(numbers(&made), ());
    chain.stage("out");
    let told = Arc::clone(&stopper);
    let fails = move |number: &[u64]| match number[0] {
        0 => {
            // The ring holds 16 more.
            while made.load(Ordering::Relaxed) < 17 {
                std::thread::yield_now();
            }
            told.get().unwrap().stop();
            Ok(Flow::Next)
        }
        15 => Err(Error::new("full")),
        _ => Ok(Flow::Next),
    };
    chain.add(sink::for_each(fails), &wire);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(16).unwrap();
    stopper.set(pipeline.stopper()).unwrap();
    let error = watched(move || pipeline.run().unwrap_err());
    assert_eq!((error.message(), error.place().frame), ("full", Some(15)));
}

/// A source of which several replicas run: its name and a number per frame, at a pace of its own.
struct Station {
    name: u64,
    next: u64,
    named: Arc<AtomicU64>,
    made: Arc<AtomicU64>,
}

impl Station {
    fn first(made: &Arc<AtomicU64>) -> Self {
        Self { name: 0, next: 0, named: Arc::default(), made: Arc::clone(made) }
    }
}

impl Task for Station {
    type In = ();
    type Out = Out<[u64; 2]>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [[u64; 2]]) -> Result<Flow> {
        if self.name.is_multiple_of(2) {
            std::thread::sleep(Duration::from_micros(100));
        }
        frame[0] = [self.name, self.next];
        self.next += 1;
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        let name = 1 + self.named.fetch_add(1, Ordering::Relaxed);
        Some(Self { name, next: 0, named: Arc::clone(&self.named), made: Arc::clone(&self.made) })
    }
    fn reset(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

#[test]
fn replicated_sources_stop_together() {
    for (sources, relays) in [(2, 1), (2, 3), (3, 3), (4, 2)] {
        let made = Arc::new(AtomicU64::new(0));
        let mut chain = Chain::new();
        chain.stage("source").threads(sources);
        let wire = chain.add(Station::first(&made), ());
        chain.stage("relay").threads(relays);
        let wire = chain.add(Relay, &wire);
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &wire);
        watched(move || {
            let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
            for _ in 0..5 {
                stop_after(100, &made, &mut pipeline).unwrap();
                let frames = result.take();
                assert_eq!(frames.len() as u64, made.swap(0, Ordering::Relaxed), "all that was made is delivered");
                // However many each replica made, its own are in order.
                let of = |name: u64| frames.iter().filter(move |frame| frame[0] == name).map(|frame| frame[1]);
                let in_order = frames.iter().all(|&[name, _]| of(name).eq(0..of(name).count() as u64));
                assert!(in_order, "{sources} to {relays}");
            }
        });
    }
}

#[test]
fn replicas_that_never_meet_stop_too() {
    let made = Arc::new(AtomicU64::new(0));
    for stages in 1..=2 {
        let taken = Arc::new(AtomicU64::new(0));
        let mut chain = Chain::new();
        chain.stage("source").threads(2);
        let wire = chain.add(Station::first(&made), ());
        if stages == 2 {
            chain.stage("out").threads(2);
        }
        chain.add(Tally(Arc::clone(&taken)), &wire);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        let count = Arc::clone(&made);
        let report = watched(move || stop_after(100, &count, &mut pipeline).unwrap());
        assert_eq!([taken.load(Ordering::Relaxed), report.frames], [made.swap(0, Ordering::Relaxed); 2]);
    }
}

/// Counts frames.
#[derive(Clone)]
struct Tally(Arc<AtomicU64>);

impl Task for Tally {
    type In = In<[u64; 2]>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[[u64; 2]], (): ()) -> Result<Flow> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
