//! What the paper printed.

use serde::Deserialize;

const DOCUMENT: &str = include_str!("../../../data/ftfc.json");

/// The values of the paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    #[serde(rename = "source")]
    _source: String,
    /// Of the machines of Table 2, ascending.
    pub(super) heterogeneities: Vec<f64>,
    /// What the text says of Figures 4 and 5, for the first and the last of these machines.
    pub(super) gains: [Gain; 2],
    /// Table 1.
    complexities: Vec<Complexity>,
}

/// FTFC beside a fair scheduler.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gain {
    pub(super) heterogeneity: f64,
    pub(super) throughput_percent: f64,
    pub(super) power_percent: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Complexity {
    algorithm: String,
    stated: String,
}

impl Published {
    pub(super) fn new() -> Self {
        serde_json::from_str(DOCUMENT).expect("the published data is part of the program, whose tests read it")
    }

    /// The time complexity that Table 1 states for an algorithm, if it has it.
    pub(super) fn complexity(&self, algorithm: &str) -> Option<&str> {
        self.complexities.iter().find(|row| row.algorithm == algorithm).map(|row| row.stated.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values_are_read() {
        let published = Published::new();
        assert!(published.heterogeneities.len() == 6 && published.heterogeneities.is_sorted());
        let ends = [published.heterogeneities[0], published.heterogeneities[5]];
        assert_eq!([&published.gains[0], &published.gains[1]].map(|gain| gain.heterogeneity), ends);
        assert_eq!(published.complexity("BSM"), Some("O(N log M)"));
        assert_eq!(published.complexity("rank"), None);
    }
}
