//! `bief lab bench nbfm`: what a receiver takes of a core in real time, over the length of its blocks, and where that comes from.

use std::sync::Arc;

use bief::machine::clock::process_time;
use bief::schedule::realtime::{CostFit, CostSamples, FitMethod};
use bief::{Chain, Flow, Program, source};
use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::{decade_name, significant};
use clap::Args;

use serde_json::json;

use super::case::{self, Aim, Case};
use super::output::{Findings, OutputArgs};
use super::receiver::{SAMPLE_RATE, block, chain, cut, samples, signal};
use super::surroundings::{Surroundings, Watch};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench nbfm
  bief lab bench nbfm --csv nbfm.csv --svg nbfm.svg
  bief lab bench nbfm --only one-core/ --seconds 2
  bief lab bench nbfm --blocks 60,744 --rounds 11

Cases, for each block:
  one-core/BLOCK   load of a core in real time: the whole receiver on one
                   thread, which sleeps until the next block is due
  threads/BLOCK    the same with a thread for each task
  sleep/BLOCK      a thread that only sleeps and wakes as often: the lower limit
                   of any real-time load here
  work/BLOCK       processor time of one block without sleeping
Loads in percent are processor time of the whole process over the time of the
signal. The lines I + D c through the processor time of blocks of c samples are
medians of all slopes and offsets (Theil and Sen): one thread compared with a
thread for each task shows the gain from merging tasks.
CSV: every reading of every round. SVG: the percents and the work.";

/// Arguments of `bief lab bench nbfm`.
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
    /// Duration of each reading in real time
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
    /// Rounds of measurement, each over all cases in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Only the cases whose name contains this
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What GNU Radio 3.10.5 takes of a core for such a receiver, in percent, with at most so many samples in a block.
const GNU_RADIO: [(f64, f64); 2] = [(64.0, 91.0), (750.0, 17.0)];
const SOURCE: &str = "GNU Radio 3.10.5, its narrowband FM receiver at 576 kS/s, at most 64 and 750 items in a block: 91 % and 17 % of a \
                      core, on 2 vCPU of an AMD EPYC (Zen 4).";
/// What is to be reached near 750 samples.
const AIM: (u32, f64) = (744, 1.5);

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
    let signal = signal((args.seconds * SAMPLE_RATE) as usize);
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

/// Percent of a core, or nanoseconds of a block.
fn measured(mode: Mode, block: usize, signal: &Arc<[u8]>) -> Result<f64, Failure> {
    let program = match mode {
        Mode::Sleep => sleeper(samples(signal) / block, block),
        _ => chain(signal, block, (mode != Mode::Work).then_some(SAMPLE_RATE)).and_then(Chain::build),
    }
    .map_err(Failure::from_error)?;
    let mut pipeline = match mode {
        Mode::Threads => {
            let each = vec![1; program.tasks().len()];
            cut(program, &each)?
        }
        Mode::OneCore | Mode::Sleep | Mode::Work => program.one_core().map_err(Failure::from_error)?,
    };
    let before = process_time();
    let report = pipeline.run().map_err(Failure::from_error)?;
    let of_a_block = (process_time() - before).as_secs_f64() / report.frames as f64;
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

/// The line I + D c through the processor time of blocks of c samples; `None` for fewer than two blocks.
fn line(cases: &[Case], mode: &str) -> Option<CostFit> {
    let sizes = blocks(cases).into_iter().filter_map(|block| {
        let case = cases.iter().find(|case| case.name == format!("{mode}/{block}"))?;
        let scale = if case.unit == "%" { f64::from(block) / SAMPLE_RATE * 1e9 / 100.0 } else { 1.0 };
        let ns = case.readings.iter().map(|reading| scale * reading.value).collect();
        Some(CostSamples { samples: block.into(), ns })
    });
    CostFit::new(&sizes.collect::<Vec<_>>(), FitMethod::Typical).ok()
}

/// The line through the points of GNU Radio.
fn line_of_gnu_radio() -> Option<CostFit> {
    let sizes = GNU_RADIO.map(|(items, percent)| {
        let ns = percent / 100.0 * items / SAMPLE_RATE * 1e9;
        CostSamples { samples: items as u64, ns: vec![ns] }
    });
    CostFit::new(&sizes, FitMethod::Typical).ok()
}

fn points(cases: &[Case], mode: &str) -> Vec<(f64, f64)> {
    blocks(cases).into_iter().filter_map(|block| Some((f64::from(block), median(cases, mode, block)?))).collect()
}

fn findings(cases: &[Case], seconds: f64, surroundings: &Surroundings) -> Findings {
    let lines = lines(cases);
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
        "lines": lines.iter().map(|(name, fit)| json!({ "name": name, "fit": fit })).collect::<Vec<_>>(),
        "aim": { "block": AIM.0, "percent_at_most": AIM.1, "met": aim },
        "gnu_radio_percent": GNU_RADIO.map(|(items, percent)| json!({ "items": items, "percent": percent })),
    });
    Findings { table: table(cases, &lines, surroundings), csv: csv(cases), figure: figure(cases), json }
}

/// What each way to work costs, as a line: by its heading.
fn lines(cases: &[Case]) -> Vec<(&'static str, CostFit)> {
    let ours = [
        ("work", "work alone"),
        ("sleep", "sleep alone"),
        ("one-core", "in real time, one thread"),
        ("threads", "in real time, a thread for each task"),
    ];
    let ours: Vec<_> = ours.into_iter().filter_map(|(mode, heading)| Some((heading, line(cases, mode)?))).collect();
    let peer = line_of_gnu_radio().filter(|_| !ours.is_empty()).map(|fit| ("in real time, GNU Radio 3.10.5", fit));
    ours.into_iter().chain(peer).collect()
}

fn table(cases: &[Case], fits: &[(&str, CostFit)], surroundings: &Surroundings) -> String {
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
    if !fits.is_empty() {
        lines.push(format!("{:<37} {:>10} {:>13} {:>8}", "a block of c samples: I + D c", "I ns", "D ns/sample", "R2"));
    }
    for (heading, fit) in fits {
        lines.push(format!(
            "{heading:<37} {:>10} {:>13} {:>8.3}",
            significant(fit.cost.init_ns),
            significant(fit.cost.per_sample_ns),
            fit.r_squared
        ));
    }
    lines.push(String::new());
    let mut facts = Vec::new();
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

fn figure(cases: &[Case]) -> Figure {
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
    if let Some(CostFit { cost, .. }) = line(cases, "work") {
        let (least, most) = range(&work);
        let line = blocks.iter().map(|&block| (f64::from(block), cost.ns(block.into())));
        let line = Shape::Line { points: line.collect(), color: THREADS, dashed: true };
        row.push(Panel {
            title: format!("work: {} ns + {} ns c", significant(cost.init_ns), significant(cost.per_sample_ns)),
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
    use crate::bench::case::Reading;

    #[test]
    fn percents_of_a_core_are_times_of_blocks() {
        // 10 us and 100 ns for each sample.
        let cases: Vec<Case> = [60, 120, 744]
            .into_iter()
            .map(|block| {
                let percent = 100.0 * (10e-6 + 100e-9 * f64::from(block)) / (f64::from(block) / SAMPLE_RATE);
                let mut case = Case::new(format!("threads/{block}"), ("", "%"), || unreachable!());
                case.readings = vec![Reading { value: percent, probe_ns: None }];
                case
            })
            .collect();
        let cost = line(&cases, "threads").unwrap().cost;
        assert!((cost.init_ns - 10e3).abs() < 1e-3 && (cost.per_sample_ns - 100.0).abs() < 1e-6, "{cost:?}");
        assert!(line(&cases, "one-core").is_none() && line(&cases[..1], "threads").is_none());
    }
}
