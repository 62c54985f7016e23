//! The three documents: what is written is read back, and what is wrong is refused with its place and remedy.

use bief_schedule::{
    CoreKind, ErrorKind, FrontPoint, Period, Platform, Profile, Samples, Schedule, Stage, TaskProfile,
};
use proptest::prelude::*;

const PROFILE: &str = r#"{
  "format": 1,
  "machine": "AI370, Linux 6.13",
  "kinds": ["big","little"],
  "frames_per_execution": 16,
  "bits_per_frame": 14232,
  "sync_ns": [50,60],
  "tasks": [
    {"name": "receive", "replicable": false, "ns": [216300,227100]},
    {"name": "decode", "replicable": true, "ns": [3959000,5220400], "seen": [{"samples": 400, "min_ns": 3958000, "median_ns": 3959000, "p99_ns": 3970000},{"samples": 400, "min_ns": 5219000, "median_ns": 5220400, "p99_ns": 5240000}]}
  ]
}
"#;

const PLATFORM: &str = r#"{
  "format": 1,
  "kinds": [
    {"name": "big", "cores": 4, "watts": 8.8},
    {"name": "little", "cores": 8, "watts": 5.3}
  ],
  "idle_watts": 4.0
}
"#;

const SCHEDULE: &str = r#"{
  "format": 1,
  "strategy": "otac",
  "period_ns": 1319683.3333333333,
  "period_exact": "3959050/3",
  "watts": 21.5,
  "cores": {"big": 4},
  "stages": [
    {"tasks": 1, "cores": 1, "kind": "big"},
    {"tasks": 1, "cores": 3, "kind": "big"}
  ],
  "front": [
    {"cores": {"big": 3, "little": 1}, "stages": [{"tasks": 1, "cores": 1, "kind": "little"},{"tasks": 1, "cores": 3, "kind": "big"}]}
  ]
}
"#;

#[test]
fn documents_are_written_as_they_are_read() {
    let profile = Profile::from_json(PROFILE).unwrap();
    assert_eq!(profile.machine(), Some("AI370, Linux 6.13"));
    assert_eq!(profile.kinds(), ["big", "little"]);
    assert_eq!(profile.frames_per_execution(), 16);
    assert_eq!(profile.bits_per_frame(), Some(14232));
    assert_eq!(profile.sync_ns(1), 60);
    assert_eq!(profile.tasks()[0], TaskProfile::sequential("receive", [216_300, 227_100]));
    let little = Samples { samples: 400, min_ns: 5_219_000, median_ns: 5_220_400, p99_ns: 5_240_000 };
    assert_eq!(profile.tasks()[1].seen.as_ref().unwrap()[1], Some(little));
    assert_eq!(profile.to_json(), PROFILE);

    let platform = Platform::from_json(PLATFORM).unwrap();
    let big = CoreKind { watts: Some(8.8), ..CoreKind::new("big", 4) };
    assert_eq!(platform.kinds()[0], big);
    assert_eq!(platform.idle_watts(), Some(4.0));
    assert_eq!(platform.to_json(), PLATFORM);

    let schedule = Schedule::from_json(SCHEDULE).unwrap();
    assert_eq!(schedule.planned_period(), Period::new(3_959_050, 3).unwrap());
    assert_eq!(schedule.period(&profile), Ok(schedule.planned_period()));
    assert_eq!(schedule.check(&profile, &platform), Ok(()));
    assert_eq!(schedule.watts(), Some(21.5));
    assert_eq!(schedule.front()[0].cores["little"], 1);
    assert_eq!(schedule.to_json(), SCHEDULE);
}

#[test]
fn the_documents_of_the_crate_documentation_are_read() {
    let profile = r#"{"format": 1, "kinds": ["big", "little"], "frames_per_execution": 16, "bits_per_frame": 14232,
        "tasks": [{"name": "receive", "replicable": false, "ns": [216300, 227100]}]}"#;
    assert_eq!(Profile::from_json(profile).unwrap().sync_ns(0), 0);
    let platform = r#"{"format": 1, "kinds": [{"name": "big", "cores": 4}, {"name": "little", "cores": 8}]}"#;
    assert_eq!(Platform::from_json(platform).unwrap().idle_watts(), None);
    let schedule = r#"{"format": 1, "strategy": "hand", "period_ns": 5013000, "cores": {"big": 4, "little": 0},
        "stages": [{"tasks": 5, "cores": 4, "kind": "big"}]}"#;
    let schedule = Schedule::from_json(schedule).unwrap();
    assert_eq!(schedule.planned_period(), Period::from(5_013_000));
    assert_eq!(schedule.cores().len(), 1);
    assert!(schedule.to_json().contains("\"period_ns\": 5013000,"), "an integer stays one");
    assert!(!schedule.to_json().contains("period_exact"));
}

#[test]
fn documents_may_lie_inside_others() {
    let profile = Profile::from_json(PROFILE).unwrap();
    let value = serde_json::json!({ "profile": profile });
    assert_eq!(serde_json::from_value::<Profile>(value["profile"].clone()).unwrap(), profile);
    let wrong = serde_json::from_value::<Profile>(serde_json::json!({"format": 1, "kinds": [],
        "frames_per_execution": 1, "tasks": []}));
    assert!(wrong.unwrap_err().to_string().contains("profile, kinds: there is none"));
}

/// The document with one piece of its text replaced.
fn with(document: &str, old: &str, new: &str) -> String {
    assert!(document.contains(old), "the document has no {old}");
    document.replacen(old, new, 1)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, bief_schedule::Error>, kind: ErrorKind, place: &str, reason: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.place(), place, "{error}");
    assert!(error.reason().contains(reason), "{error}");
    assert_eq!(error.kind(), kind);
    assert_eq!(error.to_string(), format!("{}: {}", error.place(), error.reason()));
}

#[test]
fn texts_that_are_not_the_document_are_refused_with_their_line() {
    let cases = [
        (with(PROFILE, "16,", "16"), "profile, line 6 column 3", "expected `,` or `}`; the text is not JSON there"),
        ("".to_owned(), "profile, line 1 column 0", "EOF while parsing a value"),
        (PROFILE[..100].to_owned(), "profile, line 5 column 20", "EOF while parsing a string"),
        ("[1]".to_owned(), "profile, line 1 column 0", "invalid type: sequence, expected an object; a profile reads {"),
        (
            with(
                PROFILE,
                r#"{"name": "receive", "replicable": false, "ns": [216300,227100]}"#,
                r#"["receive", false, [1, 2]]"#,
            ),
            "profile, line 9 column 4",
            "invalid type: sequence, expected an object",
        ),
        (with(PROFILE, "\"format\": 1,", ""), "profile, line 12 column 1", "missing field `format`; a profile reads {"),
        (
            with(PROFILE, "\"format\": 1", "\"format\": 2"),
            "profile, line 2 column 13",
            "format 2 is unknown: this version of bief reads format 1",
        ),
        (
            with(PROFILE, "\"format\": 1", "\"colour\": 1, \"format\": 3"),
            "profile, line 2 column 26",
            "format 3 is unknown",
        ),
        (with(PROFILE, "\"format\": 1", "\"format\": \"1\""), "profile, line 2 column 15", "format \"1\" is unknown"),
        (
            with(PROFILE, "machine", "colour"),
            "profile, line 3 column 10",
            "unknown field `colour`, expected one of `format`",
        ),
        (with(PROFILE, "\"ns\"", "\"us\""), "profile, line 9 column 49", "unknown field `us`"),
        (
            with(PROFILE, "216300", "216300.5"),
            "profile, line 9 column 60",
            "invalid type: floating point `216300.5`, expected u64",
        ),
        (with(PROFILE, "216300", "-1"), "profile, line 9 column 54", "invalid value: integer `-1`, expected u64"),
        (
            with(PROFILE, "\"receive\", ", "\"receive\", \"name\": \"x\", "),
            "profile, line 9 column 30",
            "duplicate field `name`",
        ),
        (with(PROFILE, "\"replicable\": false, ", ""), "profile, line 9 column 46", "missing field `replicable`"),
    ];
    for (text, place, reason) in cases {
        refused(Profile::from_json(&text), ErrorKind::Json, place, reason);
    }
    let text = with(PLATFORM, "\"cores\": 4", "\"cores\": 4, \"volts\": 1");
    refused(Platform::from_json(&text), ErrorKind::Json, "platform, line 4 column 39", "unknown field `volts`");
    let text = with(PLATFORM, "\"format\": 1", "\"format\": 0");
    refused(Platform::from_json(&text), ErrorKind::Json, "platform, line 2 column 13", "a platform reads {");
    let text = with(SCHEDULE, "\"watts\"", "\"volts\"");
    refused(Schedule::from_json(&text), ErrorKind::Json, "schedule, line 6 column 9", "unknown field `volts`");
    let text = with(SCHEDULE, "1319683.3333333333", "\"fast\"");
    refused(Schedule::from_json(&text), ErrorKind::Json, "schedule, line 4 column 21", "a schedule reads {");
}

#[test]
fn profiles_that_contradict_themselves_are_refused() {
    let cases = [
        (r#"["big","little"]"#, "[]", "profile, kinds", "there is none: name at least one kind of core"),
        (r#""little"]"#, r#""big"]"#, "profile, kinds[1]", "`big` is named twice: name each kind once"),
        (r#""little"]"#, r#"""]"#, "profile, kinds[1]", "the name is empty: name the kind of core, for example `big`"),
        (
            r#""little"]"#,
            r#""li ttle"]"#,
            "profile, kinds[1]",
            "\"li ttle\" has a space, `=` or `,` in it: write a name without them",
        ),
        (": 16,", ": 0,", "profile, frames_per_execution", "0 frames: write how many frames"),
        (": 14232", ": 0", "profile, bits_per_frame", "0 bits: leave the key out"),
        (
            "[50,60]",
            "[50]",
            "profile, sync_ns",
            "1 value given for 2 kinds (big, little): write one integer of nanoseconds per kind",
        ),
        ("[216300,227100]", "[1,2,3]", "profile, tasks[0].ns (`receive`)", "3 values given for 2 kinds"),
        (
            "[{\"samples\": 400, \"min_ns\": 3958000, \"median_ns\": 3959000, \"p99_ns\": 3970000},",
            "[",
            "profile, tasks[1].seen (`decode`)",
            "1 value given for 2 kinds",
        ),
        (
            "[216300,227100]",
            "[null,null]",
            "profile, tasks[0].ns (`receive`)",
            "it can run on no kind of core: write its time on at least one of big, little",
        ),
        (
            "[3959000,5220400]",
            "[3959000,null]",
            "profile, tasks[1].seen (`decode`)",
            "on `little` one of ns and seen is null: write both, or null for both",
        ),
        ("\"receive\"", "\"\"", "profile, tasks[0].name", "the name is empty: name the task"),
        (
            "5220400",
            "18446744073709551615",
            "profile, tasks",
            "the tasks and hand-overs on `little` add up to 2^64 ns or more",
        ),
        (
            "[50,60]",
            "[9223372036854775808,60]",
            "profile, tasks",
            "the tasks and hand-overs on `big` add up to 2^64 ns or more",
        ),
    ];
    for (old, new, place, reason) in cases {
        refused(Profile::from_json(&with(PROFILE, old, new)), ErrorKind::Profile, place, reason);
    }
    let none: [TaskProfile; 0] = [];
    refused(
        Profile::new(["cpu"], none),
        ErrorKind::Profile,
        "profile, tasks",
        "there is none: a chain has at least one task",
    );
    let many = vec![TaskProfile::replicable("t", [1]); Profile::MAX_TASKS + 1];
    refused(
        Profile::new(["cpu"], many),
        ErrorKind::Profile,
        "profile, tasks",
        &format!(
            "{} tasks, at most {} are planned: profile neighbouring tasks together",
            Profile::MAX_TASKS + 1,
            Profile::MAX_TASKS
        ),
    );
}

#[test]
fn lanes_tell_which_kinds_are_devices() {
    let profile = Profile::from_json(PROFILE).unwrap();
    assert_eq!((profile.lanes(0), profile.lanes(1)), (None, None));
    let with_lanes = profile.clone().with_lanes([None, Some(3)]).unwrap();
    assert_eq!((with_lanes.lanes(0), with_lanes.lanes(1)), (None, Some(3)));
    let text = with_lanes.to_json();
    assert!(text.contains("\"lanes\": [null,3]") || text.contains("\"lanes\":[null,3]"), "{text}");
    assert_eq!(Profile::from_json(&text).unwrap(), with_lanes);
    for (lanes, reason) in [
        (vec![Some(3)], "1 value given for 2 kinds (big, little): write one number of lanes, or null for cores,"),
        (vec![None, Some(0)], "0 lanes: a device has from 1 to 64, a kind of cores has null"),
        (vec![Some(65), None], "65 lanes: a device has"),
    ] {
        refused(profile.clone().with_lanes(lanes), ErrorKind::Profile, "profile, lanes", reason);
    }
    let overlapping = with_lanes.clone().with_overlap([false, true]).unwrap();
    assert_eq!([overlapping.overlaps(0), overlapping.overlaps(1), with_lanes.overlaps(1)], [false, true, false]);
    assert_eq!(Profile::from_json(&overlapping.to_json()).unwrap(), overlapping);
    for (overlap, reason) in [
        (vec![true], "1 value given for 2 kinds (big, little): write one true or false"),
        (vec![true, false], "true for `big`, which has no lanes: only those of a device overlap"),
    ] {
        refused(with_lanes.clone().with_overlap(overlap), ErrorKind::Profile, "profile, overlap", reason);
    }
}

#[test]
fn a_time_of_a_kind_on_which_a_task_cannot_run_is_null() {
    let text = with(PROFILE, "[216300,227100]", "[null,227100]");
    let profile = Profile::from_json(&text).unwrap();
    assert_eq!(profile.tasks()[0].ns, [None, Some(227_100)]);
    assert_eq!(profile.tasks()[0], TaskProfile::sequential("receive", [0, 227_100]).not_on(0));
    assert_eq!(profile.to_json(), text);
    assert!(!profile.can_run(0..1, 0) && profile.can_run(0..2, 1) && profile.can_run(1..2, 0));
    assert_eq!((profile.stage_ns(0..2, 0), profile.stage_ns(0..2, 1)), (None, Some(227_100 + 5_220_400 + 60)));
    assert_eq!(profile.stage_period(0..1, 1, 0), None);

    let schedule = Schedule::from_json(&with(SCHEDULE, "\"kind\": \"little\"", "\"kind\": \"big\"")).unwrap_err();
    assert_eq!(schedule.kind(), ErrorKind::Schedule);
    let on_big = [Stage::new(1, 1, "big"), Stage::new(1, 3, "big")];
    refused(
        Schedule::new("hand", on_big, &profile),
        ErrorKind::Schedule,
        "schedule, stages[0]",
        "it runs on cores of kind `big`, on which its task `receive` cannot run: give that task a stage on `little`",
    );
}

#[test]
fn platforms_that_contradict_themselves_are_refused() {
    let cases = [
        ("\"little\"", "\"big\"", "platform, kinds[1].name", "`big` is named twice"),
        ("\"little\"", "\"\"", "platform, kinds[1].name", "the name is empty"),
        (
            "\"cores\": 8",
            "\"cores\": 16001",
            "platform, kinds[1].cores",
            "16001 cores of kind `little`: at most 16000 are possible",
        ),
        (
            "5.3",
            "-5.3",
            "platform, kinds[1].watts",
            "-5.3 W: write a power from 0 W to 1000000000 W, or leave the key out",
        ),
        ("4.0", "-4.0", "platform, idle_watts", "-4 W: write a power from 0 W to 1000000000 W"),
        (
            "\"watts\": 5.3",
            "\"watts\": 5.3, \"saturation\": 0",
            "platform, kinds[1].saturation",
            "0 busy cores: write a number above 0, at most 1000000000, or leave the key out",
        ),
        (
            "\"watts\": 5.3",
            "\"saturation\": 2",
            "platform, kinds[1].saturation",
            "the kind has no \"watts\" that could saturate: write them, too, or leave the key out",
        ),
    ];
    for (old, new, place, reason) in cases {
        refused(Platform::from_json(&with(PLATFORM, old, new)), ErrorKind::Platform, place, reason);
    }
    let none = Platform::new([CoreKind::new("big", 0)]);
    refused(none, ErrorKind::Platform, "platform, kinds", "no core at all: give at least one kind a core");
}

#[test]
fn schedules_that_contradict_themselves_are_refused() {
    let cases = [
        ("\"otac\"", "\"\"", "schedule, strategy", "the name is empty: name the strategy, or write `hand`"),
        ("1319683.3333333333", "-1", "schedule, period_ns", "-1 is no period: write nanoseconds, from 0 to 2^64"),
        (
            "3959050/3",
            "3959050:3",
            "schedule, period_exact",
            "`3959050:3` is not a period: write nanoseconds as an integer or as a fraction",
        ),
        (
            "3959050/3",
            "3959050/2",
            "schedule, period_exact",
            "3959050/2 ns, but period_ns says 1319683.3333333333: correct the one that is wrong",
        ),
        ("21.5", "-1", "schedule, watts", "-1 W: write a power"),
        (
            "{\"big\": 4}",
            "{\"big\": 3}",
            "schedule, cores",
            "3 of kind `big`, but the stages use 4: write 4, or \"oversubscribed\": true",
        ),
        ("{\"big\": 4}", "{}", "schedule, cores", "0 of kind `big`, but the stages use 4"),
        (
            "{\"big\": 4}",
            "{\"big\": 4, \"huge\": 1}",
            "schedule, cores",
            "kind `huge` is counted but no stage runs on it: leave it out",
        ),
        ("\"tasks\": 1", "\"tasks\": 0", "schedule, stages[0]", "0 tasks: a stage has at least one"),
        ("\"cores\": 1", "\"cores\": 0", "schedule, stages[0]", "0 cores: a stage has from 1 to 16000 cores"),
        ("\"cores\": 1", "\"cores\": 4000000000", "schedule, stages[0]", "4000000000 cores: a stage has from 1"),
        ("\"little\": 1}", "\"little\": 2}", "schedule, front[0].cores", "2 of kind `little`, but the stages use 1"),
        (
            "[{\"tasks\": 1",
            "[{\"tasks\": 2",
            "schedule, front[0].stages",
            "the stages take 3 tasks, those of the schedule 2: all must take the same chain",
        ),
        ("[{\"tasks\": 1", "[{\"tasks\": 18446744073709551615", "schedule, front[0].stages", "the stages take"),
        (
            "\"watts\": 21.5",
            "\"oversubscribed\": true",
            "schedule, cores",
            "oversubscribed, but there are no fewer cores than threads",
        ),
    ];
    for (old, new, place, reason) in cases {
        refused(Schedule::from_json(&with(SCHEDULE, old, new)), ErrorKind::Schedule, place, reason);
    }
    let shared = with(SCHEDULE, "\"watts\": 21.5", "\"oversubscribed\": true");
    let text = with(&shared, "{\"big\": 4}", "{\"big\": 5}");
    refused(
        Schedule::from_json(&text),
        ErrorKind::Schedule,
        "schedule, cores",
        "5 of kind `big` for 4 threads: write from 1 to 4",
    );
    assert!(Schedule::from_json(&with(&shared, "{\"big\": 4}", "{\"big\": 2}")).unwrap().is_oversubscribed());
    let text = r#"{"format": 1, "strategy": "hand", "period_ns": 1, "cores": {}, "stages": []}"#;
    refused(
        Schedule::from_json(text),
        ErrorKind::Schedule,
        "schedule, stages",
        "there is none: a schedule has at least one stage",
    );
}

#[test]
fn periods_without_their_fraction_are_recovered() {
    let read = |ns: &str| {
        let text = with(&with(SCHEDULE, "1319683.3333333333", ns), "  \"period_exact\": \"3959050/3\",\n", "");
        Schedule::from_json(&text).unwrap().planned_period()
    };
    assert_eq!(read("1319683.3333333333"), Period::new(3_959_050, 3).unwrap());
    assert_eq!(read("1319683.0"), Period::from(1_319_683));
    assert_eq!(read("1.3e6"), Period::from(1_300_000));
    assert_eq!(read("0"), Period::ZERO);
}

/// More cores than nanoseconds: a period too small to be told from its rounded number alone.
#[test]
fn the_shortest_periods_are_read_back() {
    let profile = Profile::new(["big"], [TaskProfile::replicable("t", [1])]).unwrap();
    for cores in [1_023, 1_025, Platform::MAX_CORES] {
        let schedule = Schedule::new("hand", [Stage::new(1, cores, "big")], &profile).unwrap();
        assert_eq!(schedule.planned_period(), Period::new(1, cores.into()).unwrap());
        assert_eq!(Schedule::from_json(&schedule.to_json()), Ok(schedule));
    }
}

fn profiles() -> impl Strategy<Value = Profile> {
    (1usize..4, 1usize..6).prop_flat_map(|(kinds, tasks)| {
        let times = || proptest::collection::vec(0u64..1 << 50, kinds);
        let absent = proptest::collection::vec(proptest::bool::weighted(0.2), kinds - 1);
        let seen = any::<[u64; 4]>().prop_map(|[samples, min_ns, median_ns, p99_ns]| Samples {
            samples,
            min_ns,
            median_ns,
            p99_ns,
        });
        let seen = proptest::option::of(proptest::collection::vec(seen, kinds));
        let task = (".+", any::<bool>(), times(), seen, absent).prop_map(|(name, replicable, ns, seen, absent)| {
            let task = TaskProfile {
                seen: seen.map(|seen| seen.into_iter().map(Some).collect()),
                ..TaskProfile::replicable(name, ns)
            };
            let absent = absent.iter().enumerate().filter(|(_, absent)| **absent);
            TaskProfile { replicable, ..absent.fold(task, |task, (kind, _)| task.not_on(kind + 1)) }
        });
        let tasks = proptest::collection::vec(task, tasks);
        let sync = proptest::option::of(times());
        (tasks, sync, proptest::option::of(".*"), 1u32.., proptest::option::of(1u64..)).prop_map(
            move |(tasks, sync, machine, frames, bits)| {
                let mut profile = Profile::new((0..kinds).map(|kind| format!("kind{kind}")), tasks).unwrap();
                profile = profile.with_frames_per_execution(frames).unwrap();
                if let Some(sync) = sync {
                    profile = profile.with_sync_ns(sync).unwrap();
                }
                if let Some(machine) = machine {
                    profile = profile.with_machine(machine);
                }
                if let Some(bits) = bits {
                    profile = profile.with_bits_per_frame(bits).unwrap();
                }
                profile
            },
        )
    })
}

proptest! {
    #[test]
    fn every_document_is_read_back(profile in profiles(), cores in 1u32..40, watts in 0.0f64..1000.0) {
        prop_assert_eq!(&Profile::from_json(&profile.to_json()).unwrap(), &profile);

        let saturation = Some(watts + 0.5).filter(|_| cores % 2 == 0);
        let kinds = profile.kinds().iter();
        let kinds = kinds.map(|name| CoreKind { watts: Some(watts), saturation, ..CoreKind::new(name, cores) });
        let platform = Platform::new(kinds).unwrap().with_idle_watts(watts).unwrap();
        prop_assert_eq!(&Platform::from_json(&platform.to_json()).unwrap(), &platform);

        let one_kind = Platform::new([CoreKind::new("kind0", cores)]).unwrap();
        for strategy in bief_schedule::strategies() {
            let schedule = strategy.schedule(&profile, &one_kind).unwrap().with_watts(watts).unwrap();
            let whole = FrontPoint {
                cores: [("kind0".to_owned(), 1)].into(),
                stages: vec![Stage::new(profile.tasks().len(), 1, "kind0")],
            };
            let schedule = schedule.with_front([whole]).unwrap();
            prop_assert_eq!(&Schedule::from_json(&schedule.to_json()).unwrap(), &schedule);
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in ".*", at in 0usize..600, cut in 0usize..20) {
        let _ = Profile::from_json(&text);
        let _ = Platform::from_json(&text);
        for document in [PROFILE, PLATFORM, SCHEDULE] {
            let at = at % document.len();
            let end = (at + cut).min(document.len());
            let text = format!("{}{}", &document[..at], &document[end..]);
            let _ = Profile::from_json(&text);
            let _ = Platform::from_json(&text);
            let _ = Schedule::from_json(&text);
        }
    }
}
