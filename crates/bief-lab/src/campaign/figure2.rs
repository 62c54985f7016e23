//! Figure 2: the cores that FERTAC uses more than HeRAD.

use std::collections::BTreeMap;

use bief_cli::draw::plot::{Axis, Figure, INK, Panel, Rgb, Shape};
use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use bief_cli::text::{COLUMNS, wrapped};
use clap::Args;
use serde_json::{Value, json};

use super::chains::{ChainArgs, Family, Outcome, Outcomes, TASKS};
use super::contender::{Contender, Cores};
use super::published::{self, FIGURE_2};
use super::{Findings, TargetArgs};
use crate::statistics::{ROUNDED, percent_spread};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign figure2
  bief lab campaign figure2 --chains 10000 --seed 2 -o large
  bief lab campaign figure2 --json > figure2.json

As in the paper, a number counts the chains on which FERTAC uses at most that
many more cores, and fewer of neither kind. Chains on which it uses fewer of one
kind are listed separately.
A printed percentage agrees if it lies within 3 errors of the difference of two
shares (binomial), plus the rounding of the print; see --help of table1.

Files: figure2.csv, figure2.svg";

/// Arguments of `bief lab campaign figure2`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Figure2Args {
    #[command(flatten)]
    chains: ChainArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

const CORES: Cores = Cores { big: 10, little: 10 };
const RATIO: f64 = 0.5;

/// How many chains there are for each pair of extra big and extra little cores.
#[derive(Debug, Default, PartialEq, Eq)]
struct Extra(BTreeMap<(i64, i64), usize>);

impl Extra {
    fn count<'a>(pairs: impl Iterator<Item = &'a (Outcome, Outcome)>) -> Self {
        let mut counts = BTreeMap::new();
        for (fertac, herad) in pairs {
            let extra = |of: fn(Cores) -> u32| i64::from(of(fertac.cores)) - i64::from(of(herad.cores));
            *counts.entry((extra(|cores| cores.big), extra(|cores| cores.little))).or_default() += 1;
        }
        Self(counts)
    }

    fn chains(&self) -> usize {
        self.0.values().sum()
    }

    /// The chains with fewer cores of neither kind, and at most `cores` more in total.
    fn at_most(&self, cores: i64) -> usize {
        self.count_where(|big, little| big >= 0 && little >= 0 && big + little <= cores)
    }

    fn count_where(&self, of: impl Fn(i64, i64) -> bool) -> usize {
        self.0.iter().filter(|&(&(big, little), _)| of(big, little)).map(|(_, count)| count).sum()
    }
}

/// A share of the chains.
struct Share {
    what: &'static str,
    hits: usize,
    /// What the text of the paper tells.
    printed: Option<f64>,
}

pub(super) fn find(args: &Figure2Args) -> Result<Findings, Failure> {
    let chains = u64::from(args.chains.chains);
    let bar = progress(Some(chains));
    let family = Family { tasks: TASKS, ratio: RATIO, seed: args.chains.seed };
    let contenders = [Contender::Fertac, Contender::Herad];
    let outcomes = Outcomes::compute(family, 0..chains, &contenders, CORES, args.chains.threads(), &bar);
    bar.finish_and_clear();
    let outcomes = outcomes?;
    let pairs: Vec<(Outcome, Outcome)> = outcomes.of(0).zip(outcomes.of(1)).collect();
    let all = Extra::count(pairs.iter());
    let shortest = Extra::count(pairs.iter().filter(|(fertac, herad)| fertac.period == herad.period));
    let shares = shares(&all, &shortest);
    Ok(Findings {
        table: table(&shares, all.chains()),
        json: to_json(&all, &shortest, &shares, args),
        files: vec![("figure2.csv", csv(&all, &shortest)), ("figure2.svg", figure(&all, &shortest).svg()?)],
    })
}

fn shares(all: &Extra, shortest: &Extra) -> [Share; 7] {
    let told = |what, hits, printed| Share { what, hits, printed: Some(printed) };
    let more = |what, hits| Share { what, hits, printed: None };
    [
        told("FERTAC has the shortest period", shortest.chains(), FIGURE_2.optimal),
        told("at most 1 core more", all.at_most(1), FIGURE_2.all[0]),
        told("at most 2 cores more", all.at_most(2), FIGURE_2.all[1]),
        told("shortest period and at most 1 core more", shortest.at_most(1), FIGURE_2.with_shortest_period[0]),
        told("shortest period and at most 2 cores more", shortest.at_most(2), FIGURE_2.with_shortest_period[1]),
        more("fewer cores of one kind", all.count_where(|big, little| big < 0 || little < 0)),
        more("at most 2 cores more in total, these too", all.count_where(|big, little| big + little <= 2)),
    ]
}

impl Share {
    fn percent(&self, chains: usize) -> f64 {
        100.0 * self.hits as f64 / chains as f64
    }

    fn agrees(&self, chains: usize) -> Option<bool> {
        let printed = self.printed?;
        Some(percent_spread(self.hits, chains, printed, published::CHAINS).agrees(printed, ROUNDED))
    }
}

fn table(shares: &[Share], chains: usize) -> String {
    let heading = format!(
        "Figure 2: the cores of FERTAC beside those of HeRAD; R = {CORES}, SR {RATIO}, {chains} chains of {TASKS} tasks. \
         In percent of all chains, beside the text of the paper."
    );
    let mut lines = wrapped(&heading, COLUMNS);
    lines.push(String::new());
    lines.push(format!("{:42} {:>9}  {:>9}  {:>7}", "", "computed", "printed", "agrees"));
    for share in shares {
        let printed = share.printed.map_or_else(String::new, |printed| format!("{printed:.1}"));
        let agrees = share.agrees(chains).map_or("", |agrees| if agrees { "yes" } else { "no" });
        let line = format!("{:42} {:>9.1}  {printed:>9}  {agrees:>7}", share.what, share.percent(chains));
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

fn csv(all: &Extra, shortest: &Extra) -> String {
    let mut text = "chains,extra_big,extra_little,count,percent_of_all_chains\n".to_owned();
    for (which, extra) in [("all", all), ("shortest_period", shortest)] {
        for ((big, little), count) in &extra.0 {
            let percent = 100.0 * *count as f64 / all.chains() as f64;
            text += &format!("{which},{big},{little},{count},{percent:.4}\n");
        }
    }
    text
}

fn to_json(all: &Extra, shortest: &Extra, shares: &[Share], args: &Figure2Args) -> Value {
    let cells = |extra: &Extra| -> Vec<Value> {
        let cell = |(&(big, little), &count): (&(i64, i64), &usize)| json!({"extra_big": big, "extra_little": little, "count": count});
        extra.0.iter().map(cell).collect()
    };
    let chains = all.chains();
    let shares: Vec<Value> = shares
        .iter()
        .map(|share| {
            json!({
                "what": share.what, "computed_percent": share.percent(chains), "printed_percent": share.printed,
                "agrees": share.agrees(chains),
            })
        })
        .collect();
    json!({
        "experiment": "figure2", "chains": chains, "seed": args.chains.seed, "big": CORES.big, "little": CORES.little,
        "ratio": RATIO, "all": cells(all), "shortest_period": cells(shortest), "shares": shares,
    })
}

/// Two heat maps: all chains, and those on which FERTAC has the shortest period.
fn figure(all: &Extra, shortest: &Extra) -> Figure {
    let pairs = || all.0.keys().copied();
    let range = |of: fn((i64, i64)) -> i64| {
        let least = pairs().map(of).min().unwrap_or(0);
        let most = pairs().map(of).max().unwrap_or(0);
        least..=most
    };
    let (big, little) = (range(|pair| pair.0), range(|pair| pair.1));
    let chains = all.chains() as f64;
    let most = all.0.values().max().map_or(1.0, |&count| count as f64);
    let panel = |title: String, extra: &Extra, first: bool| {
        let mut shapes = Vec::new();
        for (&(more_big, more_little), &count) in &extra.0 {
            let (x, y) = ((more_big - big.start()) as f64, (more_little - little.start()) as f64);
            let heat = count as f64 / most;
            shapes.push(Shape::Box { from: (x - 0.48, y - 0.47), to: (x + 0.48, y + 0.47), color: heat_color(heat) });
            let text = format!("{:.1}", 100.0 * count as f64 / chains);
            shapes.push(Shape::Label { at: (x, y), text, color: if heat > 0.55 { (255, 255, 255) } else { INK } });
        }
        let signed = |extra: i64| if extra > 0 { format!("+{extra}") } else { extra.to_string() };
        Panel {
            title,
            x: Axis::names(big.clone().map(signed)).named("extra big cores"),
            y: Axis::names(little.clone().map(signed)).named(if first { "extra little cores" } else { "" }),
            shapes,
        }
    };
    let columns = (big.end() - big.start() + 1) as u32;
    let rows = (little.end() - little.start() + 1) as u32;
    Figure {
        title: "Figure 2: cores that FERTAC uses more than HeRAD".to_owned(),
        caption: format!("percentage of {chains} random chains of {TASKS} tasks; R = {CORES}, SR {RATIO}"),
        legend: Vec::new(),
        panel: (100 + 52 * columns.max(5), 90 + 34 * rows.max(4)),
        rows: vec![vec![
            panel("all chains".to_owned(), all, true),
            panel(
                format!("chains with the shortest period ({:.1} %)", 100.0 * shortest.chains() as f64 / chains),
                shortest,
                false,
            ),
        ]],
    }
}

/// From nearly white to dark blue, for 0 to 1.
fn heat_color(heat: f64) -> Rgb {
    let between = |from: f64, to: f64| (from + (to - from) * heat.sqrt()) as u8;
    (between(247.0, 8.0), between(251.0, 69.0), between(255.0, 148.0))
}

#[cfg(test)]
mod tests {
    use bief_schedule::Period;

    use super::*;

    fn outcome(period: u64, big: u32, little: u32) -> Outcome {
        Outcome { period: Period::from(period), cores: Cores { big, little } }
    }

    #[test]
    fn extra_cores_are_counted_by_kind() {
        let pairs = [
            (outcome(5, 10, 9), outcome(5, 9, 10)),
            (outcome(5, 10, 9), outcome(4, 9, 10)),
            (outcome(5, 10, 10), outcome(5, 8, 9)),
            (outcome(5, 4, 4), outcome(5, 4, 4)),
        ];
        let extra = Extra::count(pairs.iter());
        assert_eq!(extra.0, BTreeMap::from([((1, -1), 2), ((2, 1), 1), ((0, 0), 1)]));
        assert_eq!((extra.at_most(0), extra.at_most(2), extra.at_most(3), extra.chains()), (1, 1, 2, 4));
        assert_eq!(extra.count_where(|big, little| big + little <= 2), 3);
        let text = csv(&extra, &Extra::default());
        assert!(text.contains("all,1,-1,2,50.0000\n") && text.lines().count() == 4, "{text}");
    }

    #[test]
    fn the_table_fits_the_terminal_and_tells_what_agrees() {
        let shares = [
            Share { what: "agrees", hits: 512, printed: Some(51.2) },
            Share { what: "does not", hits: 300, printed: Some(51.2) },
        ];
        let table = table(&shares, 1000);
        assert!(table.lines().all(|line| line.chars().count() <= COLUMNS), "{table}");
        let last: Vec<_> = table.lines().rev().take(2).map(|line| line.split_whitespace().last().unwrap()).collect();
        assert_eq!(last, ["no", "yes"]);
    }
}
