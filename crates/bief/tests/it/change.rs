//! Other plans for a run that goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bief::error::ErrorKind;
use bief::memory::Plain;
use bief::pipeline::Changer;
use bief::placement::Policy;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Figures, Flow, In, InOut, Machine, Out, Pipeline, Report, Result, Task, sink, source};
use fastrand::Rng;

use crate::common::{Act, Count, Probe, watched};

/// Passes on how many frames it saw before each, and counts them.
#[derive(Default)]
struct Ledger(u64);

impl Task for Ledger {
    type In = In<u64>;
    type Out = Out<[u64; 2]>;
    fn lens(&self, numbers: usize) -> Result<usize> {
        Ok(numbers)
    }
    fn run(&mut self, number: &[u64], entry: &mut [[u64; 2]]) -> Result<Flow> {
        entry[0] = [number[0], self.0];
        self.0 += 1;
        Ok(Flow::Next)
    }
    fn reset(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }
}

/// Adds 1 in place and counts the frames of each replica.
#[derive(Default)]
struct Tally(u64);

impl Task for Tally {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] += 1;
        self.0 += 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        // As one that is cloned: what it begins with is not its own.
        Some(Self(self.0))
    }
    fn figures(&self, figures: &mut Figures) {
        figures.count("seen", "frames", self.0);
    }
    fn reset(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }
}

const TASKS: usize = 6;

/// Count, two probes, a tally, a ledger, and a sink: what may be replicated is in the middle.
fn chain(frames: u64, batch: usize, jitter: u64) -> (Pipeline, sink::Collected<[u64; 2]>, Arc<AtomicU64>) {
    let finished = Arc::<AtomicU64>::default();
    let probe = |act| Probe { finished: Arc::clone(&finished), ..Probe::new(act) };
    let mut chain = Chain::new().batch(batch);
    let wire = chain.add(Count::to(frames), ());
    let wire = chain.add(probe(Act::Jitter(jitter.max(1))), &wire);
    let mut wire = chain.add(probe(Act::Pass), &wire);
    chain.add(Tally::default(), &mut wire);
    let entries = chain.add(Ledger::default(), &wire);
    let (collect, result) = sink::collect();
    chain.add(collect, &entries);
    let pipeline = chain.build().unwrap().pipeline(&plan(&[(TASKS, 1)])).unwrap();
    (pipeline, result, finished)
}

fn profile() -> Profile {
    let replicable = [1, 2, 3];
    let task = |task| match replicable.contains(&task) {
        true => TaskProfile::replicable(format!("t{task}"), [100]),
        false => TaskProfile::sequential(format!("t{task}"), [100]),
    };
    Profile::new(["cpu"], (0..TASKS).map(task)).unwrap()
}

fn plan(stages: &[(usize, u32)]) -> Schedule {
    Schedule::new("hand", stages.iter().map(|&(tasks, cores)| Stage::new(tasks, cores, "cpu")), &profile()).unwrap()
}

/// Stages cut anywhere; those of replicable tasks alone have up to three replicas.
fn any_plan(random: &mut Rng) -> Schedule {
    let mut stages = Vec::new();
    let mut first = 0;
    while first < TASKS {
        let tasks = random.usize(1..=TASKS - first);
        let replicable = first >= 1 && first + tasks <= 4;
        stages.push((tasks, if replicable { random.u32(1..=3) } else { 1 }));
        first += tasks;
    }
    plan(&stages)
}

/// Changes plans at random times until the run is over.
fn change_until(over: &AtomicBool, changer: &Changer, random: &mut Rng) {
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(random.u64(0..3000)));
        changer.change(&any_plan(random), "at random").unwrap();
    }
}

fn run_changing(pipeline: &mut Pipeline, seed: u64) -> Result<Report> {
    let changer = pipeline.changer().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| change_until(&over, &changer, &mut Rng::with_seed(seed)));
        let report = pipeline.run();
        over.store(true, Ordering::Relaxed);
        report
    })
}

#[test]
fn frames_keep_their_order_and_pass_once_whatever_the_plans() {
    let mut changed = 0;
    for (seed, frames, batch, jitter) in [(1, 3000, 1, 40), (2, 4000, 7, 10), (3, 2000, 1, 0), (4, 0, 2, 5)] {
        let (pipeline, result, finished) = chain(frames, batch, jitter);
        let mut pipeline = pipeline.place(&Policy::Loose, &Machine::here()).unwrap().trace(50).unwrap();
        changed += watched(move || {
            let mut watch = pipeline.watch();
            let mut changed = 0;
            for run in 0..2 {
                let report = run_changing(&mut pipeline, seed + 10 * run).unwrap();
                let entries = result.take();
                let expected = (0..frames).map(|number| [number + 2001, number]);
                assert!(entries.iter().copied().eq(expected), "seed {seed}: {} of {frames}", entries.len());
                assert_eq!((report.frames, watch.status().frames), (frames, frames));
                assert_eq!(report.figures.counted("seen"), frames);
                assert_eq!(report.latency.map_or(0, |latency| latency.frames), frames);
                assert!(report.changes.is_sorted_by_key(|change| change.frame));
                assert!(report.changes.is_sorted_by(|a, b| a.seconds <= b.seconds));
                // Every replica that ever worked flushed once.
                let replicas = finished.swap(0, Ordering::Relaxed);
                assert!((2..=6).contains(&replicas), "{replicas}");
                let mut trace = Vec::new();
                pipeline.last_trace().expect("it was asked for").write(&mut trace).unwrap();
                changed += report.changes.len();
            }
            changed
        });
    }
    assert!(changed > 10, "{changed} changes");
}

#[test]
fn of_two_plans_the_later_comes_into_force() {
    let (mut pipeline, result, _) = chain(u64::MAX, 1, 0);
    let (changer, stopper, mut watch) = (pipeline.changer().unwrap(), pipeline.stopper(), pipeline.watch());
    watched(move || {
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut random = Rng::with_seed(4);
                for change in 0..300 {
                    let stages = 2 + change % 3;
                    changer.change(&plan(&[(TASKS, 1)]), "first").unwrap();
                    (0..random.u32(0..20_000)).for_each(|_| std::hint::spin_loop());
                    let later = [vec![(1, 1); stages - 1], vec![(TASKS + 1 - stages, 1)]].concat();
                    changer.change(&plan(&later), "later").unwrap();
                    while watch.status().stages.len() != stages {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
                stopper.stop();
            });
            let report = pipeline.run().unwrap();
            assert_eq!(report.changes.last().unwrap().reason, "later");
        });
        let entries = result.take();
        assert!((0..).zip(&entries).all(|(number, entry)| *entry == [number + 2001, number]));
    });
}

#[test]
fn a_stop_ends_a_run_that_changes() {
    let (mut pipeline, result, _) = chain(u64::MAX, 3, 5);
    watched(move || {
        for seed in 0..5 {
            let stopper = pipeline.stopper();
            let report = std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(20));
                    stopper.stop();
                });
                run_changing(&mut pipeline, seed)
            })
            .unwrap();
            let entries = result.take();
            assert_eq!(entries.len() as u64, report.frames);
            assert!((0..).zip(&entries).all(|(number, entry)| *entry == [number + 2001, number]));
        }
    });
}

#[test]
fn a_fault_ends_a_run_that_changes_and_frames_before_it_are_delivered() {
    for (act, kind) in [(Act::Fail(777), ErrorKind::Task), (Act::Panic(777), ErrorKind::Panic)] {
        crate::common::silence_panics("told to panic");
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(10_000), ());
        let wire = chain.add(Probe::new(Act::Jitter(20)), &wire);
        let mut wire = chain.add(Probe::new(act), &wire);
        chain.add(Tally::default(), &mut wire);
        let entries = chain.add(Ledger::default(), &wire);
        let (collect, result) = sink::collect();
        chain.add(collect, &entries);
        let mut pipeline = chain.build().unwrap().pipeline(&plan(&[(TASKS, 1)])).unwrap();
        watched(move || {
            for seed in 0..3 {
                let error = run_changing(&mut pipeline, seed).unwrap_err();
                assert_eq!((error.kind(), error.place().frame), (kind, Some(777)), "{error}");
                assert_eq!(result.take().len(), 777);
            }
        });
    }
}

#[test]
fn a_plan_that_is_asked_for_between_runs_begins_the_next() {
    let (mut pipeline, result, _) = chain(50, 1, 0);
    let changer = pipeline.changer().unwrap();
    watched(move || {
        assert_eq!(pipeline.run().unwrap().stages.len(), 1);
        changer.change(&plan(&[(1, 1), (3, 2), (2, 1)]), "for the next").unwrap();
        let report = pipeline.run().unwrap();
        assert_eq!((report.frames, report.stages.len(), result.take().len()), (50, 3, 100));
        let [change] = &report.changes[..] else { panic!("{:?}", report.changes) };
        assert_eq!((change.frame, &*change.reason, change.latency_seconds), (0, "for the next", None));
        assert_eq!(change.stages, ["Count on 1 cpu", "Probe .. Tally on 2 cpu", "Ledger .. Collect on 1 cpu"]);
        let again = Report::deserialize(&serde_json::to_value(&report).unwrap()).unwrap();
        assert_eq!(again.changes, report.changes);
        // It stays in force.
        let report = pipeline.run().unwrap();
        assert_eq!((report.stages.len(), report.changes.len()), (3, 0));
    });
    use serde::Deserialize as _;
}

#[test]
fn plans_that_do_not_fit_are_refused_and_the_run_goes_on() {
    let (pipeline, _, _) = chain(10, 1, 0);
    let changer = pipeline.changer().unwrap();
    let short = Schedule::new(
        "hand",
        [Stage::new(1, 1, "cpu")],
        &Profile::new(["cpu"], [TaskProfile::sequential("t", [1])]).unwrap(),
    );
    let error = changer.change(&short.unwrap(), "short").unwrap_err();
    assert!(error.to_string().contains("the stages have 1 tasks, but this chain has 6"), "{error}");
    let all = (0..TASKS).map(|task| TaskProfile::replicable(format!("t{task}"), [100]));
    let replicated =
        Schedule::new("hand", [Stage::new(TASKS, 2, "cpu")], &Profile::new(["cpu"], all).unwrap()).unwrap();
    let error = changer.change(&replicated, "replicated").unwrap_err();
    assert!(error.to_string().contains("cannot have 2 threads"), "{error}");
}

#[test]
fn pipelines_whose_threads_or_memory_are_bound_to_stages_do_not_change() {
    let program = || {
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(3), ());
        chain.stage("out");
        chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
        chain.build().unwrap()
    };
    let refused = |pipeline: Pipeline, reason: &str| {
        let error = pipeline.changer().unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    };
    refused(program().one_core().unwrap(), "it runs on the calling thread");
    let marked = || program().pipeline_as_marked().unwrap();
    refused(marked().memory(0, Arc::new(Plain)).unwrap(), "its boundaries have a memory");
    let machine = Machine::here();
    let placement = Policy::Loose.place(&machine, &marked().slots()).unwrap();
    refused(marked().place_as(placement, &machine).unwrap(), "its threads were placed one by one");
    refused(marked().place(&Policy::Dynamic, &machine).unwrap(), "its threads are moved while it runs");
}

#[test]
fn more_batches_may_wait_before_a_stage_from_some_frame_on() {
    let numbers: Vec<u32> = (0..2000).collect();
    let mut chain = Chain::new();
    let played = chain.add(source::from_slice(&numbers, 1), ());
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &played);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth_before(1, 2).unwrap();
    let changer = pipeline.changer().unwrap();
    changer.depth_before(1, 32, "there is more").unwrap();
    let report = pipeline.run().unwrap();
    assert_eq!(result.take(), numbers);
    assert_eq!((report.boundaries[0].slots, &*report.changes[0].reason), (32, "there is more"));
    // It stays so.
    assert_eq!(pipeline.run().unwrap().boundaries[0].slots, 32);
    assert!(changer.depth_before(1, 0, "none").is_err());
    changer.depth_before(2, 4, "elsewhere").unwrap();
    assert!(pipeline.run().unwrap_err().message().contains("no ring lies before stage 2"));
}
