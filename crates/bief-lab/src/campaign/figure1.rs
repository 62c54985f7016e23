//! Figure 1: how the slowdowns of the strategies are distributed.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Shape};
use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use bief_cli::text::{COLUMNS, wrapped};
use clap::Args;
use serde_json::{Value, json};

use super::chains::{CORES, ChainArgs, Family, Outcomes, RATIOS, TASKS};
use super::contender::{Contender, Cores};
use super::published;
use super::{Findings, TargetArgs};
use crate::statistics::Sample;

const EXAMPLES: &str = "\
Examples:
  bief lab campaign figure1
  bief lab campaign figure1 --chains 10000 --seed 2 -o large
  bief lab campaign figure1 --json > figure1.json

Files: figure1.csv (the curves: each slowdown that occurs, and the percentage of
chains with at most this slowdown), figure1a.svg (slowdowns up to 1.5),
figure1b.svg (all slowdowns)";

/// Arguments of `bief lab campaign figure1`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Figure1Args {
    #[command(flatten)]
    chains: ChainArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// The contenders of a scenario; the last one tells the shortest period.
const CONTENDERS: [Contender; 5] =
    [Contender::OtacLittle, Contender::OtacBig, Contender::Fertac, Contender::TwoCatac, Contender::Exact];
const BEST: usize = CONTENDERS.len() - 1;

/// The slowdowns whose share the table shows.
const LIMITS: [f64; 6] = [1.0, 1.01, 1.05, 1.1, 1.2, 1.5];

/// One strategy in one scenario.
struct Curve {
    cores: Cores,
    ratio: f64,
    strategy: Contender,
    slowdowns: Sample,
    /// The percentage of optimal periods in Table 1.
    printed: Option<f64>,
}

pub(super) fn find(args: &Figure1Args) -> Result<Findings, Failure> {
    let chains = u64::from(args.chains.chains);
    let bar = progress(Some(chains * (CORES.len() * RATIOS.len()) as u64));
    let published = published::table1();
    let mut curves = Vec::new();
    for cores in CORES {
        for ratio in RATIOS {
            bar.set_message(format!("{cores} cores, SR {ratio}"));
            let family = Family { tasks: TASKS, ratio, seed: args.chains.seed };
            let outcomes = Outcomes::compute(family, 0..chains, &CONTENDERS, cores, args.chains.threads(), &bar);
            let outcomes = outcomes.inspect_err(|_| bar.finish_and_clear())?;
            curves.extend(Contender::HEURISTICS.into_iter().enumerate().filter_map(|(index, strategy)| {
                let slowdowns = Sample::new(outcomes.slowdowns(index, BEST))?;
                let printed = published::table1_row(&published, strategy, cores, ratio);
                Some(Curve { cores, ratio, strategy, slowdowns, printed: printed.map(|row| row.percent_optimal) })
            }));
        }
    }
    bar.finish_and_clear();
    let draw = |all: bool| figure(&curves, args.chains.chains, all).svg();
    Ok(Findings {
        table: table(&curves, args.chains.chains),
        json: to_json(&curves, args),
        files: vec![("figure1.csv", csv(&curves)), ("figure1a.svg", draw(false)?), ("figure1b.svg", draw(true)?)],
    })
}

fn table(curves: &[Curve], chains: u32) -> String {
    let heading = format!(
        "Figure 1: the percentage of {chains} chains of {TASKS} tasks whose period is at most this multiple of the \
         shortest, and the percentage of shortest periods that Table 1 of the paper prints."
    );
    let mut lines = wrapped(&heading, COLUMNS);
    lines.push(String::new());
    let limits = LIMITS.map(|limit| format!("{limit:>5}")).join(" ");
    lines.push(format!("{:8}  {:3}  {:8}  {limits}  {:>6}  {:>7}", "R", "SR", "strategy", "max", "printed"));
    for curve in curves {
        let shares = LIMITS.map(|limit| format!("{:5.1}", curve.slowdowns.percent_up_to(limit))).join(" ");
        let printed = curve.printed.map_or_else(String::new, |percent| format!("{percent:.1}"));
        lines.push(format!(
            "{:8}  {:3}  {:8}  {shares}  {:6.2}  {printed:>7}",
            curve.cores.to_string(),
            curve.ratio,
            curve.strategy.name(),
            curve.slowdowns.max(),
        ));
    }
    lines.join("\n")
}

fn csv(curves: &[Curve]) -> String {
    let mut text = "big,little,ratio,strategy,slowdown,percent_of_chains\n".to_owned();
    for curve in curves {
        for (slowdown, percent) in curve.slowdowns.distribution() {
            text += &format!(
                "{},{},{},{},{slowdown:.6},{percent:.4}\n",
                curve.cores.big,
                curve.cores.little,
                curve.ratio,
                curve.strategy.name()
            );
        }
    }
    text
}

fn to_json(curves: &[Curve], args: &Figure1Args) -> Value {
    let curves = curves.iter().map(|curve| {
        let (slowdowns, percents): (Vec<f64>, Vec<f64>) = curve.slowdowns.distribution().unzip();
        json!({
            "big": curve.cores.big, "little": curve.cores.little, "ratio": curve.ratio,
            "strategy": curve.strategy.name(), "slowdown": slowdowns, "percent_of_chains": percents,
            "printed_percent_optimal": curve.printed,
        })
    });
    json!({
        "experiment": "figure1", "chains": args.chains.chains, "seed": args.chains.seed,
        "curves": curves.collect::<Vec<_>>(),
    })
}

/// A panel per scenario; all slowdowns, or those up to 1.5.
fn figure(curves: &[Curve], chains: u32, all: bool) -> Figure {
    // Few enough points for a small file, more than there are pixels across a panel.
    const POINTS: u32 = 400;
    let panel = |cores: Cores, ratio: f64| {
        let of_row = curves.iter().filter(|curve| curve.cores == cores);
        let greatest = of_row.map(|curve| curve.slowdowns.max()).fold(2.0, f64::max).ceil();
        let (from, to, step, decimals) = match (all, greatest > 8.0) {
            (false, _) => (1.0, 1.5, 0.1, 1),
            (true, false) => (1.0, greatest, 1.0, 0),
            (true, true) => (1.0, greatest, 2.0, 0),
        };
        let of_panel = curves.iter().filter(|curve| curve.cores == cores && curve.ratio == ratio);
        let shapes = of_panel.flat_map(|curve| {
            let color = curve.strategy.color();
            let slowdown = |point: u32| from + (to - from) * f64::from(point) / f64::from(POINTS);
            let points = (0..=POINTS).map(slowdown).map(|limit| (limit, curve.slowdowns.percent_up_to(limit)));
            let printed = curve.printed.filter(|_| !all).map(|percent| (1.0, percent));
            [
                Shape::Line { points: points.collect(), color, dashed: false },
                Shape::Dots { points: printed.into_iter().collect(), color, filled: false },
            ]
        });
        Panel {
            title: format!("R = {cores}, SR {ratio}"),
            x: Axis::linear(from, to, step, decimals).named(if cores == CORES[CORES.len() - 1] {
                "slowdown"
            } else {
                ""
            }),
            y: Axis::linear(0.0, 103.0, 20.0, 0).named(if ratio == RATIOS[0] { "% of chains" } else { "" }),
            shapes: shapes.collect(),
        }
    };
    let key =
        |strategy: Contender| Key { label: strategy.name().to_owned(), color: strategy.color(), mark: Mark::Line };
    let mut legend: Vec<Key> = Contender::HEURISTICS.map(key).into();
    if !all {
        legend.push(Key { label: "shortest periods, as printed".to_owned(), color: INK, mark: Mark::Ring });
    }
    Figure {
        title: format!("Figure 1{}: slowdown relative to the shortest period", if all { "b" } else { "a" }),
        caption: format!(
            "cumulative distribution over {chains} random chains of {TASKS} tasks per panel; R = (big, little)"
        ),
        legend,
        panel: (330, 240),
        rows: CORES.iter().map(|&cores| RATIOS.iter().map(|&ratio| panel(cores, ratio)).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves() -> Vec<Curve> {
        let mut curves = Vec::new();
        for cores in CORES {
            for ratio in RATIOS {
                for strategy in Contender::HEURISTICS {
                    let slowdowns = Sample::new([1.0, 1.0, 1.004, 17.9155]).unwrap();
                    curves.push(Curve { cores, ratio, strategy, slowdowns, printed: Some(100.0) });
                }
            }
        }
        curves
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let table = table(&curves(), 1_000_000);
        assert!(table.lines().all(|line| line.chars().count() <= COLUMNS), "{table}");
        let row = "(16, 4)   0.2  OTAC (L)   50.0  75.0  75.0  75.0  75.0  75.0   17.92    100.0";
        assert!(table.lines().any(|line| line == row), "{table}");
    }

    #[test]
    fn the_csv_holds_each_step_of_the_curves() {
        let text = csv(&curves()[..1]);
        let expected = "big,little,ratio,strategy,slowdown,percent_of_chains\n\
            16,4,0.2,OTAC (L),1.000000,50.0000\n\
            16,4,0.2,OTAC (L),1.004000,75.0000\n\
            16,4,0.2,OTAC (L),17.915500,100.0000\n";
        assert_eq!(text, expected);
    }
}
