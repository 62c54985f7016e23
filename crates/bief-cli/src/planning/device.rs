//! `--device`: which devices are planned with.

use std::str::FromStr;

use crate::failure::Failure;

/// What to do with devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    /// Leave them out.
    Off,
    /// Take those that can be used.
    Try,
    /// Take all of them, or the one of that name, and fail where that is not possible.
    Require(Option<String>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            None if text == "off" => Ok(Self::Off),
            None if text == "try" => Ok(Self::Try),
            None if text == "require" => Ok(Self::Require(None)),
            Some(("require", name)) if !name.is_empty() => Ok(Self::Require(Some(name.to_owned()))),
            _ => Err("write off, try, require or require=NAME".to_owned()),
        }
    }
}

impl DeviceChoice {
    pub(crate) fn is_required(&self) -> bool {
        matches!(self, Self::Require(_))
    }

    /// Those of the devices that are `there` which are wanted; errors say who has them, and the remedy where there is none.
    ///
    /// # Errors
    /// A device that is required and not there.
    pub(crate) fn of<'n>(&self, there: &[&'n str], [whose, remedy]: [&str; 2]) -> Result<Vec<&'n str>, Failure> {
        let missing = |option: &str| {
            let has = if there.is_empty() { format!("no device: {remedy}") } else { there.join(", ") };
            Err(Failure::new(format!("--device {option}: {whose} has {has}")))
        };
        match self {
            Self::Off => Ok(Vec::new()),
            Self::Require(None) if there.is_empty() => missing("require"),
            Self::Try | Self::Require(None) => Ok(there.to_vec()),
            Self::Require(Some(name)) => match there.iter().find(|device| *device == name) {
                Some(device) => Ok(vec![device]),
                None => missing(&format!("require={name}")),
            },
        }
    }
}
