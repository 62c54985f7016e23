//! Another plan for a run that goes on: the first stage stops taking batches at a number, what it has taken is delivered, and the
//! same tasks go on from that number in other stages.

use std::collections::VecDeque;
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bief_schedule::Schedule;

use super::Pipeline;
use crate::check;
use crate::error::{Error, Place, Result};
use crate::figures::Figures;
use crate::halt::Halt;
use crate::histogram::Histogram;
use crate::machine::Machine;
use crate::placement::SharedCores;
use crate::report::PlanChange;
use crate::stage::{StagePlan, plans};
use crate::sync::{self, Mutex, PoisonError};
use crate::task::Node;
use crate::trace::{PlanTrace, Switch};
use crate::worker::Worker;

/// Changes the plan of a run while it goes on; made by [`Pipeline::changer`], any number of copies.
///
/// Frames keep their order, and each passes each task once: batches that were taken before the change pass through the old stages,
/// later ones through the new. Tasks keep their state; replicas are made and put aside as the plan wants it. The run pauses for as
/// long as its last batches need to the end, and the new stages to be made.
///
/// ```
/// use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
/// use bief::{Chain, Flow, sink, source};
///
/// let mut chain = Chain::new();
/// let noise = chain.add(source::from_fn(1, |frame: &mut [u32]| { frame[0] = 4; Ok(Flow::Next) }), ()); // never ends
/// chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &noise);
/// let profile = Profile::new(["cpu"], [TaskProfile::sequential("source", [9]), TaskProfile::sequential("sink", [9])])?;
/// let plan = |stages: &[Stage]| Schedule::new("hand", stages.to_vec(), &profile);
///
/// let mut pipeline = chain.build()?.pipeline(&plan(&[Stage::new(2, 1, "cpu")])?)?;
/// let (changer, stopper) = (pipeline.changer()?, pipeline.stopper());
/// let two = plan(&[Stage::new(1, 1, "cpu"), Stage::new(1, 1, "cpu")])?;
/// let report = std::thread::scope(|scope| {
///     scope.spawn(|| {
///         changer.change(&two, "one core more").unwrap();
///         std::thread::sleep(std::time::Duration::from_millis(20));
///         stopper.stop();
///     });
///     pipeline.run()
/// })?;
/// assert_eq!((report.stages.len(), report.changes.len()), (2, 1));
/// assert_eq!(report.changes[0].reason, "one core more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Changer {
    halt: Arc<Halt>,
    wanted: Pending,
    tasks: Arc<[(Arc<str>, bool)]>,
}

/// The plan that was asked for last and is not in force yet.
#[derive(Clone, Default)]
pub(super) struct Pending(Arc<Mutex<Option<NextPlan>>>);

pub(super) struct NextPlan {
    what: Next,
    /// How many cores its threads may use.
    cores: usize,
    reason: String,
}

enum Next {
    /// These stages, and what threads are placed on from now on, if it is another machine.
    Stages { stages: Vec<StagePlan>, period_ns: f64, shared_cores: SharedCores, machine: Option<Machine> },
    /// The same stages, with so many batches before one of them.
    Depth { stage: usize, batches: usize },
}

impl Pending {
    fn get(&self) -> impl DerefMut<Target = Option<NextPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_some(&self) -> bool {
        self.get().is_some()
    }

    /// Takes the plan, and lets a paused run go on; `None`, and nothing is changed, where it is not paused, or was stopped.
    pub(super) fn take(&self, halt: &Halt) -> Option<NextPlan> {
        // Asking for a plan and pausing are one step, and so are these: a plan that comes between would never be put in force.
        let mut wanted = self.get();
        (halt.is_paused() && halt.go_on()).then(|| wanted.take()).flatten()
    }
}

impl Changer {
    /// Lets the run go on in the stages of this schedule, from the next batch that its source makes. Between runs, the next one
    /// begins with it. A plan that was asked for before and is not in force yet is forgotten. `reason` is for the
    /// [`Report`](crate::Report).
    ///
    /// # Errors
    /// A schedule for another number of tasks, or one that replicates a task that cannot be.
    pub fn change(&self, schedule: &Schedule, reason: impl Into<String>) -> Result<()> {
        self.ask(schedule, None, reason.into())
    }

    /// As [`change`](Self::change), on a machine that has become another one: with fewer or more cores. Its threads are placed there by
    /// the same policy.
    ///
    /// # Errors
    /// Those of [`change`](Self::change).
    pub fn change_on(&self, schedule: &Schedule, machine: &Machine, reason: impl Into<String>) -> Result<()> {
        self.ask(schedule, Some(machine.clone()), reason.into())
    }

    /// Lets the run go on in the same stages, with so many batches before one of them, as [`Pipeline::depth_before`] says. The frames
    /// between two stages are memory that is used in turn: where few suffice for now, caches hold them.
    ///
    /// # Errors
    /// A depth of 0. The run tells of a stage that there is not, or that has no ring before it.
    pub fn depth_before(&self, stage: usize, batches: usize, reason: impl Into<String>) -> Result<()> {
        if batches == 0 {
            return Err(Error::build("a ring of depth 0 holds nothing: give a depth of at least 1"));
        }
        self.want(NextPlan { what: Next::Depth { stage, batches }, cores: sync::cores(), reason: reason.into() });
        Ok(())
    }

    fn ask(&self, schedule: &Schedule, machine: Option<Machine>, reason: String) -> Result<()> {
        let stages = plans(schedule.stages(), self.tasks.iter().map(|(name, _)| name));
        check::stages(&stages, &self.tasks)?;
        let (period_ns, shared_cores) = (schedule.planned_period().ns(), SharedCores::of(schedule));
        let what = Next::Stages { stages, period_ns, shared_cores, machine };
        self.want(NextPlan { what, cores: sync::cores(), reason });
        Ok(())
    }

    fn want(&self, next: NextPlan) {
        let mut wanted = self.wanted.get();
        *wanted = Some(next);
        self.halt.pause();
    }
}

impl std::fmt::Debug for Changer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Changer")
    }
}

/// What a run did in the plans before the one in force.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) executions: u64,
    pub(super) frames: u64,
    pub(super) elapsed: Duration,
    /// Of the frames that it delivered.
    pub(super) latency: Option<Histogram>,
    /// Cores that were busy, by the time that they were.
    pub(super) busy: Vec<(Option<String>, f64)>,
    pub(super) aside: Aside,
    pub(super) changes: Vec<PlanChange>,
}

/// Earlier plans that a trace keeps, whatever it keeps of each.
const TRACED_PLANS: usize = 4;

/// What a trace shows of the plans before the one in force. It lasts until the next run.
#[derive(Default)]
pub(super) struct Traced {
    /// The latest of them, where the run is traced.
    pub(super) plans: VecDeque<PlanTrace>,
    /// What the plan in force began with.
    pub(super) switch: Option<Switch>,
}

/// Replicas that are not needed any more, each with the number of its task. They are told the end of the run as all others are.
#[derive(Default)]
pub(super) struct Aside(pub(super) Vec<(usize, Node)>);

impl Aside {
    /// Lets them flush; the first error is told.
    pub(super) fn finish(&mut self) -> Result<()> {
        let finish = |(_, node): &mut (usize, Node)| {
            let Node { name, step } = node;
            Error::catch(|| step.finish()).map_err(|error| of_task(name, error))
        };
        let mut result = Ok(());
        for node in &mut self.0 {
            result = result.and(finish(node));
        }
        result
    }

    /// What they tell of the run.
    pub(super) fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.0.iter().for_each(|(_, node)| figures.merge(node.told()));
        figures
    }

    /// Elements that they had to drop.
    pub(super) fn lost(&self) -> Result<u64> {
        let lost = |(_, node): &(usize, Node)| {
            Error::catch(|| Ok(node.step.lost())).map_err(|error| of_task(&node.name, error))
        };
        self.0.iter().try_fold(0, |sum: u64, node| Ok(sum.saturating_add(lost(node)?)))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        for (_, node) in self.0.drain(..) {
            // Nothing is lost with a replica that panics when it goes.
            let _ = Error::catch(|| {
                drop(node);
                Ok(())
            });
        }
    }
}

fn of_task(name: &Arc<str>, error: Error) -> Error {
    error.at(Place { task: Some(Arc::clone(name)), ..Place::default() })
}

impl Pipeline {
    /// What changes the plan of this pipeline's runs from elsewhere.
    ///
    /// # Errors
    /// A pipeline whose threads are placed one by one, are moved while it runs, or have a class; one with a stage on a device; one that runs on the calling
    /// thread; one whose boundaries have a memory of their own: another plan would not know where these belong.
    pub fn changer(&self) -> Result<Changer> {
        self.check_change()?;
        Ok(Changer { halt: Arc::clone(&self.halt), wanted: self.wanted.clone(), tasks: self.tasks.clone() })
    }

    fn check_change(&self) -> Result<()> {
        let obstacle = if self.pool.is_none() {
            "it runs on the calling thread: make a pipeline of one stage"
        } else if self.real_time.is_some() {
            "its threads have a class that was given for its stages: leave the class out"
        } else if self.dynamic.is_some() {
            "its threads are moved while it runs: choose a placement other than `dynamic`"
        } else if self.placement.is_some() && self.policy.is_none() {
            "its threads were placed one by one: place them by a policy"
        } else if self.stages.iter().any(|stage| stage.device.is_some()) {
            "a stage runs on a device: leave the device out (--device off)"
        } else if self.memories.iter().any(Option::is_some) {
            "its boundaries have a memory that was chosen for them: leave it out"
        } else {
            return Ok(());
        };
        Err(Error::build(format!("the plan of this pipeline cannot change while it runs: {obstacle}")))
    }

    /// Makes the stages of the next plan of the same tasks, their threads and rings; what the run did until now is kept. The run has `elapsed` in this plan.
    ///
    /// # Errors
    /// What keeps the plan from being changed, and what the new stages or their places are refused with.
    pub(super) fn change_plan(&mut self, next: NextPlan, elapsed: Duration) -> Result<()> {
        self.check_change()?;
        let begin = Instant::now();
        let left = self.workers_of(0).filter_map(|worker| worker.left).max();
        let batches = self.workers_of(0).map(|worker| worker.next).max().unwrap_or(0);
        self.first_frame += batches * self.batch as u64;
        let latency_seconds = self.keep(elapsed);
        self.cores = next.cores;
        let mut on = None;
        match next.what {
            Next::Stages { stages, period_ns, shared_cores, machine } => {
                self.regroup(stages)?;
                self.planned_period_ns = Some(period_ns * self.planned_scale);
                self.shared_cores = shared_cores;
                on = machine;
            }
            Next::Depth { stage, batches } => {
                self.set_depth_before(stage, batches)?;
                self.regroup(self.stages.clone())?;
            }
        }
        if let Some(profile) = self.profile.take() {
            self.plan_stages(&profile)?;
            self.profile = Some(profile);
        }
        if let Some((policy, machine)) = self.policy.take() {
            let machine = on.unwrap_or(machine);
            let part = self.shared_cores.part_of(&machine, &policy);
            let placement = policy.place(&part, &self.slots())?;
            self.seat(placement, &part);
            self.policy = Some((policy, machine));
        }
        self.begin_plan()?;
        let (from, until) = (left.unwrap_or(begin), Instant::now());
        self.traced.switch = Some(Switch { from, until, reason: next.reason.clone() });
        self.earlier.changes.push(PlanChange {
            frame: self.first_frame,
            seconds: self.earlier.elapsed.as_secs_f64(),
            pause_seconds: until.saturating_duration_since(from).as_secs_f64(),
            latency_seconds,
            stages: self.stages.iter().map(StagePlan::to_string).collect(),
            reason: next.reason,
        });
        self.show_stages();
        Ok(())
    }

    /// Keeps what the run did in the plan in force, which took `elapsed`; answers the median latency in it, in seconds.
    fn keep(&mut self, elapsed: Duration) -> Option<f64> {
        let last = self.stages.len() - 1;
        let latency = self.histogram(last, |observer| &observer.latency);
        let (first, end) = (self.count(0), self.count(last));
        let busy = self.workers.iter().map(|worker| {
            let kind = self.stages[worker.stage_index].kinds.get(worker.replica).cloned();
            (kind, worker.count.busy.as_secs_f64())
        });
        self.earlier.busy.extend(busy);
        self.earlier.latency.get_or_insert_with(Histogram::new).merge(&latency);
        self.earlier.executions += first.batches;
        self.earlier.frames += end.frames;
        self.earlier.elapsed += elapsed;
        (latency.count() > 0).then(|| latency.percentile(50) as f64 / 1e9)
    }

    /// Keeps what the plan in force recorded, and of earlier plans the latest.
    fn keep_trace(&mut self) {
        let Some(tracks) = self.workers.iter_mut().map(Worker::take_track).collect() else { return };
        let Traced { plans, switch } = &mut self.traced;
        plans.push_back(PlanTrace { switch: switch.take(), tracks });
        if plans.len() > TRACED_PLANS {
            plans.pop_front();
        }
    }

    /// Makes workers for other stages of the tasks that there are, and puts aside those that are not needed.
    fn regroup(&mut self, stages: Vec<StagePlan>) -> Result<()> {
        let mut copies: Vec<Vec<Node>> = self.tasks.iter().map(|_| Vec::new()).collect();
        for (task, node) in self.earlier.aside.0.drain(..) {
            copies[task].push(node);
        }
        let observer = |worker: &Worker| worker.observer.as_ref().map(|observer| observer.recorded_at_most());
        let observed = self.workers.iter().find_map(observer);
        self.keep_trace();
        for worker in &mut self.workers {
            let range = self.stages[worker.stage_index].tasks.clone();
            for (task, node) in range.zip(worker.stage.take_tasks()) {
                copies[task].push(node);
            }
        }
        let aside = &mut self.earlier.aside.0;
        // A replica of one that has worked may begin with what that has counted.
        self.workers = super::workers(copies, aside, &self.wires, self.batch, &stages, |node| {
            Error::catch(|| node.step.reset()).map_err(|error| of_task(&node.name, error))
        })?;
        self.memories = vec![None; stages.len() - 1];
        self.stages = stages;
        if let Some(most) = observed {
            self.workers.iter_mut().try_for_each(|worker| worker.observe().record(most))?;
        }
        Ok(())
    }
}
