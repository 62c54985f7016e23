//! Table 2: the schedules of a DVB-S2 receiver on four machines.

use bief_schedule::{Limit, Platform, Power, Profile, Schedule};
use clap::Args;
use serde_json::{Value, json};

use super::contender::Contender;
use super::published::{self, Table2Row};
use super::{Findings, TargetArgs};
use crate::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Shape};
use crate::failure::Failure;
use crate::shipped::shipped;
use crate::text::{COLUMNS, wrapped};

const EXAMPLES: &str = "\
Examples:
  bief campaign table2
  bief campaign table2 -o results --json results/table2.json

The times behind the paper's periods were cut to 0.1 us before they were printed
(Table 3). A printed period agrees when it is longer than the computed one by no
more than that: 0.1 us per task of the slowest stage, shared by its cores, and
0.05 us for the print of the period itself.
Power is modelled: idle, and so much per busy core of a kind; a core is busy for
its stage's share of the period.

Files: table2.csv, table2.svg";

/// Arguments of `bief campaign table2`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Table2Args {
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// A row of the paper, and what was computed now.
struct Row {
    printed: Table2Row,
    schedule: Schedule,
    mbps: f64,
    /// Modelled; `None` where the watts of a kind are unknown.
    power: Option<Power>,
    period_agrees: bool,
    stages_agree: bool,
}

impl Row {
    fn period_us(&self) -> f64 {
        self.schedule.planned_period().ns() / 1e3
    }

    fn watts(&self) -> Option<f64> {
        self.power.map(|power| power.watts)
    }

    fn mj_per_frame(&self) -> Option<f64> {
        self.power.map(|power| 1e3 * power.joules_per_frame)
    }
}

pub(super) fn find() -> Result<Findings, Failure> {
    let rows = published::table2().into_iter().map(compute).collect::<Result<Vec<_>, _>>()?;
    Ok(Findings {
        table: table(&rows),
        json: to_json(&rows),
        files: vec![("table2.csv", csv(&rows)), ("table2.svg", figure(&rows).svg()?)],
    })
}

fn compute(printed: Table2Row) -> Result<Row, Failure> {
    let shipped = shipped(&printed.platform)
        .ok_or_else(|| Failure::new(format!("{}: no profile of that name ships", printed.platform)))?;
    let profile = Profile::from_json(shipped.profile).map_err(Failure::from_error)?;
    let platform = Platform::from_json(shipped.platform).map_err(Failure::from_error)?;
    let schedule = printed.strategy.on(printed.cores()).and_then(|ready| ready.schedule(&profile));
    let schedule = schedule.map_err(Failure::from_error)?;
    let over_us = printed.period_us - schedule.planned_period().ns() / 1e3;
    let cut_us = cut_us(&schedule, &profile).map_err(Failure::from_error)?;
    let stages = schedule.stages().iter().map(|stage| (stage.tasks, stage.cores, stage.kind.as_str()));
    let stages_agree = stages.eq(printed.stages.iter().map(|(tasks, cores, kind)| (*tasks, *cores, kind.as_str())));
    let power = Power::of(&schedule, &profile, &platform).map_err(Failure::from_error)?;
    Ok(Row {
        mbps: schedule.mbps(&profile).unwrap_or(f64::NAN),
        power,
        period_agrees: (-0.05 - 1e-6..=cut_us + 0.05 + 1e-6).contains(&over_us),
        stages_agree,
        printed,
        schedule,
    })
}

/// How much longer the period may be with the times before they were cut to 0.1 us.
fn cut_us(schedule: &Schedule, profile: &Profile) -> Result<f64, bief_schedule::Error> {
    Ok(match schedule.limit(profile)? {
        Limit::Stage(slowest) => {
            let stage = &schedule.stages()[slowest];
            0.1 * stage.tasks as f64 / f64::from(stage.cores)
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
        decomposition(self.schedule.stages().iter().map(|stage| (stage.tasks, stage.cores, stage.kind.as_str())))
    }

    fn printed_stages(&self) -> String {
        decomposition(self.printed.stages.iter().map(|(tasks, cores, kind)| (*tasks, *cores, kind.as_str())))
    }
}

fn verdict(rows: &[Row]) -> String {
    let count = |agrees: fn(&Row) -> bool| rows.iter().filter(|row| agrees(row)).count();
    format!(
        "{} of {} periods and {} of {} decompositions are those of the paper.",
        count(|row| row.period_agrees),
        rows.len(),
        count(|row| row.stages_agree),
        rows.len()
    )
}

fn table(rows: &[Row]) -> String {
    let heading = "Table 2: schedules of the DVB-S2 receiver, computed now (here), printed in the paper (paper), and measured \
                   there (real). Watts are modelled here. Stages: = as in the paper.";
    let mut lines = wrapped(heading, COLUMNS);
    let mut before = None;
    for row in rows {
        let printed = &row.printed;
        if before.replace((&printed.platform, printed.cores())) != Some((&printed.platform, printed.cores())) {
            lines.push(String::new());
            lines.push(format!("{}, R = {}", platform_name(&printed.platform), printed.cores()));
            lines.push(format!(
                "{:12} {:>8} {:>8}  {:>4} {:>5} {:>4}  {:>4} {:>4}  {:>4} {:>4}  stages",
                "", "us here", "paper", "Mb/s", "paper", "real", "W", "real", "mJ", "real"
            ));
        }
        let mark = if row.period_agrees { ' ' } else { '!' };
        let modelled = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        lines.push(format!(
            "{:3} {:8} {:>8.1} {:>8.1}{mark} {:>4.1} {:>5.1} {:>4.1}  {:>4} {:>4.1}  {:>4} {:>4.1}  {}",
            printed.id,
            printed.strategy.name(),
            row.period_us(),
            printed.period_us,
            row.mbps,
            printed.sim_mbps,
            printed.real_mbps,
            modelled(row.watts()),
            printed.watts,
            modelled(row.mj_per_frame()),
            printed.mj_per_frame,
            if row.stages_agree { "=" } else { "differ" },
        ));
    }
    lines.push(String::new());
    let others: Vec<&Row> = rows.iter().filter(|row| !row.stages_agree).collect();
    if !others.is_empty() {
        lines.push("Other stages, as tasks x cores: here, then paper".to_owned());
        for row in others {
            lines.push(format!("{:3} {}", row.printed.id, row.computed_stages()));
            lines.push(format!("    {}", row.printed_stages()));
        }
        lines.push(String::new());
    }
    lines.extend(wrapped(&verdict(rows), COLUMNS));
    lines.join("\n")
}

fn csv(rows: &[Row]) -> String {
    let mut text = "id,platform,big,little,strategy,stages,printed_stages,stages_agree,big_used,little_used,\
                    period_us,printed_period_us,period_agrees,mbps,printed_mbps,measured_mbps,\
                    modelled_watts,measured_watts,modelled_mj_per_frame,measured_mj_per_frame\n"
        .to_owned();
    for row in rows {
        let printed = &row.printed;
        let used = |kind: &str| row.schedule.cores().get(kind).copied().unwrap_or(0);
        let modelled = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
        text += &format!(
            "{},{},{},{},{},{},{},{},{},{},{:.3},{},{},{:.3},{},{},{},{},{},{}\n",
            printed.id,
            printed.platform,
            printed.cores().big,
            printed.cores().little,
            printed.strategy.name(),
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
            printed.real_mbps,
            modelled(row.watts()),
            printed.watts,
            modelled(row.mj_per_frame()),
            printed.mj_per_frame,
        );
    }
    text
}

fn to_json(rows: &[Row]) -> Value {
    let json_row = |row: &Row| {
        let printed = &row.printed;
        json!({
            "id": printed.id, "platform": printed.platform, "strategy": printed.strategy.name(),
            "big": printed.cores().big, "little": printed.cores().little,
            "cores": row.schedule.cores(),
            "stages": row.schedule.stages(), "printed_stages": printed.stages, "stages_agree": row.stages_agree,
            "period_us": row.period_us(), "printed_period_us": printed.period_us, "period_agrees": row.period_agrees,
            "mbps": row.mbps, "printed_mbps": printed.sim_mbps, "measured_mbps": printed.real_mbps,
            "modelled_watts": row.watts(), "measured_watts": printed.watts,
            "modelled_mj_per_frame": row.mj_per_frame(), "measured_mj_per_frame": printed.mj_per_frame,
        })
    };
    json!({
        "experiment": "table2",
        "rows": rows.iter().map(json_row).collect::<Vec<_>>(),
        "periods_agree": rows.iter().filter(|row| row.period_agrees).count(),
        "stages_agree": rows.iter().filter(|row| row.stages_agree).count(),
    })
}

/// The rates of all schedules, a panel per platform: bars as computed, marks as printed and as measured.
fn figure(rows: &[Row]) -> Figure {
    let mut platforms: Vec<&str> = rows.iter().map(|row| row.printed.platform.as_str()).collect();
    platforms.dedup();
    let panel = |platform: &str| {
        let of_panel: Vec<&Row> = rows.iter().filter(|row| row.printed.platform == platform).collect();
        let most = of_panel.iter().map(|row| row.mbps.max(row.printed.sim_mbps)).fold(1.0, f64::max);
        let step = if most > 40.0 { 20.0 } else { 5.0 };
        let bar = |(place, row): (usize, &&Row)| Shape::Box {
            from: (place as f64 - 0.36, 0.0),
            to: (place as f64 + 0.36, row.mbps),
            color: row.printed.strategy.color(),
        };
        let marks = |filled: bool, value: fn(&Table2Row) -> f64| Shape::Dots {
            points: of_panel.iter().enumerate().map(|(place, row)| (place as f64, value(&row.printed))).collect(),
            color: INK,
            filled,
        };
        let mut shapes: Vec<Shape> = of_panel.iter().enumerate().map(bar).collect();
        shapes.push(marks(false, |row| row.sim_mbps));
        shapes.push(marks(true, |row| row.real_mbps));
        let halves: Vec<String> = of_panel.iter().map(|row| row.printed.cores().to_string()).collect();
        let mut distinct = halves.clone();
        distinct.dedup();
        Panel {
            title: format!("{}: R = {}", platform_name(platform), distinct.join(", then ")),
            x: Axis::names(of_panel.iter().map(|row| row.printed.id.clone())),
            y: Axis::linear(0.0, (most * 1.08 / step).ceil() * step, step, 0).named("Mb/s"),
            shapes,
        }
    };
    let key = |strategy: Contender| Key { label: strategy.name().to_owned(), color: strategy.color(), mark: Mark::Box };
    let mut legend: Vec<Key> = Contender::PUBLISHED.map(key).into();
    legend.push(Key { label: "printed".to_owned(), color: INK, mark: Mark::Ring });
    legend.push(Key { label: "measured by the authors".to_owned(), color: INK, mark: Mark::Dot });
    Figure {
        title: "Table 2: planned rates of a DVB-S2 receiver on four machines".to_owned(),
        caption: "information throughput of the schedules computed now; R = (big, little) cores".to_owned(),
        legend,
        panel: (460, 260),
        rows: platforms.chunks(2).map(|pair| pair.iter().map(|platform| panel(platform)).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn otac_rows_are_those_of_the_paper() {
        let otac = |row: &Table2Row| matches!(row.strategy, Contender::OtacBig | Contender::OtacLittle);
        let rows: Vec<Row> = published::table2().into_iter().filter(otac).map(|row| compute(row).unwrap()).collect();
        assert_eq!(rows.len(), 16);
        assert!(rows.iter().all(|row| row.period_agrees && (row.mbps - row.printed.sim_mbps).abs() < 0.06));
        assert!(verdict(&rows).starts_with("16 of 16 periods and "));
        let table = table(&rows);
        assert!(table.lines().all(|line| line.chars().count() <= COLUMNS), "{table}");
        assert!(table.contains("\nS1  OTAC (L)  27050.7  27050.9 "), "{table}");
        let text = csv(&rows);
        assert_eq!(text.lines().count(), 17);
        assert!(text.lines().all(|line| line.split(',').count() == 20), "{text}");
    }

    #[test]
    fn a_period_that_is_longer_than_cut_times_explain_does_not_agree() {
        let mut row = published::table2().remove(0);
        row.period_us += 1.0;
        assert!(!compute(row.clone()).unwrap().period_agrees);
        row.period_us -= 1.5;
        assert!(!compute(row).unwrap().period_agrees);
    }

    #[test]
    fn decompositions_are_short() {
        assert_eq!(decomposition([(13, 1, "big"), (5, 2, "little")].into_iter()), "13x1B 5x2L");
    }
}
