//! Plans of a network on big and little cores.

use bief::schedule::strategy::{Exact, Otac, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, TaskProfile, strategy};
use bief_cli::failure::Failure;
use serde::Serialize;

/// Big and little cores.
const CORES: [(u32, u32); 4] = [(1, 1), (2, 2), (2, 4), (4, 4)];
/// Strategies by their names.
const STRATEGIES: [&str; 5] = ["exact", "exact:one-kind", "herad", "two_catac", "fertac"];

/// What is planned on some cores.
#[derive(Debug, Serialize)]
pub(super) struct Planned {
    pub(super) big: u32,
    pub(super) little: u32,
    /// Frames per second of all cores always busy, with nothing handed over.
    bound: f64,
    /// Frames per second by what plans; none of what has no plan there.
    pub(super) rates: Vec<(&'static str, f64)>,
}

/// The plans of a profile of one kind of cores: those of the other kind are slower.
pub(super) fn all(profile: &Profile, slower: f64) -> Result<Vec<Planned>, Failure> {
    let both = |ns: u64| vec![ns, (ns as f64 * slower).round() as u64];
    let task = |task: &TaskProfile| {
        let cut = |ns: &Option<Vec<u64>>| both(ns.as_ref().map_or(0, |ns| ns[0]));
        let ns = both(task.ns[0].unwrap_or(0));
        let made = match task.replicable {
            true => TaskProfile::replicable(&*task.name, ns),
            false => TaskProfile::sequential(&*task.name, ns),
        };
        made.with_cut_ns(cut(&task.enter_ns), cut(&task.leave_ns))
    };
    // Source and sink only copy: the network alone is compared, as replicas of the whole have it.
    let tasks: Vec<TaskProfile> = profile.tasks().iter().filter(|task| task.replicable).map(task).collect();
    let sequential = |task: &TaskProfile| TaskProfile { replicable: false, ..task.clone() };
    let make = |tasks: Vec<TaskProfile>| Profile::new(["big", "little"], tasks).map_err(Failure::from_error);
    let (network, alone) = (make(tasks.clone())?, make(tasks.iter().map(sequential).collect())?);
    let whole: u64 = tasks.iter().map(|task| task.ns[0].unwrap_or(0)).sum();
    let plan = |(big, little): (u32, u32)| {
        let platform = |big, little| Platform::new([CoreKind::new("big", big), CoreKind::new("little", little)]);
        let cores = platform(big, little).map_err(Failure::from_error)?;
        let rate = |profile: &Profile, strategy: &dyn Strategy, cores: &Platform| {
            let schedule = strategy.schedule(profile, cores).ok()?;
            Some(1e9 / schedule.period(profile).ok()?.ns())
        };
        let mut rates = Vec::new();
        for name in STRATEGIES {
            let strategy = strategy(name).map_err(Failure::from_error)?;
            rates.extend(rate(&network, strategy, &cores).map(|rate| (name, rate)));
        }
        let big_alone = platform(big, 0).map_err(Failure::from_error)?;
        rates.extend(rate(&network, &Otac, &big_alone).map(|rate| ("otac, big alone", rate)));
        // Each segment on one core at most; and big cores alone, so.
        rates.extend(rate(&alone, &Exact, &cores).map(|rate| ("no replicas", rate)));
        rates.extend(rate(&alone, &Exact, &big_alone).map(|rate| ("big, no replicas", rate)));
        let bound = (f64::from(big) + f64::from(little) / slower) * 1e9 / whole.max(1) as f64;
        Ok(Planned { big, little, bound, rates })
    };
    CORES.into_iter().map(plan).collect()
}

pub(super) fn heading() -> String {
    let cores: String = CORES.iter().map(|(big, little)| format!("  {:>14}", format!("{big}+{little}"))).collect();
    format!("{:18}{cores}", "")
}

/// A line for each that plans.
pub(super) fn rows(plans: &[Planned]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in plans.iter().flat_map(|plan| &plan.rates) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let row = |name: &&str| {
        let cell = |plan: &Planned| match plan.rates.iter().find(|(own, _)| own == name) {
            Some((_, rate)) => format!("  {:>7} {:>5.1}%", shown(*rate), 100.0 * rate / plan.bound),
            None => format!("  {:>14}", "-"),
        };
        format!("{name:18}{}", plans.iter().map(cell).collect::<String>())
    };
    let bound = plans.iter().map(|plan| format!("  {:>7} {:>6}", shown(plan.bound), ""));
    let bound = format!("{:18}{}", "all cores busy", bound.collect::<String>());
    names.iter().map(row).chain([bound.trim_end().to_owned()]).collect()
}

fn shown(rate: f64) -> String {
    bief_cli::units::significant(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_of_the_whole_keep_all_cores_busy() {
        let tasks =
            (0..5).map(|task| TaskProfile::replicable(format!("t{task}"), [1000 + task * 100]).with_cut_ns([50], [50]));
        let profile = Profile::new(["core"], tasks).unwrap();
        for plan in all(&profile, 2.5).unwrap() {
            let rate = |name: &str| plan.rates.iter().find(|(own, _)| *own == name).unwrap().1;
            assert!((rate("exact") / plan.bound - 1.0).abs() < 1e-3, "{plan:?}");
            assert!(
                rate("exact") >= rate("otac, big alone") && rate("no replicas") >= rate("big, no replicas"),
                "{plan:?}"
            );
        }
    }
}
