//! `bief bench nbfm`: what a receiver takes of a core in real time, over the length of its blocks, and where that comes from.
//!
//! The receiver is that of `bief nbfm`; the case is the narrowband FM receiver at 576 kS/s by which blocks of samples were studied in
//! GNU Radio.

use std::f64::consts::TAU;
use std::sync::Arc;

use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, Pipeline, Program, sink, source};
use bief_dsp::Complex32;
use bief_radio::{NarrowbandFm, Recording, SampleFormat};
use clap::Args;

use serde_json::json;

use super::case::{self, Aim, Case};
use super::output::{Findings, OutputArgs};
use super::surroundings::{Surroundings, Watch};
use crate::clock::processor_time;
use crate::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use crate::failure::Failure;
use crate::statistics::Sample;
use crate::text::{COLUMNS, counted, wrapped};
use crate::units::{decade_name, significant};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief bench nbfm
  bief bench nbfm --csv nbfm.csv --svg nbfm.svg
  bief bench nbfm --only one-core/ --seconds 2
  bief bench nbfm --blocks 60,744 --rounds 11

Cases, for each block:
  one-core/BLOCK   percent of a core in real time: the whole receiver on one
                   thread, which sleeps until the next block is due
  threads/BLOCK    the same with a thread for each task
  sleep/BLOCK      a thread that only sleeps and wakes as often: nothing in real
                   time takes less here
  work/BLOCK       processor time of one block where nothing sleeps
Percents are processor time of the whole process over the time of the signal. The
line I + D c through the work of blocks of c samples is that of the medians of
all slopes and offsets (Theil and Sen).
CSV: every reading of every round. SVG: the percents and the work over the block.";

/// Arguments of `bief bench nbfm`.
#[derive(Args)]
pub(super) struct NbfmArgs {
    /// Samples of a block: whole multiples of 12
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "12,24,60,120,252,504,744,1536,3072,8184,32760",
        value_parser = block
    )]
    blocks: Vec<u32>,
    /// How long each reading in real time takes
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
    /// How often every case is measured, the cases in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Only the cases with this in their name
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

const SAMPLE_RATE: f64 = 576e3;
const AUDIO_RATE: u32 = 48_000;
const STEP: u32 = 12;
/// The longest block, in samples: some 0.2 s.
const LONGEST: u32 = 131_064;
/// What GNU Radio 3.10.5 takes of a core for such a receiver, in percent, with at most so many samples in a block.
const GNU_RADIO: [(f64, f64); 2] = [(64.0, 91.0), (750.0, 17.0)];
const SOURCE: &str = "GNU Radio 3.10.5, its narrowband FM receiver at 576 kS/s, at most 64 and 750 items in a block: 91 % and 17 % of a \
                      core, on 2 vCPU of an AMD EPYC (Zen 4).";
/// What is to be reached near 750 samples.
const AIM: (u32, f64) = (744, 1.5);

fn block(text: &str) -> Result<u32, String> {
    let block = text.parse().ok().filter(|block: &u32| (STEP..=LONGEST).contains(block) && block.is_multiple_of(STEP));
    block.ok_or_else(|| format!("give multiples of {STEP} from {STEP} to {LONGEST}"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=60.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.05 to 60 seconds".to_owned())
}

/// How a block is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    OneCore,
    Threads,
    Sleep,
    Work,
}

const MODES: [(Mode, &str, &str, &str); 4] = [
    (Mode::OneCore, "one-core", "In real time, of one core", "%"),
    (Mode::Threads, "threads", "In real time with a thread for each task, of one core", "%"),
    (Mode::Sleep, "sleep", "Sleeping and waking alone, of one core", "%"),
    (Mode::Work, "work", "Work of a block", "ns"),
];

/// Measures, and delivers what was found.
pub(super) fn run(args: NbfmArgs) -> Result<(), Failure> {
    args.output.check()?;
    let mut blocks = args.blocks;
    blocks.sort_unstable();
    blocks.dedup();
    let signal = signal(args.seconds);
    let cases = MODES.into_iter().flat_map(|(mode, name, heading, unit)| {
        let signal = &signal;
        blocks.iter().map(move |&block| {
            let signal = Arc::clone(signal);
            let aim = (mode == Mode::OneCore && block == AIM.0).then_some(Aim::AtMost(AIM.1));
            let measure = move || Ok(measured(mode, block as usize, &signal)?.into());
            Case::new(format!("{name}/{block}"), (heading, unit), measure).aiming(aim)
        })
    });
    let mut cases = case::select(cases.collect(), args.only.as_deref())?;
    let watch = Watch::begin();
    case::read(&mut cases, args.rounds)?;
    args.output.deliver(&findings(&cases, args.seconds, &watch.end()))
}

/// A tone of 1 kHz at half of the deviation, as a radio records it.
fn signal(seconds: f64) -> Arc<[u8]> {
    let mut phase = 0.0;
    let samples: Vec<Complex32> = (0..(seconds * SAMPLE_RATE) as usize)
        .map(|k| {
            let audio = 0.5 * (TAU * 1000.0 * k as f64 / SAMPLE_RATE).sin();
            phase = (phase + (1200.0 + 5000.0 * audio) / SAMPLE_RATE).fract();
            Complex32::from_polar(0.5, (TAU * phase) as f32)
        })
        .collect();
    let mut bytes = vec![0; SampleFormat::Ci16.bytes() * samples.len()];
    SampleFormat::Ci16.write(&samples, &mut bytes);
    bytes.into()
}

fn program(signal: &Arc<[u8]>, block: usize, paced: bool) -> bief::Result<Program> {
    let receiver = NarrowbandFm { block, ..NarrowbandFm::new(SAMPLE_RATE, 1200.0, 5000.0, AUDIO_RATE) };
    let recording = Recording::from_memory("bench", SampleFormat::Ci16, Arc::clone(signal));
    let mut chain = Chain::new();
    let mut samples = chain.add(receiver.source(recording)?, ());
    if paced {
        chain.add(source::pace(SAMPLE_RATE).0, &mut samples);
    }
    let audio = receiver.receive(&mut chain, &mut samples, Arc::default())?;
    chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &audio);
    chain.build()
}

/// So many blocks of nothing, at their pace.
fn sleeper(blocks: usize, block: usize) -> bief::Result<Program> {
    let mut left = blocks;
    let mut chain = Chain::new();
    let mut nothing = chain.add(
        source::from_fn(block, move |_: &mut [u8]| {
            let more = left.checked_sub(1);
            left = more.unwrap_or(0);
            Ok(if more.is_some() { Flow::Next } else { Flow::Stop })
        }),
        (),
    );
    chain.add(source::pace(SAMPLE_RATE).0, &mut nothing);
    chain.build()
}

/// The program with a thread for each task.
fn on_threads(program: Program) -> Result<Pipeline, Failure> {
    // Nothing is planned: the times do not matter.
    let task =
        |(name, replicable): (&str, bool)| TaskProfile { name: name.to_owned(), replicable, ns: vec![1], seen: None };
    let tasks: Vec<TaskProfile> = program.tasks().map(task).collect();
    let stages = vec![Stage::new(1, 1, "core"); tasks.len()];
    let profile = Profile::new(["core"], tasks).map_err(Failure::from_error)?;
    let schedule = Schedule::new("threads", stages, &profile).map_err(Failure::from_error)?;
    program.pipeline(&schedule).map_err(Failure::from_error)
}

/// Percent of a core, or nanoseconds of a block.
fn measured(mode: Mode, block: usize, signal: &Arc<[u8]>) -> Result<f64, Failure> {
    let program = match mode {
        Mode::Sleep => sleeper(signal.len() / SampleFormat::Ci16.bytes() / block, block),
        _ => program(signal, block, mode != Mode::Work),
    }
    .map_err(Failure::from_error)?;
    let mut pipeline = match mode {
        Mode::Threads => on_threads(program)?,
        Mode::OneCore | Mode::Sleep | Mode::Work => program.one_core().map_err(Failure::from_error)?,
    };
    let before = processor_time();
    let report = pipeline.run().map_err(Failure::from_error)?;
    let of_a_block = (processor_time() - before).as_secs_f64() / report.frames as f64;
    Ok(match mode {
        Mode::Work => of_a_block * 1e9,
        // Of the time of the signal: a run that cannot keep up takes longer.
        Mode::OneCore | Mode::Threads | Mode::Sleep => 100.0 * of_a_block * SAMPLE_RATE / block as f64,
    })
}

/// The median of what was measured of a block, where it was.
fn median(cases: &[Case], mode: &str, block: u32) -> Option<f64> {
    let case = cases.iter().find(|case| case.name == format!("{mode}/{block}"))?;
    Some(case.values().median())
}

/// The blocks of which something was measured, the shortest first.
fn blocks(cases: &[Case]) -> Vec<u32> {
    let mut blocks: Vec<u32> = cases.iter().filter_map(|case| case.name.rsplit_once('/')?.1.parse().ok()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// The line I + D c through points: the medians of all slopes, and of what is left of each point. Neither is below 0.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    per_block: f64,
    per_sample: f64,
}

impl Cost {
    fn of(points: &[(f64, f64)]) -> Option<Self> {
        let pairs = points.iter().enumerate().flat_map(|(index, a)| points[index + 1..].iter().map(move |b| (a, b)));
        let per_sample = Sample::new(pairs.map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)))?.median().max(0.0);
        let per_block = Sample::new(points.iter().map(|(c, e)| e - per_sample * c))?.median().max(0.0);
        Some(Self { per_block, per_sample })
    }
}

fn points(cases: &[Case], mode: &str) -> Vec<(f64, f64)> {
    blocks(cases).into_iter().filter_map(|block| Some((f64::from(block), median(cases, mode, block)?))).collect()
}

fn findings(cases: &[Case], seconds: f64, surroundings: &Surroundings) -> Findings {
    let cost = Cost::of(&points(cases, "work"));
    let aim = cases.iter().find_map(Case::is_met);
    let json = json!({
        "bench": "nbfm",
        "surroundings": surroundings.to_json(),
        "rounds": cases[0].readings.len(),
        "sample_rate": SAMPLE_RATE,
        "seconds": seconds,
        "cases": cases
            .iter()
            .map(|case| {
                let values = case.values();
                json!({
                    "case": case.name, "unit": case.unit, "median": values.median(),
                    "lower_quartile": values.quantile(0.25), "upper_quartile": values.quantile(0.75),
                })
            })
            .collect::<Vec<_>>(),
        "ns_per_block": cost.map(|cost| cost.per_block),
        "ns_per_sample": cost.map(|cost| cost.per_sample),
        "aim": { "block": AIM.0, "percent_at_most": AIM.1, "met": aim },
        "gnu_radio_percent": GNU_RADIO.map(|(items, percent)| json!({ "items": items, "percent": percent })),
    });
    Findings { table: table(cases, cost, surroundings), csv: csv(cases), figure: figure(cases, cost), json }
}

fn table(cases: &[Case], cost: Option<Cost>, surroundings: &Surroundings) -> String {
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
    let mut lines = vec![
        format!("A narrowband FM receiver at 576 kS/s, medians of {}", counted(cases[0].readings.len(), "round")),
        format!(
            "{:>7} {:>8} {:>10} {:>9} {:>7} {:>11} {:>10}",
            "block", "every us", "one core %", "threads %", "sleep %", "GNU Radio %", "work ns"
        ),
    ];
    for block in blocks(cases) {
        let near = |items: f64| (items / f64::from(block)).ln().abs() < 0.1;
        let peer = GNU_RADIO.into_iter().find(|(items, _)| near(*items)).map(|(_, percent)| percent);
        lines.push(format!(
            "{block:>7} {:>8} {:>10} {:>9} {:>7} {:>11} {:>10}",
            significant(f64::from(block) / SAMPLE_RATE * 1e6),
            shown(median(cases, "one-core", block)),
            shown(median(cases, "threads", block)),
            shown(median(cases, "sleep", block)),
            peer.map_or_else(String::new, significant),
            shown(median(cases, "work", block))
        ));
    }
    lines.push(String::new());
    let mut facts = Vec::new();
    if let Some(cost) = cost {
        facts.push(format!(
            "Work of a block of c samples: {} ns + {} ns c. Beyond that, a block in real time costs a sleep and a wake-up, and what others put out of the caches meanwhile.",
            significant(cost.per_block),
            significant(cost.per_sample)
        ));
    }
    if let Some(met) = cases.iter().find_map(Case::is_met) {
        let met = if met { "met" } else { "not met" };
        facts.push(format!("Aim: at most {} % of one core at blocks of {}: {met}.", AIM.1, AIM.0));
    }
    facts.push(SOURCE.to_owned());
    facts.extend(surroundings.facts());
    lines.extend(facts.iter().flat_map(|fact| wrapped(fact, COLUMNS)));
    lines.join("\n")
}

/// Every reading.
fn csv(cases: &[Case]) -> String {
    let mut text = "case,unit,round,value\n".to_owned();
    for case in cases {
        for (round, reading) in case.readings.iter().enumerate() {
            text += &format!("{},{},{},{:.4}\n", case.name, case.unit, round + 1, reading.value);
        }
    }
    text
}

/// Colours that colour-blind readers tell apart (Okabe and Ito).
const ONE_CORE: Rgb = (0, 114, 178);
const THREADS: Rgb = (230, 159, 0);
const SLEEP: Rgb = (0, 158, 115);
const PEER: Rgb = (213, 94, 0);

fn figure(cases: &[Case], cost: Option<Cost>) -> Figure {
    let key = |label: &str, color: Rgb, mark: Mark| Key { label: label.to_owned(), color, mark };
    let blocks = blocks(cases);
    let [first, last] = [blocks[0], blocks[blocks.len() - 1]].map(f64::from);
    let x = || Axis::doublings(first, last).named("samples of a block");
    let series = |points: Vec<(f64, f64)>, color: Rgb| {
        [Shape::Line { points: points.clone(), color, dashed: false }, Shape::Dots { points, color, filled: true }]
    };
    let range = |points: &[(f64, f64)]| {
        let values = || points.iter().map(|point| point.1).filter(|value| *value > 0.0);
        (values().fold(f64::MAX, f64::min), values().fold(f64::MIN_POSITIVE, f64::max))
    };
    let [one_core, threads, sleep, work] = ["one-core", "threads", "sleep", "work"].map(|mode| points(cases, mode));
    let mut row = Vec::new();
    let percents = [one_core.clone(), threads.clone(), sleep.clone(), GNU_RADIO.to_vec()].concat();
    if percents.len() > GNU_RADIO.len() {
        let (least, most) = range(&percents);
        let peers = Shape::Dots { points: GNU_RADIO.to_vec(), color: PEER, filled: false };
        row.push(Panel {
            title: "in real time".to_owned(),
            x: x(),
            y: Axis::decades(least, most, decade_name).named("% of a core"),
            shapes: [(one_core, ONE_CORE), (threads, THREADS), (sleep, SLEEP)]
                .into_iter()
                .flat_map(|(points, color)| series(points, color))
                .chain([peers])
                .collect(),
        });
    }
    if let Some(cost) = cost {
        let (least, most) = range(&work);
        let line = |block: &u32| (f64::from(*block), cost.per_block + cost.per_sample * f64::from(*block));
        let line = Shape::Line { points: blocks.iter().map(line).collect(), color: THREADS, dashed: true };
        row.push(Panel {
            title: format!("work: {} ns + {} ns c", significant(cost.per_block), significant(cost.per_sample)),
            x: x(),
            y: Axis::decades(least, most, decade_name).named("ns of a block"),
            shapes: [line].into_iter().chain(series(work, ONE_CORE)).collect(),
        });
    }
    Figure {
        title: "Bief: a narrowband FM receiver at 576 kS/s".to_owned(),
        caption: format!("medians of {}", counted(cases[0].readings.len(), "round")),
        legend: vec![
            key("one core", ONE_CORE, Mark::Dot),
            key("a thread for each task", THREADS, Mark::Dot),
            key("sleep alone", SLEEP, Mark::Dot),
            key("GNU Radio 3.10.5", PEER, Mark::Ring),
            key("I + D c", THREADS, Mark::Dashes),
        ],
        panel: (520, 340),
        rows: vec![row],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_though_a_point_is_off() {
        let points = [(1.0, 11.0), (2.0, 12.0), (4.0, 14.0), (8.0, 18.0), (16.0, 126.0)];
        assert_eq!(Cost::of(&points), Some(Cost { per_block: 10.0, per_sample: 1.0 }));
        assert_eq!(Cost::of(&points[..1]), None);
    }

    #[test]
    fn blocks_are_whole_numbers_of_samples_of_audio() {
        assert_eq!((block("744"), block("131064")), (Ok(744), Ok(131_064)));
        for text in ["0", "750", "131076", "x"] {
            assert!(block(text).unwrap_err().contains("multiples of 12"), "{text}");
        }
    }
}
