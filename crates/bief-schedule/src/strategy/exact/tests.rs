//! Exact against exhaustive search.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::Exact;
use crate::brute;
use crate::platform::{CoreKind, Platform};
use crate::profile::{Profile, TaskProfile};
use crate::schedule::Schedule;
use crate::strategy::Strategy as _;

/// Times of all magnitudes from 1 ns to 10 s, with many ties and zeros.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 1u64..=100,
        2 => 0u64..=3,
        1 => Just(50u64),
        1 => (0u32..=33, 1u64..=2).prop_map(|(shift, odd)| odd << shift),
        1 => 1u64..=10_000_000_000,
    ]
}

/// Whether a task may be replicated and its time on each of `kinds` kinds: unrelated, or slower from kind to kind.
fn task(kinds: usize, share: f64) -> impl Strategy<Value = (bool, Vec<u64>)> {
    let unrelated = proptest::collection::vec(time(), kinds);
    let slower = (time(), proptest::collection::vec(1u64..=5, kinds)).prop_map(|(ns, factors)| {
        let slow = factors.into_iter().scan(1, |slow, factor| {
            let here = *slow;
            *slow *= factor;
            Some(here)
        });
        slow.map(|slow| ns * slow).collect()
    });
    (proptest::bool::weighted(share), prop_oneof![unrelated, slower])
}

fn chain(kinds: usize, longest: usize) -> impl Strategy<Value = Profile> {
    let share = prop_oneof![2 => 0.0f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
    let tasks = share.prop_flat_map(move |share| proptest::collection::vec(task(kinds, share), 1..=longest));
    let sync = prop_oneof![3 => Just(vec![0; kinds]), 1 => proptest::collection::vec(0u64..=20, kinds)];
    (tasks, sync).prop_map(move |(tasks, sync)| {
        let tasks =
            tasks.into_iter().map(|(replicable, ns)| TaskProfile { replicable, ..TaskProfile::sequential("t", ns) });
        let names = ["a", "b", "c", "d"];
        Profile::new(names[..kinds].iter().copied(), tasks).unwrap().with_sync_ns(sync).unwrap()
    })
}

fn platform(profile: &Profile, cores: &[u32]) -> Option<Platform> {
    Platform::new(profile.kinds().iter().zip(cores).map(|(kind, &cores)| CoreKind::new(kind, cores))).ok()
}

/// Period, front and stage counts against everything that can be tried.
fn check(profile: &Profile, cores: &[u32]) -> Result<(), TestCaseError> {
    let Some(platform) = platform(profile, cores) else { return Ok(()) };
    let best = brute::optimum(profile, cores);
    let optimum = Exact.optimum(profile, &platform).unwrap();
    prop_assert_eq!(optimum.period(), best.period);
    prop_assert_eq!(optimum.front().collect::<Vec<_>>(), best.front.iter().map(|point| &point[..]).collect::<Vec<_>>());
    let fewest = optimum.fewest_stages().unwrap();
    for (index, point) in fewest.iter().enumerate() {
        prop_assert_eq!(point.stages.len(), best.fewest_stages[index]);
        for stages in [point.stages.clone(), optimum.stages(index)] {
            let schedule = Schedule::new("exact", stages, profile).unwrap();
            prop_assert_eq!(schedule.period(profile).unwrap(), best.period);
            prop_assert_eq!(schedule.cores(), &point.cores);
            let used: Vec<u32> =
                profile.kinds().iter().map(|kind| schedule.cores().get(kind).copied().unwrap_or(0)).collect();
            prop_assert_eq!(&used, &best.front[index]);
        }
    }
    let schedule = Exact.schedule(profile, &platform).unwrap();
    schedule.check(profile, &platform).unwrap();
    prop_assert_eq!(schedule.stages(), &fewest[0].stages[..]);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn one_kind(profile in chain(1, 7), cores in 0u32..=6) {
        check(&profile, &[cores])?;
    }

    #[test]
    fn two_kinds(profile in chain(2, 6), cores in [0u32..=4, 0u32..=4]) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn three_kinds(profile in chain(3, 5), cores in [0u32..=3, 0u32..=2, 0u32..=2]) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn four_kinds(profile in chain(4, 4), cores in [0u32..=2, 0u32..=2, 0u32..=1, 0u32..=2]) {
        check(&profile, &cores)?;
    }
}
