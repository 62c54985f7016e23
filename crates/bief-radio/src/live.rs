//! Bytes that cannot wait: the source that listens to a radio.

use std::collections::VecDeque;
use std::io::{Cursor, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bief::kinds::Gaps;
use bief::source::{self, Heard, Live, Received};
use bief::{Error, Flow, Out, Result, Task};

use crate::feed::{Fed, Feed};

/// How long it waits for bytes before its worker looks whether the run was stopped.
const LOOK: Duration = Duration::from_millis(10);

type Fill = Box<dyn FnMut(&mut [u8]) -> Result<Received> + Send>;

/// Reads blocks of bytes on a thread of its own and, when the chain is slower, drops whole blocks, counts them, and marks
/// where they are missing; never ends by itself.
///
/// The end of the input comes as in [`ReadBlocks`](crate::ReadBlocks): one block that is partly filled, then empty ones.
///
/// A reader that waits for input cannot be made to return. When a run ends meanwhile, the thread that waits in it is left
/// after a second, and a run of the same pipeline begins again only when it has returned; what it reads then is lost. So this
/// is for what a program listens to until it ends, such as standard input.
///
/// # Sockets
/// - out: `u8`, one block; behind the bytes read, zeros
/// - out: `u32`, 1 per frame: bytes read into this block
/// - out: `u64`, 1 per frame: bytes lost just before this block. What the reader itself says is missing inside a block is filled up
///   with silence, to the end of the block if need be: all that comes behind is where it belongs
///
/// # Errors
/// A reader that fails is taken for the end of the input; its error is told when the stream has ended.
///
/// # Source
/// None: any bytes.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use bief::{Chain, Flow, sink};
/// use bief_radio::ReadLive;
/// let mut chain = Chain::new();
/// let (bytes, filled, lost) = chain.add(ReadLive::new(Arc::new([1, 2, 3]), &[4, 5][..], 2, 8), ());
/// chain.add(
///     sink::for_each(|filled: &[u32]| Ok(if filled[0] == 0 { Flow::Stop } else { Flow::Next })),
///     &filled,
/// );
/// let (collect, result) = sink::collect();
/// chain.add(collect, &bytes);
/// let report = chain.build()?.run()?;
/// assert_eq!((result.take(), report.lost), (vec![1, 2, 3, 4, 5, 0], 0));
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ReadLive {
    /// Read before; its whole blocks come first.
    front: Arc<[u8]>,
    /// Of the front, bytes that are played, and those of whole blocks.
    played: usize,
    whole: usize,
    live: Live<u8, Fill>,
    /// Blocks that have come and are not played to their ends.
    heard: VecDeque<Block>,
    /// Bytes that the queue and the reader lost and that are marked.
    marked: u64,
    /// Bytes that are missing and were filled up, and those that the reader lost before.
    filled_up: Arc<AtomicU64>,
    lost_before: u64,
    /// What came behind the last whole block, once the input has ended, and what is missing before it.
    rest: Arc<Mutex<(Vec<u8>, u64)>>,
    ended: bool,
    fault: Option<Error>,
}

/// A block that has come.
struct Block {
    bytes: Box<[u8]>,
    played: usize,
    /// Bytes lost just before it.
    lost: u64,
    /// What came behind the last whole block, if anything.
    is_last: bool,
}

impl ReadLive {
    /// Plays `front`, of which nothing is lost, then reads `block` bytes at a time, with a queue of `blocks` of them.
    pub fn new(front: Arc<[u8]>, reader: impl Read + Send + 'static, block: usize, blocks: usize) -> Self {
        Self::with_gaps(front, reader, None, block, blocks)
    }

    /// The same for a reader that tells what is missing.
    pub fn with_gaps(
        front: Arc<[u8]>,
        reader: impl Read + Send + 'static,
        gaps: Option<Gaps>,
        block: usize,
        blocks: usize,
    ) -> Self {
        // Among what was read before, nobody knows where.
        let lost_before = gaps.as_ref().map_or(0, Gaps::take);
        let whole = front.len() - front.len().checked_rem(block).unwrap_or(0);
        let mut begun = Cursor::new(Arc::clone(&front));
        begun.set_position(whole as u64);
        let mut reader = begun.chain(reader);
        let rest = Arc::<Mutex<(Vec<u8>, u64)>>::default();
        let (end, mut filled) = (Arc::clone(&rest), 0);
        let filled_up = Arc::<AtomicU64>::default();
        let silence = Arc::clone(&filled_up);
        // Missing before the block that is being filled.
        let mut before = 0;
        let fill = move |block: &mut [u8]| {
            let outcome = match reader.read(&mut block[filled..]) {
                Ok(bytes @ 1..) => {
                    filled = (filled + bytes) % block.len();
                    let lost = if filled == 0 { std::mem::take(&mut before) } else { 0 };
                    return Ok(if filled == 0 { Received::Frame { lost } } else { Received::Nothing });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    let Some(gaps) = &gaps else { return Ok(Received::Nothing) };
                    let missing = gaps.take();
                    if filled == 0 || missing == 0 {
                        before += missing;
                        return Ok(Received::Nothing);
                    }
                    let inside = missing.min((block.len() - filled) as u64);
                    block[filled..][..inside as usize].fill(gaps.filler());
                    silence.fetch_add(inside, Ordering::Relaxed);
                    filled = (filled + inside as usize) % block.len();
                    if filled > 0 {
                        return Ok(Received::Nothing);
                    }
                    return Ok(Received::Frame { lost: std::mem::replace(&mut before, missing - inside) });
                }
                Ok(0) => Ok(Received::End),
                Err(error) => Err(error.into()),
            };
            let missing = std::mem::take(&mut before);
            silence.fetch_add(missing, Ordering::Relaxed);
            *end.lock().unwrap_or_else(PoisonError::into_inner) = (block[..filled].to_vec(), missing);
            filled = 0;
            outcome
        };
        let live = source::live(block, blocks, Box::new(fill) as Fill);
        Self {
            front,
            played: 0,
            whole,
            live,
            heard: VecDeque::new(),
            marked: 0,
            filled_up,
            lost_before,
            rest,
            ended: false,
            fault: None,
        }
    }

    /// Begins to read now, not with the first block that is asked for: so much as the queue holds waits there.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn listen(&mut self) -> Result<()> {
        self.live.listen()
    }

    /// Plays so many bytes of the front at most.
    fn play_front(&mut self, bytes: usize) -> &[u8] {
        let from = self.played;
        self.played = self.whole.min(from + bytes);
        &self.front[from..self.played]
    }

    /// Lets a block come; `false` when none has after such a wait. Behind the last one come empty ones.
    fn hear(&mut self, wait: Duration) -> bool {
        let heard = if self.ended { Ok(Heard::End) } else { self.live.hear(wait) };
        let (bytes, lost, is_last) = match heard {
            Ok(Heard::Block(bytes, lost)) => (bytes, lost, false),
            Ok(Heard::Nothing) => return false,
            Ok(Heard::End) | Err(_) => {
                self.fault = heard.err().or(self.fault.take());
                self.ended = true;
                let (rest, missing) = std::mem::take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
                (rest.into(), self.live.lost() - self.marked + missing, true)
            }
        };
        self.marked = self.live.lost();
        self.heard.push_back(Block { bytes, played: 0, lost, is_last });
        true
    }
}

impl Task for ReadLive {
    type In = ();
    type Out = (Out<u8>, Out<u32>, Out<u64>);

    fn name(&self) -> String {
        "read".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize, usize)> {
        let (block, one) = self.live.lens(())?;
        if u32::try_from(block).is_err() {
            return Err(Error::new(format!("a block of {block} bytes is too large: at most 4 GiB")));
        }
        Ok((block, 1, one))
    }

    fn run(&mut self, (): (), (block, filled, lost): (&mut [u8], &mut [u32], &mut [u64])) -> Result<Flow> {
        let front = self.play_front(block.len());
        if !front.is_empty() {
            block.copy_from_slice(front);
            (filled[0], lost[0]) = (block.len() as u32, 0);
            return Ok(Flow::Next);
        }
        if !self.hear(LOOK) {
            return Ok(Flow::Skip);
        }
        if let Some(Block { bytes, lost: before, .. }) = self.heard.pop_front() {
            (filled[0], lost[0]) = (bytes.len() as u32, before);
            block[..bytes.len()].copy_from_slice(&bytes);
            block[bytes.len()..].fill(0);
            self.live.give_back(bytes);
        }
        Ok(Flow::Next)
    }

    fn lost(&self) -> u64 {
        self.lost_before + self.live.lost() + self.filled_up.load(Ordering::Relaxed)
    }

    fn finish(&mut self) -> Result<()> {
        let ended = self.live.finish();
        self.fault.take().map_or(ended, Err)
    }

    fn reset(&mut self) -> Result<()> {
        self.live.reset()?;
        self.heard.clear();
        (self.marked, self.lost_before, self.ended) = (0, 0, false);
        self.filled_up.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Bytes as they are wanted: a block may be played in parts, and several at once.
impl Feed for ReadLive {
    fn is_ready(&mut self, bytes: usize) -> bool {
        let (mut ready, mut next) = (self.whole - self.played, 0);
        if ready > 0 {
            return ready >= bytes;
        }
        while ready < bytes {
            if next == self.heard.len() && !self.hear(Duration::ZERO) {
                return false;
            }
            let block = &self.heard[next];
            if block.lost > 0 || block.is_last {
                return false;
            }
            ready += block.bytes.len() - block.played;
            next += 1;
        }
        true
    }

    fn fill(&mut self, space: &mut [u8]) -> Result<Option<Fed>> {
        let mut fed = Fed { bytes: self.play_front(space.len()).len(), lost: 0, ended: false };
        if fed.bytes > 0 {
            space[..fed.bytes].copy_from_slice(&self.front[self.played - fed.bytes..self.played]);
            return Ok(Some(fed));
        }
        while fed.bytes < space.len() && !fed.ended {
            let wait = if fed.bytes == 0 { LOOK } else { Duration::ZERO };
            if self.heard.is_empty() && !self.hear(wait) {
                return Ok((fed.bytes > 0).then_some(fed));
            }
            let Some(block) = self.heard.front_mut().filter(|block| block.lost == 0 || fed.bytes == 0) else { break };
            fed.lost += std::mem::take(&mut block.lost);
            let (from, to) = (&block.bytes[block.played..], &mut space[fed.bytes..]);
            let count = from.len().min(to.len());
            to[..count].copy_from_slice(&from[..count]);
            fed.bytes += count;
            block.played += count;
            if block.played == block.bytes.len()
                && let Some(played) = self.heard.pop_front()
            {
                fed.ended = played.is_last;
                self.live.give_back(played.bytes);
            }
        }
        Ok(Some(fed))
    }

    fn lost(&self) -> u64 {
        Task::lost(self)
    }

    fn finish(&mut self) -> Result<()> {
        Task::finish(self)
    }

    fn reset(&mut self) -> Result<()> {
        Task::reset(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bief::{Chain, sink};

    /// Gives bytes three at a time, then fails, or ends.
    struct Drip {
        bytes: std::ops::Range<u8>,
        fails: bool,
    }

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.bytes.is_empty() && self.fails {
                return Err(std::io::Error::other("the radio is gone"));
            }
            Ok(buffer.iter_mut().zip(self.bytes.by_ref().take(3)).map(|(to, byte)| *to = byte).count())
        }
    }

    /// What comes of a front of so many bytes and what drips after it: all blocks, and how many bytes are in each.
    fn heard(front: u8, fails: bool) -> (Vec<u8>, Vec<u32>, Result<bief::Report>) {
        let drip = Drip { bytes: front..50, fails };
        let mut chain = Chain::new();
        let (bytes, filled, _) = chain.add(ReadLive::new((0..front).collect(), drip, 8, 16), ());
        let ((collect, all), (count, counts)) = (sink::collect(), sink::collect());
        chain.add(collect, &bytes);
        chain.add(count, &filled);
        chain.add(sink::for_each(|filled: &[u32]| Ok(if filled[0] == 0 { Flow::Stop } else { Flow::Next })), &filled);
        let report = chain.build().unwrap().run();
        (all.take(), counts.take(), report)
    }

    #[test]
    fn front_and_the_rest_make_one_stream() {
        for front in 0..=50 {
            for fails in [false, true] {
                let (bytes, counts, report) = heard(front, fails);
                assert_eq!(counts, [8, 8, 8, 8, 8, 8, 2, 0], "front {front}");
                assert_eq!(bytes[..50], (0..50).collect::<Vec<_>>(), "front {front}");
                match report {
                    Ok(report) => assert_eq!((report.lost, fails), (0, false)),
                    Err(error) => assert!(error.to_string().contains("the radio is gone") && fails, "{error}"),
                }
            }
        }
    }

    /// Gives parts of a stream, and tells what is missing before each.
    struct Holes {
        parts: std::vec::IntoIter<(u64, &'static [u8])>,
        part: &'static [u8],
        gaps: Gaps,
    }

    impl Read for Holes {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.part.is_empty()
                && let Some((missing, part)) = self.parts.next()
            {
                self.part = part;
                self.gaps.lose(missing);
                return Err(ErrorKind::Interrupted.into());
            }
            self.part.read(buffer)
        }
    }

    #[test]
    fn what_is_missing_is_marked_at_its_place() {
        let gaps = Gaps::new(9);
        let parts: Vec<(u64, &[u8])> =
            vec![(0, &[1]), (2, &[4]), (5, &[10, 11, 12]), (4, &[17, 18, 19, 20]), (0, &[21]), (1, &[23])];
        let holes = Holes { parts: parts.into_iter(), part: &[], gaps: gaps.clone() };
        gaps.lose(6);
        let mut chain = Chain::new();
        let (bytes, filled, lost) = chain.add(ReadLive::with_gaps([].into(), holes, Some(gaps.clone()), 4, 64), ());
        let ((collect, all), (mark, marks)) = (sink::collect(), sink::collect());
        chain.add(collect, &bytes);
        chain.add(mark, &lost);
        chain.add(sink::for_each(|filled: &[u32]| Ok(if filled[0] == 0 { Flow::Stop } else { Flow::Next })), &filled);
        let report = chain.build().unwrap().run().unwrap();
        // Bytes are their places in the stream, counted from 1; 5 of those missing lie in one block, and 9 stands for others.
        assert_eq!(all.take()[..16], [1, 9, 9, 4, 10, 11, 12, 9, 17, 18, 19, 20, 21, 9, 23, 0]);
        assert_eq!(marks.take()[..4], [0, 5, 3, 0]);
        assert_eq!((report.lost, gaps.total()), (6 + 12, 6 + 12));
    }

    /// What a feed gives, so many bytes at a time, with what is lost before each.
    fn fed(mut feed: ReadLive, mut size: impl FnMut() -> usize) -> (Vec<u8>, Vec<(usize, u64)>) {
        let (mut bytes, mut lost) = (Vec::new(), Vec::new());
        loop {
            let mut space = vec![0; size()];
            let is_ready = feed.is_ready(space.len());
            let Some(fed) = feed.fill(&mut space).unwrap() else { continue };
            assert!(!is_ready || (fed.bytes, fed.lost) == (space.len(), 0));
            if fed.lost > 0 {
                lost.push((bytes.len(), fed.lost));
            }
            bytes.extend_from_slice(&space[..fed.bytes]);
            if fed.ended {
                return (bytes, lost);
            }
        }
    }

    #[test]
    fn a_feed_gives_blocks_in_any_parts() {
        let mut random = fastrand::Rng::with_seed(1);
        for front in 0..=50 {
            for size in 1..30 {
                let drip = Drip { bytes: front..50, fails: false };
                let feed = ReadLive::new((0..front).collect(), drip, 8, 16);
                let sizes = || if size == 29 { random.usize(1..40) } else { size };
                assert_eq!(fed(feed, sizes), ((0..50).collect(), vec![]), "front {front}, {size} at a time");
            }
        }
    }

    #[test]
    fn a_feed_tells_what_is_missing_at_its_place() {
        for size in [1, 3, 4, 7, 40] {
            let gaps = Gaps::new(9);
            let parts: Vec<(u64, &[u8])> = vec![(0, &[1, 2, 3, 4]), (5, &[10, 11]), (2, &[14]), (4, &[19, 20])];
            let holes = Holes { parts: parts.into_iter(), part: &[], gaps: gaps.clone() };
            let feed = ReadLive::with_gaps([].into(), holes, Some(gaps.clone()), 4, 64);
            // Of the last gap three bytes fill up a block, and one is missing before the next.
            let (bytes, lost) = fed(feed, || size);
            assert_eq!(
                (&bytes[..], &lost[..]),
                (&[1, 2, 3, 4, 10, 11, 9, 9, 14, 9, 9, 9, 19, 20][..], &[(4, 5), (12, 1)][..])
            );
        }
    }

    #[test]
    fn blocks_that_cannot_be_are_refused() {
        let refused = |block, blocks| {
            let mut chain = Chain::new();
            chain.add(ReadLive::new(Arc::new([1]), std::io::empty(), block, blocks), ());
            chain.build().unwrap_err().to_string()
        };
        assert!(refused(0, 1).contains("give a length of at least 1"));
        assert!(refused(1, 0).contains("give it at least 1"));
        assert!(refused(1 << 32, 1).contains("at most 4 GiB"));
    }
}
