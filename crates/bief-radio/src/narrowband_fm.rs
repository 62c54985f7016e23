//! The narrowband FM receiver: a recording becomes audio.

use std::io::{self, Cursor, Read};

use bief::{Chain, Error, Result, Wire, sink};
use bief_dsp::fm::{find_carrier, mean_frequency};
use bief_dsp::low_pass::Window;
use num_complex::Complex32;

use crate::audio::{DeEmphasis, RemoveDc};
use crate::fm::DemodulateFm;
use crate::frontend::{ReadSamples, Shift};
use crate::low_pass::{History, LowPass};
use crate::parameter::{positive, whole_ratio};
use crate::recording::{Recording, Samples};

/// Highest frequency of speech, Hz.
const SPEECH: f64 = 3000.0;
/// Frames per second, about, where nobody says how long they are.
const FRAME_RATE: f64 = 100.0;
/// Seconds of a recording that are searched for a carrier at a time, and in all.
const LOOK: f64 = 0.5;
const LONGEST_SEARCH: f64 = 20.0;
/// How often the carrier is measured from where it was found, and how close in Hz it is to be in the end.
const MEASUREMENTS: usize = 12;
const CLOSE: f64 = 1.0;

/// What to receive, and how. Rates and frequencies are in Hz.
///
/// The channel is brought to the middle, decimated, filtered at the low rate by a filter that follows the carrier
/// ([`DemodulateFm`]), demodulated, and the audio filtered. The first filter keeps out what decimation would fold
/// into the channel, the second what lies beside it: both leave 1/5000 of the amplitude (-74 dB) in their stopbands, and that of
/// the channel begins at `deviation` + `bandwidth` + `channel_transition` / 2 from the carrier. With [`new`](Self::new) that is 9.6 kHz for
/// a deviation of 5 kHz, and 6.6 kHz for one of 2.5 kHz: channels are 25 kHz and 12.5 kHz apart.
///
/// ```
/// use bief::Application;
/// use bief_radio::{NarrowbandFm, Recording};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nbfm_tones.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let (receiver, recording) = NarrowbandFm::new(576e3, 0.0, 5000.0, 48_000).find(recording)?;
/// assert!((receiver.carrier - 1200.0).abs() < 20.0);
/// let wav = || Ok(std::io::Cursor::new(Vec::new())); // or `|| Ok(BufWriter::new(File::create("out.wav")?))`
/// receiver.on(recording).to_wav(wav).program()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NarrowbandFm {
    /// Samples per second of the recording; a whole multiple of `channel_rate`.
    pub sample_rate: f64,
    /// Where the carrier lies, above the middle of the recording.
    pub carrier: f64,
    /// Deviation of the carrier at full scale of the audio.
    pub deviation: f64,
    /// Highest frequency of the audio.
    pub bandwidth: f64,
    /// Samples per second at which the channel is filtered and demodulated; a whole multiple of `audio_rate`.
    pub channel_rate: f64,
    /// Samples per second of the audio.
    pub audio_rate: u32,
    /// Width in which the channel filter goes from passband to stopband. Half of the amplitude passes at `deviation` +
    /// `bandwidth` (Carson's rule).
    pub channel_transition: f64,
    /// The same of the audio filter, around `bandwidth`.
    pub audio_transition: f64,
    /// How far the carrier is followed from where it is at first; `None`: the filter stays there.
    pub follow: Option<f64>,
    /// Time constant of the sender's pre-emphasis in seconds, to be undone.
    pub de_emphasis: Option<f64>,
    /// Below this frequency audio is taken out.
    pub high_pass: Option<f64>,
    /// Samples of the recording in a frame, a whole multiple of those for one of audio: short frames for short delays, long ones
    /// for little work.
    pub block: usize,
}

/// The filters of a receiver.
struct Filters {
    /// Samples of the recording for each of the channel.
    to_channel: usize,
    /// `None` where the channel is as fast as the recording.
    decimate: Option<LowPass<Complex32>>,
    demodulate: DemodulateFm,
    audio: LowPass<f32>,
}

impl NarrowbandFm {
    /// A receiver of speech up to 3 kHz, in frames of about 10 ms. Channel filter and demodulator work at the lowest rate that leaves
    /// the filter before them room to be short. The carrier is followed for half of the deviation to either side.
    pub fn new(sample_rate: f64, carrier: f64, deviation: f64, audio_rate: u32) -> Self {
        let follow = deviation / 2.0;
        let channel_transition = 0.4 * (deviation + SPEECH);
        let edge = deviation + SPEECH + channel_transition / 2.0 + follow;
        let decimation = (sample_rate / f64::from(audio_rate)).round() as usize;
        let rate_after = |first: usize| sample_rate / first as f64;
        let divides = |first: &usize| decimation.is_multiple_of(*first) && rate_after(*first) >= 3.0 * edge;
        let most = decimation.min(LowPass::<Complex32>::MOST_DECIMATION);
        let channel_rate = (1..=most).rev().find(divides).map_or(sample_rate, rate_after);
        let step = decimation.max(1);
        Self {
            sample_rate,
            carrier,
            deviation,
            bandwidth: SPEECH,
            channel_rate,
            audio_rate,
            channel_transition,
            audio_transition: 0.2 * SPEECH,
            follow: Some(follow),
            de_emphasis: None,
            high_pass: None,
            block: ((sample_rate / FRAME_RATE / step as f64).round() as usize).max(1).saturating_mul(step),
        }
    }

    /// Samples of the recording for one of audio: `block` is a multiple of them.
    ///
    /// # Errors
    /// Rates that are no whole multiples.
    pub fn decimation(&self) -> Result<usize> {
        let audio_rate = positive("the audio rate", self.audio_rate.into())?;
        let channel = ("the channel rate", self.channel_rate);
        let to_channel = whole_ratio(("the sample rate", self.sample_rate), channel)?;
        Ok(to_channel.saturating_mul(whole_ratio(channel, ("the audio rate", audio_rate))?))
    }

    fn filters(&self) -> Result<Filters> {
        let audio_rate = positive("the audio rate", self.audio_rate.into())?;
        let (sample_rate, channel_rate) =
            (("the sample rate", self.sample_rate), ("the channel rate", self.channel_rate));
        let to_channel = whole_ratio(sample_rate, channel_rate)?;
        let to_audio = whole_ratio(channel_rate, ("the audio rate", audio_rate))?;
        let step = to_channel.saturating_mul(to_audio);
        if self.block == 0 || !self.block.is_multiple_of(step) {
            let near = ((self.block as f64 / step as f64).round().max(1.0) as usize).saturating_mul(step);
            return Err(Error::new(format!(
                "a block of {} samples: give a whole multiple of {step}, of which one sample of audio is made, such as {near}",
                self.block
            )));
        }
        let cutoff = self.deviation + self.bandwidth;
        let mut demodulate = DemodulateFm::new(self.channel_rate, self.deviation, cutoff, self.channel_transition)?;
        if let Some(range) = self.follow {
            demodulate = demodulate.following(range)?;
        }
        let decimate = match to_channel {
            1 => None,
            _ => {
                let edge = cutoff + self.channel_transition / 2.0 + self.follow.unwrap_or(0.0);
                let transition = self.channel_rate - 2.0 * edge;
                if transition <= 0.0 {
                    return Err(Error::new(format!(
                        "a channel rate of {} Hz is too low for a channel that reaches {edge} Hz to either side of its \
                         carrier: give more than {}",
                        self.channel_rate,
                        2.0 * edge
                    )));
                }
                let middle = self.channel_rate / 2.0;
                Some(LowPass::aligned(self.sample_rate, middle, transition, Window::Blackman, to_channel)?)
            }
        };
        let audio =
            LowPass::aligned(self.channel_rate, self.bandwidth, self.audio_transition, Window::Hamming, to_audio)?;
        Ok(Filters { to_channel, decimate, demodulate, audio })
    }

    /// The source that reads `recording`, in frames of a block, and zeros behind it for what the filters hold back.
    ///
    /// # Errors
    /// Those of [`receive`](Self::receive).
    pub fn source(&self, recording: Recording) -> Result<ReadSamples> {
        ReadSamples::new(recording, self.block, self.delay()?)
    }

    /// By how many samples of the recording the filters hold audio back.
    ///
    /// # Errors
    /// Those of [`receive`](Self::receive).
    pub fn delay(&self) -> Result<usize> {
        let filters = self.filters()?;
        let decimate = filters.decimate.as_ref().map_or(0, LowPass::delay);
        Ok(decimate + filters.to_channel * (filters.demodulate.delay() + filters.audio.delay()))
    }

    /// Adds the receiver to a chain: samples in frames of a block, which it shifts in place, become audio of full scale ±1. What it
    /// hears it tells: see [`FmFigures`](crate::FmFigures).
    ///
    /// # Errors
    /// Rates that are no whole multiples, a block that is none, frequencies that fit no filter.
    pub fn receive(&self, chain: &mut Chain, samples: &mut Wire<Complex32>) -> Result<Wire<f32>> {
        let audio_rate = f64::from(self.audio_rate);
        let Filters { decimate, demodulate, audio: audio_filter, .. } = self.filters()?;
        let frequency = self.demodulated(chain, samples, decimate, demodulate)?;
        let before = chain.add(History::new(audio_filter.history())?, &frequency);
        let mut audio = chain.add(audio_filter, (&before, &frequency));
        if let Some(time_constant) = self.de_emphasis {
            chain.add(DeEmphasis::new(audio_rate, time_constant)?, &mut audio);
        }
        if let Some(corner) = self.high_pass {
            chain.add(RemoveDc::new(audio_rate, corner)?, &mut audio);
        }
        Ok(audio)
    }

    fn demodulated(
        &self,
        chain: &mut Chain,
        samples: &mut Wire<Complex32>,
        decimate: Option<LowPass<Complex32>>,
        demodulate: DemodulateFm,
    ) -> Result<Wire<f32>> {
        if self.carrier != 0.0 {
            chain.add(Shift::new(self.sample_rate, -self.carrier)?, &mut *samples);
        }
        let Some(decimate) = decimate else { return Ok(chain.add(demodulate, &*samples)) };
        let before = chain.add(History::new(decimate.history())?, samples);
        let channel = chain.add(decimate, (&before, &*samples));
        Ok(chain.add(demodulate, &channel))
    }

    /// The same receiver with the strongest carrier of the recording, and the recording to be read from its start again.
    ///
    /// Half a second is searched for a channel that stands out, and the carrier is where the mean of what it is demodulated to is 0; of
    /// silence or noise more is read, up to 20 s. A carrier beside a stronger one is not found: [`refine`](Self::refine) measures it from
    /// where it should be.
    ///
    /// # Errors
    /// What [`receive`](Self::receive) refuses, before anything is read; no carrier, a recording that cannot be read.
    pub fn find(&self, recording: Recording) -> Result<(Self, Recording)> {
        let name = recording.name.clone();
        let mut front = self.front(recording)?;
        loop {
            let first = front.bytes.is_empty();
            let more = front.read_on()?;
            let width = 2.0 * (self.deviation + self.bandwidth) / self.sample_rate;
            if let Some(carrier) = find_carrier(&front.latest(), width) {
                let found = Self { carrier: carrier * self.sample_rate, ..*self };
                if !first {
                    // It may have begun just now.
                    front.read_on()?;
                }
                let measured = found.measured(&front.latest())?;
                return Ok((measured.unwrap_or(found), front.rewound()));
            }
            if !more {
                return Err(Error::new(format!(
                    "{name}: no carrier stands out in the first {:.1} s: say where it is, or should be",
                    front.seconds()
                )));
            }
        }
    }

    /// The same receiver with its carrier measured in the first half second of the recording, which is to be read from its start
    /// again: a carrier within half of the deviation, or some more, is found. Where there is only noise, it stays.
    ///
    /// # Errors
    /// A recording that cannot be read; what [`receive`](Self::receive) refuses.
    pub fn refine(&self, recording: Recording) -> Result<(Self, Recording)> {
        let mut front = self.front(recording)?;
        front.read_on()?;
        let measured = self.measured(&front.latest())?;
        Ok((measured.unwrap_or(*self), front.rewound()))
    }

    /// The first part of a recording, where this receiver can be made.
    fn front(&self, mut recording: Recording) -> Result<Front> {
        self.filters()?;
        let sample_rate = positive("the sample rate", self.sample_rate)?;
        let samples = std::mem::replace(&mut recording.samples, Samples::Once(Box::new(io::empty())));
        Ok(Front { recording, reader: samples.into_reader(), bytes: Vec::new(), sample_rate })
    }

    /// The receiver with the carrier of these samples, looked for from where it is now and no further away than the deviation; `None`
    /// where there is noise.
    fn measured(&self, samples: &[Complex32]) -> Result<Option<Self>> {
        let mut receiver = *self;
        for _ in 0..MEASUREMENTS {
            let Filters { to_channel, decimate, .. } = receiver.filters()?;
            let cutoff = receiver.deviation + receiver.bandwidth;
            // One that stays where it is.
            let demodulate =
                DemodulateFm::new(receiver.channel_rate, receiver.deviation, cutoff, receiver.channel_transition)?;
            let settled = decimate.as_ref().map_or(0, LowPass::history) / to_channel + 2 * demodulate.delay() + 1;
            let mut chain = Chain::new();
            let mut wire = chain.add(bief::source::from_slice(samples, to_channel), ());
            let frequency = receiver.demodulated(&mut chain, &mut wire, decimate, demodulate)?;
            let (collect, result) = sink::collect();
            chain.add(collect, &frequency);
            chain.build()?.run()?;
            let frequency = result.take();
            let Some(mean) = mean_frequency(frequency.get(settled..).unwrap_or_default()) else { return Ok(None) };
            let off = mean * receiver.deviation;
            let reach = self.carrier - self.deviation..=self.carrier + self.deviation;
            receiver.carrier = (receiver.carrier + off).clamp(*reach.start(), *reach.end());
            if off.abs() < CLOSE {
                break;
            }
        }
        Ok(Some(receiver))
    }
}

/// The first part of a recording, kept to be played again.
struct Front {
    /// Without its samples.
    recording: Recording,
    reader: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    sample_rate: f64,
}

impl Front {
    fn look(&self) -> usize {
        (LOOK * self.sample_rate) as usize * self.recording.format.bytes()
    }

    /// Reads on; whether there may be more to be read.
    fn read_on(&mut self) -> Result<bool> {
        let wanted = self.look() as u64;
        let before = self.bytes.len();
        let read = self.reader.by_ref().take(wanted).read_to_end(&mut self.bytes);
        read.map_err(|error| Error::new(format!("{}: {error}", self.recording.name)))?;
        Ok((self.bytes.len() - before) as u64 == wanted && self.seconds() < LONGEST_SEARCH)
    }

    fn seconds(&self) -> f64 {
        (self.bytes.len() / self.recording.format.bytes()) as f64 / self.sample_rate
    }

    /// The samples that were read last.
    fn latest(&self) -> Vec<Complex32> {
        let each = self.recording.format.bytes();
        let whole = self.bytes.len() / each * each;
        let bytes = &self.bytes[whole - whole.min(self.look())..whole];
        let mut samples = vec![Complex32::ZERO; bytes.len() / each];
        self.recording.format.read(bytes, &mut samples);
        samples
    }

    fn rewound(self) -> Recording {
        let samples = Samples::Once(Box::new(Cursor::new(self.bytes).chain(self.reader)));
        Recording { samples, ..self.recording }
    }
}
