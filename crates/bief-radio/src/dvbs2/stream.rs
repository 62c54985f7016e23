//! The samples that frames are cut out of, of which those in front are used up: samples that come once, and must all be read, and
//! samples that stay where they are, of which only those are read that are looked at.

use std::ops::Range;

use bief::chain::Output;
use bief::memory::prefetch;
use bief::{Error, Out, OutVar, Result, VarFrame};

use crate::feed::{Fed, Feed};
use crate::recording::Stored;

/// A stream of samples as they were recorded. Ranges count samples from the first that is not used up.
pub trait Stream: Send + 'static {
    /// What a task makes of the window of a frame.
    type Window: Output;

    /// Elements of the window of so many samples.
    fn window_len(&self, samples: usize) -> usize;

    /// Number in the stream of the first sample that is not used up.
    fn position(&self) -> u64;

    /// Whole samples that have come, and are not used up.
    fn samples(&self) -> usize;

    /// Bytes of samples that have come; fewer where they are gone.
    fn bytes(&mut self, samples: Range<usize>) -> &[u8];

    /// Asks memory for samples that are looked at next, if they lie there.
    fn prefetch(&self, _samples: Range<usize>) {}

    fn use_up(&mut self, samples: usize);

    /// Lets so many more samples come, or fewer; `None` when nothing has come for a while.
    fn read(&mut self, wanted: usize) -> Result<Option<Came>>;

    /// Makes a window of samples that have come.
    fn copy(&mut self, samples: Range<usize>, window: &mut <Self::Window as Output>::Slice<'_>) -> Result<()>;

    /// Whether the rest of a window, up to this sample, can go straight into it.
    fn is_ready(&mut self, end: usize) -> bool;

    /// As [`read`](Self::read) up to the end of a window and [`copy`](Self::copy), but what comes goes straight into it. All before
    /// `keep` is used up then. `false` when the window has not come as a whole, and waits.
    fn read_window(
        &mut self,
        samples: Range<usize>,
        keep: usize,
        window: &mut <Self::Window as Output>::Slice<'_>,
    ) -> Result<Option<(Came, bool)>>;

    /// Bytes lost so far.
    fn lost(&self) -> u64;

    /// Called when the stream has ended: tells what ended it early.
    fn finish(&mut self) -> Result<()>;

    /// Called before another run.
    fn reset(&mut self) -> Result<()>;
}

/// What has come.
pub struct Came {
    pub(super) fed: Fed,
    /// Number in the stream of the first sample of it.
    pub(super) first: u64,
}

/// Samples that come once: they are read into a buffer, or straight into a window.
pub(super) struct Buffered {
    feed: Box<dyn Feed>,
    bytes: Box<[u8]>,
    /// Bytes of a sample.
    each: usize,
    /// The first byte that is not used up, and the first that has not come.
    start: usize,
    end: usize,
    position: u64,
}

impl Buffered {
    /// With room for so many samples.
    pub(super) fn new(feed: Box<dyn Feed>, samples: usize, each: usize) -> Self {
        Self { feed, bytes: vec![0; samples * each].into(), each, start: 0, end: 0, position: 0 }
    }

    /// Begins anew, with the first sample of another feed.
    pub(super) fn begin_again(&mut self, feed: Box<dyn Feed>) {
        (self.feed, self.start, self.end, self.position) = (feed, 0, 0, 0);
    }

    /// Room for so many bytes at least.
    fn space(&mut self, bytes: usize) -> &mut [u8] {
        // As soon as it costs less than what was used up did: the buffer then stays in the cache.
        if self.end - self.start <= self.start || self.bytes.len() - self.end < bytes {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.bytes[self.end..]
    }

    /// Number of the first sample that has not come.
    fn next(&self) -> u64 {
        self.position + self.samples() as u64
    }

    fn held(&self, samples: Range<usize>) -> &[u8] {
        &self.bytes[self.start..][samples.start * self.each..samples.end * self.each]
    }
}

impl Stream for Buffered {
    type Window = OutVar<u8>;

    fn window_len(&self, samples: usize) -> usize {
        samples * self.each
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn samples(&self) -> usize {
        (self.end - self.start) / self.each
    }

    fn bytes(&mut self, samples: Range<usize>) -> &[u8] {
        self.held(samples)
    }

    fn use_up(&mut self, samples: usize) {
        self.start += samples * self.each;
        self.position += samples as u64;
    }

    fn read(&mut self, wanted: usize) -> Result<Option<Came>> {
        let (first, wanted) = (self.next(), wanted * self.each);
        self.space(wanted);
        let Some(fed) = self.feed.fill(&mut self.bytes[self.end..][..wanted])? else { return Ok(None) };
        self.end += fed.bytes;
        Ok(Some(Came { fed, first }))
    }

    fn copy(&mut self, samples: Range<usize>, window: &mut VarFrame<'_, u8>) -> Result<()> {
        window.extend_from_slice(self.held(samples))
    }

    fn is_ready(&mut self, end: usize) -> bool {
        let more = end.saturating_sub(self.samples()) * self.each;
        self.feed.is_ready(more)
    }

    fn read_window(
        &mut self,
        samples: Range<usize>,
        keep: usize,
        window: &mut VarFrame<'_, u8>,
    ) -> Result<Option<(Came, bool)>> {
        let (first, begun) = (self.next(), samples.start..self.samples());
        let [begun_bytes, all] = [begun.len(), samples.len()].map(|samples| samples * self.each);
        window.space()[..begun_bytes].copy_from_slice(self.held(begun));
        let rest = &mut window.space()[begun_bytes..all];
        let Some(fed) = self.feed.fill(rest)? else { return Ok(None) };
        let is_whole = fed.lost == 0 && fed.bytes == rest.len();
        if is_whole {
            window.set_len(all)?;
            let kept = &window[(keep - samples.start) * self.each..];
            self.bytes[..kept.len()].copy_from_slice(kept);
            (self.start, self.end) = (0, kept.len());
            self.position += keep as u64;
        } else {
            self.space(fed.bytes)[..fed.bytes].copy_from_slice(&rest[..fed.bytes]);
            self.end += fed.bytes;
        }
        Ok(Some((Came { fed, first }, is_whole)))
    }

    fn lost(&self) -> u64 {
        self.feed.lost()
    }

    fn finish(&mut self) -> Result<()> {
        self.feed.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.feed.reset()
    }
}

/// Where a window lies in a recording, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    pub(super) start: u64,
    pub(super) bytes: usize,
}

impl Stretch {
    /// The window, in the bytes of its recording.
    pub(super) fn of(self, recording: &[u8]) -> &[u8] {
        let start = usize::try_from(self.start).unwrap_or(usize::MAX);
        recording.get(start..start.saturating_add(self.bytes)).unwrap_or_default()
    }
}

/// Bytes that the system is to read ahead, and how many at a time: as many as it takes at once, and enough for disks that are far away.
const AHEAD: u64 = 4 << 20;
const AT_ONCE: u64 = 1 << 20;

/// Samples that stay where they are: they come without being read, as far as there are any, and a window is the place where it lies.
/// Nothing is missing among them: what tells of gaps is a radio, whose samples come once.
pub(super) struct InPlace {
    stored: Stored,
    /// Bytes of a sample.
    each: usize,
    /// The first byte that is not used up, and the first that has not come.
    start: u64,
    end: u64,
    /// Bytes that there are, as it was last seen.
    there: u64,
    /// The first byte that the system was not told to read ahead.
    told: u64,
    position: u64,
    /// What is looked at.
    seen: Vec<u8>,
    fault: Option<Error>,
}

impl InPlace {
    /// The samples from byte `start` on.
    pub(super) fn new(stored: Stored, start: u64, each: usize) -> Self {
        let there = stored.bytes().unwrap_or(0);
        Self { stored, each, start, end: start, there, told: start, position: 0, seen: Vec::new(), fault: None }
    }

    /// Begins anew, with the sample at byte `start`.
    pub(super) fn begin_again(&mut self, start: u64) {
        (self.start, self.end, self.position) = (start, start, 0);
    }

    fn stretch(&self, samples: Range<usize>) -> Stretch {
        let start = self.start + (samples.start * self.each) as u64;
        Stretch { start, bytes: samples.len() * self.each }
    }
}

impl Stream for InPlace {
    type Window = Out<Stretch>;

    fn window_len(&self, _samples: usize) -> usize {
        1
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn samples(&self) -> usize {
        (self.end - self.start) as usize / self.each
    }

    fn bytes(&mut self, samples: Range<usize>) -> &[u8] {
        let stretch = self.stretch(samples);
        if let Some(recording) = self.stored.in_memory() {
            return stretch.of(recording);
        }
        let Stretch { start, bytes } = stretch;
        if self.seen.len() < bytes {
            self.seen.resize(bytes, 0);
        }
        let (read, fault) = self.stored.fill_at(start, &mut self.seen[..bytes]);
        if read < bytes {
            // The file was cut short, or cannot be read.
            self.there = start + read as u64;
            self.end = self.there;
            self.fault = fault.map(Error::from_source).or(self.fault.take());
        }
        &self.seen[..read]
    }

    fn prefetch(&self, samples: Range<usize>) {
        if let Some(recording) = self.stored.in_memory() {
            prefetch(self.stretch(samples).of(recording));
        }
    }

    fn use_up(&mut self, samples: usize) {
        self.start += (samples * self.each) as u64;
        self.position += samples as u64;
    }

    fn read(&mut self, wanted: usize) -> Result<Option<Came>> {
        let (first, wanted) = (self.position + self.samples() as u64, (wanted * self.each) as u64);
        if self.end + wanted > self.there && self.fault.is_none() {
            // It may have grown.
            self.there = self.stored.bytes().unwrap_or(self.there);
        }
        let bytes = self.there.saturating_sub(self.end).min(wanted);
        self.end += bytes;
        while self.told < self.there.min(self.end + AHEAD) {
            self.stored.read_ahead(self.told, AT_ONCE.min(self.there - self.told));
            self.told += AT_ONCE;
        }
        Ok(Some(Came { fed: Fed { bytes: bytes as usize, lost: 0, ended: bytes < wanted }, first }))
    }

    fn copy(&mut self, samples: Range<usize>, window: &mut &mut [Stretch]) -> Result<()> {
        window[0] = self.stretch(samples);
        Ok(())
    }

    fn is_ready(&mut self, _end: usize) -> bool {
        true
    }

    fn read_window(
        &mut self,
        samples: Range<usize>,
        keep: usize,
        window: &mut &mut [Stretch],
    ) -> Result<Option<(Came, bool)>> {
        let Some(came) = self.read(samples.end - self.samples())? else { return Ok(None) };
        let is_whole = !came.fed.ended;
        if is_whole {
            self.copy(samples, window)?;
            self.use_up(keep);
        }
        Ok(Some((came, is_whole)))
    }

    fn lost(&self) -> u64 {
        0
    }

    fn finish(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}
