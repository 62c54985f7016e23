//! The expected power of a schedule, and the power of cores fitted to measured runs.

mod fit;

use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

pub use fit::{FitErrors, FittedKind, FittedRow, PowerFit, PowerRow};

/// The power of a pipeline, by the busy-time model: the idle power of the machine, plus the power of each core for the
/// share of the time that it is busy.
///
/// For a fixed period the cores' energy per execution is the sum of each stage's work times the watts of its kind: how
/// many replicas share the work changes nothing. A kind with a [saturation](crate::CoreKind::saturation) draws less for
/// each further busy core, as a processor at its power limit does.
///
/// With the watts of a least-squares fit ([`PowerFit`]) the model differs from the power measured in Table 2 of Idouar et
/// al., at the periods measured there, by 1.2 to 2.0 % in the mean and 6 % at most on three of its four machines, and by
/// 4.8 % in the mean and 18 % at most on the fourth, with saturation. Where a plan promises a shorter period than is
/// reached, it also promises more power than is drawn: with the planned periods the model differs by 2.3 to 6.2 % in the
/// mean.
///
/// # Example
///
/// ```
/// use bief_schedule::{Platform, Power, Profile, Schedule, Stage, TaskProfile};
///
/// let profile = Profile::new(["big"], [TaskProfile::replicable("decode", [900_000])])?.with_bits_per_frame(1000)?;
/// let platform = Platform::from_json(
///     r#"{"format": 1, "kinds": [{"name": "big", "cores": 4, "watts": 5.0}], "idle_watts": 3.0}"#,
/// )?;
/// let schedule = Schedule::new("hand", [Stage::new(1, 2, "big")], &profile)?;
/// let power = Power::of(&schedule, &profile, &platform)?.unwrap();
/// assert_eq!(power.watts, 13.0);
/// assert_eq!(power.joules_per_frame, 13.0 * 450e-6);
///
/// // What was measured: 1.5 cores were busy on average, and an execution ended every 600 us.
/// let power = Power::busy([("big", 1.5)], 600_000.0, &profile, &platform).unwrap();
/// assert_eq!(power.watts, 10.5);
/// assert_eq!(power.joules_per_bit, Some(6.3e-6));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// What the machine draws, in watts: without its idle power where the platform does not know that. A chain of no weight
    /// draws nothing on top of it.
    pub watts: f64,
    /// The energy for each execution of the chain, in joules.
    pub joules_per_execution: f64,
    /// The energy for each frame, in joules.
    pub joules_per_frame: f64,
    /// The energy for each bit of use, in joules; `None` where the chain carries no bits.
    pub joules_per_bit: Option<f64>,
}

impl Power {
    /// The power of the pipeline that runs as fast as it can; `None` where the platform does not know the watts of a kind
    /// that the schedule uses.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`](crate::ErrorKind::Schedule) where the schedule does not go with the profile.
    pub fn of(schedule: &Schedule, profile: &Profile, platform: &Platform) -> Result<Option<Self>, Error> {
        Self::paced(schedule, profile, platform, schedule.period(profile)?)
    }

    /// The power of the pipeline that gets its input with that period, no shorter than its own.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    pub fn paced(
        schedule: &Schedule,
        profile: &Profile,
        platform: &Platform,
        period: Period,
    ) -> Result<Option<Self>, Error> {
        let busy = schedule.busy_cores(profile, period.ns())?;
        let busy = busy.iter().map(|(kind, &busy)| (kind.as_str(), busy));
        Ok(Self::busy(busy, period.ns(), profile, platform))
    }

    /// The power of a pipeline of which so many cores of each kind are busy on average, measured or foreseen
    /// ([`Schedule::busy_cores`]), and whose period is so many nanoseconds; `None` where the platform does not know the watts
    /// of a kind. A kind may be named several times: its cores add up.
    pub fn busy<'a>(
        busy: impl IntoIterator<Item = (&'a str, f64)>,
        period_ns: f64,
        profile: &Profile,
        platform: &Platform,
    ) -> Option<Self> {
        let mut of_kinds = vec![0.0; platform.kinds().len()];
        for (name, busy) in busy {
            let kind = platform.kinds().iter().position(|kind| kind.name == name && kind.watts.is_some())?;
            of_kinds[kind] += busy;
        }
        let above_idle = platform.kinds().iter().zip(of_kinds).filter_map(|(kind, busy)| kind.power(busy));
        let watts = above_idle.fold(platform.idle_watts().unwrap_or(0.0), |watts, of_kind| watts + of_kind);
        let joules_per_execution = watts * period_ns / 1e9;
        let joules_per_frame = joules_per_execution / f64::from(profile.frames_per_execution());
        let joules_per_bit = profile.bits_per_frame().map(|bits| joules_per_frame / bits as f64);
        Some(Self { watts, joules_per_execution, joules_per_frame, joules_per_bit })
    }
}
