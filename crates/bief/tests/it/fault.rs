//! Errors and panics come home with their place; what went before is delivered.

use std::sync::atomic::Ordering;

use bief::error::ErrorKind;
use bief::{Chain, Error, Flow, In, Out, Result, Task, sink};

use crate::common::{Act, Count, Probe, Unflushed, rig, watched};

/// Passes numbers on, and panics where it is told to.
#[derive(Clone, Default)]
struct Touchy {
    /// With something that panics when it is dropped.
    at: Option<u64>,
    lost: bool,
    drop: bool,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any("the payload, too");
    }
}

impl Task for Touchy {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, input: &[u64], output: &mut [u64]) -> Result<Flow> {
        if self.at == Some(input[0]) {
            std::panic::panic_any(Bomb);
        }
        output.copy_from_slice(input);
        Ok(Flow::Next)
    }
    fn lost(&self) -> u64 {
        if self.lost { panic!("it cannot count") } else { 0 }
    }
}

/// Numbers, until it is asked when the fourth is due.
struct Unpunctual(Count);

impl Task for Unpunctual {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        self.0.lens(())
    }
    fn run(&mut self, (): (), frame: &mut [u64]) -> Result<Flow> {
        self.0.run((), frame)
    }
    fn due(&mut self) -> Option<std::time::Instant> {
        assert!(self.0.next < 3, "it has no clock");
        None
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        assert!(!self.drop, "it cannot let go");
    }
}

fn touchy_chain(task: Touchy, stages: bool) -> (Chain, sink::Collected<u64>) {
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(9), ());
    if stages {
        chain.stage("touchy");
    }
    let numbers = chain.add(task, &numbers);
    let (collect, result) = sink::collect();
    chain.add(collect, &numbers);
    (chain, result)
}

#[test]
fn frames_of_the_batch_before_the_fault_are_delivered() {
    for faulty in 0..3 {
        for counts in [[1, 1, 1], [2, 3, 2]] {
            for panics in [false, true] {
                let mut acts = [Act::KeepEvery(1); 3];
                acts[faulty] = if panics { Act::Panic(50) } else { Act::Fail(50) };
                let rig = rig(1000, 7, counts, acts);
                let result = rig.result.clone();
                watched(move || rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err());
                assert_eq!(result.take(), (3000..3050).collect::<Vec<_>>());
            }
        }
        let mut acts = [Act::Pass; 3];
        acts[faulty] = Act::Fail(50);
        let rig = rig(1000, 7, [1, 1, 1], acts);
        let error = rig.chain.build().unwrap().run().unwrap_err();
        assert_eq!(error.place().frame, Some(50));
        assert_eq!(rig.result.take(), (3000..3050).collect::<Vec<_>>(), "on one core");
    }
}

#[test]
fn the_first_of_two_faults_in_a_batch_is_told_and_frames_before_both_are_delivered() {
    let rig = rig(1000, 16, [1, 1, 1], [Act::Pass, Act::Fail(9), Act::Panic(4)]);
    let error = rig.chain.build().unwrap().run().unwrap_err();
    assert_eq!(error.place().frame, Some(9));
    assert_eq!(rig.result.take(), (3000..3004).collect::<Vec<_>>());
    assert_eq!(rig.finished.load(Ordering::Relaxed), 1, "neither of the two is finished");
}

#[test]
fn a_panic_whose_payload_panics_is_an_error() {
    for stages in [false, true] {
        let (chain, result) = touchy_chain(Touchy { at: Some(4), ..Touchy::default() }, stages);
        let program = chain.build().unwrap();
        let mut pipeline = if stages { program.pipeline_as_marked() } else { program.one_core() }.unwrap();
        let error = pipeline.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert!(error.to_string().contains("frame 4): panicked: a value that is not text"), "{error}");
        assert_eq!(result.take(), [0, 1, 2, 3]);
    }
}

#[test]
fn a_panic_while_lost_elements_are_counted_is_an_error() {
    for stages in [false, true] {
        let (chain, result) = touchy_chain(Touchy { lost: true, ..Touchy::default() }, stages);
        let program = chain.build().unwrap();
        let mut pipeline = if stages { program.pipeline_as_marked() } else { program.one_core() }.unwrap();
        let error = pipeline.run().unwrap_err();
        assert_eq!(error.place().task.as_deref(), Some("Touchy"));
        assert_eq!(error.message(), "panicked: it cannot count");
        assert_eq!(result.take().len(), 9);
    }
}

#[test]
fn a_panic_while_a_frame_is_looked_forward_to_is_an_error() {
    for stages in [false, true] {
        let mut chain = Chain::new();
        let numbers = chain.add(Unpunctual(Count::to(9)), ());
        if stages {
            chain.stage("out");
        }
        let (collect, result) = sink::collect();
        chain.add(collect, &numbers);
        let program = chain.build().unwrap();
        let pipeline = if stages { program.pipeline_as_marked() } else { program.one_core() }.unwrap();
        let error = watched(move || pipeline.observe().run().unwrap_err());
        assert_eq!((error.place().task.as_deref(), error.message()), (Some("Unpunctual"), "panicked: it has no clock"));
        assert_eq!(result.take(), [0, 1, 2]);
    }
}

#[test]
fn a_task_that_panics_when_it_is_dropped_is_an_error_of_whoever_closes() {
    let touchy = || Touchy { drop: true, ..Touchy::default() };
    let said = "task `Touchy` (stage `chain`): panicked: it cannot let go";
    let error = touchy_chain(touchy(), false).0.build().unwrap().run().unwrap_err();
    assert_eq!(error.to_string(), said);

    let mut pipeline = touchy_chain(touchy(), true).0.build().unwrap().pipeline_as_marked().unwrap();
    pipeline.run().unwrap();
    let error = pipeline.close().unwrap_err();
    assert_eq!(error.place().stage.as_deref(), Some("touchy"));

    // One that is only dropped keeps it to itself, also where two of a loop panic at once.
    drop(touchy_chain(touchy(), true).0.build().unwrap().one_core().unwrap());
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(9), ());
    chain.repeat(1, |chain| {
        let first = chain.add(touchy(), &numbers);
        chain.add(touchy(), &first);
    });
    let error = chain.build().unwrap().run().unwrap_err();
    assert!(error.to_string().contains("it cannot let go"), "{error}");
}

/// Where the probes stand: the first after the source, one in the middle, one before the sink.
#[test]
fn the_first_fault_ends_the_run_with_its_place() {
    for (panics, batch) in [(false, 1), (false, 4), (true, 1), (true, 4)] {
        for faulty in 0..3 {
            for counts in [[1, 1, 1], [2, 3, 2]] {
                let at = 123;
                let mut acts = [Act::Jitter(10); 3];
                acts[faulty] = if panics { Act::Panic(at) } else { Act::Fail(at) };
                let rig = rig(1000, batch, counts, acts);
                let (error, result) = watched(move || {
                    let error = rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err();
                    (error, rig.result.take())
                });
                assert_eq!(error.kind(), if panics { ErrorKind::Panic } else { ErrorKind::Task });
                assert_eq!(error.place().stage.as_deref(), Some(&*format!("s{faulty}")));
                assert_eq!(error.place().frame, Some(at));
                let text = error.to_string();
                assert!(text.contains("task `Probe") && text.contains(&format!("at {at}")), "{text}");
                // All frames before the fault are delivered, in order, those of its batch too.
                assert_eq!(result, (3000..3000 + at).collect::<Vec<_>>(), "{error}");
            }
        }
    }
}

#[test]
fn on_one_core_too() {
    for act in [Act::Fail(55), Act::Panic(55)] {
        let rig = rig(1000, 1, [1, 1, 1], [Act::Pass, act, Act::Pass]);
        let error = rig.chain.build().unwrap().run().unwrap_err();
        assert_eq!(error.place().frame, Some(55));
        assert_eq!(rig.result.take().len(), 55);
        assert_eq!(rig.finished.load(Ordering::Relaxed), 2, "every task but the failed one is finished");
    }
}

#[test]
fn a_source_that_fails_delivers_what_it_made() {
    let mut chain = Chain::new();
    let mut next = 0;
    let source = bief::source::from_fn(1, move |frame: &mut [u64]| {
        frame[0] = next;
        next += 1;
        if next == 40 { Err(Error::new("the antenna fell off")) } else { Ok(Flow::Next) }
    });
    let wire = chain.add(source, ());
    chain.stage("work").threads(3);
    let wire = chain.add(Probe::new(Act::Jitter(30)), &wire);
    chain.stage("out");
    let (collect, result) = bief::sink::collect();
    chain.add(collect, &wire);
    let error = watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err());
    assert!(error.to_string().contains("the antenna fell off"), "{error}");
    assert_eq!(result.take(), (1000..1039).collect::<Vec<_>>());
}

#[test]
fn a_sink_that_cannot_flush_is_an_error_of_the_run() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(3), ());
    chain.add(Unflushed { panics: false }, &wire);
    let error = chain.build().unwrap().run().unwrap_err();
    assert_eq!(error.to_string(), "task `Unflushed` (stage `chain`): no space left");
}
