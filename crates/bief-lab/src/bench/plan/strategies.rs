//! Whether strategies rank as they are planned to: each plan is run.

use bief::placement::Policy;
use bief::plan::Load;
use bief::schedule::strategy::{Exact, Fertac, Herad, Otac, Strategy, ThreadPerTask, TwoCatac};
use bief::schedule::{Platform, Schedule};
use bief::{Machine, Result};
use bief_cli::draw::plot::Figure;
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, counted, listed, wrapped};
use bief_cli::units::significant;
use serde_json::{Value, json};

use super::figure::{COLORS, Series, legend, panel};
use super::ranks::{ranks, swaps};
use super::subject::Subject;
use super::trial::{Bench, Trial, gap};
use super::{Case, Setting, in_json, percent};
use crate::bench::output::Findings;
use crate::statistics::Sample;

/// How many strategies there are.
const COUNT: usize = 7;
/// How many pairs that changed places are told.
const MOST_SWAPS: usize = 3;

/// A strategy, and the cores that it is given.
pub(super) struct Contender {
    name: &'static str,
    strategy: &'static dyn Strategy,
    platform: Platform,
}

/// The strategies on a machine.
pub(super) fn contenders(machine: &Machine) -> std::result::Result<[Contender; COUNT], Failure> {
    let kinds: Vec<String> = machine.kinds().iter().map(|kind| kind.name.clone()).collect();
    let [big, little] = &kinds[..] else {
        return Err(Failure::new(format!(
            "--strategies: they are for two kinds of cores, this machine has {}: give --machine FILE.toml, which lets cores \
             stand for others. One that says, on its lines, `[[kind]]`, `name = \"big\"`, `cores = \"0\"`, `[[kind]]`, \
             `name = \"little\"`, `cores = \"1\"` and `speed = 0.5` makes two kinds of cores 0 and 1",
            listed(&kinds)
        )));
    };
    let all = machine.platform();
    let only = |kind: &String| all.only(&[kind]).map_err(Failure::from_error);
    let on = |name, strategy, platform: &Platform| Contender { name, strategy, platform: platform.clone() };
    Ok([
        on("OTAC (big)", &Otac, &only(big)?),
        on("OTAC (little)", &Otac, &only(little)?),
        on("FERTAC", &Fertac, &all),
        on("2CATAC", &TwoCatac, &all),
        on("HeRAD", &Herad, &all),
        on("exact", &Exact, &all),
        on("thread per task", &ThreadPerTask::R1, &all),
    ])
}

/// What one round found: of each strategy, its plan and its run.
pub(super) struct Round {
    runs: Vec<Run>,
    /// Megabits in a frame, where a chain carries bits.
    megabits: Option<f64>,
}

struct Run {
    name: &'static str,
    stages: String,
    /// Frames per second.
    planned: f64,
    measured: f64,
}

/// Profiles, and lets each strategy plan and run; another one begins in each round.
pub(super) fn race(
    bench: &mut Bench,
    subject: &Subject,
    contenders: &[Contender; COUNT],
    round: usize,
) -> Result<Round> {
    let profile = subject.profile(&bench.machine, Load::Busy)?;
    let mut runs: Vec<Option<Run>> = contenders.iter().map(|_| None).collect();
    for turn in 0..COUNT {
        let index = (round + turn) % COUNT;
        let Contender { name, strategy, platform } = &contenders[index];
        let schedule = strategy.schedule(&profile, platform)?;
        let trial = bench.run(subject, &profile, &schedule, &Policy::usual(&schedule))?;
        let [planned, measured] = rates(&trial, f64::from(profile.frames_per_execution()));
        runs[index] = Some(Run { name, stages: stages(&schedule), planned, measured });
    }
    let megabits = profile.bits_per_frame().map(|bits| bits as f64 / 1e6);
    Ok(Round { runs: runs.into_iter().flatten().collect(), megabits })
}

/// Frames per second, planned and measured.
fn rates(trial: &Trial, frames: f64) -> [f64; 2] {
    [trial.planned_ns, trial.measured_ns()].map(|ns| frames * 1e9 / ns.max(1.0))
}

/// The stages as `3 on 1 big | 6 on 1 little`.
fn stages(schedule: &Schedule) -> String {
    let stages = schedule.stages().iter().map(ToString::to_string);
    stages.collect::<Vec<_>>().join(" | ")
}

/// The medians of a strategy on a chain.
struct Told {
    name: &'static str,
    /// As they were cut in the last round.
    stages: String,
    planned: Sample,
    measured: Sample,
    gap: Sample,
    planned_rank: usize,
    measured_rank: usize,
}

fn told(case: &Case<Round>) -> Vec<Told> {
    let last = &case.rounds[case.rounds.len() - 1].of.runs;
    let medians = |rate: fn(&Run) -> f64| -> Vec<f64> {
        (0..last.len()).map(|index| case.sample(|round| rate(&round.runs[index])).median()).collect()
    };
    let ranks = [ranks(&medians(|run| run.planned)), ranks(&medians(|run| run.measured))];
    let of = |(index, run): (usize, &Run)| Told {
        name: run.name,
        stages: run.stages.clone(),
        planned: case.sample(|round| round.runs[index].planned),
        measured: case.sample(|round| round.runs[index].measured),
        gap: case.sample(|round| round.runs[index].gap()),
        planned_rank: ranks[0][index],
        measured_rank: ranks[1][index],
    };
    last.iter().enumerate().map(of).collect()
}

impl Run {
    /// Measured over planned period, less one.
    fn gap(&self) -> f64 {
        gap(1e9 / self.measured, 1e9 / self.planned)
    }
}

pub(super) fn findings(cases: &[Case<Round>], setting: &Setting) -> Findings {
    let told: Vec<(&Case<Round>, Vec<Told>)> = cases.iter().map(|case| (case, told(case))).collect();
    Findings {
        table: table(cases, &told, setting),
        csv: csv(cases),
        figure: figure(&told),
        json: to_json(&told, setting),
    }
}

type OfCase<'c> = (&'c Case<Round>, Vec<Told>);

fn table(cases: &[Case<Round>], told: &[OfCase], setting: &Setting) -> String {
    let mut lines = Vec::new();
    for (case, told) in told {
        let name = &case.subject.name;
        lines.push(format!("{name}: frames per second; medians of {}.", counted(case.rounds.len(), "round")));
        lines.push(format!("{:52}rank", ""));
        lines.push(format!(
            "{:16} {:>8} {:>8} {:>7}   {:>7} {:>8}  min..max of gap",
            "strategy", "planned", "measured", "gap %", "planned", "measured"
        ));
        for told in told {
            let (planned, measured) = (significant(told.planned.median()), significant(told.measured.median()));
            let spread = format!("{}..{}", percent(told.gap.quantile(0.0)), percent(told.gap.max()));
            lines.push(format!(
                "{:16} {planned:>8} {measured:>8} {:>7}   {:>7} {:>8}  {spread}",
                told.name,
                percent(told.gap.median()),
                told.planned_rank,
                told.measured_rank
            ));
        }
        lines.extend(wrapped(&sentence(told), COLUMNS));
        if let Some(megabits) = case.rounds[0].of.megabits {
            let best = told.iter().map(|told| told.measured.median()).fold(0.0, f64::max);
            lines.push(format!("The fastest: {} Mb/s.", significant(best * megabits)));
        }
        lines.push(String::new());
    }
    lines.extend(setting.facts(cases, vec![
        "Gap: measured over planned period, less one; planned with a profile of busy cores and the hand-over. Ranks: those \
         within 2 % of the best of a rank share it."
            .to_owned(),
    ]));
    lines.join("\n")
}

/// Whether they rank as planned.
fn sentence(told: &[Told]) -> String {
    let medians = |rate: fn(&Told) -> &Sample| -> Vec<f64> { told.iter().map(|told| rate(told).median()).collect() };
    let (planned, measured) = (medians(|told| &told.planned), medians(|told| &told.measured));
    let swaps = swaps(&planned, &measured);
    if swaps.is_empty() {
        let same = told.iter().all(|told| told.planned_rank == told.measured_rank);
        let but = if same { "" } else { ", but for ties: none that was planned to be faster than another was slower" };
        return format!("They rank as planned{but}.");
    }
    let pairs = told.len() * (told.len() - 1) / 2;
    let faster =
        |rates: &[f64], one: usize, other: usize| format!("{:.1} %", 100.0 * (rates[one] / rates[other] - 1.0));
    let swapped = swaps.iter().map(|swap| {
        let (one, other) = (swap.planned_faster, swap.measured_faster);
        format!(
            "{} was planned to be {} faster than {}, which was {} faster",
            told[one].name,
            faster(&planned, one, other),
            told[other].name,
            faster(&measured, other, one)
        )
    });
    let told: Vec<String> = swapped.take(MOST_SWAPS).collect();
    let more = swaps.len() - told.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("They do not rank as planned in {} of {}: {}{more}.", swaps.len(), counted(pairs, "pair"), told.join("; "))
}

fn csv(cases: &[Case<Round>]) -> String {
    let mut text =
        "case,strategy,round,taken_by_others,planned_frames_per_s,measured_frames_per_s,gap,stages\n".to_owned();
    for case in cases {
        for (index, round) in case.rounds.iter().enumerate() {
            for run in &round.of.runs {
                let Run { name, stages, planned, measured } = run;
                let (case, number, taken, gap) = (&case.subject.name, index + 1, round.taken, run.gap());
                text += &format!("{case},{name},{number},{taken:.4},{planned:.6},{measured:.6},{gap:.6},{stages}\n");
            }
        }
    }
    text
}

fn figure(told: &[OfCase]) -> Figure {
    let series = |case: &Case<Round>| {
        let of = |label: &str, color, rate: fn(&Run) -> f64| Series {
            label: label.to_owned(),
            color,
            values: (0..COUNT).map(|index| case.sample(|round| rate(&round.runs[index]))).collect(),
        };
        [of("planned", COLORS[0], |run| run.planned), of("measured", COLORS[3], |run| run.measured)]
    };
    let panels = told.iter().map(|(case, told)| {
        let names = told.iter().map(|told| told.name.to_owned()).collect();
        vec![panel(&case.subject.name, names, &series(case), "frames per second")]
    });
    let (first, _) = &told[0];
    Figure {
        title: "Bief: strategies, planned and run".to_owned(),
        caption: format!("medians and quartiles of {}", counted(first.rounds.len(), "round")),
        legend: legend(&series(first)),
        panel: (960, 340),
        rows: panels.collect(),
    }
}

fn to_json(told: &[OfCase], setting: &Setting) -> Value {
    let strategy = |told: &Told| {
        json!({
            "strategy": told.name, "planned_frames_per_s": in_json(&told.planned),
            "measured_frames_per_s": in_json(&told.measured), "gap": in_json(&told.gap),
            "planned_rank": told.planned_rank, "measured_rank": told.measured_rank, "stages": told.stages,
        })
    };
    let cases = told.iter().map(|(case, told)| {
        json!({
            "case": case.subject.name, "rounds": case.rounds.len(), "found": sentence(told),
            "megabits_per_frame": case.rounds[0].of.megabits, "strategies": told.iter().map(strategy).collect::<Vec<_>>(),
        })
    });
    setting.to_json(cases.collect())
}
