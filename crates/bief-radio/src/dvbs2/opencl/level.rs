//! Moments of frames, which their level is told by, summed by a kernel.

use std::ops::Range;

use bief::Result;
use bief_dsp::dvbs2::{Moments, SignalLevel};
use bief_opencl::{Arg, Buffer, Kernel, OpenCl};

use super::lane::{Lane, Room, SYMBOL};

/// Moments of the frames of a batch, summed by a kernel in runs.
pub(super) struct LevelMoments {
    kernel: Kernel,
    frames: Room,
    sums: Room,
    /// Of each frame its runs among all.
    runs: Vec<Range<usize>>,
}

impl LevelMoments {
    pub(super) fn new(lane: &Lane, driver: &OpenCl) -> Result<Self> {
        let kernel = lane.queue.kernel(driver, SignalLevel::SOURCE, "moments")?;
        let [frames, sums] = <[Room; 2]>::default();
        Ok(Self { kernel, frames, sums, runs: Vec::new() })
    }

    /// Sums those of frames of so many symbols.
    pub(super) fn enqueue(
        &mut self,
        lane: &Lane,
        symbols: &Buffer,
        stride: usize,
        of_frames: impl Iterator<Item = Result<usize>>,
    ) -> Result<()> {
        self.runs.clear();
        let mut numbers = Vec::new();
        for (frame, of_frame) in of_frames.enumerate() {
            let (of_frame, first) = (of_frame?, self.count());
            let runs = of_frame.div_ceil(SignalLevel::RUN);
            numbers.push([frame * stride, of_frame, first, runs].map(|number| number as u32));
            self.runs.push(first..first + runs);
        }
        let most = self.runs.iter().map(Range::len).max().unwrap_or(0);
        let bytes = self.count() * SYMBOL;
        let frames = self.frames.filled(&lane.queue, &numbers)?;
        let sums = self.sums.of(&lane.queue, bytes)?;
        let [a, b, c] = [symbols, frames, sums].map(Arg::Buffer);
        let launched = (numbers.len() * most, SignalLevel::RUN);
        // SAFETY: the kernel is `moments` of `SignalLevel`, whose arguments these are: frames of so many symbols, and room for the sums
        // of all their runs.
        unsafe { lane.queue.launch(&self.kernel, launched, &[a, b, c, Arg::Number(most as u32)])? };
        sums.fetch(bytes)
    }

    /// Runs of all frames.
    fn count(&self) -> usize {
        self.runs.last().map_or(0, |last| last.end)
    }

    /// Those of a frame of the batch.
    pub(super) fn of(&mut self, frame: usize) -> Result<Moments> {
        let bytes = self.count() * SYMBOL;
        let sums = self.sums.held()?.fetched(bytes).as_chunks::<SYMBOL>().0;
        let mut moments = Moments::default();
        for run in &sums[self.runs[frame].clone()] {
            let [second, fourth] = bytemuck::pod_read_unaligned::<[f32; 2]>(run).map(f64::from);
            moments.second += second;
            moments.fourth += fourth;
        }
        Ok(moments)
    }

    pub(super) fn release(&mut self) -> Result<()> {
        self.sums.held()?.release()
    }
}
