//! Simulated pipelines beside the formulas, published throughputs, and what they do when times vary.

use crate::common::{data, dvbs2};
use bief_schedule::realtime::{Analysis, Cost, Edge, Graph, Node};
use bief_schedule::simulate::{Pipeline, PipelineReport, RingReport, Times};
use bief_schedule::strategy::Exact;
use bief_schedule::{Error, ErrorKind, Period, Platform, Profile, Schedule, Stage, Strategy as _, TaskProfile};
use fastrand::Rng;
use proptest::prelude::*;

/// One task per stage, on cores of one kind: `(work, replicas)`.
/// The period and a fraction of a nanosecond.
fn slowed(period: Period, (num, den): (u64, u64)) -> Period {
    let (num, den) = (u128::from(num), u128::from(den));
    Period::wide(period.num() * den + num * period.den(), period.den() * den).unwrap()
}

fn one_task_per_stage(stages: &[(u64, u32)]) -> (Profile, Schedule) {
    let tasks = stages.iter().map(|&(work, _)| TaskProfile::replicable("task", [work]));
    let profile = Profile::new(["core"], tasks).unwrap();
    let stages = stages.iter().map(|&(_, replicas)| Stage::new(1, replicas, "core"));
    let schedule = Schedule::new("hand", stages, &profile).unwrap();
    (profile, schedule)
}

fn run(pipeline: &Pipeline, executions: u64) -> PipelineReport {
    pipeline.run(executions, &mut Rng::with_seed(1)).unwrap()
}

/// Chains of up to 10 tasks on two kinds of cores, with hand-overs, cut into stages of up to 4 replicas.
fn scheduled_chains() -> impl Strategy<Value = (Profile, Schedule)> {
    let stage = (prop::collection::vec((0u64..=12, 0u64..=20), 1..=2), 1u32..=4, any::<bool>());
    (prop::collection::vec(stage, 1..=5), 0u64..=2).prop_map(|(stages, sync)| {
        let tasks = stages.iter().flat_map(|(tasks, replicas, _)| {
            tasks.iter().map(|&(big, little)| TaskProfile {
                replicable: *replicas > 1,
                ..TaskProfile::sequential("task", [big, little])
            })
        });
        let profile = Profile::new(["big", "little"], tasks.collect::<Vec<_>>()).unwrap();
        let profile = profile.with_sync_ns([sync, 2 * sync]).unwrap();
        let stages = stages.iter().map(|(tasks, replicas, little)| {
            Stage::new(tasks.len(), *replicas, if *little { "little" } else { "big" })
        });
        let schedule = Schedule::new("hand", stages.collect::<Vec<_>>(), &profile).unwrap();
        (profile, schedule)
    })
}

proptest! {
    /// Lanes and the three parts of a device, played one execution after the other, against the formula.
    #[test]
    fn devices_have_their_pace(
        (sync, enter, tasks, leave) in (0u64..=9, 0u64..=40, 0u64..=40, 0u64..=40),
        lanes in 1u32..=5,
        devices in 1u32..=3,
        replicable in any::<bool>(),
        overlap in any::<bool>(),
        depth in 1u64..=4,
    ) {
        // A factor of all numbers of lanes: no pace is rounded.
        let ns = |ns: u64| 60 * ns;
        let decode = TaskProfile { replicable, ..TaskProfile::sequential("decode", [0, ns(tasks)]) };
        let chain = [
            TaskProfile::sequential("receive", [ns(1), 0]).not_on(1),
            decode.not_on(0).with_cut_ns([0, ns(enter)], [0, ns(leave)]),
            TaskProfile::sequential("send", [ns(2), 0]).not_on(1),
        ];
        let profile = Profile::new(["cpu", "gpu"], chain).unwrap().with_sync_ns([0, ns(sync)]).unwrap();
        let profile = profile.with_lanes([None, Some(lanes)]).unwrap().with_overlap([false, overlap]).unwrap();
        let devices = if replicable { devices } else { 1 };
        let stages = [Stage::new(1, 1, "cpu"), Stage::new(1, devices, "gpu"), Stage::new(1, 1, "cpu")];
        let schedule = Schedule::new("hand", stages, &profile).unwrap();
        let pipeline = Pipeline::new(&profile, &schedule).unwrap().depth(depth).unwrap();
        let report = run(&pipeline, 6000);
        // Executions of several lanes come out in bursts, of which the last may be cut.
        let off = (report.period_ns - schedule.planned_period().ns()).abs();
        let burst = f64::from(lanes * devices) * ns(sync + enter + tasks + leave) as f64 / 3000.0;
        prop_assert!(off <= burst, "{} for {}", report.period_ns, schedule.planned_period().ns());
        if replicable {
            prop_assert_eq!(report.stages[1].replicas, lanes * devices);
            let latency = schedule.latency_ns(&profile).unwrap();
            let pace = Period::from(schedule.planned_period().ns().ceil() as u64);
            prop_assert_eq!(run(&pipeline.paced(pace), 600).latency_ns.max, latency, "paced, nothing waits");
        }
    }
}

proptest! {
    #[test]
    #[ignore = "long: part of .ci/run"]
    fn constant_times_give_exactly_the_planned_period_at_any_depth(
        (profile, schedule) in scheduled_chains(),
        depth in 1u64..=6,
    ) {
        let pipeline = Pipeline::new(&profile, &schedule).unwrap().depth(depth).unwrap();
        prop_assert_eq!(run(&pipeline, 60_000).period(), schedule.planned_period());
    }

    /// What a goal counts is what the analysis of real time proves of stages on cores of their own.
    #[test]
    fn the_latency_of_a_schedule_is_a_bound_of_real_time(
        (profile, schedule) in scheduled_chains(),
        frames in 1u32..=5,
        slower in (0u64..100, 1u64..10),
    ) {
        let profile = profile.with_frames_per_execution(frames).unwrap();
        let period = schedule.planned_period();
        prop_assume!(period > Period::ZERO);
        let pace = slowed(period, slower);
        let bound = schedule.latency_bound_ns(&profile, pace).unwrap().expect("it keeps up");
        prop_assert!(bound >= schedule.latency_ns(&profile).unwrap());

        let works: Vec<(u64, u32)> =
            schedule.loads(&profile).unwrap().iter().zip(schedule.stages()).map(|(load, stage)| (load.work_ns, stage.replicas())).collect();
        let frame = Period::wide(pace.num(), pace.den() * u128::from(frames)).unwrap();
        let cost = |work: u64| Cost { init_ns: work as f64, per_sample_ns: 0.0 };
        let node = |(index, &(work, cores)): (usize, &(u64, u32))| match index {
            0 => Node::source("0", frame, cost(work)).on_own_cores(cores),
            _ => Node::new(index.to_string(), cost(work)).on_own_cores(cores),
        };
        let edges = (1..works.len()).map(|to| Edge::new((to - 1).to_string(), to.to_string()));
        let graph = Graph::new(works.iter().enumerate().map(node), edges).unwrap();
        let graph = graph.batched(&vec![u64::from(frames); works.len()]).unwrap();
        let proven = Analysis::default().bounds(&graph).unwrap().latency_ns();
        prop_assert!((bound as f64 - proven).abs() <= 1.0, "{bound} {proven}");
    }

    #[test]
    fn paced_at_the_period_or_slower_nothing_waits(
        (profile, schedule) in scheduled_chains(),
        depth in 1u64..=6,
        slower in (0u64..100, 1u64..10),
    ) {
        let period = schedule.planned_period();
        let interval =
            slowed(period, slower);
        let pipeline = Pipeline::new(&profile, &schedule).unwrap().depth(depth).unwrap().paced(interval);
        let report = run(&pipeline, 500);
        let work: u64 = schedule.loads(&profile).unwrap().iter().map(|load| load.work_ns).sum();
        let latency = report.latency_ns;
        prop_assert_eq!((latency.p50, latency.max, latency.mean), (work, work, work as f64));
        for stage in &report.stages {
            prop_assert_eq!(stage.waiting_for_output, 0.0);
            if let Some(RingReport { mean, max, .. }) = stage.input {
                prop_assert_eq!((mean, max), (0.0, 0));
            }
        }
    }

    #[test]
    fn shares_add_up_and_rings_hold_at_most_their_depth(
        (profile, schedule) in scheduled_chains(),
        depth in 1u64..=3,
        seed in any::<u64>(),
    ) {
        let times = Times::Exponential { mean_ns: 5.0 };
        let pipeline = Pipeline::new(&profile, &schedule).unwrap().depth(depth).unwrap().times(times).unwrap();
        let report = pipeline.run(1000, &mut Rng::with_seed(seed)).unwrap();
        for stage in &report.stages {
            let all = stage.busy + stage.waiting_for_input + stage.waiting_for_output;
            prop_assert!((all - 1.0).abs() < 1e-12, "{stage:?}");
            prop_assert!(stage.input.is_none_or(|ring| ring.max <= ring.slots), "{stage:?}");
        }
        prop_assert_eq!(report.stages[0].waiting_for_input, 0.0);
        prop_assert_eq!(report.stages.last().unwrap().waiting_for_output, 0.0);
    }
}

/// Each frame goes to the core that is free: a fast one does more of them, and the period is the planned one.
#[test]
fn kinds_that_share_a_stage_have_its_period() {
    let tasks = [
        TaskProfile::sequential("receive", [100, 150]),
        TaskProfile::replicable("decode", [700, 1900]).with_cut_ns([20, 30], [10, 10]),
        TaskProfile::sequential("send", [50, 80]),
    ];
    let profile = Profile::new(["big", "little"], tasks).unwrap().with_sync_ns([5, 7]).unwrap();
    let stages = [Stage::new(1, 1, "big"), Stage::mixed(1, [("big", 2), ("little", 3)]), Stage::new(1, 1, "little")];
    let schedule = Schedule::new("hand", stages, &profile).unwrap();
    let planned = schedule.planned_period();
    assert_eq!(Some(planned), Period::wide(735 * 1947, 2 * 1947 + 3 * 735));
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    let report = run(&pipeline, 100_000);
    assert!((report.period_ns / planned.ns() - 1.0).abs() < 1e-3, "{} for {planned}", report.period_ns);
    let shared = &report.stages[1];
    let expected = |work: f64, cores: f64| 50_000.0 * cores * planned.ns() / work;
    for (kind, executions) in [("big", expected(735.0, 2.0)), ("little", expected(1947.0, 3.0))] {
        assert!((shared.executions[kind] as f64 / executions - 1.0).abs() < 1e-2, "{kind}: {executions} {shared:?}");
    }
    assert_eq!((shared.replicas, shared.cores["big"], shared.cores["little"]), (5, 2, 3));
    // At the demanded pace no frame is later than is promised.
    for pace in [planned, slowed(planned, (1, 10)), slowed(planned, (77, 2)), Period::from(900), Period::from(5000)] {
        let bound = schedule.latency_bound_ns(&profile, pace).unwrap().unwrap();
        let report = run(&pipeline.clone().depth(64).unwrap().paced(pace), 20_000);
        assert!(report.latency_ns.max <= bound + 1, "{} for {bound} at {pace}", report.latency_ns.max);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The slow core holds one execution while the fast ones do many: the ring behind has room for these.
    #[test]
    fn very_unlike_cores_that_share_a_stage_have_its_period_too(
        seed in any::<u64>(),
        tasks in 1usize..8,
        ratio in 1u64..12,
        cores in (1u32..4, 1u32..4),
    ) {
        let mut random = Rng::with_seed(seed);
        let task = |_| {
            let ns = random.u64(1_000..100_000);
            let little = ns * ratio + random.u64(0..ns);
            TaskProfile { replicable: random.u8(0..10) < 8, ..TaskProfile::sequential("t", [ns, little]) }
        };
        let profile = Profile::new(["big", "little"], (0..tasks).map(task).collect::<Vec<_>>()).unwrap();
        let platform = Platform::parse_cores(&format!("big={},little={}", cores.0, cores.1), &profile).unwrap();
        let schedule = Exact.schedule(&profile, &platform).unwrap();
        let report = run(&Pipeline::new(&profile, &schedule).unwrap(), 20_000);
        let planned = schedule.planned_period().ns();
        prop_assert!((report.period_ns / planned - 1.0).abs() < 0.01, "{} ns, {planned} planned: {schedule:?}", report.period_ns);
    }
}

#[test]
fn a_slow_stage_fills_the_ring_before_it() {
    let (profile, schedule) = one_task_per_stage(&[(1, 1), (3, 1), (2, 1)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    for (depth, latency) in [(1, 11), (4, 20)] {
        let report = run(&pipeline.clone().depth(depth).unwrap(), 1200);
        // Done after 1, sent 2 later, `depth` times 3 in the ring, then worked on for 3 and 2.
        assert_eq!((report.latency_ns.p50, report.latency_ns.max), (latency, latency));
        assert_eq!((report.warm_up, report.executions, report.span_ns, report.period_ns), (600, 600, 1800, 3.0));
        let [first, second, third] = &report.stages[..] else { panic!("three stages") };
        assert_eq!((first.busy, first.waiting_for_input, first.waiting_for_output), (1.0 / 3.0, 0.0, 2.0 / 3.0));
        assert_eq!((second.busy, second.waiting_for_input, second.waiting_for_output), (1.0, 0.0, 0.0));
        assert_eq!((third.busy, third.waiting_for_input, third.waiting_for_output), (2.0 / 3.0, 1.0 / 3.0, 0.0));
        assert_eq!(first.input, None);
        assert_eq!(second.input, Some(RingReport { slots: depth, mean: depth as f64, max: depth }));
        assert_eq!(third.input, Some(RingReport { slots: depth, mean: 0.0, max: 0 }));
    }
}

#[test]
fn a_paced_source_sets_the_period_and_starts_the_latency() {
    let (profile, schedule) = one_task_per_stage(&[(10, 1), (30, 2)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    let idle = run(&pipeline.clone().paced(Period::from(40)), 1000);
    assert_eq!(idle.period(), Period::from(40));
    assert_eq!((idle.stages[0].busy, idle.stages[0].waiting_for_input), (0.25, 0.75));

    // Released every 12 ns, but two are completed every 30: those of the second replica at 52, 82, ….
    let late = run(&pipeline.paced(Period::from(12)), 1000);
    assert_eq!(late.period(), Period::from(15));
    assert_eq!(late.latency_ns.max, 52 + 30 * 499 - 12 * 999);
}

#[test]
fn measured_executions_are_a_multiple_of_what_the_replicas_repeat_after() {
    let (profile, schedule) = one_task_per_stage(&[(1, 1), (20, 4), (30, 6)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    for (executions, measured) in [(2, 1), (23, 11), (24, 12), (47, 12), (1000, 492)] {
        let report = run(&pipeline, executions);
        assert_eq!((report.executions, report.warm_up), (measured, executions - measured));
    }
}

#[test]
fn speed_divides_times_and_hand_overs_of_its_kind_only() {
    let tasks = [TaskProfile::sequential("a", [90, 95]), TaskProfile::sequential("b", [70, 75])];
    let profile = Profile::new(["big", "little"], tasks).unwrap().with_sync_ns([10, 5]).unwrap();
    let schedule = Schedule::new("hand", [Stage::new(1, 1, "big"), Stage::new(1, 1, "little")], &profile).unwrap();
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    let works = |pipeline: &Pipeline| run(pipeline, 100).stages.iter().map(|stage| stage.work_ns).collect::<Vec<_>>();
    assert_eq!(works(&pipeline), [100.0, 80.0]);
    assert_eq!(works(&pipeline.clone().speed("big", 0.8).unwrap()), [126.0, 80.0]);
    assert_eq!(works(&pipeline.speed("little", 0.5).unwrap().speed("big", 2.0).unwrap()), [50.0, 160.0]);
}

/// The report of one task alone on its core, whose latency is the time drawn.
fn drawn(ns: u64, times: Times) -> PipelineReport {
    let (profile, schedule) = one_task_per_stage(&[(ns, 1)]);
    run(&Pipeline::new(&profile, &schedule).unwrap().times(times).unwrap(), 200_000)
}

#[test]
fn times_are_drawn_by_their_laws() {
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.01;

    let uniform = drawn(1_000_000, Times::Uniform { spread: 0.4 }).latency_ns;
    assert!(near(uniform.mean, 1e6), "{uniform:?}");
    assert!(near(uniform.p50 as f64, 1e6) && near(uniform.p90 as f64, 1.32e6), "{uniform:?}");
    assert!(uniform.max <= 1_400_000 && near(uniform.max as f64, 1.4e6), "{uniform:?}");

    // The p-th percentile of an exponential law is its mean times -ln(1 - p).
    let exponential = drawn(1_000_000, Times::Exponential { mean_ns: 500_000.0 }).latency_ns;
    assert!(near(exponential.mean, 1.5e6), "{exponential:?}");
    assert!(near(exponential.p50 as f64, 1.3466e6) && near(exponential.p99 as f64, 3.3026e6), "{exponential:?}");

    let samples = drawn(77, Times::Samples(vec![vec![vec![100, 100, 100, 500]]])).latency_ns;
    assert!(near(samples.mean, 200.0), "{samples:?}");
    assert_eq!((samples.p50, samples.p90, samples.max), (100, 500, 500));
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let (profile, schedule) = one_task_per_stage(&[(1000, 1), (3000, 3), (1000, 1)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap().times(Times::Uniform { spread: 0.5 }).unwrap();
    let report = |seed| pipeline.run(1000, &mut Rng::with_seed(seed)).unwrap();
    assert_eq!(report(5), report(5));
    assert_ne!(report(5), report(6));
}

#[test]
fn samples_of_one_time_are_constant_times() {
    let (profile, schedule) = one_task_per_stage(&[(1000, 1), (2500, 3), (900, 1)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap();
    let samples = profile.tasks().iter().map(|task| vec![vec![task.ns[0].unwrap(); 3]]).collect();
    assert_eq!(run(&pipeline.clone().times(Times::Samples(samples)).unwrap(), 999), run(&pipeline, 999));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn varying_times_cost_throughput_and_deep_rings_win_it_back() {
    let (profile, schedule) = one_task_per_stage(&[(1000, 1), (4000, 4), (2000, 2), (1000, 1)]);
    let pipeline = Pipeline::new(&profile, &schedule).unwrap().times(Times::Uniform { spread: 0.5 }).unwrap();
    let period = |depth| run(&pipeline.clone().depth(depth).unwrap(), 100_000).period_ns;
    let (shallow, usual, deep) = (period(1), period(4), period(256));
    assert!(shallow > 1.01 * usual && usual > 1.001 * deep, "{shallow} {usual} {deep}");
    // Capacity: the mean work of a stage, shared by its replicas. The mean of 50 000 draws lies within 0.5 % of it.
    assert!(deep > 0.995 * 1000.0 && deep < 1.01 * 1000.0, "{deep}");
}

#[test]
fn a_pipeline_that_takes_no_time_has_no_shares() {
    let (profile, schedule) = one_task_per_stage(&[(0, 1), (0, 2)]);
    let report = run(&Pipeline::new(&profile, &schedule).unwrap(), 100);
    assert_eq!(report.period(), Period::ZERO);
    assert_eq!(report.frames_per_second, f64::INFINITY);
    assert!(report.stages.iter().all(|stage| stage.busy == 0.0 && stage.waiting_for_input == 0.0));
    assert_eq!(serde_json::to_value(&report).unwrap()["frames_per_second"], serde_json::Value::Null);
}

#[test]
fn a_report_is_written_as_json() {
    let (profile, schedule) = one_task_per_stage(&[(2000, 1), (3000, 3)]);
    let profile = profile.with_bits_per_frame(1000).unwrap().with_frames_per_execution(4).unwrap();
    let report = serde_json::to_value(run(&Pipeline::new(&profile, &schedule).unwrap(), 600)).unwrap();
    assert_eq!(report["period_ns"], 2000.0);
    assert_eq!(report["frames_per_second"], 2e6);
    assert_eq!(report["mbps"], 2000.0);
    assert_eq!(report["latency_ns"]["p999"], 5000);
    assert_eq!(report["stages"][1]["cores"]["core"], 3);
    assert_eq!(report["stages"][1]["busy"], 0.5);
    assert_eq!(report["stages"][1]["executions"]["core"], 300);
    assert_eq!(report["stages"][1]["input"]["slots"], 12);
}

#[test]
fn the_widest_stages_and_the_deepest_rings_run() {
    let (profile, schedule) = one_task_per_stage(&[(16_000, 16_000), (15_999, 15_999), (1, 1)]);
    let report = run(&Pipeline::new(&profile, &schedule).unwrap().depth(u64::MAX).unwrap(), 100_000);
    assert_eq!(report.stages[1].input.unwrap().slots, u64::MAX);
    assert!((report.period_ns - 1.0).abs() < 0.35, "{}", report.period_ns);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let tasks = [TaskProfile::sequential("receive", [200, 300]), TaskProfile::sequential("send", [100, 100])];
    let profile = Profile::new(["big", "little"], tasks).unwrap();
    let stages = || [Stage::new(1, 1, "little"), Stage::new(1, 1, "little")];
    let schedule = Schedule::new("hand", stages(), &profile).unwrap();
    let pipeline = || Pipeline::new(&profile, &schedule).unwrap();
    let check = |error: Error, kind, text: &str| {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.kind(), kind, "{text}");
    };

    let other = Profile::new(["big"], [TaskProfile::sequential("only", [1])]).unwrap();
    check(
        Pipeline::new(&other, &schedule).unwrap_err(),
        ErrorKind::Schedule,
        "schedule, stages: they take 2 tasks, the profile has 1: schedule for this profile",
    );
    let sharing = Schedule::sharing("hand", stages(), &[("little".to_owned(), 1)].into(), &profile).unwrap();
    check(
        Pipeline::new(&profile, &sharing).unwrap_err(),
        ErrorKind::Simulation,
        "simulation, schedule: its threads share cores, and this simulation gives each thread a core of its own: \
         give a schedule that has a core for every thread",
    );
    check(
        pipeline().depth(0).unwrap_err(),
        ErrorKind::Simulation,
        "simulation, depth: a ring of depth 0 holds nothing: give a depth of at least 1",
    );
    for executions in [0, 1] {
        check(
            pipeline().run(executions, &mut Rng::with_seed(1)).unwrap_err(),
            ErrorKind::Simulation,
            &format!(
                "simulation, executions: {executions}: a period lies between two, so give at least 2; \
                 better many thousands"
            ),
        );
    }
    for (speed, text) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        check(
            pipeline().speed("big", speed).unwrap_err(),
            ErrorKind::Simulation,
            &format!("simulation, speed of `big`: {text}: write a finite factor above 0, for example 0.85"),
        );
    }
    check(
        pipeline().speed("huge", 1.0).unwrap_err(),
        ErrorKind::Simulation,
        "simulation, speed of `huge`: the profile has no such kind, only big, little: name one of them",
    );
    let times = [
        (Times::Uniform { spread: -0.1 }, "spread: -0.1: write a share from 0 to 1"),
        (Times::Uniform { spread: 1.5 }, "spread: 1.5: write a share from 0 to 1"),
        (Times::Uniform { spread: f64::NAN }, "spread: NaN: write a share from 0 to 1"),
        (Times::Exponential { mean_ns: -1.0 }, "mean_ns: -1 ns: write a finite mean delay of 0 ns or more"),
        (Times::Exponential { mean_ns: f64::INFINITY }, "mean_ns: inf ns: write a finite mean delay of 0 ns or more"),
        (
            Times::Samples(vec![vec![vec![1], vec![1]]]),
            "samples: they are of 1 tasks, the profile has 2: give one list per task",
        ),
        (
            Times::Samples(vec![vec![vec![1], vec![1]], vec![vec![1]]]),
            "samples[1] (`send`): they are for 1 kinds of cores, the profile has big, little: give one list per kind, \
             an empty one for a kind that the task does not run on",
        ),
        (
            Times::Samples(vec![vec![vec![1], vec![]], vec![vec![1], vec![1]]]),
            "samples[0] (`receive`): there is none for `little`, on which the task runs: give at least one time",
        ),
    ];
    for (times, text) in times {
        let error = pipeline().times(times).unwrap_err();
        check(error, ErrorKind::Simulation, &format!("simulated times, {text}"));
    }
    assert!(pipeline().times(Times::Samples(vec![vec![vec![], vec![1]]; 2])).is_ok(), "nothing runs on big cores");
}

#[test]
fn simulated_time_that_passes_the_last_nanosecond_is_refused() {
    let too_long = |pipeline: Pipeline, execution: u64| {
        let error = pipeline.run(100, &mut Rng::with_seed(1)).unwrap_err();
        let text = format!(
            "simulation, execution {execution}: the simulated time passes 2^64 ns (584 years): \
             give fewer executions, or shorter times"
        );
        assert_eq!(error.to_string(), text);
    };
    let (profile, schedule) = one_task_per_stage(&[(1 << 63, 1), (1, 1)]);
    let pipeline = || Pipeline::new(&profile, &schedule).unwrap();
    too_long(pipeline(), 1);
    too_long(pipeline().speed("core", 1e-300).unwrap(), 0);
    too_long(pipeline().times(Times::Exponential { mean_ns: f64::MAX }).unwrap(), 0);
    let (profile, schedule) = one_task_per_stage(&[(1, 1)]);
    too_long(Pipeline::new(&profile, &schedule).unwrap().paced(Period::from(u64::MAX)), 1);
    let samples = Times::Samples(vec![vec![vec![u64::MAX]]]);
    let profile = profile.with_sync_ns([1]).unwrap();
    too_long(Pipeline::new(&profile, &schedule).unwrap().times(samples).unwrap(), 0);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn the_schedules_of_table_2_reach_their_throughput_with_constant_times_and_less_with_varying_ones() {
    let (Some(profiles), Some(table)) = (data("dvbs2_profiles.json"), data("dvbs2_schedules.json")) else { return };
    let rows = table["solutions"].as_array().unwrap();
    assert_eq!(rows.len(), 40);
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let profile = dvbs2(&profiles, row["platform"].as_str().unwrap());
        let stages = row["stages"].as_array().unwrap().iter().map(|stage| {
            let number = |key: &str| stage[key].as_u64().unwrap();
            let kind = if stage["type"] == "B" { "big" } else { "little" };
            Stage::new(number("n_tasks") as usize, number("cores") as u32, kind)
        });
        let schedule = Schedule::new(row["strategy"].as_str().unwrap(), stages, &profile).unwrap();

        let pipeline = Pipeline::new(&profile, &schedule).unwrap();
        let constant = run(&pipeline, 5000);
        assert_eq!(constant.period(), schedule.planned_period(), "{id}");
        // As in `published.rs`: Table 3 cuts its times to 0.1 us.
        let mbps = constant.mbps.unwrap();
        assert!((row["sim_mbps"].as_f64().unwrap() - mbps).abs() <= 0.06, "{id}: {mbps} Mb/s");

        let varying = run(&pipeline.times(Times::Uniform { spread: 0.5 }).unwrap(), 20_000);
        // Over 10 000 executions the mean work of the limiting stage lies within 0.4 % of the planned.
        assert!(varying.period_ns > 0.996 * constant.period_ns, "{id}: {} ns", varying.period_ns);
        for stage in &varying.stages {
            let capacity = stage.work_ns / f64::from(stage.replicas);
            assert!(varying.period_ns > 0.999 * capacity, "{id}: {} ns, {stage:?}", varying.period_ns);
        }
    }
}
