//! Carrier phase and level: powers and moments are summed and symbols turned back by kernels; the phase is followed in between, and the
//! level told, by the lane's thread.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{CarrierPhase, HEADER, MAX_SYMBOLS, Moments, PhaseReads, PhaseSegment, Pls, SignalLevel};
use bief_opencl::{Arg, Kernel, OpenCl};
use num_complex::Complex32;

use super::lane::{Lane, Place, Room, SYMBOL, for_all, get, put};
use super::level::LevelMoments;
use crate::dvbs2::symbols::CorrectPhase;
use crate::dvbs2::tables::{Tables, layout, whole};

/// Items of a work-group.
const ITEMS: usize = PhaseReads::BLOCK;

/// [`CorrectPhase`] as one lane runs it.
pub(in crate::dvbs2) struct PhaseThere {
    lane: Arc<Lane>,
    powers: Kernel,
    moments: LevelMoments,
    turn: Kernel,
    collect: Collect,
    scrambler: Arc<PlScrambler>,
    phase: CarrierPhase,
    reads: Tables<Pls, PhaseReads>,
    symbols: Room,
    frames: Room,
    sums: Room,
    segments: Room,
    /// PLS and symbols of each frame of the batch, and where its sums begin.
    batch: Vec<(Pls, usize, usize)>,
    summed: usize,
}

type In = <CorrectPhase as Task>::In;
type Out = <CorrectPhase as Task>::Out;

impl PhaseThere {
    pub(in crate::dvbs2) fn new(device: &Device, driver: &OpenCl, scrambler: Arc<PlScrambler>) -> Result<Self> {
        let lane = Lane::of(device, driver)?;
        let kernel = |name| lane.queue.kernel(driver, CarrierPhase::SOURCE, name);
        let (powers, turn, collect) = (kernel("powers")?, kernel("turn")?, Collect::new(&lane, driver)?);
        let moments = LevelMoments::new(&lane, driver)?;
        let [symbols, frames, sums, segments] = <[Room; 4]>::default();
        let (phase, reads) = (CarrierPhase::new(), Tables::default());
        let batch = Vec::new();
        Ok(Self {
            lane,
            powers,
            moments,
            turn,
            collect,
            scrambler,
            phase,
            reads,
            symbols,
            frames,
            sums,
            segments,
            batch,
            summed: 0,
        })
    }
}

impl Offload<In, Out> for PhaseThere {
    fn takes_there(&self, input: usize) -> bool {
        input == 0
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let Self { lane, powers, moments, collect, reads, symbols, frames, sums, batch: seen, summed, .. } = self;
        let queue = &lane.queue;
        seen.clear();
        collect.clear();
        *summed = 0;
        let mut blocks_at_most = 0;
        for_all(batch, |(symbols, pls), _| {
            whole(pls[0], symbols.len())?;
            let reads = reads.get(pls[0], || {
                layout(pls[0])?;
                PhaseReads::of(pls[0]).ok_or_else(|| bief::Error::new(format!("{}: no such PLFRAME", pls[0])))
            })?;
            seen.push((pls[0], symbols.len(), *summed));
            let blocks = reads.powers.map_or(0, |(_, blocks)| blocks);
            *summed += blocks;
            blocks_at_most = blocks_at_most.max(blocks);
            Ok(())
        })?;
        if seen.is_empty() {
            return Ok(());
        }
        let there = Place::of_input(batch, 0);
        let bytes = seen.iter().map(|(_, count, _)| count * SYMBOL).max().unwrap_or(0);
        lane.bring(batch, symbols, bytes, |(symbols, _), _, place| put(place, &symbols))?;
        lane.with(there, symbols, |symbols| {
            let stride = symbols.stride / SYMBOL;
            let mut numbers: Vec<[u32; 8]> = Vec::with_capacity(seen.len());
            for (frame, &(pls, count, first_sum)) in seen.iter().enumerate() {
                let reads = reads.get(pls, || Err(bief::Error::new("a frame came that was not there before")))?;
                let (power, blocks) = reads.powers.unwrap_or((0, 0));
                let numbers_of = [frame * stride, count, first_sum, blocks, power as usize, 0, 0, 0];
                numbers.push(numbers_of.map(|number| number as u32));
                if reads.payload {
                    collect.add(frame * stride, std::iter::once(0..count));
                } else {
                    collect.add(frame * stride, reads.known.iter().filter(|range| range.end <= count).cloned());
                }
            }
            let symbols = symbols.held()?;
            if blocks_at_most > 0 {
                let (frames, sums) = (frames.filled(queue, &numbers)?, sums.of(queue, *summed * SYMBOL)?);
                let [a, b, c] = [&*symbols, frames, sums].map(Arg::Buffer);
                let launched = (seen.len() * blocks_at_most, ITEMS);
                // SAFETY: the kernel is `powers` of `CarrierPhase`, whose arguments these are: symbols of frames that are as long as
                // their blocks need, and room for all sums.
                unsafe { queue.launch(powers, launched, &[a, b, c, Arg::Number(blocks_at_most as u32)])? };
                sums.fetch(*summed * SYMBOL)?;
            }
            let of_frames = seen.iter().map(|&(pls, ..)| layout(pls).map(|layout| layout.symbols()));
            moments.enqueue(lane, symbols, stride, of_frames)?;
            collect.enqueue(lane, symbols)
        })?;
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let Self {
            lane,
            moments,
            turn,
            collect,
            scrambler,
            phase,
            reads,
            symbols,
            frames,
            sums,
            segments,
            batch: seen,
            summed,
            ..
        } = self;
        let queue = &lane.queue;
        if seen.is_empty() {
            return Ok(());
        }
        queue.wait()?;
        let mut powers = vec![Complex32::ZERO; *summed];
        if *summed > 0 {
            get(&mut powers, sums.held()?.fetched(*summed * SYMBOL));
        }
        let (there, returns) = (Place::of_input(batch, 0), batch.input_returns(0));
        let levels = lane.with(there, symbols, |symbols| {
            let stride = symbols.stride / SYMBOL;
            let (mut all, mut numbers) = (Vec::new(), Vec::with_capacity(seen.len()));
            let mut course = Vec::new();
            let mut levels = Vec::with_capacity(seen.len());
            for (frame, &(pls, count, first_sum)) in seen.iter().enumerate() {
                let reads = reads.get(pls, || Err(bief::Error::new("a frame came that was not there before")))?;
                let powers = &powers[first_sum..][..reads.powers.map_or(0, |(_, blocks)| blocks)];
                let known = collect.next(count)?;
                phase.estimate_from(pls, known, powers, scrambler);
                course.clear();
                phase.segments(count, &mut course);
                levels.push(level(pls, moments.of(frame)?, known, &course, scrambler));
                let first = all.len();
                all.extend(
                    course.iter().map(|part| [part.first as u32, part.start.to_bits(), part.slope.to_bits(), 0]),
                );
                let numbers_of = [frame * stride, count, first, course.len(), 0, 0, 0, 0];
                numbers.push(numbers_of.map(|number| number as u32));
            }
            let (frames, segments) =
                (frames.filled::<[u32; 8]>(queue, &numbers)?, segments.filled::<[u32; 4]>(queue, &all)?);
            let symbols = symbols.held()?;
            let groups = stride.div_ceil(ITEMS);
            let [a, b, c] = [&*symbols, frames, segments].map(Arg::Buffer);
            // SAFETY: the kernel is `turn` of `CarrierPhase`, whose arguments these are: as many symbols and segments as each frame says.
            unsafe { queue.launch(turn, (seen.len() * groups, ITEMS), &[a, b, c, Arg::Number(groups as u32)])? };
            if returns { queue.leaving(|| symbols.fetch(seen.len() * stride * SYMBOL)) } else { queue.flush() }?;
            Ok(levels)
        })?;
        moments.release()?;
        collect.release()?;
        if *summed > 0 {
            sums.held()?.release()?;
        }
        let mut levels = levels.into_iter();
        batch.for_each(|_, level| {
            level.iter_mut().zip(&mut levels).for_each(|(level, told)| *level = told);
            Ok(())
        })?;
        if !returns {
            return Ok(());
        }
        lane.take(batch, there, symbols, |(mut symbols, _), _, row| {
            get(&mut symbols, row);
            Ok(())
        })
    }
}

/// The level of a frame, of which what is known beforehand is turned back first.
fn level(
    pls: Pls,
    moments: Moments,
    known: &mut [Complex32],
    course: &[PhaseSegment],
    scrambler: &PlScrambler,
) -> SignalLevel {
    for places in SignalLevel::reads(pls).unwrap_or_default() {
        PhaseSegment::turn_back(course, places, known);
    }
    SignalLevel::measure_from(pls, moments, known, scrambler)
}

/// Known symbols of the frames of a batch, brought to one place and fetched.
struct Collect {
    kernel: Kernel,
    runs: Room,
    known: Room,
    /// Where each run begins on the device, where it goes, how long it is.
    places: Vec<[u32; 4]>,
    /// Of each frame its runs: where they are in it, and how long.
    frames: Vec<Vec<(usize, usize)>>,
    count: usize,
    next: usize,
    taken: usize,
    /// A frame of which the known symbols are those of the last one asked for.
    frame: Vec<Complex32>,
}

/// Symbols that one work-group copies.
const COPIED: usize = 1024;

impl Collect {
    fn new(lane: &Lane, driver: &OpenCl) -> Result<Self> {
        let kernel = lane.queue.kernel(driver, CarrierPhase::SOURCE, "collect")?;
        let frame = vec![Complex32::ZERO; MAX_SYMBOLS + HEADER];
        let [runs, known] = <[Room; 2]>::default();
        Ok(Self { kernel, runs, known, places: Vec::new(), frames: Vec::new(), count: 0, next: 0, taken: 0, frame })
    }

    fn clear(&mut self) {
        self.places.clear();
        self.frames.clear();
        (self.count, self.next, self.taken) = (0, 0, 0);
    }

    /// Adds the next frame, which begins at that symbol, with these places of it.
    fn add(&mut self, first: usize, ranges: impl Iterator<Item = std::ops::Range<usize>>) {
        let mut runs = Vec::new();
        for range in ranges {
            for start in range.clone().step_by(COPIED) {
                let length = COPIED.min(range.end - start);
                self.places.push([first + start, self.count, length, 0].map(|number| number as u32));
                runs.push((start, length));
                self.count += length;
            }
        }
        self.frames.push(runs);
    }

    fn enqueue(&mut self, lane: &Lane, symbols: &bief_opencl::Buffer) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let runs = self.runs.filled(&lane.queue, &self.places)?;
        let known = self.known.of(&lane.queue, self.count * SYMBOL)?;
        let [a, b, c] = [symbols, runs, known].map(Arg::Buffer);
        // SAFETY: the kernel is `collect` of `CarrierPhase`, whose arguments these are: runs of the symbols that there are, and room
        // for as many.
        unsafe { lane.queue.launch(&self.kernel, (self.places.len(), ITEMS), &[a, b, c])? };
        known.fetch(self.count * SYMBOL)
    }

    /// The next frame, of so many symbols: those that were asked for are there.
    fn next(&mut self, symbols: usize) -> Result<&mut [Complex32]> {
        if self.count > 0 {
            let known = self.known.held()?.fetched(self.count * SYMBOL);
            for &(start, length) in &self.frames[self.next] {
                get(&mut self.frame[start..start + length], &known[self.taken * SYMBOL..]);
                self.taken += length;
            }
        }
        self.next += 1;
        Ok(&mut self.frame[..symbols])
    }

    fn release(&mut self) -> Result<()> {
        if self.count == 0 { Ok(()) } else { self.known.held()?.release() }
    }
}
