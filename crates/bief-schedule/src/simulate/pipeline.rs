//! A pipeline of replicated stages joined by finite rings, as the `bief` runtime runs it.

use std::borrow::Cow;
use std::ops::Range;

use fastrand::Rng;

use super::recurrence::{Recurrence, lcm};
use super::report::{Percentiles, PipelineReport, Tally};
use super::times::{Times, at_speed};
use crate::error::{Error, ErrorKind};
use crate::load::gathering;
use crate::period::Period;
use crate::profile::Profile;
use crate::schedule::{self, Schedule};

/// Slots of each ring unless set, as in the runtime.
const DEFAULT_DEPTH: u64 = 4;

/// A simulated pipeline: the stages of a schedule, each replica on a core of its own, joined by finite rings.
///
/// # Model
///
/// Between a stage of *m* replicas and one of *n* there is a ring of depth · max(*m*, *n*) slots, or behind a stage that cores of
/// several kinds share of [`StageLoad::ahead`](crate::StageLoad::ahead) where that is more, and execution *k* lies in slot *k* mod their
/// number. Executions go to the replica that is free, in order: a replica
///
/// 1. claims the next number when it is free, and takes that input as soon as it is there. This frees the ring's slot at once,
///    before the work: the full slot is exchanged for the empty one that the replica has from the execution before;
/// 2. works for the sum of the times that its tasks draw ([`Times`]) and of the profile's
///    [`sync_ns`](Profile::sync_ns) and [`cut_ns`](Profile::cut_ns), all divided by the speed of its kind of core and rounded to
///    nanoseconds;
/// 3. hands its output on, and waits for that while the execution's slot is not free. Only then it claims the next number.
///
/// A [device](Profile::with_lanes) has a replica for each of its lanes, if the stage may be replicated, and three parts: one reads
/// what a stage enters with, one executes its tasks and one writes what it leaves with. A lane hands over, then its execution
/// passes the three parts in turn; each part works on one at a time, in their order. Where lanes [overlap](Profile::with_overlap) all of
/// it, they are as replicas on cores.
///
/// Handing over itself takes no other time than these. Every execution passes every stage: none is skipped.
/// A source delivers without waiting, or paced ([`paced`](Self::paced)).
///
/// # Constant times
///
/// With constant times, and stages on cores of one kind each, replicas take turns, and the period tends to that of
/// [`Schedule::period`], **whatever the depth**: each execution follows the one that its replica handled *m* executions before by at
/// least the stage's work, and since a slot is freed when the input is taken, no other chain of executions that wait for each other
/// holds any work. (In max-plus terms: in the graph of who waits for whom, the circuits are one per stage, of the stage's work over
/// *m* executions, and one per boundary, of no time over a ring's slots; the longest mean is the period.) Depth decides how much
/// *variation* is ridden out, and how long an execution waits behind others. Paced at that period or slower, nothing ever waits, and
/// the latency of every execution is the sum of the stages' works.
///
/// Where cores of several kinds share a stage, its frames come out of order, as a slow core holds one while fast ones do many, and
/// the next stage waits for it: the period is nearly that of [`Schedule::period`], as the ring behind has room for what is done in
/// between.
///
/// # Cost
///
/// Time in proportion to executions times tasks. Memory: 8 bytes per execution measured,
/// and 16 per slot of the rings or per execution, whichever are fewer, at each boundary.
///
/// # Example
///
/// ```
/// use bief_schedule::simulate::{Pipeline, Times};
/// use bief_schedule::{Period, Profile, Schedule, Stage, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [200, 300]),
///         TaskProfile::replicable("decode", [900, 1500]),
///         TaskProfile::sequential("send", [100, 100]),
///     ],
/// )?;
/// let stages = [Stage::new(1, 1, "little"), Stage::new(1, 3, "big"), Stage::new(1, 1, "little")];
/// let schedule = Schedule::new("hand", stages, &profile)?;
///
/// let mut random = fastrand::Rng::with_seed(1);
/// let plan = Pipeline::new(&profile, &schedule)?.run(10_000, &mut random)?;
/// assert_eq!(plan.period(), Period::from(300));
///
/// // Two balanced stages and varying times: some of the throughput is lost, and more where clocks drop.
/// let varying = Pipeline::new(&profile, &schedule)?.times(Times::Uniform { spread: 0.3 })?;
/// let report = varying.run(10_000, &mut random)?;
/// assert!(report.period_ns > 300.0 && report.stages[1].busy < 1.0);
/// let slower = varying.speed("little", 0.85)?.run(10_000, &mut random)?;
/// assert!(slower.frames_per_second < report.frames_per_second);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pipeline<'a> {
    profile: Cow<'a, Profile>,
    stages: Vec<Stage>,
    depth: u64,
    times: Times,
    /// For each kind of the profile.
    speeds: Vec<f64>,
    interval: Option<Period>,
}

#[derive(Debug, Clone)]
struct Stage {
    tasks: Range<usize>,
    /// For each replica, its kind of core; the lanes of a device are replicas.
    kinds: Vec<usize>,
    /// How many devices have these lanes, and parts that work on one execution at a time; 0 for cores.
    devices: usize,
    /// Slots of the ring behind it, at least.
    ahead: u64,
}

/// When the three parts of a device are free.
type Parts = [u64; 3];

impl<'a> Pipeline<'a> {
    /// The pipeline of a schedule with the constant times of a profile, rings of depth 4 and a source that never waits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where the stages do not go with the profile (see [`Schedule::check`]);
    /// [`ErrorKind::Simulation`] where threads share cores.
    pub fn new(profile: &'a Profile, schedule: &Schedule) -> Result<Self, Error> {
        let loads = schedule.loads(profile)?;
        if schedule.is_oversubscribed() {
            let reason = "its threads share cores, and this simulation gives each thread a core of its own: \
                          give a schedule that has a core for every thread";
            return Err(refused("schedule", reason));
        }
        let stages = schedule.stages().iter().zip(loads).map(|(stage, load)| {
            let (mut kinds, mut devices) = (Vec::new(), 0);
            for (name, &cores) in &stage.cores {
                let kind = profile.kind(name).expect("the stages go with the profile");
                let lanes = profile.lanes(kind);
                devices += lanes.filter(|_| !profile.overlaps(kind)).map_or(0, |_| cores as usize);
                let lanes = lanes.filter(|_| load.replicable).unwrap_or(1);
                kinds.extend(std::iter::repeat_n(kind, cores as usize * lanes as usize));
            }
            Stage { tasks: load.tasks, kinds, devices, ahead: load.ahead }
        });
        let stages = stages.collect();
        // Launches of several executions count as as many of one, each of which takes its share.
        let of_launches = |profile: Cow<'a, Profile>, stage: &schedule::Stage| match gathering(&profile, stage) {
            Cow::Owned(gathering) => Cow::Owned(gathering),
            Cow::Borrowed(_) => profile,
        };
        let profile = schedule.stages().iter().fold(Cow::Borrowed(profile), of_launches);
        Ok(Self {
            stages,
            depth: DEFAULT_DEPTH,
            times: Times::Constant,
            speeds: vec![1.0; profile.kinds().len()],
            profile,
            interval: None,
        })
    }

    /// Sets how many executions each ring holds for each replica of the side that has more, at least 1 (4 unless set).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where `executions` is zero.
    pub fn depth(mut self, executions: u64) -> Result<Self, Error> {
        if executions == 0 {
            return Err(refused("depth", "a ring of depth 0 holds nothing: give a depth of at least 1"));
        }
        self.depth = executions;
        Ok(self)
    }

    /// Sets how the times of the tasks vary.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where a number is out of its range, or samples do not go with the profile or are missing for a
    /// task on the kind of core that it runs on.
    pub fn times(mut self, times: Times) -> Result<Self, Error> {
        for stage in &self.stages {
            times.check(&self.profile, stage.tasks.clone(), &stage.kinds)?;
        }
        self.times = times;
        Ok(self)
    }

    /// Sets the speed of the cores of a kind, relative to that at which they were profiled: at 0.8, what takes 100 ns takes
    /// 125 ns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where the profile has no such kind, or `speed` is not finite and positive.
    pub fn speed(mut self, kind: &str, speed: f64) -> Result<Self, Error> {
        let wrong = |reason: String| Err(refused(&format!("speed of `{kind}`"), reason));
        let Some(index) = self.profile.kind(kind) else {
            return wrong(format!("the profile has no such kind, only {}: name one of them", self.profile.kind_list()));
        };
        if !(speed.is_finite() && speed > 0.0) {
            return wrong(format!("{speed}: write a finite factor above 0, for example 0.85"));
        }
        self.speeds[index] = speed;
        Ok(self)
    }

    /// Lets the source release execution *k* at *k* times `interval`, rounded down to whole nanoseconds, and not before.
    /// Released executions wait until the first stage takes them, however many they are. Where the interval is shorter than
    /// the pipeline's period, they get more and more, and the latency grows with the number of executions.
    pub fn paced(mut self, interval: Period) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Simulates so many executions and reports on the second half of them: the first half fills the pipeline. Where the
    /// half holds as many executions as the least common multiple of all replicas, it is cut to a multiple of this number,
    /// over which constant times give the exact period, if each stage has one kind of core.
    ///
    /// The same state of `random` gives the same report; constant times do not use it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where there are fewer than 2 executions, or the simulated time does not stay below 2^64 ns.
    pub fn run(&self, executions: u64, random: &mut Rng) -> Result<PipelineReport, Error> {
        if executions < 2 {
            let reason = format!("{executions}: a period lies between two, so give at least 2; better many thousands");
            return Err(refused("executions", reason));
        }
        let warm_up = executions - self.measured(executions);
        let mut recurrence =
            Recurrence::new(self.stages.iter().map(|stage| (stage.kinds.len() as u32, stage.ahead)), self.depth);
        let mut tallies = vec![Tally::default(); self.stages.len()];
        let mut latencies = Vec::new();
        let mut parts: Vec<Vec<Parts>> = self.stages.iter().map(|stage| vec![[0; 3]; stage.devices]).collect();
        let (mut start, mut completed) = (0, 0);
        for index in 0..executions {
            let too_long = || {
                let reason = "the simulated time passes 2^64 ns (584 years): give fewer executions, or shorter times";
                refused(&format!("execution {index}"), reason)
            };
            let released = match self.interval {
                None => None,
                Some(interval) => Some(release(interval, index).ok_or_else(too_long)?),
            };
            let done = |stage: usize, replica, taken| {
                self.done(&self.stages[stage], replica, taken, &mut parts[stage], random)
            };
            let visits = recurrence.pass(released, done).ok_or_else(too_long)?;
            completed = completed.max(visits[visits.len() - 1].sent);
            if index < warm_up {
                start = completed;
                continue;
            }
            latencies.push(visits[visits.len() - 1].sent - visits[0].arrived);
            for (tally, visit) in tallies.iter_mut().zip(visits) {
                tally.add(visit);
            }
        }
        let stages = self.stages.iter().zip(&tallies).enumerate().map(|(index, (stage, tally))| {
            let slots = (index > 0).then(|| recurrence.slots(index));
            let kinds = stage.kinds.iter().map(|&kind| self.profile.kinds()[kind].as_str());
            tally.report(stage.tasks.len(), kinds, slots)
        });
        let span_ns = completed - start;
        let period_ns = span_ns as f64 / (executions - warm_up) as f64;
        Ok(PipelineReport {
            warm_up,
            executions: executions - warm_up,
            span_ns,
            period_ns,
            frames_per_second: self.profile.frames_per_second(period_ns),
            mbps: self.profile.mbps(period_ns),
            latency_ns: Percentiles::of(latencies),
            stages: stages.collect(),
        })
    }

    /// How many of the executions are reported on.
    fn measured(&self, executions: u64) -> u64 {
        let half = executions / 2;
        let cycle = self.stages.iter().fold(1, |cycle, stage| lcm(cycle, stage.kinds.len() as u64));
        if half < cycle { half } else { half - half % cycle }
    }

    /// When a replica of a stage is done with an execution that it takes at that moment; `None` where that is 2^64 ns or more.
    /// `parts` are those of each device.
    fn done(&self, stage: &Stage, replica: usize, taken: u64, parts: &mut [Parts], random: &mut Rng) -> Option<u64> {
        let kind = stage.kinds[replica];
        let speed = self.speeds[kind];
        let mut drawn = 0u64;
        for task in stage.tasks.clone() {
            let ns = self.profile.tasks()[task].ns[kind].expect("the stages go with the profile");
            drawn = drawn.checked_add(self.times.draw(task, ns, kind, speed, random)?)?;
        }
        let sync_ns = self.profile.sync_ns(kind);
        let Range { start, end } = stage.tasks;
        if stage.devices == 0 {
            let handing_over = sync_ns.checked_add(self.profile.cut_ns(start..end, kind))?;
            return taken.checked_add(at_speed(handing_over, speed)?)?.checked_add(drawn);
        }
        let enter = at_speed(self.profile.enter_ns(start, kind), speed)?;
        let leave = at_speed(self.profile.leave_ns(end - 1, kind), speed)?;
        let mut now = taken.checked_add(at_speed(sync_ns, speed)?)?;
        // Neighbouring lanes are of different devices.
        for (free, time) in parts[replica % stage.devices].iter_mut().zip([enter, drawn, leave]) {
            now = now.max(*free).checked_add(time)?;
            *free = now;
        }
        Some(now)
    }
}

fn release(interval: Period, index: u64) -> Option<u64> {
    u64::try_from(interval.times(index).0).ok()
}

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Simulation, format!("simulation, {place}"), reason)
}
