//! What a schedule is expected to draw.

use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

/// The power of a pipeline, by the busy-time model: the machine draws its idle power, and each core on top of it what its
/// kind draws for the share of the time that it is busy.
///
/// For a fixed period the cores' energy per execution is the sum of each stage's work times the watts of its kind: how
/// many replicas share the work changes nothing. With the watts of a least-squares fit the model differs from the power
/// measured in Table 2 of Idouar et al., at the periods measured there, by 1.2 to 1.9 % in the mean and 6 % at most on three
/// of its four machines, and by 13 % in the mean and 29 % at most on the fourth, whose clock depends on the load. Where a
/// plan promises a shorter period than is reached, it also promises more power than is drawn.
///
/// # Example
///
/// ```
/// use bief_schedule::{Platform, Power, Profile, Schedule, Stage, TaskProfile};
///
/// let profile = Profile::new(["big"], [TaskProfile::replicable("decode", [900_000])])?;
/// let platform = Platform::from_json(
///     r#"{"format": 1, "kinds": [{"name": "big", "cores": 4, "watts": 5.0}], "idle_watts": 3.0}"#,
/// )?;
/// let schedule = Schedule::new("hand", [Stage::new(1, 2, "big")], &profile)?;
/// let power = Power::of(&schedule, &profile, &platform)?.unwrap();
/// assert_eq!(power.watts, 13.0);
/// assert_eq!(power.joules_per_frame, 13.0 * 450e-6);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// What the machine draws, in watts: without its idle power where the platform does not know that. A chain of no weight
    /// draws nothing on top of it.
    pub watts: f64,
    /// The energy for each frame, in joules.
    pub joules_per_frame: f64,
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
        let mut watts = platform.idle_watts().unwrap_or(0.0);
        for (stage, load) in schedule.stages().iter().zip(schedule.loads(profile)?) {
            let Some(of_kind) = platform.watts(&stage.kind) else { return Ok(None) };
            // In a period of no time nothing is done.
            let busy = if period == Period::ZERO { 0.0 } else { load.work_ns as f64 / period.ns() };
            watts += of_kind * busy;
        }
        let joules_per_frame = watts * period.ns() / 1e9 / f64::from(profile.frames_per_execution());
        Ok(Some(Self { watts, joules_per_frame }))
    }
}
