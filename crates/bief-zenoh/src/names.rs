//! What things are called in the network: all of it begins with `bief` and the version of the protocol.

use std::str::FromStr;

use bief::{Error, Result};
use bief_link::PROTOCOL;

/// All that workers announce, of any protocol.
pub(crate) const WORKERS: &str = "bief/*/worker/*/*/*";
/// All that fronts announce, of any protocol.
pub(crate) const FRONTS: &str = "bief/*/front/*";

/// What a worker announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerKey {
    pub(crate) protocol: String,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) address: String,
}

impl WorkerKey {
    pub(crate) fn new(id: &str, name: &str, address: &str) -> Self {
        let [id, name, address] = [id, name, address].map(str::to_owned);
        Self { protocol: PROTOCOL.to_string(), id, name, address }
    }

    pub(crate) fn read(key: &str) -> Option<Self> {
        let mut parts = key.split('/').skip(1).map(str::to_owned);
        let protocol = parts.next()?;
        let (_, id, name, address) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Self { protocol, id, name, address })
    }

    pub(crate) fn key(&self) -> String {
        format!("bief/{}/worker/{}/{}/{}", self.protocol, self.id, self.name, self.address)
    }

    /// Whether both sides speak the same.
    pub(crate) fn is_ours(&self) -> bool {
        self.protocol == PROTOCOL.to_string()
    }
}

/// What a front announces.
pub(crate) fn front(number: u32) -> String {
    format!("bief/{PROTOCOL}/front/{number:08x}")
}

/// The protocol of a front that announces a key, and its number.
pub(crate) fn read_front(key: &str) -> Option<(String, u32)> {
    let mut parts = key.split('/').skip(1);
    let (protocol, _, number) = (parts.next()?, parts.next()?, parts.next()?);
    Some((protocol.to_owned(), u32::from_str_radix(number, 16).ok()?))
}

/// The number of the front that a run belongs to.
pub(crate) fn front_of(run: u64) -> u32 {
    (run >> 32) as u32
}

/// Messages to a worker.
pub(crate) fn to_worker(id: &str) -> String {
    format!("bief/{PROTOCOL}/to/worker/{id}")
}

/// Messages to a front.
pub(crate) fn to_front(number: u32) -> String {
    format!("bief/{PROTOCOL}/to/front/{number:08x}")
}

/// What a worker tells of itself.
pub(crate) fn about(id: &str) -> String {
    format!("bief/{PROTOCOL}/about/{id}")
}

/// What all workers tell of themselves.
pub(crate) fn about_all() -> String {
    about("*")
}

/// The name of a worker: up to 64 letters, digits, `-`, `_` and `.`.
///
/// ```
/// use bief_zenoh::Name;
///
/// assert_eq!("rack3".parse::<Name>()?.as_str(), "rack3");
/// assert!("rack/3".parse::<Name>().is_err());
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// That of this machine, without what a name cannot have.
    pub fn of_host() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name: String = host.chars().filter(|&letter| is_letter(letter)).take(MOST_LETTERS).collect();
        Self(if name.is_empty() { "worker".to_owned() } else { name })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name.is_empty() || name.len() > MOST_LETTERS || !name.chars().all(is_letter) {
            return Err(Error::new(format!(
                "a worker cannot be called `{name}`: use up to {MOST_LETTERS} letters, digits, `-`, `_` and `.`"
            )));
        }
        Ok(Self(name.to_owned()))
    }
}

const MOST_LETTERS: usize = 64;

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = WorkerKey::new("a1", "rack3", "rack3:7447");
        assert_eq!(WorkerKey::read(&key.key()), Some(key.clone()));
        assert!(key.is_ours());
        let other = WorkerKey::read("bief/9/worker/a1/rack3/rack3:7447").unwrap();
        assert!(!other.is_ours() && other.name == "rack3");
        assert_eq!(read_front(&front(0xBEEF)), Some((PROTOCOL.to_string(), 0xBEEF)));
        assert_eq!(front_of(0xBEEF_0000_0003), 0xBEEF);
        for key in ["bief/1", "x", "bief/1/front/xyz"] {
            assert_eq!((WorkerKey::read(key), read_front(key)), (None, None));
        }
        assert!("rack3.example-x_1".parse::<Name>().is_ok());
        for name in ["", "a/b", "a*", "ä", &"x".repeat(65)] {
            assert!(name.parse::<Name>().is_err(), "{name}");
        }
    }
}
