//! A chain whose tasks take as long as they are told just now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bief::machine::affinity;
use bief::schedule::{Profile, TaskProfile};
use bief::{Application, Chain, Flow, InOut, Machine, Program, Result, Task, sink, source};

use crate::bench::speedup::{Work, turns_per_us};

pub(super) const TASKS: usize = 8;

/// What can be changed while a run goes on, and what it has done.
pub(super) struct World {
    /// Turns of work of each task.
    turns: [AtomicU64; TASKS],
    /// The hardware thread that is slow, and how many times as long work takes there, in percent.
    slow: [AtomicU64; 2],
    turns_per_us: f64,
    pub(super) over: AtomicBool,
    pub(super) delivered: AtomicU64,
}

/// Microseconds of each task, and how many times as long they take on the second kind of core, if there are two.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) us: [u64; TASKS],
    pub(super) second: f64,
}

impl World {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            turns: Default::default(),
            slow: [AtomicU64::new(u64::MAX), AtomicU64::new(100)],
            turns_per_us: turns_per_us(),
            over: AtomicBool::new(false),
            delivered: AtomicU64::new(0),
        })
    }

    pub(super) fn take(&self, us: [u64; TASKS]) {
        let turns = us.map(|us| (us as f64 * self.turns_per_us) as u64);
        self.turns.iter().zip(turns).for_each(|(task, turns)| task.store(turns, Ordering::Relaxed));
    }

    /// Work takes so many percent as long on a hardware thread, and as long as it is on all others.
    pub(super) fn slow_down(&self, thread: usize, percent: u64) {
        self.slow[0].store(thread as u64, Ordering::Relaxed);
        self.slow[1].store(percent, Ordering::Relaxed);
    }
}

/// What the tasks take of this load, on the kinds of a machine.
pub(super) fn profile(machine: &Machine, load: &Load) -> Result<Profile> {
    let kinds: Vec<String> = machine.kinds().iter().map(|kind| kind.name.clone()).collect();
    let times = |us: u64| -> Vec<u64> {
        let slower = |kind: usize| if kind == 0 { 1.0 } else { load.second };
        (0..kinds.len()).map(|kind| (1000.0 * us as f64 * slower(kind)) as u64).collect()
    };
    let tasks = (0..TASKS).map(|task| TaskProfile::sequential(format!("task {task}"), times(load.us[task])));
    let end = |name: &str| TaskProfile::sequential(name, vec![50; kinds.len()]);
    let all = [end("source")].into_iter().chain(tasks).chain([end("sink")]);
    Ok(Profile::new(kinds.clone(), all)?)
}

struct Step {
    number: usize,
    world: Arc<World>,
}

impl Task for Step {
    type In = InOut<u64>;
    type Out = ();
    fn name(&self) -> String {
        format!("task {}", self.number)
    }
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        let mut turns = self.world.turns[self.number].load(Ordering::Relaxed);
        let [slow, percent] = [0, 1].map(|part| self.world.slow[part].load(Ordering::Relaxed));
        if percent != 100 && affinity::current().is_some_and(|thread| thread as u64 == slow) {
            turns = turns * percent / 100;
        }
        frame[0] = Work(turns).done(frame[0]);
        Ok(Flow::Next)
    }
}

pub(super) struct Steps(pub(super) Arc<World>);

impl Application for Steps {
    fn program(&mut self) -> Result<Program> {
        let world = Arc::clone(&self.0);
        let mut chain = Chain::new();
        let numbers = source::from_fn(1, move |frame: &mut [u64]| {
            frame[0] = 1;
            Ok(if world.over.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Next })
        });
        let mut wire = chain.add(numbers, ());
        (0..TASKS).for_each(|number| chain.add(Step { number, world: Arc::clone(&self.0) }, &mut wire));
        let world = Arc::clone(&self.0);
        let count = move |_: &[u64]| {
            world.delivered.fetch_add(1, Ordering::Relaxed);
            Ok(Flow::Next)
        };
        chain.add(sink::for_each(count), &wire);
        chain.build()
    }

    fn rehearsal(&self, _: u64) -> Result<Program> {
        Self(Arc::clone(&self.0)).program()
    }
}
