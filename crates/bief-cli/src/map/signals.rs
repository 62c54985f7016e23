//! Signals that would end the command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::failure::Failure;
use crate::interrupt::ignored;

/// All that end a program and can be caught, but for those that tell of a fault of its own (SIGSEGV, SIGBUS, SIGILL, SIGFPE).
const WANTED: &[Signal] = &[
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::PIPE,
    Signal::ABORT,
    Signal::TRAP,
    Signal::SYS,
    Signal::IO,
    Signal::PROF,
    Signal::VTALARM,
    Signal::XCPU,
    Signal::XFSZ,
    #[cfg(target_os = "linux")]
    Signal::STKFLT,
    #[cfg(target_os = "linux")]
    Signal::POWER,
];

/// Signals that have come are noted, and end nothing: affinities are given back first.
pub(super) struct Signals(Vec<(Signal, Arc<AtomicBool>)>);

impl Signals {
    pub(super) fn catch() -> Result<Self, Failure> {
        let ignored = ignored();
        // Whoever started this program so wants it to go on.
        let heard = WANTED.iter().filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0);
        let caught = heard.map(|&signal| {
            let came = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal.as_raw(), Arc::clone(&came)).map_err(Failure::from_error)?;
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
