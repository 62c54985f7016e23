//! Cores that are slower than those at hand: a worker on such a core works longer for each batch.
//!
//! Work is inflated, as measured to be truest: after a batch the worker owes what its tasks would have taken longer, and spins
//! until that is paid. A saturated worker stays busy all the time, as on a slow core; one that waits does not wait longer. What
//! the emulation itself takes counts as paid. Only the tasks are slowed down, not the hand-over.

use std::hint::spin_loop;
use std::sync::Arc;
use std::time::Duration;

use crate::affinity;
use crate::clock::{nanoseconds, processor_time};
use crate::machine::{CoreKind, Machine};

/// Slows one worker down to the speed of the core that it runs on.
pub(crate) struct Emulation {
    /// For each kind of core and each task of the worker, the time owed for each unit of time that it works.
    rates: Vec<Vec<f64>>,
    /// For each hardware thread, its kind; all that are not known have the speed that they have.
    kinds: Arc<[Option<usize>]>,
    /// The kind of the core that this batch is worked on.
    kind: Option<usize>,
    /// The worker never leaves cores of that kind.
    fixed: bool,
    /// Time that the tasks of this batch took, and what they owe, in nanoseconds.
    worked: f64,
    owed: f64,
    /// The thread's processor time when it had last paid.
    paid: Duration,
}

/// The time owed for each unit of time that a task of that name works on a core of the kind.
pub(crate) fn rate(kind: &CoreKind, task: &str) -> f64 {
    1.0 / kind.task_speeds.get(task).copied().unwrap_or(kind.speed) - 1.0
}

impl Emulation {
    /// For a worker of `tasks`, which runs on these hardware threads; `None` where nothing is slowed down.
    pub(crate) fn new<'t>(
        machine: &Machine,
        tasks: impl Iterator<Item = &'t str> + Clone,
        threads: &[usize],
    ) -> Option<Self> {
        let rates: Vec<Vec<f64>> =
            machine.kinds().iter().map(|kind| tasks.clone().map(|task| rate(kind, task)).collect()).collect();
        let of = |&thread: &usize| machine.core_of(thread).map(|core| core.kind);
        let kind = threads.first().and_then(of);
        let fixed = threads.iter().all(|thread| of(thread) == kind);
        let is_slow = |kind: Option<usize>| kind.is_some_and(|kind| rates[kind].iter().any(|&rate| rate > 0.0));
        let any = threads.iter().any(|thread| is_slow(of(thread)));
        let most = machine.cores().iter().flat_map(|core| &core.threads).max().map_or(0, |&thread| thread + 1);
        any.then(|| Self {
            rates,
            kinds: (0..most).map(|thread| of(&thread)).collect(),
            kind,
            fixed,
            worked: 0.0,
            owed: 0.0,
            paid: Duration::ZERO,
        })
    }

    /// Begins a run, on the worker's thread.
    pub(crate) fn start(&mut self) {
        self.owed = 0.0;
        self.paid = processor_time();
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self) {
        if !self.fixed {
            self.kind = affinity::current().and_then(|thread| self.kinds.get(thread).copied().flatten());
        }
        self.worked = 0.0;
    }

    /// Notes that a task worked for so long; answers how long it would have taken on the core that is emulated.
    pub(crate) fn task(&mut self, task: usize, time: Duration) -> Duration {
        let rate = self.kind.map_or(0.0, |kind| self.rates[kind][task]);
        let ns = nanoseconds(time) as f64;
        self.worked += ns;
        self.owed += ns * rate;
        time.mul_f64(1.0 + rate)
    }

    /// Ends a batch: works off what is owed.
    pub(crate) fn pay(&mut self) {
        let start = processor_time();
        // Where the thread was interrupted the time went on, but no work was done for it.
        let used = nanoseconds(start.saturating_sub(self.paid)) as f64;
        if used < self.worked {
            self.owed *= used / self.worked;
        }
        let mut spent = 0;
        while (spent as f64) < self.owed {
            (0..16).for_each(|_| spin_loop());
            spent = nanoseconds(processor_time().saturating_sub(start));
        }
        self.owed -= spent as f64;
        self.paid = start + Duration::from_nanos(spent);
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::chain::Chain;
    use crate::pipeline::Pipeline;
    use crate::placement::Policy;
    use crate::task::Flow;
    use crate::{sink, source};

    const FRAMES: u32 = 40;
    const WORK: Duration = Duration::from_micros(300);

    /// The processor time at which the sink began and ended each frame.
    type Spans = Arc<Mutex<Vec<[Duration; 2]>>>;

    /// A stage whose sink works on each frame.
    fn pipeline() -> (Pipeline, Spans) {
        let spans = Spans::default();
        let noted = Arc::clone(&spans);
        let frames: Vec<u32> = (0..FRAMES).collect();
        let mut chain = Chain::new();
        chain.stage("all");
        let frames = chain.add(source::from_slice(&frames, 1), ());
        let work = move |_: &[u32]| {
            let begin = processor_time();
            let mut end = begin;
            while end < begin + WORK {
                end = processor_time();
            }
            noted.lock().unwrap().push([begin, end]);
            Ok(Flow::Next)
        };
        chain.add(sink::for_each(work), &frames);
        (chain.build().unwrap().pipeline_as_marked().unwrap().observe(), spans)
    }

    fn machine(speeds: &str) -> Machine {
        let here = Machine::here();
        let core = here.cores()[0].threads[0];
        Machine::emulated(&format!("[[kind]]\nname = 'slow'\ncores = '{core}'\n{speeds}"), &here).unwrap()
    }

    /// Runs it, and checks that its worker used the processor as long as a core of that speed would have needed.
    fn assert_slow(pipeline: &mut Pipeline, spans: &Spans, speed: f64) {
        spans.lock().unwrap().clear();
        let report = pipeline.run().unwrap();
        let spans = spans.lock().unwrap();
        assert_eq!((report.frames, spans.len()), (u64::from(FRAMES), FRAMES as usize));
        let (last, paid) = spans.split_last().unwrap();
        let worked: Duration = paid.iter().map(|[begin, end]| *end - *begin).sum();
        let used = last[0] - paid[0][0];
        // The clock that times tasks and the one of the processor do not run alike to the last digit.
        let least = worked.as_secs_f64() / speed * 0.995;
        assert!(used.as_secs_f64() >= least, "{used:?} for {worked:?} of work at {speed}");
        let times = report.stages[0].tasks[1].times.unwrap();
        assert!(times.min_ns as f64 >= WORK.as_nanos() as f64 / speed * 0.995, "{times:?} at {speed}");
    }

    #[test]
    fn a_worker_on_a_slow_core_works_as_much_longer() {
        for (speeds, speed) in [("speed = 0.5", 0.5), ("speed = 0.5\n[kind.tasks]\nsink = 0.25", 0.25)] {
            let (placed, spans) = pipeline();
            let mut placed = placed.place(&Policy::Packed, &machine(speeds)).unwrap();
            assert_slow(&mut placed, &spans, speed);
        }
    }

    #[test]
    fn a_pipeline_that_is_placed_again_is_as_slow_as_its_new_place() {
        let (mut placed, spans) = pipeline();
        let here = Machine::here();
        for (machine, policy, speed) in [
            (here.clone(), Policy::Loose, 1.0),
            (machine("speed = 0.4"), Policy::Packed, 0.4),
            (machine("speed = 0.4\n[kind.tasks]\nsink = 0.2"), Policy::Guided, 0.2),
            (here, Policy::Packed, 1.0),
        ] {
            placed = placed.place(&policy, &machine).unwrap();
            assert_slow(&mut placed, &spans, speed);
            let worker = Emulation::new(&machine, ["sink"].into_iter(), &machine.cores()[0].threads);
            assert_eq!(worker.is_some(), speed < 1.0);
            assert_eq!(placed.placement().unwrap().policy(), policy.to_string());
        }
    }
}
