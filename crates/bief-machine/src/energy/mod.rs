//! Energy: what this machine can measure of it, and how much was used between two moments.
//!
//! Machines tell their energy in different ways, and of different parts. An [`EnergyMeter`] finds all of them in the order in which
//! they are to be trusted:
//!
//! | source | scope | where it is | what it is |
//! | --- | --- | --- | --- |
//! | `rapl:package`, `rapl:psys` | package, board | `/sys/class/powercap/intel-rapl:*` | counters of Intel and AMD processors; since 2020 for root alone |
//! | `perf:package`, `perf:psys` | package, board | the kernel's `power` events | the same counters, with CAP_PERFMON |
//! | `CHIP:LABEL` | board | `/sys/class/hwmon` | sensors: INA3221 and its like on boards, ACPI power meters, Apple's SMC |
//! | `battery` | battery | `/sys/class/power_supply` | what batteries give, while they discharge |
//! | `meter` | meter | a file, a pipe, a serial line | an external [`Meter`], which writes readings |
//!
//! `rapl:core`, `rapl:dram`, rails of a board and the like are of the scope *part*: listed, and measured only when they are
//! named. Nothing is subtracted, and nothing of different scopes is added: what a machine uses when idle is measured by measuring
//! while it is idle. Where nothing can be read there is no figure, which is not the figure 0.
//!
//! Counters move about a thousand times a second and sensors are read ten times: measure for a second or more, and for a minute
//! with a battery.
//!
//! ```
//! use bief_machine::energy::EnergyMeter;
//!
//! let meter = EnergyMeter::find();
//! let measurement = meter.start();
//! let sum: u64 = (0..1_000_000).sum();
//! match measurement.map(|measurement| measurement.stop()) {
//!     Some(measured) => match measured.energy {
//!         Some(energy) => println!("{} J of the {}, by {}", energy.joules, energy.scope, energy.source),
//!         None => println!("not measured: {}", measured.notes.join("; ")),
//!     },
//!     None => println!("this machine tells nothing that can be read; {sum}"),
//! }
//! ```

mod background;
mod battery;
mod hwmon;
mod integral;
mod measurement;
mod meter;
mod perf;
mod pmu;
mod powercap;
mod reader;
mod source;
mod tree;

use std::path::Path;

use self::battery::batteries;
pub use self::measurement::{Energy, Measured, Measurement, SoFar};
pub use self::meter::{Meter, MeterLog};
use self::reader::{Power, Reader};
pub use self::source::{Scope, Source};
use self::tree::Root;
use crate::error::{Error, Result};
use crate::suggest::suggestion;

/// All that tells energy or power on a machine.
///
/// ```
/// use bief_machine::energy::EnergyMeter;
///
/// for source in EnergyMeter::find().sources() {
///     println!("{} ({}): {}", source.name(), source.scope(), source.unreadable().unwrap_or("readable"));
/// }
/// ```
#[derive(Debug, Clone)]
pub struct EnergyMeter {
    sources: Vec<Source>,
    /// The one source that is to be read was named.
    is_named: bool,
}

impl EnergyMeter {
    /// Looks for sources of this machine. There may be none.
    pub fn find() -> Self {
        Self::under(Path::new("/"))
    }

    /// The sources that the files under `root` describe (`root/sys/class/powercap` and so on), so that another machine's files
    /// can be studied. Performance events are read of this machine alone.
    pub fn under(root: &Path) -> Self {
        let root = Root::new(root);
        let mut sources = powercap::sources(&root);
        sources.extend(pmu::sources(&root));
        sources.extend(hwmon::sources(&root));
        let batteries = batteries(&root);
        if !batteries.is_empty() {
            let source = Source::sampled("battery", Scope::Battery, Ok(Power::Batteries(batteries)));
            sources.push(source.with_note("follows with a delay of seconds: measure for a minute or more"));
        }
        Source::tell_apart(&mut sources);
        Self { sources, is_named: false }
    }

    /// An external meter too, as the source `meter`. It is of the widest scope, and so the one whose energy counts, as long as it
    /// tells any.
    pub fn with_meter(mut self, meter: Meter) -> Self {
        let note = meter.path().display().to_string();
        let source = Source::new("meter", Scope::Meter, false, Ok(Reader::Meter(meter))).with_note(note);
        self.sources.push(source);
        Source::tell_apart(&mut self.sources);
        self
    }

    /// This source alone, also where it is of a part of the machine.
    ///
    /// # Errors
    /// There is no source of that name, or it cannot be read.
    pub fn only(mut self, name: &str) -> Result<Self> {
        let Some(source) = self.sources.iter().find(|source| source.name() == name) else {
            let names = self.sources.iter().map(Source::name);
            return Err(Error::invalid(format!("there is no source `{name}`{}", suggestion(name, names))));
        };
        if let Some(why) = source.unreadable() {
            return Err(Error::unavailable(format!("source `{name}` cannot be read: {why}")));
        }
        self.sources.retain(|source| source.name() == name);
        Ok(Self { is_named: true, ..self })
    }

    /// The sources that there are, readable or not, in the order in which they are to be trusted.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Starts to measure with every source that can be read, but for those of a part of the machine; `None` where there is none.
    ///
    /// A thread for each reads it: counters once a second or as often as they may go round, sensors ten times a second, batteries
    /// once, and less often where reading takes longer than a twentieth of that time.
    pub fn start(&self) -> Option<Measurement> {
        Measurement::start(self.sources.iter().filter(|source| self.is_named || source.scope() > Scope::Part))
    }
}
