//! Errors and panics come home with their place; what went before is delivered.

use std::sync::atomic::Ordering;

use crate::common::{Act, Count, Probe, Unflushed, rig, watched};
use bief::{Chain, Error, ErrorKind, Flow};

/// Where the probes stand: the first after the source, one in the middle, one before the sink.
#[test]
fn the_first_fault_ends_the_run_with_its_place() {
    for (panics, batch) in [(false, 1), (false, 4), (true, 1), (true, 4)] {
        for faulty in 0..3 {
            for counts in [[1, 1, 1], [2, 3, 2]] {
                let at = 123;
                let mut acts = [Act::Jitter(10); 3];
                acts[faulty] = if panics { Act::Panic(at) } else { Act::Fail(at) };
                let rig = rig(1000, batch, counts, acts);
                let (error, result) = watched(move || {
                    let error = rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err();
                    (error, rig.result.take())
                });
                assert_eq!(error.kind(), if panics { ErrorKind::Panic } else { ErrorKind::Task });
                assert_eq!(error.place().stage.as_deref(), Some(&*format!("s{faulty}")));
                assert_eq!(error.place().frame, Some(at));
                let text = error.to_string();
                assert!(text.contains("task `Probe") && text.contains(&format!("at {at}")), "{text}");
                // Whole batches before the fault are delivered, in order.
                let whole = at / batch as u64 * batch as u64;
                assert_eq!(result, (3000..3000 + whole).collect::<Vec<_>>(), "{error}");
            }
        }
    }
}

#[test]
fn on_one_core_too() {
    for act in [Act::Fail(55), Act::Panic(55)] {
        let rig = rig(1000, 1, [1, 1, 1], [Act::Pass, act, Act::Pass]);
        let error = rig.chain.build().unwrap().run().unwrap_err();
        assert_eq!(error.place().frame, Some(55));
        assert_eq!(rig.result.take().len(), 55);
        assert_eq!(rig.finished.load(Ordering::Relaxed), 2, "every task but the failed one is finished");
    }
}

#[test]
fn a_source_that_fails_delivers_what_it_made() {
    let mut chain = Chain::new();
    let mut next = 0;
    let source = bief::source::from_fn(1, move |frame: &mut [u64]| {
        frame[0] = next;
        next += 1;
        if next == 40 { Err(Error::new("the antenna fell off")) } else { Ok(Flow::Next) }
    });
    let wire = chain.add(source, ());
    chain.stage("work").threads(3);
    let wire = chain.add(Probe::new(Act::Jitter(30)), &wire);
    chain.stage("out");
    let (collect, result) = bief::sink::collect();
    chain.add(collect, &wire);
    let error = watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap_err());
    assert!(error.to_string().contains("the antenna fell off"), "{error}");
    assert_eq!(result.take(), (1000..1039).collect::<Vec<_>>());
}

#[test]
fn a_sink_that_cannot_flush_is_an_error_of_the_run() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(3), ());
    chain.add(Unflushed { panics: false }, &wire);
    let error = chain.build().unwrap().run().unwrap_err();
    assert_eq!(error.to_string(), "task `Unflushed` (stage `chain`): no space left");
}
