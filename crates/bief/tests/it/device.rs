//! Stages on an emulated device: order, skipped frames, ends, faults, plans.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bief::device::{Device, DeviceBatch, Offload, OffloadOf};
use bief::error::ErrorKind;
use bief::placement::Policy;
use bief::plan::Profiling;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Application, Chain, Error, Flow, InOut, Machine, Pipeline, Planner, Program, Result, Task, sink};

use crate::common::{Act, Count, Probe, rig, silence_panics, watched};

fn machine(device: &str) -> Machine {
    Machine::emulated(&format!("[[device]]\nname = 'gpu'\n{device}"), &Machine::here()).unwrap()
}

/// The source, a probe and the sink on cores, two probes between them on the device.
fn profile(lanes: u32) -> Profile {
    let on_cores = |name: &str| TaskProfile::sequential(name, [1000, 0]).not_on(1);
    let probe = || TaskProfile::replicable("Probe", [1000, 1000]);
    let tasks = [on_cores("Count"), probe(), probe(), probe(), on_cores("CollectSink")];
    Profile::new(["cpu", "gpu"], tasks).unwrap().with_lanes([None, Some(lanes)]).unwrap()
}

fn schedule(lanes: u32) -> Schedule {
    let stages = [Stage::new(2, 1, "cpu"), Stage::new(2, 1, "gpu"), Stage::new(1, 1, "cpu")];
    Schedule::new("hand", stages, &profile(lanes)).unwrap()
}

fn on_device(chain: Chain, lanes: u32, device: &str) -> Pipeline {
    let machine = machine(&format!("lanes = {lanes}\n{device}"));
    let pipeline = chain.build().unwrap().pipeline_on(&schedule(lanes), &machine).unwrap();
    pipeline.place(&Policy::Packed, &machine).unwrap()
}

#[test]
fn frames_keep_their_order_through_lanes() {
    for (lanes, batch, device) in [(1, 1, ""), (3, 1, "launch_us = 50"), (3, 4, "copy_gb_per_s = 0.001"), (5, 3, "")] {
        watched(move || {
            let rig = rig(100, batch, [1, 1, 1], [Act::Pass, Act::Jitter(300), Act::Jitter(100)]);
            let mut pipeline = on_device(rig.chain, lanes, device).observe();
            for _ in 0..2 {
                let report = pipeline.run().unwrap();
                assert_eq!(rig.result.take(), (0..100).map(|k| 3000 + k).collect::<Vec<_>>());
                assert_eq!((report.frames, report.stages[1].threads), (100, lanes as usize));
                assert!(report.stages[1].device.as_ref().is_some_and(|device| device.name == "gpu"));
                assert!(report.to_string().contains(&format!("{lanes} lanes of gpu: copies in")), "{report}");
                let json = serde_json::to_value(&report).unwrap();
                assert_eq!(json["stages"][1]["device"]["name"], "gpu");
            }
        });
    }
}

#[test]
fn a_batch_takes_no_less_time_than_the_device_costs() {
    watched(|| {
        let rig = rig(40, 2, [1, 1, 1], [Act::Pass, Act::Pass, Act::Sleep(Duration::from_micros(400))]);
        // Two tasks, 8 bytes a frame each way.
        let device = "launch_us = 500\ncopy_gb_per_s = 0.00002\n[device.tasks]\n'Probe 3' = 0.5";
        let report = on_device(rig.chain, 3, device).run().unwrap();
        let device = report.stages[1].device.as_ref().unwrap();
        // Of two frames, which the second task sleeps for at half the speed; the last batch has none.
        let tasks = 20.0 * (2.0 * 500e3 + 2.0 * 2.0 * 400e3);
        let all = report.executions as f64;
        assert!(all * device.tasks_ns >= tasks, "{device:?}");
        assert!(all * device.copy_in_ns >= 20.0 * 800e3 && all * device.copy_out_ns >= 20.0 * 800e3, "{device:?}");
        assert_eq!(device.copied_bytes.map(|bytes| (all * bytes).round()), [40.0 * 8.0; 2]);
        device
            .copy_gb_per_s()
            .iter()
            .for_each(|rate| assert!((rate.unwrap() / 0.00002 - 1.0).abs() < 0.01, "{device:?}"));
        assert!(report.to_string().contains("; 0.0 GB/s in, 0.0 out"), "{report}");
        assert!(report.seconds * 1e9 >= tasks, "one lane works at a time: {}", report.seconds);
        assert!(report.stages[1].measured_ns >= device.tasks_ns);
    });
}

#[test]
fn frames_that_were_skipped_do_not_come_to_the_device() {
    watched(|| {
        let rig = rig(100, 4, [1, 1, 1], [Act::KeepEvery(7), Act::Jitter(200), Act::Pass]);
        let report = on_device(rig.chain, 3, "copy_gb_per_s = 1").run().unwrap();
        assert_eq!(rig.result.take(), (0..100).step_by(7).map(|k| 3000 + k).collect::<Vec<_>>());
        assert_eq!(report.frames, 15);
    });
}

#[test]
fn a_fault_in_a_lane_ends_the_run_after_the_frames_before_it() {
    silence_panics("told to panic");
    for (act, kind, message) in [
        (Act::Fail(23), ErrorKind::Task, "told to fail at 23"),
        (Act::Panic(23), ErrorKind::Panic, "told to panic at 23"),
        (Act::KeepEvery(23), ErrorKind::Task, "plan it on cores (--device off)"),
        (Act::Stop(23), ErrorKind::Task, "would have to pass every frame on"),
    ] {
        // It skips in every batch: with several lanes any of them may be the first to fail.
        let skips = matches!(act, Act::KeepEvery(_));
        for (lanes, batch) in [(1, 1), (1, 5), (3, 1), (3, 5)].into_iter().filter(|&(lanes, _)| lanes == 1 || !skips) {
            watched(move || {
                let rig = rig(100, batch, [1, 1, 1], [Act::Pass, Act::Jitter(100), act]);
                let error = on_device(rig.chain, lanes, "").run().unwrap_err();
                assert_eq!(error.kind(), kind);
                assert!(error.to_string().contains(message), "{error}");
                let place = error.place();
                assert_eq!(
                    (place.stage.as_deref(), place.task.as_deref()),
                    (Some("Probe 2 .. Probe 3"), Some("Probe 3"))
                );
                // The second probe sees 0 first.
                let at = if skips { 1 } else { 23 };
                assert_eq!(place.frame, Some(at));
                assert_eq!(rig.result.take(), (0..at).map(|k| 3000 + k).collect::<Vec<_>>());
            });
        }
    }
}

#[test]
fn a_stop_ends_a_run_with_a_device_in_order() {
    watched(|| {
        let rig = rig(900, 1, [1, 1, 1], [Act::Pass, Act::Sleep(Duration::from_micros(200)), Act::Pass]);
        let mut pipeline = on_device(rig.chain, 3, "launch_us = 100");
        let (stopper, mut watch) = (pipeline.stopper(), pipeline.watch());
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                while watch.status().frames < 10 {
                    std::thread::yield_now();
                }
                stopper.stop();
            });
            pipeline.run().unwrap()
        });
        assert!(report.frames >= 10);
        assert_eq!(rig.result.take(), (0..report.frames).map(|k| 3000 + k).collect::<Vec<_>>());
    });
}

/// Works on whole batches, by code that is for devices alone, and remembers how many it had.
struct Triple(Arc<AtomicU64>);

impl Task for Triple {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] *= 3;
        Ok(Flow::Next)
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        match device.lanes() {
            7 => Some(Err(Error::new("seven lanes are too many"))),
            _ => Some(Ok(Box::new(Kernel { batches: Arc::clone(&self.0), queued: 0 }))),
        }
    }
}

/// The number of batches after which the device is lost.
const LOST: u64 = 100;

struct Kernel {
    batches: Arc<AtomicU64>,
    queued: usize,
}

impl Offload<InOut<u64>, ()> for Kernel {
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, InOut<u64>, ()>) -> Result<()> {
        self.queued = batch.frames();
        batch.for_each(|frame, ()| {
            frame[0] *= 3;
            Ok(())
        })
    }
    fn complete(&mut self, batch: &mut DeviceBatch<'_, InOut<u64>, ()>) -> Result<()> {
        assert_eq!(batch.frames(), self.queued);
        match self.batches.fetch_add(1, Ordering::Relaxed) {
            LOST => Err(Error::new("the device is lost")),
            _ => Ok(()),
        }
    }
}

fn triples(batches: &Arc<AtomicU64>) -> (Program, sink::Collected<u64>) {
    let mut chain = Chain::new().batch(3);
    let mut wire = chain.add(Count::to(10), ());
    chain.add(Triple(Arc::clone(batches)), &mut wire);
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    (chain.build().unwrap(), result)
}

fn triples_on(kind: &str, cores: u32) -> Schedule {
    let on_cores = |name: &str| TaskProfile::sequential(name, [10, 0]).not_on(1);
    let tasks = [on_cores("Count"), TaskProfile::replicable("Triple", [10, 10]), on_cores("CollectSink")];
    let profile = Profile::new(["cpu", "gpu"], tasks).unwrap();
    let stages = [Stage::new(1, 1, "cpu"), Stage::new(1, cores, kind), Stage::new(1, 1, "cpu")];
    Schedule::new("hand", stages, &profile).unwrap()
}

#[test]
fn a_task_that_may_not_be_replicated_has_one_lane_and_works_on_whole_batches() {
    let batches = Arc::default();
    let (program, result) = triples(&batches);
    let report = program.pipeline_on(&triples_on("gpu", 1), &machine("")).unwrap().run().unwrap();
    assert_eq!(result.take(), (0..10).map(|k| 3 * k).collect::<Vec<_>>());
    assert_eq!((report.stages[1].threads, batches.load(Ordering::Relaxed)), (1, 4));
}

#[test]
fn of_a_batch_that_is_lost_no_frame_is_delivered() {
    let batches = Arc::new(AtomicU64::new(LOST - 2));
    let (program, result) = triples(&batches);
    let error = program.pipeline_on(&triples_on("gpu", 1), &machine("")).unwrap().run().unwrap_err();
    assert!(error.to_string().contains("the device is lost"), "{error}");
    assert_eq!(error.place().frame, Some(6));
    assert_eq!(result.take(), (0..6).map(|k| 3 * k).collect::<Vec<_>>());
}

#[test]
fn what_cannot_run_on_a_device_is_refused_before_the_run() {
    let refused = |schedule: &Schedule, device: &str| {
        triples(&Arc::default()).0.pipeline_on(schedule, &machine(device)).unwrap_err().to_string()
    };
    let error = refused(&triples_on("gpu", 1), "lanes = 7");
    assert_eq!(error, "task `Triple` on the device `gpu`: seven lanes are too many: plan it on cores (--device off)");
    let error = refused(&triples_on("gpu", 2), "");
    assert_eq!(error, "stage `Triple` wants 2 devices `gpu`, and there is 1: plan with this machine");
    let all = Schedule::new("hand", [Stage::new(5, 1, "gpu")], &{
        let tasks = (0..5).map(|_| TaskProfile::sequential("t", [1]));
        Profile::new(["gpu"], tasks).unwrap()
    })
    .unwrap();
    let error = rig(5, 1, [1; 3], [Act::Pass; 3]).chain.build().unwrap().pipeline_on(&all, &machine("")).unwrap_err();
    assert!(error.to_string().contains("task `Count` on the device `gpu`: it has nothing that runs there"), "{error}");
    // Other plans, and classes, are for cores.
    let pipeline = on_device(rig(5, 1, [1; 3], [Act::Pass; 3]).chain, 3, "");
    let error = pipeline.changer().unwrap_err().to_string();
    assert!(error.contains("a stage runs on a device: leave the device out"), "{error}");
}

/// A probe that sleeps, which two cores would take as long for.
struct Sleepy;

fn sleepy(frames: u64) -> Result<Program> {
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(frames.min(2000)), ());
    let slept = chain.add(Probe::new(Act::Sleep(Duration::from_micros(300))), &numbers);
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &slept);
    chain.build()
}

impl Application for Sleepy {
    fn program(&mut self) -> Result<Program> {
        sleepy(200)
    }
    fn rehearsal(&self, frames: u64) -> Result<Program> {
        sleepy(frames)
    }
}

fn planner(machine: Machine) -> Planner {
    let executions = const { NonZeroUsize::new(20).unwrap() };
    Planner::new(machine).profiling(Profiling { executions, ..Profiling::default() })
}

#[test]
fn a_planner_measures_and_plans_with_a_device_and_the_pipeline_runs_there() {
    watched(|| {
        let machine = machine("launch_us = 5\ncopy_gb_per_s = 1.0");
        let planned = planner(machine).cores("cpu=1,gpu=1").require_devices().plan(&Sleepy);
        let planned = planned.unwrap_or_else(|error| panic!("{error}"));
        let gpu = planned.profile.kind("gpu").unwrap();
        assert_eq!(planned.profile.lanes(gpu), Some(3));
        let [count, probe, _] = planned.profile.tasks() else { panic!("three tasks") };
        assert_eq!(count.ns[gpu], None);
        assert_eq!(probe.ns[gpu], probe.ns[0].map(|ns| ns + 5000), "as long as on a core, and the launch");
        assert_eq!((planned.profile.enter_ns(1, gpu), planned.profile.leave_ns(1, gpu)), (8, 8));
        assert!(planned.notes.is_empty(), "{:?}", planned.notes);
        assert!(planned.pipeline(&mut Sleepy).unwrap().run().is_ok());
    });
}

#[test]
fn a_device_that_cannot_be_used_is_left_out_and_told_or_refused() {
    let machine = || machine("");
    let text = "the device `gpu` is required: ";
    let fertac = || bief::schedule::strategy("fertac").unwrap();
    let planned = planner(machine()).strategy(fertac()).plan(&Sleepy).unwrap();
    assert_eq!(planned.notes, ["planned without the device `gpu`: the strategy `fertac` plans for cores alone"]);
    assert!(planned.schedule.cores().keys().all(|kind| kind != "gpu"));
    let error = planner(machine()).strategy(fertac()).require_devices().plan(&Sleepy).unwrap_err().to_string();
    assert_eq!(error, format!("{text}the strategy `fertac` plans for cores alone"));
    let given = {
        let tasks = ["Count", "Probe", "sink"].map(|name| TaskProfile::sequential(name, [1000]));
        Profile::new([Machine::here().kinds()[0].name.as_str()], tasks).unwrap()
    };
    let planned = planner(machine()).profile(given.clone(), "given").plan(&Sleepy).unwrap();
    assert_eq!(planned.notes, ["planned without the device `gpu`: the profile has no times on it"]);
    let error = planner(machine()).profile(given, "given").require_devices().plan(&Sleepy).unwrap_err().to_string();
    assert_eq!(error, format!("{text}the profile has no times on it"));
    let kind = Machine::here().kinds()[0].name.clone();
    let planner_of = planner(machine()).cores(format!("{kind}=1")).require_devices();
    let error = planner_of.plan(&Sleepy).unwrap_err().to_string();
    assert_eq!(error, format!("the device `gpu` is required, and the cores `{kind}=1` leave it out: add gpu=1"));
    let error = planner(Machine::here()).require_devices().plan(&Sleepy).unwrap_err().to_string();
    assert!(error.starts_with("a device is required, and this machine has none"), "{error}");
}

/// A chain with a task that refuses a device of seven lanes.
struct Tripled;

impl Application for Tripled {
    fn program(&mut self) -> Result<Program> {
        self.rehearsal(10)
    }
    fn rehearsal(&self, frames: u64) -> Result<Program> {
        let mut chain = Chain::new();
        let mut wire = chain.add(Count::to(frames.min(2000)), ());
        chain.add(Triple(Arc::default()), &mut wire);
        chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
        chain.build()
    }
}

/// As of a kernel that does not compile.
#[test]
fn a_device_that_refuses_a_task_is_left_out_and_told_or_an_error() {
    let text = "[[device]]\nname = 'gpu'\nlanes = 7\n[[device]]\nname = 'npu'";
    let machine = || Machine::emulated(text, &Machine::here()).unwrap();
    let planned = planner(machine()).plan(&Tripled).unwrap();
    assert_eq!(planned.notes, ["planned without the device `gpu`: task `Triple`: seven lanes are too many"]);
    assert_eq!((planned.profile.kind("gpu"), planned.profile.kind("npu").is_some()), (None, true));
    assert!(planned.machine.device("gpu").is_none());
    let error = planner(machine()).require_devices().plan(&Tripled).unwrap_err();
    assert!(
        error.to_string().contains("on the device `gpu`: seven lanes are too many: leave the device out"),
        "{error}"
    );
    assert_eq!(error.place().task.as_deref(), Some("Triple"));
}
