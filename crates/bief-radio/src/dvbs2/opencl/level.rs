//! Amplitude and noise: moments are summed by a kernel, what follows of the sums is told by the lane's thread.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Pls, SignalLevel};
use bief_opencl::{Arg, Kernel, OpenCl};

use super::lane::{Lane, Place, Room, SYMBOL, for_all, put};
use super::phase::Collect;
use crate::dvbs2::symbols::MeasureLevel;
use crate::dvbs2::tables::{layout, whole};

/// Items of a work-group.
const RUN: usize = SignalLevel::RUN;

/// [`MeasureLevel`] as one lane runs it.
pub(in crate::dvbs2) struct LevelThere {
    lane: Arc<Lane>,
    moments: Kernel,
    collect: Collect,
    scrambler: Arc<PlScrambler>,
    symbols: Room,
    frames: Room,
    sums: Room,
    /// PLS of each frame of the batch, symbols of its PLFRAME, and symbols in all.
    batch: Vec<(Pls, usize, usize)>,
}

type In = <MeasureLevel as Task>::In;
type Out = <MeasureLevel as Task>::Out;

impl LevelThere {
    pub(in crate::dvbs2) fn new(device: &Device, driver: &OpenCl, scrambler: Arc<PlScrambler>) -> Result<Self> {
        let lane = Lane::of(device, driver)?;
        let moments = lane.queue.kernel(driver, SignalLevel::SOURCE, "moments")?;
        let collect = Collect::new(&lane, driver)?;
        let [symbols, frames, sums] = <[Room; 3]>::default();
        Ok(Self { lane, moments, collect, scrambler, symbols, frames, sums, batch: Vec::new() })
    }

    /// Runs of the longest frame, and of all.
    fn runs(&self) -> (usize, usize) {
        let runs = || self.batch.iter().map(|(_, of_frame, _)| of_frame.div_ceil(RUN));
        (runs().max().unwrap_or(0), runs().sum())
    }
}

/// What the kernel reads of the frames.
fn numbers(batch: &[(Pls, usize, usize)], stride: usize) -> Vec<[u32; 4]> {
    let mut first = 0;
    let each = |(frame, &(_, of_frame, _)): (usize, &(Pls, usize, usize))| {
        let (runs, before) = (of_frame.div_ceil(RUN), first);
        first += runs;
        [frame * stride, of_frame, before, runs].map(|number| number as u32)
    };
    batch.iter().enumerate().map(each).collect()
}

impl Offload<In, Out> for LevelThere {
    fn takes_there(&self, input: usize) -> bool {
        input == 0
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        self.batch.clear();
        self.collect.clear();
        for_all(batch, |(symbols, pls), _| {
            self.batch.push((pls[0], whole(pls[0], symbols.len())?, symbols.len()));
            Ok(())
        })?;
        let (most, all) = self.runs();
        if all == 0 {
            return Ok(());
        }
        let Self { lane, moments, collect, symbols, frames, sums, batch: seen, .. } = self;
        let queue = &lane.queue;
        let there = Place::of_input(batch, 0);
        let bytes = seen.iter().map(|(.., all)| all * SYMBOL).max().unwrap_or(0);
        lane.bring(batch, symbols, bytes, |(symbols, _), _, place| put(place, symbols))?;
        lane.with(there, symbols, |symbols| {
            let stride = symbols.stride / SYMBOL;
            for (frame, &(pls, ..)) in seen.iter().enumerate() {
                layout(pls)?;
                collect.add(frame * stride, SignalLevel::reads(pls).unwrap_or_default().into_iter());
            }
            let symbols = symbols.held()?;
            let frames = frames.filled(queue, &numbers(seen, stride))?;
            let sums = sums.of(queue, all * SYMBOL)?;
            let [a, b, c] = [&*symbols, frames, sums].map(Arg::Buffer);
            // SAFETY: the kernel is `moments` of `SignalLevel`, whose arguments these are: frames of so many symbols, and room for the
            // sums of all their runs.
            unsafe { queue.launch(moments, (seen.len() * most, RUN), &[a, b, c, Arg::Number(most as u32)])? };
            sums.fetch(all * SYMBOL)?;
            collect.enqueue(lane, symbols)
        })?;
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let (_, all) = self.runs();
        let Self { lane, collect, scrambler, sums, batch: seen, .. } = self;
        if all == 0 {
            return Ok(());
        }
        lane.queue.wait()?;
        let sums = sums.held()?;
        let mut runs = sums.fetched(all * SYMBOL).as_chunks::<SYMBOL>().0.iter();
        let mut next = seen.iter();
        batch.for_each(|(_, pls), level| {
            let Some(&(_, of_frame, _)) = next.next() else { return Ok(()) };
            let (mut second, mut fourth) = (0.0, 0.0);
            for run in runs.by_ref().take(of_frame.div_ceil(RUN)) {
                let [power, squared] = bytemuck::pod_read_unaligned::<[f32; 2]>(run);
                (second, fourth) = (second + f64::from(power), fourth + f64::from(squared));
            }
            let means = (second / of_frame as f64, fourth / of_frame as f64);
            level[0] = SignalLevel::measure_from(pls[0], means, collect.next(of_frame)?, scrambler);
            Ok(())
        })?;
        sums.release()?;
        collect.release()
    }
}
