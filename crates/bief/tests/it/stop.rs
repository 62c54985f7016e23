//! The ends of a stream: a source that stops, a task that stops early, a slow sink.

use std::time::Duration;

use crate::common::{Act, Count, Probe, rig, watched};
use bief::{Chain, Flow, sink};

#[test]
fn a_stop_anywhere_ends_the_stream_at_that_frame() {
    for stopping in 0..3 {
        for (batch, counts) in [(1, [1, 1, 1]), (4, [1, 1, 1]), (1, [2, 3, 2]), (4, [3, 2, 4])] {
            let mut acts = [Act::Jitter(10); 3];
            acts[stopping] = Act::Stop(77);
            let rig = rig(900, batch, counts, acts);
            let result = watched(move || {
                rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
                rig.result.take()
            });
            assert_eq!(result, (3000..3077).collect::<Vec<_>>(), "probe {stopping}, batch {batch}, {counts:?}");
        }
    }
}

#[test]
fn a_sink_may_stop_an_endless_source() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(u64::MAX), ());
    chain.stage("work").threads(3);
    let wire = chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    let mut seen = 0;
    chain.add(
        sink::for_each(move |_: &[u64]| {
            seen += 1;
            Ok(if seen > 100 { Flow::Stop } else { Flow::Next })
        }),
        &wire,
    );
    let report = watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
    assert_eq!(report.frames, 100);
}

#[test]
fn an_empty_stream_and_a_partial_batch_are_streams() {
    for frames in [0, 1, 5, 8, 9] {
        let rig = rig(frames, 4, [2, 1, 2], [Act::Pass; 3]);
        let result = watched(move || {
            rig.chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
            rig.result.take()
        });
        assert_eq!(result, (3000..3000 + frames).collect::<Vec<_>>());
    }
}

#[test]
fn a_slow_sink_holds_the_source_back() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let made = Arc::new(AtomicU64::new(0));
    let taken = Arc::new(AtomicU64::new(0));
    let most_ahead = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new();
    let source = bief::source::from_fn(1, {
        let (made, taken, most_ahead) = (Arc::clone(&made), Arc::clone(&taken), Arc::clone(&most_ahead));
        move |frame: &mut [u64]| {
            frame[0] = made.fetch_add(1, Ordering::SeqCst);
            most_ahead.fetch_max(frame[0] - taken.load(Ordering::SeqCst), Ordering::SeqCst);
            Ok(if frame[0] == 300 { Flow::Stop } else { Flow::Next })
        }
    });
    let wire = chain.add(source, ());
    chain.stage("work").threads(2);
    let wire = chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    chain.add(
        sink::for_each(move |_: &[u64]| {
            std::thread::sleep(Duration::from_micros(200));
            taken.fetch_add(1, Ordering::SeqCst);
            Ok(Flow::Next)
        }),
        &wire,
    );
    let report = watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().depth(2).unwrap().run().unwrap());
    assert_eq!(report.frames, 300);
    // A ring of two batches for each of two replicas on either side, and what each of four threads holds.
    assert_eq!(report.max_frames_in_flight, 2 * (2 * 2) + 4);
    let most_ahead = most_ahead.load(Ordering::SeqCst);
    assert!(most_ahead <= report.max_frames_in_flight, "{most_ahead} frames in flight");
    assert!(report.stages[0].waiting_for_output > 0.5, "{report}");
    assert_eq!(report.limiting_stage, 2, "{report}");
}
