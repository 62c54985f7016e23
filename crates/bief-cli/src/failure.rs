//! Why a command did not do what it was asked.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use bief::error::ErrorKind;
use bief::kinds::Address;
use bief_radio::dvbs2::ReceiveError;

use crate::status::Status;
use crate::text::{plain, shortened};

/// The most characters in a line of a message.
const LONGEST: usize = 2000;

/// A message for who typed the command: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One sentence or more, without a trailing newline.
    pub message: String,
    /// The exit status of the command, not 0: a [`Status`], or that of a signal or of a program that was run.
    pub status: u8,
}

impl Failure {
    /// A failure with that message, of the machine.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: Status::Failed as u8 }
    }

    /// What was asked for cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message).with(Status::Usage)
    }

    /// A failure that says what an error says; its kind is the status.
    pub fn from_error(error: impl Error + 'static) -> Self {
        Self::new(error.to_string()).with(status_of(&error))
    }

    /// The same with another status.
    #[must_use]
    pub fn with(self, status: Status) -> Self {
        Self { status: status as u8, ..self }
    }

    /// An input that could not be opened.
    pub(crate) fn unopened(address: &Address, error: bief::Error) -> Self {
        let is_file = address.scheme().is_none();
        Self::from_error(error).with(if is_file { Status::NoInput } else { Status::TryAgain })
    }

    /// An output that could not be opened.
    pub(crate) fn unmade(address: &Address, error: bief::Error) -> Self {
        let is_busy = status_of(&error) == Status::TryAgain || address.scheme().is_some();
        Self::from_error(error).with(if is_busy { Status::TryAgain } else { Status::Failed })
    }

    /// A fault that ended a run, in these words.
    pub(crate) fn of_run(error: &bief::Error, message: String) -> Self {
        Self::new(message).with(status_of(error))
    }

    /// Says on standard error what is wrong; answers the exit status.
    pub fn told_by(self, command: &str) -> ExitCode {
        say(format_args!("{command}: {}", bounded(&self.message)));
        ExitCode::from(self.status)
    }
}

/// What an error means for whoever started the command.
fn status_of(error: &(dyn Error + 'static)) -> Status {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
            return Status::TryAgain;
        }
        cause = error.source();
    }
    if let Some(error) = error.downcast_ref::<bief::Error>() {
        return match error.kind() {
            ErrorKind::Build => Status::Usage,
            ErrorKind::Placement | ErrorKind::RealTime => Status::Failed,
            _ => Status::Partial,
        };
    }
    match error.downcast_ref::<ReceiveError>() {
        Some(ReceiveError::Io { .. }) => return Status::NoInput,
        Some(ReceiveError::NoSignal { .. } | ReceiveError::NoClock { .. }) => return Status::NoSignal,
        Some(_) => return Status::Usage,
        None => {}
    }
    if error.is::<bief_schedule::Error>() { Status::Usage } else { Status::Failed }
}

/// Says on standard error what is not as wanted, and does not keep a command from its work.
pub fn warn(message: &str) {
    say(format_args!("bief: {}", bounded(message)));
}

/// Writes text and a line break to standard error, without what would move the cursor. Where that is closed or full nobody hears it; that changes nothing else, the exit status least
/// of all.
pub fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", plain(&text.to_string()));
}

/// A message with no line that is longer than a screen: what it quotes may come from anywhere.
fn bounded(message: &str) -> String {
    let lines: Vec<String> = message.lines().map(|line| shortened(line, LONGEST)).collect();
    lines.join("\n")
}
