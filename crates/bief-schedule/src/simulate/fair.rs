//! Threads on cores of several kinds, each shared fairly, mapped again and again.

use fastrand::Rng;
use serde::Serialize;

use super::mean::Mean;
use super::workload::{Phases, Workload};
use crate::error::{Error, ErrorKind};
use crate::mapping::{Algorithm, Cores, Ftfc, FtfcSettings, Mapper, Mapping, Usage};

/// The most intervals and phases of all threads in a run.
const MAX_STEPS: f64 = 1e9;

/// The mapping of threads to cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// A fair scheduler that knows nothing of capacities: threads are dealt out at random, as many to each core, and
    /// stay.
    Fair,
    /// FTFC, by what threads were seen to use.
    Ftfc(FtfcSettings),
    /// Threads mapped once, by their mean demand in the whole run, as if they had been profiled before. The paper's
    /// weighted Euclidean distance needs this.
    Profiled(Algorithm),
    /// Threads mapped by what they demand at the moment, which no real scheduler knows.
    Oracle(Algorithm),
}

/// The power of a core of capacity *T*: `idle` *T*^`idle_exponent`, plus `busy` *T*^`busy_exponent` while it is busy.
/// In any unit of power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorePower {
    /// What the fastest core draws idle.
    pub idle: f64,
    /// How that grows with the capacity.
    pub idle_exponent: f64,
    /// What the fastest core draws more when it is busy.
    pub busy: f64,
    /// How that grows with the capacity.
    pub busy_exponent: f64,
}

impl Default for CorePower {
    /// 0.1 *T*^1.5 + *T*^2.2 while busy: work on a core of half the speed takes 44 % of the energy, idle power aside.
    fn default() -> Self {
        Self { idle: 0.1, idle_exponent: 1.5, busy: 1.0, busy_exponent: 2.2 }
    }
}

/// A machine with cores of several kinds, each of which is shared fairly by the threads that are mapped to it.
///
/// # Model
///
/// A thread that demands *d* of the fastest core would keep a core of capacity *T* busy for *d* / *T* of the time; it
/// gets that, or less if the core is too slow or shared. The threads of a core share its time as a fair scheduler (CFS,
/// EEVDF) does in the mean over a few time slices: who needs less than an equal share gets what it needs, and the
/// others share the rest equally. What a thread does not get is lost, as for a stream that goes on, and not done later.
/// All changes of phase take effect at their exact time.
///
/// At the end of each interval the policy maps the threads anew. A thread that is moved keeps its new core busy for the
/// migration time without getting on (0.03 ms unless set). The mapper itself takes no time.
///
/// The same seed gives the same phases and the same first mapping under each policy, so that policies can be compared
/// run by run.
///
/// # Example
///
/// ```
/// use bief_schedule::mapping::{Cores, FtfcSettings};
/// use bief_schedule::simulate::{FairShare, Policy, Workload};
///
/// let cores = Cores::new([1.0, 1.0, 1.0, 0.4, 0.4, 0.4])?;
/// let machine = FairShare::new(cores, Workload::default())?;
/// let gain = machine.compare(Policy::Ftfc(FtfcSettings::default()), 2_000_000_000, 0..5)?;
/// assert!(gain.throughput_percent.low() > 0.0);
/// assert!(gain.fairness.mean > gain.fair.fairness.mean);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FairShare {
    cores: Cores,
    workload: Workload,
    interval_ns: u64,
    migration_ns: u64,
    power: CorePower,
}

/// The result of a simulated machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FairReport {
    /// Work done per time: 1 is what the fastest core can do.
    pub throughput: f64,
    /// What all cores drew in the mean, in the unit of [`CorePower`].
    pub power: f64,
    /// Jain's index of what the threads got of what they demanded: 1 where all got the same share of it, and 1 / *n*
    /// where one of *n* threads got anything.
    pub fairness: f64,
    /// How often a thread was moved.
    pub migrations_per_second: f64,
    /// The share of time in which each core was busy.
    pub busy: Vec<f64>,
    /// The share that each thread got of what it demanded; 1 where it demanded nothing.
    pub progress: Vec<f64>,
}

impl FairReport {
    /// The energy for the work of the fastest core in one second.
    pub fn energy_per_work(&self) -> f64 {
        self.power / self.throughput
    }
}

/// The means over several runs with different seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FairMeans {
    /// [`FairReport::throughput`].
    pub throughput: Mean,
    /// [`FairReport::power`].
    pub power: Mean,
    /// [`FairReport::fairness`].
    pub fairness: Mean,
}

/// A policy compared with [`Policy::Fair`], as means over runs with several seeds. Each run is compared with that of
/// the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// By how much the throughput is higher, in per cent.
    pub throughput_percent: Mean,
    /// By how much the power is higher, in per cent.
    pub power_percent: Mean,
    /// By how much the energy per work is higher, in per cent.
    pub energy_percent: Mean,
    /// [`FairReport::fairness`].
    pub fairness: Mean,
    /// [`FairReport::migrations_per_second`].
    pub migrations_per_second: Mean,
    /// What it is compared with.
    pub fair: FairMeans,
}

impl FairShare {
    /// Cores and threads, mapped every 1 ms, with migrations that cost 0.03 ms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where there is no thread, or a field of the workload is out of its range.
    pub fn new(cores: Cores, workload: Workload) -> Result<Self, Error> {
        workload.check()?;
        Ok(Self { cores, workload, interval_ns: 1_000_000, migration_ns: 30_000, power: CorePower::default() })
    }

    /// Sets how often threads are mapped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where it is zero.
    pub fn interval_ns(self, interval_ns: u64) -> Result<Self, Error> {
        if interval_ns == 0 {
            return Err(refused("interval", "0 ns: write at least 1 ns"));
        }
        Ok(Self { interval_ns, ..self })
    }

    /// Sets the time that a migration costs a thread.
    pub fn migration_ns(self, migration_ns: u64) -> Self {
        Self { migration_ns, ..self }
    }

    /// Sets the power of the cores.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where a power is negative or not finite, or an exponent is not finite.
    pub fn power(self, power: CorePower) -> Result<Self, Error> {
        for (name, value) in [("idle", power.idle), ("busy", power.busy)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(refused(name, format!("a power of {value}: write a finite number of 0 or more")));
            }
        }
        for (name, value) in [("idle_exponent", power.idle_exponent), ("busy_exponent", power.busy_exponent)] {
            if !value.is_finite() {
                return Err(refused(name, format!("{value}: write a finite number")));
            }
        }
        Ok(Self { power, ..self })
    }

    /// Runs the threads under a policy for `span_ns` nanoseconds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where the span is zero or has more than 10⁹ intervals and phases of all threads;
    /// [`ErrorKind::Mapping`] where a setting of the policy is out of its range.
    pub fn run(&self, policy: Policy, span_ns: u64, seed: u64) -> Result<FairReport, Error> {
        let step = 1.0 / self.interval_ns as f64 + 1.0 / self.workload.phase_ns as f64;
        if span_ns == 0 || span_ns as f64 * step * self.workload.threads as f64 > MAX_STEPS {
            let reason =
                format!("{span_ns} ns: write at least 1 ns, and no more than 10^9 intervals and phases of all threads");
            return Err(refused("span", reason));
        }
        let mut machine = Machine::new(self, seed);
        let mut policy = machine.policy(policy, span_ns)?;
        let mut now = 0;
        while now < span_ns {
            let end = now.saturating_add(self.interval_ns).min(span_ns);
            machine.run(now, end);
            machine.remap(&mut policy, end - now, end)?;
            now = end;
        }
        Ok(machine.report(span_ns))
    }

    /// Runs the threads under a policy and under [`Policy::Fair`], once for each seed.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn compare(
        &self,
        policy: Policy,
        span_ns: u64,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<Comparison, Error> {
        let mut runs = Vec::new();
        for seed in seeds {
            runs.push((self.run(policy, span_ns, seed)?, self.run(Policy::Fair, span_ns, seed)?));
        }
        Ok(Comparison::of(runs.iter().map(|(run, fair)| (run, fair))))
    }
}

impl Comparison {
    /// Compares each run with the one beside it, which is that of [`Policy::Fair`] with the same seed.
    pub fn of<'a>(runs: impl IntoIterator<Item = (&'a FairReport, &'a FairReport)>) -> Self {
        let runs: Vec<_> = runs.into_iter().collect();
        let mean = |value: &dyn Fn(&FairReport, &FairReport) -> f64| {
            Mean::of(&runs.iter().map(|(run, fair)| value(run, fair)).collect::<Vec<_>>())
        };
        let percent = |value: fn(&FairReport) -> f64| mean(&|run, fair| 100.0 * (value(run) / value(fair) - 1.0));
        Self {
            throughput_percent: percent(|run| run.throughput),
            power_percent: percent(|run| run.power),
            energy_percent: percent(FairReport::energy_per_work),
            fairness: mean(&|run, _| run.fairness),
            migrations_per_second: mean(&|run, _| run.migrations_per_second),
            fair: FairMeans {
                throughput: mean(&|_, fair| fair.throughput),
                power: mean(&|_, fair| fair.power),
                fairness: mean(&|_, fair| fair.fairness),
            },
        }
    }
}

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Simulation, format!("simulation, {place}"), reason)
}

/// A policy at work.
enum Active {
    Static,
    Ftfc(Box<Ftfc>),
    Oracle(Box<Mapper>),
}

#[derive(Debug, Clone)]
struct Thread {
    phases: Phases,
    /// Until when it does not get on.
    stalled_until: u64,
    /// In nanoseconds of the core, since it was mapped last.
    busy: f64,
    ready: f64,
    /// In nanoseconds of the fastest core, since the start.
    done: f64,
    demanded: f64,
}

impl Thread {
    /// The share of a core of that capacity that it would use.
    fn wanted(&self, now: u64, capacity: f64) -> f64 {
        match self.phases.demand {
            0.0 => 0.0,
            demand if now >= self.stalled_until => demand / capacity,
            _ => 1.0,
        }
    }

    /// When that changes.
    fn changes(&self, now: u64) -> u64 {
        if now < self.stalled_until { self.phases.until.min(self.stalled_until) } else { self.phases.until }
    }
}

struct Machine<'a> {
    settings: &'a FairShare,
    threads: Vec<Thread>,
    mapping: Mapping,
    /// The threads of each core.
    residents: Vec<Vec<usize>>,
    /// In nanoseconds, of each core.
    busy: Vec<f64>,
    migrations: u64,
    /// What is wanted of a core, with the thread.
    wanted: Vec<(f64, usize)>,
    usages: Vec<Usage>,
    demands: Vec<f64>,
}

impl<'a> Machine<'a> {
    fn new(settings: &'a FairShare, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let mut order: Vec<usize> = (0..settings.cores.capacities().len()).collect();
        random.shuffle(&mut order);
        let threads: Vec<Thread> = (0..settings.workload.threads)
            .map(|_| Thread {
                phases: Phases::new(settings.workload, random.fork()),
                stalled_until: 0,
                busy: 0.0,
                ready: 0.0,
                done: 0.0,
                demanded: 0.0,
            })
            .collect();
        let dealt = order.iter().cycle().take(threads.len()).map(|&core| Some(core));
        let mut machine = Self {
            settings,
            mapping: Mapping::new(dealt),
            residents: vec![Vec::new(); order.len()],
            busy: vec![0.0; order.len()],
            migrations: 0,
            wanted: Vec::new(),
            usages: Vec::new(),
            demands: Vec::new(),
            threads,
        };
        machine.gather();
        machine
    }

    /// Starts a policy.
    fn policy(&mut self, policy: Policy, span_ns: u64) -> Result<Active, Error> {
        let cores = &self.settings.cores;
        Ok(match policy {
            Policy::Fair => Active::Static,
            Policy::Ftfc(settings) => {
                Active::Ftfc(Box::new(Ftfc::new(cores, self.mapping.cores().iter().copied(), settings)?))
            }
            Policy::Profiled(algorithm) => {
                let means: Vec<f64> = self.threads.iter().map(|thread| thread.phases.clone().mean(span_ns)).collect();
                Mapper::new(cores, algorithm)?.map(&means, &mut self.mapping)?;
                self.gather();
                Active::Static
            }
            Policy::Oracle(algorithm) => Active::Oracle(Box::new(Mapper::new(cores, algorithm)?)),
        })
    }

    /// Puts the threads on the cores that the mapping says.
    fn gather(&mut self) {
        self.residents.iter_mut().for_each(Vec::clear);
        for (thread, core) in self.mapping.cores().iter().enumerate() {
            self.residents[core.expect("each thread is dealt a core")].push(thread);
        }
    }

    /// Lets the threads run on their cores, which do not depend on each other until threads are mapped again.
    fn run(&mut self, from: u64, to: u64) {
        for core in 0..self.residents.len() {
            let mut now = from;
            while now < to {
                let changes = self.residents[core].iter().map(|&thread| self.threads[thread].changes(now));
                let next = changes.min().unwrap_or(to).min(to);
                self.share(core, now, next);
                for &thread in &self.residents[core] {
                    let phases = &mut self.threads[thread].phases;
                    while phases.until <= next {
                        phases.turn();
                    }
                }
                now = next;
            }
        }
    }

    /// Shares a core among its threads while nothing changes.
    fn share(&mut self, core: usize, from: u64, to: u64) {
        let capacity = self.settings.cores.capacities()[core];
        let time = (to - from) as f64;
        let wanted = self.residents[core].iter().map(|&thread| (self.threads[thread].wanted(from, capacity), thread));
        self.wanted.clear();
        self.wanted.extend(wanted);
        self.wanted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut left = 1.0;
        let mut others = self.wanted.len();
        for &(wanted, index) in &self.wanted {
            let got = f64::min(wanted, left / others as f64);
            left -= got;
            others -= 1;
            let thread = &mut self.threads[index];
            thread.busy += got * time;
            thread.ready += if got < wanted { (1.0 - got) * time } else { 0.0 };
            thread.demanded += thread.phases.demand * time;
            if from >= thread.stalled_until {
                thread.done += got * capacity * time;
            }
        }
        self.busy[core] += (1.0 - left) * time;
    }

    /// Ends an interval of that length.
    fn remap(&mut self, policy: &mut Active, interval_ns: u64, now: u64) -> Result<(), Error> {
        match policy {
            Active::Static => return Ok(()),
            Active::Ftfc(ftfc) => {
                let share = |ns: f64| (ns / interval_ns as f64).min(1.0);
                let usage = |thread: &Thread| Usage { busy: share(thread.busy), ready: share(thread.ready) };
                self.usages.clear();
                self.usages.extend(self.threads.iter().map(usage));
                self.mapping.clone_from(ftfc.step(&self.usages)?);
            }
            Active::Oracle(mapper) => {
                self.demands.clear();
                self.demands.extend(self.threads.iter().map(|thread| thread.phases.demand));
                mapper.map(&self.demands, &mut self.mapping)?;
            }
        }
        for thread in &mut self.threads {
            (thread.busy, thread.ready) = (0.0, 0.0);
        }
        for &thread in self.mapping.moved() {
            self.threads[thread].stalled_until = now.saturating_add(self.settings.migration_ns);
            self.migrations += 1;
        }
        if !self.mapping.moved().is_empty() {
            self.gather();
        }
        Ok(())
    }

    fn report(&self, span_ns: u64) -> FairReport {
        let span = span_ns as f64;
        let progress = |thread: &Thread| if thread.demanded > 0.0 { thread.done / thread.demanded } else { 1.0 };
        let progress: Vec<f64> = self.threads.iter().map(progress).collect();
        let busy: Vec<f64> = self.busy.iter().map(|busy| busy / span).collect();
        let CorePower { idle, idle_exponent, busy: active, busy_exponent } = self.settings.power;
        let drawn = |(&capacity, &busy): (&f64, &f64)| {
            idle * capacity.powf(idle_exponent) + active * capacity.powf(busy_exponent) * busy
        };
        FairReport {
            throughput: self.threads.iter().map(|thread| thread.done).sum::<f64>() / span,
            power: self.settings.cores.capacities().iter().zip(&busy).map(drawn).sum(),
            fairness: jain(&progress),
            migrations_per_second: self.migrations as f64 / (span / 1e9),
            busy,
            progress,
        }
    }
}

/// Jain's index of at least one value; 1 where all are 0.
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 }
}
