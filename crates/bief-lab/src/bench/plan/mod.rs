//! `bief lab bench plan`: how well a plan predicts a run, which correction closes how much of the gap, whether strategies rank as
//! they are planned to, and what places are worth.

mod devices;
mod figure;
mod policies;
mod prediction;
mod ranks;
mod strategies;
mod subject;
mod trial;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;

use bief::Machine;
use bief_cli::failure::Failure;
use bief_cli::planning::to_run_on;
use bief_cli::progress::spinner;
use bief_cli::text::{COLUMNS, wrapped};
use clap::Args;
use serde_json::{Value, json};

use self::subject::Subject;
use self::trial::Bench;
use super::MeasureArgs;
use super::case::{self, Named};
use super::surroundings::{QUIET, Surroundings, Watch};
use crate::statistics::Sample;

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench plan                    plan against run, about 3 minutes
  bief lab bench plan --only receiver --seconds 2
  bief lab bench plan --csv plan.csv --svg plan.svg --json plan.json
  bief lab bench plan --policies         loose, guided, packed, distant and
                                         dynamic places
  bief lab bench plan --machine emulated.toml --strategies
  bief lab bench plan --devices --machine gpu.toml

Cases:
  two-stages/TIME   a source, two sequential tasks of that time and a sink,
                    planned on two cores
  replicated/TIME   a source, two replicable tasks of that time and a sink: on
                    four cores or, with fewer, in three stages that share the
                    cores, the second on two threads
  receiver          the DVB-S2 receiver on the built-in recording
With --strategies:
  mixed             eight tasks of different times, four of which are sequential
  receiver          as above
With --devices, each with one core and with two beside the device, with one
lane and with three (3x1), with one execution a launch and with up to eight
(1x8):
  core, tasks,      chains that are limited by a core, by the tasks on the
  launches, copies  device, by its launches, by copies to it; each task takes
                    so much of a core's time, whatever its clock
  receiver          as above, in batches of 32 frames
Each round profiles the tasks with the other cores idle and with them busy,
plans with the latter, runs, corrects the profile with the run, plans and runs
again. --strategies, --policies and --devices profile with busy cores, and run
each plan.
Medians are over the rounds on an almost idle machine or, if these are fewer
than half, over the quieter half.
CSV: every round, with the cores that other programs took meanwhile.";

/// Arguments of `bief lab bench plan`.
#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    measure: MeasureArgs,
    /// Duration of a run, and of measuring the tasks on each kind of core
    #[arg(long, value_name = "S", default_value = "0.4", value_parser = seconds)]
    seconds: f64,
    /// The machine to plan for and run on: a file that emulates kinds of cores (TOML) [default: this machine as it is]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Run the plan of each strategy on two kinds of cores: do they rank as planned?
    #[arg(long, conflicts_with = "policies")]
    strategies: bool,
    /// Run each plan with the placement of each policy
    #[arg(long)]
    policies: bool,
    /// Run plans with an emulated device: the first one of --machine, or one that chains of half a millisecond suit
    #[arg(long, conflicts_with_all = ["strategies", "policies"])]
    devices: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, for example 0.4".to_owned())?;
    if (0.001..=600.0).contains(&seconds) { Ok(seconds) } else { Err("write seconds from 0.001 to 600".to_owned()) }
}

/// A chain, and what each round found of it.
struct Case<R> {
    subject: Subject,
    rounds: Vec<Found<R>>,
}

/// What one round found.
struct Found<R> {
    of: R,
    /// Cores that others took of the machine meanwhile.
    taken: f64,
}

impl<R> Named for Case<R> {
    fn name(&self) -> &str {
        &self.subject.name
    }
}

impl<R> Case<R> {
    /// What the rounds found that count: those in which others took next to nothing of the machine or, where these are fewer
    /// than half, the quieter half. What others do decides about that, not what was found.
    fn counted(&self) -> impl Iterator<Item = &R> {
        let limit = self.limit();
        self.rounds.iter().filter(move |round| round.taken <= limit).map(|round| &round.of)
    }

    /// What others took in a round that counts, at most.
    fn limit(&self) -> f64 {
        let taken = Sample::new(self.rounds.iter().map(|round| round.taken));
        taken.expect("there is at least one round").median().max(QUIET)
    }

    /// A figure of the rounds that count.
    fn sample(&self, figure: impl Fn(&R) -> f64) -> Sample {
        Sample::new(self.counted().map(figure)).expect("there is at least one round")
    }
}

/// Where and how long it was measured.
struct Setting {
    machine: Machine,
    seconds: f64,
    surroundings: Surroundings,
    /// What the runs noted, each once.
    notes: Vec<String>,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    args.measure.output.check()?;
    let bench = Bench::new(to_run_on(args.machine.as_deref())?, args.seconds);
    let findings = if args.strategies {
        let contenders = strategies::contenders(&bench.machine)?;
        let (cases, setting) = measured(args, bench, subject::ranked(), |bench, subject, round| {
            strategies::race(bench, subject, &contenders, round)
        })?;
        strategies::findings(&cases, &setting)
    } else if args.policies {
        let (cases, setting) = measured(args, bench, subject::predicted(), policies::compare)?;
        policies::findings(&cases, &setting)
    } else if args.devices {
        let (subjects, given): (Vec<_>, Vec<_>) = devices::subjects().into_iter().unzip();
        let given: HashMap<String, _> = subjects.iter().map(|subject| subject.name.clone()).zip(given).collect();
        let (cases, setting) =
            measured(args, bench, subjects, |bench, subject, _| devices::follow(bench, subject, given[&subject.name]))?;
        devices::findings(&cases, &setting)
    } else {
        let (cases, setting) =
            measured(args, bench, subject::predicted(), |bench, subject, _| prediction::follow(bench, subject))?;
        prediction::findings(&cases, &setting)
    };
    args.measure.output.deliver(&findings)
}

/// Measures the cases that were asked for, in turn.
fn measured<R>(
    args: &PlanArgs,
    mut bench: Bench,
    subjects: Vec<Subject>,
    measure: impl Fn(&mut Bench, &Subject, usize) -> bief::Result<R>,
) -> Result<(Vec<Case<R>>, Setting), Failure> {
    let all = subjects.into_iter().map(|subject| Case { subject, rounds: Vec::new() }).collect();
    let mut cases: Vec<Case<R>> = case::select(all, args.measure.only.as_deref())?;
    let bar = spinner("finding out how long the tasks take".to_owned());
    let prepared = cases.iter_mut().try_for_each(|case| case.subject.prepare(&bench.machine, bench.seconds));
    bar.finish_and_clear();
    prepared?;
    let watch = Watch::begin();
    case::in_turn(&mut cases, args.measure.rounds, |case| {
        let watch = Watch::begin();
        let found = measure(&mut bench, &case.subject, case.rounds.len());
        let of = found.map_err(|error| Failure::new(format!("{}: {error}", case.subject.name)))?;
        case.rounds.push(Found { of, taken: watch.taken_by_others() });
        Ok(())
    })?;
    let Bench { machine, seconds, notes } = bench;
    Ok((cases, Setting { machine, seconds, surroundings: watch.end(), notes: notes.into_iter().collect() }))
}

impl Setting {
    /// What a reader is told below the tables, after what these are about.
    fn facts<R>(&self, cases: &[Case<R>], about: Vec<String>) -> Vec<String> {
        let emulated = self.machine.is_emulated().then(|| format!("Emulated: {}.", self.machine));
        let told = about.into_iter().chain(which_rounds(cases)).chain(emulated);
        let told = told.chain(self.surroundings.facts()).chain(self.notes.iter().cloned());
        told.flat_map(|fact| wrapped(&fact, COLUMNS)).collect()
    }

    fn to_json(&self, cases: Vec<Value>) -> Value {
        json!({
            "bench": "plan", "surroundings": self.surroundings.to_json(), "machine": self.machine.to_string(),
            "seconds": self.seconds, "notes": self.notes, "cases": cases,
        })
    }
}

/// Which rounds count, where not all do or one that does is not quiet.
fn which_rounds<R>(cases: &[Case<R>]) -> Option<String> {
    let of_cases = || cases.iter().map(|case| (case.counted().count(), case.limit()));
    let rounds = cases[0].rounds.len();
    let (least, limit) =
        of_cases().fold((rounds, QUIET), |(least, limit), (count, of)| (least.min(count), limit.max(of)));
    (least < rounds || limit > QUIET).then(|| {
        format!(
            "Those rounds count in which others took at most {:.0} % of a core or, where they are fewer than half, the \
             quieter half: of {rounds} at least {least}, in which others took up to {:.0} %.",
            100.0 * QUIET,
            100.0 * limit
        )
    })
}

/// A sample for a machine to read.
fn in_json(sample: &Sample) -> Value {
    json!({ "median": sample.median(), "min": sample.quantile(0.0), "max": sample.max() })
}

/// A share as a percentage with its sign.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 99.95 { format!("{percent:+.1}") } else { format!("{percent:+.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_rounds_count_or_else_the_quieter_half() {
        let counted = |taken: &[f64]| {
            let subject = subject::ranked().remove(0);
            let rounds = taken.iter().map(|&taken| Found { of: taken, taken }).collect();
            Case { subject, rounds }.counted().copied().collect::<Vec<f64>>()
        };
        assert_eq!(counted(&[0.0, 0.04, 0.01]), [0.0, 0.04, 0.01]);
        assert_eq!(counted(&[0.9, 0.04, 0.01]), [0.04, 0.01]);
        assert_eq!(counted(&[0.9, 0.5, 0.01, 0.7, 1.2]), [0.5, 0.01, 0.7]);
        assert_eq!(counted(&[1.5]), [1.5]);
    }
}
