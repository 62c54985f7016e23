//! The LDPC decoder on a device that OpenCL drives.

use bief::device::{DeviceBatch, Offload};
use bief::{Error, Result, Task};
use bief_dsp::dvbs2::ldpc::{GROUP, KernelTables};
use bief_opencl::{Arg, Buffer, Kernel, OpenCl, Queue};

use super::decode::{DecodeLdpc, Decoding};
use super::tables::{Coding, Tables, code, expect_of};

/// [`DecodeLdpc`] as one lane of a device runs it: all frames of a batch that have the same code in one launch, a work-group each.
pub(super) struct DecodeThere {
    max_iterations: u32,
    queue: Queue,
    kernel: Kernel,
    codes: Tables<Coding, Code>,
}

/// What a device has for one code.
struct Code {
    coding: Coding,
    tables: KernelTables,
    layers: Buffer,
    blocks: Buffer,
    frames: Option<Frames>,
    /// Frames of this batch, and those that were handed on.
    count: usize,
    taken: usize,
}

/// Room for some frames.
struct Frames {
    most: usize,
    llrs: Buffer,
    bits: Buffer,
    /// Of each frame its iterations, and whether it converged.
    told: Buffer,
    scratch: Buffer,
}

/// Bytes of what is told of a frame.
const TOLD: usize = 2 * size_of::<i32>();

impl DecodeThere {
    pub(super) fn new(device: &OpenCl, max_iterations: u32) -> Result<Self> {
        let queue = Queue::new(device)?;
        let kernel = queue.kernel(device, KernelTables::SOURCE, "decode")?;
        Ok(Self { max_iterations, queue, kernel, codes: Tables::default() })
    }
}

impl Code {
    fn new(queue: &Queue, coding: Coding) -> Result<Self> {
        let tables = KernelTables::new(coding.ldpc());
        let filled = |bytes: &[u8]| {
            let mut buffer = Buffer::of_device(queue, bytes.len())?;
            buffer.fill(bytes.len(), |there| there.copy_from_slice(bytes))?;
            Ok::<_, bief::Error>(buffer)
        };
        let layers = filled(bytemuck::cast_slice(&tables.layers))?;
        let blocks = filled(bytemuck::cast_slice(&tables.blocks))?;
        Ok(Self { coding, tables, layers, blocks, frames: None, count: 0, taken: 0 })
    }

    /// Room for the frames of this batch; `most` is what a batch of it may have.
    fn make_room(&mut self, queue: &Queue, most: usize) -> Result<()> {
        if self.frames.as_ref().is_some_and(|frames| frames.most >= self.count) {
            return Ok(());
        }
        self.frames = None;
        let code = self.coding.ldpc();
        self.frames = Some(Frames {
            most,
            llrs: Buffer::new(queue, most * code.nldpc)?,
            bits: Buffer::new(queue, most * code.kldpc / 8)?,
            told: Buffer::new(queue, most * TOLD)?,
            scratch: Buffer::of_device(queue, most * self.tables.room)?,
        });
        Ok(())
    }

    /// Has the device decode the frames of this code.
    fn enqueue(&mut self, lane: (&Queue, &Kernel, u32), batch: &mut Batch<'_>) -> Result<()> {
        let (queue, kernel, max_iterations) = lane;
        self.make_room(queue, batch.frames())?;
        let (coding, code, count) = (self.coding, self.coding.ldpc(), self.count);
        let Some(frames) = &mut self.frames else { return Ok(()) };
        let mut copied = Ok(());
        frames.llrs.fill(count * code.nldpc, |there| {
            let mut places = there.chunks_exact_mut(code.nldpc);
            copied = batch.for_each(|(llrs, pls), _| {
                if self::code(pls[0])? == coding
                    && let Some(place) = places.next()
                {
                    place.copy_from_slice(bytemuck::cast_slice(llrs));
                }
                Ok(())
            });
        })?;
        copied?;
        let tables = &self.tables;
        let numbers = [code.kldpc, code.nldpc, code.q, tables.missing as usize, tables.room, max_iterations as usize]
            .map(|number| Arg::Number(number as u32));
        let buffers =
            [&frames.llrs, &frames.bits, &frames.told, &frames.scratch, &self.layers, &self.blocks].map(Arg::Buffer);
        let [a, b, c, d, e, f] = buffers;
        let [g, h, i, j, k, l] = numbers;
        // SAFETY: the kernel is `decode` of `KernelTables`, whose arguments these are: tables of this code, and room for `count` frames.
        unsafe { queue.launch(kernel, (count, GROUP), &[a, b, c, d, e, f, g, h, i, j, k, l])? };
        frames.told.fetch(count * TOLD)?;
        frames.bits.fetch(count * code.kldpc / 8)
    }

    /// What became of the next frame of this code: how it went, and the bits that were sent.
    fn next(&mut self) -> Option<(Decoding, &[u8])> {
        let (frames, bytes) = (self.frames.as_ref()?, self.coding.ldpc().kldpc / 8);
        let number = self.taken;
        self.taken += 1;
        let told = frames.told.fetched(self.count * TOLD).chunks_exact(TOLD).nth(number)?;
        let [iterations, converged] = bytemuck::pod_read_unaligned::<[i32; 2]>(told);
        let bits = frames.bits.fetched(self.count * bytes).chunks_exact(bytes).nth(number)?;
        let decoding = Decoding { iterations: iterations as u32, converged: converged != 0, ..Decoding::default() };
        Some((decoding, &bits[self.coding.zeros()..]))
    }

    fn release(&mut self) -> Result<()> {
        self.frames.as_mut().map_or(Ok(()), |frames| frames.told.release().and_then(|()| frames.bits.release()))
    }
}

type Batch<'b> = DeviceBatch<'b, <DecodeLdpc as Task>::In, <DecodeLdpc as Task>::Out>;

impl Offload<<DecodeLdpc as Task>::In, <DecodeLdpc as Task>::Out> for DecodeThere {
    fn enqueue(&mut self, batch: &mut Batch<'_>) -> Result<()> {
        self.codes.iter_mut().for_each(|(_, code)| (code.count, code.taken) = (0, 0));
        let (codes, queue) = (&mut self.codes, &self.queue);
        // A frame that is wrong keeps back those before it, too: none has begun.
        let mut wrong: Result<()> = Ok(());
        batch.for_each(|(llrs, pls), _| {
            let mut count = || {
                let coding = code(pls[0])?;
                expect_of(pls[0], "LLRs", coding.ldpc().nldpc, llrs.len())?;
                codes.get(coding, || Code::new(queue, coding))?.count += 1;
                Ok(())
            };
            if wrong.is_ok() {
                wrong = count();
            }
            Ok(())
        })?;
        wrong?;
        for (_, code) in self.codes.iter_mut().filter(|(_, code)| code.count > 0) {
            code.enqueue((&self.queue, &self.kernel, self.max_iterations), batch)?;
        }
        self.queue.flush()
    }

    fn complete(&mut self, batch: &mut Batch<'_>) -> Result<()> {
        self.queue.wait()?;
        let codes = &mut self.codes;
        batch.for_each(|(_, pls), (mut bits, decoding)| {
            let coding = code(pls[0])?;
            let code = codes.get(coding, || Err(Error::new("a frame came that was not there before")))?;
            if let Some((went, sent)) = code.next() {
                decoding[0] = went;
                bits.set_len(sent.len())?;
                bits.copy_from_slice(sent);
            }
            Ok(())
        })?;
        self.codes.iter_mut().filter(|(_, code)| code.count > 0).try_for_each(|(_, code)| code.release())
    }
}
