//! Random pipelines for as long as one likes, each run several times, against the same program in plain Rust.
//!
//! `.ci/deep soak` runs it for `SOAK_SECONDS` (2 where that is not set) and prints how it goes. A failure names the seed of
//! its pipeline; `BIEF_SOAK_SEED` begins with that one.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bief::error::ErrorKind;
use bief::pipeline::Waiting;
use bief::{Chain, Error, Flow, In, InOut, InOutVar, InVar, Out, OutVar, Pipeline, Result, Task, VarFrame, Wire, sink};
use common::{silence_panics, within};
use fastrand::Rng;

/// What is done to the number that goes through the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
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
    /// Where a task ends the run.
    Trouble,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// When the source has made all its frames.
    Source,
    /// At the number that comes to [`Op::Trouble`] when it was made as this one.
    Stop(u64),
    Error(u64),
    Panic(u64),
    /// By a stopper, called from another thread when about so many frames were made.
    Stopper(u64),
}

/// A stage: its replicas, and what they do.
type Stage = (usize, Vec<Op>);

#[derive(Debug)]
struct Plan {
    frames: u64,
    end: End,
    batch: usize,
    depth: usize,
    waiting: Waiting,
    runs: usize,
    stages: Vec<Stage>,
}

impl Plan {
    fn draw(rng: &mut Rng) -> Self {
        let frames = rng.u64(0..300);
        let at = rng.u64(0..300);
        let end = match rng.u8(0..8) {
            0 | 1 => End::Source,
            2 | 3 => End::Stop(at),
            4 => End::Error(at),
            5 => End::Panic(at),
            _ => End::Stopper(at),
        };
        let mut stages: Vec<Stage> = (0..rng.usize(1..=8))
            .map(|_| {
                let ops: Vec<Op> = (0..rng.usize(1..=3)).map(|_| Op::draw(rng)).collect();
                (if ops.contains(&Op::Sum) { 1 } else { rng.usize(1..=6) }, ops)
            })
            .collect();
        let troubled = rng.usize(0..stages.len());
        stages[troubled].1.push(Op::Trouble);
        Self {
            frames,
            end,
            batch: rng.usize(1..=17),
            depth: rng.usize(1..=8),
            waiting: [Waiting::Adaptive, Waiting::Passive, Waiting::Active][rng.usize(0..3)],
            runs: rng.usize(1..=4),
            stages,
        }
    }

    fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.stages.iter().flat_map(|(_, ops)| ops).copied()
    }
}

impl Op {
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..12) {
            0 | 1 => Self::Add(rng.u64(0..1000)),
            2 | 3 => Self::MixFirst,
            4 => Self::KeepMultiplesOf(rng.u64(1..4)),
            5 => Self::Stretch(rng.usize(1..20)),
            6 => Self::Grow,
            7 | 8 => Self::Fold,
            9 => Self::Turns(rng.usize(1..5)),
            10 => Self::Sum,
            _ => Self::Work(rng.u64(1..2000)),
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
                Op::KeepMultiplesOf(_) | Op::Work(_) | Op::Trouble => {}
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

/// The pipeline of a plan, where it delivers to, and how many frames its source has made.
fn pipeline(plan: &Plan) -> (Pipeline, sink::Collected<u64>, Arc<AtomicU64>) {
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
                    (0..mixed(first, most) % most).for_each(|_| std::hint::spin_loop());
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
    let pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(plan.depth).unwrap();
    (pipeline.waiting(plan.waiting), result, made)
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

/// Runs a plan as often as it says and checks every run; answers the frames that it made.
fn check(plan: &Plan) -> u64 {
    let (mut pipeline, result, made) = pipeline(plan);
    let mut frames = 0;
    for _ in 0..plan.runs {
        let stopper = pipeline.stopper();
        let ended = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            if let End::Stopper(at) = plan.end {
                let (made, ended) = (&made, &ended);
                scope.spawn(move || {
                    while made.load(Ordering::Relaxed) < at && !ended.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    stopper.stop();
                });
            }
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
        assert_eq!(result.take(), delivered);
        match (outcome, fault) {
            (Ok(report), None) => {
                assert_eq!(report.frames, delivered.len() as u64, "{report}");
                if plan.end == End::Source {
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

/// Resident memory in KiB and threads of this process; `None` where the system does not tell.
fn held() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    Some((field("VmRSS:")?, field("Threads:")?))
}

/// The least that was held between two pipelines, in each half of the time after a warm-up of a fifth.
#[derive(Debug, Default, Clone, Copy)]
struct Least([Option<(u64, u64)>; 2]);

impl Least {
    /// Notes what is held when this share of the time has passed.
    fn note(&mut self, share: f64, (memory, threads): (u64, u64)) {
        if share >= 0.2 {
            let half = &mut self.0[usize::from(share >= 0.6)];
            let (least_memory, least_threads) = half.unwrap_or((memory, threads));
            *half = Some((memory.min(least_memory), threads.min(least_threads)));
        }
    }

    /// Nothing grows: the second half holds no more threads, and at most 2 MiB more memory (the allocator's own ups and
    /// downs), than the first.
    fn grown(&self) -> Option<String> {
        const UPS_AND_DOWNS: u64 = 2048;
        let [Some((memory, threads)), Some((later_memory, later_threads))] = self.0 else { return None };
        let grown = later_threads > threads || later_memory > memory + UPS_AND_DOWNS;
        grown.then(|| {
            format!("from {memory} KiB and {threads} threads to {later_memory} KiB and {later_threads} threads")
        })
    }
}

/// Tells how to repeat what goes wrong while it lives.
struct Told {
    plan: Arc<Plan>,
    seed: u64,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:#?}\nrepeat it with BIEF_SOAK_SEED={}", self.plan, self.seed);
        }
    }
}

#[test]
fn random_pipelines_do_what_plain_rust_does_and_nothing_grows() {
    silence_panics("told to panic");
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let first = number("BIEF_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let time = Duration::from_secs(number("SOAK_SECONDS").unwrap_or(2));
    println!("from seed {first}, for {} s", time.as_secs());

    let (mut least, mut frames, mut next_line) = (Least::default(), 0, 0.0);
    let start = Instant::now();
    for seed in first.. {
        let plan = Arc::new(Plan::draw(&mut Rng::with_seed(seed)));
        let _told = Told { plan: Arc::clone(&plan), seed };
        frames += within(Duration::from_secs(60), move || check(&plan)).expect("it ends within 60 s");
        let elapsed = start.elapsed();
        let share = elapsed.as_secs_f64() / time.as_secs_f64();
        if let Some(held) = held() {
            least.note(share, held);
            if share >= next_line {
                let (seconds, pipelines, (memory, threads)) = (elapsed.as_secs(), seed + 1 - first, held);
                println!(
                    "{seconds:>4} s {pipelines:>8} pipelines {frames:>10} frames {memory:>7} KiB {threads:>3} threads"
                );
                next_line += 0.05;
            }
        }
        if elapsed >= time {
            break;
        }
    }
    // In a few seconds an allocator does not come to rest.
    if time >= Duration::from_secs(30) {
        assert_eq!(least.grown(), None, "what is held between two pipelines grows");
    }
}

#[test]
fn growth_is_seen() {
    let soak = |memory: fn(u64) -> u64, threads: fn(u64) -> u64| {
        let mut least = Least::default();
        (0..1000).for_each(|step| least.note(step as f64 / 1000.0, (memory(step), threads(step))));
        least.grown()
    };
    assert_eq!(soak(|step| 20_000 + 5000 * (step % 7), |step| 2 + step % 3), None, "ups and downs");
    assert_eq!(soak(|step| step.min(150) * 1000, |_| 2), None, "a warm-up");
    assert!(soak(|step| 20_000 + 6 * step, |_| 2).is_some());
    assert!(soak(|_| 20_000, |step| 2 + step / 500).is_some());
}

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
    };
    assert_eq!(expected(&plan, 9), (vec![2, 4, 6], Some((ErrorKind::Task, 7))));
    assert_eq!(check(&plan), 9);
    let (mut pipeline, result, _) = pipeline(&Plan { end: End::Source, ..plan });
    pipeline.run().unwrap();
    assert_eq!(result.take(), [2, 4, 6, 8], "without the error one more comes out");
}
