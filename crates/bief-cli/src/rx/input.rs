//! What `bief rx` reads, and how fast its samples come.

use std::path::Path;

use bief::Application;
use bief_dsp::dvbs2::Modcod;
use bief_radio::dvbs2::{MIN_SAMPLE_RATE, Modcods, Receiver, Settings};
use bief_radio::{Recording, SampleFormat};
use clap::Args;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::files::Files;
use crate::input::RecordingArgs;

/// The name of the recording that is built in.
pub(super) const SAMPLE_NAME: &str = "dvbs2_qpsk_8-9_short";
const SAMPLE: &[u8] = include_bytes!("../../data/dvbs2_qpsk_8-9_short.sigmf-data");
const SAMPLE_RATE: f64 = 2.0;

/// The signal to receive: which command does what with it does not matter here.
#[derive(Args)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Samples per symbol, 1.5 to 8 [default: from the description, else estimated from the signal]
    #[arg(long, value_name = "X", conflicts_with = "symbol_rate")]
    sps: Option<f64>,
    /// Symbols per second, for a recording with a known sample rate
    #[arg(long, value_name = "HZ")]
    symbol_rate: Option<f64>,
    /// MODCODs to receive, such as qpsk-8/9,8psk-3/5; other frames are skipped
    #[arg(long, value_name = "LIST", default_value = "any", value_parser = modcods)]
    modcod: Modcods,
    /// Gold code of the physical-layer scrambling, 0 to 262141; broadcasts use 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    gold: u32,
    /// Input stream to receive if the carrier has several [default: all, each to its own file OUT.isiN.ts]
    #[arg(long, value_name = "N")]
    pub(super) isi: Option<u8>,
}

impl SignalArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        let Self { recording, sps, symbol_rate, modcod, gold, isi } = self;
        recording.is_given()
            || sps.is_some()
            || symbol_rate.is_some()
            || *modcod != Modcods::ALL
            || *gold != 0
            || isi.is_some()
    }

    /// The input, if nothing but that was asked for: what is no signal has no more.
    pub(crate) fn only_input(&self, chain: &str) -> Result<Option<&Path>, Failure> {
        let Self { recording, sps, symbol_rate, modcod, gold, isi } = self;
        let is_radio = sps.is_some() || symbol_rate.is_some() || *modcod != Modcods::ALL || *gold != 0 || isi.is_some();
        if is_radio || recording.has_format() {
            return Err(Failure::usage(format!("{chain}: the options of a signal go with `rx`: give INPUT alone")));
        }
        Ok(recording.input.as_deref())
    }

    /// Notes the file that is named.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.recording.claim(files)
    }

    /// Opens the recording, and notes its files.
    pub(crate) fn open(&self, files: &mut Files) -> Result<Recording, Failure> {
        self.recording.open(built_in, files)
    }

    /// Searches the recording for the signal, and shows how far the search is.
    pub(crate) fn find(&self, recording: Recording, bar: &ProgressBar) -> Result<Receiver, Failure> {
        bar.set_message("searching for a signal");
        let samples_per_symbol = self.samples_per_symbol(&recording)?;
        let settings = Settings { samples_per_symbol, gold_code: self.gold, modcods: self.modcod, isi: self.isi };
        let receiver = Receiver::find(recording, settings, |read| bar.set_position(read));
        let receiver = receiver.inspect_err(|_| bar.finish_and_clear()).map_err(Failure::from_error)?;
        Ok(receiver.read_windows())
    }

    /// Whether the samples per symbol are told, by someone or by the recording, and need not be found.
    pub(super) fn tells_rate(&self, sample_rate: Option<f64>) -> bool {
        self.sps.is_some() || self.symbol_rate.is_some() || sample_rate.is_some_and(|rate| rate < MIN_SAMPLE_RATE)
    }

    /// Samples per symbol, where someone tells them.
    fn samples_per_symbol(&self, recording: &Recording) -> Result<Option<f64>, Failure> {
        match (self.sps, self.symbol_rate, recording.sample_rate) {
            (Some(sps), _, _) => Ok(Some(sps)),
            (None, Some(symbol_rate), Some(rate)) if symbol_rate > 0.0 => Ok(Some(rate / symbol_rate)),
            (None, Some(_), Some(_)) => Err(Failure::usage("--symbol-rate must be a positive number")),
            (None, Some(_), None) => Err(Failure::usage(format!(
                "{}: its sample rate is not known: give --sps in place of --symbol-rate",
                recording.name
            ))),
            (None, None, rate) => Ok(rate.filter(|&rate| rate < MIN_SAMPLE_RATE)),
        }
    }
}

/// The recording that is built in. It stands for files: its receivers read windows.
fn built_in() -> Recording {
    let mut recording = Recording::from_memory(SAMPLE_NAME, SampleFormat::Ci8, SAMPLE);
    recording.sample_rate = Some(SAMPLE_RATE);
    recording
}

/// A receiver of the recording that is built in.
pub fn built_in_receiver() -> Result<Receiver, Failure> {
    let settings = Settings::at(SAMPLE_RATE);
    Ok(Receiver::find(built_in(), settings, |_| ()).map_err(Failure::from_error)?.read_windows())
}

/// The receiver of a signal, to be measured.
pub(crate) fn examined(
    signal: &SignalArgs,
    files: &mut Files,
    bar: &ProgressBar,
) -> Result<Box<dyn Application>, Failure> {
    Ok(Box::new(signal.find(signal.open(files)?, bar)?))
}

/// `any`, or MODCODs with commas between them.
fn modcods(text: &str) -> Result<Modcods, String> {
    if text == "any" {
        return Ok(Modcods::ALL);
    }
    text.split(',').map(|name| name.trim().parse::<Modcod>().map_err(|error| error.to_string())).collect()
}

/// Symbols per second, where samples per second are known.
pub(super) fn symbol_rate(sample_rate: Option<f64>, samples_per_symbol: f64) -> Option<f64> {
    sample_rate.filter(|&rate| rate >= MIN_SAMPLE_RATE).map(|rate| rate / samples_per_symbol)
}
