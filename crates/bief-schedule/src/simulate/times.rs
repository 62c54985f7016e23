//! How long a task takes, execution by execution.

use std::ops::Range;

use fastrand::Rng;

use crate::error::{Error, ErrorKind};
use crate::profile::Profile;

/// How the times of the tasks vary from execution to execution.
///
/// Each task of each execution draws its time on its own: one slow task makes no other slow. The time that a stage spends on
/// handing over is that of the profile and does not vary. Times in nanoseconds; drawn ones are rounded to the nearest.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Times {
    /// The times of the profile, every time.
    #[default]
    Constant,
    /// The time of the profile by a factor that is uniform from 1 - `spread` to 1 + `spread`. The mean is the profile's.
    Uniform {
        /// From 0 to 1.
        spread: f64,
    },
    /// The time of the profile and a delay, exponentially distributed: mostly small, sometimes many times its mean, as what
    /// interrupts a core. The mean is longer than the profile's by `mean_ns`. A delay does not depend on the core's speed.
    /// It takes a logarithm, whose last bit may differ between machines, and with it, rarely, a time by 1 ns.
    Exponential {
        /// The mean delay of one task in one execution, in nanoseconds; 0 or more.
        mean_ns: f64,
    },
    /// One of the measured times, each as likely as the others, whatever was drawn before. The profile's times are not used.
    ///
    /// `samples[task][kind]` are the nanoseconds measured of a task on a kind of core, in the order of the profile's tasks
    /// and kinds; at least one for the kind that the task runs on, none needed for the others.
    Samples(Vec<Vec<Vec<u64>>>),
}

impl Times {
    /// Checks that there are times for the tasks of a stage on the kinds of core that it runs on.
    pub(super) fn check(&self, profile: &Profile, tasks: Range<usize>, kinds: &[usize]) -> Result<(), Error> {
        match self {
            Self::Constant => Ok(()),
            Self::Uniform { spread } if (0.0..=1.0).contains(spread) => Ok(()),
            Self::Uniform { spread } => Err(refused("spread", format!("{spread}: write a share from 0 to 1"))),
            Self::Exponential { mean_ns } if mean_ns.is_finite() && *mean_ns >= 0.0 => Ok(()),
            Self::Exponential { mean_ns } => {
                Err(refused("mean_ns", format!("{mean_ns} ns: write a finite mean delay of 0 ns or more")))
            }
            Self::Samples(samples) => check_samples(samples, profile, tasks, kinds),
        }
    }

    /// Draws the time of a task that takes `ns` by the profile, on a core of the given kind and speed; `None` where it is
    /// 2^64 ns or more.
    pub(super) fn draw(&self, task: usize, ns: u64, kind: usize, speed: f64, random: &mut Rng) -> Option<u64> {
        match self {
            Self::Constant => at_speed(ns, speed),
            Self::Uniform { spread } => rounded(ns as f64 * (1.0 + spread * (2.0 * random.f64() - 1.0)) / speed),
            Self::Exponential { mean_ns } => {
                let delay = -(1.0 - random.f64()).ln() * mean_ns;
                at_speed(ns, speed)?.checked_add(rounded(delay)?)
            }
            Self::Samples(samples) => {
                let samples = &samples[task][kind];
                at_speed(samples[random.usize(..samples.len())], speed)
            }
        }
    }
}

/// What takes `ns` at full speed; exact there. `None` where it is 2^64 ns or more.
pub(super) fn at_speed(ns: u64, speed: f64) -> Option<u64> {
    if speed == 1.0 { Some(ns) } else { rounded(ns as f64 / speed) }
}

fn rounded(ns: f64) -> Option<u64> {
    (ns < 2f64.powi(64)).then_some(ns.round() as u64)
}

fn check_samples(
    samples: &[Vec<Vec<u64>>],
    profile: &Profile,
    stage: Range<usize>,
    kinds: &[usize],
) -> Result<(), Error> {
    let (given, tasks) = (samples.len(), profile.tasks().len());
    if given != tasks {
        let reason = format!("they are of {given} tasks, the profile has {tasks}: give one list per task");
        return Err(refused("samples", reason));
    }
    for (index, (task, samples)) in profile.tasks().iter().zip(samples).enumerate().take(stage.end).skip(stage.start) {
        let place = format!("samples[{index}] (`{}`)", task.name);
        if samples.len() != profile.kinds().len() {
            let reason = format!(
                "they are for {} kinds of cores, the profile has {}: give one list per kind, an empty one for a kind \
                 that the task does not run on",
                samples.len(),
                profile.kind_list()
            );
            return Err(refused(&place, reason));
        }
        if let Some(&kind) = kinds.iter().find(|&&kind| samples[kind].is_empty()) {
            let name = &profile.kinds()[kind];
            let reason = format!("there is none for `{name}`, on which the task runs: give at least one time");
            return Err(refused(&place, reason));
        }
    }
    Ok(())
}

fn refused(place: &str, reason: String) -> Error {
    Error::new(ErrorKind::Simulation, format!("simulated times, {place}"), reason)
}
