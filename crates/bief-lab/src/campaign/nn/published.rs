//! Layer times that BetterTogether (IISWC 2025) published, planned.

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, TaskProfile};
use bief_cli::failure::Failure;
use serde::Serialize;

/// The clusters of a Pixel 7a.
const CLUSTERS: [&str; 3] = ["little", "medium", "big"];
/// Milliseconds of each layer of the dense CIFAR network on each cluster, all clusters busy.
const LAYERS: [[f64; 9]; 3] = [
    [202.6, 20.9, 865.6, 6.6, 706.8, 1056.2, 1049.3, 3.3, 2.1],
    [69.0, 7.1, 322.2, 3.3, 263.5, 450.7, 489.4, 1.6, 1.1],
    [84.1, 8.4, 333.6, 4.5, 323.9, 647.0, 618.3, 2.3, 1.3],
];

/// A way to run the network, and milliseconds per frame.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    what: String,
    milliseconds: f64,
}

impl Line {
    pub(super) fn row(&self) -> String {
        format!("{:40} {:>8.1}", self.what, self.milliseconds)
    }
}

/// Each cluster alone, and the exact plan of one unit of each.
pub(super) fn planned() -> Result<Vec<Line>, Failure> {
    let ns = |layer: usize| LAYERS.map(|cluster| (cluster[layer] * 1e6).round() as u64);
    let tasks = (0..LAYERS[0].len()).map(|layer| TaskProfile::sequential(format!("layer {layer}"), ns(layer)));
    let profile = Profile::new(CLUSTERS, tasks).map_err(Failure::from_error)?;
    let clusters = Platform::new(CLUSTERS.map(|name| CoreKind::new(name, 1))).map_err(Failure::from_error)?;
    let schedule = Exact.schedule(&profile, &clusters).map_err(Failure::from_error)?;
    let alone = CLUSTERS
        .iter()
        .zip(LAYERS)
        .map(|(name, layers)| Line { what: format!("{name} cores alone"), milliseconds: layers.iter().sum() });
    let stages: Vec<String> = schedule.stages().iter().map(ToString::to_string).collect();
    let exact =
        Line { what: format!("exact: {}", stages.join(", ")), milliseconds: schedule.planned_period().ns() / 1e6 };
    Ok(alone.chain([exact]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_the_one_that_is_known() {
        let lines = planned().unwrap();
        let near = |index: usize, expected: f64| (lines[index].milliseconds - expected).abs() < 0.5;
        assert!(near(1, 1607.9) && near(3, 940.1), "{lines:?}");
    }
}
