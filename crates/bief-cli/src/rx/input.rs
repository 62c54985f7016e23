//! What `bief rx` reads, and how fast its samples come.

use bief_radio::{Recording, SampleFormat};

use super::RxArgs;
use crate::failure::Failure;
use crate::json::is_dash;

/// The recording that is built in.
pub(super) const SAMPLE_NAME: &str = "dvbs2_qpsk_8-9_short";
const SAMPLE: &[u8] = include_bytes!("../../../../data/dvbs2_qpsk_8-9_short.sigmf-data");
const SAMPLE_RATE: f64 = 2.0;
/// A SigMF sample rate below this is taken as samples per symbol: no radio samples so slowly.
pub(crate) const LEAST_SAMPLE_RATE: f64 = 64.0;

pub(super) fn open(args: &RxArgs) -> Result<Recording, Failure> {
    match &args.input {
        None => {
            let mut recording = Recording::from_memory(SAMPLE_NAME, SampleFormat::Ci8, SAMPLE);
            recording.sample_rate = Some(SAMPLE_RATE);
            Ok(recording)
        }
        Some(path) if is_dash(path) => Recording::from_stdin(args.format).map_err(Failure::from_error),
        Some(path) => Recording::open(path, args.format).map_err(Failure::from_error),
    }
}

/// Samples per symbol, where someone tells them.
pub(super) fn samples_per_symbol(args: &RxArgs, recording: &Recording) -> Result<Option<f64>, Failure> {
    match (args.sps, args.symbol_rate, recording.sample_rate) {
        (Some(sps), _, _) => Ok(Some(sps)),
        (None, Some(symbol_rate), Some(rate)) if symbol_rate > 0.0 => Ok(Some(rate / symbol_rate)),
        (None, Some(_), Some(_)) => Err(Failure::new("--symbol-rate must be a positive number")),
        (None, Some(_), None) => Err(Failure::new(format!(
            "{}: its sample rate is not known: give --sps in place of --symbol-rate",
            recording.name
        ))),
        (None, None, rate) => Ok(rate.filter(|&rate| rate < LEAST_SAMPLE_RATE)),
    }
}

/// Symbols per second, where samples per second are known.
pub(super) fn symbol_rate(sample_rate: Option<f64>, samples_per_symbol: f64) -> Option<f64> {
    sample_rate.filter(|&rate| rate >= LEAST_SAMPLE_RATE).map(|rate| rate / samples_per_symbol)
}
