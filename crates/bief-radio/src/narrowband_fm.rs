//! The narrowband FM receiver: a recording becomes audio.

use std::io::{Seek, Write};

use bief::{Chain, Result};
use bief_dsp::low_pass::Window;
use num_complex::Complex32;

use crate::audio::{DeEmphasis, Discriminate, RemoveDc};
use crate::frontend::{ReadSamples, Shift};
use crate::low_pass::{History, LowPass};
use crate::parameter::{positive, whole_ratio};
use crate::recording::Recording;
use crate::wav::WriteWav;

/// Audio samples in a frame.
const FRAME: usize = 1024;
/// Highest frequency of speech, Hz.
const SPEECH: f64 = 3000.0;

/// What to receive, and how. Rates and frequencies are in Hz.
///
/// ```
/// use bief_radio::{NarrowbandFm, Recording};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nbfm_tones.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let receiver = NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000);
/// let wav = std::io::Cursor::new(Vec::new()); // or `BufWriter::new(File::create("out.wav")?)`
/// receiver.chain(recording, wav)?.build()?.run()?;
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
    /// Samples per second at which the channel is demodulated; a whole multiple of `audio_rate`.
    pub channel_rate: f64,
    /// Samples per second of the audio.
    pub audio_rate: u32,
    /// Width in which the channel filter goes from passband to stopband. Half of the amplitude passes at `deviation` +
    /// `bandwidth` (Carson's rule).
    pub channel_transition: f64,
    /// The same of the audio filter, around `bandwidth`.
    pub audio_transition: f64,
    /// Time constant of the sender's pre-emphasis in seconds, to be undone.
    pub de_emphasis: Option<f64>,
    /// Below this frequency audio is taken out, and with it what the carrier is off.
    pub high_pass: Option<f64>,
}

impl NarrowbandFm {
    /// A receiver of speech up to 3 kHz: the channel is demodulated at the lowest rate that is four times its width or more.
    pub fn new(sample_rate: f64, carrier: f64, deviation: f64, audio_rate: u32) -> Self {
        let width = 2.0 * (deviation + SPEECH);
        let decimation = (sample_rate / f64::from(audio_rate)).round() as usize;
        let rate_after = |first: usize| sample_rate / first as f64;
        let divides = |first: &usize| decimation.is_multiple_of(*first) && rate_after(*first) >= 4.0 * width;
        let most = decimation.min(LowPass::<Complex32>::MOST_DECIMATION);
        let channel_rate = (1..=most).rev().find(divides).map_or(sample_rate, rate_after);
        Self {
            sample_rate,
            carrier,
            deviation,
            bandwidth: SPEECH,
            channel_rate,
            audio_rate,
            channel_transition: 0.4 * (deviation + SPEECH),
            audio_transition: 0.2 * SPEECH,
            de_emphasis: None,
            high_pass: None,
        }
    }

    /// The chain that receives `recording` and writes audio to `wav`, a frame at a time.
    ///
    /// # Errors
    /// Rates that are no whole multiples, frequencies that fit no filter, a writer that fails.
    pub fn chain(&self, recording: Recording, wav: impl Write + Seek + Send + 'static) -> Result<Chain> {
        let audio_rate = positive("the audio rate", self.audio_rate.into())?;
        let (sample_rate, channel_rate) =
            (("the sample rate", self.sample_rate), ("the channel rate", self.channel_rate));
        let to_channel = whole_ratio(sample_rate, channel_rate)?;
        let to_audio = whole_ratio(channel_rate, ("the audio rate", audio_rate))?;
        let cutoff = self.deviation + self.bandwidth;
        let channel_filter =
            LowPass::new(self.sample_rate, cutoff, self.channel_transition, Window::Hamming, to_channel)?;
        let audio_filter =
            LowPass::new(self.channel_rate, self.bandwidth, self.audio_transition, Window::Hamming, to_audio)?;
        let delay = channel_filter.delay() + to_channel * audio_filter.delay();

        let mut rx = Chain::new();
        let mut samples = rx.add(ReadSamples::new(recording, FRAME * to_channel * to_audio, delay)?, ());
        rx.add(Shift::new(self.sample_rate, -self.carrier)?, &mut samples);
        let before = rx.add(History::new(channel_filter.history())?, &samples);
        let channel = rx.add(channel_filter, (&before, &samples));
        let frequency = rx.add(Discriminate::new(self.channel_rate, self.deviation)?, &channel);
        let before = rx.add(History::new(audio_filter.history())?, &frequency);
        let mut audio = rx.add(audio_filter, (&before, &frequency));
        if let Some(time_constant) = self.de_emphasis {
            rx.add(DeEmphasis::new(audio_rate, time_constant)?, &mut audio);
        }
        if let Some(corner) = self.high_pass {
            rx.add(RemoveDc::new(audio_rate, corner)?, &mut audio);
        }
        rx.add(WriteWav::new(wav, self.audio_rate, 1)?, &audio);
        Ok(rx)
    }
}
