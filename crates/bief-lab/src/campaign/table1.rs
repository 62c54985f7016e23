//! Table 1: how far the strategies are from the shortest period, and how many cores they use.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Shape};
use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use bief_cli::text::{COLUMNS, wrapped};
use clap::Args;
use serde_json::{Value, json};

use super::chains::{CORES, ChainArgs, Family, Outcomes, RATIOS, TASKS};
use super::contender::{Contender, Cores};
use super::published::{self, Table1Row};
use super::{Findings, TargetArgs};
use crate::statistics::{CUT, Print, ROUNDED, Sample, Spread, percent_spread};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign table1
  bief lab campaign table1 --chains 200 --batches 5 -o quick
  bief lab campaign table1 --seed 2 --json table1.json

Two samples of 1000 random chains differ by chance. A printed value agrees if it
lies within the spread of a second sample of 1000 chains:
  % opt        3 errors of the difference of two shares (binomial)
  mean, cores  3 standard errors of the difference of two means
  median       3 binomial errors of its rank, whatever the distribution
  max          3 standard deviations of the maxima of more batches of chains
plus the rounding of the print: the paper truncates after one decimal.

Files: table1.csv, table1.svg";

/// Arguments of `bief lab campaign table1`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Table1Args {
    #[command(flatten)]
    chains: ChainArgs,
    /// More batches of 1000 chains, for the spread of the maximum; below 2 the maximum is not checked
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    batches: u32,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// The contenders of a scenario; the last one tells the shortest period.
const CONTENDERS: [Contender; 6] = Contender::COMPARED;
const BEST: usize = CONTENDERS.len() - 1;

/// Those whose maxima are sampled; the last one tells the shortest period.
const SAMPLED: [Contender; 5] =
    [Contender::OtacLittle, Contender::OtacBig, Contender::Fertac, Contender::TwoCatac, Contender::Exact];

/// The columns, in the order of the paper.
const VALUES: [&str; 6] = ["percent_optimal", "mean", "median", "max", "big_used", "little_used"];

/// One strategy in one scenario.
struct Row {
    strategy: Contender,
    /// In the order of [`VALUES`].
    cells: [Cell; 6],
}

struct Cell {
    computed: f64,
    /// What was printed, and whether it agrees; the latter unknown where it was not judged.
    printed: Option<(f64, Option<bool>)>,
}

/// All strategies on one set of cores with one stateless ratio.
struct Scenario {
    cores: Cores,
    ratio: f64,
    rows: Vec<Row>,
    /// On how many chains HeRAD and the exact search have the same period and the same cores.
    same: usize,
}

pub(super) fn find(args: &Table1Args) -> Result<Findings, Failure> {
    let scenarios = CORES.iter().flat_map(|&cores| RATIOS.map(|ratio| (cores, ratio)));
    let per_scenario = u64::from(args.chains.chains) + u64::from(args.batches) * u64::from(published::CHAINS);
    let bar = progress(Some((CORES.len() * RATIOS.len()) as u64 * per_scenario));
    let published = published::table1();
    let found: Result<Vec<_>, _> = scenarios
        .map(|(cores, ratio)| {
            bar.set_message(format!("{cores} cores, SR {ratio}"));
            scenario(args, &published, cores, ratio, &bar)
        })
        .collect();
    bar.finish_and_clear();
    let scenarios = found?;
    Ok(Findings {
        table: table(&scenarios, args.chains.chains),
        json: to_json(&scenarios, args),
        files: vec![
            ("table1.csv", csv(&scenarios, args.chains.chains)),
            ("table1.svg", figure(&scenarios, args).svg()?),
        ],
    })
}

fn scenario(
    args: &Table1Args,
    published: &[Table1Row],
    cores: Cores,
    ratio: f64,
    bar: &indicatif::ProgressBar,
) -> Result<Scenario, Failure> {
    let (chains, threads) = (u64::from(args.chains.chains), args.chains.threads());
    let family = Family { tasks: TASKS, ratio, seed: args.chains.seed };
    let outcomes = Outcomes::compute(family, 0..chains, &CONTENDERS, cores, threads, bar)?;

    let mut maxima = vec![Vec::new(); SAMPLED.len()];
    for batch in 0..u64::from(args.batches) {
        let size = u64::from(published::CHAINS);
        // Numbers that no sample of this command takes.
        let first = (1 << 32) + batch * size;
        let outcomes = Outcomes::compute(family, first..first + size, &SAMPLED, cores, threads, bar)?;
        for (contender, maxima) in maxima.iter_mut().enumerate() {
            maxima.extend(outcomes.slowdowns(contender, SAMPLED.len() - 1).reduce(f64::max));
        }
    }

    let rows = CONTENDERS.iter().enumerate().filter_map(|(index, &strategy)| {
        let printed = published::table1_row(published, strategy, cores, ratio);
        // HeRAD's slowdown is 1 by definition: there is nothing to vary.
        let maxima = match SAMPLED.iter().position(|&sampled| sampled == strategy) {
            Some(sampled) => Sample::new(maxima[sampled].iter().copied()).filter(|_| args.batches > 1),
            None => Sample::new([1.0]),
        };
        row(&outcomes, index, strategy, maxima, printed)
    });
    let herad = CONTENDERS.iter().position(|&contender| contender == Contender::Herad).unwrap_or(BEST);
    let same = outcomes.of(herad).zip(outcomes.of(BEST)).filter(|(herad, exact)| herad == exact).count();
    Ok(Scenario { cores, ratio, rows: rows.collect(), same })
}

/// The statistics of one contender, `None` where there is no chain.
fn row(
    outcomes: &Outcomes,
    index: usize,
    strategy: Contender,
    maxima: Option<Sample>,
    printed: Option<&Table1Row>,
) -> Option<Row> {
    let slowdown = Sample::new(outcomes.slowdowns(index, BEST))?;
    let big = Sample::new(outcomes.of(index).map(|outcome| f64::from(outcome.cores.big)))?;
    let little = Sample::new(outcomes.of(index).map(|outcome| f64::from(outcome.cores.little)))?;
    let (optimal, chains) = (outcomes.equal_periods(index, BEST), outcomes.of(index).count());
    let others = published::CHAINS;

    let cell = |computed: f64, printed: Option<f64>, spread: Option<Spread>, print: Print| Cell {
        computed,
        printed: printed.map(|printed| (printed, spread.map(|spread| spread.agrees(printed, print)))),
    };
    let value = |of: fn(&Table1Row) -> f64| printed.map(of);
    let percent = value(|row| row.percent_optimal);
    let percents = percent.map(|percent| percent_spread(optimal, chains, percent, others));
    let cells = [
        cell(100.0 * optimal as f64 / chains as f64, percent, percents, ROUNDED),
        cell(slowdown.mean(), value(|row| row.mean), Some(slowdown.mean_spread(others)), CUT),
        cell(slowdown.median(), value(|row| row.median), Some(slowdown.median_spread(others)), CUT),
        cell(slowdown.max(), value(|row| row.max), maxima.map(|maxima| maxima.value_spread()), CUT),
        cell(big.mean(), value(|row| row.big_used), Some(big.mean_spread(others)), CUT),
        cell(little.mean(), value(|row| row.little_used), Some(little.mean_spread(others)), CUT),
    ];
    Some(Row { strategy, cells })
}

/// How many rows and values agree, of those that were judged.
struct Agreement {
    rows: (usize, usize),
    values: (usize, usize),
}

fn agreement(scenarios: &[Scenario]) -> Agreement {
    let judged: Vec<Vec<bool>> = scenarios
        .iter()
        .flat_map(|scenario| &scenario.rows)
        .map(|row| row.cells.iter().filter_map(|cell| cell.printed?.1).collect())
        .filter(|judged: &Vec<bool>| !judged.is_empty())
        .collect();
    let values: Vec<bool> = judged.iter().flatten().copied().collect();
    let whole = judged.iter().filter(|row| row.iter().all(|&agrees| agrees)).count();
    Agreement { rows: (whole, judged.len()), values: (values.iter().filter(|&&agrees| agrees).count(), values.len()) }
}

fn table(scenarios: &[Scenario], chains: u32) -> String {
    let heading = format!(
        "Table 1: {chains} chains of {TASKS} tasks per scenario. Each column: computed now, printed in the paper; \
         `!` where the two differ by more than chance (see --help). Slowdowns are relative to the shortest period."
    );
    let mut lines = wrapped(&heading, COLUMNS);
    for scenario in scenarios {
        lines.push(String::new());
        lines.push(format!("R = {}, SR {}", scenario.cores, scenario.ratio));
        lines.push(format!(
            "{:8} {:>11}  {:>10}  {:>10}  {:>10}  {:>9}  {:>9}",
            "", "% opt", "mean", "median", "max", "big", "little"
        ));
        for row in scenario.rows.iter().filter(|row| row.strategy != Contender::Exact) {
            let mut line = format!("{:8}", row.strategy.name());
            for (index, cell) in row.cells.iter().enumerate() {
                let (computed, width) = match index {
                    0 => (format!("{:.1}", cell.computed), 5),
                    1..=3 => (format!("{:.2}", cell.computed), 5),
                    _ => (format!("{:.1}", cell.computed), 4),
                };
                let printed = cell.printed.map_or_else(String::new, |printed| format!("{:.1}", printed.0));
                let mark = if cell.printed.and_then(|printed| printed.1) == Some(false) { '!' } else { ' ' };
                let print_width = if index == 0 { 5 } else { 4 };
                line.push_str(&format!(" {computed:>width$} {printed:>print_width$}{mark}"));
            }
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.push(String::new());
    lines.extend(wrapped(&verdict(scenarios, chains), COLUMNS));
    lines.join("\n")
}

fn verdict(scenarios: &[Scenario], chains: u32) -> String {
    let Agreement { rows, values } = agreement(scenarios);
    let same: usize = scenarios.iter().map(|scenario| scenario.same).sum();
    format!(
        "{} of {} rows agree with the paper, {} of {} values. The exact search finds the period and the cores of HeRAD \
         for {same} of {} chains.",
        rows.0,
        rows.1,
        values.0,
        values.1,
        scenarios.len() * chains as usize,
    )
}

fn csv(scenarios: &[Scenario], chains: u32) -> String {
    let columns = ["", "printed_", "agrees_"].map(|prefix| VALUES.map(|value| format!("{prefix}{value}")).join(","));
    let mut text = format!("big,little,ratio,strategy,chains,{}\n", columns.join(","));
    for scenario in scenarios {
        for row in &scenario.rows {
            let cells = |show: &dyn Fn(&Cell) -> Option<String>| {
                row.cells.each_ref().map(|cell| show(cell).unwrap_or_default()).join(",")
            };
            text += &format!(
                "{},{},{},{},{chains},{},{},{}\n",
                scenario.cores.big,
                scenario.cores.little,
                scenario.ratio,
                row.strategy.name(),
                cells(&|cell| Some(format!("{:.4}", cell.computed))),
                cells(&|cell| Some(cell.printed?.0.to_string())),
                cells(&|cell| Some(cell.printed?.1?.to_string())),
            );
        }
    }
    text
}

fn to_json(scenarios: &[Scenario], args: &Table1Args) -> Value {
    let rows = scenarios.iter().flat_map(|scenario| {
        scenario.rows.iter().map(|row| {
            let values = VALUES.iter().zip(&row.cells).map(|(value, cell)| {
                let printed = cell.printed.map(|printed| printed.0);
                let agrees = cell.printed.and_then(|printed| printed.1);
                ((*value).to_owned(), json!({"computed": cell.computed, "printed": printed, "agrees": agrees}))
            });
            let mut json = json!({
                "big": scenario.cores.big, "little": scenario.cores.little, "ratio": scenario.ratio,
                "strategy": row.strategy.name(),
            });
            json.as_object_mut().expect("an object").extend(values);
            json
        })
    });
    let Agreement { rows: whole, values } = agreement(scenarios);
    json!({
        "experiment": "table1", "chains": args.chains.chains, "seed": args.chains.seed, "batches": args.batches,
        "rows": rows.collect::<Vec<_>>(),
        "rows_agree": whole.0, "rows_judged": whole.1, "values_agree": values.0, "values_judged": values.1,
        "exact_equals_herad": scenarios.iter().map(|scenario| scenario.same).sum::<usize>(),
    })
}

/// Bars of the optimal periods and of the cores used, the printed values as rings.
fn figure(scenarios: &[Scenario], args: &Table1Args) -> Figure {
    let strategies = Contender::PUBLISHED;
    let panel = |ratio: f64, first: bool, last: bool, cell_of: Kind| {
        let of_ratio: Vec<_> = scenarios.iter().filter(|scenario| scenario.ratio == ratio).collect();
        let (mut boxes, mut rings) = (Vec::new(), Vec::new());
        for (place, scenario) in of_ratio.iter().enumerate() {
            for (index, row) in scenario.rows.iter().filter(|row| strategies.contains(&row.strategy)).enumerate() {
                let left = place as f64 - 0.42 + 0.17 * index as f64;
                let (mut bottom, mut printed) = (0.0, 0.0);
                for (part, &cell) in cell_of.cells().iter().enumerate() {
                    let cell = &row.cells[cell];
                    let top = bottom + cell.computed;
                    // Little cores stand above big ones, paler.
                    let color = if part == 0 { row.strategy.color() } else { pale(row.strategy.color()) };
                    boxes.push(Shape::Box { from: (left, bottom), to: (left + 0.15, top), color });
                    bottom = top;
                    printed += cell.printed.map_or(f64::NAN, |value| value.0);
                    let nothing_yet = part == 0 && cell_of.cells().len() > 1 && printed == 0.0;
                    if !nothing_yet {
                        rings.push((left + 0.075, printed));
                    }
                }
            }
        }
        let shapes = boxes.into_iter().chain([Shape::Dots { points: rings, color: INK, filled: false }]);
        let names = of_ratio.iter().map(|scenario| scenario.cores.to_string());
        let y = match cell_of {
            Kind::Optimal => Axis::linear(0.0, 105.0, 20.0, 0),
            Kind::Cores => Axis::linear(0.0, 21.0, 5.0, 0),
        };
        Panel {
            title: if matches!(cell_of, Kind::Optimal) { format!("SR {ratio}") } else { String::new() },
            x: Axis::names(names).named(if last { "cores (big, little)" } else { "" }),
            y: y.named(if first { cell_of.name() } else { "" }),
            shapes: shapes.collect(),
        }
    };
    let row = |kind: Kind| {
        RATIOS
            .iter()
            .enumerate()
            .map(|(column, &ratio)| panel(ratio, column == 0, matches!(kind, Kind::Cores), kind))
            .collect()
    };
    let mut legend: Vec<Key> = strategies
        .iter()
        .map(|strategy| Key { label: strategy.name().to_owned(), color: strategy.color(), mark: Mark::Box })
        .collect();
    legend.push(Key { label: "printed in the paper".to_owned(), color: INK, mark: Mark::Ring });
    Figure {
        title: "Table 1: optimal periods, and cores used".to_owned(),
        caption: format!(
            "{} random chains of {TASKS} tasks per scenario; in the lower row big cores below, little cores paler above",
            args.chains.chains
        ),
        legend,
        panel: (330, 250),
        rows: vec![row(Kind::Optimal), row(Kind::Cores)],
    }
}

/// What a row of the figure shows.
#[derive(Clone, Copy)]
enum Kind {
    Optimal,
    Cores,
}

impl Kind {
    /// The positions among [`VALUES`] that are stacked.
    fn cells(self) -> &'static [usize] {
        match self {
            Self::Optimal => &[0],
            Self::Cores => &[4, 5],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal periods in %",
            Self::Cores => "cores used, mean",
        }
    }
}

/// The colour, half way to white.
fn pale((red, green, blue): (u8, u8, u8)) -> (u8, u8, u8) {
    let half = |part: u8| u8::MAX - (u8::MAX - part) / 2;
    (half(red), half(green), half(blue))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(value: f64, agrees: Option<bool>) -> Vec<Scenario> {
        let rows = || {
            let row = |strategy: Contender| {
                let printed = (strategy != Contender::Exact).then_some((value, agrees));
                let cells = [100.0, value, value, value, value, value];
                Row { strategy, cells: cells.map(|computed| Cell { computed, printed }) }
            };
            CONTENDERS.into_iter().map(row).collect()
        };
        let scenario = |cores: Cores, ratio: f64| Scenario { cores, ratio, rows: rows(), same: 1000 };
        CORES.iter().flat_map(|&cores| RATIOS.map(|ratio| scenario(cores, ratio))).collect()
    }

    #[test]
    fn the_table_fits_the_terminal() {
        for (value, agrees) in [(17.94, Some(false)), (0.0, Some(true)), (1.0, None)] {
            let table = table(&made_up(value, agrees), 1_000_000);
            for line in table.lines() {
                assert!(line.chars().count() <= COLUMNS, "{line}");
            }
            assert_eq!(table.lines().filter(|line| line.starts_with("2CATAC")).count(), 9);
        }
    }

    #[test]
    fn agreement_counts_rows_and_values_that_were_judged() {
        let mut scenarios = made_up(1.0, Some(true));
        let count = |scenarios: &[Scenario]| {
            let Agreement { rows, values } = agreement(scenarios);
            (rows, values)
        };
        assert_eq!(count(&scenarios), ((45, 45), (270, 270)));
        scenarios[4].rows[1].cells[2].printed = Some((1.0, Some(false)));
        scenarios[4].rows[1].cells[3].printed = Some((1.0, None));
        assert_eq!(count(&scenarios), ((44, 45), (268, 269)));
        assert!(verdict(&scenarios, 1000).starts_with("44 of 45 rows agree with the paper, 268 of 269 values."));
    }

    #[test]
    fn the_csv_has_a_row_per_strategy_and_scenario() {
        let text = csv(&made_up(1.0, None), 10);
        let columns = |line: &str| line.split(',').count();
        assert_eq!(text.lines().count(), 1 + 54);
        assert!(text.lines().all(|line| columns(line) == 5 + 18), "{text}");
        assert!(text.contains("\n16,4,0.2,OTAC (L),10,100.0000,1.0000,"));
    }
}
