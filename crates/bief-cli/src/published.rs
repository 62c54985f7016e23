//! The runs of the DVB-S2 receiver that were measured on the machines that ship: Table 2 of Idouar et al., *Energy-Aware
//! Scheduling Strategies for Partially-Replicable Task Chains on Heterogeneous Processors*.

use bief_schedule::{Error, Profile, Schedule, Stage};
use serde::Deserialize;

const TABLE_2: &str = include_str!("../data/table2.json");

/// One schedule of the receiver, and what it reached.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRun {
    /// `S1` to `S40`.
    pub id: String,
    /// The name of the shipped profile.
    pub platform: String,
    /// Big cores that the strategy was given.
    pub big: u32,
    /// Little cores that the strategy was given.
    pub little: u32,
    /// The strategy, as the paper names it.
    pub strategy: String,
    /// Tasks, cores and kind of each stage.
    pub stages: Vec<(usize, u32, String)>,
    /// The planned period, in microseconds.
    pub period_us: f64,
    /// The rate that the period means, in Mb/s.
    pub sim_mbps: f64,
    /// The measured rate, in Mb/s.
    pub real_mbps: f64,
    /// The measured power of the socket.
    pub watts: f64,
    /// The measured energy of a frame, in millijoules.
    pub mj_per_frame: f64,
}

impl PublishedRun {
    /// The schedule that was measured, on the profile of its machine.
    ///
    /// # Errors
    ///
    /// The profile is not that of the receiver: it has other tasks or kinds of cores.
    pub fn schedule(&self, profile: &Profile) -> Result<Schedule, Error> {
        let stages = self.stages.iter().map(|(tasks, cores, kind)| Stage::new(*tasks, *cores, kind.as_str()));
        Schedule::new(&self.strategy, stages, profile)
    }

    /// The period of one execution that the measured rate means, in nanoseconds.
    pub fn measured_period_ns(&self, profile: &Profile) -> f64 {
        let bits = profile.bits_per_frame().expect("the profiles that ship carry bits") as f64;
        bits * f64::from(profile.frames_per_execution()) / self.real_mbps * 1e3
    }
}

/// All of them, in the order of the table.
pub fn runs() -> Vec<PublishedRun> {
    #[derive(Deserialize)]
    struct Table {
        rows: Vec<PublishedRun>,
    }
    let table: Table = serde_json::from_str(TABLE_2).expect("the table is part of the program, whose tests read it");
    table.rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_forty_schedules_of_23_tasks() {
        let runs = runs();
        assert_eq!(runs.len(), 40);
        for (index, run) in runs.iter().enumerate() {
            assert_eq!(run.id, format!("S{}", index + 1));
            assert_eq!(run.stages.iter().map(|stage| stage.0).sum::<usize>(), 23);
            assert!(crate::shipped::shipped(&run.platform).is_some(), "{}", run.platform);
        }
    }
}
