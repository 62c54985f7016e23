//! Plans in two levels, against all that can be.

use std::ops::Range;

use bief::schedule::{Period, Platform, Profile, Stage, TaskProfile};
use bief_pool::plan::{AwayLimit, MessageCost, PoolPlan, Site, Worker};
use proptest::prelude::*;

/// The shortest period of a chain on some cores, of all ways to cut it into stages and to give these cores. A cut is made at `cut`.
fn shortest(tasks: &[(bool, u64)], cut: usize, cores: u64) -> Option<Period> {
    if tasks.is_empty() {
        return Some(Period::ZERO);
    }
    let stage = |end: usize, used: u64| {
        let is_replicable = tasks[..end].iter().all(|(replicable, _)| *replicable);
        let own =
            Period::new(tasks[..end].iter().map(|(_, ns)| ns).sum(), used).filter(|_| used == 1 || is_replicable)?;
        Some(own.max(shortest(&tasks[end..], cut.saturating_sub(end), cores - used)?))
    };
    let ends = 1..=if cut > 0 { cut } else { tasks.len() };
    ends.flat_map(|end| (1..=cores).map(move |used| (end, used))).filter_map(|(end, used)| stage(end, used)).min()
}

fn site(workers: &[(u32, u32)], message: [u64; 4], link: Option<u64>) -> Site {
    let worker = |(number, &(cores, speed)): (usize, &(u32, u32))| Worker {
        name: number.to_string(),
        cores,
        speed: f64::from(speed) / 4.0,
        link: None,
    };
    let [send_ns, send, receive_ns, receive] = message.map(|ns| ns as f64);
    Site {
        workers: workers.iter().enumerate().map(worker).collect(),
        message: MessageCost { send_ns, send_ns_per_byte: send / 8.0, receive_ns, receive_ns_per_byte: receive / 8.0 },
        link: link.map(|rate| rate as f64 * 1e9),
    }
}

/// The shortest period where these tasks leave, with neither solver nor pseudo-stage.
fn naive(tasks: &[(bool, u64, u64)], run: Range<usize>, site: &Site, cores: u64) -> Option<Period> {
    let (out, back) = (tasks[run.start].2 as f64, tasks[run.end].2 as f64);
    let message = &site.message;
    let send = message.send_ns + message.send_ns_per_byte * out;
    let collect = message.receive_ns + message.receive_ns_per_byte * back;
    let work: u64 = tasks[run.clone()].iter().map(|task| task.1).sum();
    let there = work as f64
        + (message.receive_ns + message.receive_ns_per_byte * out)
        + (message.send_ns + message.send_ns_per_byte * back);
    let mut rate: f64 =
        site.workers.iter().map(|worker| f64::from(worker.cores) * worker.speed * 1e9 / there.max(1.0)).sum();
    if let Some(link) = site.link {
        rate = rate.min(link / out).min(link / back);
    }
    let plain = |task: &(bool, u64, u64)| (task.0, task.1);
    let mut stays: Vec<(bool, u64)> = tasks[..run.start].iter().map(plain).collect();
    stays.push((false, send.ceil() as u64));
    let cut = stays.len();
    stays.push((false, collect.ceil() as u64));
    stays.extend(tasks[run.end..].iter().map(plain));
    let pool = Period::from(((1e9 / rate).ceil() as u64).max(1));
    Some(shortest(&stays, cut, cores)?.max(pool))
}

proptest! {
    #[test]
    fn no_other_plan_is_faster(
        tasks in prop::collection::vec((prop::bool::weighted(0.7), 0_u64..2000, 1_u64..500), 2..6),
        workers in prop::collection::vec((1_u32..4, 1_u32..9), 1..3),
        message in [0_u64..200, 0_u64..8, 0_u64..200, 0_u64..8],
        link in prop::option::of(1_u64..4),
        cores in 1_u64..5,
    ) {
        let profiles = tasks.iter().map(|&(replicable, ns, bytes)| {
            let task = TaskProfile { replicable, ..TaskProfile::sequential("task", [ns]) };
            task.with_bytes(bytes)
        });
        let profile = Profile::new(["cpu"], profiles).unwrap();
        let platform = Platform::parse_cores(&cores.to_string(), &profile).unwrap();
        let site = site(&workers, message, link);
        let plan = PoolPlan::make(&profile, &platform, &site, |run| PoolPlan::crossing(&profile, run)).unwrap();
        let runs = (1..tasks.len()).flat_map(|first| (first + 1..tasks.len()).map(move |end| first..end));
        let runs = runs.filter(|run| tasks[run.clone()].iter().all(|task| task.0));
        let best = runs.filter_map(|run| naive(&tasks, run, &site, cores)).min();
        prop_assert_eq!(plan.away.as_ref().map(|away| away.period), best);
        if let Some(away) = &plan.away {
            prop_assert_eq!(naive(&tasks, away.tasks.clone(), &site, cores), best);
            let of = |stages: &[Stage]| stages.iter().map(|stage| stage.tasks).sum::<usize>();
            prop_assert_eq!(of(&away.before), away.tasks.start + 1);
            prop_assert_eq!(of(&away.behind), tasks.len() - away.tasks.end + 1);
            let used: u32 = away.before.iter().chain(&away.behind).map(Stage::replicas).sum();
            prop_assert!(u64::from(used) <= cores);
        }
        prop_assert_eq!(plan.pays().is_some(), best.is_some_and(|best| best < plan.here.planned_period()));
    }
}

fn receiver() -> Profile {
    let tasks = [
        TaskProfile::sequential("cut", [9_000]),
        TaskProfile::replicable("filter", [80_000]).with_bytes(133_000),
        TaskProfile::replicable("decode", [200_000]).with_bytes(64_800),
        TaskProfile::sequential("deliver", [8_000]).with_bytes(4_000),
    ];
    Profile::new(["cpu"], tasks).unwrap()
}

#[test]
fn what_limits_a_plan_is_told() {
    let profile = receiver();
    let platform = Platform::parse_cores("2", &profile).unwrap();
    let plan =
        |site: &Site| PoolPlan::make(&profile, &platform, site, |run| PoolPlan::crossing(&profile, run)).unwrap();
    let far = |cores, link| Site {
        workers: vec![Worker { name: "a".into(), cores, speed: 1.0, link }],
        link: None,
        message: MessageCost::default(),
    };
    let away = plan(&far(64, None)).pays().cloned().unwrap();
    // The window costs 20 us and 0.6 ns for each of its bytes to send.
    assert_eq!((away.tasks, away.crossing_ns[0], away.limit), (1..3, 99_800, AwayLimit::Front));
    let mut few = far(1, None);
    few.workers[0].speed = 0.5;
    let away = plan(&few).away.unwrap();
    assert_eq!(away.limit, AwayLimit::Workers);
    let away = plan(&far(64, Some(12e6))).away.unwrap();
    assert_eq!(away.limit, AwayLimit::Links);
    let slow = Site { link: Some(12e6), ..far(64, None) };
    assert_eq!(plan(&slow).away.unwrap().limit, AwayLimit::Links);
    assert!(plan(&slow).pays().is_none());
    // A machine of one core has no place for two threads.
    let one = Platform::parse_cores("1", &profile).unwrap();
    let plan = PoolPlan::make(&profile, &one, &far(4, None), |run| PoolPlan::crossing(&profile, run)).unwrap();
    assert!(plan.away.is_none());
}

#[test]
fn sites_that_are_none_are_refused_with_the_line() {
    let worker = "[[worker]]\nname = 'a'\ncores = 2\n";
    for (text, told) in [
        ("", "there is no worker: write [[worker]]"),
        ("[[worker]]\ncores = 2", "a worker needs a `name`"),
        ("[[worker]]\nname = 'a'", "a worker needs `cores`"),
        ("[[worker]]\nname = 'a'\ncores = 0", "`cores` must be 1 to 4096"),
        (&format!("{worker}{worker}"), "two workers are called `a`"),
        (&format!("{worker}speed = 0"), "`speed` must be above 0"),
        (&format!("{worker}spede = 1"), "a worker has no `spede`"),
        (&format!("link_mb_per_s = -1\n{worker}"), "`link_mb_per_s` must be above 0"),
        (&format!("{worker}[message]\nsend = 1"), "a message has no `send`"),
        (&format!("{worker}[message]\nsend_us = -1"), "`send_us` must be 0 to 1e9"),
        ("workers = 2", "a pool of workers has no `workers`"),
    ] {
        let error = Site::parse(text, "pool.toml").unwrap_err().to_string();
        assert!(error.starts_with("pool.toml:") && error.contains(told), "{text}: {error}");
    }
}
