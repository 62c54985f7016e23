//! The program whose threads are mapped, run by this command.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;

use super::signals::Signals;
use crate::failure::Failure;

/// The exit status where a program is not there, and where it cannot be run, as shells have it.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// How often it is seen whether a program that is not mapped any more has ended.
const LOOK: Duration = Duration::from_millis(20);

pub(super) struct Program {
    child: Child,
    status: Option<ExitStatus>,
}

impl Program {
    /// Starts a program: its name, and its arguments.
    pub(super) fn start(words: &[OsString]) -> Result<Self, Failure> {
        let (name, arguments) = words.split_first().expect("the command line demands a program");
        let child = Command::new(name).args(arguments).spawn().map_err(|error| {
            let status = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
            Failure { status, ..Failure::new(format!("cannot run `{}`: {error}", name.display())) }
        })?;
        Ok(Self { child, status: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Passes signals on; answers whether the program has not ended.
    pub(super) fn goes_on(&mut self, signals: &Signals) -> Result<bool, Failure> {
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(Failure::from_error)?;
        }
        if self.status.is_none()
            && let Some(signal) = signals.take()
            && !([Signal::INT, Signal::QUIT].contains(&signal) && terminal_tells_all())
        {
            // One that has ended meanwhile needs none.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
        Ok(self.status.is_none())
    }

    /// Waits for the end; answers the exit status, for one that a signal ended 128 and its number.
    pub(super) fn end(mut self, signals: &Signals) -> Result<ExitCode, Failure> {
        while self.goes_on(signals)? {
            std::thread::sleep(LOOK);
        }
        let status = self.status.expect("it has ended");
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        Ok(ExitCode::from(code as u8))
    }
}

/// Whether the terminal has told the program, too: Ctrl-C and Ctrl-\ go to all of the group in the foreground.
fn terminal_tells_all() -> bool {
    let foreground = File::open("/dev/tty").ok().and_then(|terminal| tcgetpgrp(&terminal).ok());
    foreground == Some(getpgrp())
}
