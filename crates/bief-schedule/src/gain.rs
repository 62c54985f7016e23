//! What one more core would bring.

use crate::error::Error;
use crate::period::Period;
use crate::platform::{CoreKind, Platform};
use crate::profile::Profile;
use crate::strategy::Exact;

/// One more core of a kind, and the shortest period that it makes possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gain {
    /// The kind of the core.
    pub kind: String,
    /// The shortest period with it.
    pub period: Period,
}

/// The gain from one more core of each kind of which the platform has some, but fewer than [`Platform::MAX_CORES`]: the
/// kinds that shorten the shortest period, largest gain first.
///
/// Nothing is gained where a task that may not be replicated limits the period; only a faster task or core helps there.
///
/// # Errors
///
/// Those of [`Exact::optimum`], whose stages may have cores of several kinds; [`Exact::gains`] is for others, too.
///
/// # Example
///
/// ```
/// use bief_schedule::{Period, Platform, Profile, TaskProfile, gains};
///
/// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("decode", [300, 600])])?;
/// let gains = gains(&profile, &Platform::parse_cores("big=2,little=4", &profile)?)?;
/// assert_eq!(gains[0].kind, "big");
/// assert_eq!(gains[0].period, Period::from(60));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub fn gains(profile: &Profile, platform: &Platform) -> Result<Vec<Gain>, Error> {
    Exact.gains(profile, platform)
}

impl Exact {
    /// The [gains](gains()) where schedules have such stages.
    ///
    /// # Errors
    ///
    /// Those of [`optimum`](Self::optimum).
    pub fn gains(&self, profile: &Profile, platform: &Platform) -> Result<Vec<Gain>, Error> {
        let now = self.optimum(profile, platform)?.period();
        let mut gains = Vec::new();
        for (index, kind) in platform.kinds().iter().enumerate() {
            if kind.cores == 0 || kind.cores == Platform::MAX_CORES {
                continue;
            }
            let mut kinds = platform.kinds().to_vec();
            kinds[index] = CoreKind { cores: kind.cores + 1, ..kind.clone() };
            let period = self.optimum(profile, &Platform::new(kinds)?)?.period();
            if period < now {
                gains.push(Gain { kind: kind.name.clone(), period });
            }
        }
        gains.sort_by_key(|gain| gain.period);
        Ok(gains)
    }
}
