//! Ctrl-C: the first one ends a run in order, the second one the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bief::pipeline::Stopper;

use crate::failure::Failure;

/// The exit status of what Ctrl-C ended before its time: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// Lets Ctrl-C stop the run, and a second one the program; tells whether that happened.
pub fn stop_at_interrupt(stopper: Stopper) -> Result<Arc<AtomicBool>, Failure> {
    at_interrupt(move || stopper.stop())
}

/// Calls `stop` at Ctrl-C, and ends the program at a second one; tells whether that happened.
pub fn at_interrupt(stop: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    let handler = move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
        stop();
    };
    match ctrlc::try_set_handler(handler) {
        // Whoever started this program wants it to go on at Ctrl-C, as a shell does in the background.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(interrupted),
        Err(error) => Err(Failure::from_error(error)),
    }
}
