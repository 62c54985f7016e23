//! Counters of the processor itself (RAPL, of Intel and AMD), as the kernel's powercap zones show them.
//!
//! A zone `intel-rapl:0` is a package, with zones `intel-rapl:0:0` and so on of its parts; `psys` stands beside the packages and
//! holds them. Only zones of one kind in different packages are added. The zones `intel-rapl-mmio:*` show the same counters
//! another time and are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::reader::{Counter, Input};
use super::source::{Scope, Source, part_of_name};
use super::tree::{Root, names, number, text, why};

const FOLDER: &str = "sys/class/powercap";

/// What zones are there, in the order of their first.
pub(super) fn sources(root: &Root) -> Vec<Source> {
    let mut seen = BTreeSet::new();
    let mut kinds: BTreeMap<(Kind, String), Result<Vec<Counter>, String>> = BTreeMap::new();
    for zone in names(&root.join(FOLDER)) {
        let Some(number) = zone.strip_prefix("intel-rapl:") else { continue };
        if !number.split(':').all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit())) {
            continue;
        }
        let folder = root.join(FOLDER).join(&zone);
        let Ok(name) = text(&folder.join("name")) else { continue };
        let parent = number.rsplit_once(':').map(|(parent, _)| parent.to_owned());
        // The same zone a second time must not be added.
        if !seen.insert((parent.clone(), name.clone())) {
            continue;
        }
        let kind = Kind::of(&name, parent.is_some());
        let name = if kind == Kind::Package { "package".to_owned() } else { part_of_name(&name) };
        let entry = kinds.entry((kind, name)).or_insert_with(|| Ok(Vec::new()));
        match (counter(&folder), &mut *entry) {
            (Ok(counter), Ok(counters)) => counters.push(counter),
            // One that is missing makes the sum wrong.
            (Err(why), Ok(_)) => *entry = Err(why),
            (_, Err(_)) => {}
        }
    }
    kinds
        .into_iter()
        .map(|((kind, name), counters)| Source::counting(&format!("rapl:{name}"), kind.scope(), counters))
        .collect()
}

fn counter(folder: &Path) -> Result<Counter, String> {
    let (energy, range) = (folder.join("energy_uj"), folder.join("max_energy_range_uj"));
    let range = number(&range).map_err(|error| why(&range, &error))?;
    Ok(Counter { input: Input::File(energy), range: Some(range), unit: 1e-6 })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Platform,
    Package,
    Part,
}

impl Kind {
    fn of(name: &str, is_inside: bool) -> Self {
        match name {
            "psys" if !is_inside => Self::Platform,
            name if name.starts_with("package") && !is_inside => Self::Package,
            _ => Self::Part,
        }
    }

    fn scope(self) -> Scope {
        match self {
            Self::Platform => Scope::Board,
            Self::Package => Scope::Package,
            Self::Part => Scope::Part,
        }
    }
}
