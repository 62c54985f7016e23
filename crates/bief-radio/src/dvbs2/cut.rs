//! PLFRAMEs cut out of the stream of samples, by their headers.
//!
//! This alone goes from frame to frame in order, and looks at headers only; the tasks that follow work on one frame by itself
//! and may be replicated.

use std::collections::VecDeque;
use std::sync::Arc;

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSync, HEADER, Layout, Lock, Pls, Tracker, acquire};
use bief_dsp::filter::MatchedFilter;
use num_complex::Complex32;

use super::encode::expect;
use super::plframe::layout;
use super::status::Status;

/// Frames that are collected before a lost signal is searched for.
const SEARCHED: usize = 4;
/// Frames that the buffer takes before what is used up is moved out.
const BUFFERED: usize = 4;
/// Lost frames up to which the next header is expected where the clock says; after more it is searched for.
const BRIDGED: u64 = 64;
/// Largest error of the sender's clock for which a window has room.
const CLOCK_ERROR: f64 = 200e-6;

/// Cuts the stream of samples into windows of one PLFRAME each, by tracking the headers.
///
/// A window holds a whole frame, the header after it, and what a matched filter needs on either side. Frames of another PLS
/// (dummy frames) are passed over. When the signal is lost it is searched for again. Where samples are missing, and that is
/// known, no frame is lost but those that they belong to.
///
/// # Sockets
/// - in: `Complex32`, a block of samples; it must be shorter than a frame
/// - in: `u32`, 1 per frame: bytes of the block that were read; fewer than all end the stream, once every whole frame is out
/// - in: `u64`, 1 per frame: bytes that were lost just before the block
/// - out: `Complex32`, the window of a frame, see [`window`](Self::window)
/// - out: `Option<FrameSync>`, 1 per frame: where the frame lies in its window
///
/// # Errors
/// At build, blocks longer than a frame.
///
/// # Source
/// EN 302 307-1, clause 5.5.2 (the header).
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
pub struct CutFrames {
    filter: MatchedFilter,
    tracker: Option<Tracker>,
    pls: Pls,
    layout: Layout,
    bytes_per_sample: usize,
    /// Samples of the stream from number `offset` on; those before `start` are used up.
    samples: Vec<Complex32>,
    start: usize,
    offset: u64,
    ended: bool,
    /// Where samples are missing in what is not used up.
    gaps: VecDeque<Gap>,
    /// Samples were missing, and no header has been seen since.
    unsure: bool,
    /// A frame whose header was read and whose end had not come; its position counts from `start`.
    pending: Option<FrameSync>,
    status: Arc<Status>,
}

/// A place where samples are missing.
struct Gap {
    /// Number in the stream, which does not count those that are missing, of the first sample behind it.
    resume: u64,
    lost: u64,
}

impl CutFrames {
    /// Cuts the frames of the signal that was found as `lock` in the first samples of the stream, which are written in
    /// `bytes_per_sample` bytes each.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(filter: MatchedFilter, lock: &Lock, bytes_per_sample: usize, status: Arc<Status>) -> Result<Self> {
        let layout = layout(lock.pls)?;
        let frame = (layout.symbols() as f64 * filter.samples_per_symbol()) as usize;
        Ok(Self {
            tracker: Some(Tracker::new(filter.clone(), lock, 0)),
            pls: lock.pls,
            layout,
            bytes_per_sample,
            samples: Vec::with_capacity((BUFFERED + SEARCHED + 4) * frame),
            start: 0,
            offset: 0,
            ended: false,
            gaps: VecDeque::with_capacity(2 * (BUFFERED + SEARCHED + 4)),
            unsure: false,
            pending: None,
            status,
            filter,
        })
    }

    /// Samples of a window.
    pub fn window(&self) -> usize {
        let symbols = (self.layout.symbols() + HEADER) as f64;
        let span = symbols * self.filter.samples_per_symbol() * (1.0 + CLOCK_ERROR);
        span.ceil() as usize + 2 * self.filter.half_length() + 2
    }

    /// The longest block of samples that it takes: each may complete one frame and no more.
    pub fn longest_block(&self) -> usize {
        let frame = self.layout.symbols() as f64 * self.filter.samples_per_symbol();
        (frame * (1.0 - 2.0 * CLOCK_ERROR)) as usize
    }

    /// Samples that are not used up and hang together.
    fn available(&self) -> &[Complex32] {
        &self.samples[self.start..self.end()]
    }

    /// Where the next gap is in the buffer; without one, the end of the buffer.
    fn end(&self) -> usize {
        self.gaps.front().map_or(self.samples.len(), |gap| (gap.resume - self.offset) as usize)
    }

    /// Nothing more will come behind what is available.
    fn is_closed(&self) -> bool {
        self.ended || !self.gaps.is_empty()
    }

    /// Number in the stream of the first sample that is not used up.
    fn position(&self) -> u64 {
        self.offset + self.start as u64
    }

    fn use_up(&mut self, samples: usize) {
        self.start = (self.start + samples).min(self.end());
    }

    fn append(&mut self, block: &[Complex32], lost: u64) {
        let frame = self.window();
        if self.start > BUFFERED * frame {
            self.samples.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
        }
        if lost > 0 {
            self.gaps.push_back(Gap { resume: self.offset + self.samples.len() as u64, lost });
        }
        self.samples.extend_from_slice(block);
    }

    /// The next frame that is there as a whole; `None` when more samples are needed, or at the end.
    fn next_whole_frame(&mut self) -> Option<FrameSync> {
        loop {
            if let Some(frame) = self.next_frame() {
                let available = self.available().len();
                let last = frame.position + frame.step * (self.layout.symbols() - 1) as f64;
                if frame.samples(&self.filter).end <= available as i64 {
                    return Some(frame);
                } else if !self.is_closed() {
                    self.pending = Some(frame);
                    return None;
                } else if last <= available as f64 - 0.5 {
                    // Where nothing follows, a frame is whole when its last symbol is there.
                    return Some(frame);
                }
            }
            let gap = self.gaps.pop_front()?;
            self.cross(&gap);
        }
    }

    /// Goes on behind a gap.
    fn cross(&mut self, gap: &Gap) {
        self.start = (gap.resume - self.offset) as usize;
        let frame = self.layout.symbols() as f64 * self.filter.samples_per_symbol();
        match &mut self.tracker {
            Some(tracker) if gap.lost <= BRIDGED * frame as u64 => {
                tracker.skip_gap(gap.resume, gap.lost);
                self.unsure = true;
            }
            Some(_) => self.lose(),
            None => {}
        }
    }

    /// Lets the signal be searched for from here on.
    fn lose(&mut self) {
        self.status.count_loss();
        self.tracker = None;
        self.unsure = false;
    }

    /// Reads headers until the next frame is known; `None` when more samples are needed, or at the end.
    fn next_frame(&mut self) -> Option<FrameSync> {
        loop {
            if let Some(frame) = self.pending.take() {
                return Some(frame);
            }
            let end = self.end();
            let Some(tracker) = &mut self.tracker else {
                self.search()?;
                continue;
            };
            if tracker.header_samples().end > (self.offset + end as u64) as i64 {
                return None;
            }
            let position = self.offset + self.start as u64;
            match tracker.track(&self.samples[self.start..end], position) {
                Ok(frame) if self.unsure && !frame.measured => self.lose(),
                Ok(frame) => {
                    self.unsure = false;
                    if !frame.measured {
                        self.status.count_missed_header();
                    }
                    if frame.pls == self.pls {
                        return Some(frame);
                    }
                    self.status.count_other_frame();
                }
                Err(_) => self.lose(),
            }
        }
    }

    /// Looks for the signal in what has been collected; `None` while that is not enough, or nothing is found.
    fn search(&mut self) -> Option<()> {
        let frame = self.window();
        if self.available().len() < SEARCHED * frame && !self.is_closed() {
            return None;
        }
        match acquire(&self.filter, self.available(), PlScrambler::broadcast()) {
            Ok(lock) => {
                self.tracker = Some(Tracker::new(self.filter.clone(), &lock, self.position()));
                Some(())
            }
            Err(_) => {
                // A frame that has only begun may still come whole.
                self.use_up(self.available().len().saturating_sub(frame));
                None
            }
        }
    }
}

impl Task for CutFrames {
    type In = (In<Complex32>, In<u32>, In<u64>);
    type Out = (Out<Complex32>, Out<Option<FrameSync>>);

    fn name(&self) -> String {
        "cut frames".to_owned()
    }

    fn lens(&self, (block, filled, lost): (usize, usize, usize)) -> Result<(usize, usize)> {
        expect("count", 1, filled)?;
        expect("count", 1, lost)?;
        if block > self.longest_block() {
            return Err(Error::new(format!(
                "needs blocks of at most {} samples, less than a frame, not {block}",
                self.longest_block()
            )));
        }
        Ok((self.window(), 1))
    }

    fn run(
        &mut self,
        (block, filled, lost): (&[Complex32], &[u32], &[u64]),
        (window, sync): (&mut [Complex32], &mut [Option<FrameSync>]),
    ) -> Result<Flow> {
        self.status.count_bytes(filled[0] as usize);
        let read = filled[0] as usize / self.bytes_per_sample;
        let lost = lost[0] / self.bytes_per_sample as u64;
        self.status.count_lost_samples(lost);
        self.ended |= read < block.len();
        self.append(&block[..read], lost);
        let nothing = if self.ended { Flow::Stop } else { Flow::Skip };
        let Some(frame) = self.next_whole_frame() else { return Ok(nothing) };

        let available = self.available().len();
        let needed = frame.samples(&self.filter);
        // The window begins with the frame; a stream that begins with a frame lacks the filter's run-up.
        let from = needed.start.max(0) as usize;
        let missing = (-needed.start).max(0) as usize;
        let to = (from + window.len() - missing).min(available);
        let (before, rest) = window.split_at_mut(missing);
        let (samples, after) = rest.split_at_mut(to - from);
        before.fill(Complex32::ZERO);
        samples.copy_from_slice(&self.available()[from..to]);
        after.fill(Complex32::ZERO);
        sync[0] = Some(frame.relative_to(needed.start));

        let next = self.tracker.as_ref().map_or(0, |tracker| tracker.header_samples().start - self.position() as i64);
        self.use_up(usize::try_from(next).unwrap_or(0));
        Ok(Flow::Next)
    }
}
