//! `bief power read`: the sources of this machine, and what they measure for a while.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bief::machine::energy::{Energy, EnergyMeter, Measured, Meter, Scope, Source};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::files::Files;
use crate::interrupt::{at_interrupt, ended_by_signal};
use crate::json::{JsonArgs, print};
use crate::progress::{progress, shown};
use crate::status::Status;
use crate::table::facts;
use crate::text::{COLUMNS, printable, wrapped};
use crate::units::significant;

const EXAMPLES: &str = "\
Examples:
  bief power read
  bief power read --seconds 60 --source battery
  bief power read --meter /dev/ttyUSB0 --json power.json

Sources are tried in this order: powercap (RAPL counters of Intel and AMD
processors), perf events of the kernel (the same counters), hwmon sensors (of
boards, ACPI power meters), batteries while they discharge. Each has a scope:
  part     a part of the machine: measured only if named by --source
  package  processor packages, without memory modules and the board
  board    the board, or the platform as its maker defines it
  battery  everything that the battery feeds
  meter    everything behind an external meter
The readable source of the widest scope counts; the others are shown as well.
Figures of two scopes must not be compared or added.

Meter: lines of `time,watts` or `watts`, with , ; tab or blanks between. Columns
may have a header: time, s or ms; watts, W, power or mW. FILE is a file that
grows, a pipe, or a serial line configured with stty.";

/// Arguments of `bief power read`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReadArgs {
    /// Duration of the measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Measure with this source only
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// An external meter that writes readings to FILE
    #[arg(long, value_name = "FILE")]
    meter: Option<PathBuf>,
    /// Look under DIR instead of /, for the recorded files of another machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, for example 60".to_owned())?;
    if (0.1..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("write seconds from 0.1 to 86400".to_owned()) }
}

/// Shows the sources, and measures with those that can be read.
pub(super) fn run(args: &ReadArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    args.meter.as_deref().map_or(Ok(()), |path| files.read(path))?;
    args.json.claim(&mut files)?;
    let mut meter = match &args.root {
        Some(root) if !root.is_dir() => {
            return Err(Failure::usage(format!("--root {}: is no folder", root.display())));
        }
        Some(root) => EnergyMeter::under(root),
        None => EnergyMeter::find(),
    };
    if let Some(path) = &args.meter {
        let external =
            Meter::open(path).map_err(|error| Failure::new(format!("--meter {error}")).with(Status::NoInput))?;
        meter = meter.with_meter(external);
    }
    let all = meter.clone();
    if let Some(name) = &args.source {
        meter = meter.only(name).map_err(|error| Failure::usage(format!("--source: {error}")))?;
    }
    if !args.json.on_stdout() && !all.sources().is_empty() {
        print(&listing(all.sources()))?;
    }
    let (measured, is_interrupted) = measure(&meter, Duration::from_secs_f64(args.seconds))?;
    args.json.write(|| format!("{:#}", as_json(all.sources(), measured.as_ref())))?;
    if !args.json.on_stdout() {
        print(&match &measured {
            Some(measured) => findings(measured),
            None => paragraph(&nothing(all.sources())),
        })?;
    }
    if is_interrupted {
        return Err(ended_by_signal("interrupted; shown is what was measured before"));
    }
    match (&args.source, measured) {
        (Some(name), Some(Measured { energy: None, notes, .. })) => {
            Err(Failure::new(format!("--source {name}: nothing was measured: {}", printable(&notes.join("; ")))))
        }
        _ => Ok(()),
    }
}

/// Measures for so long, or until Ctrl-C; tells whether that came.
fn measure(meter: &EnergyMeter, time: Duration) -> Result<(Option<Measured>, bool), Failure> {
    let Some(measurement) = meter.start() else { return Ok((None, false)) };
    let (stop, stopped) = channel();
    // One end stays here: where nobody listens to Ctrl-C, the other one goes away.
    let at_ctrl_c = stop.clone();
    at_interrupt(move || {
        let _ = at_ctrl_c.send(());
    })?;
    let start = Instant::now();
    let bar = progress(u64::try_from(time.as_millis()).ok()).with_message("measuring");
    let tell = |bar: &indicatif::ProgressBar| bar.set_position(start.elapsed().as_millis() as u64);
    let ended = shown(&bar, tell, || stopped.recv_timeout(time));
    drop(stop);
    Ok((Some(measurement.stop()), ended != Err(RecvTimeoutError::Timeout)))
}

/// A line for each source, and why some cannot be read.
fn listing(sources: &[Source]) -> String {
    let width = sources.iter().map(|source| source.name().chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for source in sources {
        let how = if source.counts() { "counts energy" } else { "samples power" };
        let state = if source.unreadable().is_some() { "cannot be read" } else { "readable" };
        lines.push(format!("{:<width$}  {:<7}  {how}  {state}", source.name(), source.scope()));
        for remark in source.unreadable().into_iter().chain(source.note()) {
            lines.extend(wrapped(&printable(remark), COLUMNS - 4).into_iter().map(|line| format!("    {line}")));
        }
    }
    // A blank line parts it from what follows.
    lines.push(String::new());
    lines.join("\n")
}

/// What was looked for, where there is nothing to measure with.
fn nothing(sources: &[Source]) -> String {
    let is_part = |source: &&Source| source.unreadable().is_none() && source.scope() == Scope::Part;
    let part = sources.iter().find(is_part).map(|source| {
        format!(" Parts of the machine can be measured when they are named, as by --source {}.", source.name())
    });
    format!(
        "Nothing was measured: there is no source of the whole machine that can be read. Looked for were powercap zones \
         (/sys/class/powercap/intel-rapl:*), the kernel's power events (/sys/bus/event_source/devices/power), sensors of \
         power (/sys/class/hwmon) and discharging batteries (/sys/class/power_supply). Energy in reports of this machine is \
         modelled, not measured. An external meter is read by --meter FILE.{}",
        part.unwrap_or_default()
    )
}

fn paragraph(text: &str) -> String {
    wrapped(text, COLUMNS).join("\n")
}

/// What was measured.
fn findings(measured: &Measured) -> String {
    let figure = |energy: &Energy| {
        let Energy { joules, watts, seconds, .. } = energy;
        format!("{} J in {} s, {} W on average", significant(*joules), significant(*seconds), significant(*watts))
    };
    let mut rows = Vec::new();
    match &measured.energy {
        Some(energy) => {
            rows.push(("energy", figure(energy)));
            rows.push(("source", energy.source.clone()));
            rows.push(("scope", energy.scope.to_string()));
        }
        None => rows.push(("energy", "not measured: reports of this machine are modelled".to_owned())),
    }
    for energy in &measured.others {
        rows.push(("beside it", format!("{}, {}: {}", energy.source, energy.scope, figure(energy))));
    }
    let notes = measured.notes.iter().flat_map(|note| {
        let lines = wrapped(&printable(note), COLUMNS - "beside it  ".len());
        lines.into_iter().enumerate().map(|(index, line)| (if index == 0 { "note" } else { "" }, line))
    });
    rows.extend(notes);
    facts(&rows)
}

fn as_json(sources: &[Source], measured: Option<&Measured>) -> Value {
    let source = |source: &Source| {
        json!({
            "name": source.name(),
            "scope": source.scope(),
            "counts_energy": source.counts(),
            "unreadable": source.unreadable(),
            "note": source.note(),
        })
    };
    json!({ "sources": sources.iter().map(source).collect::<Vec<_>>(), "measured": measured })
}
