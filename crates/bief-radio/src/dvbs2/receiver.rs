//! The DVB-S2 receiver: a recording becomes a transport stream.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use bief::schedule::Profile;
use bief::{Chain, Result};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, Lock, Modcod, NoSignal, Pls, acquire};
use bief_dsp::filter::MatchedFilter;
use num_complex::Complex32;

use super::baseband::{DecodeBch, DecodeLdpc, ScrambleBb};
use super::mapping::{Demap, TakePayload};
use super::observe::Observe;
use super::status::Status;
use super::synchronise::{CorrectPhase, CutFrames, DescramblePl, FilterSymbols, MeasureLevel, RemoveCarrier};
use super::transport::WriteTransportStream;
use crate::files::ReadBlocks;
use crate::iq::{Convert, SampleFormat};
use crate::recording::Recording;

/// Roll-off that symbols are filtered with: a sender's 0.20 or 0.35 costs 0.03 dB at most.
const ROLL_OFF: f64 = 0.25;
/// Symbols that are searched for a signal at a time, and looked at twice when there is one.
const SEARCHED_SYMBOLS: usize = 500_000;
/// Symbols of the longest PLFRAME and a header: what two searches share, so that none cuts a frame in two.
const SHARED_SYMBOLS: usize = 34_000;
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
    rest: Box<dyn Read + Send>,
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
                    return Ok(Self { filter, lock, format, front: front.into(), rest: reader });
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
        let chain = self.chain_from(Cursor::new(Arc::clone(&self.front)), io::sink(), Arc::default())?;
        let profile = chain.build()?.profile(executions)?;
        Ok(profile.with_bits_per_frame(self.bits_per_frame())?)
    }

    /// The chain that receives the whole recording, writes packets to `out`, and counts in `status`.
    ///
    /// # Errors
    /// None in practice: a signal that was found can be received.
    pub fn chain(mut self, out: impl Write + Send + 'static, status: Arc<Status>) -> Result<Chain> {
        let rest = std::mem::replace(&mut self.rest, Box::new(io::empty()));
        self.chain_from(Cursor::new(Arc::clone(&self.front)).chain(rest), out, status)
    }

    fn chain_from(
        &self,
        input: impl Read + Send + 'static,
        out: impl Write + Send + 'static,
        status: Arc<Status>,
    ) -> Result<Chain> {
        let (pls, bytes) = (self.lock.pls, self.format.bytes());
        let (size, modcod) = (pls.frame_size(), pls.modcod().expect("only frames with data are decoded"));
        let rate = modcod.rate();
        let cut = CutFrames::new(self.filter.clone(), &self.lock, bytes, Arc::clone(&status))?;
        let block = cut.longest_block() * bytes;

        let mut rx = Chain::new();
        let (block, filled) = rx.add(ReadBlocks::new(input, block), ());
        let samples = rx.add(Convert::new(self.format), &block);
        let (mut window, sync) = rx.add(cut, (&samples, &filled));
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
        Ok(rx)
    }
}
