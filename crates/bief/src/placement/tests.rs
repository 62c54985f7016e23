//! What pipelines do with places; and the machine that the tests of this folder share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use bief_schedule::{Profile, Schedule, Stage, TaskProfile};

use super::*;
use crate::error::ErrorKind;
use crate::pipeline::Pipeline;
use crate::{Chain, Flow, affinity, sink, source};

/// A machine of these cores: hardware thread, kind, cluster, package and NUMA node of each.
fn machine(kinds: &[&str], cores: impl Iterator<Item = [usize; 5]>) -> Machine {
    let kinds: Vec<String> = kinds.iter().map(|kind| format!(r#"{{"name": "{kind}"}}"#)).collect();
    let core = |[thread, kind, cluster, package, node]: [usize; 5]| {
        format!(
            r#"{{"threads": [{thread}], "kind": {kind}, "cluster": {cluster}, "package": {package}, "node": {node}}}"#
        )
    };
    let (kinds, cores) = (kinds.join(","), cores.map(core).collect::<Vec<_>>().join(","));
    let json = format!(r#"{{"format": 1, "model": "made up", "kinds": [{kinds}], "cores": [{cores}]}}"#);
    Machine::from_json(&json).unwrap()
}

/// The machine of Figure 6: clusters of two big cores (1, 2 and 5, 6) and of two little ones (3, 4 and 7, 8), one of each in
/// both packages.
pub(super) fn illustrated() -> Machine {
    let core = |number: usize| {
        let (cluster, package) = ((number - 1) / 2, (number - 1) / 4);
        [number, cluster % 2, cluster, package, package]
    };
    machine(&["big", "little"], (1..=8).map(core))
}

pub(super) fn seats(stages: &[(&str, Option<&str>, usize)]) -> Vec<StageSlots> {
    let seats = |&(name, kind, threads): &(&str, Option<&str>, usize)| StageSlots {
        name: name.to_owned(),
        kinds: vec![kind; threads].into_iter().flatten().map(str::to_owned).collect(),
        threads,
        planned_ns: None,
    };
    stages.iter().map(seats).collect()
}

/// Two stages, which note the hardware threads that they ran on.
struct Trial {
    pipeline: Pipeline,
    ran_on: [Arc<Mutex<BTreeSet<usize>>>; 2],
}

impl Trial {
    fn new() -> Self {
        let ran_on = [Arc::default(), Arc::<Mutex<BTreeSet<usize>>>::default()];
        let note = |on: &Arc<Mutex<BTreeSet<usize>>>| {
            let on = Arc::clone(on);
            move || on.lock().unwrap().extend(affinity::current())
        };
        let (first, last) = (note(&ran_on[0]), note(&ran_on[1]));
        let mut chain = Chain::new();
        let mut left = 200;
        let frames = chain.add(
            source::from_fn(1, move |frame: &mut [u32]| {
                first();
                frame[0] = left;
                left -= 1;
                Ok(if left == 0 { Flow::Stop } else { Flow::Next })
            }),
            (),
        );
        chain.stage("out");
        let take = sink::for_each(move |_: &[u32]| {
            last();
            Ok(Flow::Next)
        });
        chain.add(take, &frames);
        Self { pipeline: chain.build().unwrap().pipeline_as_marked().unwrap(), ran_on }
    }
}

fn machine_of(threads: &[usize]) -> Machine {
    machine(&["cpu"], threads.iter().enumerate().map(|(node, &thread)| [thread, 0, node, node, node]))
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn threads_run_where_they_were_placed() {
    let threads = all_threads(&Machine::here());
    // A machine of as many NUMA nodes as cores: memory is touched first where it is used.
    let machine = machine_of(&threads);
    for turn in 0..4 {
        let (first, last) = (threads[turn % threads.len()], threads[(turn + 1) % threads.len()]);
        let Trial { pipeline, ran_on } = Trial::new();
        let policy: Policy = format!("{first} | {last}").parse().unwrap();
        let mut pipeline = pipeline.place(&policy, &machine).unwrap().pinning(Pinning::Require);
        let report = pipeline.run().unwrap();
        assert_eq!((report.frames, report.notes.len()), (199, 0));
        assert_eq!(report.placement.as_ref(), pipeline.placement());
        assert_eq!(*ran_on[0].lock().unwrap(), [first].into());
        assert_eq!(*ran_on[1].lock().unwrap(), [last].into());
    }
}

#[test]
fn a_place_that_the_system_refuses_is_a_note_or_an_error_as_asked() {
    // No machine has so many hardware threads.
    let machine = machine_of(&[8190, 8191]);
    let mut pipeline = Trial::new().pipeline.place(&Policy::Packed, &machine).unwrap();
    let report = pipeline.run().unwrap();
    assert_eq!((report.frames, report.notes.len()), (199, 2));
    assert!(report.notes[1].contains("stage `out`: a thread could not take its place: "), "{}", report.notes[1]);
    assert!(report.to_string().ends_with(&report.notes[1]));

    let mut pipeline = Trial::new().pipeline.place(&Policy::Packed, &machine).unwrap().pinning(Pinning::Require);
    let error = pipeline.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Placement);
    assert!(error.to_string().contains("may not run on hardware thread [81"), "{error}");
}

#[test]
fn places_are_checked_before_any_thread_starts() {
    let one = |threads: &[&[usize]]| PlacedStage {
        name: "s".into(),
        threads: threads.iter().map(|threads| threads.to_vec()).collect(),
    };
    let machine = machine_of(&[0, 1]);
    let refused = |stages: Vec<PlacedStage>| {
        let placement = Placement::new(&Policy::Loose, stages);
        Trial::new().pipeline.place_as(placement, &machine).unwrap_err().to_string()
    };
    assert!(refused(vec![one(&[&[0]])]).contains("for 1 stage, the pipeline has 2"));
    assert!(
        refused(vec![one(&[&[0]]), one(&[&[0], &[1]])])
            .contains("stage `out`: it has 2 places, the stage has 1 thread")
    );
    assert!(refused(vec![one(&[&[0]]), one(&[&[]])]).contains("replica 0 has no hardware thread"));
    assert!(refused(vec![one(&[&[0]]), one(&[&[1, 7]])]).contains("wants hardware thread 7"));

    let mut chain = Chain::new();
    chain.add(source::from_slice(&[1], 1), ());
    let alone = chain.build().unwrap().one_core().unwrap();
    assert!(alone.place(&Policy::Packed, &machine).unwrap_err().to_string().contains("calling thread"));
}

#[test]
fn threads_that_must_wait_for_a_core_are_seen() {
    let placed = |threads: &[&[usize]]| {
        let threads = threads.iter().map(|set| set.to_vec()).collect();
        Placement::new(&Policy::Loose, vec![PlacedStage { name: "s".into(), threads }])
    };
    assert!(!placed(&[&[0], &[1]]).shares_cores());
    assert!(!placed(&[&[0, 1], &[0, 1]]).shares_cores());
    assert!(placed(&[&[0], &[0]]).shares_cores());
    assert!(placed(&[&[0, 1], &[0], &[1]]).shares_cores());
    assert!(!placed(&[&[0, 1, 2], &[0], &[1]]).shares_cores());
}

#[test]
fn documents_of_other_formats_are_refused() {
    let error = |text: &str| Placement::from_json(text).unwrap_err().to_string();
    assert!(error(r#"{"format": 2, "policy": "packed", "stages": []}"#).contains("format 2"));
    assert!(error(r#"{"format": 1, "policy": "packed", "stages": [], "x": 1}"#).contains("unknown field `x`"));
    assert!(error("{").contains("line 1"));
}

/// Replicas of a stage that kinds share have a core of their kind each.
#[test]
fn each_replica_of_a_shared_stage_is_on_its_kind() {
    let machine = illustrated();
    let mut stages = seats(&[("front", Some("big"), 1), ("decode", None, 4), ("back", Some("little"), 1)]);
    stages[1].kinds = ["big", "big", "little", "little"].map(str::to_owned).to_vec();
    for policy in [Policy::Packed, Policy::Distant, Policy::Guided] {
        let placement = policy.place(&machine, &stages).unwrap();
        let mut taken = BTreeSet::new();
        for (stage, placed) in stages.iter().zip(placement.stages()) {
            for (replica, threads) in placed.threads.iter().enumerate() {
                for &thread in threads {
                    let kind = machine.core_of(thread).unwrap().kind;
                    assert_eq!(Some(machine.kinds()[kind].name.as_str()), stage.kind_of(replica), "{placement}");
                }
                assert!(policy == Policy::Guided || taken.insert(threads.clone()), "{placement}");
            }
        }
    }
    stages[1].kinds[3] = "tiny".to_owned();
    let error = Policy::Packed.place(&machine, &stages).unwrap_err().to_string();
    assert!(error.contains("stage `decode` is planned for cores of the kind `tiny`"), "{error}");
}

/// On a machine of more cores than the plan shares, its threads keep to as many, also in a plan that comes while it runs.
#[test]
#[cfg_attr(miri, ignore = "threads that take turns take a quarter of an hour there")]
fn threads_that_share_cores_keep_to_those_of_the_plan() {
    let shared = |cores: u32| {
        let tasks = [TaskProfile::sequential("fill", [100]), TaskProfile::sequential("out", [100])];
        let profile = Profile::new(["big"], tasks).unwrap();
        let stages = vec![Stage::new(1, 1, "big"); 2];
        Schedule::sharing("hand", stages, &[("big".to_owned(), cores)].into(), &profile).unwrap()
    };
    let chain = || {
        let mut chain = Chain::new();
        let mut left = 20_000;
        let fill = move |frame: &mut [u32]| {
            left -= 1;
            frame[0] = left;
            Ok(if left == 0 { Flow::Stop } else { Flow::Next })
        };
        let frames = chain.add(source::from_fn(1, fill), ());
        chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &frames);
        chain.build().unwrap()
    };
    let machine = illustrated();
    let placed = |cores: u32, policy: Policy| {
        let pipeline = chain().pipeline_on(&shared(cores), &machine).unwrap().place(&policy, &machine).unwrap();
        let stages = pipeline.placement().unwrap().stages();
        stages.iter().flat_map(|stage| stage.threads.concat()).collect::<BTreeSet<_>>()
    };
    assert_eq!(placed(1, Policy::Packed), [1].into());
    assert_eq!(placed(1, Policy::Guided), [1].into());
    assert_eq!(placed(1, Policy::Loose), [1, 3, 4, 7, 8].into(), "other kinds are not shared");
    assert_eq!(placed(1, "6 | 6".parse().unwrap()), [6].into(), "as told");
    assert_eq!(placed(2, Policy::Packed), [1, 2].into(), "a core for each");

    let mut pipeline = chain().pipeline_on(&shared(2), &machine).unwrap().place(&Policy::Packed, &machine).unwrap();
    pipeline.changer().unwrap().change(&shared(1), "fewer cores").unwrap();
    pipeline.run().unwrap();
    assert_eq!(pipeline.placement().unwrap().stages()[1].threads, [[1]]);
}
