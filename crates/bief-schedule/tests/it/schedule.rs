//! Schedules beside profiles and platforms: validity, periods, limits, and the thread-per-task baseline.

use bief_schedule::strategy::ThreadPerTask;
use bief_schedule::{
    ErrorKind, FrontPoint, Goal, Limit, Period, Platform, Profile, Schedule, Stage, StageLoad, Strategy, TaskProfile,
    strategies, strategy,
};

fn profile() -> Profile {
    Profile::new(
        ["big", "little"],
        [
            TaskProfile::sequential("receive", [200, 300]),
            TaskProfile::replicable("filter", [600, 900]),
            TaskProfile::replicable("decode", [900, 1500]),
            TaskProfile::sequential("send", [100, 100]),
        ],
    )
    .unwrap()
}

fn stages(list: &[(usize, u32, &str)]) -> Vec<Stage> {
    list.iter().map(|&(tasks, cores, kind)| Stage::new(tasks, cores, kind)).collect()
}

#[test]
fn loads_follow_equation_1_and_the_period_equation_2() {
    let list = stages(&[(1, 1, "little"), (2, 4, "big"), (1, 1, "little")]);
    let schedule = Schedule::new("hand", list, &profile()).unwrap();
    let load = |tasks, replicable, kind: &str, work_ns, period: u64| StageLoad {
        tasks,
        replicable,
        work_ns,
        works_ns: [(kind.to_owned(), work_ns)].into(),
        period: Period::from(period),
        ahead: 0,
        gather: 1,
    };
    assert_eq!(
        schedule.loads(&profile()).unwrap(),
        [
            load(0..1, false, "little", 300, 300),
            load(1..3, true, "big", 1500, 375),
            load(3..4, false, "little", 100, 100)
        ]
    );
    assert_eq!(schedule.planned_period(), Period::from(375));
    assert_eq!(schedule.limit(&profile()), Ok(Limit::Stage(1)));
    assert_eq!(schedule.cores()["big"], 4);
    assert_eq!(schedule.cores()["little"], 2);
    assert_eq!(schedule.mbps(&profile()), None);
    assert_eq!(schedule.latency_ns(&profile()), Ok(1900));

    // Handing over is work of the stage, and replicas share it.
    let with_sync = profile().with_sync_ns([100, 80]).unwrap();
    assert_eq!(schedule.period(&with_sync), Ok(Period::from(400)));
    assert_eq!(schedule.planned_period(), Period::from(375));
    let slower_ends = profile().with_sync_ns([0, 500]).unwrap();
    assert_eq!(schedule.limit(&slower_ends), Ok(Limit::Stage(0)));
}

#[test]
fn schedules_that_do_not_go_with_the_profile_are_refused() {
    let cases = [
        (stages(&[(3, 1, "big")]), "schedule, stages: they take 3 tasks, the profile has 4: schedule for this profile"),
        (
            stages(&[(4, 1, "big"), (usize::MAX, 1, "big")]),
            "schedule, stages: they take 18446744073709551615 tasks, the profile has 4: schedule for this profile",
        ),
        (
            stages(&[(4, 1, "huge")]),
            "schedule, stages[0]: it runs on cores of kind `huge`, the profile has times for big, little: schedule for this profile",
        ),
        (
            stages(&[(1, 1, "big"), (3, 2, "big")]),
            "schedule, stages[1]: it has 2 cores, but its task `send` may not be replicated: give the stage 1 core, or cut it there",
        ),
        (stages(&[]), "schedule, stages: there is none: a schedule has at least one stage"),
    ];
    for (stages, message) in cases {
        let error = Schedule::new("hand", stages, &profile()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schedule);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn cores_of_several_kinds_share_a_stage() {
    let list = [Stage::new(1, 1, "little"), Stage::mixed(2, [("big", 2), ("little", 3)]), Stage::new(1, 1, "big")];
    let schedule = Schedule::new("hand", list, &profile()).unwrap();
    let load = &schedule.loads(&profile()).unwrap()[1];
    // In 7200 ns the big cores do 4.8 executions each, the little ones 3.
    assert_eq!(Some(load.period), Period::new(12_000, 31));
    assert_eq!((load.work_ns, load.works_ns["big"], load.works_ns["little"]), (2400, 1500, 2400));
    assert_eq!(schedule.limit(&profile()), Ok(Limit::Stage(1)));
    assert_eq!(schedule.latency_ns(&profile()), Ok(300 + 2400 + 100));
    // They are all as busy; and an execution may wait for one of them.
    let busy = schedule.busy_cores(&profile(), 775.0).unwrap();
    let share = 12_000.0 / 31.0 / 775.0;
    assert!((busy["big"] - (2.0 * share + 100.0 / 775.0)).abs() < 1e-12, "{busy:?}");
    assert!((busy["little"] - (3.0 * share + 300.0 / 775.0)).abs() < 1e-12, "{busy:?}");
    assert_eq!(schedule.latency_bound_ns(&profile(), Period::from(1000)), Ok(Some(2800 + 1400)));
    assert_eq!(schedule.latency_bound_ns(&profile(), Period::from(387)), Ok(None));

    let json = schedule.to_json();
    assert!(json.contains(r#"{"tasks": 2, "cores": {"big": 2, "little": 3}}"#), "{json}");
    assert!(json.contains(r#"{"tasks": 1, "cores": 1, "kind": "little"}"#), "{json}");
    assert!(json.contains(r#""period_exact": "12000/31""#), "{json}");
    assert_eq!(Schedule::from_json(&json), Ok(schedule));
}

#[test]
fn stages_of_several_kinds_that_cannot_be_are_refused() {
    let refused = |stages: Vec<Stage>| Schedule::new("hand", stages, &profile()).unwrap_err().to_string();
    let with = |cores: &[(&str, u32)]| {
        vec![Stage::new(1, 1, "big"), Stage::mixed(2, cores.iter().copied()), Stage::new(1, 1, "big")]
    };
    assert_eq!(
        refused(with(&[("big", 1), ("huge", 1)])),
        "schedule, stages[1]: it runs on cores of kind `huge`, the profile has times for big, little: schedule for this profile"
    );
    assert_eq!(
        refused(with(&[("big", 1), ("little", 0)])),
        "schedule, stages[1]: 0 cores: a stage has from 1 to 16000 cores of each of its kinds"
    );
    assert_eq!(refused(with(&[])), "schedule, stages[1]: 0 cores: a stage has from 1 to 16000 cores");
    assert_eq!(
        refused(vec![Stage::new(1, 1, "big"), Stage::mixed(3, [("big", 1), ("little", 1)])]),
        "schedule, stages[1]: it has 2 cores, but its task `send` may not be replicated: give the stage 1 core, or cut it there"
    );
    let stages = vec![Stage::new(1, 1, "big"), Stage::mixed(1, [("big", 1), ("little", 1)]), Stage::new(1, 1, "big")];
    assert!(
        Schedule::new("hand", stages, &three_places())
            .unwrap_err()
            .reason()
            .contains("`filter` cannot run: give that task")
    );

    let read = |stage: &str| {
        let text = format!(
            r#"{{"format": 1, "strategy": "hand", "period_ns": 9, "cores": {{"big": 1}}, "stages": [{stage}]}}"#
        );
        Schedule::from_json(&text).unwrap_err().to_string()
    };
    for (stage, message) in [
        (r#"{"tasks": 1, "cores": {"big": 1, "big": 2}}"#, "kind `big` is named twice"),
        (
            r#"{"tasks": 1, "cores": {"big": 1}, "kind": "big"}"#,
            "`kind` beside cores that are listed by kind: leave it out",
        ),
        (r#"{"tasks": 1, "cores": 1}"#, "missing field `kind`"),
        (r#"{"tasks": 1, "cores": "two", "kind": "big"}"#, "or one for each kind such as"),
        (r#"{"tasks": 1, "cores": {}}"#, "0 cores: a stage has from 1"),
    ] {
        let error = read(stage);
        assert!(error.contains(message), "{stage}: {error}");
    }
    let shared = r#"{"format": 1, "strategy": "hand", "period_ns": 9, "oversubscribed": true, "cores": {"big": 1, "little": 1},
        "stages": [{"tasks": 1, "cores": {"big": 2, "little": 1}}]}"#;
    let error = Schedule::from_json(shared).unwrap_err();
    assert_eq!(error.place(), "schedule, stages[0]");
    assert!(error.reason().starts_with("oversubscribed, but it has cores of several kinds"), "{error}");
}

#[test]
fn schedules_that_need_more_cores_than_there_are_are_refused() {
    let list = stages(&[(1, 1, "little"), (2, 4, "big"), (1, 1, "little")]);
    let schedule = Schedule::new("hand", list, &profile()).unwrap();
    let check = |cores: &str| schedule.check(&profile(), &Platform::parse_cores(cores, &profile()).unwrap());
    assert_eq!(check("big=4,little=2"), Ok(()));
    assert_eq!(
        check("big=3,little=8").unwrap_err().to_string(),
        "schedule, cores: it uses 4 cores of kind `big`, the platform has 3: \
         schedule for this platform, or give it more cores"
    );
    assert!(check("big=8,little=1").unwrap_err().reason().starts_with("it uses 2 cores of kind `little`"));
}

#[test]
fn power_and_front_are_checked() {
    let schedule = Schedule::new("hand", stages(&[(4, 1, "big")]), &profile()).unwrap();
    let error = schedule.clone().with_watts(f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "schedule, watts: NaN W: write a power of 0 W or more, or leave the key out");
    let point = FrontPoint { cores: [("big".to_owned(), 2)].into(), stages: stages(&[(4, 1, "big")]) };
    let error = schedule.with_front([point]).unwrap_err();
    assert_eq!(error.place(), "schedule, front[0].cores");
}

#[test]
fn one_thread_per_task_has_the_period_of_the_heaviest_task_when_cores_abound() {
    let platform = Platform::parse_cores("big=4", &profile()).unwrap();
    let schedule = ThreadPerTask::R1.schedule(&profile(), &platform).unwrap();
    assert_eq!(schedule.stages(), stages(&[(1, 1, "big"); 4]));
    assert!(!schedule.is_oversubscribed());
    assert_eq!(schedule.planned_period(), Period::from(900));
    assert_eq!(schedule.limit(&profile()), Ok(Limit::Stage(2)));
    assert_eq!(schedule.check(&profile(), &platform), Ok(()));
}

#[test]
fn more_threads_than_cores_share_the_work() {
    let platform = Platform::parse_cores("little=2", &profile()).unwrap();
    let schedule = ThreadPerTask::R1.schedule(&profile(), &platform).unwrap();
    assert!(schedule.is_oversubscribed());
    assert_eq!(schedule.cores()["little"], 2);
    // Three cores would suffice for decode's 1500; two need half of 2800, which is less.
    assert_eq!(schedule.planned_period(), Period::from(1500));
    assert_eq!(schedule.limit(&profile()), Ok(Limit::Stage(2)));

    let platform = Platform::parse_cores("little=1", &profile()).unwrap();
    let schedule = ThreadPerTask::R1.schedule(&profile(), &platform).unwrap();
    assert_eq!(schedule.planned_period(), Period::from(2800));
    assert_eq!(schedule.limit(&profile()), Ok(Limit::Cores("little".to_owned())));
    assert_eq!(schedule.check(&profile(), &platform), Ok(()));
    assert_eq!(Schedule::from_json(&schedule.to_json()), Ok(schedule));
}

#[test]
fn threads_go_to_the_kind_that_they_leave_fastest() {
    // decode on big (900), filter on little (900 beats 1500 on the one big core), then the lighter ones.
    let platform = Platform::parse_cores("big=1,little=2", &profile()).unwrap();
    let schedule = ThreadPerTask::R1.schedule(&profile(), &platform).unwrap();
    let kinds: Vec<_> = schedule.stages().iter().map(|stage| stage.kind().unwrap()).collect();
    assert_eq!(kinds, ["little", "little", "big", "little"]);
    assert!(schedule.is_oversubscribed());
    assert_eq!(schedule.planned_period(), Period::from(900));
}

#[test]
fn cores_of_a_kind_without_times_are_refused() {
    let other = Profile::new(["cpu"], [TaskProfile::replicable("t", [1])]).unwrap();
    let platform = Platform::parse_cores("cpu=4", &other).unwrap();
    for strategy in strategies() {
        assert_eq!(strategy.schedule(&profile(), &platform).unwrap_err().kind(), ErrorKind::Platform);
    }
}

#[test]
fn strategies_are_found_by_name() {
    for listed in strategies() {
        assert_eq!(strategy(listed.name()).unwrap().summary(), listed.summary());
        assert!(listed.summary().ends_with('.'), "one sentence: {}", listed.summary());
    }
    let error = strategy("otak").err().unwrap();
    let names: Vec<_> = strategies().iter().map(|strategy| strategy.name()).collect();
    assert!(names.contains(&"exact") && names.contains(&"thread_per_task"));
    assert_eq!(
        error.to_string(),
        format!("strategy `otak`: there is no strategy of that name: choose one of {}", names.join(", "))
    );

    assert_eq!(strategy("thread_per_task:1").unwrap().name(), "thread_per_task");
    for (name, reason) in [
        ("thread_per_task:7", "`thread_per_task` takes no parameter `7`: write one of 1, 2, 3"),
        ("exact:1", "`exact` takes no parameter `1`: write one of mixed, one-kind"),
        ("otac:1", "`otac` takes no parameter: write `otac`"),
    ] {
        assert_eq!(strategy(name).err().unwrap().reason(), reason);
    }
    for listed in strategies() {
        for value in listed.capabilities().parameters {
            let family = listed.name().split(':').next().unwrap();
            let name = format!("{family}:{value}");
            assert!([name.as_str(), family].contains(&strategy(&name).unwrap().name()));
        }
    }
}

#[test]
fn a_goal_is_served_or_refused() {
    let platform = Platform::parse_cores("big=2", &profile()).unwrap();
    for strategy in strategies() {
        let serves = strategy.capabilities().goals;
        assert!(strategy.plan(&profile(), &platform, &Goal::default()).is_ok());
        let plan = strategy.plan(&profile(), &platform, &"fewest-cores,period=1s".parse().unwrap());
        match plan {
            Ok(plan) => assert!(serves && plan.cores()["big"] == 1),
            Err(error) => {
                assert!(!serves);
                assert_eq!(error.place(), format!("strategy `{}`", strategy.name()));
                let reason = "it serves no goal but `fewest-big`, and `fewest-cores,period=1s` is given: leave the goal out, \
                              or take one of: exact, exact:one-kind";
                assert_eq!(error.reason(), reason);
            }
        }
    }
}

/// A task that can run on the little cores only, between two that can run on the big ones only.
fn three_places() -> Profile {
    let [big, little] = [0, 1];
    Profile::new(
        ["big", "little"],
        [
            TaskProfile::sequential("receive", [200, 0]).not_on(little),
            TaskProfile::sequential("filter", [0, 900]).not_on(big),
            TaskProfile::sequential("send", [100, 0]).not_on(little),
        ],
    )
    .unwrap()
}

#[test]
fn tasks_run_where_they_can() {
    let platform = Platform::parse_cores("big=2,little=1", &three_places()).unwrap();
    for strategy in strategies().iter().filter(|strategy| strategy.capabilities().absent_times) {
        let schedule = strategy.schedule(&three_places(), &platform).unwrap();
        let kinds: Vec<_> = schedule.stages().iter().map(|stage| stage.kind().unwrap()).collect();
        assert_eq!(kinds, ["big", "little", "big"], "{}", strategy.name());
        assert_eq!(schedule.planned_period(), Period::from(900));
    }
}

#[test]
fn tasks_that_can_run_nowhere_are_refused_with_the_remedy() {
    let platform = Platform::parse_cores("big=2", &three_places()).unwrap();
    for strategy in strategies() {
        let error = strategy.schedule(&three_places(), &platform).unwrap_err();
        assert_eq!((error.kind(), error.place()), (ErrorKind::Strategy, &*format!("strategy `{}`", strategy.name())));
        let start = "the task `filter` runs on `little` only, and no core of that kind is given: ";
        let remedy = match strategy.capabilities().absent_times {
            true => "give cores of it, too",
            false => {
                "take a strategy for tasks that run on different kinds, such as `exact`, and give cores of it, too"
            }
        };
        assert_eq!(error.reason(), format!("{start}{remedy}"));
    }
}

#[test]
fn too_few_cores_for_tasks_on_different_kinds_are_refused() {
    let platform = Platform::parse_cores("big=1,little=8", &three_places()).unwrap();
    for name in ["exact", "herad", "fertac", "two_catac"] {
        let error = strategy(name).unwrap().schedule(&three_places(), &platform).unwrap_err();
        assert_eq!((error.kind(), error.place()), (ErrorKind::Strategy, &*format!("strategy `{name}`")));
        let reason = "however long the period is: a task that cannot run on the kind of the one before it begins a stage on a core \
                      of its own";
        assert!(error.reason().contains(reason), "{error}");
    }
    let error = strategy("exact").unwrap().schedule(&three_places(), &platform).unwrap_err();
    assert!(error.reason().ends_with("`send` runs on `big`: give more cores of that kind"), "{error}");
    // Threads that share the core do.
    assert!(strategy("thread_per_task").unwrap().schedule(&three_places(), &platform).is_ok());
}
