//! Frames leave in the order in which they entered, whatever runs side by side.

use crate::common::{Act, Add, Count, Pair, Probe, rig, watched};
use bief::{Chain, sink};

#[test]
#[ignore = "long: part of .ci/run"]
fn replicas_of_any_number_next_to_any_other_keep_the_order() {
    for threads in [[1, 1, 1], [2, 1, 3], [3, 2, 1], [2, 3, 2], [4, 3, 1], [1, 5, 2]] {
        for (batch, depth) in [(1, 1), (1, 4), (4, 2), (7, 1)] {
            let frames = 500;
            let rig = rig(frames, batch, threads, [Act::Jitter(60), Act::Jitter(20), Act::Jitter(60)]);
            let report = watched(move || {
                rig.chain.build()?.pipeline_as_marked()?.depth(depth)?.run().map(|report| (report, rig.result.take()))
            });
            let (report, result) = report.unwrap();
            assert_eq!(report.frames, frames);
            assert_eq!(result, (3000..3000 + frames).collect::<Vec<_>>(), "{threads:?}, batch {batch}, depth {depth}");
        }
    }
}

#[test]
fn skipped_frames_leave_no_gap_and_no_disorder() {
    for threads in [[1, 1, 1], [3, 2, 1], [2, 3, 4]] {
        for batch in [1, 3] {
            let rig = rig(600, batch, threads, [Act::Jitter(30), Act::KeepEvery(3), Act::Jitter(30)]);
            let result = watched(move || {
                rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
                rig.result.take()
            });
            assert_eq!(result, (0..600).filter(|x| x % 3 == 0).map(|x| x + 3000).collect::<Vec<_>>());
        }
    }
}

/// Two wires from one source: one rewritten in an early stage, one carried past two stages.
fn jumping(batch: usize, threads: usize) -> (Chain, sink::Collected<[u64; 2]>) {
    let mut chain = Chain::new().batch(batch);
    let mut a = chain.add(Count::to(300), ());
    let early = chain.add(Probe::new(Act::Pass), &a); // reads a before it is rewritten
    chain.stage("rewrite").threads(threads);
    chain.add(Add(7), &mut a);
    chain.stage("between").threads(2);
    let middle = chain.add(Probe::new(Act::Jitter(20)), &a);
    chain.stage("join").threads(threads);
    chain.add(Add(1), &mut a);
    let first = chain.add(Pair, (&early, &a));
    chain.stage("last");
    let pairs = chain.add(Pair, (&early, &middle));
    let (collect, result) = sink::collect();
    chain.add(collect, &first);
    let (rest, _) = sink::collect();
    chain.add(rest, &pairs);
    (chain, result)
}

#[test]
fn wires_that_jump_over_stages_arrive_with_their_frame() {
    let expected: Vec<[u64; 2]> = (0..300).map(|x| [x + 1000, x + 8]).collect();
    let (chain, result) = jumping(3, 1);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), expected, "on one core");
    for (batch, threads) in [(1, 1), (1, 3), (4, 2)] {
        let (chain, result) = jumping(batch, threads);
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        assert_eq!(result.take(), expected, "batch {batch}, {threads} threads");
    }
}

#[test]
fn a_pipeline_gives_what_one_core_gives() {
    let one = rig(1000, 16, [1, 1, 1], [Act::Pass, Act::KeepEvery(7), Act::Stop(700)]);
    one.chain.build().unwrap().run().unwrap();
    let expected = one.result.take();
    assert_eq!(expected.len(), 100);
    let many = rig(1000, 16, [2, 3, 2], [Act::Pass, Act::KeepEvery(7), Act::Stop(700)]);
    watched(move || many.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
    assert_eq!(many.result.take(), expected);
}
