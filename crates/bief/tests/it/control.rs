//! Loops, switches and feedback do what the same program in plain Rust does, wherever they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Act, Add, Count, Pair, Probe, Unflushed, watched};
use bief::chain::Choice;
use bief::error::ErrorKind;
use bief::raw::DynWire;
use bief::{Chain, Error, Flow, In, InOut, Out, Result, Task, Wire, sink};
use proptest::prelude::*;

/// A task that a closure makes of what it reads: `make(x)`, one element.
struct Make<T, F>(F, std::marker::PhantomData<fn() -> T>);

fn make<T, F: Fn(u64) -> T>(make: F) -> Make<T, F> {
    Make(make, std::marker::PhantomData)
}

impl<T: bief::chain::Element, F: Fn(u64) -> T + Clone + Send + 'static> Task for Make<T, F> {
    type In = In<u64>;
    type Out = Out<T>;
    fn name(&self) -> String {
        "Make".to_owned()
    }
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[u64], made: &mut [T]) -> Result<Flow> {
        made[0] = (self.0)(x[0]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(make(self.0.clone()))
    }
}

/// Mixes the second number into the first.
#[derive(Clone)]
struct Mix;

fn mixed(x: u64, y: u64) -> u64 {
    x.wrapping_mul(31).wrapping_add(y)
}

impl Task for Mix {
    type In = (InOut<u64>, In<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (x, y): (&mut [u64], &[u64]), (): ()) -> Result<Flow> {
        x[0] = mixed(x[0], y[0]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The sum of both numbers.
#[derive(Clone)]
struct Sum;

impl Task for Sum {
    type In = (In<u64>, In<u64>);
    type Out = Out<u64>;
    fn lens(&self, (len, _): (usize, usize)) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, (a, b): (&[u64], &[u64]), sum: &mut [u64]) -> Result<Flow> {
        sum[0] = a[0].wrapping_add(b[0]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Skips or stops at numbers that a closure names.
#[derive(Clone)]
struct Decide<F>(F);

impl<F: Fn(u64) -> Flow + Clone + Send + 'static> Task for Decide<F> {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &[u64], (): ()) -> Result<Flow> {
        Ok((self.0)(x[0]))
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// A program over one number.
#[derive(Debug, Clone)]
enum Op {
    Add(u64),
    SkipMultiplesOf(u64),
    StopAbove(u64),
    /// Leaves at the start (*while*), at the end (*do … while*), or never (*for*), when the number has the remainder 1.
    Repeat {
        bound: usize,
        leaves: Leaves,
        modulus: u64,
        body: Vec<Op>,
    },
    /// A choice of `bool` when there are two paths, else by the remainder, as `u8`, `u32` or `usize`.
    Select {
        paths: Vec<Vec<Op>>,
    },
    Feedback {
        body: Vec<Op>,
        previous: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Leaves {
    AtStart,
    AtEnd,
    InAPath,
    Never,
}

#[derive(Debug, PartialEq, Clone, Copy)]
enum Turn {
    Next,
    Skip,
    Stop,
    Leave,
}

/// The plain Rust that a program stands for.
fn oracle(ops: &mut [Op], x: &mut u64) -> Turn {
    for op in ops {
        let turn = match op {
            Op::Add(y) => {
                *x = x.wrapping_add(*y);
                Turn::Next
            }
            Op::SkipMultiplesOf(n) if x.is_multiple_of(*n) => Turn::Skip,
            Op::StopAbove(limit) if *x > *limit => Turn::Stop,
            Op::SkipMultiplesOf(_) | Op::StopAbove(_) => Turn::Next,
            Op::Repeat { bound, leaves, modulus, body } => {
                let mut turn = Turn::Next;
                for _ in 0..*bound {
                    if matches!(leaves, Leaves::AtStart | Leaves::InAPath) && *x % *modulus == 1 {
                        break;
                    }
                    turn = oracle(body, x);
                    if turn != Turn::Next || *leaves == Leaves::AtEnd && *x % *modulus == 1 {
                        break;
                    }
                }
                if turn == Turn::Leave { Turn::Next } else { turn }
            }
            Op::Select { paths } => {
                let path = (*x % paths.len() as u64) as usize;
                oracle(&mut paths[path], x)
            }
            Op::Feedback { body, previous } => {
                let turn = oracle(body, x);
                if turn == Turn::Next {
                    *previous = x.wrapping_add(*previous);
                    *x = mixed(*x, *previous);
                }
                turn
            }
        };
        if turn != Turn::Next {
            return turn;
        }
    }
    Turn::Next
}

/// The same as a chain.
fn write(chain: &mut Chain, ops: &[Op], x: &mut Wire<u64>) {
    for op in ops {
        match op.clone() {
            Op::Add(y) => chain.add(Wrapping(y), x),
            Op::SkipMultiplesOf(n) => {
                chain.add(Decide(move |x: u64| if x.is_multiple_of(n) { Flow::Skip } else { Flow::Next }), x)
            }
            Op::StopAbove(limit) => chain.add(Decide(move |x| if x > limit { Flow::Stop } else { Flow::Next }), x),
            Op::Repeat { bound, leaves, modulus, body } => chain.repeat(bound, |chain| {
                let leave = |chain: &mut Chain, x: &Wire<u64>| {
                    let done = chain.add(make(move |x| x % modulus == 1), x);
                    if leaves == Leaves::InAPath {
                        let always = chain.constant(&[true]);
                        chain.select(&done, |paths| paths.path(|chain| chain.leave_if(&always)));
                    } else {
                        chain.leave_if(&done);
                    }
                };
                if matches!(leaves, Leaves::AtStart | Leaves::InAPath) {
                    leave(chain, x);
                }
                write(chain, &body, x);
                if leaves == Leaves::AtEnd {
                    leave(chain, x);
                }
            }),
            Op::Select { paths } => {
                let n = paths.len() as u64;
                match n {
                    2 => select(chain, move |x| x % n == 0, &paths, x),
                    3 => select(chain, move |x| (x % n) as u8, &paths, x),
                    4 => select(chain, move |x| (x % n) as u32, &paths, x),
                    _ => select(chain, move |x| (x % n) as usize, &paths, x),
                }
            }
            Op::Feedback { body, previous } => {
                let sum = chain.feedback(&[previous], |chain, previous| {
                    write(chain, &body, x);
                    chain.add(Sum, (x, previous))
                });
                chain.add(Mix, (x, &sum));
            }
        }
    }
}

fn select<C: Choice>(
    chain: &mut Chain,
    choice: impl Fn(u64) -> C + Clone + Send + 'static,
    paths: &[Vec<Op>],
    x: &mut Wire<u64>,
) {
    let choice = chain.add(make(choice), x);
    chain.select(&choice, |written| {
        for path in paths {
            written.path(|chain| write(chain, path, x));
        }
    });
}

#[derive(Clone)]
struct Wrapping(u64);

impl Task for Wrapping {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &mut [u64], (): ()) -> Result<Flow> {
        x[0] = x[0].wrapping_add(self.0);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Programs; those without feedback may be replicated.
fn programs(feedback: bool) -> impl Strategy<Value = Vec<Op>> {
    let leaf = prop_oneof![
        8 => (0_u64..9).prop_map(Op::Add),
        1 => (7_u64..20).prop_map(Op::SkipMultiplesOf),
        1 => (1_u64 << 20..u64::MAX).prop_map(Op::StopAbove),
    ];
    let op = leaf.prop_recursive(3, 24, 4, move |op| {
        // A body may not be empty, a path may.
        let body = prop::collection::vec(op.clone(), 1..4);
        let leaves =
            prop_oneof![Just(Leaves::AtStart), Just(Leaves::AtEnd), Just(Leaves::InAPath), Just(Leaves::Never)];
        let repeat = (0_usize..6, leaves, 2_u64..7, body.clone())
            .prop_map(|(bound, leaves, modulus, body)| Op::Repeat { bound, leaves, modulus, body });
        let paths = prop::collection::vec(prop::collection::vec(op, 0..3), 1..6);
        let select = paths.prop_map(|paths| Op::Select { paths });
        let memory = (body, any::<u64>()).prop_map(|(body, previous)| Op::Feedback { body, previous });
        if feedback { prop_oneof![repeat, select, memory].boxed() } else { prop_oneof![repeat, select].boxed() }
    });
    prop::collection::vec(op, 1..5)
}

const FRAMES: u64 = 50;

/// What arrives, when the program is written in one stage of so many threads.
fn run(ops: &[Op], batch: usize, threads: usize) -> Vec<u64> {
    let mut chain = Chain::new().batch(batch);
    let mut x = chain.add(Count::to(FRAMES), ());
    chain.stage("program").threads(threads.max(1));
    write(&mut chain, ops, &mut x);
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &x);
    let program = chain.build().unwrap();
    if threads == 0 {
        program.run().unwrap();
    } else {
        watched(move || program.pipeline_as_marked().unwrap().depth(2).unwrap().run().unwrap());
    }
    result.take()
}

fn expected(ops: &[Op]) -> Vec<u64> {
    let mut ops = ops.to_vec();
    let mut expected = Vec::new();
    for mut x in 0..FRAMES {
        match oracle(&mut ops, &mut x) {
            Turn::Next => expected.push(x),
            Turn::Skip => {}
            Turn::Stop => break,
            Turn::Leave => unreachable!("only a loop's body is left"),
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn programs_with_memory_run_as_written(ops in programs(true), batch in 1_usize..9) {
        let expected = expected(&ops);
        prop_assert_eq!(&run(&ops, batch, 0), &expected, "on one core");
        prop_assert_eq!(&run(&ops, batch, 1), &expected, "in a stage");
    }

    #[test]
    fn programs_without_memory_may_be_replicated(ops in programs(false), batch in 1_usize..9, threads in 1_usize..4) {
        prop_assert_eq!(run(&ops, batch, threads), expected(&ops));
    }
}

/// Numbers from 0, through what `write` adds, collected.
fn through(frames: u64, write: impl FnOnce(&mut Chain, &mut Wire<u64>)) -> (Chain, sink::Collected<u64>) {
    let mut chain = Chain::new().batch(3);
    let mut x = chain.add(Count::to(frames), ());
    write(&mut chain, &mut x);
    let (collect, result) = sink::collect();
    chain.add(collect, &x);
    (chain, result)
}

#[test]
fn a_loop_of_no_turns_and_a_switch_without_else() {
    let (chain, result) = through(4, |chain, x| {
        chain.repeat(0, |chain| chain.add(Add(100), x));
        let odd = chain.add(make(|x| x % 2 == 1), x);
        chain.select(&odd, |paths| paths.path(|chain| chain.add(Add(10), x)));
    });
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [0, 11, 2, 13]);
}

#[test]
fn the_first_path_is_that_of_true() {
    let (chain, result) = through(4, |chain, x| {
        let big = chain.add(make(|x| x > 1), x);
        chain.select(&big, |paths| {
            paths.path(|chain| chain.add(Add(10), x));
            paths.path(|chain| chain.add(Add(20), x));
        });
    });
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [20, 21, 12, 13]);
}

#[test]
fn a_blank_is_blank_again_in_every_frame() {
    let mut chain = Chain::new().batch(2);
    let x = chain.add(Count::to(5), ());
    let odd = chain.add(make(|x| x % 2 == 1), &x);
    let mut y = chain.blank::<u64>(1);
    chain.select(&odd, |paths| paths.path(|chain| chain.add(Mix, (&mut y, &x))));
    let (collect, result) = sink::collect();
    chain.add(collect, &y);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [0, 1, 0, 3, 0]);
}

#[test]
fn what_a_path_keeps_may_be_used_behind_it() {
    // In another stage, with replicas of the region.
    let mut chain = Chain::new().batch(2);
    let x = chain.add(Count::to(6), ());
    let odd = chain.add(make(|x| x % 2 == 1), &x);
    let mut made = None;
    chain.stage("region").threads(3);
    chain.select(&odd, |paths| {
        paths.path(|chain| {
            let twice = chain.add(make(|x| 2 * x), &x);
            chain.keep(&DynWire::from(&twice));
            chain.keep(&DynWire::from(&x));
            made = Some(twice);
        });
    });
    chain.stage("behind");
    let ((collect, numbers), (collect_made, twice)) = (sink::collect(), sink::collect());
    chain.add(collect, &x);
    chain.add(collect_made, &made.unwrap());
    chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
    let (numbers, twice): (Vec<u64>, Vec<u64>) = (numbers.take(), twice.take());
    assert_eq!((numbers.len(), twice.len()), (6, 6));
    assert!(numbers.iter().zip(&twice).all(|(x, twice)| x % 2 == 0 || *twice == 2 * x), "{numbers:?} {twice:?}");
}

#[test]
fn a_skipped_frame_leaves_the_feedback_as_it_was() {
    let mut chain = Chain::new().batch(4);
    let x = chain.add(Count::to(8), ());
    let sums = chain.feedback(&[100], |chain, previous| {
        let sum = chain.add(Sum, (&x, previous));
        chain.add(Decide(|x| if x % 3 == 1 { Flow::Skip } else { Flow::Next }), &x);
        sum
    });
    let (collect, result) = sink::collect();
    chain.add(collect, &sums);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [100, 102, 105, 110, 116]);
}

#[test]
fn a_region_is_one_task_for_profiles_and_reports() {
    let (chain, _) = through(50, |chain, x| {
        chain.stage("loop");
        chain.repeat(3, |chain| {
            let done = chain.add(make(|x| x > 2), x);
            chain.leave_if(&done);
            chain.select(&done, |paths| {
                paths.path(|chain| chain.add(Add(1), x));
                paths.path(|_| {});
            });
        });
        chain.stage("memory");
        let sum = chain.feedback(&[0], |chain, previous| chain.add(Sum, (x, previous)));
        chain.add(Mix, (x, &sum));
    });
    let program = chain.build().unwrap();
    let tasks: Vec<(&str, bool)> = program.tasks().collect();
    assert_eq!(
        tasks,
        [
            ("Count", false),
            ("repeat(Make, leave_if, select(Add | -))", true),
            ("feedback(Sum)", false),
            ("Mix", true),
            ("Collect", false)
        ]
    );
    let report = program.pipeline_as_marked().unwrap().run().unwrap();
    assert_eq!(
        report.stages[1].tasks.iter().map(|task| &task.name).collect::<Vec<_>>(),
        ["repeat(Make, leave_if, select(Add | -))"]
    );
    let (chain, _) = through(50, |chain, x| chain.repeat(2, |chain| (0..6).for_each(|_| chain.add(Add(1), x))));
    let profile = chain.build().unwrap().profile(5).unwrap();
    assert_eq!(profile.tasks()[1].name, "repeat(Add .. Add 6)");
    assert!(profile.tasks()[1].replicable && profile.tasks()[1].ns[0] > Some(0));
}

/// A chain of a loop with a switch in it; the task at `at` of the five inside does what `act` says.
fn acting(at: usize, act: Act, threads: usize) -> (Chain, sink::Collected<u64>, Arc<AtomicU64>) {
    let finished = Arc::new(AtomicU64::new(0));
    let probe = |number: usize| Probe {
        act: if number == at { act } else { Act::Pass },
        replicable: true,
        finished: Arc::clone(&finished),
    };
    let mut chain = Chain::new();
    let x = chain.add(Count::to(20), ());
    chain.stage("work").threads(threads);
    let odd = chain.add(make(|x| x % 2 == 1), &x);
    chain.repeat(1, |chain| {
        chain.add(probe(0), &x);
        chain.select(&odd, |paths| {
            paths.path(|chain| {
                chain.add(probe(1), &x);
                chain.add(probe(2), &x);
            });
            paths.path(|chain| drop(chain.add(probe(3), &x)));
        });
        chain.add(probe(4), &x);
    });
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &x);
    (chain, result, finished)
}

#[test]
fn faults_name_the_region_and_the_task_inside_and_the_others_are_finished() {
    for (act, kind) in [(Act::Fail(13), ErrorKind::Task), (Act::Panic(13), ErrorKind::Panic)] {
        // Odd frames take the path of probes 1 and 2.
        for (at, inside) in [
            (0, "in `Probe`: "),
            (1, "in `select(Probe 2, Probe 3 | Probe 4)`: in `Probe 2`: "),
            (2, "in `select(Probe 2, Probe 3 | Probe 4)`: in `Probe 3`: "),
            (4, "in `Probe 5`: "),
        ] {
            let (chain, result, finished) = acting(at, act, 1);
            let error = watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err());
            let region = "repeat(Probe, select(Probe 2, Probe 3 | Probe 4), Probe 5)";
            assert_eq!(error.kind(), kind);
            assert_eq!(error.place().task.as_deref(), Some(region));
            assert_eq!((error.place().stage.as_deref(), error.place().frame), (Some("work"), Some(13)));
            let told = if kind == ErrorKind::Panic { "panicked: told to panic at 13" } else { "told to fail at 13" };
            assert_eq!(error.message(), format!("{inside}{told}"));
            assert_eq!(result.take(), (0..13).collect::<Vec<_>>(), "probe {at}");
            assert_eq!(finished.load(Ordering::Relaxed), 4, "all but probe {at}");
        }
    }
}

#[test]
fn every_task_inside_is_finished_once_in_every_replica() {
    for threads in [1, 3] {
        let (chain, result, finished) = acting(4, Act::Stop(11), threads);
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        assert_eq!(result.take(), (0..11).collect::<Vec<_>>());
        assert_eq!(finished.load(Ordering::Relaxed), 5 * threads as u64);
    }
}

#[test]
fn what_cannot_be_flushed_inside_is_told_with_its_name() {
    for (panics, told) in [(false, "no space left"), (true, "panicked: no space left")] {
        let (chain, _) = through(3, |chain, x| chain.repeat(1, |chain| chain.add(Unflushed { panics }, x)));
        let error = chain.build().unwrap().run().unwrap_err();
        let expected = format!("task `repeat(Unflushed)` (stage `chain`): in `Unflushed`: {told}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_choice_without_a_path_is_an_error_of_its_frame() {
    let finished = Arc::new(AtomicU64::new(0));
    let (chain, result) = through(20, |chain, x| {
        let choice = chain.add(make(|x| if x == 7 { u32::MAX } else { (x % 2) as u32 }), x);
        chain.select(&choice, |paths| {
            for _ in 0..2 {
                let probe = Probe { act: Act::Pass, replicable: true, finished: Arc::clone(&finished) };
                paths.path(|chain| drop(chain.add(probe, x)));
            }
        });
    });
    let error = chain.build().unwrap().run().unwrap_err();
    assert_eq!((error.kind(), error.place().frame), (ErrorKind::Task, Some(7)));
    assert_eq!(
        error.to_string(),
        "task `select(Probe | Probe 2)` (stage `chain`, frame 7): the choice is 4294967295, but the paths are 0 to 1"
    );
    assert_eq!(result.take(), (0..7).collect::<Vec<_>>(), "all frames before");
    assert_eq!(finished.load(Ordering::Relaxed), 2);
}

#[test]
fn wires_pass_regions_in_other_stages() {
    // `early` jumps over the stage of the loop, `y` is made before it and rewritten in it, `sum` leaves a feedback.
    let mut chain = Chain::new().batch(2);
    let x = chain.add(Count::to(30), ());
    let early = chain.add(Probe::new(Act::Pass), &x);
    let mut y = chain.blank::<u64>(1);
    chain.stage("loop").threads(3);
    chain.repeat(2, |chain| chain.add(Mix, (&mut y, &x)));
    chain.stage("memory");
    let sum = chain.feedback(&[5], |chain, previous| chain.add(Sum, (&y, previous)));
    chain.stage("out");
    let pairs = chain.add(Pair, (&early, &sum));
    let (collect, result) = sink::collect();
    chain.add(collect, &pairs);
    watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
    let mut sum = 5;
    let expected: Vec<[u64; 2]> = (0..30)
        .map(|x| {
            sum += mixed(mixed(0, x), x);
            [x + 1000, sum]
        })
        .collect();
    assert_eq!(result.take(), expected);
}

/// Skips nothing; counts the frames since the last reset, and fails at its third frame ever.
struct Since {
    frames: u64,
    ever: u64,
}

impl Task for Since {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &mut [u64], (): ()) -> Result<Flow> {
        self.frames += 1;
        self.ever += 1;
        x[0] += 1000 * self.frames;
        if self.ever == 3 { Err(Error::new("the third frame")) } else { Ok(Flow::Next) }
    }
    fn reset(&mut self) -> Result<()> {
        self.frames = 0;
        Ok(())
    }
}

#[test]
fn a_region_begins_anew_with_its_pipeline_after_a_fault_too() {
    let finished = Arc::new(AtomicU64::new(0));
    let probe = Probe { act: Act::Pass, replicable: true, finished: Arc::clone(&finished) };
    let mut chain = Chain::new();
    let mut x = chain.add(Count::to(5), ());
    chain.stage("memory");
    let sum = chain.feedback(&[7], |chain, previous| {
        chain.repeat(1, |chain| {
            chain.add(probe, &x);
            chain.add(Since { frames: 0, ever: 0 }, &mut x);
        });
        chain.add(Sum, (&x, previous))
    });
    let (collect, result) = sink::collect();
    chain.add(collect, &sum);
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        let error = pipeline.run().unwrap_err();
        assert_eq!(error.message(), "in `repeat(Probe, Since)`: in `Since`: the third frame");
        assert_eq!(result.take(), [1007, 3008]);
        for run in 2..4 {
            pipeline.run().unwrap();
            assert_eq!(result.take(), [1007, 3008, 6010, 10013, 15017], "run {run}");
            assert_eq!(finished.load(Ordering::Relaxed), run, "once in every run");
        }
    });
}
