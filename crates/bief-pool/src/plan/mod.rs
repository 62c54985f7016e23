//! The plan in two levels: which tasks leave, and how those that stay run on the cores of this machine.
//!
//! Each run of tasks that remember nothing is tried. What stays of the chain, a task that sends and one that collects, is a chain as any
//! other, which the exact strategy plans; workers and links are a stage between the two, on a kind of core where nothing else runs and
//! that takes as long as they do for a frame. So the shortest period of all is found, and that of this machine alone is among them.

mod site;

use std::ops::Range;

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Goal, Period, Platform, Profile, Schedule, Stage, TaskProfile};
use bief::{Error, Result};

pub use site::{MessageCost, Site, Worker};

/// What would leave, and what that brings.
#[derive(Debug, Clone)]
pub struct PoolPlan {
    /// All tasks on this machine.
    pub here: Schedule,
    /// The best of all plans by which some leave, if there is one, though it may be worse.
    pub away: Option<Away>,
}

/// Some tasks on workers, the others on this machine.
#[derive(Debug, Clone)]
pub struct Away {
    /// The tasks that leave.
    pub tasks: Range<usize>,
    /// From one execution to the next.
    pub period: Period,
    /// The stages before workers; the last task of the last one sends.
    pub before: Vec<Stage>,
    /// The stages behind workers; the first task of the first one collects.
    pub behind: Vec<Stage>,
    /// Bytes of an execution that leave, and that come back.
    pub bytes: [u64; 2],
    /// What an execution costs a core of the first kind here: to send it, and to collect its results.
    pub crossing_ns: [u64; 2],
    /// What those tasks that leave cost there.
    pub work_ns: u64,
    /// The most executions per second of each worker, in the order of the site.
    pub rates: Vec<f64>,
    /// What takes the whole period.
    pub limit: AwayLimit,
}

/// What keeps a plan from a shorter period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwayLimit {
    /// What stays on this machine.
    Front,
    /// The cores of workers.
    Workers,
    /// The link of this machine, or those of all workers.
    Links,
}

/// The kind of core that workers are to the exact strategy.
const WORKERS: &str = "workers";

impl PoolPlan {
    /// Plans for the cores of a platform and the workers of a site. `may_leave` says of a run of tasks, all of which remember nothing,
    /// whether it may leave, and how many bytes of an execution then leave and come back.
    ///
    /// ```
    /// use bief::schedule::{Platform, Profile, TaskProfile};
    /// use bief_pool::plan::{PoolPlan, Site};
    ///
    /// let tasks = [
    ///     TaskProfile::sequential("read", [50_000]),
    ///     TaskProfile::replicable("detect", [9_000_000]).with_bytes(200_000),
    ///     TaskProfile::sequential("write", [20_000]).with_bytes(1000),
    /// ];
    /// let profile = Profile::new(["cpu"], tasks)?;
    /// let platform = Platform::parse_cores("4", &profile)?;
    /// let site = Site::parse("[[worker]]\nname = 'rack3'\ncores = 16", "pool.toml")?;
    /// let plan = PoolPlan::make(&profile, &platform, &site, |run| PoolPlan::crossing(&profile, run))?;
    /// assert_eq!(plan.here.planned_period().ns(), 4_500_000.0);
    /// let away = plan.pays().expect("9 ms for a message");
    /// assert!(away.tasks == (1..2) && away.period.ns() < 600_000.0);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A chain that cannot be planned for this machine alone.
    pub fn make(
        profile: &Profile,
        platform: &Platform,
        site: &Site,
        mut may_leave: impl FnMut(Range<usize>) -> Option<[u64; 2]>,
    ) -> Result<Self> {
        let here = Exact.schedule(profile, platform).map_err(Error::from_source)?;
        let front = Front::new(profile, platform)?;
        let (count, mut best) = (profile.tasks().len(), None);
        for first in 1..count {
            for end in first + 1..count {
                if !profile.is_replicable(first..end) {
                    break;
                }
                let candidate =
                    may_leave(first..end).and_then(|bytes| Candidate::new(profile, site, first..end, bytes));
                if let Some(candidate) = candidate {
                    best = candidate.or_better(best, &front)?;
                }
            }
        }
        Ok(Self { here, away: best })
    }

    /// The plan by which some tasks leave, if it is faster than this machine alone.
    pub fn pays(&self) -> Option<&Away> {
        self.away.as_ref().filter(|away| away.period < self.here.planned_period())
    }

    /// Bytes of an execution that leave and that come back where these tasks leave, by a profile that tells what
    /// [crosses](TaskProfile::bytes): as many as cross before the first and behind the last, which may be more. `None` where it does not
    /// tell.
    pub fn crossing(profile: &Profile, tasks: Range<usize>) -> Option<[u64; 2]> {
        let before = |task: usize| profile.tasks().get(task)?.bytes;
        Some([before(tasks.start)?, before(tasks.end)?])
    }
}

impl Away {
    /// What decides between plans: the period, then the cores that are used here, then the bytes that cross.
    fn key(&self) -> (Period, u32, u64) {
        let cores = self.before.iter().chain(&self.behind).map(Stage::replicas).sum();
        (self.period, cores, self.bytes.iter().sum())
    }
}

/// Tasks that may leave, and what that costs.
struct Candidate {
    tasks: Range<usize>,
    bytes: [u64; 2],
    crossing_ns: [u64; 2],
    work_ns: u64,
    rates: Vec<f64>,
    /// From one execution to the next, of workers and links alone.
    pool_ns: u64,
    links_limit: bool,
}

impl Candidate {
    /// `None` where a task has no time on the first kind of core, or nobody can take anything.
    fn new(profile: &Profile, site: &Site, tasks: Range<usize>, bytes: [u64; 2]) -> Option<Self> {
        let work = profile.tasks()[tasks.clone()].iter().map(|task| task.ns[0]).sum::<Option<u64>>()?;
        let messages = f64::from(profile.frames_per_execution());
        let [out, back] = bytes.map(|bytes| bytes as f64 / messages);
        let message = &site.message;
        let crossing_ns = [message.send(out), message.receive(back)].map(|ns| (messages * ns).ceil() as u64);
        let there = work as f64 + messages * (message.receive(out) + message.send(back));
        let through = |link: Option<f64>| link.map_or(f64::INFINITY, |rate| rate / (messages * out.max(back)));
        let cores = |worker: &Worker| f64::from(worker.cores) * worker.speed * 1e9 / there.max(1.0);
        let rates: Vec<f64> = site.workers.iter().map(|worker| cores(worker).min(through(worker.link))).collect();
        let together: f64 = rates.iter().sum();
        let rate = together.min(through(site.link));
        let is_by_links = site.workers.iter().all(|worker| through(worker.link) < cores(worker));
        let pool_ns = (1e9 / rate).ceil();
        (pool_ns < u64::MAX as f64).then(|| Self {
            tasks,
            bytes,
            crossing_ns,
            work_ns: work,
            pool_ns: (pool_ns as u64).max(1),
            links_limit: is_by_links || rate < together,
            rates,
        })
    }

    /// This one, planned, if it is better than the best so far.
    fn or_better(self, best: Option<Away>, front: &Front<'_>) -> Result<Option<Away>> {
        let bound = Period::from(self.pool_ns).max(front.least(&self));
        if best.as_ref().is_some_and(|best| best.period < bound) {
            return Ok(best);
        }
        // Where there are fewer cores than it needs, there is no schedule.
        let Some(away) = front.plan(self)? else { return Ok(best) };
        Ok(match best {
            Some(best) if best.key() <= away.key() => Some(best),
            _ => Some(away),
        })
    }
}

/// What the machine that reads has.
struct Front<'p> {
    profile: &'p Profile,
    cores: Vec<u32>,
    /// How many times as long as on the first kind of core something takes on each.
    slowness: Vec<f64>,
}

impl<'p> Front<'p> {
    fn new(profile: &'p Profile, platform: &Platform) -> Result<Self> {
        let mut cores = platform.cores_for(profile).map_err(Error::from_source)?;
        for (kind, cores) in cores.iter_mut().enumerate() {
            // A device has no thread that sends.
            if profile.lanes(kind).is_some() {
                *cores = 0;
            }
        }
        let slowness = (0..profile.kinds().len()).map(|kind| {
            let both = profile.tasks().iter().filter_map(|task| Some([task.ns[0]? as f64, task.ns[kind]? as f64]));
            let [first, this] = both.fold([0.0, 0.0], |[a, b], [c, d]| [a + c, b + d]);
            if first > 0.0 && this > 0.0 { this / first } else { 1.0 }
        });
        Ok(Self { profile, slowness: slowness.collect(), cores })
    }

    /// A period that no plan of this machine's part is shorter than.
    fn least(&self, candidate: &Candidate) -> Period {
        let [send, collect] = candidate.crossing_ns;
        let quickest = |ns: u64| {
            let on = |(kind, _): (usize, &u32)| (ns as f64 * self.slowness[kind]).floor() as u64;
            self.cores.iter().enumerate().filter(|(_, cores)| **cores > 0).map(on).min().unwrap_or(0)
        };
        Period::from(quickest(send).max(quickest(collect)))
    }

    /// The tasks that stay, with those that send and collect.
    fn plan(&self, candidate: Candidate) -> Result<Option<Away>> {
        let Range { start, end } = candidate.tasks;
        let (tasks, kinds) = (self.profile.tasks(), self.profile.kinds());
        // Nothing of it runs where workers are.
        let staying = |task: &TaskProfile| {
            let widened = |costs: &Vec<u64>| costs.iter().copied().chain([0]).collect();
            TaskProfile {
                ns: task.ns.iter().copied().chain([None]).collect(),
                enter_ns: task.enter_ns.as_ref().map(widened),
                leave_ns: task.leave_ns.as_ref().map(widened),
                bytes: None,
                seen: None,
                ..task.clone()
            }
        };
        let crossing = |name: &str, ns: u64| {
            let ns =
                self.slowness.iter().map(|slower| Some((ns as f64 * slower).round() as u64)).chain([None]).collect();
            TaskProfile { ns, ..TaskProfile::sequential(name, []) }
        };
        let [send_ns, collect_ns] = candidate.crossing_ns;
        let enters = TaskProfile { enter_ns: staying(&tasks[start]).enter_ns, ..crossing("dispatch", send_ns) };
        let leaves = TaskProfile { leave_ns: staying(&tasks[end - 1]).leave_ns, ..crossing("collect", collect_ns) };
        let ns = kinds.iter().map(|_| None).chain([Some(candidate.pool_ns)]).collect();
        let away = TaskProfile { ns, ..TaskProfile::sequential(WORKERS, []) };
        let chain =
            tasks[..start].iter().map(staying).chain([enters, away, leaves]).chain(tasks[end..].iter().map(staying));
        let name = unused(kinds);
        let sync: Vec<u64> = (0..kinds.len()).map(|kind| self.profile.sync_ns(kind)).chain([0]).collect();
        let profile = Profile::new(kinds.iter().cloned().chain([name.clone()]), chain)
            .and_then(|profile| profile.with_sync_ns(sync))
            .map_err(Error::from_source)?;
        let own = kinds.iter().zip(&self.cores).map(|(kind, &cores)| CoreKind::new(kind, cores));
        let platform = Platform::new(own.chain([CoreKind::new(&name, 1)])).map_err(Error::from_source)?;
        let Ok(schedule) = Exact.plan(&profile, &platform, &Goal::default()) else { return Ok(None) };
        let stages = schedule.stages();
        let place = stages.iter().position(|stage| stage.cores.contains_key(&name)).expect("workers have a stage");
        let period = schedule.planned_period();
        let limit = match (period == Period::from(candidate.pool_ns), candidate.links_limit) {
            (false, _) => AwayLimit::Front,
            (true, true) => AwayLimit::Links,
            (true, false) => AwayLimit::Workers,
        };
        Ok(Some(Away {
            tasks: start..end,
            period,
            before: stages[..place].to_vec(),
            behind: stages[place + 1..].to_vec(),
            bytes: candidate.bytes,
            crossing_ns: candidate.crossing_ns,
            work_ns: candidate.work_ns,
            rates: candidate.rates,
            limit,
        }))
    }
}

/// A name that no kind has.
fn unused(kinds: &[String]) -> String {
    let mut name = WORKERS.to_owned();
    while kinds.contains(&name) {
        name.push('_');
    }
    name
}
