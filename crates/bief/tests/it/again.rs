//! The same pipeline run several times: on the same threads, from the beginning.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use crate::common::{Act, Add, Count, Pair, Probe, all_ended, rig, threads_named, watched};
use bief::error::ErrorKind;
use bief::pipeline::Waiting;
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, TaskProfile};
use bief::source::Received;
use bief::{Chain, Error, Flow, In, Out, Result, Task, sink, source};

/// Passes on, and notes which thread it runs on.
#[derive(Clone)]
struct Witness(Arc<Mutex<HashSet<ThreadId>>>);

impl Task for Witness {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, input: &[u64], output: &mut [u64]) -> Result<Flow> {
        output.copy_from_slice(input);
        self.0.lock().unwrap().insert(std::thread::current().id());
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn later_runs_use_the_threads_of_the_first() {
    let seen = Arc::<Mutex<HashSet<ThreadId>>>::default();
    let mut chain = Chain::new().batch(2);
    chain.stage("run source");
    let wire = chain.add(Count::to(100), ());
    chain.stage("run work").threads(3);
    let wire = chain.add(Witness(Arc::clone(&seen)), &wire);
    chain.stage("run out");
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        for waiting in [Waiting::Adaptive, Waiting::Passive, Waiting::Active] {
            for depth in [1, 2, 16] {
                pipeline = pipeline.waiting(waiting).depth(depth).unwrap();
                let report = pipeline.run().unwrap();
                assert_eq!((report.frames, report.executions), (100, 51), "{waiting:?}, depth {depth}");
                assert_eq!(report.max_frames_in_flight, 2 * (6 * depth as u64 + 5));
                assert_eq!(result.take(), (0..100).collect::<Vec<_>>(), "{waiting:?}, depth {depth}");
            }
        }
        // The standard library never gives a number twice.
        assert_eq!(seen.lock().unwrap().len(), 3);
        if std::path::Path::new("/proc/self/task").exists() {
            assert_eq!(threads_named("run ").len(), 5, "they wait for another run");
        }
        drop(pipeline);
        assert!(all_ended("run "));
    });
}

/// The system's number of the thread that asks, where it tells.
fn this_thread() -> Option<u64> {
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}

/// Whether a thread has ended. The system may still list it for a moment after it was joined.
fn has_ended(thread: Option<u64>) -> bool {
    let Some(thread) = thread else { return true };
    let is_listed = || std::path::Path::new(&format!("/proc/self/task/{thread}")).exists();
    (0..1000).any(|_| {
        let listed = is_listed();
        if listed {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        !listed
    })
}

#[test]
fn a_device_has_no_thread_between_runs() {
    let (witness, seen) = std::sync::mpsc::channel();
    let gives = |heard: Received| {
        let witness = witness.clone();
        move |_: &mut [u8]| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let _ = witness.send(this_thread());
            Ok(heard)
        }
    };
    let mut listened = source::live(1, 1, gives(Received::Nothing));
    listened.listen().unwrap();
    let thread = seen.recv().unwrap();
    drop(listened);
    assert!(has_ended(thread), "it is told to end");

    let mut chain = Chain::new();
    chain.stage("radio");
    chain.add(source::live(1, 1, gives(Received::End)), ());
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    while seen.try_recv().is_ok() {}
    for _ in 0..2 {
        pipeline.run().unwrap();
        let threads: Vec<_> = seen.try_iter().collect();
        assert_eq!(threads.len(), 1);
        assert!(has_ended(threads[0]));
    }
}

#[test]
fn a_pipeline_that_never_runs_has_no_threads() {
    let rig = rig(10, 1, [1, 2, 1], [Act::Pass; 3]);
    drop(rig.chain.build().unwrap().pipeline_as_marked().unwrap());
}

#[test]
fn carried_wires_and_frame_numbers_begin_anew() {
    let mut chain = Chain::new().batch(3);
    let mut a = chain.add(Count::to(40), ());
    let early = chain.add(Probe::new(Act::Pass), &a);
    chain.stage("rewrite").threads(2);
    chain.add(Add(7), &mut a);
    chain.stage("between").threads(3);
    chain.add(Add(1), &mut a);
    chain.stage("out");
    let pairs = chain.add(Pair, (&early, &a));
    let mut fails = 0;
    chain.add(
        sink::for_each(move |pair: &[[u64; 2]]| {
            assert_eq!(pair[0][0] - 1000, pair[0][1] - 8);
            if pair[0][0] == 1031 {
                fails += 1;
                return Err(Error::new(format!("failure {fails}")));
            }
            Ok(Flow::Next)
        }),
        &pairs,
    );
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        for time in 1..=3 {
            let error = pipeline.run().unwrap_err();
            assert_eq!(error.message(), format!("failure {time}"));
            assert_eq!(error.place().frame, Some(31));
        }
    });
}

#[test]
fn a_slice_is_played_again_and_a_source_that_cannot_begin_anew_stops_at_once() {
    let run_twice = |chain: Chain| {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        [pipeline.run().unwrap().frames, pipeline.run().unwrap().frames]
    };
    let mut chain = Chain::new();
    let wire = chain.add(source::from_slice(&[1, 2, 3], 1), ());
    chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &wire);
    assert_eq!(run_twice(chain), [3, 3]);

    let mut left = 3;
    let mut chain = Chain::new();
    let source = source::from_fn(1, move |frame: &mut [u64]| {
        frame[0] = left;
        left = left.saturating_sub(1);
        Ok(if frame[0] == 0 { Flow::Stop } else { Flow::Next })
    });
    let wire = chain.add(source, ());
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    assert_eq!(run_twice(chain), [3, 0]);
}

/// Its second run is refused by an error, its third by a panic.
struct Stubborn(u32);

impl Task for Stubborn {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn reset(&mut self) -> Result<()> {
        self.0 += 1;
        match self.0 {
            1 => Err(Error::new("the tape cannot be wound back")),
            2 => panic!("the tape is torn"),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_task_that_cannot_begin_anew_is_named() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(5), ());
    chain.stage("tape");
    chain.add(Stubborn(0), &wire);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    assert_eq!(pipeline.run().unwrap().frames, 5);
    let error = pipeline.run().unwrap_err();
    assert_eq!(error.to_string(), "task `Stubborn` (stage `tape`): the tape cannot be wound back");
    let error = pipeline.run().unwrap_err();
    assert_eq!((error.kind(), error.place().stage.as_deref()), (ErrorKind::Panic, Some("tape")));
    assert_eq!(pipeline.run().unwrap().frames, 5);
}

#[test]
fn planned_periods_grow_with_the_batch() {
    let tasks = ["Count", "Add", "sink"].map(|name| TaskProfile::sequential(name, [4000]));
    let profile = Profile::new(["core"], tasks).unwrap().with_frames_per_execution(2).unwrap();
    let schedule = Exact.schedule(&profile, &Platform::new([CoreKind::new("core", 1)]).unwrap()).unwrap();
    let pipeline_of = |batch: usize| {
        let mut chain = Chain::new().batch(batch);
        let mut wire = chain.add(Count::to(7), ());
        chain.add(Add(1), &mut wire);
        chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
        chain.build().unwrap().pipeline(&schedule).unwrap()
    };
    let pipeline = || pipeline_of(2);
    for (mut pipeline, planned) in [
        (pipeline_of(8).compare_with(&profile).unwrap(), 48_000.0),
        (pipeline_of(8).batch(1).unwrap().compare_with(&profile).unwrap().batch(4).unwrap(), 24_000.0),
        (pipeline().compare_with(&profile).unwrap(), 12_000.0),
        (pipeline().compare_with(&profile).unwrap().batch(16).unwrap(), 96_000.0),
        (pipeline().batch(16).unwrap().batch(3).unwrap().compare_with(&profile).unwrap(), 18_000.0),
    ] {
        let report = pipeline.run().unwrap();
        assert_eq!((report.planned_period_ns, report.stages[0].planned_ns), (Some(planned), Some(planned)));
        assert_eq!((report.frames, report.max_frames_in_flight), (7, report.batch as u64));
    }
}

#[test]
fn a_stage_may_have_any_name() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(5), ());
    chain.stage("nothing\0behind");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    assert_eq!(chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap().frames, 5);
}
