//! The demapper.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Error, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{DemapKernel, DemapTables, Pls, SignalLevel};
use bief_opencl::{Arg, Kernel, OpenCl, Queue};

use super::lane::{Frames, Lane, Place, Room, SYMBOL, for_all, get, put};
use crate::dvbs2::demap::{Demap, least_n0};
use crate::dvbs2::tables::{Tables, whole};

/// Items of a work-group.
const ITEMS: usize = 64;

/// [`Demap`] as one lane runs it: frames of a kind in one launch.
pub(in crate::dvbs2) struct DemapThere {
    lane: Arc<Lane>,
    payload: Kernel,
    vl_snr: Kernel,
    rotations: Room,
    kinds: Tables<Pls, Kind>,
    symbols: Room,
    llrs: Room,
    /// Symbols and LLRs of the longest frame of the batch.
    most: [usize; 2],
}

/// What a device has for a kind of frame.
struct Kind {
    tables: DemapTables,
    least_n0: f32,
    rooms: [Room; 3],
    frames: Room,
    /// Of each frame of the batch: its number in it, and its factors.
    batch: Vec<(usize, [f32; 2])>,
}

type In = <Demap as Task>::In;
type Out = <Demap as Task>::Out;

impl DemapThere {
    pub(in crate::dvbs2) fn new(device: &Device, driver: &OpenCl, scrambler: &PlScrambler) -> Result<Self> {
        let lane = Lane::of(device, driver)?;
        let kernel = |name| lane.queue.kernel(driver, DemapTables::SOURCE, name);
        let (payload, vl_snr) = (kernel("demap")?, kernel("demap_vl_snr")?);
        let mut rotations = Room::of_device();
        rotations.filled(&lane.queue, scrambler.rotations())?;
        let [symbols, llrs] = <[Room; 2]>::default();
        Ok(Self { lane, payload, vl_snr, rotations, kinds: Tables::default(), symbols, llrs, most: [0; 2] })
    }
}

impl Kind {
    fn new(queue: &Queue, pls: Pls) -> Result<Self> {
        let tables = DemapTables::new(pls).ok_or_else(|| Error::new(format!("{pls}: carries no data")))?;
        let mut rooms = [Room::of_device(), Room::of_device(), Room::of_device()];
        let [first, second, third] = &mut rooms;
        match &tables.kernel {
            DemapKernel::Payload { kind, points, cells } => {
                first.filled(queue, kind)?;
                second.filled(queue, points)?;
                third.filled(queue, cells)?;
            }
            DemapKernel::VlSnr { sources, places, .. } => {
                first.filled(queue, sources)?;
                second.filled(queue, places)?;
            }
        }
        Ok(Self { tables, least_n0: least_n0(pls)?, rooms, frames: Room::default(), batch: Vec::new() })
    }

    /// Has the device demap the frames of this kind.
    fn enqueue(
        &mut self,
        queue: &Queue,
        [payload, vl_snr]: [&Kernel; 2],
        [symbols, rotations, llrs]: [&mut Room; 3],
    ) -> Result<()> {
        let (stride, bits) = (symbols.stride / SYMBOL, llrs.stride);
        let number = |&(frame, [scale, gain]): &(usize, [f32; 2])| {
            let [first, llrs] = [frame * stride, frame * bits].map(|number| number as u32);
            [first, llrs, scale.to_bits(), gain.to_bits()]
        };
        let numbers: Vec<[u32; 4]> = self.batch.iter().map(number).collect();
        let frames = Arg::Buffer(self.frames.filled(queue, &numbers)?);
        let groups = self.tables.items.div_ceil(ITEMS);
        let launched = (numbers.len() * groups, ITEMS);
        let [symbols, rotations, llrs] =
            [symbols.held()?, rotations.held()?, llrs.held()?].map(|room| Arg::Buffer(room));
        let [first, second, third] = &mut self.rooms;
        let (first, second) = (Arg::Buffer(first.held()?), Arg::Buffer(second.held()?));
        let of_frame = Arg::Number(groups as u32);
        match &self.tables.kernel {
            DemapKernel::Payload { .. } => {
                let cells = Arg::Buffer(third.held()?);
                // SAFETY: the kernel is `demap` of `DemapTables`, whose arguments these are: frames as long as their layout says, and
                // room for the LLRs of each.
                unsafe {
                    queue.launch(payload, launched, &[symbols, frames, first, second, cells, rotations, llrs, of_frame])
                }
            }
            DemapKernel::VlSnr { times, .. } => {
                let [items, times] = [self.tables.items as u32, *times].map(Arg::Number);
                // SAFETY: the same, of `demap_vl_snr`.
                unsafe {
                    queue.launch(
                        vl_snr,
                        launched,
                        &[symbols, frames, first, second, rotations, llrs, items, times, of_frame],
                    )
                }
            }
        }
    }
}

impl Offload<In, Out> for DemapThere {
    fn takes_there(&self, input: usize) -> bool {
        input == 0
    }

    fn leaves_there(&self, _: usize) -> bool {
        true
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let Self { lane, payload, vl_snr, rotations, kinds, symbols, llrs, most } = self;
        let queue = &lane.queue;
        kinds.iter_mut().for_each(|(_, kind)| kind.batch.clear());
        *most = [0; 2];
        let mut frame = 0;
        for_all(batch, |(symbols, level, pls), _| {
            whole(pls[0], symbols.len())?;
            let kind = kinds.get(pls[0], || Kind::new(queue, pls[0]))?;
            let level = SignalLevel { n0: level[0].n0.max(kind.least_n0), ..level[0] };
            kind.batch.push((frame, kind.tables.factors(level)));
            *most = [most[0].max(symbols.len()), most[1].max(pls[0].frame_size().bits())];
            frame += 1;
            Ok(())
        })?;
        if frame == 0 {
            return Ok(());
        }
        let frames = Frames::of(batch);
        let (from, to) = (Place::of_input(batch, 0), Place::of_output(batch, 0));
        let returns = batch.output_returns(0);
        lane.bring(batch, symbols, most[0] * SYMBOL, |(symbols, ..), _, place| put(place, symbols))?;
        let kernels = [&*payload, vl_snr];
        lane.with_both([from, to], [symbols, llrs], |symbols, llrs| {
            llrs.of_frames(queue, frames, most[1])?;
            let mut kinds = kinds.iter_mut().filter(|(_, kind)| !kind.batch.is_empty());
            kinds.try_for_each(|(_, kind)| kind.enqueue(queue, kernels, [symbols, rotations, llrs]))?;
            if returns { queue.leaving(|| llrs.held()?.fetch(frame * most[1])) } else { Ok(()) }
        })?;
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        if !batch.output_returns(0) || batch.frames() == 0 {
            return batch.for_each(|(.., pls), mut llrs| llrs.set_len(pls[0].frame_size().bits()));
        }
        self.lane.take(batch, Place::of_output(batch, 0), &mut self.llrs, |(.., pls), mut llrs, row| {
            llrs.set_len(pls[0].frame_size().bits())?;
            get(&mut llrs, row);
            Ok(())
        })
    }
}
