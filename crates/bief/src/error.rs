//! One [`Error`]: what went wrong (its kind and cause) and where (stage, task, frame).

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a fault, for a caller to decide what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The chain, its stages or its schedule cannot be run as given; no thread was started.
    Build,
    /// A task returned an error while the chain ran.
    Task,
    /// A task panicked while the chain ran.
    Panic,
    /// The system refused a thread the place that was required for it.
    Placement,
    /// The system refused a thread the real-time class that was required for it; no frame was worked on.
    RealTime,
}

/// Where a fault happened. Parts that do not apply are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the stage.
    pub stage: Option<Arc<str>>,
    /// Name of the task.
    pub task: Option<Arc<str>>,
    /// Number of the frame, counted from 0 as the source made them.
    pub frame: Option<u64>,
}

/// What went wrong, and where.
///
/// A task makes one from a message ([`Error::new`]) or from another error ([`Error::from_source`], or `?` on an
/// [`std::io::Error`]); the runtime adds the place.
///
/// ```
/// let error = bief::Error::new("the header is damaged");
/// assert_eq!(error.to_string(), "the header is damaged");
/// ```
#[derive(Debug, Clone)]
pub struct Error(Box<Details>);

/// In a box of its own: what a task returns per frame then fits two registers.
#[derive(Debug, Clone)]
struct Details {
    kind: ErrorKind,
    message: String,
    place: Place,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// The parameter of a kind of task that caused it: a chain file tells it at the line of that.
    parameter: Option<Arc<str>>,
    /// The device on which a task that has something for it cannot run, and why: a plan may go without.
    refusal: Option<(Arc<str>, String)>,
}

impl Error {
    /// An error of a task, with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind: ErrorKind::Task,
            message: message.into(),
            place: Place::default(),
            source: None,
            parameter: None,
            refusal: None,
        }))
    }

    /// An error of a task that another error caused; that one stays reachable by
    /// [`source`](std::error::Error::source).
    ///
    /// ```
    /// use std::error::Error as _;
    /// let cause = "x".parse::<u8>().unwrap_err();
    /// let error = bief::Error::from_source(cause);
    /// assert!(error.source().is_some());
    /// ```
    pub fn from_source(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let mut error = Self::new(source.to_string());
        error.0.source = Some(Arc::new(source));
        error
    }

    pub(crate) fn build(message: impl Into<String>) -> Self {
        Self::new(message).with_kind(ErrorKind::Build)
    }

    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a value that is not text".to_owned());
        // A payload may panic when it is dropped, and what it panics with, too: that one is left as it is.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        Self::new(format!("panicked: {text}")).with_kind(ErrorKind::Panic)
    }

    /// Does something that may panic: a panic is an error like others. Who calls promises that nothing half done is used
    /// afterwards.
    pub(crate) fn catch<T>(act: impl FnOnce() -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|payload| Err(Self::panic(payload)))
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The same error and cause, in other words.
    pub(crate) fn saying(mut self, message: String) -> Self {
        self.0.message = message;
        self
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.0.place = place;
        self
    }

    /// The same error, which this parameter caused.
    pub(crate) fn of_parameter(mut self, name: &str) -> Self {
        self.0.parameter = Some(name.into());
        self
    }

    pub(crate) fn parameter(&self) -> Option<&str> {
        self.0.parameter.as_deref()
    }

    /// The same error, which is about a task on this device, for that reason.
    pub(crate) fn refused_by(mut self, device: &str, reason: String) -> Self {
        self.0.refusal = Some((device.into(), reason));
        self
    }

    /// The device that is at fault, and why, if a plan without it would do.
    pub(crate) fn refusal(&self) -> Option<(&str, &str)> {
        self.0.refusal.as_ref().map(|(device, reason)| (&**device, &**reason))
    }

    /// The same error, of a task inside the one that the place will name.
    pub(crate) fn within(self, task: &str) -> Self {
        let message = format!("in `{task}`: {}", self.0.message);
        self.saying(message)
    }

    /// What kind of fault it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it happened.
    pub fn place(&self) -> &Place {
        &self.0.place
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { stage, task, frame } = &self.0.place;
        if let Some(task) = task {
            write!(f, "task `{task}`")?;
        }
        let details: Vec<String> =
            [stage.as_ref().map(|stage| format!("stage `{stage}`")), frame.map(|frame| format!("frame {frame}"))]
                .into_iter()
                .flatten()
                .collect();
        match (task.is_some(), details.is_empty()) {
            (true, false) => write!(f, " ({}): ", details.join(", "))?,
            (true, true) => f.write_str(": ")?,
            (false, false) => write!(f, "{}: ", details.join(", "))?,
            (false, true) => {}
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::from_source(error)
    }
}

impl From<bief_schedule::Error> for Error {
    fn from(error: bief_schedule::Error) -> Self {
        Self::from_source(error).with_kind(ErrorKind::Build)
    }
}

impl From<bief_machine::Error> for Error {
    fn from(error: bief_machine::Error) -> Self {
        let kind = match error.kind() {
            bief_machine::ErrorKind::Invalid => ErrorKind::Build,
            bief_machine::ErrorKind::Affinity => ErrorKind::Placement,
            bief_machine::ErrorKind::Class => ErrorKind::RealTime,
            _ => ErrorKind::Task,
        };
        Self::from_source(error).with_kind(kind)
    }
}

/// `1 stage`, `2 stages`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_place() {
        let full = Place { stage: Some("decode".into()), task: Some("Ldpc".into()), frame: Some(17) };
        let error = Error::new("no convergence");
        assert_eq!(error.clone().at(full).to_string(), "task `Ldpc` (stage `decode`, frame 17): no convergence");
        let task = Place { task: Some("Ldpc".into()), ..Place::default() };
        assert_eq!(error.clone().at(task).to_string(), "task `Ldpc`: no convergence");
        let stage = Place { stage: Some("decode".into()), ..Place::default() };
        assert_eq!(error.at(stage).to_string(), "stage `decode`: no convergence");
    }

    #[test]
    fn a_panic_keeps_its_text() {
        let payload: Box<dyn Any + Send> = Box::new(String::from("index 3"));
        let error = Error::panic(payload);
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert_eq!(error.to_string(), "panicked: index 3");
    }

    #[test]
    fn what_the_machine_refuses_keeps_its_text() {
        let refused = crate::Machine::from_json("{").unwrap_err();
        let error = Error::from(refused.clone());
        assert_eq!((error.kind(), error.message()), (ErrorKind::Build, &*refused.to_string()));
        let missing = Error::from(crate::machine::energy::MeterLog::read("/nonexistent".as_ref()).unwrap_err());
        assert_eq!(missing.kind(), ErrorKind::Task);
    }

    #[test]
    fn an_input_output_error_stays_the_source() {
        use std::error::Error as _;
        let error = Error::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(error.source().unwrap().downcast_ref::<std::io::Error>().is_some());
    }
}
