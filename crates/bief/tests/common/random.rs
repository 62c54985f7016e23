//! Random pipelines, what is done to them from outside while they run, and what they must deliver: all drawn from one seed.
//!
//! Real threads run them in the soak; under shuttle, small ones run in random orders of their steps.

#![allow(unreachable_pub, reason = "it is a module of several test files")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bief::error::ErrorKind;
use bief::pipeline::{Changer, Stopper, Waiting};
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{
    Chain, Error, Flow, In, InOut, InOutVar, InVar, Out, OutVar, Pipeline, Program, Result, Task, VarFrame, Wire, sink,
};
use fastrand::Rng;
#[cfg(bief_shuttle)]
use shuttle::{hint::spin_loop, thread};
#[cfg(not(bief_shuttle))]
use std::{hint::spin_loop, thread};

/// What is done to the number that goes through the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    Add(u64),
    /// Makes a new wire of the number and what the source made, which jumps over everything between.
    MixFirst,
    /// Skips what is not a multiple.
    KeepMultiplesOf(u64),
    /// Makes a frame as long as the number says.
    Stretch(usize),
    /// Lengthens the last such frame, if there is one and it has room.
    Grow,
    /// Adds up the last such frame, if there is one.
    Fold,
    /// Up to so many turns, each with a switch, until the number is odd.
    Turns(usize),
    /// Adds all that came before: cannot be replicated.
    Sum,
    /// Takes a time that depends on the number.
    Work(u64),
    /// Stands still at every so many numbers, for so many turns of others.
    Stall(u64, u64),
    /// Where a task ends the run.
    Trouble,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// When the source has made all its frames.
    Source,
    /// At the number that comes to [`Op::Trouble`] when it was made as this one.
    Stop(u64),
    Error(u64),
    Panic(u64),
    /// By a stopper, called from another thread when about so many frames were made.
    Stopper(u64),
}

/// How large a pipeline may be: the most of each.
pub struct Sizes {
    frames: u64,
    stages: usize,
    tasks: usize,
    replicas: usize,
    batch: usize,
    depth: usize,
    runs: usize,
    changes: usize,
    /// Of the work and the stalls of a task.
    turns: u64,
}

/// For real threads.
#[cfg_attr(bief_shuttle, expect(dead_code, reason = "a model checker would need minutes for one"))]
pub const LARGE: Sizes =
    Sizes { frames: 300, stages: 8, tasks: 3, replicas: 6, batch: 17, depth: 8, runs: 4, changes: 4, turns: 2000 };

/// For a model checker, and for a few seconds.
pub const SMALL: Sizes =
    Sizes { frames: 40, stages: 3, tasks: 2, replicas: 3, batch: 3, depth: 3, runs: 2, changes: 3, turns: 20 };

/// Its replicas, and what they do.
type Part = (usize, Vec<Op>);

/// Stages that take the place of those before: the tasks and the cores of each.
type Change = Vec<(usize, u32)>;

#[derive(Debug)]
pub struct Plan {
    frames: u64,
    end: End,
    batch: usize,
    depth: usize,
    waiting: Waiting,
    runs: usize,
    stages: Vec<Part>,
    /// When about so many frames of a run were made.
    changes: Vec<(u64, Change)>,
}

impl Plan {
    pub fn draw(seed: u64, most: &Sizes) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let frames = rng.u64(0..most.frames);
        let at = rng.u64(0..most.frames);
        let end = match rng.u8(0..8) {
            0 | 1 => End::Source,
            2 | 3 => End::Stop(at),
            4 => End::Error(at),
            5 => End::Panic(at),
            _ => End::Stopper(at),
        };
        let mut stages: Vec<Part> = (0..rng.usize(1..=most.stages))
            .map(|_| {
                let ops: Vec<Op> = (0..rng.usize(1..=most.tasks)).map(|_| Op::draw(rng, most.turns)).collect();
                (if ops.contains(&Op::Sum) { 1 } else { rng.usize(1..=most.replicas) }, ops)
            })
            .collect();
        let troubled = rng.usize(0..stages.len());
        stages[troubled].1.push(Op::Trouble);
        let single: Vec<bool> = stages.iter().flat_map(|(_, ops)| ops).map(|&op| op == Op::Sum).collect();
        let single = [&[true][..], &single, &[true]].concat();
        let mut changes: Vec<(u64, Change)> = (0..rng.usize(0..=most.changes))
            .map(|_| (rng.u64(0..most.frames), change(rng, &single, most.replicas)))
            .collect();
        changes.sort_by_key(|&(at, _)| at);
        Self {
            frames,
            end,
            batch: rng.usize(1..=most.batch),
            depth: rng.usize(1..=most.depth),
            waiting: [Waiting::Adaptive, Waiting::Passive, Waiting::Active][rng.usize(0..3)],
            runs: rng.usize(1..=most.runs),
            stages,
            changes,
        }
    }

    fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.stages.iter().flat_map(|(_, ops)| ops).copied()
    }
}

/// Cuts the tasks anywhere; those which all may be replicated are.
fn change(rng: &mut Rng, single: &[bool], replicas: usize) -> Change {
    let mut stages = Vec::new();
    let mut rest = single;
    while !rest.is_empty() {
        let (stage, after) = rest.split_at(rng.usize(1..=rest.len()));
        let most = if stage.contains(&true) { 1 } else { replicas };
        stages.push((stage.len(), rng.u32(1..=most as u32)));
        rest = after;
    }
    stages
}

impl Op {
    fn draw(rng: &mut Rng, turns: u64) -> Self {
        match rng.u8(0..13) {
            0 | 1 => Self::Add(rng.u64(0..1000)),
            2 | 3 => Self::MixFirst,
            4 => Self::KeepMultiplesOf(rng.u64(1..4)),
            5 => Self::Stretch(rng.usize(1..20)),
            6 => Self::Grow,
            7 | 8 => Self::Fold,
            9 => Self::Turns(rng.usize(1..5)),
            10 => Self::Sum,
            11 => Self::Work(rng.u64(1..turns)),
            _ => Self::Stall(rng.u64(1..8), turns),
        }
    }
}

/// What one number after the other comes to, in plain Rust.
struct Oracle {
    ops: Vec<Op>,
    sums: Vec<u64>,
}

/// How far a number went.
enum Fate {
    Delivered(u64),
    Skipped,
    Trouble,
}

impl Oracle {
    fn fate(&mut self, number: u64, trouble: Option<u64>) -> Fate {
        let mut x = number;
        let mut long: Option<(Vec<u64>, usize)> = None;
        for (op, sum) in self.ops.iter().zip(&mut self.sums) {
            match *op {
                Op::Add(y) => x = x.wrapping_add(y),
                Op::MixFirst => x = mixed(x, number),
                Op::KeepMultiplesOf(n) if !x.is_multiple_of(n) => return Fate::Skipped,
                Op::Stretch(most) => long = Some(((0..x % (most as u64 + 1)).map(|k| mixed(x, k)).collect(), most)),
                Op::Grow => {
                    if let Some((long, most)) = &mut long
                        && long.len() < *most
                    {
                        long.push(x);
                    }
                }
                Op::Fold => x = long.iter().flat_map(|(long, _)| long).fold(x, |x, &y| mixed(x, y)),
                Op::Turns(bound) => {
                    for _ in 0..bound {
                        if x % 2 == 1 {
                            break;
                        }
                        match x % 3 {
                            0 => x /= 2,
                            1 => x = x.wrapping_add(4),
                            _ => {}
                        }
                    }
                }
                Op::Sum => {
                    *sum = mixed(*sum, x);
                    x = *sum;
                }
                Op::Trouble if trouble == Some(number) => return Fate::Trouble,
                Op::KeepMultiplesOf(_) | Op::Work(_) | Op::Stall(..) | Op::Trouble => {}
            }
        }
        Fate::Delivered(x)
    }
}

fn mixed(x: u64, y: u64) -> u64 {
    x.wrapping_mul(31).wrapping_add(y)
}

/// What a run gives when the source makes so many frames: what is delivered, and the frame whose fault comes home.
fn expected(plan: &Plan, made: u64) -> (Vec<u64>, Option<(ErrorKind, u64)>) {
    let (trouble, kind) = match plan.end {
        End::Stop(at) => (Some(at), None),
        End::Error(at) => (Some(at), Some(ErrorKind::Task)),
        End::Panic(at) => (Some(at), Some(ErrorKind::Panic)),
        End::Source | End::Stopper(_) => (None, None),
    };
    let ops: Vec<Op> = plan.ops().collect();
    let mut oracle = Oracle { sums: vec![0; ops.len()], ops };
    let mut delivered = Vec::new();
    for number in 0..made {
        match (oracle.fate(number, trouble), kind) {
            (Fate::Delivered(x), _) => delivered.push(x),
            (Fate::Skipped, _) => {}
            (Fate::Trouble, None) => break,
            (Fate::Trouble, Some(kind)) => return (delivered, Some((kind, number))),
        }
    }
    (delivered, None)
}

/// The numbers from 0: on the wire that is worked on, and on one that is left alone.
struct Numbers {
    frames: u64,
    made: Arc<AtomicU64>,
}

impl Task for Numbers {
    type In = ();
    type Out = (Out<u64>, Out<u64>);
    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        Ok((1, 1))
    }
    fn run(&mut self, (): (), (x, first): (&mut [u64], &mut [u64])) -> Result<Flow> {
        let number = self.made.load(Ordering::Relaxed);
        if number == self.frames {
            return Ok(Flow::Stop);
        }
        (x[0], first[0]) = (number, number);
        self.made.store(number + 1, Ordering::Relaxed);
        Ok(Flow::Next)
    }
    fn reset(&mut self) -> Result<()> {
        self.made.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// A task that rewrites the number by a closure of it and of another.
struct Rewrite<F>(F);

impl<F: Fn(&mut u64, u64) -> Result<Flow> + Clone + Send + 'static> Task for Rewrite<F> {
    type In = (InOut<u64>, In<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (x, first): (&mut [u64], &[u64]), (): ()) -> Result<Flow> {
        (self.0)(&mut x[0], first[0])
    }
    fn replica(&self) -> Option<Self> {
        Some(Self(self.0.clone()))
    }
}

/// A task that makes one element by a closure of two numbers.
struct Make<T, F>(F, std::marker::PhantomData<fn() -> T>);

fn make<T, F: Fn(u64, u64) -> T>(make: F) -> Make<T, F> {
    Make(make, std::marker::PhantomData)
}

impl<T: bief::chain::Element, F: Fn(u64, u64) -> T + Clone + Send + 'static> Task for Make<T, F> {
    type In = (In<u64>, In<u64>);
    type Out = Out<T>;
    fn lens(&self, _: (usize, usize)) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (x, y): (&[u64], &[u64]), made: &mut [T]) -> Result<Flow> {
        made[0] = (self.0)(x[0], y[0]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(make(self.0.clone()))
    }
}

#[derive(Clone)]
struct Stretch(usize);

impl Task for Stretch {
    type In = In<u64>;
    type Out = OutVar<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(self.0)
    }
    fn run(&mut self, x: &[u64], mut long: VarFrame<'_, u64>) -> Result<Flow> {
        for k in 0..x[0] % (self.0 as u64 + 1) {
            long.push(mixed(x[0], k))?;
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[derive(Clone)]
struct Grow;

impl Task for Grow {
    type In = (InOutVar<u64>, In<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (mut long, x): (VarFrame<'_, u64>, &[u64]), (): ()) -> Result<Flow> {
        if long.len() < long.capacity() {
            long.push(x[0])?;
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[derive(Clone)]
struct Fold;

impl Task for Fold {
    type In = (InOut<u64>, InVar<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (x, long): (&mut [u64], &[u64]), (): ()) -> Result<Flow> {
        x[0] = long.iter().fold(x[0], |x, &y| mixed(x, y));
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The schedules of a plan's changes, for tasks with these names.
fn schedules(plan: &Plan, program: &Program) -> Vec<(u64, Schedule)> {
    let task = |(name, replicable): (&str, bool)| match replicable {
        true => TaskProfile::replicable(name, [1]),
        false => TaskProfile::sequential(name, [1]),
    };
    let profile = Profile::new(["cpu"], program.tasks().map(task)).unwrap();
    let schedule = |stages: &Change| {
        let stages = stages.iter().map(|&(tasks, cores)| Stage::new(tasks, cores, "cpu"));
        Schedule::new("drawn", stages, &profile).unwrap()
    };
    plan.changes.iter().map(|(at, stages)| (*at, schedule(stages))).collect()
}

/// A plan made.
struct Made {
    pipeline: Pipeline,
    result: sink::Collected<u64>,
    /// How many frames its source has made.
    made: Arc<AtomicU64>,
    changes: Vec<(u64, Schedule)>,
}

fn made(plan: &Plan) -> Made {
    let made = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new().batch(plan.batch);
    let (mut x, first) = chain.add(Numbers { frames: plan.frames, made: Arc::clone(&made) }, ());
    let mut long = None;
    for (index, (threads, ops)) in plan.stages.iter().enumerate() {
        chain.stage(&format!("stage {index}")).threads(*threads);
        for op in ops {
            match *op {
                Op::Add(y) => rewrite(&mut chain, &mut x, &first, move |x, _| *x = x.wrapping_add(y)),
                Op::MixFirst => x = chain.add(make(mixed), (&x, &first)),
                Op::KeepMultiplesOf(n) => {
                    let keep = move |x: &mut u64, _| Ok(if x.is_multiple_of(n) { Flow::Next } else { Flow::Skip });
                    chain.add(Rewrite(keep), (&mut x, &first));
                }
                Op::Stretch(most) => long = Some(chain.add(Stretch(most), &x)),
                Op::Grow | Op::Fold if long.is_none() => rewrite(&mut chain, &mut x, &first, |_, _| ()),
                Op::Grow => chain.add(Grow, (long.as_mut().expect("just seen"), &x)),
                Op::Fold => chain.add(Fold, (&mut x, long.as_ref().expect("just seen"))),
                Op::Turns(bound) => chain.repeat(bound, |chain| {
                    let odd = chain.add(make(|x, _| x % 2 == 1), (&x, &first));
                    chain.leave_if(&odd);
                    let remainder = chain.add(make(|x, _| (x % 3) as u8), (&x, &first));
                    chain.select(&remainder, |paths| {
                        paths.path(|chain| rewrite(chain, &mut x, &first, |x, _| *x /= 2));
                        paths.path(|chain| rewrite(chain, &mut x, &first, |x, _| *x = x.wrapping_add(4)));
                        paths.path(|_| {});
                    });
                }),
                Op::Sum => x = chain.feedback(&[0], |chain, before| chain.add(make(mixed), (before, &x))),
                Op::Work(most) => rewrite(&mut chain, &mut x, &first, move |_, first| {
                    (0..mixed(first, most) % most).for_each(|_| spin_loop());
                }),
                Op::Stall(every, turns) => rewrite(&mut chain, &mut x, &first, move |_, first| {
                    (0..if first.is_multiple_of(every) { turns } else { 0 }).for_each(|_| thread::yield_now());
                }),
                Op::Trouble => {
                    let end = plan.end;
                    let trouble = move |_: &mut u64, first| match end {
                        End::Stop(at) if at == first => Ok(Flow::Stop),
                        End::Error(at) if at == first => Err(Error::new("told to fail")),
                        End::Panic(at) if at == first => panic!("told to panic"),
                        _ => Ok(Flow::Next),
                    };
                    chain.add(Rewrite(trouble), (&mut x, &first));
                }
            }
        }
    }
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &x);
    let program = chain.build().unwrap();
    let changes = schedules(plan, &program);
    let pipeline = program.pipeline_as_marked().unwrap().depth(plan.depth).unwrap().waiting(plan.waiting);
    Made { pipeline, result, made, changes }
}

fn rewrite(
    chain: &mut Chain,
    x: &mut Wire<u64>,
    first: &Wire<u64>,
    f: impl Fn(&mut u64, u64) + Clone + Send + 'static,
) {
    let rewrite = move |x: &mut u64, first| {
        f(x, first);
        Ok(Flow::Next)
    };
    chain.add(Rewrite(rewrite), (x, first));
}

/// Does from outside what a plan wants done while it runs, when its source has made so many frames.
struct Outside<'p> {
    plan: &'p Plan,
    made: &'p AtomicU64,
    ended: &'p AtomicBool,
    changer: Changer,
    stopper: Stopper,
}

impl Outside<'_> {
    /// Whether so many frames were made before the run ended.
    fn wait(&self, at: u64) -> bool {
        let ended = || self.ended.load(Ordering::Relaxed);
        while self.made.load(Ordering::Relaxed) < at && !ended() {
            thread::yield_now();
        }
        !ended()
    }

    fn act(&self, changes: &[(u64, Schedule)]) {
        let stop = match self.plan.end {
            End::Stopper(at) => Some(at),
            _ => None,
        };
        let (before, after) = changes.split_at(changes.partition_point(|&(at, _)| stop.is_none_or(|stop| at < stop)));
        let change = |(at, schedule): &(u64, Schedule)| {
            if self.wait(*at) {
                self.changer.change(schedule, "drawn").unwrap();
            }
        };
        before.iter().for_each(change);
        if let Some(at) = stop {
            self.wait(at);
            self.stopper.stop();
        }
        after.iter().for_each(change);
    }
}

/// Runs a plan as often as it says and checks every run; answers the frames that it made.
pub fn check(plan: &Plan) -> u64 {
    let Made { mut pipeline, result, made, changes } = made(plan);
    let mut frames = 0;
    for _ in 0..plan.runs {
        let ended = AtomicBool::new(false);
        let (changer, stopper) = (pipeline.changer().unwrap(), pipeline.stopper());
        let outcome = thread::scope(|scope| {
            let outside = Outside { plan, made: &made, ended: &ended, changer, stopper };
            let changes = &changes;
            scope.spawn(move || outside.act(changes));
            let outcome = pipeline.run();
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        let made = match plan.end {
            End::Stopper(_) => made.load(Ordering::Relaxed),
            _ => plan.frames,
        };
        frames += made;
        let (delivered, fault) = expected(plan, made);
        // A run that lacks frames tells why, if it knows.
        assert_eq!(result.take(), delivered, "{:?}", outcome.as_ref().map(ToString::to_string));
        match (outcome, fault) {
            (Ok(report), None) => {
                assert_eq!(report.frames, delivered.len() as u64, "{report}");
                if plan.end == End::Source && plan.changes.is_empty() {
                    assert_eq!(report.executions, made / plan.batch as u64 + 1, "{report}");
                    assert!(report.stages.is_sorted_by(|a, b| a.frames >= b.frames), "{report}");
                }
            }
            (Err(error), Some((kind, frame))) => {
                assert_eq!((error.kind(), error.place().frame), (kind, Some(frame)), "{error}");
                assert!(error.message().contains("told to"), "{error}");
            }
            (outcome, fault) => panic!("{outcome:?}, not {fault:?}"),
        }
    }
    frames
}

/// Tells how to repeat what goes wrong while it lives.
pub struct Told {
    pub plan: Arc<Plan>,
    /// The variable that repeats it.
    pub again: String,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:#?}\nrepeat it with {}", self.plan, self.again);
        }
    }
}

#[cfg(not(bief_shuttle))]
#[test]
fn a_wrong_result_is_seen() {
    let plan = Plan {
        frames: 9,
        end: End::Error(7),
        batch: 2,
        depth: 1,
        waiting: Waiting::Adaptive,
        runs: 1,
        stages: vec![(2, vec![Op::Add(1), Op::Trouble]), (1, vec![Op::KeepMultiplesOf(2)])],
        changes: Vec::new(),
    };
    assert_eq!(expected(&plan, 9), (vec![2, 4, 6], Some((ErrorKind::Task, 7))));
    assert_eq!(check(&plan), 9);
    let Made { mut pipeline, result, .. } = made(&Plan { end: End::Source, ..plan });
    pipeline.run().unwrap();
    assert_eq!(result.take(), [2, 4, 6, 8], "without the error one more comes out");
}
