//! Sensors of boards, as the kernel's hwmon chips show them.

use std::path::Path;

use super::reader::{Counter, Input, Power};
use super::source::{Scope, Source, part_of_name};
use super::tree::{Root, names, text};

const FOLDER: &str = "sys/class/hwmon";

/// One of a chip's channels: what it measures, and by which file.
#[derive(Debug)]
struct Channel {
    chip: String,
    /// `power1`, or what a label says.
    name: String,
    has_label: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Power(Power),
    Energy(Counter),
}

/// What sensors are there, those of a whole board first.
pub(super) fn sources(root: &Root) -> Vec<Source> {
    let chips = names(&root.join(FOLDER));
    let channels: Vec<Channel> = chips.iter().flat_map(|chip| channels(&root.join(FOLDER).join(chip))).collect();
    let rails = channels.iter().filter(|channel| channel.is_of_a_rail()).count();
    let mut sources: Vec<Source> = channels.into_iter().map(|channel| channel.source(rails)).collect();
    // What a charger takes in is more than the machine takes: a total is better than an input.
    sources.sort_by_key(|source| {
        (std::cmp::Reverse(source.scope()), !source.name().to_ascii_lowercase().contains("total"))
    });
    sources
}

fn channels(folder: &Path) -> Vec<Channel> {
    let Ok(chip) = text(&folder.join("name")) else { return Vec::new() };
    let files = names(folder);
    let channel = |kind: &str, number: &str, reader: Kind| {
        let label = text(&folder.join(format!("{kind}{number}_label"))).ok().filter(|label| !label.is_empty());
        Channel {
            chip: chip.clone(),
            has_label: label.is_some(),
            name: label.unwrap_or_else(|| format!("{kind}{number}")),
            kind: reader,
        }
    };
    let mut numbers: Vec<&str> = files.iter().filter_map(|file| channel_number(file)).collect();
    numbers.sort_unstable_by_key(|number| (number.len(), *number));
    numbers.dedup();
    let found = numbers.into_iter().filter_map(|number| {
        let file = |name: String| files.contains(&name).then(|| folder.join(name));
        // What a chip averages by itself misses nothing between two readings.
        let power = file(format!("power{number}_average")).or_else(|| file(format!("power{number}_input")));
        if let Some(power) = power {
            return Some(channel("power", number, Kind::Power(Power::File(power))));
        }
        if let Some(energy) = file(format!("energy{number}_input")) {
            let counter = Counter { input: Input::File(energy), range: None, unit: 1e-6 };
            return Some(channel("energy", number, Kind::Energy(counter)));
        }
        let (volts, amperes) = (file(format!("in{number}_input"))?, file(format!("curr{number}_input"))?);
        // Batteries and chargers show such pairs too, which are not what the machine takes. Further channels of an INA3221 are
        // voltages over its shunts, and sums of them.
        let is_pair = is_monitor(&chip) && (chip != "ina3221" || ["1", "2", "3"].contains(&number));
        is_pair.then(|| channel("in", number, Kind::Power(Power::Product(volts, amperes))))
    });
    found.filter(|channel| channel.name != "NC").collect()
}

/// `1` of `power1_input`.
fn channel_number(file: &str) -> Option<&str> {
    let (kind, _) = file.split_once('_').filter(|(_, what)| ["input", "average"].contains(what))?;
    let number = ["power", "energy", "in"].iter().find_map(|name| kind.strip_prefix(name))?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(number)
}

/// Whether a chip is one of those that are put into supply rails to measure them.
fn is_monitor(chip: &str) -> bool {
    let number = chip.strip_prefix("ina").or_else(|| chip.strip_prefix("ltc"));
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a rail feeds all others, by what boards call it: `VDD_IN`, `POM_5V_IN`, `Total System Power`, `AC Input Power`.
fn is_whole(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    label.ends_with("_in") || label == "vin" || label.contains("total") || label.contains("input")
}

impl Channel {
    fn is_of_a_rail(&self) -> bool {
        is_monitor(&self.chip)
    }

    /// The source, on a machine with so many sensors of rails.
    fn source(self, rails: usize) -> Source {
        let name = format!("{}:{}", part_of_name(&self.chip), part_of_name(&self.name));
        let is_alone = self.is_of_a_rail() && !self.has_label && rails == 1;
        let is_board = self.chip == "power_meter" || is_alone || (self.has_label && is_whole(&self.name));
        let scope = if is_board { Scope::Board } else { Scope::Part };
        let source = match self.kind {
            Kind::Power(power) => Source::sampled(&name, scope, Ok(power)),
            Kind::Energy(counter) => Source::counting(&name, scope, Ok(vec![counter])),
        };
        if is_alone { source.with_note("no label tells its rail: taken for the board's input") } else { source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rails_that_feed_all_others_are_known_by_their_labels() {
        for label in ["VDD_IN", "POM_5V_IN", "VIN", "Total System Power", "AC Input Power"] {
            assert!(is_whole(label), "{label}");
        }
        for label in ["VIN_SYS_5V0", "SYS5V", "CPU", "VDD_CPU_GPU_CV", "Heatpipe Power", "PPT", "sum"] {
            assert!(!is_whole(label), "{label}");
        }
    }

    #[test]
    fn monitors_are_told_from_other_chips() {
        let chips = ["ina3221", "ina226", "ltc2947", "BAT0", "ucsi_source_psy_USBC000:001", "inactive", "amdgpu"];
        assert_eq!(chips.map(is_monitor), [true, true, true, false, false, false, false]);
        let files = ["power12_average", "in1_input", "inx_input", "in_input", "power1_cap", "temp1_input"];
        assert_eq!(files.map(channel_number), [Some("12"), Some("1"), None, None, None, None]);
    }
}
