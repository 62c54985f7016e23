//! A run whose plan follows what its tasks take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bief::placement::Policy;
use bief::plan::Adapting;
use bief::schedule::{Profile, TaskProfile};
use bief::{Application, Chain, Flow, InOut, Machine, Planner, Program, Result, Task, sink, source};

use crate::common::watched;

/// Sleeps for as long as it is told just now, in microseconds.
struct Sleeps {
    name: &'static str,
    us: Arc<AtomicU64>,
}

impl Task for Sleeps {
    type In = InOut<u64>;
    type Out = ();
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        std::thread::sleep(Duration::from_micros(self.us.load(Ordering::Relaxed)));
        frame[0] += 1;
        Ok(Flow::Next)
    }
}

/// Numbers, three tasks, and a sum, until it is over.
struct Sleepers {
    us: [Arc<AtomicU64>; 3],
    over: Arc<AtomicBool>,
    sum: Arc<AtomicU64>,
}

impl Application for Sleepers {
    fn program(&mut self) -> Result<Program> {
        let (over, mut next) = (Arc::clone(&self.over), 0);
        let numbers = source::from_fn(1, move |frame: &mut [u64]| {
            frame[0] = next;
            next += 1;
            Ok(if over.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Next })
        });
        let mut chain = Chain::new();
        let mut wire = chain.add(numbers, ());
        for (name, us) in ["first", "second", "third"].into_iter().zip(&self.us) {
            chain.add(Sleeps { name, us: Arc::clone(us) }, &mut wire);
        }
        let (sum, mut count) = (Arc::clone(&self.sum), 0);
        let adds = move |frame: &[u64]| {
            assert_eq!(frame[0], count + 3, "in order");
            count += 1;
            sum.store(count, Ordering::Relaxed);
            Ok(Flow::Next)
        };
        chain.add(sink::for_each(adds), &wire);
        chain.build()
    }
    fn rehearsal(&self, _: u64) -> Result<Program> {
        Sleepers { us: self.us.clone(), over: Arc::default(), sum: Arc::default() }.program()
    }
}

#[test]
fn a_task_that_takes_longer_gets_a_stage_of_its_own() {
    let machine = Machine::here();
    if machine.cores().len() < 2 {
        eprintln!("skipped: a plan of two stages needs two cores");
        return;
    }
    let kind = machine.kinds()[0].name.clone();
    let task = |(name, us): (&str, u64)| TaskProfile::sequential(name, [us * 1000]);
    // The first takes most of the time.
    let tasks = [("source", 1), ("first", 10_000), ("second", 4000), ("third", 4000), ("sink", 1)].map(task);
    let profile = Profile::new([kind], tasks).unwrap();
    watched(move || {
        let us = [10_000, 4000, 4000].map(|us| Arc::new(AtomicU64::new(us)));
        let (over, sum) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut application = Sleepers { us: us.clone(), over: Arc::clone(&over), sum: Arc::clone(&sum) };
        let planner = Planner::new(machine).cores("2").profile(profile, "by hand").place(Policy::Loose);
        let planned = planner.plan(&application).unwrap();
        let stages =
            |planned: &bief::Planned| planned.schedule.stages().iter().map(|stage| stage.tasks).collect::<Vec<_>>();
        assert_eq!(stages(&planned), [2, 3]);
        let mut pipeline = planned.pipeline(&mut application).unwrap();
        let mut watch = pipeline.watch();
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                // Then it is the third.
                us[0].store(1000, Ordering::Relaxed);
                us[2].store(12_000, Ordering::Relaxed);
                let begin = Instant::now();
                let is_other = |name: &str| name.starts_with("third");
                while !is_other(&watch.status().stages[1].name) && begin.elapsed() < Duration::from_secs(20) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                over.store(true, Ordering::Relaxed);
            });
            let adapting = Adapting { interval: Duration::from_millis(20), ..Adapting::default() };
            planned.run_adapting(&mut pipeline, adapting)
        })
        .unwrap();
        let last = report.changes.last().expect("the plan was changed");
        assert!(last.latency_seconds.is_some_and(|latency| latency > 0.0), "{last:?}");
        assert!(last.reason.contains("times as long as it was measured"), "{last:?}");
        assert_eq!(report.frames, sum.load(Ordering::Relaxed));
        assert!(report.changes.iter().any(|change| change.stages[1].starts_with("third")), "{:?}", report.changes);
    });
}

#[test]
fn another_goal_has_another_plan() {
    let machine = Machine::here();
    if machine.cores().len() < 2 {
        eprintln!("skipped: a plan of two stages needs two cores");
        return;
    }
    let kind = machine.kinds()[0].name.clone();
    let task = |(name, us): (&str, u64)| TaskProfile::sequential(name, [us * 1000]);
    let tasks = [("source", 1), ("first", 2000), ("second", 1000), ("third", 1000), ("sink", 1)].map(task);
    let profile = Profile::new([kind], tasks).unwrap();
    watched(move || {
        let us = [2000, 1000, 1000].map(|us| Arc::new(AtomicU64::new(us)));
        let (over, sum) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut application = Sleepers { us, over: Arc::clone(&over), sum };
        let planner = Planner::new(machine).cores("2").profile(profile, "by hand").place(Policy::Loose);
        let planned = planner.plan(&application).unwrap();
        let mut pipeline = planned.pipeline(&mut application).unwrap();
        let (goal, mut watch) = (planned.goal_handle(), pipeline.watch());
        assert!(goal.set("least-power".parse().unwrap()).is_ok());
        assert!(goal.set("fewest-big".parse().unwrap()).is_ok());
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                for (wanted, stages) in [("fewest-cores,period=20ms", 1), ("max-throughput", 2)] {
                    goal.set(wanted.parse().unwrap()).unwrap();
                    let begin = Instant::now();
                    while watch.status().stages.len() != stages && begin.elapsed() < Duration::from_secs(20) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                over.store(true, Ordering::Relaxed);
            });
            let adapting = Adapting { interval: Duration::from_millis(20), ..Adapting::default() };
            planned.run_adapting(&mut pipeline, adapting)
        })
        .unwrap();
        let reasons: Vec<&str> = report.changes.iter().map(|change| &*change.reason).collect();
        assert!(reasons.contains(&"the goal is fewest-cores,period=20ms now"), "{reasons:?}");
        assert_eq!(report.stages.len(), 2, "{reasons:?}");
    });
}
