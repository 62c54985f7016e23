//! What tells energy or power on a machine, whether this process may read it or not.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::reader::{Counter, Power, Reader};
use super::tree::printable;

/// Characters of a part of a name.
const LONGEST_NAME: usize = 40;

/// Of what a source tells the energy, from the narrowest to the widest. Figures of two scopes are never to be compared or
/// added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A part of the machine: cores, memory, a graphics unit, one rail of a board. Read only when it is named.
    Part,
    /// All processor packages (sockets) with what is on them, without memory modules and the board.
    Package,
    /// The board, or the platform as its maker drew the line.
    Board,
    /// All that the battery feeds, a display too.
    Battery,
    /// All that an external meter is in front of, its power supply too where it is behind the meter.
    Meter,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Part => "part",
            Self::Package => "package",
            Self::Board => "board",
            Self::Battery => "battery",
            Self::Meter => "meter",
        })
    }
}

/// Something that tells energy or power.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    scope: Scope,
    counts: bool,
    note: Option<String>,
    reader: Result<Arc<Reader>, String>,
}

impl Source {
    /// A source of counters, which are added.
    pub(super) fn counting(name: &str, scope: Scope, counters: Result<Vec<Counter>, String>) -> Self {
        Self::new(name, scope, true, counters.map(Reader::Counters))
    }

    /// A source of a sensor.
    pub(super) fn sampled(name: &str, scope: Scope, power: Result<Power, String>) -> Self {
        Self::new(name, scope, false, power.map(Reader::Power))
    }

    pub(super) fn new(name: &str, scope: Scope, counts: bool, reader: Result<Reader, String>) -> Self {
        let reader = reader.and_then(|reader| reader.check().map(|()| Arc::new(reader)));
        Self { name: name.to_owned(), scope, counts, note: None, reader }
    }

    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Its name, such as `rapl:package`; no other source of the machine has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of what it tells the energy.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether it counts energy; else it tells the power at the moment, of which energy is the sum over readings.
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Why it cannot be read, and what helps; `None` where it can be.
    pub fn unreadable(&self) -> Option<&str> {
        self.reader.as_ref().err().map(String::as_str)
    }

    /// What one should know who reads it.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    pub(super) fn reader(&self) -> Option<Arc<Reader>> {
        self.reader.as_ref().ok().map(Arc::clone)
    }

    /// Gives those whose name another one has already a number.
    pub(super) fn tell_apart(sources: &mut [Self]) {
        for index in 1..sources.len() {
            let (before, [source, ..]) = sources.split_at_mut(index) else { return };
            let is_taken = |name: &str| before.iter().any(|other| other.name == name);
            let numbered = (2..=index + 1).map(|number| format!("{}#{number}", source.name));
            if let Some(free) = std::iter::once(source.name.clone()).chain(numbered).find(|name| !is_taken(name)) {
                source.name = free;
            }
        }
    }
}

/// A part of a name, which can be typed: other characters are dashes.
pub(super) fn part_of_name(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    printable(text, LONGEST_NAME).chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_typed_and_are_unique() {
        assert_eq!(part_of_name("Total System\u{1b} Power"), "Total-System--Power");
        let source = |name: &str| Source::sampled(name, Scope::Part, Err("absent".to_owned()));
        let mut sources = ["a", "b", "a", "a#2", "a"].map(source);
        Source::tell_apart(&mut sources);
        assert_eq!(sources.each_ref().map(Source::name), ["a", "b", "a#2", "a#2#2", "a#3"]);
    }

    #[test]
    fn scopes_are_ordered_by_what_they_hold() {
        assert!(Scope::Part < Scope::Package && Scope::Package < Scope::Board);
        assert!(Scope::Board < Scope::Battery && Scope::Battery < Scope::Meter);
        assert_eq!(format!("{:>8}|", Scope::Board), "   board|");
    }
}
