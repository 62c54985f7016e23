//! The LDPC decoder.

use std::sync::Arc;

use bief::device::{Copied, Device, DeviceBatch, Offload};
use bief::{Error, Result, Task};
use bief_dsp::dvbs2::ldpc::{GROUP, KernelTables};
use bief_opencl::{Arg, Buffer, Kernel, OpenCl, Queue};

use super::lane::{Frames, Lane, Place, Room, for_all, put};
use crate::dvbs2::decode::{DecodeLdpc, Decoding};
use crate::dvbs2::tables::{Coding, Tables, code, expect_of};

/// [`DecodeLdpc`] as one lane of a device runs it: all frames of a batch that have the same code in one launch, a work-group each.
pub(in crate::dvbs2) struct DecodeThere {
    max_iterations: u32,
    lane: Arc<Lane>,
    kernel: Kernel,
    codes: Tables<Coding, Code>,
    /// LLRs of all frames of a batch, where they are not on the device already.
    llrs: Room,
    /// What the kernel works in, for the frames of one code after the other.
    scratch: Room,
}

/// What a device has for one code.
struct Code {
    coding: Coding,
    tables: KernelTables,
    layers: Room,
    blocks: Room,
    /// Of each frame of this batch, where its LLRs begin.
    starts: Vec<u32>,
    places: Room,
    bits: Room,
    /// Of each frame its iterations, and whether it converged.
    told: Room,
    /// Frames that were handed on.
    taken: usize,
}

/// Bytes of what is told of a frame.
const TOLD: usize = 2 * size_of::<i32>();

impl DecodeThere {
    pub(in crate::dvbs2) fn new(device: &Device, driver: &OpenCl, max_iterations: u32) -> Result<Self> {
        let lane = Lane::of(device, driver)?;
        let kernel = lane.queue.kernel(driver, KernelTables::SOURCE, "decode")?;
        Ok(Self {
            max_iterations,
            lane,
            kernel,
            codes: Tables::default(),
            llrs: Room::default(),
            scratch: Room::of_device(),
        })
    }
}

impl Code {
    fn new(queue: &Queue, coding: Coding) -> Result<Self> {
        let tables = KernelTables::new(coding.ldpc());
        let [mut layers, mut blocks] = [Room::of_device(), Room::of_device()];
        layers.filled(queue, &tables.layers)?;
        blocks.filled(queue, &tables.blocks)?;
        let [places, bits, told] = <[Room; 3]>::default();
        Ok(Self { coding, tables, layers, blocks, starts: Vec::new(), places, bits, told, taken: 0 })
    }

    /// Has the device decode the frames of this code, with room for so many.
    fn enqueue(
        &mut self,
        queue: &Queue,
        (kernel, max_iterations): (&Kernel, u32),
        (llrs, scratch): (&Buffer, &mut Room),
        frames: Frames,
    ) -> Result<()> {
        let (code, count, tables) = (self.coding.ldpc(), self.starts.len(), &self.tables);
        let (bytes, places) = (code.kldpc / 8, self.places.filled(queue, &self.starts)?);
        let (bits, told) = (self.bits.of_frames(queue, frames, bytes)?, self.told.of_frames(queue, frames, TOLD)?);
        let (scratch, layers) = (scratch.of_frames(queue, frames, tables.room)?, self.layers.held()?);
        let numbers = [code.kldpc, code.nldpc, code.q, tables.missing as usize, tables.room, max_iterations as usize]
            .map(|number| Arg::Number(number as u32));
        let buffers = [llrs, places, bits, told, scratch, layers, self.blocks.held()?].map(Arg::Buffer);
        let [a, b, c, d, e, f, g] = buffers;
        let [h, i, j, k, l, m] = numbers;
        // SAFETY: the kernel is `decode` of `KernelTables`, whose arguments these are: tables of this code, and room for `count` frames.
        unsafe { queue.launch(kernel, (count, GROUP), &[a, b, c, d, e, f, g, h, i, j, k, l, m])? };
        told.fetch(count * TOLD)?;
        queue.leaving(|| bits.fetch(count * bytes))
    }

    /// What became of the next frame of this code: how it went, and the bits that were sent.
    fn next(&mut self) -> Result<(Decoding, &[u8])> {
        let (count, bytes) = (self.starts.len(), self.coding.ldpc().kldpc / 8);
        let number = self.taken;
        self.taken += 1;
        let told = &self.told.held()?.fetched(count * TOLD)[number * TOLD..][..TOLD];
        let [iterations, converged] = bytemuck::pod_read_unaligned::<[i32; 2]>(told);
        let bits = &self.bits.held()?.fetched(count * bytes)[number * bytes..][..bytes];
        let decoding = Decoding { iterations: iterations as u32, converged: converged != 0, ..Decoding::default() };
        Ok((decoding, &bits[self.coding.zeros()..]))
    }

    fn release(&mut self) -> Result<()> {
        self.told.held()?.release()?;
        self.bits.held()?.release()
    }
}

type In = <DecodeLdpc as Task>::In;
type Out = <DecodeLdpc as Task>::Out;

impl Offload<In, Out> for DecodeThere {
    fn takes_there(&self, input: usize) -> bool {
        input == 0
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        Some(self.lane.queue.copied())
    }

    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let Self { max_iterations, lane, kernel, codes, llrs, scratch } = self;
        let queue = &lane.queue;
        codes.iter_mut().for_each(|(_, code)| {
            code.starts.clear();
            code.taken = 0;
        });
        let mut most = 0;
        for_all(batch, |(llrs, pls), _| {
            let coding = code(pls[0])?;
            expect_of(pls[0], "LLRs", coding.ldpc().nldpc, llrs.len())?;
            codes.get(coding, || Code::new(queue, coding))?;
            most = most.max(llrs.len());
            Ok(())
        })?;
        if most == 0 {
            return Ok(());
        }
        let (there, frames) = (Place::of_input(batch, 0), Frames::of(batch));
        lane.bring(batch, llrs, most, |(llrs, _), _, place| put(place, llrs))?;
        lane.with(there, llrs, |llrs| {
            let mut frame = 0;
            batch.for_each(|(_, pls), _| {
                let code = codes.get(code(pls[0])?, || Err(Error::new("a frame came that was not there before")))?;
                code.starts.push((frame * llrs.stride) as u32);
                frame += 1;
                Ok(())
            })?;
            let llrs = llrs.held()?;
            let mut codes = codes.iter_mut().filter(|(_, code)| !code.starts.is_empty());
            let how = (&*kernel, *max_iterations);
            codes.try_for_each(|(_, code)| code.enqueue(queue, how, (llrs, &mut *scratch), frames))
        })?;
        queue.flush()
    }

    fn complete(&mut self, batch: &mut DeviceBatch<'_, In, Out>) -> Result<()> {
        let (queue, codes) = (&self.lane.queue, &mut self.codes);
        queue.wait()?;
        let mut take = || {
            batch.for_each(|(_, pls), (mut bits, decoding)| {
                let code = codes.get(code(pls[0])?, || Err(Error::new("a frame came that was not there before")))?;
                let (went, sent) = code.next()?;
                decoding[0] = went;
                bits.set_len(sent.len())?;
                bits.copy_from_slice(sent);
                Ok(())
            })
        };
        queue.leaving(&mut take)?;
        self.codes.iter_mut().filter(|(_, code)| !code.starts.is_empty()).try_for_each(|(_, code)| code.release())
    }
}
