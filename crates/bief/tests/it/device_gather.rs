//! Lanes of a device that are launched for several batches at a time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bief::device::{Device, DeviceBatch, Offload, OffloadOf};
use bief::plan::Profiling;
use bief::schedule::{Gather, Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Error, Flow, In, InOut, Machine, Out, Pipeline, Result, Task, sink, source};

use crate::common::{Act, rig, watched};

/// Any chain with its tasks of this range on the device, in launches of so many batches.
fn on_device(chain: Chain, tasks: std::ops::Range<usize>, lanes: u32, gather: u32) -> Pipeline {
    let program = chain.build().unwrap();
    let machine = format!("[[device]]\nname = 'gpu'\nlanes = {lanes}\nlaunch_us = 20");
    let machine = Machine::emulated(&machine, &Machine::here()).unwrap();
    let all: Vec<TaskProfile> = program
        .tasks()
        .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, [1, 1]) })
        .collect();
    let rest = all.len() - tasks.end;
    let there = Stage::new(tasks.len(), 1, "gpu").gathering(gather);
    let behind = (rest > 0).then(|| Stage::new(rest, 1, "cpu"));
    let stages = [Stage::new(tasks.start, 1, "cpu"), there].into_iter().chain(behind);
    let schedule = Schedule::new("hand", stages, &Profile::new(["cpu", "gpu"], all).unwrap()).unwrap();
    let text = serde_json::to_string(&schedule).unwrap();
    assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule, "{text}");
    program.pipeline_on(&schedule, &machine).unwrap()
}

#[test]
fn frames_keep_their_order_however_many_are_gathered() {
    for (lanes, batch, gather) in [(1, 1, 8), (3, 1, 4), (3, 4, 3), (5, 3, 64)] {
        watched(move || {
            let rig = rig(300, batch, [1, 1, 1], [Act::Pass, Act::Jitter(100), Act::Jitter(30)]);
            let mut pipeline = on_device(rig.chain, 2..4, lanes, gather).observe();
            for _ in 0..2 {
                let report = pipeline.run().unwrap();
                assert_eq!(rig.result.take(), (0..300).map(|k| 3000 + k).collect::<Vec<_>>());
                let device = report.stages[1].device.as_ref().unwrap();
                assert_eq!((report.frames, device.gather), (300, gather as usize));
                assert!((1.0..=f64::from(gather)).contains(&device.executions_per_launch), "{report}");
                assert!(report.to_string().contains(&format!("of {gather} batches a launch")), "{report}");
            }
        });
    }
}

#[test]
fn a_fault_among_gathered_frames_ends_the_run_after_those_before_it() {
    for (lanes, batch, gather) in [(1, 1, 8), (3, 2, 5), (2, 4, 2)] {
        watched(move || {
            for failing in [0, 7, 40] {
                for task in [1, 2] {
                    let mut acts = [Act::Pass; 3];
                    acts[task] = Act::Fail(failing);
                    let rig = rig(100, batch, [1, 1, 1], acts);
                    let error = on_device(rig.chain, 2..4, lanes, gather).run().unwrap_err();
                    assert_eq!(error.place().frame, Some(failing), "{error}");
                    assert_eq!(rig.result.take(), (0..failing).map(|k| 3000 + k).collect::<Vec<_>>(), "{error}");
                }
            }
        });
    }
}

#[test]
fn skipped_frames_do_not_come_to_a_launch() {
    watched(|| {
        let rig = rig(200, 3, [1, 1, 1], [Act::KeepEvery(3), Act::Pass, Act::Pass]);
        let report = on_device(rig.chain, 2..4, 3, 4).run().unwrap();
        assert_eq!(rig.result.take(), (0..200).filter(|k| k % 3 == 0).map(|k| 3000 + k).collect::<Vec<u64>>());
        assert_eq!(report.frames, 67);
    });
}

/// Notes how many frames each launch has. The first waits until so many were made.
#[derive(Clone)]
struct Noted {
    launches: Arc<Mutex<Vec<usize>>>,
    made: Arc<AtomicU64>,
    first_waits_for: u64,
}

impl Task for Noted {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, _: &[u64], _: &mut [u64]) -> Result<Flow> {
        Err(Error::new("it runs on devices alone"))
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, _: &Device) -> Option<Result<OffloadOf<Self>>> {
        Some(Ok(Box::new(self.clone())))
    }
}

impl Offload<In<u64>, Out<u64>> for Noted {
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In<u64>, Out<u64>>) -> Result<()> {
        let mut launches = self.launches.lock().unwrap();
        while launches.is_empty() && self.made.load(Ordering::Relaxed) < self.first_waits_for {
            std::thread::yield_now();
        }
        launches.push(batch.frames());
        batch.for_each(|from, to| {
            to[0] = from[0] + 1;
            Ok(())
        })
    }
}

/// One lane, launches of up to 8 frames: how many each had. `before` gets the number of the frame that is made next, and of those that
/// have come.
fn launches(first_waits_for: u64, before: impl Fn(u64, &AtomicU64) + Send + 'static) -> Vec<usize> {
    let (made, come) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let launches = Arc::<Mutex<Vec<usize>>>::default();
    let mut chain = Chain::new();
    let (counter, seen) = (Arc::clone(&made), Arc::clone(&come));
    let numbers = source::from_fn(1, move |frame: &mut [u64]| {
        let number = counter.load(Ordering::Relaxed);
        before(number, &seen);
        frame[0] = number;
        counter.store(number + 1, Ordering::Relaxed);
        Ok(if number < 60 { Flow::Next } else { Flow::Stop })
    });
    let numbers = chain.add(numbers, ());
    let noted = chain.add(Noted { launches: Arc::clone(&launches), made, first_waits_for }, &numbers);
    let mut next = 1;
    let arrived = sink::for_each(move |frame: &[u64]| {
        assert_eq!(frame[0], next, "in order");
        next += 1;
        come.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Next)
    });
    chain.add(arrived, &noted);
    // Room for all that may be made while the first launch lasts, be that of one frame or of 8.
    let report = on_device(chain, 1..2, 1, 8).depth(60).unwrap().run().unwrap();
    assert_eq!(report.frames, 60);
    let launches = std::mem::take(&mut *launches.lock().unwrap());
    assert_eq!(launches.iter().sum::<usize>(), 60);
    launches
}

#[test]
fn under_low_load_a_frame_goes_alone_and_at_once() {
    watched(|| {
        // A frame is made when the one before has come.
        let alone = launches(0, |number, come| {
            while come.load(Ordering::Relaxed) < number {
                std::thread::yield_now();
            }
        });
        assert_eq!(alone, [1; 60]);
    });
}

#[test]
fn under_high_load_launches_are_full() {
    watched(|| {
        // While the first launch lasts, more frames are made than one launch takes.
        let launches = launches(1 + 8 + 8, |_, _| ());
        assert!(launches.iter().all(|&frames| frames <= 8), "{launches:?}");
        assert_eq!(launches[1], 8, "{launches:?}");
    });
}

/// In place, with a constant load: what stays in the stage has room for each of the batches.
#[derive(Clone)]
struct Twice;

impl Task for Twice {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] *= 2;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        device.emulate(self.clone())
    }
}

#[test]
fn wires_between_tasks_of_a_lane_have_room_for_each_batch() {
    watched(|| {
        let (made, launches) = <(Arc<AtomicU64>, Arc<Mutex<Vec<usize>>>)>::default();
        let numbers: Vec<u64> = (0..97).collect();
        let mut chain = Chain::new().batch(2);
        let numbers = chain.add(source::from_slice(&numbers, 1), ());
        let mut inner = chain.add(Noted { launches, made, first_waits_for: 0 }, &numbers);
        chain.add(Twice, &mut inner);
        let (made, launches) = <(Arc<AtomicU64>, Arc<Mutex<Vec<usize>>>)>::default();
        let last = chain.add(Noted { launches, made, first_waits_for: 0 }, &inner);
        let (collect, result) = sink::collect();
        chain.add(collect, &last);
        on_device(chain, 1..4, 2, 5).run().unwrap();
        assert_eq!(result.take(), (0..97).map(|k| 2 * (k + 1) + 1).collect::<Vec<_>>());
    });
}

/// Frames that are made while the first launch works: more than it and another one have of a batch each, and fewer than a ring of eight
/// batches has room for.
const MADE_FIRST: u64 = 8;

/// Takes frames, whole launches at a time: the numbers of each. The first waits until some more were made.
#[derive(Clone)]
struct Last {
    launches: Arc<Mutex<Vec<Vec<u64>>>>,
    made: Arc<AtomicU64>,
    fails_at: Option<u64>,
}

impl Task for Last {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Err(Error::new("it runs on devices alone"))
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, _: &Device) -> Option<Result<OffloadOf<Self>>> {
        Some(Ok(Box::new(self.clone())))
    }
}

impl Offload<In<u64>, ()> for Last {
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In<u64>, ()>) -> Result<()> {
        let mut launches = self.launches.lock().unwrap();
        while launches.is_empty() && self.made.load(Ordering::Relaxed) < MADE_FIRST {
            std::thread::yield_now();
        }
        launches.push(Vec::new());
        let launch = launches.last_mut().unwrap();
        batch.for_each(|frame, ()| {
            if self.fails_at == Some(frame[0]) {
                return Err(Error::new("told to fail"));
            }
            launch.push(frame[0]);
            Ok(())
        })
    }
}

/// What a profile tells of launches of a source of so many frames, and of a task that may run on the device.
fn profiled(frames: u64, elements: usize, gather: u32) -> Profile {
    let mut chain = Chain::new().batch(2);
    let mut left = frames;
    let numbers = source::from_fn(elements, move |frame: &mut [u64]| {
        frame[0] = left;
        left = left.saturating_sub(1);
        Ok(if left > 0 { Flow::Next } else { Flow::Stop })
    });
    let mut numbers = chain.add(numbers, ());
    chain.add(Twice, &mut numbers);
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &numbers);
    let machine = format!("[[device]]\nname = 'gpu'\ngather = {gather}\nlaunch_us = 50");
    let machine = Machine::emulated(&machine, &Machine::here()).unwrap();
    let profiling = Profiling { executions: NonZeroUsize::new(4).unwrap(), ..Profiling::default() };
    chain.build().unwrap().profile_on(&machine, profiling).unwrap()
}

#[test]
fn a_profile_tells_what_launches_of_several_batches_take() {
    let profile = profiled(1 << 40, 10, 8);
    let gpu = profile.kind("gpu").unwrap();
    assert_eq!(profile.gather(gpu), Some(Gather { most: 8, measured: 8 }));
    let gathered = |task: usize| profile.tasks()[task].gathered_ns.as_ref().unwrap();
    assert!(gathered(0).iter().chain(gathered(2)).all(Option::is_none), "they cannot run there");
    assert!(gathered(1)[gpu].unwrap() >= 50_000 && (0..gpu).all(|core| gathered(1)[core].is_none()), "{profile:?}");
    assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
    // One batch a launch tells nothing more, nor does a source that ends, and frames that are large go in smaller launches.
    assert_eq!(profiled(1 << 40, 10, 1).gather(gpu), None);
    assert_eq!(profiled(26, 10, 8).gather(gpu), Some(Gather { most: 8, measured: 1 }));
    assert_eq!(profiled(1 << 40, 1 << 22, 8).gather(gpu), Some(Gather { most: 8, measured: 3 }));
}

#[test]
fn the_last_stage_gathers_too() {
    for (batch, lanes, fails_at) in [(1, 1, None), (2, 1, None), (1, 3, None), (1, 1, Some(30)), (2, 1, Some(31))] {
        watched(move || {
            let made = Arc::<AtomicU64>::default();
            let launches = Arc::<Mutex<Vec<Vec<u64>>>>::default();
            let mut chain = Chain::new().batch(batch);
            let counter = Arc::clone(&made);
            let numbers = source::from_fn(1, move |frame: &mut [u64]| {
                frame[0] = counter.fetch_add(1, Ordering::Relaxed);
                Ok(if frame[0] < 60 { Flow::Next } else { Flow::Stop })
            });
            let numbers = chain.add(numbers, ());
            chain.add(Last { launches: Arc::clone(&launches), made, fails_at }, &numbers);
            let outcome = on_device(chain, 1..2, lanes, 8).observe().run();
            let launches = std::mem::take(&mut *launches.lock().unwrap());
            let mut taken = launches.concat();
            taken.sort_unstable();
            let Some(fails_at) = fails_at else {
                let report = outcome.unwrap();
                assert_eq!((taken, report.frames), ((0..60).collect(), 60));
                assert_eq!(report.latency.map(|latency| latency.frames), Some(60), "each is counted, once");
                assert!(launches.iter().any(|launch| launch.len() > batch), "{launches:?}");
                assert!(launches.iter().all(|launch| launch.len() <= 8 * batch), "{launches:?}");
                return;
            };
            assert_eq!(outcome.unwrap_err().place().frame, Some(fails_at));
            assert_eq!(taken, (0..fails_at).collect::<Vec<_>>());
        });
    }
}
