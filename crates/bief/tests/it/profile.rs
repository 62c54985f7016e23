//! A profile has a weight for each task, however little there is to measure.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use crate::common::{Act, Count, Probe, all_ended, silence_panics};
use bief::error::ErrorKind;
use bief::plan::{Load, Profiling};
use bief::{Chain, Flow, Machine, sink, source};

fn profiled(frames: u64, batch: usize, executions: usize) -> bief::Result<bief::schedule::Profile> {
    let mut chain = Chain::new().batch(batch);
    let wire = chain.add(Count::to(frames), ());
    let kept = chain.add(Probe::new(Act::KeepEvery(4)), &wire);
    chain.add(Probe::sequential(Act::Sleep(std::time::Duration::from_micros(50))), &kept);
    chain.build()?.profile(executions)
}

#[test]
fn streams_of_any_length_are_measured() {
    for frames in 1..40 {
        let profile = profiled(frames, 1, 100).unwrap();
        assert_eq!(profile.tasks().len(), 3);
        assert!(profile.tasks().iter().all(|task| task.ns[0] > Some(0)));
    }
    assert!(profiled(1_000_000, 4, 5).is_ok(), "an endless source is left after some executions");
}

#[test]
fn names_flags_and_batches_are_those_of_the_chain() {
    let profile = profiled(400, 2, 50).unwrap();
    let facts: Vec<(&str, bool)> = profile.tasks().iter().map(|task| (task.name.as_str(), task.replicable)).collect();
    assert_eq!(facts, [("Count", false), ("Probe", true), ("Probe 2", false)]);
    assert_eq!((profile.frames_per_execution(), profile.kinds().len()), (2, 1));
}

#[test]
fn a_task_behind_skips_weighs_what_it_costs_per_execution() {
    // It sleeps at least 50 us for one frame of four.
    let profile = profiled(4000, 1, 400).unwrap();
    let ns = profile.tasks()[2].ns[0].unwrap();
    assert!(ns >= 12_000, "{ns} ns");
}

const SLEEP: std::time::Duration = std::time::Duration::from_micros(200);

/// This machine's first and last core as a fast and a slow kind; one task is slower still.
fn two_kinds() -> Option<Machine> {
    let here = Machine::here();
    let [first, .., last] = here.cores() else {
        eprintln!("skipped: two kinds of cores need two cores");
        return None;
    };
    let text = format!(
        "[[kind]]\nname = 'fast'\ncores = '{}'\n[[kind]]\nname = 'slow'\ncores = '{}'\nspeed = 0.5\n[kind.tasks]\n\
         'Probe 2' = 0.2\n",
        first.threads[0], last.threads[0]
    );
    Some(Machine::emulated(&text, &here).unwrap())
}

fn sleepy(frames: u64) -> bief::Program {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(frames), ());
    let wire = chain.add(Probe::new(Act::Sleep(SLEEP)), &wire);
    chain.add(Probe::new(Act::Sleep(SLEEP)), &wire);
    chain.build().unwrap()
}

fn executions(count: usize, load: Load) -> Profiling {
    Profiling { executions: NonZeroUsize::new(count).unwrap(), load, ..Profiling::default() }
}

#[test]
fn measuring_ends_when_its_time_is_over() {
    let limit = std::time::Duration::from_millis(20);
    let all = Profiling { limit, ..executions(1 << 40, Load::Idle) };
    let profile = sleepy(u64::MAX).profile_on(&Machine::here(), all).unwrap();
    let seen = profile.tasks()[1].seen.as_ref().unwrap()[0].unwrap();
    assert!((1..1 << 30).contains(&seen.samples), "{seen:?}");
    let costs = sleepy(u64::MAX).costs_on(&Machine::here(), &[1, 2], all).unwrap();
    assert_eq!(costs[0].tasks[1].sizes.len(), 2);
}

#[test]
fn a_task_takes_as_much_longer_as_its_emulated_core_is_slower() {
    let Some(machine) = two_kinds() else { return };
    let profile = sleepy(u64::MAX).profile_on(&machine, executions(8, Load::Idle)).unwrap();
    assert_eq!(profile.kinds(), ["fast", "slow"]);
    // It sleeps as long at least; reading the clock is taken off.
    let least = SLEEP.as_nanos() as f64 * 0.99;
    for (task, factors) in profile.tasks()[1..].iter().zip([[1.0, 2.0], [1.0, 5.0]]) {
        for (kind, factor) in factors.into_iter().enumerate() {
            let seen = task.seen.as_ref().unwrap()[kind].unwrap();
            assert!(seen.min_ns as f64 >= factor * least, "{} on kind {kind}: {seen:?}", task.name);
            assert!(task.ns[kind] >= Some(seen.min_ns) && (1..=16).contains(&seen.samples), "{task:?}");
        }
    }
    assert!(profile.machine().unwrap().contains("emulated at 0.5"));
}

#[cfg(target_os = "linux")]
#[test]
fn kinds_of_cores_are_measured_by_turns() {
    let Some(machine) = two_kinds() else { return };
    // The cores that the thread may run on, each time that they are others.
    let places = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&places);
    let mut chain = Chain::new();
    let fill = move |frame: &mut [u8]| {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let place = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
        let mut seen = seen.lock().unwrap();
        if seen.last() != Some(&place) {
            seen.push(place);
        }
        frame[0] = 1;
        Ok(Flow::Next)
    };
    let frames = chain.add(source::from_fn(1, fill), ());
    chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &frames);
    chain.build().unwrap().profile_on(&machine, executions(4, Load::Idle)).unwrap();
    let place = |kind| {
        bief::machine::thread_list(
            machine.cores().iter().filter(|core| core.kind == kind).flat_map(|core| core.threads.clone()),
        )
    };
    let turns: Vec<String> = (0..8).map(|turn| place(turn % 2)).collect();
    // What follows measures cuts, on two cores.
    assert_eq!(places.lock().unwrap()[..8], turns);
}

#[test]
fn a_source_that_ends_early_is_measured_as_far_as_it_goes() {
    let here = Machine::here();
    for frames in [1, 5, 9, 30] {
        let profile = sleepy(frames).profile_on(&here, executions(200, Load::Idle));
        // Kinds take turns: of several, the last may have been given nothing.
        assert!(profile.is_ok() || here.kinds().len() > 1, "{frames} frames");
    }
    let error = sleepy(0).profile_on(&here, executions(200, Load::Idle)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let told = "the source ended before one whole batch on each kind of core: there is nothing to profile, give a longer input \
                or a smaller batch";
    assert_eq!(error.to_string(), told);
    let Some(machine) = two_kinds() else { return };
    let error = sleepy(5).profile_on(&machine, executions(200, Load::Idle)).unwrap_err();
    assert_eq!(error.to_string(), told);
    // So few executions that the second kind has its turn.
    sleepy(40).profile_on(&machine, executions(4, Load::Idle)).unwrap();
}

#[test]
fn cores_that_were_kept_busy_are_left_again() {
    silence_panics("told to panic");
    let here = Machine::here();
    sleepy(u64::MAX).profile_on(&here, executions(5, Load::Busy)).unwrap();
    assert!(all_ended("busy"));
    for (act, kind) in [(Act::Fail(12), ErrorKind::Task), (Act::Panic(12), ErrorKind::Panic)] {
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(1000), ());
        chain.add(Probe::sequential(act), &wire);
        let error = chain.build().unwrap().profile_on(&here, executions(200, Load::Busy)).unwrap_err();
        assert_eq!((error.kind(), error.place().task.as_deref()), (kind, Some("Probe")), "{error}");
        assert!(all_ended("busy"));
    }
}

#[test]
fn a_kind_without_a_core_is_not_measured() {
    let text = r#"{"format": 1, "model": "board", "kinds": [{"name": "big"}, {"name": "little"}],
        "cores": [{"threads": [0], "kind": 0, "cluster": 0, "package": 0, "node": 0}]}"#;
    let machine = Machine::from_json(text).unwrap();
    let error = sleepy(100).profile_on(&machine, executions(5, Load::Idle)).unwrap_err();
    assert!(error.to_string().contains("no core of the kind `little` to measure on"), "{error}");
}

fn costs_of(frames: u64, batches: &[usize]) -> bief::Result<Vec<bief::plan::BatchCosts>> {
    let mut chain = Chain::new().batch(3);
    let wire = chain.add(Count::to(frames), ());
    let kept = chain.add(Probe::new(Act::KeepEvery(4)), &wire);
    chain.add(Probe::sequential(Act::Pass), &kept);
    let profiling = Profiling { executions: NonZeroUsize::new(8).unwrap(), ..Profiling::default() };
    chain.build()?.costs_on(&Machine::here(), batches, profiling)
}

#[test]
fn tasks_cost_by_the_size_of_the_batch() {
    use bief::schedule::realtime::FitMethod;

    let costs = costs_of(1_000_000, &[1, 16, 4]).unwrap();
    assert_eq!(costs.len(), Machine::here().kinds().len());
    let facts: Vec<(&str, bool)> = costs[0].tasks.iter().map(|task| (task.name.as_str(), task.replicable)).collect();
    assert_eq!(facts, [("Count", false), ("Probe", true), ("Probe 2", false)]);
    for (index, task) in costs[0].tasks.iter().enumerate() {
        let sizes: Vec<u64> = task.sizes.iter().map(|size| size.samples).collect();
        assert_eq!(sizes, [1, 16, 4]);
        // Behind the skips, batches of one frame are empty three times of four.
        let times = |size: usize| task.sizes[size].ns.len();
        assert!(times(1) >= 8 && times(0) >= if index < 2 { 8 } else { 1 }, "{} {}", times(0), times(1));
        let fit = task.fit(FitMethod::Typical).unwrap();
        assert!(fit.cost.init_ns >= 0.0 && fit.cost.per_sample_ns >= 0.0 && fit.rows.len() == 3);
    }
}

#[test]
fn sizes_that_tell_nothing_are_refused() {
    for (frames, batches, told) in [
        (1_000, &[][..], "no sizes of batches"),
        (1_000, &[4, 2, 4], "batches of 4 are measured once"),
        (1_000, &[1, 0], "a batch of 0 frames"),
        (3, &[1, 4], "the source ended"),
    ] {
        let error = costs_of(frames, batches).unwrap_err();
        assert!(error.kind() == ErrorKind::Build && error.to_string().contains(told), "{error}");
    }
}

#[test]
fn frames_of_different_lengths_are_compared_as_batches_are() {
    let single = || costs_of(1_000_000, &[1]).unwrap().remove(0);
    let costs = bief::plan::BatchCosts::by_size([(1, single()), (8, single())]).unwrap();
    let sizes = |task: &bief::plan::TaskCosts| task.sizes.iter().map(|size| size.samples).collect::<Vec<_>>();
    assert!(costs.tasks.iter().all(|task| sizes(task) == [1, 8]));
    let batches = costs_of(1_000_000, &[2]).unwrap().remove(0);
    assert!(bief::plan::BatchCosts::by_size([(1, batches)]).is_err() && bief::plan::BatchCosts::by_size([]).is_err());
    let mut other = single();
    other.tasks.pop();
    assert!(bief::plan::BatchCosts::by_size([(1, single()), (8, other)]).is_err());
}
