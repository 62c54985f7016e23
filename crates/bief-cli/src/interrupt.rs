//! Ctrl-C, SIGTERM and SIGHUP: the first one ends a run in order, a second one the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use bief::pipeline::Stopper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::status::of_signal;

/// The signal that ended the run; 0 where none did.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// What a signal ended before its time, with the exit status that shells have for it: 128 and its number.
pub fn ended_by_signal(message: impl Into<String>) -> Failure {
    Failure { status: of_signal(SIGNAL.load(Ordering::Relaxed)), ..Failure::new(message) }
}

/// Counts a run that was stopped in another way as one that SIGTERM ended.
pub(crate) fn stopped_elsewhere() {
    let _ = SIGNAL.compare_exchange(0, SIGTERM as u8, Ordering::Relaxed, Ordering::Relaxed);
}

/// Lets signals stop the run, and a second one the program; tells whether one came.
pub fn stop_at_interrupt(stopper: Stopper) -> Result<Arc<AtomicBool>, Failure> {
    at_interrupt(move || stopper.stop())
}

/// Calls `stop` at the first signal, and ends the program at a second one; tells whether one came.
pub fn at_interrupt(stop: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(heard).map_err(Failure::from_error)?;
    let listen = move || {
        for signal in signals.forever() {
            if !seen.load(Ordering::Relaxed) {
                SIGNAL.store(signal as u8, Ordering::Relaxed);
                seen.store(true, Ordering::Relaxed);
                stop();
            } else if signal != SIGHUP {
                std::process::exit(of_signal(signal as u8).into());
            }
            // A terminal that goes away tells all of its programs, and so does its shell; service managers send SIGHUP behind
            // SIGTERM. Nobody has lost patience then.
        }
    };
    let listener = thread::Builder::new().name("signals".into()).spawn(listen);
    listener.map_err(|error| Failure::new(format!("no thread can be started to listen to Ctrl-C: {error}")))?;
    Ok(interrupted)
}

/// The signals that this process ignores, bit 0 is signal 1: whoever started it so wants it to go on, as a shell does in the
/// background, and nohup.
pub(crate) fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
