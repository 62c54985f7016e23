//! The trace: valid JSON, slices that nest, and flows that join what belongs together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::{Act, Count, Probe, rig, watched};
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, Machine, Pipeline, sink};
use serde_json::Value;

fn events(pipeline: &Pipeline) -> Vec<Value> {
    let mut json = Vec::new();
    pipeline.last_trace().expect("it was asked for").write(&mut json).unwrap();
    let mut trace: Value = serde_json::from_slice(&json).expect("valid JSON");
    assert_eq!(trace["displayTimeUnit"], "ns");
    match trace["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("{other} is no list"),
    }
}

fn of_phase<'e>(events: &'e [Value], phase: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

fn named(events: &[Value], category: &str) -> Vec<String> {
    let named = events.iter().filter(|event| event["cat"] == category);
    named.map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

/// Nanoseconds: begin and end of a slice.
fn span(event: &Value) -> (u64, u64) {
    let ns = |field: &str| (event[field].as_f64().unwrap() * 1000.0).round() as u64;
    (ns("ts"), ns("ts") + ns("dur"))
}

/// On one track, each slice lies inside one that is open or after it.
fn check_nesting(events: &[Value]) {
    let mut tracks: BTreeMap<[u64; 2], Vec<&Value>> = BTreeMap::new();
    for slice in of_phase(events, "X") {
        tracks.entry(["pid", "tid"].map(|id| slice[id].as_u64().unwrap())).or_default().push(slice);
    }
    for slices in tracks.values() {
        let mut open: Vec<&Value> = Vec::new();
        let mut latest = 0;
        for slice in slices {
            let (begin, end) = span(slice);
            assert!(begin >= latest, "in order");
            latest = begin;
            // A slice without length that ends where this one begins has ended.
            open.retain(|around| span(around).1 > begin || slice["cat"] == "task" && span(around).1 == end);
            for around in &open {
                let inside = match around["cat"].as_str() {
                    Some("batch") => &["task"][..],
                    Some("device") => &["task", "copy"],
                    _ => &[],
                };
                assert!(inside.iter().any(|inside| slice["cat"] == *inside), "{slice} in {around}");
                assert!(end <= span(around).1, "{slice} in {around}");
            }
            if slice["cat"] == "batch" || slice["cat"] == "device" {
                open.push(slice);
            }
        }
    }
}

/// Each flow goes from one slice over others to one more, forward in time; answers for each the stages that it joins.
fn flows(events: &[Value]) -> BTreeMap<u64, Vec<u64>> {
    let mut flows: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["cat"] == "flow") {
        flows.entry(event["id"].as_u64().unwrap()).or_default().push(event);
    }
    for (id, steps) in &mut flows {
        let mut phases: Vec<&str> = steps.iter().map(|step| step["ph"].as_str().unwrap()).collect();
        phases.sort_unstable_by_key(|&phase| ["s", "t", "f"].iter().position(|&known| known == phase).unwrap());
        assert_eq!((phases[0], phases[phases.len() - 1]), ("s", "f"));
        assert!(phases[1..phases.len() - 1].iter().all(|&phase| phase == "t"), "{phases:?}");
        steps.sort_by_key(|step| step["tid"].as_u64());
        let begins: Vec<f64> = steps.iter().map(|step| step["ts"].as_f64().unwrap()).collect();
        assert!(begins.is_sorted(), "{begins:?}");
        for step in steps {
            assert_eq!(step.get("bp").and_then(Value::as_str), (step["ph"] != "s").then_some("e"));
            let here =
                |slice: &&Value| slice["cat"] == "batch" && ["pid", "tid", "ts"].iter().all(|id| slice[id] == step[id]);
            let slice = events.iter().find(here).expect("a flow begins with a slice");
            assert_eq!(slice["args"]["first_frame"], *id);
        }
    }
    let tracks = |steps: Vec<&Value>| steps.iter().map(|step| step["tid"].as_u64().unwrap()).collect();
    flows.into_iter().map(|(id, steps)| (id, tracks(steps))).collect()
}

#[test]
fn lanes_have_tracks_of_launches_with_copies_beside_their_tasks() {
    for (lanes, gather) in [(1, 1), (3, 1), (2, 4)] {
        watched(move || {
            let rig = rig(50, 2, [1, 1, 1], [Act::Pass, Act::Jitter(100), Act::Pass]);
            let machine = format!("[[device]]\nname = 'gpu'\nlanes = {lanes}\nlaunch_us = 20\ncopy_gb_per_s = 0.001");
            let machine = Machine::emulated(&machine, &Machine::here()).unwrap();
            let names = ["Count", "Probe", "Probe", "Probe", "CollectSink"];
            let profile =
                Profile::new(["cpu", "gpu"], names.map(|name| TaskProfile::replicable(name, [1, 1]))).unwrap();
            let there = Stage::new(2, 1, "gpu").gathering(gather);
            let stages = [Stage::new(2, 1, "cpu"), there, Stage::new(1, 1, "cpu")];
            let schedule = Schedule::new("hand", stages, &profile).unwrap();
            let pipeline = rig.chain.build().unwrap().pipeline_on(&schedule, &machine).unwrap();
            let mut pipeline = pipeline.trace(1000).unwrap();
            let report = pipeline.run().unwrap();
            let events = events(&pipeline);
            check_nesting(&events);
            flows(&events);
            let told: Vec<&str> = events
                .iter()
                .filter(|event| event["name"] == "thread_name")
                .map(|event| event["args"]["name"].as_str().unwrap())
                .collect();
            let expected: Vec<String> = (0..lanes).map(|lane| format!("gpu lane {lane}")).collect();
            assert_eq!(told[told.len() - lanes..], expected);
            // 8 bytes of each of two frames, but for the last batch of the stream, which is empty.
            let launches: Vec<&Value> = events.iter().filter(|event| event["cat"] == "device").collect();
            let batches: u64 = launches.iter().map(|launch| launch["args"]["batches"].as_u64().unwrap()).sum();
            let frames: u64 = launches.iter().map(|launch| launch["args"]["frames"].as_u64().unwrap()).sum();
            assert!((25..=26).contains(&batches) && frames == report.frames, "{batches} batches, {frames} frames");
            let length = |event: &&Value| span(event).1 - span(event).0;
            let copies: Vec<&Value> = events.iter().filter(|event| event["cat"] == "copy").collect();
            assert_eq!(copies.iter().map(length).sum::<u64>(), 2 * 50 * 8000);
            assert_eq!(copies.iter().filter(|copy| copy["name"] == "copy in").count() * 2, copies.len());
            // Tasks are on the tracks of the device alone, as the threads wait meanwhile.
            let tracks: BTreeSet<u64> = launches.iter().map(|launch| launch["tid"].as_u64().unwrap()).collect();
            let of_tasks = events.iter().filter(|event| event["cat"] == "task" && event["name"] == "Probe 3");
            assert!(of_tasks.into_iter().all(|task| tracks.contains(&task["tid"].as_u64().unwrap())));
        });
    }
}

#[test]
fn batches_are_slices_joined_by_flows() {
    let rig = rig(24, 2, [1, 2, 1], [Act::Pass, Act::Jitter(200), Act::Pass]);
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap().trace(1000).unwrap();
        for _ in 0..2 {
            pipeline.run().unwrap();
            let events = events(&pipeline);
            check_nesting(&events);
            let tracks: Vec<&Value> = events.iter().filter(|event| event["name"] == "thread_name").collect();
            let names: Vec<&str> = tracks.iter().map(|event| event["args"]["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["Count 0", "s0 0", "s1 0", "s1 1", "s2 0", "out 0"]);
            // The last batch is the end of the stream alone: it does not arrive as work.
            let batches: Vec<&Value> = events.iter().filter(|event| event["cat"] == "batch").collect();
            assert_eq!(batches.len(), 13 + 4 * 12);
            assert_eq!(batches.iter().map(|batch| batch["args"]["frames"].as_u64().unwrap()).sum::<u64>(), 5 * 24);
            let flows = flows(&events);
            assert_eq!(flows.keys().copied().collect::<Vec<_>>(), (0..24).step_by(2).collect::<Vec<_>>());
            for tracks in flows.into_values() {
                let [1, 2, 3 | 4, 5, 6] = tracks[..] else { panic!("{tracks:?}: one replica takes a batch") };
            }
            let tasks: BTreeSet<String> = named(&events, "task").into_iter().collect();
            let expected = ["Collect", "Count", "Probe", "Probe 2", "Probe 3"].map(str::to_owned);
            assert_eq!(tasks, BTreeSet::from(expected));
        }
    });
}

#[test]
fn the_latest_batches_are_kept_and_waits_are_shown() {
    let slow = Act::Sleep(Duration::from_millis(1));
    let rig = rig(30, 1, [1, 1, 1], [Act::Pass, slow, Act::Pass]);
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap().depth(1).unwrap().trace(6).unwrap();
        pipeline.run().unwrap();
        let events = events(&pipeline);
        check_nesting(&events);
        let mut firsts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for batch in events.iter().filter(|event| event["cat"] == "batch") {
            let first = batch["args"]["first_frame"].as_u64().unwrap();
            firsts.entry(batch["tid"].as_u64().unwrap()).or_default().push(first);
        }
        // The source has one that is the end of the stream, the others pass that on without work.
        assert_eq!(firsts[&1], [25, 26, 27, 28, 29, 30]);
        assert!((2..=5).all(|track| firsts[&track] == [25, 26, 27, 28, 29]));
        assert_eq!(flows(&events).into_keys().collect::<Vec<_>>(), [25, 26, 27, 28, 29]);
        let waits: BTreeSet<String> = named(&events, "wait").into_iter().collect();
        assert_eq!(waits, BTreeSet::from(["wait for input", "wait for output"].map(str::to_owned)));
        let of = |track: u64, name: &str| {
            events.iter().filter(|event| event["tid"] == track && event["name"] == name).count()
        };
        assert!(of(2, "wait for output") > 0 && of(4, "wait for input") > 0);
        assert_eq!((of(1, "wait for input"), of(5, "wait for output")), (0, 0), "the ends of the chain");
    });
}

#[test]
fn a_trace_lasts_until_the_fault() {
    let rig = rig(30, 1, [1, 1, 1], [Act::Pass, Act::Fail(7), Act::Pass]);
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap().trace(100).unwrap();
        pipeline.run().unwrap_err();
        let events = events(&pipeline);
        check_nesting(&events);
        let of_last = events.iter().filter(|event| event["cat"] == "batch" && event["tid"] == 5);
        assert_eq!(of_last.count(), 7);
        assert!(flows(&events).len() >= 7);
    });
}

#[test]
fn names_are_escaped_and_one_core_has_no_flows() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(5), ());
    chain.stage("a \"quoted\"\\\nname");
    chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    watched(move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().trace(9).unwrap();
        assert_eq!(events(&pipeline).iter().filter(|event| event["ph"] != "M").count(), 0, "before the first run");
        pipeline.run().unwrap();
        let events = events(&pipeline);
        assert!(events.iter().any(|event| event["args"]["name"] == "a \"quoted\"\\\nname 0"));
    });
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(5), ());
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let mut pipeline = chain.build().unwrap().one_core().unwrap().trace(9).unwrap();
    pipeline.run().unwrap();
    let events = events(&pipeline);
    check_nesting(&events);
    assert!(flows(&events).is_empty());
    assert_eq!(events.iter().filter(|event| event["cat"] == "batch").count(), 6);
}

#[test]
fn a_trace_of_nothing_is_refused() {
    let pipeline = || rig(3, 1, [1, 1, 1], [Act::Pass; 3]).chain.build().unwrap().pipeline_as_marked().unwrap();
    for (most, remedy) in [(0, "at least 1"), (usize::MAX, "ask for fewer")] {
        let error = pipeline().trace(most).unwrap_err();
        assert!(error.message().contains(remedy), "{error}");
    }
}

#[test]
fn a_changed_plan_has_tracks_of_its_own_behind_the_pause() {
    let rig = rig(u64::MAX, 8, [1, 1, 1], [Act::Pass, Act::Pass, Act::Pass]);
    let profile = Profile::new(["cpu"], (0..5).map(|task| TaskProfile::sequential(format!("t{task}"), [100]))).unwrap();
    let plan = |tasks: &[usize]| {
        Schedule::new("hand", tasks.iter().map(|&tasks| Stage::new(tasks, 1, "cpu")), &profile).unwrap()
    };
    let plans = [plan(&[2, 3]), plan(&[5])];
    watched(move || {
        let mut pipeline = rig.chain.build().unwrap().pipeline(&plans[1]).unwrap().trace(20).unwrap();
        let (changer, stopper, mut watch) = (pipeline.changer().unwrap(), pipeline.stopper(), pipeline.watch());
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                for change in 0..6 {
                    changer.change(&plans[change % 2], format!("reason {change}")).unwrap();
                    let stages = 2 - change % 2;
                    while watch.status().stages.len() != stages {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
                stopper.stop();
            });
            pipeline.run().unwrap()
        });
        assert_eq!(report.changes.len(), 6);
        let events = events(&pipeline);
        check_nesting(&events);
        assert_eq!(named(&events, "plan"), [1, 2, 3, 4, 5].map(|change| format!("reason {change}")), "the last five");
        let processes = events.iter().filter(|event| event["name"] == "process_name");
        let names: Vec<&str> = processes.map(|event| event["args"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, [1, 2, 3, 4, 5].map(|plan| format!("bief, plan {plan}")));
    });
}
