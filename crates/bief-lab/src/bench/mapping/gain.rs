//! How much more work threads do when they are mapped by what they need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::Machine;
use bief::machine::mapper::{MapSettings, ThreadMapper};
use bief::placement::Policy;
use bief::schedule::mapping::{Algorithm, FtfcSettings};
use bief_cli::failure::Failure;

use super::Setting;
use super::worker::{Needs, Worker};
use crate::bench::case::{Case, Reading};

/// The group of their names.
pub(super) const NAME: &str = "gain";
/// How much more than fair a mapping is to bring, as a share.
pub(super) const AIM: f64 = 0.1;

/// Demands change this often, in a run that is long enough.
const PHASE: Duration = Duration::from_secs(1);
/// Until all threads are there.
const START: Duration = Duration::from_millis(50);

/// Threads with different demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    Swap,
    Bimodal,
    Crowded,
}

const MIXES: [(Mix, &str, &str); 3] = [
    (Mix::Swap, "swap", "swap: 0.85 and 0.25 of a fast core by turns"),
    (Mix::Bimodal, "bimodal", "bimodal: 0.95 or 0.15 at random"),
    (Mix::Crowded, "crowded", "crowded: as bimodal, two threads per core"),
];

/// Who decides where threads run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Linux,
    Chance,
    Mapper(Algorithm, Duration),
    Nobody,
}

pub(super) const FAIR: &str = "fair";
pub(super) const FIXED: &str = "fixed";
pub(super) const IDEAL: &str = "ideal";

fn mappings() -> [(&'static str, By); 6] {
    let bsm = FtfcSettings::default().algorithm;
    let [often, usual] = [1, 5].map(Duration::from_millis);
    [
        (FAIR, By::Linux),
        (FIXED, By::Chance),
        ("bsm-1ms", By::Mapper(bsm, often)),
        ("bsm-5ms", By::Mapper(bsm, usual)),
        ("rank-5ms", By::Mapper(Algorithm::RANK, usual)),
        (IDEAL, By::Nobody),
    ]
}

pub(super) fn cases(setting: &Setting) -> Vec<Case> {
    let mut cases = Vec::new();
    for (mix, name, title) in MIXES {
        for (mapping, by) in mappings() {
            let setting = setting.clone();
            let mut round = 0;
            let measure = move || {
                round += 1;
                let trial = Trial::new(mix, &setting, round);
                trial.run(by, &setting).map(Reading::from).map_err(Failure::from_error)
            };
            cases.push(Case::new(format!("{NAME}/{name}/{mapping}"), (title, "work/s"), measure));
        }
    }
    cases
}

/// What threads need in one round, the same for all mappings.
struct Trial {
    /// Of each thread, in each phase.
    demands: Vec<Vec<f64>>,
    phase: Duration,
    random: fastrand::Rng,
}

impl Trial {
    fn new(mix: Mix, setting: &Setting, round: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(round);
        let phase = PHASE.min(setting.time / 2);
        let phases = (setting.time.as_secs_f64() / phase.as_secs_f64()).round() as usize;
        let cores = setting.machine.cores().len();
        let mut demand = |thread: usize, phase: usize| match mix {
            Mix::Swap => [0.85, 0.25][(thread + phase) % 2],
            Mix::Bimodal | Mix::Crowded => [0.95, 0.15][usize::from(random.bool())],
        };
        let threads = if mix == Mix::Crowded { 2 * cores } else { cores };
        let demands = (0..threads).map(|thread| (0..phases).map(|phase| demand(thread, phase)).collect()).collect();
        Self { demands, phase, random }
    }

    /// The work done in a second, in seconds of the fastest core.
    fn run(mut self, by: By, setting: &Setting) -> bief::Result<f64> {
        let machine = &setting.machine;
        if by == By::Nobody {
            return Ok(self.ideal(&speeds(machine)));
        }
        let places = self.places(by, machine)?;
        let seconds = self.phase.as_secs_f64() * self.demands[0].len() as f64;
        let begin = Instant::now() + START;
        let workers = self
            .demands
            .into_iter()
            .zip(&places)
            .map(|(demands, place)| Worker::start(Needs { demands, phase: self.phase, begin }, place, machine));
        let workers = workers.collect::<bief::Result<Vec<Worker>>>()?;
        let mapper = match by {
            By::Mapper(algorithm, interval) => Some(Mapper::start(algorithm, interval, machine)?),
            _ => None,
        };
        let done = workers.into_iter().map(Worker::join).sum::<bief::Result<f64>>()?;
        if let Some(mapper) = mapper {
            setting.notes.borrow_mut().extend(mapper.stop()?);
        }
        Ok(done / seconds)
    }

    /// Where each thread may run.
    fn places(&mut self, by: By, machine: &Machine) -> bief::Result<Vec<Policy>> {
        let threads = self.demands.len();
        if by != By::Chance {
            return Ok(vec![Policy::Loose; threads]);
        }
        // As many on each core.
        let mut cores: Vec<usize> = (0..threads).map(|thread| thread % machine.cores().len()).collect();
        self.random.shuffle(&mut cores);
        cores.iter().map(|core| format!("c{core}").parse()).collect()
    }

    /// The most that can be done in a second, however cores are shared: the threads that need the most can have no more than as
    /// many of the fastest cores.
    fn ideal(&self, speeds: &[f64]) -> f64 {
        let phases = self.demands[0].len();
        let most = |phase: usize| {
            let mut demands: Vec<f64> = self.demands.iter().map(|thread| thread[phase]).collect();
            demands.sort_by(|a, b| b.total_cmp(a));
            let bound = |count: usize| -> f64 {
                speeds[..count.min(speeds.len())].iter().sum::<f64>() + demands[count..].iter().sum::<f64>()
            };
            (0..=demands.len()).map(bound).fold(f64::MAX, f64::min)
        };
        (0..phases).map(most).sum::<f64>() / phases as f64
    }
}

/// How fast the cores are, the fastest first, which is 1.
fn speeds(machine: &Machine) -> Vec<f64> {
    let kinds = machine.kinds();
    let mut speeds: Vec<f64> = machine.cores().iter().map(|core| kinds[core.kind].speed).collect();
    speeds.sort_by(|a, b| b.total_cmp(a));
    let fastest = speeds[0];
    speeds.iter_mut().for_each(|speed| *speed /= fastest);
    speeds
}

/// A mapper of all threads of this process.
struct Mapper {
    over: Arc<AtomicBool>,
    thread: JoinHandle<bief::Result<Vec<String>>>,
}

impl Mapper {
    fn start(algorithm: Algorithm, interval: Duration, machine: &Machine) -> bief::Result<Self> {
        let usual = MapSettings::default();
        let settings = MapSettings { interval, ftfc: FtfcSettings { algorithm, ..usual.ftfc }, ..usual };
        let mut mapper = ThreadMapper::of_process(std::process::id(), machine, settings)?;
        let over = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&over);
        let map = move || {
            while !stopped.load(Ordering::Relaxed) {
                mapper.wait();
                mapper.step()?;
            }
            mapper.restore();
            Ok(mapper.report().notes)
        };
        let thread = thread::Builder::new().name("mapper".to_owned()).spawn(map).map_err(bief::Error::from_source)?;
        Ok(Self { over, thread })
    }

    /// Ends it; answers what it noted.
    fn stop(self) -> bief::Result<Vec<String>> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ideal(demands: &[f64], speeds: &[f64]) -> f64 {
        let demands = demands.iter().map(|&demand| vec![demand]).collect();
        Trial { demands, phase: PHASE, random: fastrand::Rng::with_seed(1) }.ideal(speeds)
    }

    #[test]
    fn no_sharing_of_cores_does_more_than_the_ideal() {
        for (demands, speeds, most) in [
            (&[0.85, 0.25][..], &[1.0, 0.5][..], 1.1),
            (&[0.95, 0.95], &[1.0, 0.5], 1.5),
            (&[0.95], &[1.0, 0.5], 0.95),
            (&[0.15, 0.15, 0.15, 0.15], &[1.0, 0.5], 0.6),
            (&[0.95, 0.95, 0.15, 0.15], &[1.0, 0.5], 1.5),
            (&[2.0, 0.1, 0.1], &[1.0, 1.0], 1.2),
        ] {
            let found = ideal(demands, speeds);
            assert!((found - most).abs() < 1e-9, "{found} for {demands:?} on {speeds:?}");
        }
    }
}
