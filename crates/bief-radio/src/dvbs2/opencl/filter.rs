//! The matched filter.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Result, Task};
use bief_dsp::Complex32;
use bief_dsp::dvbs2::{FrameSync, HEADER};
use bief_dsp::filter::{FilterTables, IntegerFilter};
use bief_opencl::{Arg, Kernel, OpenCl};

use super::lane::{Lane, Room, SYMBOL, for_all, get, take};
use crate::dvbs2::symbols::{FilterSymbols, placed};
use crate::dvbs2::tables::layout;
use crate::iq::SampleFormat;

/// Items of a work-group.
const ITEMS: usize = 64;
const SAMPLE: usize = size_of::<[i16; 2]>();
/// Samples whose carrier is removed while they are in the fastest cache.
const PART: usize = 1024;

/// [`FilterSymbols`] as one lane runs it: all frames of a batch in one launch. The carrier is removed by the lane's thread, as samples
/// are copied to where the device has them.
pub(in crate::dvbs2) struct FilterThere {
    lane: Arc<Lane>,
    kernel: Kernel,
    tables: FilterTables,
    format: SampleFormat,
    taps: Room,
    samples: Room,
    places: Room,
    frames: Room,
    symbols: Room,
    /// Samples and place of each frame of the batch.
    batch: Vec<(usize, FrameSync)>,
    counts: Vec<usize>,
}

type In = <FilterSymbols as Task>::In;
type Out = <FilterSymbols as Task>::Out;

impl FilterThere {
    pub(in crate::dvbs2) fn new(
        device: &Device,
        driver: &OpenCl,
        (filter, format): (&IntegerFilter, SampleFormat),
    ) -> Result<Self> {
        let lane = Lane::of(device, driver)?;
        let kernel = lane.queue.kernel(driver, FilterTables::SOURCE, "filter")?;
        let tables = FilterTables::new(filter);
        let mut taps = Room::of_device();
        taps.filled(&lane.queue, &tables.taps)?;
        let [samples, places, frames, symbols] = <[Room; 4]>::default();
        Ok(Self {
            lane,
            kernel,
            tables,
            format,
            taps,
            samples,
            places,
            frames,
            symbols,
            batch: Vec::new(),
            counts: Vec::new(),
        })
    }
}

/// Samples of a window as integers without carrier, as bytes.
fn turn(format: SampleFormat, window: &[u8], sync: &FrameSync, place: &mut [u8]) {
    let mut carrier = sync.carrier_times(sync.integer_gain());
    let (mut samples, mut integers) = ([Complex32::ZERO; PART], [[0; 2]; PART]);
    for (place, bytes) in place.chunks_mut(PART * SAMPLE).zip(window.chunks(PART * format.bytes())) {
        let count = place.len() / SAMPLE;
        let (samples, integers) = (&mut samples[..count], &mut integers[..count]);
        format.read(&bytes[..count * format.bytes()], samples);
        carrier.remove_to_integers(samples, integers);
        place.copy_from_slice(bytemuck::cast_slice(integers));
    }
}

impl Offload<In, Out> for FilterThere {
    fn leaves_there(&self, _: usize) -> bool {
        true
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let Self { lane, kernel, tables, format, taps, samples, places, frames, symbols, batch: seen, counts } = self;
        let queue = &lane.queue;
        seen.clear();
        counts.clear();
        for_all(batch, |(window, sync), _| {
            let sync = placed(sync)?;
            let count = layout(sync.pls)?.symbols() + HEADER;
            seen.push((window.len() / format.bytes(), sync));
            counts.push(count);
            Ok(())
        })?;
        let Some(most) = counts.iter().copied().max() else { return Ok(()) };
        let all: usize = seen.iter().map(|(samples, _)| samples).sum();
        let taken = samples.of(queue, all * SAMPLE)?;
        let mut copied = Ok(());
        let copy = |mut there: &mut [u8]| {
            copied = batch.for_each(|(window, sync), _| {
                let samples = window.len() / format.bytes();
                let (place, rest) = std::mem::take(&mut there).split_at_mut(samples * SAMPLE);
                there = rest;
                turn(*format, window, &placed(sync)?, place);
                Ok(())
            });
        };
        queue.entering(|| taken.fill(all * SAMPLE, copy))?;
        copied?;
        let (mut first_sample, mut all_places) = (0, Vec::new());
        let numbers = seen.iter().zip(&*counts).enumerate().map(|(frame, ((samples, sync), &count))| {
            let first_place = all_places.len();
            let run = tables.places(sync.position, sync.step, count, &mut all_places);
            let gain = tables.gain(sync.integer_gain().recip()).to_bits();
            let numbers = [first_sample, *samples, first_place, run.outputs, run.rate, frame * most, count];
            first_sample += samples;
            let [a, b, c, d, e, f, g] = numbers.map(|number| number as u32);
            [a, b, c, d, e, f, g, gain]
        });
        let numbers: Vec<[u32; 8]> = numbers.collect();
        let (frames, places) = (frames.filled(queue, &numbers)?, places.filled(queue, &all_places)?);
        let (taps, samples) = (taps.held()?, samples.held()?);
        lane.with(batch.output_there(0), symbols, |symbols| {
            let symbols = symbols.of_frames(queue, counts.len(), most * SYMBOL)?;
            let groups = most.div_ceil(ITEMS);
            let [length, centre, of_frame] = [tables.length, tables.centre, groups].map(|n| Arg::Number(n as u32));
            let [a, b, c, d, e] = [&*samples, places, frames, taps, symbols].map(Arg::Buffer);
            // SAFETY: the kernel is `filter` of `FilterTables`, whose arguments these are: windows, places, taps, and room for as many
            // symbols as each frame says.
            unsafe { queue.launch(kernel, (counts.len() * groups, ITEMS), &[a, b, c, d, e, length, centre, of_frame]) }
        })?;
        if batch.output_there(0).is_none() {
            queue.leaving(|| symbols.held()?.fetch(counts.len() * most * SYMBOL))?;
        }
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let mut counts = self.counts.iter();
        let mut next = || counts.next().copied().unwrap_or(0);
        if batch.output_there(0).is_some() || self.counts.is_empty() {
            return batch.for_each(|_, mut made| made.set_len(next()));
        }
        take(batch, (&self.lane.queue, &mut self.symbols), |_, mut made, row| {
            made.set_len(next())?;
            get(&mut made, row);
            Ok(())
        })
    }
}
