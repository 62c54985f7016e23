//! A task that works on whole batches, with two outputs, on two threads: what a device or another language would do.

use bief::raw::{BatchView, RawTask};
use bief::raw::{Direction, DynTask, DynWire, Shape, SocketKind};
use bief::{Chain, Result, sink, source};

/// The lowest and the highest sample of each frame: what a waveform is drawn of.
#[derive(Clone)]
struct Extremes;

impl RawTask for Extremes {
    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<i16>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<i16>(Direction::Out); 2]
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![Shape::from(1); 2])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let samples = batch.inputs.get(0)?;
        let [lowest, highest] = batch.outputs.each_mut()?;
        let (lowest, highest) = (lowest.into_slice::<i16>()?, highest.into_slice::<i16>()?);
        for position in batch.frames.live() {
            let frame = samples.frame::<i16>(position)?;
            lowest[position] = frame.iter().copied().min().unwrap_or(0);
            highest[position] = frame.iter().copied().max().unwrap_or(0);
        }
        Ok(())
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn main() -> Result<()> {
    let samples: Vec<i16> = (0..64_000_i32).map(|k| ((k % 64 - 32) * (k / 640 + 1)) as i16).collect();
    let mut chain = Chain::new().batch(16);
    let samples = chain.add(source::from_slice(&samples, 640), ());
    chain.stage("extremes").threads(2);
    let extremes = chain.add_dyn(DynTask::raw(Extremes), &[&DynWire::from(&samples)])?;
    chain.stage("draw");
    let (lowest, low) = sink::collect();
    chain.add(lowest, &extremes[0].typed::<i16>()?);
    let (highest, high) = sink::collect();
    chain.add(highest, &extremes[1].typed::<i16>()?);
    let report = chain.build()?.pipeline_as_marked()?.run()?;

    let (low, high) = (low.take(), high.take());
    println!("{} frames on {} threads", report.frames, report.stages[1].threads);
    println!("from {} to {} at first, from {} to {} at last", low[0], high[0], low[99], high[99]);
    let expected = |edge: i16| (1..=100).map(|level| edge * level).collect::<Vec<_>>();
    assert_eq!((low, high), (expected(-32), expected(31)), "frames keep their order");
    Ok(())
}
