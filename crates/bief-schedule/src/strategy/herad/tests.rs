//! HeRAD against exhaustive search and against the published pseudo-code.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::{Strategy as _, *};
use crate::brute;
use crate::period::Period;
use crate::profile::TaskProfile;

/// A task: whether it may be replicated, and its times on big and on little cores.
type Task = (bool, [u64; 2]);

fn chain(tasks: &[Task], sync_ns: [u64; 2]) -> Profile {
    let tasks = tasks.iter().map(|&(replicable, ns)| {
        let task = TaskProfile::sequential("t", ns);
        TaskProfile { replicable, ..task }
    });
    Profile::new(["big", "little"], tasks).unwrap().with_sync_ns(sync_ns).unwrap()
}

fn herad(profile: &Profile, [big, little]: [u32; 2]) -> Schedule {
    let platform = Platform::parse_cores(&format!("big={big},little={little}"), profile).unwrap();
    let schedule = Herad.schedule(profile, &platform).unwrap();
    schedule.check(profile, &platform).unwrap();
    assert_eq!(schedule.period(profile).unwrap(), schedule.planned_period());
    schedule
}

fn used(schedule: &Schedule) -> [u32; 2] {
    ["big", "little"].map(|kind| schedule.cores().get(kind).copied().unwrap_or(0))
}

/// Times of all magnitudes, with many ties and zeros, the little cores being slower, as fast or faster.
fn times() -> impl Strategy<Value = [u64; 2]> {
    let big = prop_oneof![
        3 => 1u64..=100,
        2 => 0u64..=3,
        1 => Just(60u64),
        1 => (0u32..=33, 1u64..=2).prop_map(|(shift, odd)| odd << shift),
        1 => 1u64..=10_000_000_000,
    ];
    let little = prop_oneof![
        3 => (10u64..=50).prop_map(|tenths| (tenths, 10)),
        2 => (1u64..=3, 1u64..=2),
        1 => Just((0, 1)),
    ];
    (big, little).prop_map(|(big, (up, down))| [big, (big * up).div_ceil(down)])
}

fn chains(longest: usize) -> impl Strategy<Value = Vec<Task>> {
    let replicable = prop_oneof![2 => 0.0f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
    replicable
        .prop_flat_map(move |share| proptest::collection::vec((proptest::bool::weighted(share), times()), 1..=longest))
}

/// Where the first task takes no time the published algorithm gives it all cores: Algorithm 7 compares the
/// cells of the first task with no neighbours.
fn published_chains(longest: usize) -> impl Strategy<Value = Vec<Task>> {
    chains(longest).prop_map(|mut tasks| {
        tasks[0].1 = tasks[0].1.map(|ns| ns.max(1));
        tasks
    })
}

fn syncs() -> impl Strategy<Value = [u64; 2]> {
    prop_oneof![2 => Just([0, 0]), 1 => [0u64..=30, 0u64..=30]]
}

/// At least one core, of one kind or of both.
fn cores(most: u32) -> impl Strategy<Value = [u32; 2]> {
    [0..=most, 0..=most].prop_filter("no core", |cores| cores != &[0, 0])
}

proptest! {
    #[test]
    fn nothing_that_can_be_tried_is_better(tasks in chains(6), cores in cores(3), sync in syncs()) {
        let profile = chain(&tasks, sync);
        let schedule = herad(&profile, cores);
        let best = brute::optimum(&profile, &cores);
        prop_assert_eq!(schedule.planned_period(), best.period);
        prop_assert_eq!(&used(&schedule)[..], &best.front[0][..]);
    }

    #[test]
    fn the_result_is_that_of_the_published_algorithm(tasks in published_chains(14), cores in cores(8), sync in syncs()) {
        let profile = chain(&tasks, sync);
        let published = published::herad(&profile, cores);
        let schedule = herad(&profile, cores);
        prop_assert_eq!(schedule.planned_period(), published.period);
        prop_assert_eq!(used(&schedule), published.acc);

        let kinds = [(0, cores[0]), (1, cores[1])];
        prop_assert!(fits_u64(&profile, kinds));
        prop_assert_eq!(&Table::<u64>::new(&profile, kinds).stages().unwrap(), &published.stages);
        prop_assert_eq!(&Table::<u128>::new(&profile, kinds).stages().unwrap(), &published.stages);
        let merged = merged(published.stages, &profile);
        let merged = merged.iter().map(|s| Stage::new(s.tasks.len(), s.cores, profile.kinds()[s.kind].as_str()));
        prop_assert_eq!(schedule.stages(), merged.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn long_chains_on_many_cores_have_the_published_result(tasks in published_chains(30), cores in cores(16)) {
        let profile = chain(&tasks, [0, 0]);
        let published = published::herad(&profile, cores);
        let kinds = [(0, cores[0]), (1, cores[1])];
        prop_assert_eq!(&Table::<u64>::new(&profile, kinds).stages().unwrap(), &published.stages);
    }
}

proptest! {
    #[test]
    fn scaled_periods_compare_as_fractions(
        (most, a, b) in prop_oneof![1u32..=4, 1u32..=16_000].prop_flat_map(|most| (Just(most), 1..=most, 1..=most)),
        left in 0u64..1 << 34,
        off in 0u64..=4,
    ) {
        // Periods that are equal or next to each other.
        let near = u128::from(left) * u128::from(b) / u128::from(a);
        let right = (near as u64 + off).saturating_sub(2);
        let order = Period::shared(left, a).cmp(&Period::shared(right, b));

        let scale = scale([(0, most), (1, 1)]);
        let work = left * scale;
        let period = u128::from(right) * u128::from(scale) / u128::from(b);
        prop_assert_eq!(u128::from(work / u64::from(a)).cmp(&period), order);
        prop_assert_eq!(exceeds(u128::from(work), a as usize, period), order.is_gt());
        prop_assert_eq!(exceeds(work, a as usize, period as u64), order.is_gt());
    }
}

#[test]
fn one_task_takes_all_cores_of_a_kind_or_one() {
    let schedule = herad(&chain(&[(true, [10, 30])], [0, 0]), [16_000, 3]);
    assert_eq!(schedule.stages(), [Stage::new(1, 16_000, "big")]);
    assert_eq!(schedule.planned_period(), Period::new(1, 1600).unwrap());
    let schedule = herad(&chain(&[(true, [10, 30])], [0, 0]), [2, 6]);
    assert_eq!(schedule.stages(), [Stage::new(1, 6, "little")]);
    let schedule = herad(&chain(&[(false, [10, 30])], [0, 0]), [2, 6]);
    assert_eq!(schedule.stages(), [Stage::new(1, 1, "big")]);
}

#[test]
fn tasks_without_weight_need_one_little_core() {
    let schedule = herad(&chain(&[(false, [0, 0]), (true, [0, 0]), (false, [0, 0])], [0, 0]), [3, 3]);
    assert_eq!(schedule.stages(), [Stage::new(3, 1, "little")]);
    assert_eq!(schedule.planned_period(), Period::ZERO);
}

#[test]
fn a_profile_of_one_kind_is_enough() {
    let tasks = [TaskProfile::sequential("a", [30]), TaskProfile::replicable("b", [90])];
    let profile = Profile::new(["cpu"], tasks).unwrap();
    let schedule = Herad.schedule(&profile, &Platform::parse_cores("8", &profile).unwrap()).unwrap();
    assert_eq!(schedule.stages(), [Stage::new(1, 1, "cpu"), Stage::new(1, 3, "cpu")]);
}

#[test]
fn of_three_kinds_the_two_that_have_cores_are_used() {
    let tasks = [TaskProfile::sequential("a", [3, 30, 60]), TaskProfile::sequential("b", [1, 60, 60])];
    let profile = Profile::new(["huge", "big", "little"], tasks).unwrap();
    let schedule = |cores| Herad.schedule(&profile, &Platform::parse_cores(cores, &profile).unwrap());
    let stages = [Stage::new(2, 1, "huge")];
    assert_eq!(schedule("huge=1,little=1").unwrap().stages(), stages);
    let stages = [Stage::new(1, 1, "little"), Stage::new(1, 1, "little")];
    assert_eq!(schedule("big=2,little=2").unwrap().stages(), stages);
    assert_eq!(schedule("huge=1,big=1,little=1").unwrap_err().kind(), ErrorKind::Strategy);
}

#[test]
fn stages_that_are_joined_save_a_hand_over() {
    let profile = chain(&[(true, [50, 50]), (true, [50, 50]), (false, [90, 90])], [10, 10]);
    let schedule = herad(&profile, [0, 3]);
    assert_eq!(schedule.planned_period(), Period::from(100));
    assert_eq!(schedule.stages(), [Stage::new(2, 2, "little"), Stage::new(1, 1, "little")]);
    let separate = [0..1, 1..2].map(|tasks| Chosen { tasks, cores: 1, kind: 1 });
    assert_eq!(merged(separate.to_vec(), &profile), [Chosen { tasks: 0..2, cores: 2, kind: 1 }]);
}

#[test]
fn the_heaviest_times_do_not_overflow() {
    let half = u64::MAX / 2;
    let profile = chain(&[(true, [half, half]), (false, [half, half])], [0, 0]);
    assert!(!fits_u64(&profile, [(0, 1), (1, 1)]));
    let schedule = herad(&profile, [3, 1]);
    assert_eq!(schedule.planned_period(), Period::from(half));
    assert_eq!(schedule.cores()["little"], 1);
    let schedule = herad(&chain(&[(true, [half, half]), (true, [half, half])], [0, 0]), [16_000, 0]);
    assert_eq!(schedule.planned_period(), Period::new(2 * half, 16_000).unwrap());
    // The most work that is counted in u64.
    let most = (1 << 62) / (1000 * 1000);
    let profile = chain(&[(true, [most / 2, most]), (true, [most / 2, 0])], [0, 0]);
    assert!(fits_u64(&profile, [(0, 1000), (1, 1)]));
    let schedule = herad(&profile, [1000, 1]);
    assert_eq!(schedule.planned_period(), Period::new(most / 2, 1000).unwrap());
    assert_eq!(schedule.stages(), [Stage::new(1, 1000, "big"), Stage::new(1, 1, "little")]);
}

#[test]
fn a_table_that_is_too_large_is_refused() {
    let profile = chain(&[(true, [1, 1]); 7], [0, 0]);
    let platform = Platform::parse_cores("big=16000,little=8000", &profile).unwrap();
    let error = Herad.schedule(&profile, &platform).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Strategy);
    assert_eq!(
        error.to_string(),
        "strategy `herad`: 7 tasks on 16000 and 8000 cores make a table of 9.0e8 cells, more than the 67108864 \
         that it fills: take the strategy `exact`, which is fast there, or give fewer cores"
    );
    let profile = chain(&[(true, [1, 1]); 1000], [0, 0]);
    let platform = Platform::parse_cores("big=200,little=200", &profile).unwrap();
    assert_eq!(
        Herad.schedule(&profile, &platform).unwrap_err().reason(),
        "1000 tasks on 200 and 200 cores take up to 5.7e10 steps, more than the 4.0e9 that it does: take the strategy `exact`, \
         which is fast there, or give fewer cores"
    );
}
