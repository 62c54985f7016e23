//! Why a command did not do what it was asked.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::text::{plain, shortened};

/// The most characters in a line of a message.
const LONGEST: usize = 2000;

/// A message for who typed the command: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One sentence or more, without a trailing newline.
    pub message: String,
    /// The exit status of the command, not 0.
    pub status: u8,
}

impl Failure {
    /// A failure with that message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// A failure that says what an error says.
    pub fn from_error(error: impl std::error::Error) -> Self {
        Self::new(error.to_string())
    }

    /// Says on standard error what is wrong; answers the exit status.
    pub fn told_by(self, command: &str) -> ExitCode {
        say(format_args!("{command}: {}", bounded(&self.message)));
        ExitCode::from(self.status)
    }
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
