//! How many executions a launch has: the search knows nothing of it, and is made for each number.

use crate::error::Error;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{FrontPoint, Schedule, Stage};

/// How much longer than the shortest a period may be for launches of fewer executions, whose frames wait for fewer others.
const ALIKE: f64 = 1.01;

/// The schedule that `solve` finds, with the fewest executions a launch for which it finds one that `serves`; or, `by_period`, with the
/// fewest for which its period is about as short as with any.
///
/// # Errors
/// That of one execution a launch, where no number does.
pub(super) fn fewest(
    profile: &Profile,
    platform: &Platform,
    by_period: bool,
    serves: impl Fn(&Schedule) -> Result<bool, Error>,
    solve: impl Fn(&Profile) -> Result<Schedule, Error>,
) -> Result<Schedule, Error> {
    let cores = platform.cores_for(profile)?;
    let most_of = |kind: usize| profile.gather(kind).filter(|_| cores[kind] > 0).map_or(1, |gather| gather.most);
    let most = (0..cores.len()).map(most_of).max().unwrap_or(1);
    let alone = solve(profile);
    if most == 1 {
        return alone;
    }
    let mut found: Vec<Schedule> = Vec::new();
    let powers = (1..).map(|power| 1_u32 << power).take_while(|&executions| executions < most);
    for executions in powers.chain([most]) {
        let number_of = |kind: usize| most_of(kind).min(executions);
        let gathering = (0..cores.len())
            .fold(profile.clone(), |profile, kind| profile.gathering(kind, number_of(kind)).into_owned());
        let gathered = |stage: Stage| {
            let kind = stage.kind().and_then(|kind| profile.kind(kind));
            kind.map_or(stage.clone(), |kind| stage.gathering(number_of(kind)))
        };
        if found.is_empty()
            && let Ok(alone) = &alone
            && serves(alone)?
        {
            found.push(alone.clone());
        }
        if !by_period && !found.is_empty() {
            break;
        }
        let Ok(schedule) = solve(&gathering) else { continue };
        let stages = schedule.stages().iter().cloned().map(gathered);
        let point = |point: &FrontPoint| FrontPoint::new(point.stages.iter().cloned().map(gathered).collect());
        let front: Vec<FrontPoint> = schedule.front().iter().map(point).collect();
        let told = Schedule::new(schedule.strategy(), stages, profile)?.with_front(front)?;
        let told = schedule.watts().map_or(Ok(told.clone()), |watts| told.with_watts(watts))?;
        if serves(&told)? {
            found.push(told);
        }
    }
    let shortest = found.iter().map(|schedule| schedule.planned_period().ns()).fold(f64::INFINITY, f64::min);
    let is_alike = |schedule: &Schedule| !by_period || schedule.planned_period().ns() <= ALIKE * shortest;
    found.into_iter().find(is_alike).map_or(alone, Ok)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::strategy::Exact;
    use crate::{Gather, Goal, Platform, Profile, Strategy as _, TaskProfile};

    /// Tasks whose launches of `measured` executions take `launch_ns`, and what each execution takes.
    fn profile(tasks: &[(bool, u64, Option<u64>)], gather: Gather, launch_ns: u64) -> Profile {
        let of_tasks = tasks.iter().map(|&(replicable, cpu, gpu)| TaskProfile {
            replicable,
            ns: vec![Some(cpu), gpu.map(|gpu| gpu + launch_ns)],
            gathered_ns: Some(vec![None, gpu.map(|gpu| launch_ns + u64::from(gather.measured) * gpu)])
                .filter(|_| gather.measured > 1),
            ..TaskProfile::sequential("t", [0])
        });
        let bare = tasks.iter().map(|_| TaskProfile::sequential("t", [0, 0]));
        let profile = Profile::new(["cpu", "gpu"], bare).unwrap().with_lanes([None, Some(3)]).unwrap();
        profile.with_gather([None, Some(gather)]).unwrap().with_tasks(of_tasks.collect::<Vec<_>>()).unwrap()
    }

    proptest! {
        #[test]
        fn launches_are_as_small_as_the_shortest_period_allows(
            tasks in prop::collection::vec((any::<bool>(), 1u64..500, prop::option::of(0u64..100)), 1..6),
            (most, measured) in (1u32..40).prop_flat_map(|most| (Just(most), 1..=most)),
            launch_ns in 0u64..300,
            sync_ns in 0u64..100,
            cores in 1u32..5,
        ) {
            let profile = profile(&tasks, Gather { most, measured }, launch_ns).with_sync_ns([1, sync_ns]).unwrap();
            let platform = Platform::parse_cores(&format!("cpu={cores},gpu=1"), &profile).unwrap();
            let found = Exact.schedule(&profile, &platform).unwrap();
            found.check(&profile, &platform).unwrap();
            prop_assert_eq!(found.period(&profile).unwrap(), found.planned_period());
            // The shortest of each number of executions, as the search finds it for times that are shared by so many.
            let of = |executions: u32| {
                let shared = profile.gathering(1, executions).into_owned();
                let tasks = shared.tasks().iter().map(|task| TaskProfile { gathered_ns: None, ..task.clone() });
                let tasks: Vec<TaskProfile> = tasks.collect();
                let shared = shared.with_tasks(tasks).unwrap().with_gather([None, None]).unwrap();
                Exact.schedule(&shared, &platform).unwrap().planned_period().ns()
            };
            let tried = (0..).map(|power| 1 << power).take_while(|&executions| executions < most).chain([most]);
            let tried: Vec<(u32, f64)> = tried.map(|executions| (executions, of(executions))).collect();
            let shortest = tried.iter().map(|(_, period)| *period).fold(f64::INFINITY, f64::min);
            let &(fewest, period) = tried.iter().find(|(_, period)| *period <= 1.01 * shortest).unwrap();
            prop_assert_eq!(found.planned_period().ns(), period);
            let gathered = found.stages().iter().map(|stage| stage.gather).max().unwrap();
            let is_there = found.stages().iter().any(|stage| stage.kind() == Some("gpu"));
            prop_assert_eq!(gathered, if is_there { fewest } else { 1 });
            prop_assert!(found.stages().iter().all(|stage| stage.gather == 1 || stage.kind() == Some("gpu")));
        }
    }

    #[test]
    fn frames_of_a_launch_wait_for_each_other_and_a_latency_limits_them() {
        let profile = profile(&[(true, 900, Some(20))], Gather { most: 16, measured: 8 }, 80);
        let platform = Platform::parse_cores("gpu=1", &profile).unwrap();
        let planned = |goal: &str| Exact.plan(&profile, &platform, &goal.parse::<Goal>().unwrap()).unwrap();
        let fast = planned("max-throughput");
        assert_eq!((fast.stages()[0].gather, fast.planned_period().ns()), (16, 25.0));
        assert_eq!(fast.latency_ns(&profile).unwrap(), 16 * 25);
        let handing_over = profile.clone().with_sync_ns([0, 160]).unwrap();
        let once_a_launch = Exact.schedule(&handing_over, &platform).unwrap();
        assert_eq!((once_a_launch.stages()[0].gather, once_a_launch.planned_period().ns()), (16, 25.0));
        assert_eq!(handing_over.gathering(1, 16).sync_ns(1), 10);
        let quick = planned("max-throughput,latency=200ns");
        assert_eq!((quick.stages()[0].gather, quick.latency_ns(&profile).unwrap()), (4, 160));
        // As few as the demand allows.
        let paced = planned("fewest-cores,period=70ns");
        assert_eq!((paced.stages()[0].gather, paced.planned_period().ns()), (2, 60.0));
        let error = |gather: Gather| profile.clone().with_gather([None, Some(gather)]).unwrap_err().to_string();
        let none = error(Gather { most: 0, measured: 1 });
        assert!(none.contains("0 executions a launch: write from 1 to 1024"), "{none}");
        let wrong = error(Gather { most: 4, measured: 5 });
        assert!(wrong.contains("measured by launches of 5 executions: write from 1 to most, 4"), "{wrong}");
        let alone = error(Gather { most: 4, measured: 1 });
        assert!(alone.contains("(`t`): the time of a launch of several executions on `gpu`"), "{alone}");
        let again = Profile::from_json(&profile.to_json()).unwrap();
        assert_eq!(again, profile);
    }
}
