//! The values that the paper printed but for Table 2, which the command knows, and the times of its authors' program.

use serde::Deserialize;
use serde_json::Value;

use super::contender::{Contender, Cores};

/// Chains behind each value of Table 1 and of Figures 1 and 2.
pub(crate) const CHAINS: u32 = 1000;

const TABLE_1: &str = include_str!("../../data/table1.json");
const REFERENCE_TIMES: &str = include_str!("../../data/reference_times.csv");

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
    const WHY: &str = "the published data is part of the program, whose tests read it";
    let mut document: Value = serde_json::from_str(TABLE_1).expect(WHY);
    serde_json::from_value(document["rows"].take()).expect(WHY)
}

/// The row of Table 1 for that scenario.
pub(crate) fn table1_row(rows: &[Table1Row], strategy: Contender, cores: Cores, ratio: f64) -> Option<&Table1Row> {
    rows.iter().find(|row| {
        row.strategy == strategy && (row.big, row.little) == (cores.big, cores.little) && row.ratio == ratio
    })
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
    fn every_line_of_the_reference_times_is_read() {
        let times = reference_times();
        assert_eq!(times.len(), 300);
        assert_eq!(times.len(), REFERENCE_TIMES.lines().count() - 1);
        let cores = Cores { big: 100, little: 100 };
        assert_eq!(reference_us(&times, Contender::TwoCatac, 60, cores, 0.5).map(f64::round), Some(15_829_169.0));
        assert_eq!(reference_us(&times, Contender::TwoCatac, 80, cores, 0.5), None);
    }
}
