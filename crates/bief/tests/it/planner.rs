//! The planner on applications of one's own, and what profiles say of cuts.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::common::{silence_panics, watched};
use bief::plan::Profiling;
use bief::schedule::{Profile, Stage, TaskProfile};
use bief::{Application, Chain, Error, Flow, Machine, Planner, Program, Result, sink, source};

/// Blocks of samples that come at some rate, known or not.
struct Blocks {
    period: Option<Duration>,
    runs: u64,
}

fn program(blocks: u64) -> Result<Program> {
    let mut left = blocks;
    let mut chain = Chain::new();
    let fill = move |block: &mut [f32]| {
        if left == 0 {
            return Ok(Flow::Stop);
        }
        left -= 1;
        block.fill(0.5);
        Ok(Flow::Next)
    };
    let blocks = chain.add(source::from_fn(64, fill), ());
    chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &blocks);
    chain.build()
}

impl Application for Blocks {
    fn program(&mut self) -> Result<Program> {
        self.runs += 1;
        program(100)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        program(frames)
    }

    fn unit_period(&self) -> Option<Duration> {
        self.period
    }
}

fn profiling() -> Profiling {
    Profiling { executions: const { NonZeroUsize::new(20).unwrap() }, ..Profiling::default() }
}

fn planner() -> Planner {
    Planner::new(Machine::here()).profiling(profiling())
}

#[test]
fn a_latency_is_planned_for_any_application_that_knows_its_rate() {
    // Long enough for any machine.
    let latency = Duration::from_secs(60);
    let mut blocks = Blocks { period: Some(Duration::from_secs(1)), runs: 0 };
    let plan = planner().latency_plan(&blocks, latency, 1).unwrap();
    assert!((1..=60).contains(&plan.batch()), "{}", plan.batch());
    assert!(plan.bound() + plan.allowance() <= latency, "{:?}", plan.bound());
    assert_eq!(plan.profile.tasks().len(), 2);
    assert_eq!(blocks.runs, 0, "rehearsals alone");
    let pipeline = blocks.program().unwrap().pipeline(&plan.schedule).unwrap().batch(plan.batch());
    assert_eq!(pipeline.unwrap().run().unwrap().frames, 100);
}

#[test]
fn cores_work_whole_or_on_their_hardware_threads() {
    let here = Machine::here();
    let [one, other, ..] = here.cores() else {
        eprintln!("skipped: two cores stand for the hardware threads of one");
        return;
    };
    if one.threads.len() > 1 || one.kind != other.kind {
        eprintln!("skipped: the first two cores have threads of their own, or are of two kinds");
        return;
    }
    let (one, other) = (one.threads[0], other.threads[0]);
    let text =
        format!("[[kind]]\nname = 'cpu'\ncores = '{one},{other}'\nsmt = 'thread'\nthreads = 2\nthread_speed = 0.5");
    let machine = Machine::emulated(&text, &here).unwrap();
    let mut blocks = Blocks { period: None, runs: 0 };
    let (measured, ..) = Planner::new(machine.clone()).profiling(profiling()).measured(&blocks).unwrap();
    assert_eq!(measured.kinds(), ["cpu", "thread"]);

    let with = |thread_ns: u64| {
        let ns = [100_000, thread_ns];
        let tasks = measured.tasks().iter().map(|task| TaskProfile::sequential(task.name.clone(), ns));
        let profile = Profile::new(["cpu", "thread"], tasks).unwrap();
        Planner::new(machine.clone()).profile(profile, "told").plan(&blocks).unwrap()
    };
    assert_eq!(with(250_000).schedule.stages(), [Stage::new(2, 1, "cpu")]);
    let planned = with(150_000);
    assert_eq!(planned.schedule.stages(), [Stage::new(1, 1, "thread"), Stage::new(1, 1, "thread")]);
    let pipeline = planned.pipeline(&mut blocks).unwrap();
    let placed = pipeline.placement().unwrap().stages().iter().map(|stage| stage.threads.clone());
    assert_eq!(placed.collect::<Vec<_>>(), [vec![vec![one]], vec![vec![other]]]);
    let mut pipeline = pipeline;
    assert_eq!(pipeline.run().unwrap().frames, 100);
}

#[test]
fn a_latency_that_cannot_be_planned_is_refused_before_anything_is_measured() {
    let refused = |period, latency| {
        let error = planner().latency_plan(&Blocks { period, runs: 0 }, latency, 1).unwrap_err();
        error.to_string()
    };
    let message = refused(None, Duration::from_secs(1));
    assert!(message.contains("at which rate the input arrives"), "{message}");
    let message = refused(Some(Duration::from_millis(2)), Duration::from_millis(1));
    assert!(message.contains("1ms is less than the 2ms"), "{message}");
}

#[test]
fn a_profile_weighs_cuts_where_there_are_cores_to_cut_for() {
    // Every task touches all of a megabyte, which does not cross for nothing.
    let mut chain = Chain::new();
    let fill = |block: &mut [u64]| {
        block.iter_mut().enumerate().for_each(|(k, value)| *value = k as u64);
        Ok(Flow::Next)
    };
    let blocks = chain.add(source::from_fn(1 << 17, fill), ());
    let sum = |block: &[u64]| {
        assert!(block.iter().sum::<u64>() > 0);
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(sum), &blocks);
    let profile = chain.build().unwrap().profile_on(&Machine::here(), profiling()).unwrap();
    let [source, sink] = profile.tasks() else { panic!("two tasks") };
    // Nothing is cut before the first task, or behind the last.
    let cost = |ns: &Option<Vec<u64>>| ns.as_ref().map_or(0, |ns| ns[0]);
    assert_eq!((cost(&source.enter_ns), cost(&sink.leave_ns)), (0, 0));
    let cut = cost(&source.leave_ns) + cost(&sink.enter_ns);
    assert_eq!(profile.has_cut_costs(), cut > 0);
    let work = profile.stage_ns(0..1, 0).unwrap() + profile.stage_ns(1..2, 0).unwrap();
    let whole = profile.stage_ns(0..2, 0).unwrap();
    assert_eq!(work, whole + cut + profile.sync_ns(0));
}

/// What the source does at its 40th frame, when cuts are tried.
fn profiled(then: fn() -> Result<Flow>) -> Result<bief::schedule::Profile> {
    let mut made = 0;
    let mut chain = Chain::new();
    let fill = move |block: &mut [u8]| {
        made += 1;
        block.fill(1);
        if made < 40 { Ok(Flow::Next) } else { then() }
    };
    let blocks = chain.add(source::from_fn(16, fill), ());
    chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &blocks);
    watched(move || chain.build()?.profile_on(&Machine::here(), profiling()))
}

#[test]
fn an_input_that_ends_while_cuts_are_tried_leaves_them_out() {
    let profile = profiled(|| Ok(Flow::Stop)).unwrap();
    assert!(!profile.has_cut_costs() && profile.tasks()[0].seen.is_some());
}

#[test]
fn a_fault_while_cuts_are_tried_is_told() {
    silence_panics("worn out");
    if Machine::here().usable() < 2 {
        return eprintln!("skipped: one core has no cuts");
    }
    let error = profiled(|| Err(Error::new("no more"))).unwrap_err().to_string();
    assert!(error.contains("no more"), "{error}");
    let error = profiled(|| panic!("worn out")).unwrap_err().to_string();
    assert!(error.contains("worn out"), "{error}");
}

/// Blocks whose sink costs a thousand seconds, whatever a rehearsal shows.
struct Told(Blocks);

impl Application for Told {
    fn program(&mut self) -> Result<Program> {
        self.0.program()
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        self.0.rehearsal(frames)
    }

    fn profile_on(&self, machine: &Machine, profiling: Profiling) -> Result<Profile> {
        let shown = self.rehearsal(u64::MAX)?.profile_on(machine, profiling)?;
        let mut tasks = shown.tasks().to_vec();
        tasks[1].ns.fill(Some(1_000_000_000_000));
        Ok(shown.with_tasks(tasks)?)
    }
}

#[test]
fn an_application_may_tell_what_its_tasks_cost() {
    let planned = planner().plan(&Told(Blocks { period: None, runs: 0 })).unwrap();
    assert!(planned.schedule.planned_period().ns() >= 1e12, "{:?}", planned.schedule);
    assert_eq!(planned.profile.tasks()[1].ns[0], Some(1_000_000_000_000));
}
