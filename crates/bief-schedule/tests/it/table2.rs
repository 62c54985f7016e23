//! Table 2 of Idouar et al.: the DVB-S2 receiver on four machines, scheduled by each of the published strategies.

use crate::common::{data, dvbs2};
use bief_schedule::{Limit, Platform, Profile, Schedule, Stage, strategy};
use serde_json::Value;

/// A row of the table: a machine, its cores and what a strategy made of them.
struct Row {
    published: Value,
    profile: Profile,
}

impl Row {
    fn id(&self) -> &str {
        self.published["id"].as_str().unwrap()
    }

    /// The cores of the row, of the kinds of these letters.
    fn platform(&self, letters: &[&str]) -> Platform {
        let cores = letters.iter().map(|letter| format!("{}={}", kind(letter), self.published["R"][letter]));
        Platform::parse_cores(&cores.collect::<Vec<_>>().join(","), &self.profile).unwrap()
    }

    fn stages(&self) -> Vec<Stage> {
        let number = |stage: &Value, key: &str| usize::try_from(stage[key].as_u64().unwrap()).unwrap();
        let stages = self.published["stages"].as_array().unwrap().iter().map(|stage| {
            let cores = u32::try_from(number(stage, "cores")).unwrap();
            Stage::new(number(stage, "n_tasks"), cores, kind(stage["type"].as_str().unwrap()))
        });
        stages.collect()
    }

    /// The schedule has the stages and the period of the row.
    fn check(&self, schedule: &Schedule) {
        let id = self.id();
        assert_eq!(schedule.stages(), self.stages(), "{id}");
        self.check_period(schedule);
    }

    /// Table 3 gives times cut to 0.1 us, Table 2 periods computed before they were cut, then rounded.
    fn check_period(&self, schedule: &Schedule) {
        let id = self.id();
        let period_us = schedule.planned_period().ns() / 1e3;
        let from_table_3 = self.published["check"]["period_from_table3_us"].as_f64().unwrap();
        assert!((period_us - from_table_3).abs() < 0.0051, "{id}: {period_us} us, not {from_table_3}");
        let Ok(Limit::Stage(slowest)) = schedule.limit(&self.profile) else { panic!("{id}: threads share cores") };
        let stage = &schedule.stages()[slowest];
        let cut_us = 0.1 * stage.tasks as f64 / f64::from(stage.replicas());
        let over_us = self.published["period_us"].as_f64().unwrap() - period_us;
        assert!((-0.05..cut_us + 0.05).contains(&over_us), "{id}: the table's period is {over_us} us longer");
        let mbps = schedule.mbps(&self.profile).unwrap();
        assert!((self.published["sim_mbps"].as_f64().unwrap() - mbps).abs() <= 0.06, "{id}: {mbps} Mb/s");
    }
}

fn kind(letter: &str) -> &'static str {
    match letter {
        "B" => "big",
        "L" => "little",
        _ => panic!("no kind of cores is called {letter}"),
    }
}

/// The rows of a strategy, which has this name in the table.
fn rows(strategy: &str) -> Option<Vec<Row>> {
    let (profiles, table) = (data("dvbs2_profiles.json")?, data("dvbs2_schedules.json")?);
    let of_strategy = |row: &&Value| row["strategy"] == strategy;
    let rows = table["solutions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_strategy)
        .map(|row| Row { published: row.clone(), profile: dvbs2(&profiles, row["platform"].as_str().unwrap()) });
    Some(rows.collect())
}

/// Schedules the eight rows of a strategy on the kinds of cores of these letters.
fn reproduce(published: &str, name: &str, letters: &[&str]) {
    let Some(rows) = rows(published) else { return };
    assert_eq!(rows.len(), 8);
    for row in rows {
        let platform = row.platform(letters);
        let schedule = strategy(name).unwrap().schedule(&row.profile, &platform).unwrap();
        schedule.check(&row.profile, &platform).unwrap();
        row.check(&schedule);
    }
}

#[test]
fn otac_reproduces_its_rows_for_little_cores() {
    reproduce("OTAC_L", "otac", &["L"]);
}

#[test]
fn otac_reproduces_its_rows_for_big_cores() {
    reproduce("OTAC_B", "otac", &["B"]);
}

#[test]
fn fertac_reproduces_its_rows() {
    reproduce("FERTAC", "fertac", &["B", "L"]);
}

#[test]
fn two_catac_reproduces_its_rows() {
    reproduce("2CATAC", "two_catac", &["B", "L"]);
}

#[test]
fn herad_reproduces_its_rows() {
    reproduce("HeRAD", "herad", &["B", "L"]);
}

/// Exact has HeRAD's period and cores, and may have fewer stages.
#[test]
fn exact_has_the_periods_of_herad() {
    let Some(rows) = rows("HeRAD") else { return };
    for row in rows {
        let platform = row.platform(&["B", "L"]);
        let schedule = strategy("exact:one-kind").unwrap().schedule(&row.profile, &platform).unwrap();
        row.check_period(&schedule);
        for (kind, letter) in [("big", "B"), ("little", "L")] {
            assert_eq!(schedule.cores().get(kind).copied().unwrap_or(0), row.published["used"][letter], "{}", row.id());
        }
    }
}

/// The strategies R1 to R3 of the paper's comparison with the operating system's scheduler.
#[test]
fn threads_per_task_are_those_of_the_comparison() {
    let Some(profiles) = data("dvbs2_profiles.json") else { return };
    let profile = dvbs2(&profiles, "ai370");
    let platform = Platform::parse_cores("big=4,little=8", &profile).unwrap();
    for (name, threads) in [("thread_per_task", 23), ("thread_per_task:2", 33), ("thread_per_task:3", 43)] {
        let schedule = strategy(name).unwrap().schedule(&profile, &platform).unwrap();
        schedule.check(&profile, &platform).unwrap();
        assert_eq!(schedule.stages().len(), 23);
        assert_eq!(schedule.stages().iter().map(|stage| stage.replicas()).sum::<u32>(), threads, "{name}");
        assert!(schedule.is_oversubscribed());
    }
}
