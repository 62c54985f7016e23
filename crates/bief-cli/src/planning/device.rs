//! `--device`: which devices are planned with.

use std::str::FromStr;

use bief::Machine;
use bief_opencl::{Found, Memory, find, open};

use crate::failure::{Failure, warn};

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

/// A machine with those devices that are wanted: of those that it emulates where it does, and else of those that are here, with this memory
/// and so many lanes. These are looked for only if somebody asks for devices, and those that are made of the cores are taken only by name.
///
/// # Errors
/// As [`DeviceChoice::of`]; a device that is required and does not open; a number of lanes for one that is emulated.
pub(crate) fn with_devices(
    machine: Machine,
    choice: Option<&DeviceChoice>,
    (memory, lanes): (Memory, Option<u32>),
) -> Result<Machine, Failure> {
    let emulated: Vec<&str> = machine.devices().iter().map(|device| device.name.as_str()).collect();
    if let (Some(lanes), false) = (lanes, emulated.is_empty()) {
        return Err(Failure::usage(format!(
            "--lanes {lanes}: it is for a device that is here; `lanes` in the file of --machine tells those of {}",
            emulated.join(", ")
        )));
    }
    let Some(choice) = choice.filter(|choice| emulated.is_empty() && **choice != DeviceChoice::Off) else {
        let choice = choice.unwrap_or(&DeviceChoice::Try);
        let wanted = choice.of(&emulated, ["this machine", "name one that emulates some (--machine FILE)"])?;
        let wanted: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
        return Ok(machine.with_devices_where(|device| wanted.contains(&device.name)));
    };
    let (found, why) = match find() {
        Ok(found) => (found, "install its OpenCL driver".to_owned()),
        Err(error) => (Vec::new(), error.to_string()),
    };
    let is_named = matches!(choice, DeviceChoice::Require(Some(_)));
    let of_choice: Vec<&str> =
        found.iter().filter(|found| is_named || !found.is_cpu).map(|found| found.name.as_str()).collect();
    let only_cores = format!("what OpenCL has here is made of the cores: name it to try it ({})", names(&found));
    let why = if found.is_empty() { why } else { only_cores };
    let wanted = choice.of(&of_choice, ["this machine", &why])?;
    if wanted.is_empty() {
        warn(&format!("planned without a device: {why}"));
    }
    let mut wanted = found.iter().filter(|found| wanted.contains(&found.name.as_str()));
    wanted.try_fold(machine, |machine, found| match open(found, memory) {
        Ok(mut spec) => {
            spec.lanes = lanes.unwrap_or(spec.lanes);
            machine.with_device(spec).map_err(Failure::from_error)
        }
        Err(error) if choice.is_required() => Err(Failure::new(error.to_string())),
        Err(error) => {
            warn(&format!("planned without the device `{}`: {error}", found.name));
            Ok(machine)
        }
    })
}

fn names(found: &[Found]) -> String {
    found.iter().map(|found| found.name.as_str()).collect::<Vec<_>>().join(", ")
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
            Err(Failure::usage(format!("--device {option}: {whose} has {has}")))
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
