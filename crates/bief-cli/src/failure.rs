//! Why a command did not do what it was asked.

/// A message for who typed the command: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// One sentence or more, without a trailing newline.
    pub(crate) message: String,
    /// The exit status of the command, not 0.
    pub(crate) status: u8,
}

impl Failure {
    /// A failure with that message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// A failure that says what an error says.
    pub(crate) fn from_error(error: impl std::error::Error) -> Self {
        Self::new(error.to_string())
    }
}
