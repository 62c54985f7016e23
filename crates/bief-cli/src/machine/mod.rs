//! `bief machine`: the cores of a machine, and what they share.

mod parts;
mod picture;
mod tree;

use std::path::{Path, PathBuf};

use bief::Machine;
use bief::placement::Placement;
use clap::Args;

use crate::document;
use crate::draw;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::{JsonArgs, print};

const EXAMPLES: &str = "\
Examples:
  bief machine                       this machine
  bief machine --json here.json      the same as JSON
  bief machine here.json             a machine saved before
  bief machine board.xml             written by hwloc's `lstopo board.xml`
  bief machine emulated.toml         emulates slower cores on this machine
  bief machine --root copy           a machine whose /sys and /proc were copied
  bief machine --svg here.svg        a picture
  bief machine --place where.json --svg threads.svg
                                     where the threads of a pipeline run

Without FILE, a machine description that --json names is shown, unless its name
ends in .json.

A TOML file emulates other kinds of cores on those of this machine:
  [[kind]]
  name = \"big\"
  cores = \"0\"
  [[kind]]
  name = \"little\"
  cores = \"1\"
  speed = 0.45                       of the core's real speed
  [kind.tasks]                       tasks with another speed
  \"decode LDPC\" = 0.30
and a device such as a GPU beside them, or beside all cores as they are:
  [[device]]
  name = \"gpu\"
  lanes = 3                          executions under way at a time
  launch_us = 20                     for each task of an execution
  copy_gb_per_s = 12.0               each way; left out, nothing is copied
  speed = 0.9                        of a core's speed; [device.tasks] as above";

/// Arguments of `bief machine`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MachineArgs {
    /// Machine to show: JSON, XML of hwloc, or TOML that emulates other kinds of cores and devices [default: this machine]
    file: Option<PathBuf>,
    /// Folder with the /sys and /proc of another Linux machine
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    root: Option<PathBuf>,
    /// Check a placement written by --save-place of `bief rx` or `bief run`, and show it on the machine
    #[arg(long, value_name = "FILE.json")]
    place: Option<PathBuf>,
    /// Draw the machine
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

/// Shows a machine.
pub(crate) fn run(mut args: MachineArgs) -> Result<(), Failure> {
    if args.file.is_none() && args.root.is_none() {
        let is_machine = |path: &Path| path.is_file() && Machine::read(path).is_ok();
        args.file = args.json.misplaced_input(is_machine);
    }
    let svg_on_stdout = args.svg.as_deref().is_some_and(is_dash);
    if args.json.on_stdout() && svg_on_stdout {
        return Err(Failure::usage("JSON and SVG cannot both go to standard output: give --json or --svg a file"));
    }
    let mut files = Files::default();
    args.file.iter().chain(&args.place).try_for_each(|file| files.read(file))?;
    args.json.claim(&mut files)?;
    args.svg.as_deref().map_or(Ok(()), |path| files.write(path, "--svg"))?;

    let machine = machine(&args)?;
    let placement =
        args.place.as_deref().map(|path| document::read(path, |text| checked(text, &machine))).transpose()?;
    args.json.write(|| machine.to_json().trim_end().to_owned())?;
    if let Some(path) = &args.svg {
        draw::write(path, &picture::svg(&machine, placement.as_ref()))?;
    }
    if args.json.on_stdout() || svg_on_stdout {
        return Ok(());
    }
    let placed = placement.map_or_else(String::new, |placement| format!("\n\n{placement}"));
    let devices = if args.file.is_none() && args.root.is_none() { parts::devices() } else { Vec::new() };
    print(&format!("{}{placed}", tree::text(&machine, devices)))
}

/// Reads a placement that goes with a machine.
fn checked(text: &str, machine: &Machine) -> bief::Result<Placement> {
    let placement = Placement::from_json(text)?;
    placement.check(machine)?;
    Ok(placement)
}

fn machine(args: &MachineArgs) -> Result<Machine, Failure> {
    match (&args.file, &args.root) {
        (Some(file), _) => Machine::read(file).map_err(Failure::from_error),
        (None, Some(root)) if !root.join("sys/devices/system/cpu").is_dir() => {
            let root = root.display();
            Err(Failure::usage(format!(
                "--root {root}: it has no folder sys/devices/system/cpu: copy that of a machine"
            )))
        }
        (None, Some(root)) => Ok(Machine::under(root)),
        (None, None) => Ok(Machine::here()),
    }
}

/// A machine that others have recorded.
#[cfg(test)]
fn x7_ti() -> Machine {
    let text = include_str!("../../tests/machines/x7_ti.xml");
    Machine::from_hwloc_xml(text).unwrap()
}

/// A machine with so many packages, nodes in each, clusters in each of these and cores in each of those, of two threads.
#[cfg(test)]
fn server(packages: usize, nodes: usize, clusters: usize, cores: usize) -> Machine {
    let all = packages * nodes * clusters * cores;
    let core = |core: usize| {
        let cluster = core / cores;
        serde_json::json!({
            "threads": [core, core + all], "kind": 0, "cluster": cluster, "node": cluster / clusters,
            "package": cluster / clusters / nodes,
        })
    };
    let cache = |cluster: usize| {
        let cores: Vec<usize> = (cluster * cores..(cluster + 1) * cores).collect();
        serde_json::json!({"level": 3, "holds": "both", "bytes": 32 << 20, "cores": cores})
    };
    let document = serde_json::json!({
        "format": 1, "model": "A server with a name that is so long that it does not fit on one line of a terminal, which is narrow",
        "kinds": [{"name": "cpu"}], "cores": (0..all).map(core).collect::<Vec<_>>(),
        "caches": (0..all / cores).map(cache).collect::<Vec<_>>(), "quota": 2.5, "notes": ["It is none. ".repeat(20)],
    });
    Machine::from_json(&document.to_string()).unwrap()
}
