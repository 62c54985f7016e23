//! The DVB-S2 receiver: a recording becomes a transport stream.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use bief::schedule::Profile;
use bief::{Chain, Result, Wire};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, Lock, Modcod, NoSignal, Pls, acquire};
use bief_dsp::filter::MatchedFilter;
use num_complex::Complex32;

use super::cut::CutFrames;
use super::decode::{DecodeBch, DecodeLdpc};
use super::deliver::WriteTransportStream;
use super::demap::{Demap, TakePayload};
use super::encode::ScrambleBb;
use super::observe::Observe;
use super::status::Status;
use super::symbols::{CorrectPhase, DescramblePl, FilterSymbols, MeasureLevel, RemoveCarrier};
use crate::files::ReadBlocks;
use crate::iq::{Convert, SampleFormat};
use crate::live::ReadLive;
use crate::recording::Recording;

/// Roll-off that symbols are filtered with: a sender's 0.20 or 0.35 costs 0.03 dB at most.
const ROLL_OFF: f64 = 0.25;
/// Symbols that are searched for a signal at a time, and looked at twice when there is one.
const SEARCHED_SYMBOLS: usize = 500_000;
/// Symbols of the longest PLFRAME and a header: what two searches share, so that none cuts a frame in two.
const SHARED_SYMBOLS: usize = 34_000;
/// Blocks, each about a PLFRAME, that wait between live input and the receiver.
const LIVE_BLOCKS: usize = 256;
/// Iterations after which a frame is given up.
const MAX_ITERATIONS: u32 = 25;

/// What this build decodes.
const DECODED: [(&str, FrameSize); 1] = [("qpsk-8/9", FrameSize::Short)];

/// Why nothing can be received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Samples per symbol that cannot be received.
    #[error("{0} samples per symbol: give 1.5 to 8 (two or more work best)")]
    Rate(f64),
    /// The recording cannot be read.
    #[error("{name}: {source}")]
    Io {
        /// The recording.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// No signal in the whole recording.
    #[error(
        "{name}: no DVB-S2 signal in {samples} samples at {samples_per_symbol} per symbol: {reason}. If the rate is wrong, give \
         --sps or --symbol-rate; if the sample format is, --format"
    )]
    NoSignal {
        /// The recording.
        name: String,
        /// Samples searched.
        samples: u64,
        /// Samples per symbol at which it was searched.
        samples_per_symbol: f64,
        /// Why the last search failed.
        reason: NoSignal,
    },
    /// A signal that this build does not decode.
    #[error("{name}: {found} found in the header; this build decodes {}", decoded())]
    NotDecoded {
        /// The recording.
        name: String,
        /// The signal.
        found: Pls,
    },
}

fn decoded() -> String {
    let name = |(modcod, size): &(&str, FrameSize)| format!("{} {size}", modcod.to_uppercase().replace('-', " "));
    DECODED.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn is_decoded(pls: Pls) -> bool {
    let wanted = |modcod: Modcod| DECODED.contains(&(modcod.name().as_str(), pls.frame_size()));
    pls.modcod().is_some_and(wanted)
}

/// A signal that was found, ready to be received from the first whole frame on.
///
/// ```
/// use std::sync::Arc;
/// use bief_radio::dvbs2::{Receiver, Status};
/// use bief_radio::{Recording, SampleFormat};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let receiver = Receiver::find(recording, 2.0, |_| ()).unwrap();
/// assert_eq!(receiver.pls().to_string(), "QPSK 8/9 short, pilots");
///
/// let status = Arc::new(Status::default());
/// receiver.chain(std::io::sink(), Arc::clone(&status))?.build()?.run()?;
/// assert_eq!(status.figures().packet_errors, 0);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Receiver {
    filter: MatchedFilter,
    lock: Lock,
    format: SampleFormat,
    /// The samples that were searched, to be played again.
    front: Arc<[u8]>,
    rest: Rest,
}

/// The samples that were not searched.
enum Rest {
    /// They wait until they are read.
    Waiting(Box<dyn Read + Send>),
    Live(Box<ReadLive>),
}

impl Receiver {
    /// Searches a recording for a signal, a bounded part at a time; `progress` hears how many bytes were read.
    ///
    /// # Errors
    /// A recording without a signal, with one that this build does not decode, or that cannot be read.
    pub fn find(
        recording: Recording,
        samples_per_symbol: f64,
        mut progress: impl FnMut(u64),
    ) -> Result<Self, ReceiveError> {
        let Recording { name, format, mut reader, .. } = recording;
        if !(1.5..=8.0).contains(&samples_per_symbol) {
            return Err(ReceiveError::Rate(samples_per_symbol));
        }
        let filter = MatchedFilter::new(ROLL_OFF, samples_per_symbol);
        let bytes_of = |symbols: usize| (symbols as f64 * samples_per_symbol) as usize * format.bytes();
        let mut front = Vec::new();
        let mut samples = Vec::new();
        let mut read = 0;
        loop {
            let wanted = (bytes_of(SEARCHED_SYMBOLS) - front.len()) as u64;
            let got = (&mut reader)
                .take(wanted)
                .read_to_end(&mut front)
                .map_err(|source| ReceiveError::Io { name: name.clone(), source })?;
            read += got as u64;
            progress(read);
            let whole = front.len() / format.bytes();
            samples.resize(whole, Complex32::ZERO);
            format.read(&front[..whole * format.bytes()], &mut samples);
            match acquire(&filter, &samples, PlScrambler::broadcast()) {
                Ok(lock) if is_decoded(lock.pls) => {
                    return Ok(Self { filter, lock, format, front: front.into(), rest: Rest::Waiting(reader) });
                }
                Ok(lock) => return Err(ReceiveError::NotDecoded { name, found: lock.pls }),
                Err(reason) if (got as u64) < wanted => {
                    let samples = read / format.bytes() as u64;
                    return Err(ReceiveError::NoSignal { name, samples, samples_per_symbol, reason });
                }
                Err(_) => drop(front.drain(..front.len() - bytes_of(SHARED_SYMBOLS))),
            }
        }
    }

    /// Lets the rest of the recording, which has waited while the signal was searched for, wait no more: from now on it is read
    /// on a thread of its own, as fast as it comes (from a radio). What the receiver is too slow for is dropped: it is counted in
    /// [`Figures::lost_samples`](super::Figures) and, in bytes, in [`Report::lost`](bief::Report::lost), and costs the frames that
    /// it was part of and no other.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn live(self) -> Result<Self> {
        let block = self.cut(Arc::default())?.longest_block() * self.format.bytes();
        let rest = match self.rest {
            Rest::Waiting(reader) => {
                let mut read = Box::new(ReadLive::new(Arc::clone(&self.front), reader, block, LIVE_BLOCKS));
                read.listen()?;
                Rest::Live(read)
            }
            live @ Rest::Live(_) => live,
        };
        Ok(Self { rest, ..self })
    }

    /// MODCOD, frame size and pilots of the signal.
    pub fn pls(&self) -> Pls {
        self.lock.pls
    }

    /// Information bits of a PLFRAME: those of a BBFRAME.
    pub fn bits_per_frame(&self) -> u64 {
        self.lock.pls.fec().map_or(0, |fec| fec.kbch as u64)
    }

    /// Runs the chain on the part of the recording that was searched, and times its tasks; up to `executions` frames count.
    ///
    /// # Errors
    /// Too few samples to measure anything.
    pub fn profile(&self, executions: usize) -> Result<Profile> {
        let front = Rest::Waiting(Box::new(io::empty()));
        let profile = self.chain_from(front, io::sink(), Arc::default())?.build()?.profile(executions)?;
        Ok(profile.with_bits_per_frame(self.bits_per_frame())?)
    }

    /// The chain that receives the whole recording, writes packets to `out`, and counts in `status`.
    ///
    /// # Errors
    /// None in practice: a signal that was found can be received.
    pub fn chain(mut self, out: impl Write + Send + 'static, status: Arc<Status>) -> Result<Chain> {
        let rest = std::mem::replace(&mut self.rest, Rest::Waiting(Box::new(io::empty())));
        self.chain_from(rest, out, status)
    }

    fn chain_from(&self, rest: Rest, out: impl Write + Send + 'static, status: Arc<Status>) -> Result<Chain> {
        let cut = self.cut(Arc::clone(&status))?;
        let mut rx = Chain::new();
        match rest {
            Rest::Waiting(rest) => {
                let input = Cursor::new(Arc::clone(&self.front)).chain(rest);
                let (block, filled) = rx.add(ReadBlocks::new(input, cut.longest_block() * self.format.bytes()), ());
                let nothing_lost = rx.constant(&[0]);
                self.receive(&mut rx, (&block, &filled, &nothing_lost), cut, out, status)?;
            }
            Rest::Live(read) => {
                let (block, filled, lost) = rx.add(*read, ());
                self.receive(&mut rx, (&block, &filled, &lost), cut, out, status)?;
            }
        }
        Ok(rx)
    }

    fn cut(&self, status: Arc<Status>) -> Result<CutFrames> {
        CutFrames::new(self.filter.clone(), &self.lock, self.format.bytes(), status)
    }

    /// Adds what follows the source: its blocks, the bytes in each, and those lost before each.
    fn receive(
        &self,
        rx: &mut Chain,
        (block, filled, lost): (&Wire<u8>, &Wire<u32>, &Wire<u64>),
        cut: CutFrames,
        out: impl Write + Send + 'static,
        status: Arc<Status>,
    ) -> Result<()> {
        let pls = self.lock.pls;
        let (size, modcod) = (pls.frame_size(), pls.modcod().expect("only frames with data are decoded"));
        let rate = modcod.rate();

        let samples = rx.add(Convert::new(self.format), block);
        let (mut window, sync) = rx.add(cut, (&samples, filled, lost));
        rx.add(RemoveCarrier, (&mut window, &sync));
        let mut symbols = rx.add(FilterSymbols::new(self.filter.clone(), pls)?, (&window, &sync));
        rx.add(CorrectPhase::new(pls)?, &mut symbols);
        let level = rx.add(MeasureLevel::new(pls)?, &mut symbols);
        rx.add(DescramblePl::new(pls)?, &mut symbols);
        let payload = rx.add(TakePayload::new(pls)?, &symbols);
        let llrs = rx.add(Demap::new(modcod, size), (&payload, &level));
        let (mut bits, mut decoding) = rx.add(DecodeLdpc::new(size, rate, MAX_ITERATIONS)?, &llrs);
        rx.add(DecodeBch::new(size, rate)?, (&mut bits, &mut decoding));
        rx.add(ScrambleBb::new(size, rate)?, &mut bits);
        rx.add(Observe::new(Arc::clone(&status), self.filter.samples_per_symbol()), (&sync, &level, &decoding));
        rx.add(WriteTransportStream::new(out, size, rate, status)?, (&bits, &decoding));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Mutex;

    use bief::{Flow, Out, Task};
    use bief_dsp::dvbs2::RollOff;
    use bief_dsp::pulse::Shaper;

    use super::super::status::Figures;
    use super::super::transmitter::Transmitter;
    use super::*;

    const PACKET: usize = 188;
    /// Transport-stream bytes, and samples, of a frame.
    const FRAME_BYTES: usize = 14_152 / 8;
    const FRAME: f64 = 2.0 * 8370.0;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Plays the kept ranges of a recording, and marks what is missing between them, or not.
    struct Holed {
        bytes: Arc<[u8]>,
        kept: Vec<Range<usize>>,
        block: usize,
        at: usize,
        marks: bool,
    }

    impl Task for Holed {
        type In = ();
        type Out = (Out<u8>, Out<u32>, Out<u64>);
        fn lens(&self, (): ()) -> Result<(usize, usize, usize)> {
            Ok((self.block, 1, 1))
        }
        fn run(&mut self, (): (), (block, filled, lost): (&mut [u8], &mut [u32], &mut [u64])) -> Result<Flow> {
            let before = self.at;
            if let Some(range) = self.kept.first_mut() {
                self.at = range.start;
                let count = range.len().min(block.len());
                block[..count].copy_from_slice(&self.bytes[range.start..range.start + count]);
                (filled[0], lost[0]) = (count as u32, (range.start - before) as u64);
                range.start += count;
                self.at = range.start;
                if range.start == range.end {
                    self.kept.remove(0);
                }
            } else {
                (filled[0], lost[0]) = (0, 0);
            }
            lost[0] *= u64::from(self.marks);
            Ok(Flow::Next)
        }
    }

    /// A recording of 8-bit samples, two per symbol, of QPSK 8/9 short with pilots, and where its frames are.
    struct Sample {
        bytes: Arc<[u8]>,
        /// Where the first whole frame begins, in samples.
        first: f64,
        /// Samples of a frame.
        frame: f64,
        frames: usize,
        /// Where the first whole frame begins in the transport stream, in bytes.
        offset: usize,
        /// All packets of all whole frames; the number of the first.
        packets: Vec<Vec<u8>>,
        first_packet: usize,
    }

    impl Sample {
        fn new(bytes: Vec<u8>, first: f64, frame: f64, offset: usize) -> Self {
            let frames = ((bytes.len() / 2) as f64 - first) / frame;
            let mut sample = Self {
                bytes: bytes.into(),
                first,
                frame,
                frames: frames as usize,
                offset,
                packets: Vec::new(),
                first_packet: offset.div_ceil(PACKET),
            };
            let (packets, figures) = sample.receive(std::slice::from_ref(&(0..sample.bytes.len())), true);
            assert_eq!((figures.frames, figures.packet_errors), (sample.frames as u64, 0));
            sample.packets = packets;
            sample
        }

        /// 41 frames, 8.5 dB, 20 ppm.
        fn shipped() -> Self {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-data");
            let clock = 1.0 - 20e-6;
            Self::new(std::fs::read(path).unwrap(), 2.0 * 1133.0 * clock, FRAME * clock, FRAME_BYTES)
        }

        /// So many frames without noise.
        fn made(frames: usize) -> Self {
            let pls = Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, true);
            let (roll_off, format) = (RollOff::R20, SampleFormat::Ci8);
            let transmitter = Transmitter { pls, roll_off, samples_per_symbol: 2.0, format, level: 0.35 };
            let mut random = fastrand::Rng::with_seed(9);
            let mut stream: Vec<u8> = (0..frames * FRAME_BYTES / PACKET * PACKET).map(|_| random.u8(..)).collect();
            for packet in stream.chunks_exact_mut(PACKET) {
                (packet[0], packet[1]) = (0x47, packet[1] & 0x7F);
            }
            let out = Written::default();
            transmitter.chain(Cursor::new(stream), out.clone()).unwrap().build().unwrap().run().unwrap();
            let bytes = std::mem::take(&mut *out.0.lock().unwrap());
            Self::new(bytes, 2.0 * Shaper::DELAY as f64, FRAME, 0)
        }

        fn receive(&self, kept: &[Range<usize>], marks: bool) -> (Vec<Vec<u8>>, Figures) {
            let recording = Recording::from_memory("sample", SampleFormat::Ci8, Arc::clone(&self.bytes));
            let receiver = Receiver::find(recording, 2.0, |_| ()).unwrap();
            let (out, status) = (Written::default(), Arc::new(Status::default()));
            let cut = receiver.cut(Arc::clone(&status)).unwrap();
            let block = cut.longest_block() * 2;
            let mut rx = Chain::new();
            let holed = Holed { bytes: Arc::clone(&self.bytes), kept: kept.to_vec(), block, at: 0, marks };
            let (block, filled, lost) = rx.add(holed, ());
            receiver.receive(&mut rx, (&block, &filled, &lost), cut, out.clone(), Arc::clone(&status)).unwrap();
            rx.build().unwrap().run().unwrap();
            let packets = out.0.lock().unwrap().chunks(PACKET).map(<[u8]>::to_vec).collect();
            (packets, status.figures())
        }

        /// For each frame, whether all of its samples are in one range; `None` where a range ends so near to a frame's end that
        /// either would be right.
        fn whole(&self, kept: &[Range<usize>]) -> Option<Vec<bool>> {
            let near = 8.0;
            let whole = |frame: usize| {
                let start = self.first + frame as f64 * self.frame;
                let within = |slack: f64| {
                    let contains = |range: &Range<usize>| {
                        range.start as f64 / 2.0 <= start + slack
                            && start + self.frame - slack <= range.end as f64 / 2.0
                    };
                    kept.iter().any(contains)
                };
                (within(near) == within(-near)).then(|| within(0.0))
            };
            (0..self.frames).map(whole).collect()
        }

        /// The packets whose every byte is in a whole frame.
        fn expected(&self, whole: &[bool]) -> Vec<Vec<u8>> {
            let is_there = |packet: usize| {
                let bytes = (packet + self.first_packet) * PACKET - self.offset;
                (bytes / FRAME_BYTES..=(bytes + PACKET - 1) / FRAME_BYTES).all(|frame| whole[frame])
            };
            (0..self.packets.len())
                .filter(|&packet| is_there(packet))
                .map(|packet| self.packets[packet].clone())
                .collect()
        }
    }

    /// Ranges of whole samples, of some blocks each, with `gap` samples lost between them.
    fn ranges(bytes: usize, mut blocks: impl FnMut() -> usize, mut gap: impl FnMut() -> usize) -> Vec<Range<usize>> {
        let block = 2 * 16_733;
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < bytes {
            let end = (start + blocks() * block).min(bytes);
            ranges.push(start..end);
            start = end + 2 * gap();
        }
        ranges
    }

    #[test]
    fn marked_losses_cost_the_frames_that_they_hit_and_no_other() {
        let sample = Sample::shipped();
        let mut random = fastrand::Rng::with_seed(1);
        let (mut tried, mut with, mut without) = (0, 0, 0);
        while tried < 12 {
            let mut lengths = random.fork();
            let longest = [20, 1000, 20_000, 100_000][tried % 4];
            let kept = ranges(sample.bytes.len(), || lengths.usize(3..9), || random.usize(1..longest));
            let Some(whole) = sample.whole(&kept) else { continue };
            let expected = sample.expected(&whole);
            let (packets, figures) = sample.receive(&kept, true);
            let lost: usize = kept.windows(2).map(|pair| pair[1].start - pair[0].end).sum();
            assert_eq!(figures.lost_samples as usize, lost / 2);
            assert_eq!(figures.frames as usize, whole.iter().filter(|&&whole| whole).count(), "{kept:?} {figures:?}");
            assert!(packets == expected, "{kept:?}: {} packets, not {}; {figures:?}", packets.len(), expected.len());
            with += packets.len();
            let (packets, _) = sample.receive(&kept, false);
            without += packets.iter().filter(|packet| expected.contains(packet)).count();
            tried += 1;
        }
        println!("{with} packets with marks, {without} without");
        assert!(without < with);
    }

    #[test]
    fn after_a_long_loss_the_signal_is_searched_for() {
        let sample = Sample::made(100);
        let kept = [0..2 * 16_733 * 8, 2 * 16_733 * 8 + 2 * 1_200_001..sample.bytes.len()];
        let whole = sample.whole(&kept).unwrap();
        let (packets, figures) = sample.receive(&kept, true);
        assert!(packets == sample.expected(&whole), "{} packets; {figures:?}", packets.len());
        assert_eq!(figures.losses, 1);
    }
}
