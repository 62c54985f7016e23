//! Where and when figures were taken: the machine, and what else kept it busy meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use bief::Machine;
use bief::machine::clock::process_time;
use bief_cli::text::counted;
use bief_cli::units::significant;
use serde_json::{Value, json};

/// The machine at the beginning of a measurement.
pub(crate) struct Watch {
    started: Instant,
    own: Duration,
    system: Option<System>,
    load: Option<f64>,
}

/// What was seen from the beginning to the end. What a system does not tell is `None`.
pub(crate) struct Surroundings {
    model: String,
    pub(super) cores: usize,
    /// The load average of the last minute before.
    load: Option<f64>,
    /// Cores that other programs kept busy, on the mean.
    others: Option<f64>,
    /// Cores that the host of a virtual machine gave to others, on the mean.
    stolen: Option<f64>,
}

/// Seconds of all cores since the system was started.
#[derive(Debug, Clone, Copy, PartialEq)]
struct System {
    busy: f64,
    stolen: f64,
}

/// What others may take of a core without being worth a word.
pub(super) const QUIET: f64 = 0.05;

impl Watch {
    pub(crate) fn begin() -> Self {
        let load = fs::read_to_string("/proc/loadavg").ok();
        Self {
            started: Instant::now(),
            own: process_time(),
            system: System::now(),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }

    pub(crate) fn end(self) -> Surroundings {
        let machine = Machine::here();
        let (others, stolen) = self.taken();
        Surroundings {
            model: machine.model().to_owned(),
            cores: machine.cores().len(),
            load: self.load,
            others,
            stolen,
        }
    }

    /// Cores that others have taken until now, on the mean: nothing where the system does not tell.
    pub(super) fn taken_by_others(&self) -> f64 {
        let (others, stolen) = self.taken();
        others.into_iter().chain(stolen).sum()
    }

    /// Cores that other programs, and the host, have taken until now.
    fn taken(&self) -> (Option<f64>, Option<f64>) {
        let seconds = self.started.elapsed().as_secs_f64();
        let own = (process_time() - self.own).as_secs_f64();
        let now = System::now();
        let difference = |part: fn(System) -> f64| Some(part(now?) - part(self.system?));
        let others = difference(|system| system.busy).map(|busy| (busy - own).max(0.0) / seconds);
        (others, difference(|system| system.stolen).map(|stolen| stolen / seconds))
    }
}

impl System {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// From the first line of `/proc/stat`: hundredths of seconds as user, nice, system, idle, waiting, interrupts (two),
    /// stolen.
    fn parse(stat: &str) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let fields: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
        let [user, nice, system, _idle, _waiting, irq, softirq, stolen, ..] = fields[..] else { return None };
        Some(Self { busy: (user + nice + system + irq + softirq) / 100.0, stolen: stolen / 100.0 })
    }
}

impl Surroundings {
    /// Sentences for a reader.
    pub(crate) fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("Machine: {}, {}.", self.model, counted(self.cores, "core"))];
        let seen = [
            self.load.map(|load| format!("load average {load} at the start")),
            self.others.map(|cores| format!("other programs took {} of a core", rounded(cores))),
            self.stolen.map(|cores| format!("the host took {} of a core", rounded(cores))),
        ];
        let seen: Vec<String> = seen.into_iter().flatten().collect();
        if !seen.is_empty() {
            facts.push(format!("Meanwhile: {}.", seen.join(", ")));
        }
        if self.others.into_iter().chain(self.stolen).any(|cores| cores > QUIET) {
            facts.push("This machine is not quiet: figures of more than one core suffer most.".to_owned());
        }
        facts
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "model": self.model, "cores": self.cores, "load_average": self.load,
            "cores_taken_by_others": self.others, "cores_taken_by_the_host": self.stolen,
        })
    }
}

fn rounded(cores: f64) -> String {
    if cores < 0.005 { "0".to_owned() } else { significant((cores * 100.0).round() / 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_system_are_read() {
        let stat = "cpu  100 20 30 4000 5 1 2 50 0 0\ncpu0 1 2 3\n";
        assert_eq!(System::parse(stat), Some(System { busy: 1.53, stolen: 0.5 }));
        assert_eq!(System::parse("cpu 1 2 3"), None);
        assert_eq!(System::parse(""), None);
    }

    #[test]
    fn a_machine_with_other_work_is_told() {
        let seen = |others: Option<f64>, stolen: Option<f64>| {
            let all = Surroundings { model: "m".to_owned(), cores: 2, load: Some(0.5), others, stolen };
            all.facts().join(" ")
        };
        assert!(!seen(Some(0.01), Some(0.0)).contains("not quiet"));
        assert!(seen(Some(0.3), None).contains("took 0.300 of a core. This machine is not quiet"));
        assert!(seen(None, Some(0.06)).contains("not quiet"));
    }
}
