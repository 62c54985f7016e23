//! Signals that ask the command to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// Signals that have come are noted, and end nothing: affinities are given back first.
pub(super) struct Signals(Vec<(Signal, Arc<AtomicBool>)>);

impl Signals {
    pub(super) fn catch() -> Result<Self, Failure> {
        let ignored = ignored();
        let wanted = [(SIGINT, Signal::INT), (SIGTERM, Signal::TERM), (SIGHUP, Signal::HUP)];
        // Whoever started this program so wants it to go on: a shell in the background, or nohup.
        let heard = wanted.into_iter().filter(|(number, _)| ignored >> (number - 1) & 1 == 0);
        let caught = heard.map(|(number, signal)| {
            let came = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, Arc::clone(&came)).map_err(Failure::from_error)?;
            Ok((signal, came))
        });
        Ok(Self(caught.collect::<Result<_, Failure>>()?))
    }

    /// A signal that has come since the latest call.
    pub(super) fn take(&self) -> Option<Signal> {
        let came = self.0.iter().find(|(_, came)| came.swap(false, Ordering::Relaxed));
        came.map(|&(signal, _)| signal)
    }
}

/// The signals that this process ignores: bit 0 is signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
