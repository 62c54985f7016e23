//! Cores that are slower than those at hand: a worker on such a core works longer for each batch.
//!
//! Work is inflated, as measured to be truest: after a batch the worker owes what its tasks would have taken longer, and spins
//! until that is paid. A saturated worker stays busy all the time, as on a slow core; one that waits does not wait longer. What
//! the emulation itself takes counts as paid. Only the tasks are slowed down, not the hand-over.
//!
//! What is owed is work, not time: a worker that goes to another kind of core before it has paid pays the rest at the speed
//! of that one.

use std::hint::spin_loop;
use std::time::Duration;

use bief_machine::clock::{nanoseconds, thread_time};

use crate::affinity;
use crate::machine::{CoreSpec, Machine};

/// Slows one worker down to the speed of the core that it runs on.
pub(crate) struct Emulation {
    /// For each hardware thread, its kind, as [`Debt`] counts them.
    kinds: Box<[usize]>,
    /// The kind of the core that the worker was last seen on.
    kind: usize,
    /// The worker never leaves cores of that kind.
    fixed: bool,
    debt: Debt,
    /// The thread's processor time when it had last paid.
    paid: Duration,
}

/// What a worker owes. The last kind stands for all cores that are not known, which are as fast as they are.
struct Debt {
    /// For each kind of core and each task of the worker, how long it takes there for each unit of time that it takes here.
    slowness: Vec<Vec<f64>>,
    /// Nanoseconds that the tasks of this batch took here.
    worked: f64,
    /// For each kind, for how many nanoseconds a thread on it would have to go on until this batch is done; and with all batches
    /// before. Below 0 where more was paid than was owed.
    batch: Vec<f64>,
    owed: Vec<f64>,
}

/// How long a task of that name takes on a core of the kind for each unit of time that it takes here.
pub(crate) fn slowness(kind: &CoreSpec, task: &str) -> f64 {
    1.0 / kind.task_speeds.get(task).copied().unwrap_or(kind.speed)
}

impl Emulation {
    /// For a worker of `tasks`, which runs on these hardware threads; `None` where nothing is slowed down.
    pub(crate) fn new<'t>(
        machine: &Machine,
        tasks: impl Iterator<Item = &'t str> + Clone,
        threads: &[usize],
    ) -> Option<Self> {
        let of_kind = |kind| tasks.clone().map(|task| slowness(kind, task)).collect();
        let unknown = tasks.clone().map(|_| 1.0).collect();
        let slowness: Vec<Vec<f64>> = machine.kinds().iter().map(of_kind).chain([unknown]).collect();
        let of = |thread: usize| machine.core_of(thread).map_or(machine.kinds().len(), |core| core.kind);
        let is_slow = |&thread: &usize| slowness[of(thread)].iter().any(|&slowness| slowness > 1.0);
        if !threads.iter().any(is_slow) {
            return None;
        }
        let kind = of(threads[0]);
        let most = machine.cores().iter().flat_map(|core| &core.threads).max().map_or(0, |&thread| thread + 1);
        Some(Self {
            kinds: (0..most).map(of).collect(),
            kind,
            fixed: threads.iter().all(|&thread| of(thread) == kind),
            debt: Debt::new(slowness),
            paid: Duration::ZERO,
        })
    }

    /// Begins a run, on the worker's thread.
    pub(crate) fn start(&mut self) {
        self.debt.owed.fill(0.0);
        self.paid = thread_time();
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self) {
        self.look();
        self.debt.begin();
    }

    /// Notes that a task worked for so long; answers how long it would have taken on the core that is emulated.
    pub(crate) fn task(&mut self, task: usize, time: Duration) -> Duration {
        let before = self.kind;
        self.look();
        time.mul_f64(self.debt.task(task, nanoseconds(time) as f64, [before, self.kind]))
    }

    /// Ends a batch: works off what is owed.
    pub(crate) fn pay(&mut self) {
        let mut latest = thread_time();
        // Where the thread was interrupted the time went on, but no work was done for it.
        self.debt.end(nanoseconds(latest.saturating_sub(self.paid)) as f64);
        while self.debt.is_due(self.kind) {
            (0..16).for_each(|_| spin_loop());
            let now = thread_time();
            self.debt.pay(nanoseconds(now.saturating_sub(latest)) as f64, self.kind);
            self.look();
            latest = now;
        }
        self.paid = latest;
    }

    /// Finds out which kind of core this is.
    fn look(&mut self) {
        if !self.fixed {
            let unknown = self.debt.slowness.len() - 1;
            self.kind = affinity::current().and_then(|thread| self.kinds.get(thread)).map_or(unknown, |&kind| kind);
        }
    }
}

impl Debt {
    fn new(slowness: Vec<Vec<f64>>) -> Self {
        let kinds = slowness.len();
        Self { slowness, worked: 0.0, batch: vec![0.0; kinds], owed: vec![0.0; kinds] }
    }

    fn begin(&mut self) {
        self.worked = 0.0;
        self.batch.fill(0.0);
    }

    /// A task worked for so long, on a core of one kind or, where it was moved meanwhile, of two; answers how much slower it
    /// is there.
    fn task(&mut self, task: usize, ns: f64, kinds: [usize; 2]) -> f64 {
        // Nobody knows when it was moved.
        let speed = kinds.into_iter().map(|kind| 1.0 / self.slowness[kind][task]).sum::<f64>() / 2.0;
        self.worked += ns;
        for (owed, slowness) in self.batch.iter_mut().zip(&self.slowness) {
            *owed += ns * (1.0 - speed) * slowness[task];
        }
        1.0 / speed
    }

    /// The batch is worked on, and the thread had the processor for so long since it had last paid.
    fn end(&mut self, used: f64) {
        let had = if used < self.worked { used / self.worked } else { 1.0 };
        self.owed.iter_mut().zip(&self.batch).for_each(|(owed, batch)| *owed += had * batch);
    }

    /// Whether a thread on this kind has to go on.
    fn is_due(&self, kind: usize) -> bool {
        self.owed[kind] > 0.0
    }

    /// A thread that has to went on for so long on a core of the kind.
    fn pay(&mut self, ns: f64, kind: usize) {
        let left = 1.0 - ns / self.owed[kind];
        self.owed.iter_mut().for_each(|owed| *owed *= left);
    }
}

#[cfg(test)]
mod debts {
    use super::*;

    const FAST: usize = 0;
    const SLOW: usize = 1;

    /// Two tasks on a fast kind and on a slow one, which is slower still for the second task.
    fn debt() -> Debt {
        Debt::new(vec![vec![1.0, 1.0], vec![2.0, 4.0]])
    }

    fn owes(debt: &Debt, kind: usize, ns: f64) {
        assert!((debt.owed[kind] - ns).abs() < 1e-9, "{} instead of {ns}", debt.owed[kind]);
        assert_eq!(debt.is_due(kind), debt.owed[kind] > 0.0);
    }

    #[test]
    fn a_batch_takes_as_long_as_its_tasks_do_on_the_kind() {
        let mut debt = debt();
        debt.begin();
        assert_eq!(debt.task(0, 100.0, [SLOW; 2]), 2.0);
        assert_eq!(debt.task(1, 100.0, [SLOW; 2]), 4.0);
        debt.end(200.0);
        // Of 600 ns, 200 are over; whoever pays too much owes less for the next batch.
        owes(&debt, SLOW, 400.0);
        debt.pay(300.0, SLOW);
        owes(&debt, SLOW, 100.0);
        debt.pay(130.0, SLOW);
        owes(&debt, SLOW, -30.0);
        debt.begin();
        debt.task(0, 100.0, [SLOW; 2]);
        debt.end(100.0);
        owes(&debt, SLOW, 70.0);
    }

    #[test]
    fn who_is_moved_goes_on_at_the_speed_of_the_other_kind() {
        let mut debt = debt();
        debt.begin();
        debt.task(0, 100.0, [SLOW; 2]);
        debt.end(100.0);
        owes(&debt, SLOW, 100.0);
        debt.pay(60.0, SLOW);
        owes(&debt, FAST, 20.0);
        debt.pay(20.0, FAST);
        owes(&debt, SLOW, 0.0);
        // Moved while it worked: half of the time on each.
        debt.begin();
        debt.task(0, 100.0, [SLOW, FAST]);
        debt.end(100.0);
        owes(&debt, FAST, 25.0);
        owes(&debt, SLOW, 50.0);
        debt.begin();
        assert_eq!(debt.task(1, 100.0, [FAST; 2]), 1.0);
        debt.end(100.0);
        owes(&debt, FAST, 25.0);
    }

    #[test]
    fn who_was_interrupted_owes_for_what_it_worked() {
        let mut debt = debt();
        debt.begin();
        debt.task(0, 100.0, [SLOW; 2]);
        debt.end(40.0);
        owes(&debt, FAST, 20.0);
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use std::sync::{Arc, Mutex};

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
            let begin = thread_time();
            let mut end = begin;
            while end < begin + WORK {
                end = thread_time();
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
