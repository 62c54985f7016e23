//! The matched filter.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Result, Task};
use bief_dsp::dvbs2::HEADER;
use bief_dsp::filter::{FilterFrames, FilterTables};
use bief_opencl::{Arg, Kernel, OpenCl};

use super::lane::{Frames, Lane, Place, Room, SYMBOL, for_all, get};
use crate::dvbs2::symbols::{FilterSymbols, Windows, placed};
use crate::dvbs2::tables::layout;
use crate::iq::SampleFormat;

/// Items of a work-group.
const ITEMS: usize = 64;

/// [`FilterSymbols`] as one lane runs it: all frames of a batch in one launch, their windows as they were recorded.
pub(in crate::dvbs2) struct FilterThere<W> {
    lane: Arc<Lane>,
    /// Where windows are found.
    found: W,
    kernel: Kernel,
    tables: FilterTables,
    format: SampleFormat,
    taps: Room,
    windows: Room,
    frames: Room,
    places: Room,
    anchors: Room,
    phasors: Room,
    symbols: Room,
    /// Of the frames of the batch, what the kernel reads, and how many symbols each has.
    batch: FilterFrames,
    counts: Vec<usize>,
}

type In<W> = <FilterSymbols<W> as Task>::In;
type Out<W> = <FilterSymbols<W> as Task>::Out;

impl<W: Windows> FilterThere<W> {
    pub(in crate::dvbs2) fn new(device: &Device, driver: &OpenCl, task: &FilterSymbols<W>) -> Result<Self> {
        let FilterSymbols { format, filter, windows: found } = task.clone();
        let lane = Lane::of(device, driver)?;
        let kernel = lane.queue.kernel(driver, FilterTables::SOURCE, "filter")?;
        let tables = FilterTables::new(&filter);
        let mut taps = Room::of_device();
        taps.filled(&lane.queue, &tables.taps)?;
        let [windows, frames, places, anchors, phasors, symbols] = <[Room; 6]>::default();
        Ok(Self {
            lane,
            found,
            kernel,
            tables,
            format,
            taps,
            windows,
            frames,
            places,
            anchors,
            phasors,
            symbols,
            batch: FilterFrames::default(),
            counts: Vec::new(),
        })
    }
}

impl<W: Windows> Offload<In<W>, Out<W>> for FilterThere<W> {
    fn leaves_there(&self, _: usize) -> bool {
        true
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In<W>, Out<W>>) -> Result<()> {
        let Self {
            lane, found, kernel, tables, format, taps, windows, frames, places, anchors, phasors, symbols, ..
        } = self;
        let (given, counts) = (&mut self.batch, &mut self.counts);
        let queue = &lane.queue;
        counts.clear();
        for_all(batch, |(_, sync), _| {
            counts.push(layout(placed(sync)?.pls)?.symbols() + HEADER);
            Ok(())
        })?;
        let Some(most) = counts.iter().copied().max() else { return Ok(()) };
        given.clear();
        let mut all = counts.iter().enumerate();
        for_all(batch, |(told, sync), _| {
            if let Some((frame, &count)) = all.next() {
                placed(sync)?.cut_there(tables, format.recorded(found.window(told)), (frame * most, count), given);
            }
            Ok(())
        })?;
        let bytes = given.bytes();
        let of_batch = Frames::of(batch);
        let taken = windows.of_frames(queue, of_batch, bytes.div_ceil(counts.len()))?;
        let mut copied = Ok(());
        let copy = |mut there: &mut [u8]| {
            copied = batch.for_each(|(told, _), _| {
                let window = found.window(told);
                let (place, rest) = std::mem::take(&mut there).split_at_mut(window.len());
                place.copy_from_slice(window);
                there = rest;
                Ok(())
            });
        };
        queue.entering(|| taken.fill(bytes, copy))?;
        copied?;
        let (frames, places) = (frames.filled(queue, &given.frames)?, places.filled(queue, &given.places)?);
        let (anchors, phasors) = (anchors.filled(queue, &given.anchors)?, phasors.filled(queue, &given.phasors)?);
        let (taps, windows) = (taps.held()?, windows.held()?);
        lane.with(Place::of_output(batch, 0), symbols, |symbols| {
            let symbols = symbols.of_frames(queue, of_batch, most * SYMBOL)?;
            let groups = most.div_ceil(ITEMS);
            let [length, centre, of_frame] = [tables.length, tables.centre, groups].map(|n| Arg::Number(n as u32));
            let [a, b, c, d, e, f, g] = [&*windows, frames, places, anchors, phasors, taps, symbols].map(Arg::Buffer);
            let arguments = [a, b, c, d, e, f, g, length, centre, of_frame];
            // SAFETY: the kernel is `filter` of `FilterTables`, whose arguments these are: windows, what `FilterFrames` has of them, taps,
            // and room for as many symbols as each frame says.
            unsafe { queue.launch(kernel, (counts.len() * groups, ITEMS), &arguments)? };
            let bytes = counts.len() * most * SYMBOL;
            if batch.output_returns(0) { queue.leaving(|| symbols.fetch(bytes)) } else { Ok(()) }
        })?;
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In<W>, Out<W>>) -> Result<()> {
        let mut counts = self.counts.iter();
        let mut next = || counts.next().copied().unwrap_or(0);
        if !batch.output_returns(0) || self.counts.is_empty() {
            return batch.for_each(|_, mut made| made.set_len(next()));
        }
        self.lane.take(batch, Place::of_output(batch, 0), &mut self.symbols, |_, mut made, row| {
            made.set_len(next())?;
            get(&mut made, row);
            Ok(())
        })
    }
}
