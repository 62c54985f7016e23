//! One [`Error`]: what the machine or the system refused, and what can be done about it.

use std::fmt;
use std::sync::Arc;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of fault it was: tells a caller what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A description or a setting is wrong, and must be written otherwise.
    Invalid,
    /// Something of the machine cannot be read or started.
    Unavailable,
    /// The system refused a thread an affinity.
    Affinity,
    /// The system refused a thread a scheduling class.
    Class,
}

/// What went wrong, where, and what can be done about it.
///
/// ```
/// use bief_machine::{ErrorKind, Machine};
///
/// let error = Machine::from_json("{").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert!(error.to_string().contains("line 1"));
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    pub(crate) fn affinity(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Affinity, message)
    }

    pub(crate) fn class(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Class, message)
    }

    /// What kind of fault it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let message = error.to_string();
        Self { source: Some(Arc::new(error)), ..Self::unavailable(message) }
    }
}

impl From<bief_schedule::Error> for Error {
    fn from(error: bief_schedule::Error) -> Self {
        let message = error.to_string();
        Self { source: Some(Arc::new(error)), ..Self::invalid(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_output_error_stays_the_source() {
        use std::error::Error as _;
        let error = Error::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.source().unwrap().downcast_ref::<std::io::Error>().is_some());
    }
}
