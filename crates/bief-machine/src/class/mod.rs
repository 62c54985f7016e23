//! The scheduling classes of Linux, which decide whose thread a core works on: what a thread has, what it may have, and how
//! late threads of a class are woken.
//!
//! Classes are set for one thread by its number. A thread may set that of another one of its process, which may be parked
//! meanwhile: if one is refused, nothing has begun.
//!
//! ```
//! use std::time::Duration;
//!
//! use bief_machine::class::{Class, probe};
//!
//! let class: Class = "ordinary".parse()?;
//! let late = probe(class, Duration::from_millis(20))?;
//! println!("half of the time a thread goes on within {} ns of when it should", late.median_ns);
//! # Ok::<(), bief_machine::Error>(())
//! ```

mod admission;
mod files;
mod probe;
pub mod refusal;
mod sched;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, Result};
use crate::suggest::suggestion;

pub use admission::{Demand, Forecast};
pub use files::{blocks, interruptions, online_cores, stolen};
pub use probe::{Probe, probe};
pub use sched::{Before, Order, Reservation, SIGNAL, ThreadId, count_signals, lock_memory, set, signals};

/// How Linux chooses the next thread of a core. Written, read and serialised as `ordinary`, `fifo:80` and `deadline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Every thread gets its share (`SCHED_OTHER`).
    Ordinary,
    /// Before every ordinary thread, for as long as it has work (`SCHED_FIFO`).
    Fifo {
        /// From 1 to 99: a higher one goes first.
        priority: u32,
    },
    /// So much time is reserved in each period, and who must be done first goes first (`SCHED_DEADLINE`).
    Deadline,
}

impl Class {
    /// The class, where there is one like that.
    ///
    /// # Errors
    /// A priority that is not from 1 to 99.
    pub fn check(self) -> Result<Self> {
        match self {
            Self::Fifo { priority } if !(1..=99).contains(&priority) => {
                Err(Error::invalid(format!("a priority of {priority} is not from 1 to 99")))
            }
            class => Ok(class),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinary => f.pad("ordinary"),
            Self::Fifo { priority } => f.pad(&format!("fifo:{priority}")),
            Self::Deadline => f.pad("deadline"),
        }
    }
}

impl FromStr for Class {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "ordinary" => Ok(Self::Ordinary),
            None if text == "deadline" => Ok(Self::Deadline),
            Some(("fifo", priority)) => match priority.parse() {
                Ok(priority) => Self::Fifo { priority }.check(),
                Err(_) => {
                    Err(Error::invalid(format!("`{priority}` is no priority: give one from 1 to 99, as in fifo:80")))
                }
            },
            _ => Err(Error::invalid(format!(
                "there is no class `{text}`{}: give ordinary, fifo:PRIORITY or deadline",
                suggestion(text, ["ordinary", "fifo:80", "deadline"])
            ))),
        }
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_as_they_are_written() {
        for class in [Class::Ordinary, Class::Deadline, Class::Fifo { priority: 1 }, Class::Fifo { priority: 99 }] {
            assert_eq!(class.to_string().parse::<Class>().unwrap(), class);
        }
        for (text, part) in [
            ("fifo", "fifo:PRIORITY"),
            ("fifo:0", "1 to 99"),
            ("fifo:100", "1 to 99"),
            ("fifo:x", "1 to 99"),
            ("deadlin", "`deadline`"),
            ("deadline:3", "no class"),
        ] {
            let error = text.parse::<Class>().unwrap_err();
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
