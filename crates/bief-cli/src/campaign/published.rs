//! The values that the paper printed, and the times of its authors' program.

use bief_schedule::{Error, Profile, Schedule, Stage};
use serde::Deserialize;
use serde_json::Value;

use super::contender::{Contender, Cores};

/// Chains behind each value of Table 1 and of Figures 1 and 2.
pub(crate) const CHAINS: u32 = 1000;

const TABLE_1: &str = include_str!("../../../../data/published/table1.json");
const TABLE_2: &str = include_str!("../../../../data/published/table2.json");
const REFERENCE_TIMES: &str = include_str!("../../../../data/published/reference_times.csv");

/// One strategy for one stateless ratio on one set of cores (Table 1).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table1Row {
    big: u32,
    little: u32,
    ratio: f64,
    strategy: Contender,
    /// How many of 100 chains got the shortest period.
    pub(crate) percent_optimal: f64,
    /// Of the period, divided by the shortest.
    pub(crate) mean: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
    /// Means over the chains.
    pub(crate) big_used: f64,
    pub(crate) little_used: f64,
}

/// One schedule of the DVB-S2 receiver (Table 2).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table2Row {
    pub(crate) id: String,
    /// The name of the shipped profile.
    pub(crate) platform: String,
    big: u32,
    little: u32,
    pub(crate) strategy: Contender,
    /// Tasks, cores and kind of each stage.
    pub(crate) stages: Vec<(usize, u32, String)>,
    pub(crate) period_us: f64,
    /// As computed from the period.
    pub(crate) sim_mbps: f64,
    /// As measured.
    pub(crate) real_mbps: f64,
    /// Of the socket, measured.
    pub(crate) watts: f64,
    pub(crate) mj_per_frame: f64,
}

impl Table2Row {
    pub(crate) fn cores(&self) -> Cores {
        Cores { big: self.big, little: self.little }
    }

    /// The schedule that was measured, on the profile of its machine.
    pub(crate) fn schedule(&self, profile: &Profile) -> Result<Schedule, Error> {
        let stages = self.stages.iter().map(|(tasks, cores, kind)| Stage::new(*tasks, *cores, kind.as_str()));
        Schedule::new(self.strategy.name(), stages, profile)
    }

    /// The period of one execution that the measured rate means, in nanoseconds.
    pub(crate) fn measured_period_ns(&self, profile: &Profile) -> f64 {
        let bits = profile.bits_per_frame().expect("the profiles that ship carry bits") as f64;
        bits * f64::from(profile.frames_per_execution()) / self.real_mbps * 1e3
    }
}

/// The median time that the authors' program takes to schedule a chain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReferenceTime {
    strategy: Contender,
    tasks: usize,
    cores: Cores,
    ratio: f64,
    us: f64,
}

/// What section 6.2.3 says that HeRAD took on the authors' laptop with a stateless ratio of 0.8: tasks, cores, milliseconds.
pub(crate) const HERAD_MS: [(usize, Cores, f64); 4] = [
    (20, Cores { big: 20, little: 20 }, 2.5),
    (60, Cores { big: 20, little: 20 }, 14.4),
    (20, Cores { big: 100, little: 100 }, 78.5),
    (160, Cores { big: 100, little: 100 }, 3656.0),
];

/// What section 6.2.2 says of FERTAC and HeRAD on (10, 10) cores with a stateless ratio of 0.5, in percent.
pub(crate) struct CoreUsage {
    pub(crate) optimal: f64,
    /// At most one, and at most two cores more than HeRAD, and fewer of neither kind: so counted, the shares fit the text.
    pub(crate) all: [f64; 2],
    /// The same, counting only the chains with the shortest period.
    pub(crate) with_shortest_period: [f64; 2],
}

/// See [`CoreUsage`].
pub(crate) const FIGURE_2: CoreUsage =
    CoreUsage { optimal: 51.2, all: [59.0, 83.1], with_shortest_period: [21.2, 39.2] };

/// All rows of Table 1.
pub(crate) fn table1() -> Vec<Table1Row> {
    rows(TABLE_1)
}

/// The row of Table 1 for that scenario.
pub(crate) fn table1_row(rows: &[Table1Row], strategy: Contender, cores: Cores, ratio: f64) -> Option<&Table1Row> {
    rows.iter().find(|row| {
        row.strategy == strategy && (row.big, row.little) == (cores.big, cores.little) && row.ratio == ratio
    })
}

/// All rows of Table 2.
pub(crate) fn table2() -> Vec<Table2Row> {
    rows(TABLE_2)
}

fn rows<T: for<'de> Deserialize<'de>>(document: &str) -> Vec<T> {
    const WHY: &str = "the published data is part of the program, whose tests read it";
    let mut document: Value = serde_json::from_str(document).expect(WHY);
    serde_json::from_value(document["rows"].take()).expect(WHY)
}

/// All times of the authors' program.
pub(crate) fn reference_times() -> Vec<ReferenceTime> {
    let time = |line: &str| -> Option<ReferenceTime> {
        let fields: Vec<&str> = line.split(',').collect();
        let [strategy, tasks, big, little, ratio, _chains, us] = fields[..] else { return None };
        Some(ReferenceTime {
            strategy: Contender::COMPARED.into_iter().find(|contender| contender.name() == strategy)?,
            tasks: tasks.parse().ok()?,
            cores: Cores { big: big.parse().ok()?, little: little.parse().ok()? },
            ratio: ratio.parse().ok()?,
            us: us.parse().ok()?,
        })
    };
    REFERENCE_TIMES.lines().skip(1).filter_map(time).collect()
}

/// The microseconds of the authors' program there, if it was measured.
pub(crate) fn reference_us(
    times: &[ReferenceTime],
    strategy: Contender,
    tasks: usize,
    cores: Cores,
    ratio: f64,
) -> Option<f64> {
    let same = |time: &&ReferenceTime| {
        time.strategy == strategy && time.tasks == tasks && time.cores == cores && time.ratio == ratio
    };
    times.iter().find(same).map(|time| time.us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_has_every_strategy_in_every_scenario() {
        let rows = table1();
        assert_eq!(rows.len(), 45);
        for cores in crate::campaign::chains::CORES {
            for ratio in crate::campaign::chains::RATIOS {
                for strategy in Contender::PUBLISHED {
                    let row = table1_row(&rows, strategy, cores, ratio).unwrap();
                    assert!(row.mean >= 1.0 && row.max >= row.median && row.big_used <= f64::from(cores.big));
                }
            }
        }
    }

    #[test]
    fn table_2_has_forty_schedules_of_23_tasks() {
        let rows = table2();
        assert_eq!(rows.len(), 40);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.id, format!("S{}", index + 1));
            assert_eq!(row.stages.iter().map(|stage| stage.0).sum::<usize>(), 23);
            assert!(crate::shipped::shipped(&row.platform).is_some(), "{}", row.platform);
        }
    }

    #[test]
    fn every_line_of_the_reference_times_is_read() {
        let times = reference_times();
        assert_eq!(times.len(), 300);
        assert_eq!(times.len(), REFERENCE_TIMES.lines().count() - 1);
        let cores = Cores { big: 100, little: 100 };
        assert_eq!(reference_us(&times, Contender::TwoCatac, 60, cores, 0.5).map(f64::round), Some(15_829_169.0));
        assert_eq!(reference_us(&times, Contender::TwoCatac, 80, cores, 0.5), None);
    }
}
