//! A profile has a weight for each task, however little there is to measure.

mod common;

use bief::Chain;
use common::{Act, Count, Probe};

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
        assert!(profile.tasks().iter().all(|task| task.ns[0] > 0));
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
    let ns = profile.tasks()[2].ns[0];
    assert!(ns >= 12_000, "{ns} ns");
}
