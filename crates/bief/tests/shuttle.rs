//! Whole pipelines under shuttle, which decides at every step who goes on: `.ci/deep shuttle` runs this file.
//!
//! Each execution draws a pipeline (replicas, batch, depth, waiting, where trouble is) and one order of its steps. A failure
//! prints a schedule, which `shuttle::replay` repeats. `SHUTTLE_ITERATIONS` (500) says how many executions each test makes
//! with each scheduler.
#![cfg(bief_shuttle)]

mod common;
#[path = "common/random.rs"]
mod random;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bief::error::ErrorKind;
use bief::pipeline::Waiting;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, Out, Pipeline, Result, Task, sink, source};
use common::{Act, Add, Count, Pair, Probe, Relay, rig, silence_panics};
use random::{Plan, SMALL, Told, check};
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner, thread};

/// Checks `execution` in many orders: random ones, and random ones with few preemptions and with more. Where those are few, a thread
/// stands still for as long as others can go on.
fn model(execution: fn()) {
    let iterations = std::env::var("SHUTTLE_ITERATIONS").map_or(500, |number| number.parse().expect("a number"));
    Runner::new(RandomScheduler::new(iterations), config()).run(execution);
    for preemptions in [3, 16] {
        Runner::new(PctScheduler::new(preemptions, iterations), config()).run(execution);
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true;
    config
}

/// A number below `end`, drawn so that it can be replayed.
fn below(end: u64) -> u64 {
    thread_rng().gen_range(0..end)
}

fn replicas() -> usize {
    1 + below(3) as usize
}

fn pipeline(chain: Chain) -> Pipeline {
    let waiting = [Waiting::Adaptive, Waiting::Passive, Waiting::Active][below(3) as usize];
    let depth = 1 + below(3) as usize;
    chain.build().unwrap().pipeline_as_marked().unwrap().depth(depth).unwrap().waiting(waiting)
}

#[test]
fn frames_keep_their_order_in_every_run() {
    model(|| {
        let (frames, batch, every) = (below(14), 1 + below(3), 1 + below(4));
        let threads = [replicas(), replicas(), replicas()];
        let rig = rig(frames, batch as usize, threads, [Act::Pass, Act::KeepEvery(every), Act::Pass]);
        let mut pipeline = pipeline(rig.chain);
        for _ in 0..2 {
            let report = pipeline.run().unwrap();
            let expected: Vec<u64> = (0..frames).filter(|x| x % every == 0).map(|x| x + 3000).collect();
            assert_eq!(report.frames, expected.len() as u64);
            assert_eq!(rig.result.take(), expected);
        }
        assert_eq!(rig.finished.load(Ordering::Relaxed), 2 * threads.iter().sum::<usize>() as u64);
    });
}

#[test]
fn wires_that_jump_over_stages_arrive_with_their_frame() {
    model(|| {
        let frames = below(10);
        let mut chain = Chain::new().batch(1 + below(3) as usize);
        let mut a = chain.add(Count::to(frames), ());
        let early = chain.add(Probe::new(Act::Pass), &a);
        chain.stage("rewrite").threads(replicas());
        chain.add(Add(7), &mut a);
        chain.stage("between").threads(replicas());
        chain.add(Add(1), &mut a);
        chain.stage("out");
        let pairs = chain.add(Pair, (&early, &a));
        let (collect, result) = sink::collect();
        chain.add(collect, &pairs);
        let mut pipeline = pipeline(chain);
        for _ in 0..2 {
            pipeline.run().unwrap();
            assert_eq!(result.take(), (0..frames).map(|x| [x + 1000, x + 8]).collect::<Vec<_>>());
        }
    });
}

#[test]
fn the_first_fault_comes_home_and_what_went_before_is_delivered() {
    silence_panics("told to panic");
    model(|| {
        let (batch, faulty, at) = (1 + below(3), below(3) as usize, below(9));
        let (act, kind) = match below(3) {
            0 => (Act::Fail(at), Some(ErrorKind::Task)),
            1 => (Act::Panic(at), Some(ErrorKind::Panic)),
            _ => (Act::Stop(at), None),
        };
        let mut acts = [Act::Pass; 3];
        acts[faulty] = act;
        let threads = [replicas(), replicas(), replicas()];
        let rig = rig(12, batch as usize, threads, acts);
        let mut pipeline = pipeline(rig.chain);
        for _ in 0..2 {
            let tasks = threads.iter().sum::<usize>() as u64;
            let outcome = pipeline.run();
            let delivered = match (outcome, kind) {
                (Ok(report), None) => {
                    assert_eq!((report.frames, rig.finished.swap(0, Ordering::Relaxed)), (at, tasks));
                    at
                }
                (Err(error), Some(kind)) => {
                    assert_eq!((error.kind(), error.place().frame), (kind, Some(at)), "{error}");
                    assert_eq!(error.place().stage.as_deref(), Some(&*format!("s{faulty}")), "{error}");
                    assert_eq!(rig.finished.swap(0, Ordering::Relaxed), tasks - 1, "every other task is finished");
                    at
                }
                (outcome, _) => panic!("{outcome:?} after {act:?}"),
            };
            assert_eq!(rig.result.take(), (3000..3000 + delivered).collect::<Vec<_>>(), "{act:?} in {faulty}");
        }
    });
}

/// Replicas leave one after the other then, and each lets go of its rings.
#[test]
fn a_stop_in_replicas_that_wait_for_each_other_delivers_what_came_before() {
    model(|| {
        let at = 2 + below(3);
        let rig = rig(12, 1, [2, 2, 1], [Act::Pass, Act::Stop(at), Act::Pass]);
        let pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap();
        let report = pipeline.depth(1).unwrap().waiting(Waiting::Passive).run().unwrap();
        assert_eq!(report.frames, at);
        assert_eq!(rig.result.take(), (3000..3000 + at).collect::<Vec<_>>());
    });
}

/// Runs, and stops from another thread at any moment; answers the frames that the report counts.
fn stopped(pipeline: &mut Pipeline) -> u64 {
    let stopper = pipeline.stopper();
    let stops = thread::spawn(move || {
        (0..below(40)).for_each(|_| thread::yield_now());
        stopper.stop();
    });
    let report = pipeline.run().unwrap();
    stops.join().unwrap();
    report.frames
}

#[test]
fn a_stop_at_any_moment_delivers_what_was_taken() {
    model(|| {
        let made = Arc::new(AtomicU64::new(0));
        let next = Arc::clone(&made);
        let numbers = source::from_fn(1, move |frame: &mut [u64]| {
            // It ends, for a stop that comes late.
            let more = next.load(Ordering::Relaxed) % 1000 < 30;
            frame[0] = next.fetch_add(u64::from(more), Ordering::Relaxed);
            Ok(if more { Flow::Next } else { Flow::Stop })
        });
        let mut chain = Chain::new().batch(1 + below(3) as usize);
        let mut wire = chain.add(numbers, ());
        for stage in ["one", "two"] {
            chain.stage(stage).threads(replicas());
            chain.add(Add(5), &mut wire);
        }
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &wire);
        let mut pipeline = pipeline(chain);
        for run in 0..2 {
            made.store(1000 * run, Ordering::Relaxed);
            let frames = stopped(&mut pipeline);
            assert_eq!(made.load(Ordering::Relaxed), 1000 * run + frames);
            assert_eq!(result.take(), (1000 * run + 10..1000 * run + 10 + frames).collect::<Vec<_>>());
        }
    });
}

/// Stages of so many tasks each, on one core; a stage of tasks that may be replicated has up to three.
fn plan(stages: &[usize]) -> Schedule {
    let task = |task| match task {
        1 | 2 => TaskProfile::replicable(format!("t{task}"), [1]),
        _ => TaskProfile::sequential(format!("t{task}"), [1]),
    };
    let profile = Profile::new(["cpu"], (0..4).map(task)).unwrap();
    let mut first = 0;
    let stages = stages.iter().map(|&tasks| {
        let cores = if first >= 1 && first + tasks <= 3 { replicas() as u32 } else { 1 };
        first += tasks;
        Stage::new(tasks, cores, "cpu")
    });
    Schedule::new("hand", stages.collect::<Vec<_>>(), &profile).unwrap()
}

#[test]
fn plans_change_at_any_moment_and_the_one_asked_for_last_stays() {
    model(|| {
        let mut chain = Chain::new().batch(1 + below(2) as usize);
        let mut next = 0;
        let numbers = source::from_fn(1, move |frame: &mut [u64]| {
            frame[0] = next;
            next += 1;
            Ok(Flow::Next)
        });
        let mut wire = chain.add(numbers, ());
        chain.add(Add(5), &mut wire);
        chain.add(Add(5), &mut wire);
        let (collect, result) = sink::collect();
        chain.add(collect, &wire);
        let mut pipeline = chain.build().unwrap().pipeline(&plan(&[4])).unwrap();
        let (changer, stopper, mut watch) = (pipeline.changer().unwrap(), pipeline.stopper(), pipeline.watch());
        let changes = thread::spawn(move || {
            for stages in [&[1, 2, 1][..], &[2, 1, 1], &[1, 3]] {
                changer.change(&plan(stages), "one of several").unwrap();
                (0..below(20)).for_each(|_| thread::yield_now());
            }
            changer.change(&plan(&[1, 1, 1, 1]), "the last").unwrap();
            while watch.status().stages.len() != 4 {
                thread::yield_now();
            }
            stopper.stop();
        });
        let report = pipeline.run().unwrap();
        changes.join().unwrap();
        assert_eq!(report.changes.last().unwrap().reason, "the last");
        assert_eq!(result.take(), (10..10 + report.frames).collect::<Vec<_>>());
    });
}

#[test]
fn whole_runs_from_a_seed_do_what_plain_rust_does() {
    silence_panics("told to panic");
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let first = number("BIEF_SEED").unwrap_or(1);
    let plans = number("BIEF_RUNS").unwrap_or(2000).div_ceil(2 * ORDERS as u64);
    // Each thread takes the seeds that come next.
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < first + plans
                {
                    orders_of(seed);
                }
            });
        }
    });
    println!("{plans} pipelines from seed {first}, {} runs", plans * 2 * ORDERS as u64);
}

/// How many orders of its steps each pipeline is run in, by either scheduler.
const ORDERS: usize = 8;

/// Runs what a seed draws, in orders that it draws as well.
fn orders_of(seed: u64) {
    let plan = Arc::new(Plan::draw(seed, &SMALL));
    let _told = Told { plan: Arc::clone(&plan), again: format!("BIEF_SEED={seed} BIEF_RUNS=1") };
    let execution = move || {
        check(&plan);
    };
    // The seed repeats it; a schedule would be printed for each panic that is meant.
    let mut config = config();
    config.failure_persistence = FailurePersistence::None;
    Runner::new(RandomScheduler::new_from_seed(seed, ORDERS), config.clone()).run(execution.clone());
    let preemptions = [3, 16][(seed % 2) as usize];
    Runner::new(PctScheduler::new_from_seed(seed, preemptions, ORDERS), config).run(execution);
}

/// A source of which several replicas run: its name, and a number per frame.
struct Station {
    name: u64,
    next: u64,
    named: Arc<AtomicU64>,
    made: Arc<AtomicU64>,
}

impl Task for Station {
    type In = ();
    type Out = Out<[u64; 2]>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [[u64; 2]]) -> Result<Flow> {
        frame[0] = [self.name, self.next];
        self.next += 1;
        self.made.fetch_add(1, Ordering::Relaxed);
        thread::yield_now();
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
fn replicated_sources_stop_together_and_nothing_is_lost() {
    model(|| {
        let (sources, sinks) = (2 + below(2) as usize, 1 + below(2) as usize);
        let made = Arc::new(AtomicU64::new(0));
        let station = Station { name: 0, next: 0, named: Arc::default(), made: Arc::clone(&made) };
        let mut chain = Chain::new();
        chain.stage("source").threads(sources);
        let wire = chain.add(station, ());
        chain.stage("relay").threads(sinks);
        let copies = chain.add(Relay, &wire);
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &copies);
        let mut pipeline = pipeline(chain);
        for _ in 0..2 {
            let frames = stopped(&mut pipeline);
            let delivered = result.take();
            assert_eq!([frames, delivered.len() as u64], [made.swap(0, Ordering::Relaxed); 2]);
            // However many each replica made, its own are in order.
            let of = |name: u64| delivered.iter().filter(move |frame| frame[0] == name).map(|frame| frame[1]);
            assert!(delivered.iter().all(|&[name, _]| of(name).eq(0..of(name).count() as u64)), "{delivered:?}");
        }
    });
}
