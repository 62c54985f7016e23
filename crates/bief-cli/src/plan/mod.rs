//! `bief plan`: the schedules for a profile on given cores, as tables, as JSON or as a picture.

mod comparison;
mod facts;
mod input;
mod schedule_table;

use std::path::PathBuf;

use bief_schedule::strategy::{Exact, Strategy};
use bief_schedule::{ClockPlan, Goal, Platform, Profile, Schedule, strategies, strategy};
use clap::builder::{PossibleValue, PossibleValuesParser};

use self::comparison::Comparison;
use self::facts::{Plan, pace};
use crate::draw::{self, stages};
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::{self, JsonArgs};
use crate::planning::{DeviceChoice, StagesArgs};
use crate::workers::PoolArgs;

const EXAMPLES: &str = "\
Examples:
  bief plan mac_studio
      a DVB-S2 receiver on all cores of a Mac Studio; other built-in profiles
      are orange_pi_5_plus, ai370 and x7_ti
  bief plan ai370 --cores big=2,little=6 --strategy all
      all strategies, on some of the cores
  bief plan ai370 --goal least-power,rate=30Mb/s --svg plan.svg
      the pipeline of least power that is fast enough, and a picture of it
  bief plan receiver.json --platform board.json --goal least-power,period=1ms
      its clocks, too, where board.json tells \"clocks\" of its kinds
  bief plan x7_ti --cores big=3,little=4 --stages one-kind
      every stage on cores of one kind, where cores of several may share one
  bief plan receiver.json --cores 4
      the best pipeline on 4 cores, for a profile with one kind of core
  bief plan receiver.json --platform laptop.json --strategy thread_per_task
      one thread per task, on the cores listed in laptop.json
  cat receiver.json | bief plan - --cores 4 --json > schedule.json
      profile from standard input, schedule to standard output";

const JSON: &str = r#"JSON:
  One object: strategy, period_ns, cores, stages in the order of the chain (on
  cores of one kind: "cores": 3, "kind": "big"; of several: "cores": {"big": 2,
  "little": 1}), watts if known, clocks in MHz if kinds are to have others than
  the profile's, and, for exact, front. Each entry of front is a choice of
  cores, with its stages, that reaches the same period, or the one that the goal
  demands; no entry can use fewer cores of one kind without more of another. The
  schedule's own choice is among them. Goals with least-power, power or latency
  have no front. With --strategy all: a list with one object per row."#;

/// What `--strategy` takes in place of a name.
const ALL: &str = "all";

/// Show the schedule of a profiled chain on given cores: stages, periods, rate, power, and what limits it
#[derive(clap::Args)]
#[command(
    override_usage = "bief plan [OPTIONS] <PROFILE>",
    after_help = EXAMPLES,
    after_long_help = format!("{JSON}\n\n{EXAMPLES}")
)]
pub(crate) struct PlanArgs {
    /// The chain's profile: a JSON file, or the name of a built-in one; - reads standard input
    #[arg(value_name = "PROFILE", required_unless_present = "target")]
    profile: Option<PathBuf>,

    /// The cores to use: N, or by kind as in big=4,little=8 [default: all of a built-in machine]
    #[arg(long, value_name = "CORES", conflicts_with = "platform")]
    cores: Option<String>,

    /// The devices among the cores to use, which the profile gives lanes: `off` leaves them out, `require` fails where there is
    /// none; require=NAME takes that device alone [default: try]
    #[arg(long, value_name = "off|try|require[=NAME]", default_value = "try", hide_default_value = true)]
    device: DeviceChoice,

    /// The cores to use: a JSON file with the number of each kind; - reads standard input
    #[arg(long, value_name = "FILE")]
    platform: Option<PathBuf>,

    /// How to cut the chain into stages
    #[arg(long, value_name = "NAME", default_value = Exact.name(), value_parser = strategy_names())]
    strategy: String,

    #[command(flatten)]
    stages: StagesArgs,

    /// What to optimise, and within which limits [default: fewest-big]
    ///
    /// One of max-throughput, fewest-big, fewest-cores and least-power, then any of ,rate=30Mb/s ,period=1ms ,power=20W
    /// and ,latency=5ms: least-power,rate=30Mb/s is the schedule of least power among those of 30 Mb/s or more.
    ///
    /// Goals with least-power, power or latency compare far more schedules than the others. Where too many cores make
    /// that too costly, they are refused: give fewer cores or another goal. A power limit is also refused if the power
    /// of a kind of core saturates, as on x7_ti.
    ///
    /// Where a --platform tells "clocks" of its kinds, least-power with a rate or a period chooses a clock for each kind, too;
    /// --strategy all compares at the clock that the profile is of.
    #[arg(long, value_name = "GOAL")]
    goal: Option<Goal>,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    json: JsonArgs,

    /// Draw the stages as SVG into FILE; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl PlanArgs {
    /// Whether the picture goes to standard output, so that no table may.
    fn svg_on_stdout(&self) -> bool {
        self.svg.as_deref().is_some_and(is_dash)
    }
}

fn strategy_names() -> PossibleValuesParser {
    let names = strategies().iter().map(|strategy| {
        let can = strategy.capabilities();
        let kinds = match can.max_kinds {
            1 => "one kind",
            2 => "one or two kinds",
            3 => "up to three kinds",
            4 => "up to four kinds",
            _ => "any number of kinds",
        };
        let goals = if can.goals { " Serves goals." } else { "" };
        PossibleValue::new(strategy.name()).help(format!("{} Takes {kinds} of cores.{goals}", strategy.summary()))
    });
    PossibleValuesParser::new(names.chain([PossibleValue::new(ALL).help("Compares them all")]))
}

/// Plans, and shows the schedule, or all schedules.
pub(crate) fn run(mut args: PlanArgs) -> Result<(), Failure> {
    let profile = args.profile.take().or_else(|| args.json.misplaced_input(|_| true)).ok_or_else(|| {
        Failure::usage("no PROFILE: put it before --json, as in bief plan mac_studio --json, or behind --json FILE")
    })?;
    if args.json.on_stdout() && args.svg_on_stdout() {
        return Err(Failure::usage("JSON and SVG cannot both go to standard output: give --json or --svg a file"));
    }
    let mut files = Files::default();
    [Some(&profile), args.platform.as_ref()].into_iter().flatten().try_for_each(|path| files.read(path))?;
    args.pool.claim(&mut files)?;
    args.json.claim(&mut files)?;
    args.svg.as_deref().map_or(Ok(()), |path| files.write(path, "--svg"))?;
    let goal = args.goal.unwrap_or_default();
    args.strategy = args.stages.strategy(&args.strategy)?;
    if args.strategy != ALL {
        strategy(&args.strategy).and_then(|strategy| strategy.serves(&goal)).map_err(Failure::from_error)?;
    }
    let (profile, platform) = input::load(&profile, args.cores.as_deref(), args.platform.as_deref())?;
    let platform = with_devices(&args.device, &profile, platform)?;
    if args.pool.show(&profile, &platform, &args.json)? {
        return Ok(());
    }
    if args.strategy == ALL {
        return compare(&args, &profile, &platform);
    }
    let strategy = strategy(&args.strategy).map_err(Failure::from_error)?;
    let pace = pace(strategy, &profile, &goal).map_err(Failure::from_error)?;
    let found = ClockPlan::find(strategy, &profile, &platform, &goal).map_err(Failure::from_error)?;
    let ClockPlan { schedule, profile, platform, .. } = found;
    let schedule = &schedule;
    let plan = Plan { profile: &profile, platform: &platform, schedule, pace };
    args.json.write(|| schedule.to_json().trim_end().to_owned())?;
    draw_stages(&args, &plan)?;
    if args.json.on_stdout() || args.svg_on_stdout() {
        return Ok(());
    }
    json::print(&schedule_table::table(&plan)?)
}

/// The cores, and of the devices those that are wanted.
fn with_devices(choice: &DeviceChoice, profile: &Profile, platform: Platform) -> Result<Platform, Failure> {
    let is_device = |name: &str| profile.kind(name).is_some_and(|kind| profile.lanes(kind).is_some());
    let there = platform.kinds().iter().filter(|kind| kind.cores > 0).map(|kind| kind.name.as_str());
    let (devices, mut wanted): (Vec<&str>, Vec<&str>) = there.partition(|name| is_device(name));
    wanted
        .extend(choice.of(&devices, ["what is planned for", "name one among the cores that the profile gives lanes"])?);
    platform.only(&wanted).map_err(Failure::from_error)
}

/// Plans with every strategy, shows them side by side, and the stages of the exact one.
fn compare(args: &PlanArgs, profile: &Profile, platform: &Platform) -> Result<(), Failure> {
    // Side by side, all are taken to keep all cores busy, and no core is divided.
    let platform = &platform.clone().whole();
    let profile = &*profile.while_busy(&platform.cores_for(profile).map_err(Failure::from_error)?);
    let comparison = Comparison::of(profile, platform, args.goal);
    let exact = comparison.plan(&Exact);
    args.json.write(|| comparison.to_json())?;
    if args.svg.is_some() {
        let plan = exact.as_ref().map_err(|reason| Failure::usage(format!("nothing to draw: {reason}")))?;
        draw_stages(args, plan)?;
    }
    if args.json.on_stdout() || args.svg_on_stdout() {
        return Ok(());
    }
    json::print(&comparison.table())?;
    match exact {
        Ok(plan) => json::print(&format!("\n{}", schedule_table::table(&plan)?)),
        Err(_) => Ok(()),
    }
}

/// Draws the stages where that is asked for.
fn draw_stages(args: &PlanArgs, plan: &Plan) -> Result<(), Failure> {
    args.svg.as_ref().map_or(Ok(()), |path| draw::write(path, &picture(plan)?))
}

fn picture(plan: &Plan) -> Result<String, Failure> {
    stages::svg(plan.profile, plan.platform, plan.schedule, &plan.heading(), &plan.facts()?)
}

/// The table and the picture (SVG) of a schedule.
///
/// # Errors
/// A schedule that is not one of the profile; a goal that names a rate which the profile does not tell.
pub fn shown(
    profile: &Profile,
    platform: &Platform,
    schedule: &Schedule,
    goal: &Goal,
) -> Result<(String, String), Failure> {
    let pace = match strategy(schedule.strategy()) {
        Ok(strategy) => pace(strategy, profile, goal).map_err(Failure::from_error)?,
        Err(_) => None,
    };
    let plan = Plan { profile, platform, schedule, pace };
    Ok((schedule_table::table(&plan)?, picture(&plan)?))
}

/// Every strategy on these cores: the list that `--strategy all --json` gives, and its table.
pub fn compared(profile: &Profile, platform: &Platform, goal: Option<Goal>) -> (String, String) {
    let comparison = Comparison::of(profile, platform, goal);
    (comparison.to_json(), comparison.table())
}

#[cfg(test)]
mod tests {
    use bief_schedule::TaskProfile;

    use super::*;

    /// A chain for the tests of this folder.
    pub(super) fn receiver(kinds: [&str; 2]) -> Profile {
        Profile::new(
            kinds,
            [
                TaskProfile::sequential("receive", [216_300, 227_100]),
                TaskProfile::replicable("demodulate", [2_491_100, 3_281_400]),
                TaskProfile::replicable("decode", [3_959_000, 5_220_400]),
                TaskProfile::sequential("send", [27_500, 35_200]),
            ],
        )
        .and_then(|profile| profile.with_frames_per_execution(16)?.with_bits_per_frame(14_232))
        .unwrap()
    }
}
