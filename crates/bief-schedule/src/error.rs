//! What can be wrong with a profile, a platform, a schedule, or a demand made of a strategy.

/// An error with its place, its reason and the remedy.
///
/// ```
/// use bief_schedule::{ErrorKind, Platform, Profile, TaskProfile};
///
/// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("fir", [10, 25])])?;
/// let error = Platform::parse_cores("4", &profile).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Platform);
/// assert_eq!(error.place(), "cores `4`");
/// assert!(error.reason().ends_with("write for example `big=4,little=4`"));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Error {
    kind: ErrorKind,
    place: String,
    reason: String,
}

/// The subject of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A text is not the JSON document that it should be: syntax, missing or unknown keys, wrong types,
    /// another format number.
    Json,
    /// A profile contradicts itself.
    Profile,
    /// A platform contradicts itself, or does not go with the profile.
    Platform,
    /// A schedule contradicts itself, or does not go with the profile or the platform.
    Schedule,
    /// What was measured does not tell what cores draw.
    Power,
    /// A goal cannot be read, or cannot be met.
    Goal,
    /// A simulation cannot be run as set.
    Simulation,
    /// A processing graph contradicts itself.
    Graph,
    /// Tasks do not fit on the cores that they share, or an analysis cannot be made as set.
    RealTime,
    /// What was measured does not tell what an execution costs.
    Cost,
    /// Threads cannot be mapped to cores as told: a capacity, a usage, a demand or a setting is out of its range.
    Mapping,
    /// A strategy is unknown, or cannot schedule for the platform that it was given.
    Strategy,
}

impl Error {
    /// An error of a strategy, or of what else is made outside of this crate: `place` says where, `reason` why, and the remedy.
    pub fn new(kind: ErrorKind, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind, place: place.into(), reason: reason.into() }
    }

    /// Which thing the error is about.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where: a line and column of a text, a key such as `profile, tasks[2].ns`, a strategy.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong there, and what to do about it.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
