//! A device that Bief does not know: here a thread that squares numbers, as the driver of an accelerator would have it do.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bief::device::{Device, DeviceBatch, Offload, OffloadOf};
use bief::machine::DeviceSpec;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Error, Flow, InOut, Machine, Result, Task, sink, source};

/// What drives the device: each lane opens a queue.
struct Accelerator;

impl Accelerator {
    fn queue(&self) -> (Sender<Vec<f32>>, Receiver<Vec<f32>>) {
        let ((input, to_do), (done, output)) = (channel::<Vec<f32>>(), channel());
        thread::spawn(move || to_do.iter().try_for_each(|data| done.send(data.iter().map(|x| x * x).collect())));
        (input, output)
    }
}

#[derive(Clone)]
struct Square;

impl Task for Square {
    type In = InOut<f32>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [f32], (): ()) -> Result<Flow> {
        frame.iter_mut().for_each(|x| *x *= *x);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        let (input, output) = device.driver::<Accelerator>()?.queue();
        Some(Ok(Box::new(Lane { input, output })))
    }
}

struct Lane {
    input: Sender<Vec<f32>>,
    output: Receiver<Vec<f32>>,
}

impl Offload<InOut<f32>, ()> for Lane {
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, InOut<f32>, ()>) -> Result<()> {
        batch.for_each(|frame, ()| self.input.send(frame.to_vec()).map_err(Error::from_source))
    }
    fn complete(&mut self, batch: &mut DeviceBatch<'_, InOut<f32>, ()>) -> Result<()> {
        batch.for_each(|frame, ()| {
            self.output.recv().map(|data| frame.copy_from_slice(&data)).map_err(Error::from_source)
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = DeviceSpec::of_backend("outside", "accelerator");
    Device::provide(&spec, Accelerator);
    let machine = Machine::here().with_device(spec)?;

    let mut chain = Chain::new().batch(8);
    let mut wire = chain.add(source::from_slice(&[1.0, 2.0, 3.0, 4.0], 1), ());
    chain.add(Square, &mut wire);
    let (collect, squares) = sink::collect();
    chain.add(collect, &wire);
    // What a Planner finds where that pays.
    let tasks = ["source", "Square", "sink"].map(|name| TaskProfile::replicable(name, [10, 1]));
    let profile = Profile::new(["cpu", "accelerator"], tasks)?.with_lanes([None, Some(3)])?;
    let stages = [Stage::new(1, 1, "cpu"), Stage::new(1, 1, "accelerator"), Stage::new(1, 1, "cpu")];
    let report = chain.build()?.pipeline_on(&Schedule::new("hand", stages, &profile)?, &machine)?.run()?;
    assert_eq!(squares.take(), [1.0, 4.0, 9.0, 16.0]);
    println!("{} frames on {} in {} lanes", report.frames, report.stages[1].name, report.stages[1].threads);
    Ok(())
}
