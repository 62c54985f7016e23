//! From what tasks cost by the batch to a pipeline that keeps a latency: which batch, which stages, what to reserve for them.

use std::collections::BTreeMap;
use std::time::Duration;

use bief_machine::clock::nanoseconds;
use bief_schedule::realtime::{Analysis, Cost, Edge, FitMethod, Graph, MergeRule, Node, Optimiser, Plan};
use bief_schedule::{Period, Profile, Schedule, Stage, StageLoad, TaskProfile};

use super::settings::{RealTime, StageTiming};
use crate::error::{Error, Result};
use crate::profile::{BatchCosts, TaskCosts};

/// A latency to meet, and the conditions for it.
///
/// ```
/// use std::time::Duration;
///
/// use bief::realtime::LatencyGoal;
/// use bief::plan::Profiling;
/// use bief::{Chain, Flow, Machine, sink, source};
///
/// fn chain() -> Chain {
///     let mut chain = Chain::new();
///     let frames = chain.add(source::from_fn(64, |frame: &mut [f32]| { frame.fill(0.5); Ok(Flow::Next) }), ());
///     chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &frames);
///     chain
/// }
///
/// let costs = chain().build()?.costs_on(&Machine::here(), &[1, 4, 16], Profiling::default())?;
/// let goal = LatencyGoal::new(Duration::from_micros(500), Duration::from_millis(20));
/// let plan = costs[0].latency_plan(&goal)?;
/// assert!(plan.bound() <= Duration::from_millis(20));
/// println!("batches of {} in {} stages", plan.batch(), plan.schedule.stages().len());
/// let pipeline = chain().batch(plan.batch()).build()?.pipeline(&plan.schedule)?.real_time(plan.real_time())?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyGoal {
    /// From one frame to the next.
    pub frame_period: Duration,
    /// From when a frame is due until the last task is done with it, at most, with the allowance.
    pub latency: Duration,
    /// Cores that all stages share: 1 unless set.
    pub cores: u32,
    /// The share of their time that stages may have together: 0.9 unless set, what Linux lets be reserved.
    pub cap: f64,
    /// Which line through the measured times a batch is taken to cost: what 99 of 100 take at most, unless set.
    pub fit: FitMethod,
    /// How much longer than in theory the machine may keep a stage waiting ([`probe`](crate::machine::class::probe)): 0 unless set.
    pub allowance: Duration,
    /// Whether tasks may be put into one stage, as they may unless set.
    pub merges: bool,
}

impl LatencyGoal {
    /// For a frame in each such period that is to be done so soon.
    pub fn new(frame_period: Duration, latency: Duration) -> Self {
        Self {
            frame_period,
            latency,
            cores: 1,
            cap: 0.9,
            fit: FitMethod::Quantile(0.99),
            allowance: Duration::ZERO,
            merges: true,
        }
    }

    fn optimiser(&self, hand_over_ns: f64) -> Optimiser {
        let analysis = Analysis {
            cap: self.cap,
            handover_ns: hand_over_ns,
            platform_ns: nanoseconds(self.allowance) as f64,
            ..Analysis::default()
        };
        // Tasks of one stage each cost what they cost: what merging saves is the hand-over.
        let rule = MergeRule { init_share: 1.0, ..MergeRule::default() };
        Optimiser { analysis, merging: self.merges.then_some(rule), ..Optimiser::default() }
    }
}

/// A pipeline that meets a latency; made by [`BatchCosts::latency_plan`].
#[derive(Debug, Clone)]
pub struct LatencyPlan {
    /// The graph in its batches, with its bounds.
    pub plan: Plan,
    /// What the tasks take in these batches.
    pub profile: Profile,
    /// A stage of one thread for each group of tasks.
    pub schedule: Schedule,
    /// What each stage needs.
    pub timings: Vec<StageTiming>,
}

impl LatencyPlan {
    /// Frames in a batch.
    pub fn batch(&self) -> usize {
        self.plan.firings as usize
    }

    /// How long after it was due the oldest frame of a batch is done, at most, in theory.
    pub fn bound(&self) -> Duration {
        duration(self.plan.bounds.latency_ns())
    }

    /// How long after its youngest frame was due a batch is done, at most, in theory.
    pub fn release_bound(&self) -> Duration {
        duration(self.plan.bounds.sinks.iter().map(|sink| sink.release_latency_ns).fold(0.0, f64::max))
    }

    /// What the machine may add to that.
    pub fn allowance(&self) -> Duration {
        duration(self.plan.bounds.latency_on_platform_ns()).saturating_sub(self.bound())
    }

    /// Reserves what the stages need, and counts frames against the bound: from when the oldest frame of a batch was due.
    pub fn real_time(&self) -> RealTime {
        RealTime::deadline(self.timings.clone()).bound(self.bound(), self.allowance())
    }
}

impl StageTiming {
    /// The timing of a schedule's stages if executions of the chain come at that period. A stage takes the 99th
    /// percentile of each of its tasks if the profile has it, else the task's time; plus the hand-over and the cuts. Of several kinds
    /// of core the slowest counts.
    ///
    /// # Errors
    /// A schedule that does not go with the profile.
    pub fn of_schedule(schedule: &Schedule, profile: &Profile, period: Duration) -> Result<Vec<Self>> {
        let loads = schedule.loads(profile)?;
        let timing = |(stage, load): (&Stage, StageLoad)| {
            let on_kind = |name: &String| {
                let kind = profile.kind(name).expect("a stage with a load has kinds of the profile");
                let usual = |task: &TaskProfile| {
                    let seen = task.seen.as_ref().and_then(|seen| seen[kind]).map(|seen| seen.p99_ns);
                    seen.max(task.ns[kind]).expect("a stage with a load has tasks that run on its kinds")
                };
                let work: u64 = profile.tasks()[load.tasks.clone()].iter().map(usual).sum();
                work + profile.sync_ns(kind) + profile.cut_ns(load.tasks.clone(), kind)
            };
            let slowest = stage.cores.keys().map(on_kind).max().expect("a stage with a load has cores");
            Self::new(period, Duration::from_nanos(slowest))
        };
        Ok(schedule.stages().iter().zip(loads).map(timing).collect())
    }
}

impl BatchCosts {
    /// The chain as a processing graph: a node for each task, and an edge that carries single frames between neighbours. All run
    /// on `cores` cores that they share.
    ///
    /// # Errors
    /// Times of one size only; a period of 0.
    pub fn graph(&self, frame_period: Duration, cores: u32, fit: FitMethod) -> Result<Graph> {
        let period = Period::new(nanoseconds(frame_period), 1).filter(|_| !frame_period.is_zero());
        let period =
            period.ok_or_else(|| Error::build("frames that come all at once have no rate: give a period above 0"))?;
        let cost = |task: &TaskCosts| Ok(task.fit(fit)?.cost);
        let costs = self.tasks.iter().map(cost).collect::<Result<Vec<Cost>>>()?;
        let node = |(index, (task, cost)): (usize, (&TaskCosts, Cost))| match index {
            0 => Node::source(&task.name, period, cost),
            _ => Node::new(&task.name, cost),
        };
        let nodes = self.tasks.iter().zip(costs).enumerate().map(node);
        let edges = self.tasks.windows(2).map(|pair| Edge::new(&pair[0].name, &pair[1].name));
        Ok(Graph::new(nodes, edges)?.with_cores(cores))
    }

    /// The batch and the stages with which the chain keeps a latency at the least use of the cores.
    ///
    /// # Errors
    /// No batch and no stages keep it: with the least latency that there is. Tasks that need more than the cores have. Times of one
    /// size only.
    pub fn latency_plan(&self, goal: &LatencyGoal) -> Result<LatencyPlan> {
        let graph = self.graph(goal.frame_period, goal.cores, goal.fit)?;
        let optimiser = goal.optimiser(self.hand_over_ns);
        self.runnable(optimiser.min_utilisation(&graph, nanoseconds(goal.latency) as f64)?, goal)
    }

    /// All plans worth choosing from, from the least latency to the least use of the cores; the goal's latency does not count.
    ///
    /// # Errors
    /// Those of [`latency_plan`](Self::latency_plan), but for the latency.
    pub fn latency_front(&self, goal: &LatencyGoal) -> Result<Vec<Plan>> {
        let graph = self.graph(goal.frame_period, goal.cores, goal.fit)?;
        Ok(goal.optimiser(self.hand_over_ns).front(&graph)?)
    }

    /// The stages of a plan, and what they need.
    fn runnable(&self, plan: Plan, goal: &LatencyGoal) -> Result<LatencyPlan> {
        let batch = plan.firings;
        let frames =
            u32::try_from(batch).map_err(|_| Error::build(format!("batches of {batch} frames are too large")))?;
        let task = |task: &TaskCosts| {
            let ns = task.fit(goal.fit)?.cost.ns(batch).ceil().max(1.0) as u64;
            Ok(TaskProfile { replicable: task.replicable, ..TaskProfile::sequential(&task.name, [ns]) })
        };
        let tasks = self.tasks.iter().map(task).collect::<Result<Vec<_>>>()?;
        let profile = Profile::new([self.kind.as_str()], tasks)?
            .with_frames_per_execution(frames)?
            .with_sync_ns([self.hand_over_ns as u64])?
            .with_machine(self.machine.clone());
        // In a chain, groups are runs of neighbours: from source to sink.
        let mut order: Vec<usize> = (0..plan.groups.len()).collect();
        order.sort_unstable_by_key(|&node| plan.groups[node][0]);
        let stages = order.iter().map(|&node| Stage::new(plan.groups[node].len(), 1, &self.kind));
        let cores = BTreeMap::from([(self.kind.clone(), goal.cores)]);
        let schedule = Schedule::sharing("latency", stages, &cores, &profile)?;
        let timing = |&node: &usize| {
            let task = &plan.bounds.tasks[node];
            StageTiming::new(duration(task.period_ns), duration(task.cost_ns))
        };
        let timings = order.iter().map(timing).collect();
        Ok(LatencyPlan { plan, profile, schedule, timings })
    }
}

/// Rounded up to whole nanoseconds.
fn duration(ns: f64) -> Duration {
    Duration::from_nanos(ns.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use bief_schedule::Samples;
    use bief_schedule::realtime::CostSamples;

    use super::*;

    /// Three tasks that take so many nanoseconds for a batch, and for each frame in it.
    fn costs(tasks: [(f64, f64); 3]) -> BatchCosts {
        let task = |(index, (init, each)): (usize, (f64, f64))| TaskCosts {
            name: format!("task {index}"),
            replicable: index == 1,
            sizes: [1, 8, 64].map(|samples| CostSamples { samples, ns: vec![init + each * samples as f64] }).to_vec(),
        };
        BatchCosts {
            machine: "a machine".to_owned(),
            kind: "cpu".to_owned(),
            tasks: tasks.into_iter().enumerate().map(task).collect(),
            hand_over_ns: 10_000.0,
        }
    }

    #[test]
    fn a_longer_latency_takes_larger_batches_and_less_of_the_cores() {
        let costs = costs([(2_000.0, 500.0), (3_000.0, 2_000.0), (1_000.0, 100.0)]);
        let period = Duration::from_micros(20);
        let plans = [200, 1_000, 10_000].map(|us| {
            let latency = Duration::from_micros(us);
            let plan = costs.latency_plan(&LatencyGoal::new(period, latency)).unwrap();
            assert!(plan.bound() + plan.allowance() <= latency && plan.release_bound() <= plan.bound());
            assert_eq!(plan.schedule.stages().iter().map(|stage| stage.tasks).sum::<usize>(), 3);
            assert_eq!(plan.timings.len(), plan.schedule.stages().len());
            assert!(plan.timings.iter().all(|timing| timing.period == period * plan.batch() as u32));
            assert_eq!(plan.profile.frames_per_execution() as usize, plan.batch());
            plan
        });
        assert!(plans.windows(2).all(|pair| pair[0].batch() < pair[1].batch()));
        let busy = |plan: &LatencyPlan| plan.plan.bounds.utilisation;
        assert!(plans.windows(2).all(|pair| busy(&pair[0]) > busy(&pair[1])));
    }

    #[test]
    fn one_stage_pays_for_one_hand_over() {
        let costs = costs([(0.0, 1_000.0); 3]);
        let goal = LatencyGoal::new(Duration::from_micros(100), Duration::from_millis(1));
        let merged = costs.latency_plan(&goal).unwrap();
        let apart = costs.latency_plan(&LatencyGoal { merges: false, ..goal }).unwrap();
        assert_eq!((merged.schedule.stages().len(), apart.schedule.stages().len()), (1, 3));
        let batch = |plan: &LatencyPlan| plan.batch() as u64;
        let spent = |plan: &LatencyPlan| {
            let all = plan.timings.iter().map(|timing| timing.execution).sum::<Duration>();
            all.as_nanos() as u64 - 3_000 * batch(plan)
        };
        // Rounded up, stage by stage.
        assert!(spent(&merged).abs_diff(10_000) <= 1 && spent(&apart).abs_diff(30_000) <= 3);
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_a_reason() {
        let costs = costs([(2_000.0, 500.0), (3_000.0, 2_000.0), (1_000.0, 100.0)]);
        let refused = |period: u64, latency: u64| {
            let goal = LatencyGoal::new(Duration::from_nanos(period), Duration::from_nanos(latency));
            costs.latency_plan(&goal).unwrap_err().to_string()
        };
        assert!(refused(100_000, 5_000).contains("the least latency found is"));
        let busy = refused(2_000, 1_000_000_000);
        assert!(busy.contains("task 1") || busy.contains("cores"), "{busy}");
        assert!(refused(0, 1_000_000).contains("give a period above 0"));
        let one_size = BatchCosts {
            tasks: costs
                .tasks
                .iter()
                .map(|task| TaskCosts { sizes: task.sizes[..1].to_vec(), ..task.clone() })
                .collect(),
            ..costs.clone()
        };
        assert!(one_size.graph(Duration::from_micros(1), 1, FitMethod::Typical).is_err());
    }

    #[test]
    fn stages_of_a_schedule_need_what_nearly_all_executions_took() {
        let seen = |p99_ns| Some(vec![Some(Samples { min_ns: 900, median_ns: 1_000, p99_ns, samples: 100 })]);
        let tasks = [("read", 1_000, seen(1_500)), ("filter", 4_000, None), ("write", 2_000, seen(1_200))];
        let tasks = tasks.map(|(name, ns, seen)| TaskProfile { seen, ..TaskProfile::replicable(name, [ns]) });
        let profile = Profile::new(["cpu"], tasks).unwrap().with_sync_ns([100]).unwrap();
        let stages = [Stage::new(1, 1, "cpu"), Stage::new(2, 2, "cpu")];
        let schedule = Schedule::new("by hand", stages, &profile).unwrap();
        let period = Duration::from_micros(9);
        let timings = StageTiming::of_schedule(&schedule, &profile, period).unwrap();
        let expected = [1_600, 6_100].map(|ns| StageTiming::new(period, Duration::from_nanos(ns)));
        assert_eq!(timings, expected);
        let other = Profile::new(["gpu"], [TaskProfile::replicable("read", [1])]).unwrap();
        assert!(StageTiming::of_schedule(&schedule, &other, period).is_err());
    }

    #[test]
    fn the_front_goes_from_the_least_latency_to_the_least_use() {
        let costs = costs([(2_000.0, 500.0), (3_000.0, 2_000.0), (1_000.0, 100.0)]);
        let goal = LatencyGoal { cores: 2, ..LatencyGoal::new(Duration::from_micros(50), Duration::ZERO) };
        let front = costs.latency_front(&goal).unwrap();
        assert!(front.len() > 3);
        let falls = |figure: fn(&Plan) -> f64| front.windows(2).all(|pair| figure(&pair[0]) > figure(&pair[1]));
        assert!(falls(|plan| plan.bounds.utilisation) && falls(|plan| -plan.bounds.latency_ns()));
    }
}
