//! Frames that stay on a device between tasks of one lane.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bief::device::{Device, DeviceBatch, Offload, OffloadOf};
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, In, InOut, Machine, Out, Result, Task, sink, source};

/// What a lane's device holds, by wires; and how many frames were copied from it.
#[derive(Default)]
struct Memory {
    there: Mutex<HashMap<usize, Vec<u64>>>,
}

/// Adds one to what it makes of its input, or to what it rewrites.
#[derive(Clone)]
struct Add {
    copies: Arc<AtomicU64>,
    stays: bool,
}

#[derive(Clone)]
struct AddInPlace(Add);

impl Task for Add {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, from: &[u64], to: &mut [u64]) -> Result<Flow> {
        to[0] = from[0] + 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        Some(
            device
                .in_common(|| Ok(Memory::default()))
                .map(|memory| -> OffloadOf<Self> { Box::new(There(memory, self.clone())) }),
        )
    }
}

impl Task for AddInPlace {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] += 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        let there = |memory| -> OffloadOf<Self> { Box::new(There(memory, self.0.clone())) };
        Some(device.in_common(|| Ok(Memory::default())).map(there))
    }
}

struct There(Arc<Memory>, Add);

impl Offload<In<u64>, Out<u64>> for There {
    fn takes_there(&self, _: usize) -> bool {
        self.1.stays
    }
    fn leaves_there(&self, _: usize) -> bool {
        self.1.stays
    }
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In<u64>, Out<u64>>) -> Result<()> {
        let mut there = self.0.there.lock().unwrap();
        let mut frames = Vec::new();
        if batch.input_comes(0) {
            batch.for_each(|from, _| {
                self.1.copies.fetch_add(1, Ordering::Relaxed);
                frames.push(from[0]);
                Ok(())
            })?;
            batch.input_there(0).map(|wire| there.insert(wire, frames.clone()));
        } else {
            frames.clone_from(&there[&batch.input_there(0).unwrap()]);
        }
        frames.iter_mut().for_each(|frame| *frame += 1);
        batch.output_there(0).map(|wire| there.insert(wire, frames.clone()));
        if batch.output_returns(0) {
            let mut frames = frames.into_iter();
            batch.for_each(|_, to| {
                self.1.copies.fetch_add(1, Ordering::Relaxed);
                to[0] = frames.next().unwrap();
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Offload<InOut<u64>, ()> for There {
    fn takes_there(&self, _: usize) -> bool {
        self.1.stays
    }
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, InOut<u64>, ()>) -> Result<()> {
        let mut there = self.0.there.lock().unwrap();
        let mut alone = Vec::new();
        let frames = batch.input_there(0).map_or(&mut alone, |wire| there.entry(wire).or_default());
        if batch.input_comes(0) {
            frames.clear();
            batch.for_each(|frame, ()| {
                self.1.copies.fetch_add(1, Ordering::Relaxed);
                frames.push(frame[0]);
                Ok(())
            })?;
        }
        frames.iter_mut().for_each(|frame| *frame += 1);
        if batch.input_returns(0) {
            let mut frames = frames.iter();
            batch.for_each(|frame, ()| {
                self.1.copies.fetch_add(1, Ordering::Relaxed);
                frame[0] = *frames.next().unwrap();
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Which of the three tasks keep frames there, whether the wire in the middle is used after them, tasks before the stage on the device,
/// and copies of a frame.
#[test]
fn frames_are_copied_where_a_task_or_a_stage_needs_them_alone() {
    for (stays, later, before, expected) in [
        ([true; 3], false, 1, 2),
        ([false; 3], false, 1, 6),
        ([true, true, false], false, 1, 6),
        ([false, true, true], false, 1, 6),
        ([true; 3], true, 1, 3),
        ([true; 3], false, 2, 2),
        ([true; 3], true, 2, 3),
        ([false; 3], false, 2, 4),
    ] {
        for lanes in [1, 3] {
            let copies = Arc::<AtomicU64>::default();
            let add = |index: usize| Add { copies: Arc::clone(&copies), stays: stays[index] };
            let mut chain = Chain::new().batch(4);
            let numbers: Vec<u64> = (0..50).collect();
            let numbers = chain.add(source::from_slice(&numbers, 1), ());
            let mut middle = chain.add(add(0), &numbers);
            chain.add(AddInPlace(add(1)), &mut middle);
            let last = chain.add(add(2), &middle);
            let (collect, result) = sink::collect();
            chain.add(collect, &last);
            let seen = later.then(|| {
                let (collect, seen) = sink::collect();
                chain.add(collect, &middle);
                seen
            });
            let program = chain.build().unwrap();
            let machine = format!("[[device]]\nname = 'gpu'\nlanes = {lanes}");
            let machine = Machine::emulated(&machine, &Machine::here()).unwrap();
            let tasks: Vec<TaskProfile> = program
                .tasks()
                .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, [1, 1]) })
                .collect();
            let ends = [before, tasks.len() - 4].map(|tasks| Stage::new(tasks, 1, "cpu"));
            let stages = [ends[0].clone(), Stage::new(4 - before, 1, "gpu"), ends[1].clone()];
            let schedule = Schedule::new("hand", stages, &Profile::new(["cpu", "gpu"], tasks).unwrap()).unwrap();
            program.pipeline_on(&schedule, &machine).unwrap().run().unwrap();
            assert_eq!(result.take(), (3..53).collect::<Vec<_>>());
            if let Some(seen) = seen {
                assert_eq!(seen.take(), (2..52).collect::<Vec<_>>());
            }
            assert_eq!(copies.load(Ordering::Relaxed), expected * 50, "{stays:?}, {later}, {before}");
        }
    }
}
