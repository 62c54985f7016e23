//! The smallest pipelines under loom, from the start of their threads to the end: `.ci/deep loom` runs this file.
//!
//! Loom tries every interleaving with one preemption (or `LOOM_MAX_PREEMPTIONS`; with two they are too many), weak memory
//! included. Larger pipelines: `shuttle.rs`.
#![cfg(bief_loom)]

mod common;

use bief::{Chain, Flow, sink, source};
use common::{Act, Count, Probe};

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(1);
    builder.max_branches = 20_000;
    builder.check(f);
}

#[test]
fn two_workers_start_hand_over_and_end_twice() {
    model(|| {
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(2), ());
        chain.stage("out");
        let wire = chain.add(Probe::new(Act::Pass), &wire);
        let (collect, result) = sink::collect();
        chain.add(collect, &wire);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(1).unwrap();
        for _ in 0..2 {
            assert_eq!(pipeline.run().unwrap().frames, 2);
            assert_eq!(result.take(), [1000, 1001]);
        }
    });
}

#[test]
fn a_fault_and_a_stop_end_both_workers() {
    model(|| {
        let mut next = 0;
        let numbers = source::from_fn(1, move |frame: &mut [u64]| {
            frame[0] = next;
            next += 1;
            Ok(if next > 3 { Flow::Stop } else { Flow::Next })
        });
        let mut chain = Chain::new();
        let wire = chain.add(numbers, ());
        chain.stage("out");
        let wire = chain.add(Probe::new(Act::Fail(1)), &wire);
        let (collect, result) = sink::collect();
        chain.add(collect, &wire);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(1).unwrap();
        let stopper = pipeline.stopper();
        let stops = loom::thread::spawn(move || stopper.stop());
        let outcome = pipeline.run();
        stops.join().unwrap();
        match outcome {
            Ok(report) => assert!(report.frames <= 1, "stopped before the fault"),
            Err(error) => assert_eq!(error.place().frame, Some(1)),
        }
        assert!([vec![], vec![1000]].contains(&result.take()));
    });
}
