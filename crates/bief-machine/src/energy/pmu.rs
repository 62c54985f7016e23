//! The same counters of the processor as performance events of the kernel's `power` unit, for who may not read powercap.

use std::path::Path;

use super::perf;
use super::reader::{Counter, Input};
use super::source::{Scope, Source, part_of_name};
use super::tree::{Root, names, number, printable, text, why};
use crate::topology::list;

const FOLDER: &str = "sys/bus/event_source/devices/power";

const DENIED: &str = "readable with CAP_PERFMON or kernel.perf_event_paranoid <= 0: run as root, or \
                      `sysctl kernel.perf_event_paranoid=0`";

/// What the kernel says about one event.
#[derive(Debug, PartialEq)]
struct Event {
    kind: u32,
    config: u64,
    /// Joules of one count.
    unit: f64,
    /// One processor of each package.
    processors: Vec<usize>,
}

/// What events are there.
pub(super) fn sources(root: &Root) -> Vec<Source> {
    let folder = root.join(FOLDER);
    let events = names(&folder.join("events"));
    let events = events.iter().filter_map(|file| file.strip_prefix("energy-").filter(|domain| !domain.contains('.')));
    events
        .map(|domain| {
            let (name, scope) = match domain {
                "pkg" => ("package".to_owned(), Scope::Package),
                "psys" => ("psys".to_owned(), Scope::Board),
                _ => (part_of_name(domain), Scope::Part),
            };
            let counters = event(&folder, domain).and_then(|event| match root.is_here {
                true => event.open(),
                // Its number means something else on this machine.
                false => Err("a counter of another machine's kernel: only that machine can read it".to_owned()),
            });
            Source::counting(&format!("perf:{name}"), scope, counters)
        })
        .collect()
}

fn event(folder: &Path, domain: &str) -> Result<Event, String> {
    let read = |file: &str| {
        let path = folder.join(file);
        text(&path).map_err(|error| why(&path, &error))
    };
    let file = format!("events/energy-{domain}");
    let (event, unit) = (read(&file)?, read(&format!("{file}.unit"))?);
    let config = event.strip_prefix("event=").and_then(|event| match event.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => event.parse().ok(),
    });
    let Some(config) = config else {
        return Err(format!("{file}: is no plain number of an event: `{}`", printable(&event, 40)));
    };
    if unit != "Joules" {
        return Err(format!("{file}.unit: is not Joules: `{}`", printable(&unit, 40)));
    }
    let (kind, scale) = (folder.join("type"), folder.join(format!("{file}.scale")));
    let unit: f64 = number(&scale).map_err(|error| why(&scale, &error))?;
    // From a millionth of the usual unit, 2^-32 J, to a joule.
    if !(1e-16..=1.0).contains(&unit) {
        return Err(format!("{}: {unit} J cannot be what one count is", scale.display()));
    }
    let mut processors = list::threads(&read("cpumask")?).unwrap_or_default();
    if domain == "psys" {
        // There is one for all packages, which each of them shows.
        processors.truncate(1);
    }
    if processors.is_empty() {
        return Err("cpumask: names no processor".to_owned());
    }
    let kind = number(&kind).map_err(|error| why(&kind, &error))?;
    Ok(Event { kind, config, unit, processors })
}

impl Event {
    fn open(&self) -> Result<Vec<Counter>, String> {
        let open = |&processor: &usize| {
            let counter =
                perf::Counter::open(self.kind, self.config, processor as u32).map_err(|error| match error.kind() {
                    std::io::ErrorKind::PermissionDenied => DENIED.to_owned(),
                    _ => format!("the kernel does not open it on processor {processor}: {error}"),
                })?;
            Ok(Counter { input: Input::Perf(counter), range: None, unit: self.unit })
        };
        self.processors.iter().map(open).collect()
    }
}
