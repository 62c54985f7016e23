//! PLFRAMEs cut out of the stream of samples, by their headers.
//!
//! This alone goes from frame to frame in order, and looks at headers only; the tasks that follow work on one frame by itself
//! and may be replicated.

use std::ops::Range;
use std::sync::Arc;

use bief::chain::Output;
use bief::report::Figures;
use bief::{Flow, Out, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{
    FrameSync, HEADER, Layout, Lock, Lost, MAX_SYMBOLS, NoSignal, Pls, Tracker, VL_SNR_HEADER, VlSnr, acquire,
    vl_snr_kind,
};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::impulses::remove_impulses;
use num_complex::Complex32;

use super::modcods::Modcods;
use super::stream::{Came, Stream};
use crate::iq::SampleFormat;

/// Frames of the longest kind that are collected at most before a lost signal is searched for.
const SEARCHED: usize = 4;
/// Symbols with which the first search for a lost signal is made, and how many more the next one has.
const FIRST_SEARCHED: usize = 8_000;
const SEARCH_GROWTH: f64 = 1.5;
/// Longest frames that the buffer has room for beside those that are searched.
const BUFFERED: usize = 4;
/// Lost frames up to which the next header is expected where the clock says; after more it is searched for.
const BRIDGED: u64 = 64;
/// Difference of constants, in amplitudes of the signal, below which they are the same.
const SAME_CONSTANT: f32 = 0.05;
/// Largest error of the sender's clock for which a window has room.
const CLOCK_ERROR: f64 = 200e-6;

/// Cuts samples into windows of one PLFRAME each, by tracking the headers.
///
/// A window holds a whole frame, the header after it where there is one, and what a matched filter needs on either side. Dummy
/// frames, and those of MODCODs that are not wanted, are passed over. When the signal is lost it is searched for again. Where
/// samples are missing, and that is known, no frame is lost but those that they belong to.
///
/// # Sockets
/// - out: the window of a frame. Of a stream `u8`, variable: its samples as they were recorded. Of a recording that can be read at any
///   place only where it lies there, for [`ReadFrames`](super::ReadFrames): then nothing is read but headers
/// - out: `Option<FrameSync>`, 1 per frame: where the frame lies in its window
/// - out: `Pls`, 1 per frame: what kind of frame it is
///
/// # Errors
/// When the stream has ended: a recording that cannot be read any more; every whole frame before is delivered.
///
/// # Source
/// EN 302 307-1, clause 5.5.2 (the header).
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
pub struct CutFrames<S> {
    stream: S,
    format: SampleFormat,
    /// Bytes of a sample.
    each: usize,
    filter: MatchedFilter,
    scrambler: Arc<PlScrambler>,
    wanted: Modcods,
    tracker: Option<Tracker>,
    ended: bool,
    /// Where samples are missing in what is not used up; what is behind it is read when it is crossed.
    gap: Option<Gap>,
    /// Samples were missing, or the next header was searched for, and none has been seen since.
    unsure: bool,
    /// What the frame before was, and whether there were frames of different kinds: then only headers tell where the next one is.
    last: Pls,
    varies: bool,
    /// The last header was missed in a stream whose frames differ.
    astray: bool,
    /// A frame whose header was read and whose end had not come; its position counts from the first sample not used up.
    pending: Option<FrameSync>,
    /// The constant that is removed from the signal, and that of one that was lost because it seemed to have changed.
    constant: Complex32,
    doubted: Option<Complex32>,
    /// Samples with which a lost signal is searched for next.
    searched: usize,
    /// Samples that are looked at: around a header, or all where a signal is searched for.
    seen: Vec<Complex32>,
    again: Option<Again<S>>,
    counts: Counts,
}

/// What was counted in this run.
#[derive(Debug, Default)]
struct Counts {
    /// Bytes that have come.
    read: u64,
    /// Samples that were searched in vain.
    passed_over: u64,
    missed_headers: u64,
    /// Frames that are passed over.
    dummy_frames: u64,
    other_frames: u64,
    /// Times that the signal was lost.
    losses: u64,
}

/// A recording that is received over and over: what goes back to its beginning, where the first frame is, and how many frames are
/// still wanted.
pub(super) struct Again<S> {
    pub(super) go_back: Box<dyn Fn(&mut S) + Send>,
    pub(super) lock: Lock,
    pub(super) frames: u64,
}

/// A place where samples are missing.
struct Gap {
    /// Number in the stream, which does not count those that are missing, of the first sample behind it.
    resume: u64,
    lost: u64,
}

/// Samples that are not used up, and have come, at most.
pub(super) fn most_samples(filter: &MatchedFilter) -> usize {
    (BUFFERED + SEARCHED) * longest_window(filter)
}

impl<S: Stream> CutFrames<S> {
    /// Cuts the frames of the signal that was found as `lock` in the first samples of `stream`; `wanted` are delivered.
    pub(super) fn new(
        stream: S,
        format: SampleFormat,
        filter: MatchedFilter,
        lock: &Lock,
        scrambler: Arc<PlScrambler>,
        wanted: Modcods,
    ) -> Self {
        Self {
            stream,
            format,
            each: format.bytes(),
            scrambler,
            wanted,
            tracker: Some(Tracker::new(filter.clone(), lock, 0)),
            ended: false,
            gap: None,
            unsure: false,
            last: lock.pls,
            varies: false,
            astray: false,
            pending: None,
            constant: lock.dc,
            doubted: None,
            searched: first_searched(&filter),
            seen: Vec::new(),
            again: None,
            counts: Counts::default(),
            filter,
        }
    }

    /// So many samples before the first were searched in vain.
    pub(super) fn behind(mut self, passed_over: u64) -> Self {
        self.counts.passed_over = passed_over;
        self
    }

    /// Begins again at the end, and where the signal is lost: nobody rehearses searches.
    pub(super) fn repeating(self, again: Again<S>) -> Self {
        Self { again: Some(again), ..self }
    }

    /// Begins again, if that is wanted.
    fn begin_again(&mut self) -> bool {
        let Some(again) = &mut self.again else { return false };
        (again.go_back)(&mut self.stream);
        self.tracker = Some(Tracker::new(self.filter.clone(), &again.lock, 0));
        self.constant = again.lock.dc;
        (self.pending, self.astray, self.ended) = (None, false, false);
        true
    }

    /// Where the next gap is, in samples that are not used up; without one, the end of what is there.
    fn available(&self) -> usize {
        self.gap.as_ref().map_or(self.stream.samples(), |gap| (gap.resume - self.stream.position()) as usize)
    }

    /// Nothing more will come behind what is available.
    fn is_closed(&self) -> bool {
        self.ended || self.gap.is_some()
    }

    fn use_up(&mut self, samples: usize) {
        self.stream.use_up(samples.min(self.available()));
    }

    /// Looks at samples; `false` when they are gone, with all that follow: then the stream has ended before them.
    fn look(&mut self, samples: Range<usize>) -> bool {
        let bytes = self.stream.bytes(samples.clone());
        let there = bytes.len() / self.each;
        self.seen.resize(there, Complex32::ZERO);
        self.format.read(&bytes[..there * self.each], &mut self.seen);
        self.ended |= there < samples.len();
        there == samples.len()
    }

    /// The next frame that is there as a whole; `None` when more samples are needed, or at the end.
    fn next_whole_frame(&mut self) -> Option<FrameSync> {
        loop {
            let mut frame = self.next_whole_place()?;
            if !frame.pls.is_vl_snr() {
                return Some(frame);
            }
            if let Some(kind) = self.vl_snr_kind(&frame) {
                frame.pls = Pls::of_vl_snr(kind);
                return Some(frame);
            }
            self.counts.other_frames += 1;
            self.use_up_to_header();
        }
    }

    /// What a VL-SNR frame that is there says of itself in its second header.
    fn vl_snr_kind(&mut self, frame: &FrameSync) -> Option<VlSnr> {
        const HEADERS: usize = HEADER + VL_SNR_HEADER;
        let half = self.filter.half_length() as f64;
        let end = frame.position + frame.step * HEADERS as f64 + half;
        let from = (frame.position - half).max(0.0) as usize;
        let to = (end.ceil() as usize).min(self.available());
        let place = frame.relative_to(from as i64);
        self.look(from..to.max(from));
        let mut symbols = [Complex32::ZERO; HEADERS];
        place.cut(&self.filter, &mut self.seen, &mut symbols);
        vl_snr_kind(&symbols)
    }

    /// As [`next_whole_frame`](Self::next_whole_frame), but what VL-SNR frames are is still unknown.
    fn next_whole_place(&mut self) -> Option<FrameSync> {
        loop {
            if let Some(frame) = self.next_frame() {
                let available = self.available();
                if frame.samples(&self.filter).end <= available as i64 {
                    return Some(frame);
                } else if !self.is_closed() {
                    self.pending = Some(frame);
                    return None;
                } else if is_whole_in(&frame, available) {
                    return Some(frame);
                }
            }
            let gap = self.gap.take()?;
            self.cross(&gap);
        }
    }

    /// Goes on behind a gap.
    fn cross(&mut self, gap: &Gap) {
        self.stream.use_up((gap.resume - self.stream.position()) as usize);
        let symbols = Layout::new(self.last).map_or(0, |layout| layout.symbols());
        let frame = symbols as f64 * self.filter.samples_per_symbol();
        match &mut self.tracker {
            Some(tracker) if !self.varies && gap.lost <= BRIDGED * frame as u64 => {
                tracker.skip_gap(gap.resume, gap.lost);
                self.unsure = true;
            }
            Some(_) => self.lose(),
            None => self.search_anew(),
        }
    }

    /// Lets the signal be searched for from here on.
    fn lose(&mut self) {
        self.counts.losses += 1;
        self.tracker = None;
        (self.unsure, self.astray) = (false, false);
        self.search_anew();
    }

    /// Reads headers until the next wanted frame is known; `None` when more samples are needed, or at the end.
    fn next_frame(&mut self) -> Option<FrameSync> {
        loop {
            if let Some(frame) = self.pending.take() {
                return Some(frame);
            }
            if self.astray {
                self.resynchronise()?;
            }
            if self.tracker.is_none() {
                self.search()?;
            }
            let available = self.available();
            let start = self.stream.position();
            let needed = self.tracker.as_ref()?.header_samples();
            if needed.end > (start + available as u64) as i64 {
                self.use_up_to_header();
                return None;
            }
            let inside = |sample: i64| usize::try_from(sample - start as i64).unwrap_or(0).min(available);
            let (from, to) = (inside(needed.start), inside(needed.end));
            if !self.look(from..to) {
                continue;
            }
            match self.tracker.as_mut()?.track(&self.seen, start + from as u64) {
                Ok(frame) if self.unsure && !frame.measured => self.lose(),
                // Where frames differ, nobody knows what a frame is whose header was missed, and where the next one is.
                Ok(frame) if self.varies && !frame.measured => {
                    self.counts.missed_headers += 1;
                    self.astray = true;
                }
                Ok(frame) => {
                    self.unsure = false;
                    if frame.measured {
                        self.varies |= frame.pls != self.last;
                        self.last = frame.pls;
                    } else {
                        self.counts.missed_headers += 1;
                    }
                    let frame = frame.relative_to(-(from as i64));
                    let may_be_wanted = frame.pls.is_vl_snr() && self.wanted == Modcods::ALL;
                    if may_be_wanted || self.wanted.contains(frame.pls) {
                        return Some(frame);
                    }
                    match frame.pls.is_dummy() {
                        true => self.counts.dummy_frames += 1,
                        false => self.counts.other_frames += 1,
                    }
                    self.use_up_to_header();
                }
                Err(lost) => {
                    self.doubted = (lost == Lost::Constant).then_some(self.constant);
                    self.lose();
                }
            }
        }
    }

    /// The samples that the next header needs, in samples that are not used up; none, from 0 on, where that is unknown.
    fn next_header(&self) -> Range<usize> {
        let position = self.stream.position() as i64;
        let inside = |sample: i64| usize::try_from(sample - position).unwrap_or(0);
        let needed = self.tracker.as_ref().map_or(position..position, Tracker::header_samples);
        inside(needed.start)..inside(needed.end)
    }

    /// What precedes the next header is not needed any more.
    fn use_up_to_header(&mut self) {
        self.use_up(self.next_header().start);
    }

    /// Goes on with the next header that can be seen; `None` while that may be one that has not come.
    fn resynchronise(&mut self) -> Option<()> {
        let available = self.available();
        if available < longest_window(&self.filter) && !self.is_closed() {
            return None;
        }
        // A header that is found and cannot be tracked (samples are missing) would be found again, for ever.
        (self.astray, self.unsure) = (false, true);
        self.look(0..available);
        let tracker = self.tracker.as_mut()?;
        if !tracker.resynchronise(&self.seen, self.stream.position()) {
            self.lose();
        }
        Some(())
    }

    /// A new search begins with few samples.
    fn search_anew(&mut self) {
        self.searched = first_searched(&self.filter);
    }

    /// Looks for the signal in what has been collected; `None` while that is not enough, or nothing is found.
    fn search(&mut self) -> Option<()> {
        let available = self.available();
        if available < self.searched && !self.is_closed() {
            return None;
        }
        self.look(0..available);
        remove_impulses(&mut self.seen);
        if let Ok(lock) = acquire_first(&self.filter, &self.seen, &self.scrambler) {
            self.counts.passed_over += passed_over(&lock);
            (self.last, self.varies) = (lock.pls, false);
            let tracker = Tracker::new(self.filter.clone(), &lock, self.stream.position());
            let same = |doubted: Complex32| (lock.dc - doubted).norm() < SAME_CONSTANT * lock.amplitude;
            self.constant = lock.dc;
            self.tracker =
                Some(if self.doubted.take().is_some_and(same) { tracker.trusting_constant() } else { tracker });
            return Some(());
        }
        let available = self.available();
        let most = SEARCHED * longest_window(&self.filter);
        if available >= most || self.is_closed() {
            // A frame that has only begun may still come whole.
            let vain = available.saturating_sub(longest_window(&self.filter));
            self.counts.passed_over += vain as u64;
            self.use_up(vain);
            self.search_anew();
        }
        self.searched = ((self.searched.max(self.available()) as f64 * SEARCH_GROWTH) as usize).min(most);
        None
    }

    /// Samples that are needed next and have not come.
    fn wanted_samples(&self) -> usize {
        let end = match (&self.pending, &self.tracker) {
            (Some(frame), _) => frame.samples(&self.filter).end,
            (None, Some(_)) if self.astray => longest_window(&self.filter) as i64,
            (None, Some(tracker)) => tracker.header_samples().end - self.stream.position() as i64,
            (None, None) => self.searched as i64,
        };
        usize::try_from(end).unwrap_or(0).saturating_sub(self.stream.samples()).max(1)
    }

    /// Reads on; `None` when nothing has come for a while, or else how many bytes have.
    fn read(&mut self) -> Result<Option<usize>> {
        let wanted = self.wanted_samples().min(longest_window(&self.filter));
        let Some(came) = self.stream.read(wanted)? else { return Ok(None) };
        self.note(&came);
        Ok(Some(came.fed.bytes))
    }

    /// The samples that the window of the frame that is pending needs, if it can be filled by reading.
    fn readable(&mut self, room: usize) -> Option<Range<usize>> {
        let frame = self.pending.filter(|frame| !frame.pls.is_vl_snr())?;
        let needed = samples_of(&frame, &self.filter);
        let fits = needed.contains(&self.stream.samples()) && needed.len() <= room;
        (fits && self.stream.is_ready(needed.end)).then_some(needed)
    }

    /// Reads the rest of the frame that is pending straight into its window; what the next header needs is not used up. `None` when it
    /// has not come as a whole, and waits.
    fn read_rest(&mut self, needed: Range<usize>, window: &mut Slice<'_, S>) -> Result<Option<FrameSync>> {
        let next = self.next_header().start.clamp(needed.start, needed.end);
        let Some((came, is_whole)) = self.stream.read_window(needed, next, window)? else { return Ok(None) };
        self.note(&came);
        Ok(if is_whole { self.pending.take() } else { None })
    }

    /// Makes the window of a frame that is there as a whole; the sample that the window begins with.
    fn copy(&mut self, frame: &FrameSync, room: usize, window: &mut Slice<'_, S>) -> Result<usize> {
        // A stream that begins or ends with a frame lacks what the filter would have beside it.
        let Range { start, end } = samples_of(frame, &self.filter);
        // A symbol rate further off than there is room for costs what the filter would have behind the last symbols.
        let end = end.min(self.available()).min(start + room);
        self.stream.copy(start..end, window)?;
        self.use_up_to_header();
        Ok(start)
    }

    /// Counts what has come, and notes what is missing before it.
    fn note(&mut self, came: &Came) {
        let Came { fed, first } = came;
        let lost = fed.lost / self.each as u64;
        self.counts.read += fed.bytes as u64;
        if lost > 0 {
            self.gap = Some(Gap { resume: *first, lost });
        }
        self.ended |= fed.ended;
    }
}

/// What a task sees of a window.
type Slice<'a, S> = <<S as Stream>::Window as Output>::Slice<'a>;

/// Whether a frame whose window ends after so many samples is whole all the same: where nothing follows, it is when all but its last two
/// symbols are there, since no code misses those.
pub(super) fn is_whole_in(frame: &FrameSync, samples: usize) -> bool {
    let symbols = Layout::new(frame.pls).map_or(0, |layout| layout.symbols());
    let last = frame.position + frame.step * symbols.saturating_sub(1) as f64;
    last <= samples as f64 + frame.step
}

/// Samples that the window of a frame needs, in samples that are not used up; those before the stream are left out.
fn samples_of(frame: &FrameSync, filter: &MatchedFilter) -> Range<usize> {
    let Range { start, end } = frame.samples(filter);
    usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0)
}

/// Finds the first signal that there is in samples: the one that [`acquire`] finds may begin behind a pause of another.
///
/// # Errors
/// No signal, with the reason as far as it can be told.
pub(super) fn acquire_first(
    filter: &MatchedFilter,
    samples: &[Complex32],
    scrambler: &PlScrambler,
) -> std::result::Result<Lock, NoSignal> {
    let mut first = acquire(filter, samples, scrambler)?;
    while let Ok(earlier) = acquire(filter, &samples[..first.position.max(0.0) as usize], scrambler) {
        first = earlier;
    }
    Ok(first)
}

/// Samples before a signal that was found, if there would have been room for a frame of it.
pub(super) fn passed_over(lock: &Lock) -> u64 {
    let symbols = Layout::new(lock.pls).map_or(0, |layout| layout.symbols());
    let before = lock.position.max(0.0);
    if before > (symbols + 1) as f64 * lock.samples_per_symbol { before as u64 } else { 0 }
}

/// Samples of the first search.
fn first_searched(filter: &MatchedFilter) -> usize {
    (FIRST_SEARCHED as f64 * filter.samples_per_symbol()) as usize
}

/// Samples of the longest window: a frame, a header, and what the filter needs.
pub(super) fn longest_window(filter: &MatchedFilter) -> usize {
    let symbols = (MAX_SYMBOLS + HEADER) as f64;
    let span = symbols * filter.samples_per_symbol() * (1.0 + CLOCK_ERROR);
    span.ceil() as usize + 2 * filter.half_length() + 2
}

impl<S: Stream> Task for CutFrames<S> {
    type In = ();
    type Out = (S::Window, Out<Option<FrameSync>>, Out<Pls>);

    fn name(&self) -> String {
        "cut frames".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize, usize)> {
        Ok((self.stream.window_len(longest_window(&self.filter)), 1, 1))
    }

    fn run(
        &mut self,
        (): (),
        (mut window, sync, pls): (Slice<'_, S>, &mut [Option<FrameSync>], &mut [Pls]),
    ) -> Result<Flow> {
        let (mut read, mut anew) = (0, false);
        if self.again.as_ref().is_some_and(|again| again.frames == 0) {
            return Ok(Flow::Stop);
        }
        let room = longest_window(&self.filter);
        let (frame, start) = loop {
            if let Some(frame) = self.next_whole_frame() {
                break (frame, self.copy(&frame, room, &mut window)?);
            }
            // Without a signal there would be no end to this: now and then someone must see whether the run was stopped.
            match (self.ended, read > room * self.each) {
                // Each execution of a rehearsal has a frame, as in a run, unless there is none in all that is repeated.
                _ if (self.ended || self.tracker.is_none()) && self.begin_again() => {
                    if std::mem::replace(&mut anew, true) {
                        return Ok(Flow::Skip);
                    }
                }
                (true, _) => return Ok(Flow::Stop),
                (false, true) => return Ok(Flow::Skip),
                (false, false) => {}
            }
            if let Some(needed) = self.readable(room) {
                let start = needed.start;
                if let Some(frame) = self.read_rest(needed, &mut window)? {
                    break (frame, start);
                }
            } else {
                match self.read()? {
                    Some(bytes) => read += bytes,
                    None => return Ok(Flow::Skip),
                }
            }
        };
        if let Some(again) = &mut self.again {
            again.frames -= 1;
        }
        (sync[0], pls[0]) = (Some(frame.relative_to(start as i64)), frame.pls);
        self.stream.prefetch(self.next_header());
        Ok(Flow::Next)
    }

    fn lost(&self) -> u64 {
        self.stream.lost()
    }

    fn finish(&mut self) -> Result<()> {
        self.stream.finish()
    }

    fn figures(&self, figures: &mut Figures) {
        let Counts { read, passed_over, missed_headers, dummy_frames, other_frames, losses } = self.counts;
        figures.count("read", "bytes", read);
        figures.count("lost", "samples", self.stream.lost() / self.each as u64);
        figures.count("passed_over", "samples", passed_over);
        figures.count("missed_headers", "", missed_headers);
        figures.count("dummy_frames", "", dummy_frames);
        figures.count("other_frames", "", other_frames);
        figures.count("losses", "", losses);
    }

    fn reset(&mut self) -> Result<()> {
        self.counts = Counts::default();
        self.stream.reset()
    }
}
