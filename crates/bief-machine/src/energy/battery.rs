//! Batteries, which tell the machine's power while they discharge.

use std::path::PathBuf;

use super::tree::{Root, names, number, printable, text, why};

const FOLDER: &str = "sys/class/power_supply";

/// A battery that feeds the machine.
#[derive(Debug)]
pub(super) struct Battery {
    name: String,
    folder: PathBuf,
}

/// All of the machine's batteries.
pub(super) fn batteries(root: &Root) -> Vec<Battery> {
    let supplies = names(&root.join(FOLDER)).into_iter();
    let supplies = supplies.map(|name| Battery { folder: root.join(FOLDER).join(&name), name: printable(&name, 40) });
    supplies.filter(Battery::feeds_the_machine).collect()
}

impl Battery {
    fn feeds_the_machine(&self) -> bool {
        let says = |file: &str, what: &str| text(&self.folder.join(file)).is_ok_and(|text| text == what);
        // A mouse has a battery too, and a slot may be empty.
        says("type", "Battery") && !says("scope", "Device") && !says("present", "0")
    }

    /// Watts that they give together.
    ///
    /// # Errors
    /// One is charged, none discharges, or what they give cannot be read.
    pub(super) fn watts(batteries: &[Self]) -> Result<f64, String> {
        let (mut sum, mut discharging) = (0.0, false);
        for battery in batteries {
            let path = battery.folder.join("status");
            match text(&path).map_err(|error| why(&path, &error))?.as_str() {
                "Discharging" => {
                    discharging = true;
                    sum += battery.power()?;
                }
                "Charging" => return Err(format!("{} is being charged: {ONLY}", battery.name)),
                // Its neighbour feeds the machine, or a cable does.
                _ => {}
            }
        }
        if discharging { Ok(sum) } else { Err(format!("does not discharge: {ONLY}")) }
    }

    /// Watts that it gives. Some drivers count what flows out as negative.
    fn power(&self) -> Result<f64, String> {
        let read = |file: &str| number::<i64>(&self.folder.join(file)).map(|value| (value as f64 * 1e-6).abs());
        if let Ok(watts) = read("power_now") {
            return Ok(watts);
        }
        match (read("current_now"), read("voltage_now")) {
            (Ok(amperes), Ok(volts)) => Ok(amperes * volts),
            _ => Err(format!("{} tells neither power_now nor current_now and voltage_now", self.name)),
        }
    }
}

const ONLY: &str = "a battery tells the machine's power only while it discharges: pull the plug";
