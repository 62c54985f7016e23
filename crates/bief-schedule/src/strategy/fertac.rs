//! FERTAC: the least power-hungry cores first.

use super::greedy::{Greedy, MAX_KINDS};
use super::{Capabilities, Strategy, given_cores, no_schedule};
use crate::error::Error;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

/// A short period on cores of two kinds: each stage on little cores, or on big ones where little ones cannot keep
/// the period.
///
/// *First Efficient Resources for Task Chains* (Algorithm 4 of Idouar et al., *Energy-Aware Scheduling Strategies
/// for Partially-Replicable Task Chains on Heterogeneous Processors*) halves an interval of periods down to
/// `1 / (big + little)` nanoseconds, and packs each stage as [`Otac`](super::Otac) does. A choice is never taken
/// back, so that the period may be longer than the shortest. The published errors are corrected.
///
/// The first kind of the profile that has cores is big, the second little; with cores of one kind only, all
/// stages are on them.
///
/// One period is tried in time proportional to the stages and the logarithm of the tasks.
///
/// ```
/// use bief_schedule::strategy::Fertac;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [200, 300]),
///         TaskProfile::replicable("filter", [600, 900]),
///         TaskProfile::sequential("send", [500, 1500]),
///     ],
/// )?;
/// let schedule = Fertac.schedule(&profile, &Platform::parse_cores("big=1,little=3", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(500));
/// let stages = [Stage::new(1, 1, "little"), Stage::new(1, 2, "little"), Stage::new(1, 1, "big")];
/// assert_eq!(schedule.stages(), stages);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fertac;

impl Strategy for Fertac {
    fn name(&self) -> &'static str {
        "fertac"
    }

    fn summary(&self) -> &'static str {
        "A short period on two kinds of cores, each stage on little ones if they can keep it."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_kinds: MAX_KINDS, absent_times: true, ..Capabilities::default() }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let greedy = Greedy::new(profile, &given_cores(self, profile, platform)?);
        let precision = greedy.cores().iter().sum();
        let stages = greedy.search(precision, |target, stages| Ok(greedy.least_power_first(target, stages)))?;
        let stages = stages.ok_or_else(|| no_schedule(self, "take `exact`, or give more cores"))?;
        Schedule::new(self.name(), stages, profile)
    }
}
