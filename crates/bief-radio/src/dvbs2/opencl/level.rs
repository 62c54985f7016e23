//! Moments of frames, which their level is told by, summed by a kernel.

use bief::Result;
use bief_dsp::dvbs2::{Moments, SignalLevel};
use bief_opencl::{Arg, Buffer, Kernel, OpenCl};

use super::lane::{Lane, Room, SYMBOL};

/// Moments of the frames of a batch, summed by a kernel in runs.
pub(super) struct LevelMoments {
    kernel: Kernel,
    frames: Room,
    sums: Room,
    /// Of each frame its runs.
    runs: Vec<usize>,
    next: usize,
    taken: usize,
}

impl LevelMoments {
    pub(super) fn new(lane: &Lane, driver: &OpenCl) -> Result<Self> {
        let kernel = lane.queue.kernel(driver, SignalLevel::SOURCE, "moments")?;
        let [frames, sums] = <[Room; 2]>::default();
        Ok(Self { kernel, frames, sums, runs: Vec::new(), next: 0, taken: 0 })
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
        (self.next, self.taken) = (0, 0);
        let (mut numbers, mut first) = (Vec::new(), 0);
        for (frame, of_frame) in of_frames.enumerate() {
            let of_frame = of_frame?;
            let runs = of_frame.div_ceil(SignalLevel::RUN);
            numbers.push([frame * stride, of_frame, first, runs].map(|number| number as u32));
            self.runs.push(runs);
            first += runs;
        }
        let most = self.runs.iter().copied().max().unwrap_or(0);
        let frames = self.frames.filled(&lane.queue, &numbers)?;
        let sums = self.sums.of(&lane.queue, first * SYMBOL)?;
        let [a, b, c] = [symbols, frames, sums].map(Arg::Buffer);
        let launched = (numbers.len() * most, SignalLevel::RUN);
        // SAFETY: the kernel is `moments` of `SignalLevel`, whose arguments these are: frames of so many symbols, and room for the sums
        // of all their runs.
        unsafe { lane.queue.launch(&self.kernel, launched, &[a, b, c, Arg::Number(most as u32)])? };
        sums.fetch(first * SYMBOL)
    }

    /// Those of the next frame.
    pub(super) fn next(&mut self) -> Result<Moments> {
        let sums = self.sums.held()?.fetched(self.runs.iter().sum::<usize>() * SYMBOL).as_chunks::<SYMBOL>().0;
        let mut moments = Moments::default();
        for run in &sums[self.taken..][..self.runs[self.next]] {
            let [second, fourth] = bytemuck::pod_read_unaligned::<[f32; 2]>(run).map(f64::from);
            moments.second += second;
            moments.fourth += fourth;
        }
        self.taken += self.runs[self.next];
        self.next += 1;
        Ok(moments)
    }

    pub(super) fn release(&mut self) -> Result<()> {
        self.sums.held()?.release()
    }
}
