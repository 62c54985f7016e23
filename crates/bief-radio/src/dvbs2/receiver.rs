//! The DVB-S2 receiver: a recording becomes a transport stream.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use bief::kinds::Gaps;
use bief::{Application, Chain, Error, Program, Result, VarWire, Wire};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSync, Lock, MAX_SYMBOLS, NoSignal, Pls, SignalLevel, StreamId};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::impulses::remove_impulses;
use bief_dsp::symbol_rate::find_symbol_rate;
use num_complex::Complex32;

use super::cut::{Again, CutFrames, acquire_first, longest_window, most_samples, passed_over};
use super::decode::{DecodeBch, DecodeLdpc, Decoding};
use super::deliver::Deliver;
use super::demap::Demap;
use super::encode::ScrambleBb;
use super::keep_symbols::KeepSymbols;
use super::modcods::Modcods;
use super::observe::Observe;
use super::read_frames::{PrefetchFrames, ReadFrames};
use super::roll_off::{ROLL_OFF, suited};
use super::source::Source;
use super::stream::{Buffered, InPlace, Stream};
use super::symbols::{CorrectPhase, FilterSymbols};
use super::write_bbframes::WriteBbframes;
use crate::feed::{Feed, Waiting};
use crate::ip::{DeliverIp, IpOutput};
use crate::iq::SampleFormat;
use crate::keep_spectrum::KeepRecordedSpectrum;
use crate::live::ReadLive;
use crate::recording::{Recording, Samples, Stored};

/// Symbols that are searched for a signal at a time at most, and looked at twice when there is one.
const SEARCHED_SYMBOLS: usize = 500_000;
/// Symbols with which the search begins where more must be waited for, and how many more each further one has: a signal is found
/// half a frame after its second header at the latest.
const FIRST_SEARCHED: usize = 4_000;
const SEARCH_GROWTH: f64 = 1.25;
/// Samples per symbol, about, that are usual where nothing is known.
const USUAL_RATE: f64 = 4.0;
/// Symbols of the longest PLFRAME and a header: what two searches share, so that none cuts a frame in two.
const SHARED_SYMBOLS: usize = MAX_SYMBOLS + 1000;
/// The least length of a block of live input: in symbols, and, where the sample rate is known, in seconds.
const LIVE_SYMBOLS: usize = 1024;
const LIVE_SECONDS: f64 = 50e-6;
/// The most bytes of a block for which `LIVE_SECONDS` asks.
const LIVE_BLOCK_BYTES: usize = 1 << 20;
/// The most bytes, and blocks, that wait for the receiver.
const LIVE_BYTES: usize = 256 << 20;
const LIVE_BLOCKS: usize = 8192;
/// Iterations after which a frame is given up.
pub(super) const MAX_ITERATIONS: u32 = 50;

/// A recording with a sample rate below this, in samples per second, tells samples per symbol: no radio samples so slowly.
pub const MIN_SAMPLE_RATE: f64 = 64.0;

/// Why nothing can be received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Samples per symbol that cannot be received.
    #[error("{0} samples per symbol: give 1.5 to 8 (two or more work best)")]
    Rate(f64),
    /// A scrambling code that does not exist.
    #[error(transparent)]
    GoldCode(#[from] bief_dsp::dvbs2::scramble::ScramblingCodeError),
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
        "{name}: no DVB-S2 signal in {samples} samples at {} per symbol: {reason}. If the rate is wrong, give \
         --sps or --symbol-rate; if the sample format is, --format",
        (.samples_per_symbol * 1e6).round() / 1e6
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
    /// Samples without a sign of symbols.
    #[error(
        "{name}: {samples} samples show no symbol clock of 1.5 to 8 samples per symbol. If you know the rate, give --sps or \
         --symbol-rate; if the sample format is wrong, --format"
    )]
    NoClock {
        /// The recording.
        name: String,
        /// Samples searched.
        samples: u64,
    },
}

impl From<ReceiveError> for Error {
    fn from(error: ReceiveError) -> Self {
        Self::from_source(error)
    }
}

/// What to receive. The default is everything, whatever its symbol rate.
///
/// ```
/// use bief_radio::dvbs2::{Modcods, Settings};
/// let settings = Settings { gold_code: 5, ..Settings::at(2.0) };
/// assert_eq!((settings.samples_per_symbol, settings.modcods), (Some(2.0), Modcods::ALL));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settings {
    /// Samples per symbol, 1.5 to 8; `None` for those that the signal shows.
    pub samples_per_symbol: Option<f64>,
    /// Gold code of the physical-layer scrambling: 0 (broadcast) to 262141.
    pub gold_code: u32,
    /// MODCODs to deliver; frames of others are passed over.
    pub modcods: Modcods,
    /// The input stream to deliver, when it is not all of them.
    pub isi: Option<u8>,
}

impl Settings {
    /// Everything, at so many samples per symbol.
    pub fn at(samples_per_symbol: f64) -> Self {
        Self { samples_per_symbol: Some(samples_per_symbol), ..Self::default() }
    }
}

/// A signal that was found, ready to be received from the first whole frame on.
///
/// ```
/// use bief::Application;
/// use bief_radio::dvbs2::{Figures, Receiver, Settings};
/// use bief_radio::Recording;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?;
/// assert_eq!(receiver.pls().to_string(), "QPSK 8/9 short, pilots");
///
/// let report = receiver.to(std::io::sink()).program()?.run()?;
/// assert_eq!(Figures::of(&report.figures).packet_errors, 0);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Receiver {
    filter: MatchedFilter,
    /// What the filter and the scrambler were made of.
    pub(super) roll_off: f64,
    pub(super) gold_code: u32,
    scrambler: Arc<PlScrambler>,
    modcods: Modcods,
    pub(super) isi: Option<u8>,
    lock: Lock,
    pub(super) format: SampleFormat,
    /// Samples that were searched in vain.
    passed_over: u64,
    samples: Found,
    /// Samples per second, where the recording tells them.
    pub(super) sample_rate: Option<f64>,
    /// Whether someone wants to see symbols, and the spectrum.
    pub(super) keeps_symbols: bool,
    pub(super) keeps_spectrum: bool,
    /// Whether windows of a recording in memory are copied.
    reads_windows: bool,
    /// Frames of a batch.
    pub(super) batch: usize,
    /// Where input streams go, until it runs.
    deliver: Option<Deliver>,
    /// Where else, and what rehearsals have in these places.
    pub(super) also: Also,
}

/// What goes out beside input streams.
#[derive(Default)]
pub(super) struct Also {
    /// IP packets, of a transport stream those of one PID where one is chosen.
    pub(super) ip: Option<(IpOutput, Option<u16>)>,
    /// BBFRAMEs, with headers of a receiver or without.
    pub(super) bbframes: Option<(Box<dyn Write + Send>, bool)>,
}

impl Also {
    /// The same tasks, which write nothing.
    fn rehearsed(&self) -> Self {
        Self {
            ip: self.ip.as_ref().map(|(_, pid)| (IpOutput::pcap(io::sink()), *pid)),
            bbframes: self.bbframes.as_ref().map(|(_, has_l3)| (Box::new(io::sink()) as _, *has_l3)),
        }
    }
}

/// What the decoders make.
struct Decoded {
    bbframes: VarWire<u8>,
    decoding: Wire<Decoding>,
    pls: Wire<Pls>,
    level: Wire<SignalLevel>,
}

/// The samples of a signal.
enum Found {
    /// They can be read at any place; those that the signal was found in begin with this byte.
    Stored(Stored, u64),
    /// They come once: those that were searched, and the rest.
    Once(Arc<[u8]>, Rest),
}

/// The samples that were not searched.
enum Rest {
    /// They wait until they are read.
    Waiting(Box<dyn Read + Send>, Option<Gaps>),
    Live(Box<ReadLive>),
    /// They are read elsewhere.
    Gone,
}

impl Receiver {
    /// Searches a recording for a signal, a bounded part at a time; `progress` hears how many bytes were read.
    ///
    /// What cannot be waited for (a pipe, a radio) is searched again and again as it comes, so that a signal is found with its
    /// first frames.
    ///
    /// # Errors
    /// A recording without a signal, or that cannot be read.
    pub fn find(recording: Recording, settings: Settings, mut progress: impl FnMut(u64)) -> Result<Self, ReceiveError> {
        let Settings { samples_per_symbol, gold_code, modcods, isi } = settings;
        let Recording { name, format, bytes, sample_rate, samples: source, gaps, .. } = recording;
        let (mut reader, stored) = match source {
            Samples::Stored(stored) => (Box::new(stored.reader(0)) as Box<dyn Read + Send>, Some(stored)),
            Samples::Once(reader) => (reader, None),
        };
        if let Some(rate) = samples_per_symbol.filter(|rate| !(1.5..=8.0).contains(rate)) {
            return Err(ReceiveError::Rate(rate));
        }
        let scrambler = Arc::new(PlScrambler::new(gold_code)?);
        let known = samples_per_symbol.map(|rate| MatchedFilter::new(ROLL_OFF, rate));
        let bytes_of =
            |symbols: usize| (symbols as f64 * samples_per_symbol.unwrap_or(USUAL_RATE)) as usize * format.bytes();
        let mut searched = if bytes.is_some() { SEARCHED_SYMBOLS } else { FIRST_SEARCHED };
        let mut front = Vec::new();
        let mut samples = Vec::new();
        let (mut read, mut vain) = (0, 0);
        loop {
            let wanted = bytes_of(searched).saturating_sub(front.len()) as u64;
            let got = (&mut reader)
                .take(wanted)
                .read_to_end(&mut front)
                .map_err(|source| ReceiveError::Io { name: name.clone(), source })?;
            read += got as u64;
            progress(read);
            let whole = front.len() / format.bytes();
            samples.resize(whole, Complex32::ZERO);
            format.read(&front[..whole * format.bytes()], &mut samples);
            remove_impulses(&mut samples);
            match search(known.as_ref(), &samples, &scrambler) {
                Ok((roll_off, filter, lock)) => {
                    let samples = match stored {
                        Some(stored) => Found::Stored(stored, vain as u64),
                        None => Found::Once(front.into(), Rest::Waiting(reader, gaps)),
                    };
                    let passed_over = (vain / format.bytes()) as u64 + passed_over(&lock);
                    return Ok(Self {
                        filter,
                        roll_off,
                        gold_code,
                        scrambler,
                        modcods,
                        isi,
                        lock,
                        format,
                        passed_over,
                        samples,
                        // A lower one counts samples per symbol.
                        sample_rate: sample_rate.filter(|&rate| rate >= MIN_SAMPLE_RATE),
                        keeps_symbols: false,
                        batch: 1,
                        keeps_spectrum: false,
                        reads_windows: false,
                        deliver: None,
                        also: Also::default(),
                    });
                }
                Err(failure) if (got as u64) < wanted => {
                    let samples = read / format.bytes() as u64;
                    return Err(match failure {
                        None => ReceiveError::NoClock { name, samples },
                        Some((samples_per_symbol, reason)) => {
                            ReceiveError::NoSignal { name, samples, samples_per_symbol, reason }
                        }
                    });
                }
                Err(_) if searched < SEARCHED_SYMBOLS => {
                    searched = ((searched as f64 * SEARCH_GROWTH) as usize).min(SEARCHED_SYMBOLS);
                }
                Err(_) => vain += front.drain(..front.len() - bytes_of(SHARED_SYMBOLS)).len(),
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
        let mut receiver = self.streamed()?;
        let samples = (receiver.sample_rate.unwrap_or(0.0) * LIVE_SECONDS) as usize;
        let bytes = samples.saturating_mul(receiver.format.bytes()).min(LIVE_BLOCK_BYTES);
        let block = receiver.bytes_of(LIVE_SYMBOLS).max(bytes);
        if let Found::Once(front, rest @ Rest::Waiting(..)) = &mut receiver.samples
            && let Rest::Waiting(reader, gaps) = std::mem::replace(rest, Rest::Gone)
        {
            let blocks = LIVE_BLOCKS.min(LIVE_BYTES / block);
            let mut read = Box::new(ReadLive::with_gaps(Arc::clone(front), reader, gaps, block, blocks));
            read.listen()?;
            *rest = Rest::Live(read);
        }
        Ok(receiver)
    }

    /// Lets samples that can be read at any place come once, in order, as from a pipe.
    pub(super) fn streamed(self) -> Result<Self> {
        let Found::Stored(stored, start) = &self.samples else { return Ok(self) };
        let (mut reader, mut front) = (stored.reader(*start), Vec::new());
        (&mut reader).take(self.bytes_of(SEARCHED_SYMBOLS) as u64).read_to_end(&mut front)?;
        Ok(Self { samples: Found::Once(front.into(), Rest::Waiting(Box::new(reader), None)), ..self })
    }

    /// Bytes of so many symbols.
    fn bytes_of(&self, symbols: usize) -> usize {
        (symbols as f64 * self.filter.samples_per_symbol()) as usize * self.format.bytes()
    }

    /// Keeps symbols of each frame, to be looked at: [`KeepSymbols::kept`] gets them of what the tasks tell.
    pub fn keep_symbols(self) -> Self {
        Self { keeps_symbols: true, ..self }
    }

    /// Works on so many frames together, at least 1: what a device wants, while cores want few. Each frame waits for its batch.
    #[must_use]
    pub fn batch(self, frames: usize) -> Self {
        Self { batch: frames, ..self }
    }

    /// Keeps samples of each frame, as they came, and tells their spectrum as [`KeepSpectrum`](crate::KeepSpectrum) does.
    pub fn keep_spectrum(self) -> Self {
        Self { keeps_spectrum: true, ..self }
    }

    /// Copies windows of a recording in memory, too, as those of a file are: what is measured of it then holds for files.
    pub fn read_windows(self) -> Self {
        Self { reads_windows: true, ..self }
    }

    /// Samples per symbol: those that were given, or found.
    pub fn samples_per_symbol(&self) -> f64 {
        self.filter.samples_per_symbol()
    }

    /// MODCOD, frame size and pilots of the first whole frame.
    pub fn pls(&self) -> Pls {
        self.lock.pls
    }

    /// The first tasks of a rehearsal, which receive the recording over and over: from where it was searched on as long as there is a
    /// signal. Of what comes only once it is the part that was searched.
    pub(super) fn rehearsed_source(&self, frames: u64) -> Source {
        let lock = self.lock;
        match &self.samples {
            Found::Stored(stored, start) => {
                let start = *start;
                let go_back = Box::new(move |stream: &mut InPlace| stream.begin_again(start));
                self.stored_source(stored, start, |cut| cut.repeating(Again { go_back, lock, frames }))
            }
            Found::Once(front, _) => {
                let front = Arc::clone(front);
                let feed = move || Box::new(Waiting::new(Cursor::new(Arc::clone(&front))));
                let cut = self.cut(self.buffered(feed()));
                let go_back = Box::new(move |stream: &mut Buffered| stream.begin_again(feed()));
                Source::Streamed(cut.repeating(Again { go_back, lock, frames }))
            }
        }
    }

    /// Writes the only input stream of the carrier, or the one that was asked for, to `out`. When it runs, a second stream is an
    /// error.
    pub fn to(self, out: impl Write + Send + 'static) -> Self {
        Self { deliver: Some(Deliver::single(out)), ..self }
    }

    /// Writes any number of input streams, each to what `open` gives for it when it is found.
    pub fn to_streams(self, open: impl FnMut(StreamId) -> io::Result<Box<dyn Write + Send>> + Send + 'static) -> Self {
        Self { deliver: Some(Deliver::new(open)), ..self }
    }

    /// Writes the IP packets of the carrier (GSE, MPE, ULE), too; of a transport stream those of `pid` alone, where one is chosen.
    pub fn to_ip(mut self, output: IpOutput, pid: Option<u16>) -> Self {
        self.also.ip = Some((output, pid));
        self
    }

    /// Writes the BBFRAMEs themselves, too, as [`WriteBbframes`] says: `has_l3` with a receiver's header before each.
    pub fn to_bbframes(mut self, out: impl Write + Send + 'static, has_l3: bool) -> Self {
        self.also.bbframes = Some((Box::new(out), has_l3));
        self
    }

    /// Adds the receiver to a chain, without what writes: descrambled BBFRAMEs of the whole recording, and how each was decoded, for
    /// [`Deliver`] or for tasks of one's own.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink};
    /// use bief_radio::Recording;
    /// use bief_radio::dvbs2::{Decoding, Receiver, Settings};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    /// let recording = Recording::open(path.as_ref(), None).unwrap();
    /// let receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?;
    /// let mut chain = Chain::new();
    /// let (_frames, decoding) = receiver.decode(&mut chain);
    /// let (collect, result) = sink::collect::<Decoding>();
    /// chain.add(collect, &decoding);
    /// chain.build()?.run()?;
    /// assert!(result.take().iter().all(|decoding| decoding.sound));
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn decode(mut self, chain: &mut Chain) -> (VarWire<u8>, Wire<Decoding>) {
        let source = self.source();
        let Decoded { bbframes, decoding, .. } = self.decoded(chain, source);
        (bbframes, decoding)
    }

    /// The first tasks, which receive the whole recording. What comes once is gone from here afterwards.
    pub(super) fn source(&mut self) -> Source {
        let passed_over = self.passed_over;
        let feed: Box<dyn Feed> = match &mut self.samples {
            Found::Stored(stored, start) => {
                let (stored, start) = (stored.clone(), *start);
                return self.stored_source(&stored, start, |cut| cut.behind(passed_over));
            }
            Found::Once(front, rest) => match std::mem::replace(rest, Rest::Gone) {
                Rest::Waiting(rest, _) => Box::new(Waiting::new(Cursor::new(Arc::clone(front)).chain(rest))),
                Rest::Live(read) => read,
                Rest::Gone => Box::new(Waiting::new(io::empty())),
            },
        };
        Source::Streamed(self.cut(self.buffered(feed)).behind(passed_over))
    }

    fn stored_source(
        &self,
        stored: &Stored,
        start: u64,
        set: impl FnOnce(CutFrames<InPlace>) -> CutFrames<InPlace>,
    ) -> Source {
        let each = self.format.bytes();
        let read = ReadFrames::new(stored.clone(), longest_window(&self.filter) * each, each);
        Source::Stored(set(self.cut(InPlace::new(stored.clone(), start, each))), read)
    }

    fn buffered(&self, feed: Box<dyn Feed>) -> Buffered {
        Buffered::new(feed, most_samples(&self.filter), self.format.bytes())
    }

    /// The same, with its samples elsewhere, from the first.
    #[cfg(test)]
    pub(super) fn with(self, samples: Samples) -> Self {
        let samples = match samples {
            Samples::Stored(stored) => Found::Stored(stored, 0),
            Samples::Once(reader) => Found::Once(Arc::default(), Rest::Waiting(reader, None)),
        };
        Self { samples, ..self }
    }

    /// Whether the samples can be read at any place.
    pub(super) fn is_stored(&self) -> bool {
        matches!(self.samples, Found::Stored(..))
    }

    /// What writes input streams, which is gone from here afterwards.
    pub(super) fn take_deliver(&mut self) -> Result<Deliver> {
        self.deliver.take().ok_or_else(|| {
            Error::new("the receiver has no output, or its recording was received: name an output with `to`")
        })
    }

    /// What tasks behind the source must know of the signal.
    pub(super) fn found(&self) -> (SampleFormat, MatchedFilter, Arc<PlScrambler>) {
        (self.format, self.filter.clone(), Arc::clone(&self.scrambler))
    }

    fn cut<S: Stream>(&self, stream: S) -> CutFrames<S> {
        let scrambler = Arc::clone(&self.scrambler);
        CutFrames::new(stream, self.format, self.filter.clone(), &self.lock, scrambler, self.modcods)
    }

    /// The chain behind the source.
    fn receive(&self, source: Source, deliver: Deliver, also: Also) -> Chain {
        let isi = || self.isi.into_iter();
        let mut rx = Chain::new().batch(self.batch);
        let Decoded { bbframes, decoding, pls, level } = self.decoded(&mut rx, source);
        rx.add(isi().fold(deliver, Deliver::of_stream), (&bbframes, &decoding));
        if let Some((output, pid)) = also.ip {
            let deliver = pid.into_iter().fold(DeliverIp::new(output), DeliverIp::of_pid);
            rx.add(isi().fold(deliver, DeliverIp::of_stream), (&bbframes, &decoding));
        }
        if let Some((out, has_l3)) = also.bbframes {
            let write = if has_l3 { WriteBbframes::new(out).with_l3() } else { WriteBbframes::new(out) };
            rx.add(isi().fold(write, WriteBbframes::of_stream), (&bbframes, &decoding, &pls, &level));
        }
        rx
    }

    /// Adds the chain up to symbols, where the frame of each window lies, and what kind of frame it is.
    fn symbols(&self, rx: &mut Chain, source: Source) -> (VarWire<Complex32>, Wire<Option<FrameSync>>, Wire<Pls>) {
        let source = match source {
            Source::Stored(cut, read) => match read.in_memory() {
                // Nobody else looks at windows: they may stay where they are.
                Some(recording) if !self.keeps_spectrum && !self.reads_windows => {
                    let filter = FilterSymbols::in_memory(&self.filter, self.format, Arc::clone(recording));
                    let (place, sync, pls) = rx.add(cut, ());
                    let window = rx.add(PrefetchFrames(Arc::clone(recording)), &place);
                    return (rx.add(filter, (&window, &sync)), sync, pls);
                }
                _ => Source::Stored(cut, read),
            },
            streamed => streamed,
        };
        let (window, sync, pls) = source.add(rx);
        if self.keeps_spectrum {
            rx.add(KeepRecordedSpectrum::new(self.format, self.sample_rate), &window);
        }
        (rx.add(FilterSymbols::new(&self.filter, self.format), (&window, &sync)), sync, pls)
    }

    /// Adds the chain up to BBFRAMEs, and how each was decoded.
    fn decoded(&self, rx: &mut Chain, source: Source) -> Decoded {
        let scrambler = || Arc::clone(&self.scrambler);
        let (mut symbols, sync, pls) = self.symbols(rx, source);
        let level = rx.add(CorrectPhase::new(scrambler()), (&mut symbols, &pls));
        if self.keeps_symbols {
            rx.add(KeepSymbols::new(scrambler()), (&symbols, &level, &pls));
        }
        let llrs = rx.add(Demap::new(scrambler()), (&symbols, &level, &pls));
        let (mut bits, mut decoding) = rx.add(DecodeLdpc::new(MAX_ITERATIONS), (&llrs, &pls));
        rx.add(DecodeBch::new(), (&mut bits, &mut decoding, &pls));
        rx.add(ScrambleBb, &mut bits);
        rx.add(Observe::new(self.filter.samples_per_symbol()), (&sync, &level, &decoding));
        Decoded { bbframes: bits, decoding, pls, level }
    }
}

/// The real run receives the whole recording. A rehearsal receives the front of it, over and over, and writes nothing.
impl Application for Receiver {
    fn program(&mut self) -> Result<Program> {
        let deliver = self.take_deliver()?;
        let (source, also) = (self.source(), std::mem::take(&mut self.also));
        self.receive(source, deliver, also).build()
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        let deliver = Deliver::new(|_| Ok(Box::new(io::sink())));
        self.receive(self.rehearsed_source(frames), deliver, self.also.rehearsed()).build()
    }
}

/// Finds the first signal, with the filter for it and its roll-off: for the symbol rate that is known, or those that the samples show. Else
/// the likeliest rate, and why there is no signal of it; `None` without a symbol clock.
fn search(
    known: Option<&MatchedFilter>,
    samples: &[Complex32],
    scrambler: &PlScrambler,
) -> std::result::Result<(f64, MatchedFilter, Lock), Option<(f64, NoSignal)>> {
    let filters: Vec<MatchedFilter> = match known {
        Some(filter) => vec![filter.clone()],
        None => {
            let rates = find_symbol_rate(samples).into_iter().map(|rate| rate.clamp(1.5, 8.0));
            rates.map(|rate| MatchedFilter::new(ROLL_OFF, rate)).collect()
        }
    };
    let mut failure = None;
    for filter in filters {
        match acquire_first(&filter, samples, scrambler) {
            Ok(lock) => {
                let (roll_off, filter) = suited(filter, samples, &lock, scrambler);
                return Ok((roll_off, filter, lock));
            }
            Err(reason) => failure = failure.or(Some((filter.samples_per_symbol(), reason))),
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Mutex;

    use bief_dsp::dvbs2::FrameSize;
    use bief_dsp::pulse::Shaper;

    use super::super::figures::Figures;
    use super::super::transmitter::Transmitter;
    use super::*;
    use crate::feed::Fed;

    const PACKET: usize = 188;
    /// Transport-stream bytes, and samples, of a frame.
    const FRAME_BYTES: usize = 14_152 / 8;
    const FRAME: f64 = 2.0 * 8370.0;

    #[test]
    fn a_recording_in_memory_is_filtered_where_it_lies() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-data");
        let bytes = std::fs::read(path).unwrap();
        // What the tasks are called, how many bytes go to the third, and what is received.
        let received = |recording: Recording, set: fn(Receiver) -> Receiver| {
            let out = Written::default();
            let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap();
            let mut receiver = set(receiver.to(out.clone()));
            let profile = receiver.rehearsal(5).unwrap().profile(3).unwrap();
            let names: Vec<String> = profile.tasks().iter().map(|task| task.name.clone()).collect();
            receiver.program().unwrap().run().unwrap();
            let packets = std::mem::take(&mut *out.0.lock().unwrap());
            (names, profile.tasks()[2].bytes.unwrap(), packets)
        };
        let here = || Recording::from_memory("here", SampleFormat::Ci8, bytes.clone());
        let (of_memory, crossing, packets) = received(here(), |receiver| receiver);
        assert!(crossing < 200, "{crossing} bytes");
        let (of_file, crossing, from_file) =
            received(Recording::open(path.as_ref(), None).unwrap(), |receiver| receiver);
        assert!(crossing > 30_000, "{crossing} bytes");
        assert!(packets.len() > 300 * PACKET && packets == from_file);
        // A plan for one is a plan for the other.
        assert_eq!(of_memory, of_file);
        let (names, crossing, beside) = received(here(), Receiver::keep_spectrum);
        assert_eq!(names[..3], ["cut frames", "read frames", "keep spectrum"]);
        assert!(crossing > 30_000 && beside == packets, "{crossing} bytes");
        let (names, crossing, copied) = received(here(), Receiver::read_windows);
        assert!(names == of_file && crossing > 30_000 && copied == packets, "{crossing} bytes");
    }

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
        at: usize,
        marks: bool,
        lost: u64,
    }

    impl Feed for Holed {
        fn is_ready(&mut self, _bytes: usize) -> bool {
            true
        }

        fn fill(&mut self, space: &mut [u8]) -> Result<Option<Fed>> {
            let Some(range) = self.kept.first_mut() else { return Ok(Some(Fed { bytes: 0, lost: 0, ended: true })) };
            let lost = (range.start - self.at) as u64 * u64::from(self.marks);
            let bytes = range.len().min(space.len());
            space[..bytes].copy_from_slice(&self.bytes[range.start..range.start + bytes]);
            self.lost += lost;
            range.start += bytes;
            self.at = range.start;
            if range.start == range.end {
                self.kept.remove(0);
            }
            Ok(Some(Fed { bytes, lost, ended: false }))
        }

        fn lost(&self) -> u64 {
            self.lost
        }

        fn finish(&mut self) -> Result<()> {
            Ok(())
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
            let pls = Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, true).unwrap();
            let transmitter = Transmitter { format: SampleFormat::Ci8, ..Transmitter::new(pls) };
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
            let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap();
            let out = Written::default();
            let holed = Holed { bytes: Arc::clone(&self.bytes), kept: kept.to_vec(), at: 0, marks, lost: 0 };
            let source = Source::Streamed(receiver.cut(receiver.buffered(Box::new(holed))));
            let rx = receiver.receive(source, Deliver::single(out.clone()), Also::default());
            let report = rx.build().unwrap().run().unwrap();
            let packets = out.0.lock().unwrap().chunks(PACKET).map(<[u8]>::to_vec).collect();
            (packets, Figures::of(&report.figures))
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
