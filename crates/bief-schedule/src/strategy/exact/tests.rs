//! Exact against exhaustive search.

mod devices;

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::{Exact, StageKinds};
use crate::brute;
use crate::error::ErrorKind;
use crate::goal::{Aim, Goal, Rate};
use crate::period::Period;
use crate::platform::{CoreKind, Platform};
use crate::power::Power;
use crate::profile::{Profile, TaskProfile};
use crate::schedule::{Schedule, Stage};
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

/// Chains of which some tasks cannot run on some kinds.
fn with_absent_times(chains: impl Strategy<Value = Profile>) -> impl Strategy<Value = Profile> {
    (chains, proptest::collection::vec(0usize..64, 8)).prop_map(|(profile, choices)| {
        let kinds = profile.kinds().len();
        let tasks = profile.tasks().iter().zip(choices).map(|(task, choice)| {
            // Half of the tasks run everywhere; of the others one kind is left, and of the rest every second.
            let left = choice % kinds;
            let absent = (0..kinds).filter(|&kind| choice % 2 == 1 && kind != left && (choice / 2) >> kind & 1 == 1);
            absent.fold(task.clone(), TaskProfile::not_on)
        });
        profile.clone().with_tasks(tasks).unwrap()
    })
}

/// Chains that it costs something to cut: much or little beside the tasks' times, nothing here and there.
fn with_cut_costs(chains: impl Strategy<Value = Profile>) -> impl Strategy<Value = Profile> {
    let cost = || prop_oneof![2 => 0u64..=40, 1 => Just(0u64), 1 => 1u64..=10_000_000_000];
    (chains, proptest::collection::vec(cost(), 64)).prop_map(|(profile, costs)| {
        let kinds = profile.kinds().len();
        let mut costs = costs.into_iter().cycle();
        let mut cut = || costs.by_ref().take(kinds).collect::<Vec<_>>();
        let tasks = profile.tasks().iter().map(|task| task.clone().with_cut_ns(cut(), cut()));
        profile.clone().with_tasks(tasks).unwrap()
    })
}

fn platform(profile: &Profile, cores: &[u32]) -> Platform {
    Platform::new(profile.kinds().iter().zip(cores).map(|(kind, &cores)| CoreKind::new(kind, cores))).unwrap()
}

/// Period, front and stage counts against everything that can be tried, with stages of one kind.
fn check(profile: &Profile, cores: &[u32]) -> Result<(), TestCaseError> {
    check_stages(profile, cores, StageKinds::One)
}

fn check_stages(profile: &Profile, cores: &[u32], stages: StageKinds) -> Result<(), TestCaseError> {
    prop_assume!(cores.iter().any(|&cores| cores > 0));
    let platform = platform(profile, cores);
    let exact = Exact { stages };
    let Some(best) = brute::optimum_if_any(profile, cores, stages) else {
        let error = exact.optimum(profile, &platform).unwrap_err();
        prop_assert_eq!(error.kind(), ErrorKind::Strategy);
        return Ok(());
    };
    let optimum = exact.optimum(profile, &platform).unwrap();
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
    let schedule = exact.schedule(profile, &platform).unwrap();
    schedule.check(profile, &platform).unwrap();
    prop_assert_eq!(schedule.stages(), &fewest[0].stages[..]);
    // Written and read, it is the same.
    prop_assert_eq!(&Schedule::from_json(&schedule.to_json()).unwrap(), &schedule);
    Ok(())
}

proptest! {
    #[test]
    fn one_kind(profile in chain(1, 7), cores in 1u32..=6) {
        check(&profile, &[cores])?;
    }

    #[test]
    fn two_kinds(profile in chain(2, 6), cores in [0u32..=4, 0u32..=4]) {
        check(&profile, &cores)?;
    }

    #[test]
    fn two_kinds_and_tasks_that_cannot_run_on_both(
        profile in with_absent_times(chain(2, 6)),
        cores in [0u32..=4, 0u32..=4],
    ) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #[test]
    fn one_kind_and_cuts_that_cost(profile in with_cut_costs(chain(1, 7)), cores in 1u32..=6) {
        check(&profile, &[cores])?;
    }

    #[test]
    fn two_kinds_and_cuts_that_cost(profile in with_cut_costs(chain(2, 6)), cores in [0u32..=4, 0u32..=4]) {
        check(&profile, &cores)?;
    }

    #[test]
    fn three_kinds_and_cuts_that_cost(
        profile in with_cut_costs(with_absent_times(chain(3, 4))),
        cores in [0u32..=3, 0u32..=2, 0u32..=2],
    ) {
        check(&profile, &cores)?;
    }

    #[test]
    fn plans_with_cuts_that_cost_serve_their_goals(
        profile in with_cut_costs(light_chain(2, 4)),
        cores in [0u32..=3, 0u32..=3],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        check_plan(&profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }
}

proptest! {
    #[test]
    fn three_kinds(profile in chain(3, 5), cores in [0u32..=3, 0u32..=2, 0u32..=2]) {
        check(&profile, &cores)?;
    }

    #[test]
    fn three_kinds_and_tasks_that_cannot_run_on_all(
        profile in with_absent_times(chain(3, 5)),
        cores in [0u32..=3, 0u32..=2, 0u32..=2],
    ) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #[test]
    fn four_kinds(profile in chain(4, 4), cores in [0u32..=2, 0u32..=2, 0u32..=1, 0u32..=2]) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn two_kinds_that_share_stages(profile in chain(2, 5), cores in [0u32..=4, 0u32..=4]) {
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn two_kinds_that_share_stages_and_tasks_that_cannot_run_on_both(
        profile in with_absent_times(chain(2, 5)),
        cores in [0u32..=4, 0u32..=4],
    ) {
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn two_kinds_that_share_stages_and_cuts_that_cost(
        profile in with_cut_costs(with_absent_times(chain(2, 5))),
        cores in [0u32..=3, 0u32..=3],
    ) {
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn one_kind_has_nobody_to_share_with(profile in with_cut_costs(chain(1, 5)), cores in 1u32..=4) {
        check_stages(&profile, &[cores], StageKinds::Mixed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn three_kinds_that_share_stages(
        profile in with_absent_times(chain(3, 4)),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
    ) {
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn three_kinds_that_share_stages_and_cuts_that_cost(
        profile in with_cut_costs(chain(3, 3)),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
    ) {
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn four_kinds_that_share_stages(profile in chain(4, 3), cores in [0u32..=1, 0u32..=2, 0u32..=1, 0u32..=1]) {
        // Times of seconds on four kinds may have no exact period.
        let short = |ns: Option<u64>| ns.map(|ns| ns % 1_000_000_000);
        let tasks = profile.tasks().iter().map(|task| {
            TaskProfile { ns: task.ns.iter().copied().map(short).collect(), ..task.clone() }
        });
        let profile = profile.clone().with_tasks(tasks).unwrap();
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }
}

/// A schedule, and all that a goal can ask about it.
struct Tried {
    schedule: Schedule,
    cores: Vec<u32>,
    latency_ns: u64,
}

/// What the plan for a goal must be, by trying everything, with stages of one kind.
fn check_plan(profile: &Profile, platform: &Platform, cores: &[u32], goal: &Goal) -> Result<(), TestCaseError> {
    check_plan_of(Exact::ONE_KIND, profile, platform, cores, goal)
}

fn check_plan_of(
    exact: Exact,
    profile: &Profile,
    platform: &Platform,
    cores: &[u32],
    goal: &Goal,
) -> Result<(), TestCaseError> {
    let longest = goal.longest_period(profile).unwrap();
    let paced = longest.filter(|_| goal.aim != Aim::MaxThroughput);
    let watts = |schedule: &Schedule| {
        let pace = paced.unwrap_or(schedule.planned_period());
        Power::paced(schedule, profile, platform, pace).unwrap().unwrap().watts
    };
    let cores_of = |schedule: &Schedule| -> Vec<u32> {
        profile.kinds().iter().map(|kind| schedule.cores().get(kind).copied().unwrap_or(0)).collect()
    };
    let latency_of = |schedule: &Schedule| match paced {
        // Frames may wait for kinds that share a stage.
        Some(pace) => schedule.latency_bound_ns(profile, pace).unwrap().unwrap_or(u64::MAX),
        None => schedule.latency_ns(profile).unwrap(),
    };
    let tried = brute::schedules(profile, cores, exact.stages).into_iter().map(|stages| {
        let schedule = Schedule::new("brute", stages, profile).unwrap();
        Tried { cores: cores_of(&schedule), latency_ns: latency_of(&schedule), schedule }
    });
    let mut meeting: Vec<Tried> = tried
        .filter(|tried| longest.is_none_or(|longest| tried.schedule.planned_period() <= longest))
        .filter(|tried| goal.latency.is_none_or(|latency| Period::from(tried.latency_ns) <= latency))
        .filter(|tried| goal.power.is_none_or(|power| watts(&tried.schedule) <= power))
        .collect();
    if paced.is_none()
        && let Some(shortest) = meeting.iter().map(|tried| tried.schedule.planned_period()).min()
    {
        meeting.retain(|tried| tried.schedule.planned_period() == shortest);
    }
    let plan = exact.plan(profile, platform, goal);
    if brute::optimum_if_any(profile, cores, exact.stages).is_none() {
        prop_assert_eq!(plan.unwrap_err().kind(), ErrorKind::Strategy);
        return Ok(());
    }
    if meeting.is_empty() {
        let error = plan.unwrap_err();
        prop_assert_eq!(error.kind(), ErrorKind::Goal);
        // What the message says to allow is enough of that.
        let mut better = *goal;
        let words = match error.reason().split_once("below ") {
            Some((_, rest)) => rest,
            None => error
                .reason()
                .split(": allow")
                .next()
                .unwrap()
                .rsplitn(3, ' ')
                .nth(2)
                .map_or("", |before| &error.reason()[before.len() + 1..]),
        };
        let mut words = words.split([' ', ':']);
        match (words.next().unwrap(), words.next().unwrap_or_default()) {
            (number, "W") => better.power = Some(number.parse().unwrap()),
            (number, unit @ ("ns" | "us" | "ms")) => {
                let demand =
                    if error.reason().contains("latency is") { &mut better.latency } else { &mut better.period };
                *demand = format!("fewest-big,period={number}{unit}").parse::<Goal>().unwrap().period;
                if !error.reason().contains("latency is") {
                    better.rate = None;
                }
            }
            _ => {
                prop_assert!(error.reason().contains("allow more"), "{}", error);
                return Ok(());
            }
        }
        if let Err(next) = exact.plan(profile, platform, &better) {
            prop_assert_ne!(next.reason(), error.reason());
        }
        return Ok(());
    }
    let plan = plan.unwrap();
    plan.check(profile, platform).unwrap();
    let used = cores_of(&plan);
    prop_assert!(goal.latency.is_none_or(|latency| Period::from(latency_of(&plan)) <= latency));
    prop_assert!((plan.watts().unwrap() - watts(&plan)).abs() < 1e-9);
    prop_assert!(goal.power.is_none_or(|power| watts(&plan) <= power));
    match paced {
        Some(longest) => prop_assert!(plan.planned_period() <= longest),
        None => prop_assert_eq!(plan.planned_period(), meeting[0].schedule.planned_period()),
    }
    match goal.aim {
        Aim::MaxThroughput => {
            if goal.power.is_none() && goal.latency.is_none() {
                let fewest =
                    brute::optimum_if_any(profile, cores, exact.stages).unwrap().fewest_stages.into_iter().min();
                prop_assert_eq!(Some(plan.stages().len()), fewest);
            }
        }
        Aim::FewestBig => prop_assert_eq!(Some(&used), meeting.iter().map(|tried| &tried.cores).min()),
        Aim::FewestCores => {
            let fewest = meeting.iter().map(|tried| tried.cores.iter().sum::<u32>()).min();
            prop_assert_eq!(Some(used.iter().sum::<u32>()), fewest);
        }
        Aim::LeastPower => {
            let least = meeting.iter().map(|tried| watts(&tried.schedule)).min_by(f64::total_cmp).unwrap();
            prop_assert!((watts(&plan) - least).abs() < 1e-6, "{} W, {least} W is possible", watts(&plan));
        }
    }
    Ok(())
}

fn goals() -> impl Strategy<Value = Goal> {
    let aim =
        prop_oneof![Just(Aim::MaxThroughput), Just(Aim::FewestBig), Just(Aim::FewestCores), Just(Aim::LeastPower)];
    let time =
        || prop_oneof![(1u64..=400).prop_map(Period::from), (1u64..=800).prop_map(|num| Period::new(num, 3).unwrap())];
    // No sum of whole watts: none is a tie that rounding decides.
    let power = (0u32..=40).prop_map(|power| f64::from(power) / 2.0 + 0.1234567);
    let rate = prop_oneof![
        (1u64..=300).prop_map(|per_us| Rate::Frames(Period::from(per_us * 1_000_000))),
        (1u64..=300).prop_map(|gbps| Rate::Bits(Period::from(gbps * 1_000_000_000))),
    ];
    let latency = proptest::option::weighted(0.4, time());
    (aim, proptest::option::weighted(0.1, rate), proptest::option::of(time()), proptest::option::of(power), latency)
        .prop_map(|(aim, rate, period, power, latency)| Goal { aim, rate, period, power, latency })
}

/// Chains with times up to 100 ns, so that the goals are neither all met nor all missed.
fn light_chain(kinds: usize, longest: usize) -> impl Strategy<Value = Profile> {
    let time = || prop_oneof![9 => 1u64..=100, 1 => Just(0)];
    let task = (proptest::bool::ANY, proptest::collection::vec(time(), kinds));
    let sync = proptest::collection::vec(0u64..=3, kinds);
    (proptest::collection::vec(task, 1..=longest), sync).prop_map(move |(tasks, sync)| {
        let tasks =
            tasks.into_iter().map(|(replicable, ns)| TaskProfile { replicable, ..TaskProfile::sequential("t", ns) });
        let profile = Profile::new(["big", "little", "tiny"].into_iter().take(kinds), tasks).unwrap();
        profile.with_sync_ns(sync).unwrap().with_bits_per_frame(1000).unwrap()
    })
}

fn with_watts(profile: &Profile, cores: &[u32]) -> Platform {
    let kinds = profile.kinds().iter().zip(cores).zip([5.0, 2.0, 0.5]);
    let kinds = kinds.map(|((name, &cores), watts)| CoreKind { watts: Some(watts), ..CoreKind::new(name, cores) });
    Platform::new(kinds).unwrap().with_idle_watts(1.0).unwrap()
}

proptest! {
    #[test]
    fn plans_serve_their_goals(profile in light_chain(2, 4), cores in [0u32..=3, 0u32..=3], goal in goals()) {
        prop_assume!(cores != [0, 0]);
        check_plan(&profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }

    #[test]
    fn plans_with_tasks_that_cannot_run_on_both_kinds_serve_their_goals(
        profile in with_absent_times(light_chain(2, 4)),
        cores in [0u32..=3, 0u32..=3],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        check_plan(&profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }
}

proptest! {
    #[test]
    fn plans_on_three_kinds_serve_their_goals(
        profile in light_chain(3, 3),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0, 0]);
        check_plan(&profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }
}

/// Cores of which one kind saturates: from nearly at once to nearly never.
fn saturating(profile: &Profile, cores: &[u32], kind: usize, saturation: f64) -> Platform {
    let platform = with_watts(profile, cores);
    let mut kinds = platform.kinds().to_vec();
    kinds[kind].watts = Some(12.0);
    kinds[kind].saturation = Some(saturation);
    Platform::new(kinds).unwrap().with_idle_watts(1.0).unwrap()
}

proptest! {
    #[test]
    fn least_power_is_found_where_a_kind_saturates(
        profile in light_chain(2, 5),
        cores in [0u32..=3, 0u32..=3],
        kind in 0usize..2,
        saturation in prop_oneof![0.05f64..=0.5, 0.5f64..=3.0, 3.0f64..=50.0],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        let goal = Goal { aim: Aim::LeastPower, power: None, ..goal };
        check_plan(&profile, &saturating(&profile, &cores, kind, saturation), &cores, &goal)?;
    }
}

proptest! {
    #[test]
    fn least_power_is_found_where_one_of_three_kinds_saturates(
        profile in light_chain(3, 4),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
        kind in 0usize..3,
        saturation in 0.05f64..=4.0,
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0, 0]);
        let goal = Goal { aim: Aim::LeastPower, power: None, ..goal };
        check_plan(&profile, &saturating(&profile, &cores, kind, saturation), &cores, &goal)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn plans_with_shared_stages_serve_their_goals(
        profile in light_chain(2, 3),
        cores in [0u32..=3, 0u32..=3],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        check_plan_of(Exact, &profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }

    #[test]
    fn plans_with_shared_stages_where_not_all_is_free_or_possible_serve_their_goals(
        profile in with_cut_costs(with_absent_times(light_chain(2, 3))),
        cores in [0u32..=2, 0u32..=3],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        check_plan_of(Exact, &profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }

    #[test]
    fn plans_with_stages_shared_by_three_kinds_serve_their_goals(
        profile in light_chain(3, 2),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0, 0]);
        check_plan_of(Exact, &profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }

    #[test]
    fn least_power_is_found_where_one_of_the_kinds_that_share_stages_saturates(
        profile in light_chain(2, 3),
        cores in [0u32..=3, 0u32..=3],
        kind in 0usize..2,
        saturation in prop_oneof![0.05f64..=0.5, 0.5f64..=3.0, 3.0f64..=50.0],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        let goal = Goal { aim: Aim::LeastPower, power: None, ..goal };
        check_plan_of(Exact, &profile, &saturating(&profile, &cores, kind, saturation), &cores, &goal)?;
    }
}

#[test]
fn power_is_not_searched_for_where_it_bends_too_often() {
    let profile = Profile::new(["big", "little"], [TaskProfile::replicable("t", [10, 20])]).unwrap();
    let one = saturating(&profile, &[2, 2], 0, 1.0);
    let plan = |platform: &Platform, goal: &str| Exact.plan(&profile, platform, &goal.parse().unwrap());
    for goal in ["least-power,power=20W", "fewest-big,power=20W,period=1us", "max-throughput,power=20W"] {
        let error = plan(&one, goal).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Goal);
        assert!(error.reason().starts_with("the power of kind `big` saturates"), "{error}");
    }
    let mut kinds = one.kinds().to_vec();
    kinds[1].saturation = Some(3.0);
    let two = Platform::new(kinds.clone()).unwrap();
    let error = plan(&two, "least-power").unwrap_err();
    assert!(
        error.reason().starts_with("the power of the kinds `") && error.reason().contains("only found where one"),
        "{error}"
    );
    kinds[0].cores = 0;
    plan(&Platform::new(kinds).unwrap(), "least-power,period=1us").unwrap();
    for goal in ["fewest-cores,period=1us", "max-throughput,latency=1us"] {
        plan(&two, goal).unwrap();
    }
}

/// Three of four frames that are worked on together come after the oldest one, at the pace that is demanded.
#[test]
fn a_latency_counts_from_the_oldest_frame() {
    let tasks = [TaskProfile::sequential("receive", [300]), TaskProfile::replicable("decode", [900])];
    let profile = Profile::new(["big"], tasks).unwrap().with_frames_per_execution(4).unwrap();
    let platform = Platform::parse_cores("4", &profile).unwrap();
    let plan = |goal: &str| Exact.plan(&profile, &platform, &goal.parse().unwrap());
    let schedule = plan("fewest-cores,period=400ns,latency=1500ns").unwrap();
    assert_eq!(schedule.latency_bound_ns(&profile, Period::from(400)).unwrap(), Some(1500));
    let error = plan("fewest-cores,period=400ns,latency=1499ns").unwrap_err();
    assert!(error.reason().starts_with("the least latency is 1500 ns: "), "{error}");
    assert!(plan("fewest-cores,period=800ns,latency=1700ns").is_err(), "600 ns are waited for");
    plan("fewest-cores,period=800ns,latency=1800ns").unwrap();
    // As fast as it can, it has no pace.
    plan("fewest-cores,latency=1200ns").unwrap();
    plan("max-throughput,period=800ns,latency=1200ns").unwrap();
}

#[test]
fn goals_that_cannot_be_met_say_what_can() {
    let profile = Profile::new(
        ["big", "little"],
        [TaskProfile::sequential("receive", [300, 450]), TaskProfile::replicable("decode", [900, 1700])],
    )
    .unwrap();
    let unknown = Platform::parse_cores("big=2,little=2", &profile).unwrap();
    let known = r#"{"format": 1, "kinds": [{"name": "big", "cores": 2, "watts": 5}, {"name": "little", "cores": 2, "watts": 1}],
        "idle_watts": 2}"#;
    let known = Platform::from_json(known).unwrap();
    let message = |platform: &Platform, goal: &str| {
        let goal = goal.parse().unwrap();
        Exact::ONE_KIND.plan(&profile, platform, &goal).unwrap_err().to_string()
    };
    assert_eq!(
        message(&known, "fewest-big,period=300ns"),
        "goal `fewest-big,period=300ns`: a period of 300 ns is demanded, the shortest period on these cores is 450 ns: \
         allow that, or give more cores"
    );
    assert_eq!(
        message(&known, "max-throughput,rate=1000000000frames/s"),
        "goal `max-throughput,rate=1000000000frames/s`: a period of 1 ns is demanded, the shortest period on these cores \
         is 450 ns: allow that, or give more cores"
    );
    assert_eq!(
        message(&known, "max-throughput,latency=1100ns"),
        "goal `max-throughput,latency=1100ns`: the least latency is 1200 ns: allow that, or a longer period if one is \
         demanded"
    );
    assert_eq!(
        message(&known, "fewest-big,power=1W"),
        "goal `fewest-big,power=1W`: the machine draws 2 W when idle: allow more than that"
    );
    assert_eq!(
        message(&known, "fewest-big,power=2.5W"),
        "goal `fewest-big,power=2.5W`: a pipeline that runs as fast as it can keeps a core busy, which draws 3 W: allow that"
    );
    assert_eq!(
        message(&known, "least-power,power=2.5W,period=3us"),
        "goal `least-power,period=3us,power=2.5W`: the least power that meets the other demands is 2.717 W: allow that, or \
         a longer period or latency"
    );
    assert_eq!(
        message(&known, "max-throughput,power=3.5W,period=1us"),
        "goal `max-throughput,period=1us,power=3.5W`: no schedule with a period below 1700 ns meets the other demands: \
         allow that or a longer period, or demand less"
    );
    assert_eq!(
        message(&unknown, "least-power"),
        "goal `least-power`: the platform does not say what a busy core of kind `big` draws: add \"watts\" to the kind, in \
         a platform file"
    );
}

#[test]
fn cores_of_five_kinds_are_refused() {
    let kinds = ["a", "b", "c", "d", "e"];
    let profile = Profile::new(kinds, [TaskProfile::replicable("t", [1; 5])]).unwrap();
    let platform = Platform::new(kinds.map(|kind| CoreKind::new(kind, 1))).unwrap();
    assert_eq!(
        Exact.schedule(&profile, &platform).unwrap_err().to_string(),
        "strategy `exact`: it schedules for cores of at most 4 kinds, and a=1,b=1,c=1,d=1,e=1 are given: give cores of \
         fewer kinds, or take a strategy for more kinds"
    );
}

#[test]
#[ignore = "long: part of .ci/run"]
fn chains_too_large_for_the_tables_are_refused() {
    let tasks = (0..40_000).map(|task| TaskProfile::sequential("t", [1 + task % 7, 2 + task % 5]));
    let profile = Profile::new(["big", "little"], tasks).unwrap();
    let platform = Platform::parse_cores("big=16000,little=16000", &profile).unwrap();
    let error = Exact.schedule(&profile, &platform).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "give fewer cores, take stages of one kind (`exact:one-kind`, --stages one-kind), or take another strategy"
        ),
        "{error}"
    );
    let error = Exact::ONE_KIND.schedule(&profile, &platform).unwrap_err();
    assert!(error.to_string().ends_with("give fewer cores, or take another strategy"), "{error}");
}

/// Hours on three kinds: nothing is rounded silently.
#[test]
fn periods_without_an_exact_fraction_are_refused_with_the_remedy() {
    let profile =
        Profile::new(["a", "b", "c"], [TaskProfile::replicable("t", [(1 << 60) - 1, (1 << 60) - 3, (1 << 60) - 5])])
            .unwrap();
    let platform = platform(&profile, &[1, 1, 1]);
    let error = Exact.schedule(&profile, &platform).unwrap_err();
    assert_eq!(
        error.to_string(),
        "strategy `exact`: tasks take so long that the period of kinds of core that share a stage has no exact fraction: take \
         stages of one kind (`exact:one-kind`, --stages one-kind), or give cores of fewer kinds"
    );
    Exact::ONE_KIND.schedule(&profile, &platform).unwrap();
    let error = Schedule::new("hand", [Stage::mixed(1, [("a", 1), ("b", 1), ("c", 1)])], &profile).unwrap_err();
    assert!(error.reason().ends_with("has no exact fraction: give it cores of one kind"), "{error}");
}

#[test]
fn chains_that_weigh_nothing_have_no_period() {
    let profile =
        Profile::new(["big", "little"], [TaskProfile::replicable("t", [0, 0]), TaskProfile::sequential("u", [0, 0])]);
    let profile = profile.unwrap();
    let platform = Platform::parse_cores("big=3,little=2", &profile).unwrap();
    let schedule = Exact.schedule(&profile, &platform).unwrap();
    assert_eq!(schedule.planned_period(), Period::ZERO);
    assert_eq!(schedule.stages().len(), 1);
    for goal in ["least-power,period=1ns", "max-throughput,latency=1ns", "fewest-cores,period=1ns"] {
        let known =
            Platform::new(["big", "little"].map(|kind| CoreKind { watts: Some(1.0), ..CoreKind::new(kind, 2) }));
        Exact.plan(&profile, &known.unwrap(), &goal.parse().unwrap()).unwrap();
    }
}

#[test]
fn the_heaviest_times_do_not_overflow() {
    let half = u64::MAX / 2;
    let tasks = [[half, half], [half - 5, 3], [4, half - 9]].map(|ns| TaskProfile::replicable("t", ns));
    let profile = Profile::new(["big", "little"], tasks).unwrap();
    for cores in ["big=1,little=1", "big=5,little=16000", "big=16000,little=5"] {
        let platform = Platform::parse_cores(cores, &profile).unwrap();
        let schedule = Exact.schedule(&profile, &platform).unwrap();
        schedule.check(&profile, &platform).unwrap();
        Exact.plan(&profile, &platform, &"max-throughput,latency=9000000000s".parse().unwrap()).unwrap_err();
    }
}
