//! The strategy that is taken where nobody names one.

use bief_schedule::strategy::{Exact, Shared, Strategy};
use bief_schedule::{Capabilities, Error, Goal, Platform, Profile, Schedule};

/// On so many cores at most: with more, a core for each replica wastes little, and it was not seen that as much is gained as planned.
const MOST_CORES: u32 = 4;
/// Of chains of so many tasks at most: it takes a tenth of a second, and longer by their square.
const MOST_TASKS: usize = 1000;

/// [`Exact`](struct@Exact); for the shortest period on few cores, where the profile tells what it [costs](Profile::switch_ns) that stages
/// share them, [`Shared`] if that is shorter. Runs gain more than planned: what is late on one core, the others do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual;

impl Strategy for Usual {
    fn name(&self) -> &'static str {
        Exact.name()
    }

    fn summary(&self) -> &'static str {
        Exact.summary()
    }

    fn capabilities(&self) -> Capabilities {
        Exact.capabilities()
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let cores = platform.kinds().iter().fold(0_u32, |sum, kind| sum.saturating_add(kind.cores));
        let is_known = (0..profile.kinds().len()).all(|kind| profile.switch_ns(kind).is_some());
        if cores > MOST_CORES || profile.tasks().len() > MOST_TASKS || !is_known {
            return Exact.schedule(profile, platform);
        }
        // It refuses what only `Exact` can plan for, and has the stages of that where it gains nothing.
        let shared = Shared.schedule(profile, platform).ok().filter(Schedule::is_oversubscribed);
        shared.map_or_else(|| Exact.schedule(profile, platform), Ok)
    }

    fn plan(&self, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
        if *goal == Goal::default() { self.schedule(profile, platform) } else { Exact.plan(profile, platform, goal) }
    }
}

#[cfg(test)]
mod tests {
    use bief_schedule::TaskProfile;

    use super::*;

    /// Who makes the plan on two cores, and its period, where a change of threads takes so long.
    fn planned(switch_ns: Option<u64>, goal: &str) -> (String, f64) {
        planned_on("2", switch_ns, goal)
    }

    fn planned_on(cores: &str, switch_ns: Option<u64>, goal: &str) -> (String, f64) {
        let tasks = [
            TaskProfile::sequential("read", [100]),
            TaskProfile::replicable("decode", [1000]),
            TaskProfile::sequential("write", [100]),
        ];
        let profile = Profile::new(["cpu"], tasks).unwrap();
        let profile = match switch_ns {
            Some(ns) => profile.with_switch_ns([ns]).unwrap(),
            None => profile,
        };
        let platform = Platform::parse_cores(cores, &profile).unwrap();
        let schedule = Usual.plan(&profile, &platform, &goal.parse().unwrap()).unwrap();
        (schedule.strategy().to_owned(), schedule.planned_period().ns())
    }

    #[test]
    fn stages_share_cores_where_something_is_gained_beyond_what_it_costs() {
        let default = &Goal::default().to_string();
        let [exact, shared] = ["exact", "shared"].map(String::from);
        assert_eq!(planned(None, default), (exact.clone(), 1100.0), "nobody measured the cost");
        assert_eq!(planned(Some(0), default), (shared.clone(), 600.0));
        assert_eq!(planned(Some(100), default), (shared, 750.0));
        assert_eq!(planned(Some(350), default), (exact.clone(), 1100.0), "1125 is longer");
        assert_eq!(planned_on("5", Some(0), default), (exact.clone(), 1000.0 / 3.0), "there are many cores");
        assert_eq!(planned(Some(0), "fewest-cores,period=1100ns"), (exact.clone(), 1100.0));
        assert_eq!(planned(Some(0), "fewest-cores"), (exact, 1100.0));
    }
}
