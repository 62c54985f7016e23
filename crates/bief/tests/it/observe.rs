//! What a report tells of an observed run, and a watch while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Act, Add, Count, Probe, rig, watched};
use bief::report::{Latency, Times};
use bief::{Chain, Error, Flow, In, Report, Result, Task, sink};

fn times(report: &Report) -> Vec<Option<Times>> {
    report.stages.iter().flat_map(|stage| &stage.tasks).map(|task| task.times).collect()
}

fn ordered(times: &Times) -> bool {
    times.count > 0
        && times.min_ns <= times.median_ns
        && times.median_ns <= times.p99_ns
        && times.p99_ns <= times.max_ns
}

fn in_order(latency: &Latency) -> bool {
    let Latency { min_ns, median_ns, p90_ns, p99_ns, max_ns, .. } = *latency;
    [min_ns, median_ns, p90_ns, p99_ns, max_ns].is_sorted()
}

#[test]
fn nothing_more_is_told_of_a_run_that_is_not_observed() {
    let rig = rig(20, 2, [1, 2, 1], [Act::Pass; 3]);
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap();
        let mut watch = pipeline.watch();
        let report = pipeline.run().unwrap();
        assert!(times(&report).iter().all(Option::is_none));
        assert_eq!(report.latency, None);
        assert_eq!(report.boundaries.len(), 4);
        assert!(report.boundaries.iter().all(|boundary| boundary.occupancy.is_none()));
        assert!(pipeline.last_trace().is_none());
        assert_eq!(report.to_string().lines().count(), 7, "{report}");
        assert_eq!(watch.status().frames, 20);
    });
}

#[test]
fn every_frame_and_every_task_of_every_run_is_noted() {
    for (batch, threads) in [(1, [1, 1, 1]), (3, [2, 3, 1])] {
        let rig = rig(100, batch, threads, [Act::Pass, Act::KeepEvery(4), Act::Pass]);
        watched(move || {
            let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap().observe();
            // The figures are of one run, not of all.
            for _ in 0..3 {
                let report = pipeline.run().unwrap();
                assert_eq!(rig.result.take().len(), 25);
                let latency = report.latency.expect("frames arrived");
                assert_eq!((report.frames, latency.frames), (25, 25));
                assert!(in_order(&latency), "{latency:?}");
                assert!(latency.max_ns as f64 <= 1e9 * report.seconds);
                for (task, times) in report.stages.iter().flat_map(|stage| &stage.tasks).zip(times(&report)) {
                    let times = times.unwrap_or_else(|| panic!("{} ran", task.name));
                    assert!(ordered(&times) && times.count <= report.executions, "{task:?}");
                    // The first batch of each replica is always timed.
                    assert!(latency.max_ns >= times.min_ns);
                }
                for boundary in &report.boundaries {
                    let occupancy = boundary.occupancy.expect("batches crossed");
                    assert!(occupancy.samples <= report.executions + 1, "{boundary:?}");
                    assert!(occupancy.max <= boundary.slots && occupancy.mean <= occupancy.max as f64);
                }
                assert!(report.to_string().lines().all(|line| line.chars().count() <= 80), "{report}");
            }
        });
    }
}

#[test]
fn times_and_latency_are_as_long_as_the_work() {
    const SLEEP: Duration = Duration::from_millis(3);
    let rig = rig(12, 2, [1, 1, 1], [Act::Pass, Act::Sleep(SLEEP), Act::Pass]);
    let report = watched(move || rig.chain.build().unwrap().pipeline_as_marked().unwrap().observe().run().unwrap());
    let of_batch = 2 * SLEEP.as_nanos() as u64;
    let sleeping = report.stages[2].tasks[0].times.unwrap();
    // What reading the clock costs is taken off, and nearly every batch this long is timed.
    assert!((3..=6).contains(&sleeping.count) && sleeping.min_ns > of_batch - 10_000, "{sleeping:?}");
    assert!(sleeping.median_ns as f64 > 0.97 * of_batch as f64, "{sleeping:?}");
    assert!(report.latency.unwrap().min_ns >= of_batch);
}

#[test]
fn latency_begins_when_the_source_is_asked() {
    const SLEEP: Duration = Duration::from_millis(3);
    let mut left = 3;
    let slow = bief::source::from_fn(1, move |_: &mut [u64]| {
        std::thread::sleep(SLEEP);
        left -= 1;
        Ok(if left == 0 { Flow::Stop } else { Flow::Next })
    });
    let mut chain = Chain::new();
    let wire = chain.add(slow, ());
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let latency = chain.build().unwrap().one_core().unwrap().observe().run().unwrap().latency.unwrap();
    assert!(latency.frames == 2 && latency.min_ns >= SLEEP.as_nanos() as u64, "{latency:?}");
}

/// Takes its time, and does not look away before the source has made `ahead` more frames, or all of them.
struct Slow {
    made: Arc<AtomicU64>,
    ahead: u64,
    all: u64,
}

impl Task for Slow {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, number: &[u64], (): ()) -> Result<Flow> {
        while self.made.load(Ordering::Acquire) < (number[0] + 1 + self.ahead).min(self.all) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(Flow::Next)
    }
}

#[test]
fn a_slow_sink_fills_the_ring_before_it_and_holds_the_source_back() {
    const FRAMES: u64 = 40;
    const DEPTH: usize = 3;
    let made = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(FRAMES), ());
    let counter = Arc::clone(&made);
    chain.add(
        sink::for_each(move |_: &[u64]| {
            counter.fetch_add(1, Ordering::Release);
            Ok(Flow::Next)
        }),
        &wire,
    );
    chain.stage("slow");
    // As many as the ring holds, and one that has no room.
    chain.add(Slow { made, ahead: DEPTH as u64 + 1, all: FRAMES }, &wire);
    let run = move || chain.build()?.pipeline_as_marked()?.depth(DEPTH)?.observe().run();
    let report = watched(run).unwrap();
    let occupancy = report.boundaries[0].occupancy.unwrap();
    assert_eq!((report.boundaries[0].slots, occupancy.max), (DEPTH, DEPTH));
    // All but the first look and those behind the last frames found it full; most were taken.
    assert!((1..=FRAMES + 1).contains(&occupancy.samples), "{occupancy:?}");
    assert!(occupancy.full > 0.6 && occupancy.mean > 2.0, "{occupancy:?}");
    let source = &report.stages[0];
    assert!((1..FRAMES).contains(&source.waits_for_output), "{source:?}");
    assert_eq!(source.waits_for_input, 0, "nothing is before it");
    assert!(report.stages[1].waits_for_input <= FRAMES && report.stages[1].waits_for_output == 0);
}

#[test]
fn a_stage_that_waits_for_input_counts_it() {
    let mut chain = Chain::new();
    let mut left = 20;
    let source = bief::source::from_fn(1, move |_: &mut [u64]| {
        std::thread::sleep(Duration::from_millis(1));
        left -= 1;
        Ok(if left == 0 { Flow::Stop } else { Flow::Next })
    });
    let wire = chain.add(source, ());
    chain.stage("quick");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let report = watched(move || chain.build()?.pipeline_as_marked()?.run()).unwrap();
    let [source, quick] = [&report.stages[0], &report.stages[1]];
    assert!((1..=20).contains(&quick.waits_for_input), "{quick:?}");
    assert_eq!((source.waits_for_input, quick.waits_for_output), (0, 0));
}

#[test]
fn a_region_is_observed_as_one_task_and_one_core_runs_again() {
    let mut chain = Chain::new().batch(4);
    let mut wire = chain.add(Count::to(50), ());
    chain.repeat(3, |chain| chain.add(Add(1), &mut wire));
    chain.add(Probe::new(Act::KeepEvery(60)), &wire);
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let mut pipeline = chain.build().unwrap().one_core().unwrap().observe();
    let mut watch = pipeline.watch();
    for _ in 0..2 {
        let report = pipeline.run().unwrap();
        let names: Vec<&str> = report.stages[0].tasks.iter().map(|task| &*task.name).collect();
        assert_eq!((report.stages.len(), &names[..2]), (1, &["Count", "repeat(Add)"][..]));
        // Numbers are 3 to 52: none is left for the sink.
        assert!(times(&report)[..3].iter().flatten().count() == 3 && times(&report)[3].is_none(), "{report}");
        assert_eq!((report.frames, report.latency, report.boundaries.len()), (0, None, 0));
        let status = watch.status();
        assert_eq!((status.frames, status.batches_in_flight), (0, 0));
    }
}

#[test]
fn json_holds_what_was_observed() {
    let rig = rig(20, 1, [1, 1, 1], [Act::Pass; 3]);
    let report = watched(move || rig.chain.build()?.pipeline_as_marked()?.observe().run()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["latency"]["frames"], 20);
    assert_eq!(json["stages"][1]["tasks"][0]["name"], "Probe");
    assert_eq!(json["stages"][1]["tasks"][0]["times"]["max_ns"], report.stages[1].tasks[0].times.unwrap().max_ns);
    assert_eq!((&json["boundaries"][3]["from"], &json["boundaries"][3]["to"]), (&"s2".into(), &"out".into()));
    assert_eq!(json["boundaries"][0]["occupancy"]["samples"], report.boundaries[0].occupancy.unwrap().samples);
    assert!(json["stages"][0]["waits_for_output"].is_u64());
    let read: bief::Report = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), json);
}

#[test]
fn a_watch_sees_a_run_go_on_and_end() {
    let gate = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new().batch(2);
    let wire = chain.add(Count::to(1000), ());
    chain.stage("gate").threads(2);
    let wire = chain.add(Probe::new(Act::KeepEvery(2)), &wire);
    chain.stage("out");
    let open = Arc::clone(&gate);
    chain.add(
        sink::for_each(move |number: &[u64]| {
            while number[0] >= 1100 && open.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            if number[0] == 1998 { Err(Error::new("enough")) } else { Ok(Flow::Next) }
        }),
        &wire,
    );
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(4).unwrap();
        let [mut watch, mut other] = [pipeline.watch(), pipeline.watch()];
        let before = watch.status();
        assert_eq!((before.frames, before.batches_in_flight, before.stages.len()), (0, 0, 3));
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Frames 0 to 98 pass, two numbers of a batch being one frame that is kept.
                while watch.status().frames < 50 {
                    std::thread::yield_now();
                }
                // Batches gather behind the gate: in both rings to the last stage, before them, and in between.
                while watch.status().batches_in_flight < 16 {
                    std::thread::yield_now();
                }
                let status = watch.status();
                assert_eq!(status.frames, 50);
                assert!(status.batches_in_flight <= 2 * 4 + 2 * 4 + 4, "{status:?}");
                assert!(status.stages.iter().all(|stage| (0.0..=1.0).contains(&stage.busy)), "{status:?}");
                gate.store(1, Ordering::Release);
            });
            pipeline.run().unwrap_err()
        });
        assert_eq!(error.message(), "enough");
        let status = other.status();
        assert_eq!(status.frames, 499, "the batch of the fault does not count");
        assert_eq!(status.stages[1].name, "gate");
        assert!(status.frames_per_second > 0.0);
    });
}
