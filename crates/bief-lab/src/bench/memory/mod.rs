//! `bief lab bench memory`: a chain that does nothing but go over memory, over the size of its buffer and over where its
//! threads run.
//!
//! The chain is the memory-bound micro-benchmark of the StreamPU authors' poster on task scheduling for heterogeneous
//! systems on a chip: sixteen tasks, a pipeline stage each, that add 1 to every byte of a buffer.

mod bandwidth;
mod caches;
mod chain;
mod crossings;
mod device;
mod findings;
mod size;

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use bief::Machine;
use bief::placement::{Placement, Policy};
use bief_cli::failure::Failure;
use bief_opencl::Memory;
use clap::{Args, ValueEnum};

use self::chain::{DEPTH, Shape};
use self::crossings::{Crossings, Tally};
pub(super) use self::device::named;
use self::size::Size;
use super::case::{self, Case};
use super::output::OutputArgs;
use super::surroundings::Watch;

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench memory
  bief lab bench memory --csv memory.csv --svg memory.svg
  bief lab bench memory --sizes 4KiB,1MiB --rounds 1    a short run
  bief lab bench memory --tasks 4 --place packed,distant
  bief lab bench memory --device pocl --sizes 64KiB,16MiB --svg device.svg

A chain of tasks, one per pipeline stage, each of which adds 1 to every byte of
a buffer; the result is checked. For each size and placement: GB/s through the
pipeline, the time of a hand-over beyond the work, and how many hand-overs leave
a cluster of cores (which share a cache) or a package.
Placement: the system decides (loose), neighbours in the chain close together
(packed), or alternating between packages and clusters (distant).
CSV: every reading of every round. SVG: GB/s over the size.
With --device: what a buffer costs that cores and a device have in turn, by
memory and size: making it, a first and a second run of a kernel that adds 1 to
each byte, reading it back, rounds of all, a launch. Each byte is checked. SVG:
first and second run.";

/// Arguments of `bief lab bench memory`.
#[derive(Args)]
pub(super) struct MemoryArgs {
    /// Tasks of the chain, one per pipeline stage
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=256))]
    tasks: u32,
    /// Sizes of the buffer: bytes, or with KiB, MiB or GiB
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB"
    )]
    sizes: Vec<Size>,
    /// Where the threads run
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "loose,packed,distant")]
    place: Vec<Place>,
    /// Rounds of measurement, each over all sizes and places in turn
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Measure the memory of this device, as `bief machine` names it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tasks", "place"])]
    device: Option<String>,
    /// How cores and the device have the same bytes
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "copy,pinned,host,shared",
        requires = "device"
    )]
    memory: Vec<Memory>,
    #[command(flatten)]
    output: OutputArgs,
}

/// A policy of places, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Place {
    /// On any core: the system decides
    Loose,
    /// One core per thread, neighbours in the chain close together
    Packed,
    /// One core per thread, alternating between packages and clusters
    Distant,
}

impl Place {
    fn policy(self) -> Policy {
        match self {
            Self::Loose => Policy::Loose,
            Self::Packed => Policy::Packed,
            Self::Distant => Policy::Distant,
        }
    }
}

/// What a point is called by its place: that of all tasks in one stage is one core.
fn name(place: Option<Place>) -> String {
    place.map_or_else(|| "one core".to_owned(), |place| place.policy().to_string())
}

/// A size and a place: its readings are GB of the buffer that went through the whole pipeline per second.
struct Point {
    size: Size,
    /// `None`: all tasks in one stage.
    place: Option<Place>,
    case: Case,
    /// Where its buffers were seen.
    seen: Rc<RefCell<Tally>>,
}

/// What is measured.
struct Experiment {
    tasks: usize,
    machine: Machine,
    sizes: Vec<Size>,
    places: Vec<(Place, Placement)>,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: MemoryArgs) -> Result<(), Failure> {
    args.output.check()?;
    if let Some(device) = &args.device {
        return args.output.deliver(&device::measure(device, &args.memory, &args.sizes, args.rounds)?);
    }
    let experiment = Experiment::new(args.tasks as usize, args.sizes, args.place)?;
    experiment.check_memory()?;
    let watch = Watch::begin();
    let mut cases = bandwidth::cases(experiment.machine.cores().len());
    let probes = cases.len();
    let mut seen = Vec::new();
    for (size, place) in experiment.points() {
        let (case, tally) = experiment.case(size, place);
        cases.push(case);
        seen.push(tally);
    }
    case::read(&mut cases, args.rounds)?;
    let measured = cases.split_off(probes);
    let points = experiment.points().zip(measured).zip(seen);
    let points: Vec<Point> = points.map(|(((size, place), case), seen)| Point { size, place, case, seen }).collect();
    args.output.deliver(&findings::findings(&experiment, &cases, &points, &watch.end()))
}

impl Experiment {
    fn new(tasks: usize, mut sizes: Vec<Size>, mut places: Vec<Place>) -> Result<Self, Failure> {
        sizes.sort_unstable();
        sizes.dedup();
        places.sort_unstable();
        places.dedup();
        let machine = Machine::here();
        let seats =
            chain::pipeline(Shape { tasks, size: Size(1), staged: true }).map_err(Failure::from_error)?.0.slots();
        let placed = |place: Place| Ok((place, place.policy().place(&machine, &seats).map_err(Failure::from_error)?));
        let places = places.into_iter().map(placed).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Self { tasks, machine, sizes, places })
    }

    /// Each size on one core, and then in all places.
    fn points(&self) -> impl Iterator<Item = (Size, Option<Place>)> {
        self.sizes.iter().flat_map(|&size| {
            let places = self.places.iter().map(move |(place, _)| (size, Some(*place)));
            std::iter::once((size, None)).chain(places)
        })
    }

    fn placement(&self, place: Place) -> Option<&Placement> {
        self.places.iter().find(|(other, _)| *other == place).map(|(_, placement)| placement)
    }

    fn case(&self, size: Size, place: Option<Place>) -> (Case, Rc<RefCell<Tally>>) {
        let tally = Rc::<RefCell<Tally>>::default();
        let (seen, machine) = (Rc::clone(&tally), self.machine.clone());
        let shape = Shape { tasks: self.tasks, size, staged: place.is_some() };
        let placement = place.and_then(|place| Some((place, self.placement(place)?.clone())));
        let measure = move || {
            let measured = chain::measure(shape, placement.as_ref(), &machine)?;
            seen.borrow_mut().add(&machine, &measured.seen_on);
            Ok(measured.gb_per_s.into())
        };
        let name = format!("memory/{size}/{}", name(place));
        (Case::new(name, ("GB of the buffer through the pipeline per second", "GB/s"), measure), tally)
    }

    /// The stages that take turns on the core that has most of them, where the threads are spread evenly.
    fn turns(&self) -> usize {
        self.tasks.div_ceil(self.machine.cores().len())
    }

    /// The buffers of a pipeline: each ring holds some, and both its ends have one to work with.
    fn buffers(&self) -> usize {
        (self.tasks - 1) * (DEPTH + 2)
    }

    /// How the boundaries of a point lie on the machine: as its placement says, or as it was seen. `None` where that cannot
    /// be told.
    fn crossings(&self, point: &Point) -> Option<Crossings> {
        let placement = self.placement(point.place?)?;
        Crossings::placed(&self.machine, placement).or_else(|| point.seen.borrow().mean())
    }

    /// Refuses what would fill the memory of this machine.
    fn check_memory(&self) -> Result<(), Failure> {
        let greatest = self.sizes[self.sizes.len() - 1];
        let needed = Size(self.buffers() * greatest.0).max(bandwidth::BYTES);
        let Some(free) = free_memory().filter(|&free| needed > free) else { return Ok(()) };
        Err(Failure::new(format!(
            "--sizes {greatest}: this takes {needed}, this machine has {free} to spare: give smaller --sizes or fewer --tasks"
        )))
    }
}

/// Memory that the system would give, where it tells.
fn free_memory() -> Option<Size> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Size(kib << 10))
}
