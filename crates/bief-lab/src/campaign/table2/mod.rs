//! Table 2: the schedules of a DVB-S2 receiver on four machines, what they reach and what they draw.

mod figure;
mod table;

use bief_cli::failure::Failure;
use bief_cli::published::{self, PublishedRun};
use bief_cli::shipped::shipped;
use bief_schedule::simulate::Pipeline;
use bief_schedule::{FitErrors, Limit, Platform, Power, Profile, Schedule};
use clap::Args;
use fastrand::Rng;
use serde_json::{Value, json};

use super::contender::{Contender, Cores};
use super::{Findings, TargetArgs};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign table2
  bief lab campaign table2 -o results --json results/table2.json

The times behind the paper's periods were truncated to 0.1 us in print (Table
3). A printed period agrees if it exceeds the computed one by no more than that:
0.1 us per task of the slowest stage, shared by its cores, and 0.05 us for the
rounding of the period itself.
Rates are simulated with these constant times, without hand-over costs. Watts
are modelled: idle power plus a value per busy core of a kind, fitted to these
measurements (bief power fit --published); a core is busy for its stage's share
of the period, measured or planned.

Files: table2.csv, table2.svg, table2_power.svg";

/// Executions of each simulated schedule: what is asked of times that never vary does not depend on how many.
const EXECUTIONS: u64 = 2_000;

/// Arguments of `bief lab campaign table2`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Table2Args {
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// A row of the paper, and what was computed now.
struct Row {
    printed: PublishedRun,
    strategy: Contender,
    /// What the strategy was given.
    cores: Cores,
    /// What the strategy makes of the profile now.
    schedule: Schedule,
    /// The rate that the schedule has without what is not modelled, in Mb/s.
    mbps: f64,
    /// What the printed schedule reaches when it is simulated, in Mb/s.
    simulated_mbps: f64,
    /// Of the printed schedule, modelled at the period that was measured.
    at_measured: Power,
    /// Of the printed schedule, modelled at the period that it was planned with.
    at_planned: Power,
    period_agrees: bool,
    stages_agree: bool,
}

impl Row {
    fn period_us(&self) -> f64 {
        self.schedule.planned_period().ns() / 1e3
    }

    /// How far the simulated rate is from the measured one, as a share of that.
    fn rate_error(&self) -> f64 {
        self.simulated_mbps / self.printed.real_mbps - 1.0
    }

    /// How far modelled watts are from the measured ones, as a share of those.
    fn watts_error(&self, power: Power) -> f64 {
        power.watts / self.printed.watts - 1.0
    }
}

/// The energy of a frame in millijoules.
fn mj_per_frame(power: Power) -> f64 {
    1e3 * power.joules_per_frame
}

/// The rows of one machine.
struct Machine<'a> {
    /// The name of its profile.
    name: &'a str,
    rows: Vec<&'a Row>,
}

impl<'a> Machine<'a> {
    /// All machines, in the order of the rows.
    fn of(rows: &'a [Row]) -> Vec<Self> {
        let same = |a: &Row, b: &Row| a.printed.platform == b.printed.platform;
        let machine = |rows: &'a [Row]| Machine { name: &rows[0].printed.platform, rows: rows.iter().collect() };
        rows.chunk_by(same).map(machine).collect()
    }

    fn errors(&self, of: impl Fn(&Row) -> f64) -> FitErrors {
        FitErrors::of(self.rows.iter().map(|row| of(row)))
    }

    fn rate_errors(&self) -> FitErrors {
        self.errors(Row::rate_error)
    }

    fn measured_errors(&self) -> FitErrors {
        self.errors(|row| row.watts_error(row.at_measured))
    }

    fn planned_errors(&self) -> FitErrors {
        self.errors(|row| row.watts_error(row.at_planned))
    }

    /// The rows in which a frame takes the least energy: more than one where they take the same.
    fn most_frugal(&self, energy: impl Fn(&Row) -> f64) -> Vec<&'a str> {
        let least = self.rows.iter().map(|row| energy(row)).fold(f64::INFINITY, f64::min);
        let least = self.rows.iter().filter(|row| energy(row) <= least * (1.0 + 1e-9));
        least.map(|row| row.printed.id.as_str()).collect()
    }

    /// Measured by the authors, modelled at the measured period, and at the planned one.
    fn frugal(&self) -> [Vec<&'a str>; 3] {
        [
            self.most_frugal(|row| row.printed.mj_per_frame),
            self.most_frugal(|row| mj_per_frame(row.at_measured)),
            self.most_frugal(|row| mj_per_frame(row.at_planned)),
        ]
    }
}

pub(super) fn find() -> Result<Findings, Failure> {
    let rows = published::runs().into_iter().map(compute).collect::<Result<Vec<_>, _>>()?;
    Ok(Findings {
        table: table::table(&rows),
        json: to_json(&rows),
        files: vec![
            ("table2.csv", csv(&rows)),
            ("table2.svg", figure::rates(&rows).svg()?),
            ("table2_power.svg", figure::watts(&rows).svg()?),
        ],
    })
}

fn compute(printed: PublishedRun) -> Result<Row, Failure> {
    let strategy = Contender::named(&printed.strategy)
        .ok_or_else(|| Failure::new(format!("{}: no strategy is called {}", printed.id, printed.strategy)))?;
    let cores = Cores { big: printed.big, little: printed.little };
    let shipped = shipped(&printed.platform)
        .ok_or_else(|| Failure::new(format!("{}: no profile of that name ships", printed.platform)))?;
    let profile = Profile::from_json(shipped.profile).map_err(Failure::from_error)?;
    let platform = Platform::from_json(shipped.platform).map_err(Failure::from_error)?;
    let schedule = strategy.on(cores).and_then(|ready| ready.schedule(&profile));
    let schedule = schedule.map_err(Failure::from_error)?;
    let over_us = printed.period_us - schedule.planned_period().ns() / 1e3;
    let cut_us = cut_us(&schedule, &profile).map_err(Failure::from_error)?;

    let measured = printed.schedule(&profile).map_err(Failure::from_error)?;
    let simulated = Pipeline::new(&profile, &measured).and_then(|run| run.run(EXECUTIONS, &mut Rng::with_seed(0)));
    let simulated = simulated.map_err(Failure::from_error)?;
    let power = |period_ns: f64| {
        let busy = measured.busy_cores(&profile, period_ns).map_err(Failure::from_error)?;
        let busy = busy.iter().map(|(kind, &busy)| (kind.as_str(), busy));
        let power = Power::busy(busy, period_ns, &profile, &platform);
        power.ok_or_else(|| Failure::new(format!("{}: its platform does not tell all watts", printed.platform)))
    };
    Ok(Row {
        mbps: schedule.mbps(&profile).unwrap_or(f64::NAN),
        simulated_mbps: simulated.mbps.unwrap_or(f64::NAN),
        at_measured: power(printed.measured_period_ns(&profile))?,
        at_planned: power(measured.planned_period().ns())?,
        period_agrees: (-0.05 - 1e-6..=cut_us + 0.05 + 1e-6).contains(&over_us),
        stages_agree: schedule.stages() == measured.stages(),
        printed,
        strategy,
        cores,
        schedule,
    })
}

/// How much longer the period may be with the times before they were cut to 0.1 us.
fn cut_us(schedule: &Schedule, profile: &Profile) -> Result<f64, bief_schedule::Error> {
    Ok(match schedule.limit(profile)? {
        Limit::Stage(slowest) => {
            let stage = &schedule.stages()[slowest];
            0.1 * stage.tasks as f64 / f64::from(stage.replicas())
        }
        Limit::Cores(_) => 0.0,
    })
}

/// The platform as the paper names it.
fn platform_name(name: &str) -> &str {
    match name {
        "orange_pi_5_plus" => "Orange Pi 5+",
        "mac_studio" => "Mac Studio",
        "ai370" => "AI370",
        "x7_ti" => "X7 Ti",
        other => other,
    }
}

/// `5x1B 9x1B 5x6L`: the tasks, cores and kind of each stage.
fn decomposition<'a>(stages: impl Iterator<Item = (usize, u32, &'a str)>) -> String {
    let stage = |(tasks, cores, kind): (usize, u32, &str)| {
        format!("{tasks}x{cores}{}", kind.chars().take(1).collect::<String>().to_uppercase())
    };
    stages.map(stage).collect::<Vec<_>>().join(" ")
}

impl Row {
    fn computed_stages(&self) -> String {
        decomposition(self.schedule.stages().iter().map(|stage| {
            let kind = stage.kind().expect("the papers' stages have one kind");
            (stage.tasks, stage.replicas(), kind)
        }))
    }

    fn printed_stages(&self) -> String {
        decomposition(self.printed.stages.iter().map(|(tasks, cores, kind)| (*tasks, *cores, kind.as_str())))
    }
}

fn csv(rows: &[Row]) -> String {
    let mut text = "id,platform,big,little,strategy,stages,printed_stages,stages_agree,big_used,little_used,\
                    period_us,printed_period_us,period_agrees,mbps,printed_mbps,simulated_mbps,measured_mbps,\
                    simulated_mbps_error_percent,measured_watts,\
                    modelled_watts_at_measured_period,error_percent_at_measured_period,\
                    modelled_watts_at_planned_period,error_percent_at_planned_period,\
                    measured_mj_per_frame,modelled_mj_per_frame_at_measured_period,\
                    modelled_mj_per_frame_at_planned_period\n"
        .to_owned();
    for row in rows {
        let printed = &row.printed;
        let used = |kind: &str| row.schedule.cores().get(kind).copied().unwrap_or(0);
        text += &format!(
            "{},{},{},{},{},{},{},{},{},{},{:.3},{},{},{:.3},{},{:.3},{},{:.2},{},{:.3},{:.2},{:.3},{:.2},{},{:.3},{:.3}\n",
            printed.id,
            printed.platform,
            printed.big,
            printed.little,
            printed.strategy,
            row.computed_stages(),
            row.printed_stages(),
            row.stages_agree,
            used("big"),
            used("little"),
            row.period_us(),
            printed.period_us,
            row.period_agrees,
            row.mbps,
            printed.sim_mbps,
            row.simulated_mbps,
            printed.real_mbps,
            100.0 * row.rate_error(),
            printed.watts,
            row.at_measured.watts,
            100.0 * row.watts_error(row.at_measured),
            row.at_planned.watts,
            100.0 * row.watts_error(row.at_planned),
            printed.mj_per_frame,
            mj_per_frame(row.at_measured),
            mj_per_frame(row.at_planned),
        );
    }
    text
}

fn to_json(rows: &[Row]) -> Value {
    let power = |row: &Row, power: Power| {
        json!({
            "watts": power.watts, "error": row.watts_error(power),
            "joules_per_frame": power.joules_per_frame, "joules_per_bit": power.joules_per_bit,
        })
    };
    let json_row = |row: &Row| {
        let printed = &row.printed;
        json!({
            "id": printed.id, "platform": printed.platform, "strategy": printed.strategy,
            "big": printed.big, "little": printed.little,
            "cores": row.schedule.cores(),
            "stages": row.schedule.stages(), "printed_stages": printed.stages, "stages_agree": row.stages_agree,
            "period_us": row.period_us(), "printed_period_us": printed.period_us, "period_agrees": row.period_agrees,
            "mbps": row.mbps, "printed_mbps": printed.sim_mbps, "simulated_mbps": row.simulated_mbps,
            "measured_mbps": printed.real_mbps, "simulated_mbps_error": row.rate_error(),
            "measured_watts": printed.watts, "measured_mj_per_frame": printed.mj_per_frame,
            "modelled_at_measured_period": power(row, row.at_measured),
            "modelled_at_planned_period": power(row, row.at_planned),
        })
    };
    let machine = |machine: &Machine| {
        let [measured, at_measured, at_planned] = machine.frugal();
        json!({
            "platform": machine.name,
            "simulated_mbps_errors": machine.rate_errors(),
            "watts_errors_at_measured_period": machine.measured_errors(),
            "watts_errors_at_planned_period": machine.planned_errors(),
            "most_frugal": {
                "measured": measured, "modelled_at_measured_period": at_measured,
                "modelled_at_planned_period": at_planned,
            },
        })
    };
    json!({
        "experiment": "table2",
        "rows": rows.iter().map(json_row).collect::<Vec<_>>(),
        "platforms": Machine::of(rows).iter().map(machine).collect::<Vec<_>>(),
        "periods_agree": rows.iter().filter(|row| row.period_agrees).count(),
        "stages_agree": rows.iter().filter(|row| row.stages_agree).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Row> {
        published::runs().into_iter().map(|row| compute(row).unwrap()).collect()
    }

    #[test]
    fn otac_rows_are_those_of_the_paper() {
        let otac = |run: &PublishedRun| run.strategy.starts_with("OTAC");
        let rows: Vec<Row> = published::runs().into_iter().filter(otac).map(|row| compute(row).unwrap()).collect();
        assert_eq!(rows.len(), 16);
        assert!(rows.iter().all(|row| row.period_agrees && (row.mbps - row.printed.sim_mbps).abs() < 0.06));
        let text = csv(&rows);
        assert_eq!(text.lines().count(), 17);
        assert!(text.lines().all(|line| line.split(',').count() == 26), "{text}");
    }

    #[test]
    fn simulated_rates_are_the_planned_ones() {
        for row in all() {
            assert!((row.simulated_mbps - row.printed.sim_mbps).abs() < 0.06, "{}", row.printed.id);
        }
    }

    /// The paper rounds watts and rates to 0.1 before anyone else can multiply them.
    #[test]
    fn measured_watts_and_rates_make_the_printed_energies() {
        for row in all() {
            let printed = &row.printed;
            let mj = printed.watts * 14_232.0 / printed.real_mbps / 1e3;
            let off = (0.05 / printed.watts + 0.05 / printed.real_mbps) * mj + 0.05;
            assert!((mj - printed.mj_per_frame).abs() <= off + 1e-9, "{}: {mj}", printed.id);
        }
    }

    #[test]
    fn modelled_watts_are_near_the_measured_ones() {
        let rows = all();
        for machine in Machine::of(&rows) {
            let within = if machine.name == "x7_ti" { 0.06 } else { 0.03 };
            assert!(machine.measured_errors().mean <= within, "{}: {:?}", machine.name, machine.measured_errors());
            assert!(machine.planned_errors().mean <= 0.07, "{}: {:?}", machine.name, machine.planned_errors());
        }
    }

    #[test]
    fn the_most_frugal_schedules_are_those_of_the_paper() {
        let rows = all();
        for (machine, frugal) in Machine::of(&rows).iter().zip(["S10", "S20", "S26", "S39"]) {
            assert_eq!(machine.frugal(), [[frugal], [frugal], [frugal]], "{}", machine.name);
        }
    }

    #[test]
    fn a_period_that_is_longer_than_cut_times_explain_does_not_agree() {
        let mut row = published::runs().remove(0);
        row.period_us += 1.0;
        assert!(!compute(row.clone()).unwrap().period_agrees);
        row.period_us -= 1.5;
        assert!(!compute(row).unwrap().period_agrees);
    }

    #[test]
    fn decompositions_are_short() {
        assert_eq!(decomposition([(13, 1, "big"), (5, 2, "little")].into_iter()), "13x1B 5x2L");
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let rows = all();
        let table = table::table(&rows);
        assert!(table.lines().all(|line| line.chars().count() <= bief_cli::text::COLUMNS), "{table}");
        assert!(table.contains("\nS1  OTAC (L)  27050.7  27050.9 "), "{table}");
        assert!(table.contains("40 of 40 periods and "), "{table}");
    }
}
