//! The energy of a run, measured, or modelled from how long each core was busy.

use bief_machine::energy::{Measured, Scope};
use bief_schedule::Platform;
use serde::{Deserialize, Serialize};

/// The energy of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunEnergy {
    /// Energy, in joules: more than 0.
    pub joules: f64,
    /// Mean power, in watts.
    pub watts: f64,
    /// Energy for each frame that passed the last task, in joules; `None` where none did.
    pub joules_per_frame: Option<f64>,
    /// Energy for each bit of use, in joules; `None` where the profile beside the run tells no bits.
    pub joules_per_bit: Option<f64>,
    /// Where these figures are from.
    pub origin: EnergyOrigin,
}

/// The origin of energy figures. Figures of different kinds or scopes must not be compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EnergyOrigin {
    /// Something measured it.
    Measured {
        /// Name of the source.
        source: String,
        /// Of what it is the energy: of everything that ran meanwhile, too.
        scope: Scope,
    },
    /// Nothing here measures it: idle power, and for each kind of core its watts for the time that cores were busy.
    Modelled {
        /// Where these watts are from.
        watts_of: String,
    },
}

/// What cores draw, where nothing measures it.
#[derive(Debug, Clone)]
pub(crate) struct Watts {
    pub(crate) platform: Platform,
    pub(crate) origin: String,
}

impl RunEnergy {
    fn new(watts: f64, seconds: f64, frames: u64, bits_per_frame: Option<u64>, origin: EnergyOrigin) -> Self {
        let joules = watts * seconds;
        let per_frame = (frames > 0).then(|| joules / frames as f64);
        let per_bit = per_frame.zip(bits_per_frame).map(|(joules, bits)| joules / bits as f64);
        Self { joules, watts, joules_per_frame: per_frame, joules_per_bit: per_bit, origin }
    }

    /// What was measured during a run of so many seconds, if anything was.
    pub(crate) fn measured(measured: &Measured, seconds: f64, frames: u64, bits: Option<u64>) -> Option<Self> {
        let energy = measured.energy.as_ref()?;
        let origin = EnergyOrigin::Measured { source: energy.source.clone(), scope: energy.scope };
        Some(Self::new(energy.watts, seconds, frames, bits, origin))
    }

    /// What the model says of stages, of which each kept so many cores of a kind busy; `None` where the watts of a kind that they
    /// ran on are not known.
    pub(crate) fn modelled<'s>(
        watts: &Watts,
        stages: impl IntoIterator<Item = (Option<&'s str>, f64)>,
        seconds: f64,
        frames: u64,
        bits: Option<u64>,
    ) -> Option<Self> {
        let Watts { platform, origin } = watts;
        let mut busy = vec![0.0; platform.kinds().len()];
        for (kind, cores) in stages {
            let is_its = |known: &bief_schedule::CoreKind| kind.is_none_or(|name| name == known.name);
            busy[platform.kinds().iter().position(is_its)?] += cores;
        }
        let mut watts = platform.idle_watts().unwrap_or(0.0);
        for (kind, busy) in platform.kinds().iter().zip(busy).filter(|(_, busy)| *busy > 0.0) {
            watts += kind.power(busy.min(f64::from(kind.cores)))?;
        }
        let origin = EnergyOrigin::Modelled { watts_of: origin.clone() };
        (watts > 0.0).then(|| Self::new(watts, seconds, frames, bits, origin))
    }
}

#[cfg(test)]
mod tests {
    use bief_machine::energy::Energy;

    use super::*;
    use crate::Report;
    use crate::gap::tests::{profile, run};

    fn report() -> Report {
        use bief_schedule::{Schedule, Stage};
        let truth = profile(&[(false, 2_000_000, 9), (true, 9, 3_000_000)], 0);
        let stages = [Stage::new(1, 1, "big"), Stage::new(1, 2, "little")];
        run(&Schedule::new("hand", stages, &truth).unwrap(), &truth, 0)
    }

    fn watts(json: &str) -> Watts {
        Watts { platform: Platform::from_json(json).unwrap(), origin: "a test".into() }
    }

    #[test]
    fn busy_cores_draw_their_watts_beside_the_idle_power() {
        // The big core is busy all the time, the two little ones for three quarters of it; 2 s, 2000 frames of 8 bits.
        let known = watts(
            r#"{"format": 1, "kinds": [{"name": "big", "cores": 4, "watts": 4.0}, {"name": "little", "cores": 4, "watts": 1.0}], "idle_watts": 2.5}"#,
        );
        let report = report();
        let energy = RunEnergy::modelled(&known, report.busy_cores(), report.seconds, 2000, Some(8)).unwrap();
        assert!((energy.watts - (2.5 + 4.0 + 1.5)).abs() < 1e-9 && (energy.joules - 16.0).abs() < 1e-9, "{energy:?}");
        assert!((energy.joules_per_frame.unwrap() - 8e-3).abs() < 1e-12);
        assert!((energy.joules_per_bit.unwrap() - 1e-3).abs() < 1e-12);
        assert_eq!(energy.origin, EnergyOrigin::Modelled { watts_of: "a test".into() });
        let nothing = RunEnergy::modelled(&known, report.busy_cores(), report.seconds, 0, Some(8)).unwrap();
        assert_eq!((nothing.joules_per_frame, nothing.joules_per_bit), (None, None));
    }

    #[test]
    fn watts_that_are_not_known_give_no_figure() {
        let report = report();
        for json in [
            r#"{"format": 1, "kinds": [{"name": "big", "cores": 4, "watts": 4.0}], "idle_watts": 2.5}"#,
            r#"{"format": 1, "kinds": [{"name": "big", "cores": 4, "watts": 4.0}, {"name": "little", "cores": 4}]}"#,
        ] {
            assert_eq!(RunEnergy::modelled(&watts(json), report.busy_cores(), 1.0, 1, None), None, "{json}");
        }
    }

    #[test]
    fn what_is_measured_is_scaled_to_the_run() {
        let energy =
            Energy { joules: 33.0, watts: 11.0, seconds: 3.0, source: "rapl:package".into(), scope: Scope::Package };
        let measured = Measured { energy: Some(energy), ..Measured::default() };
        let run = RunEnergy::measured(&measured, 2.0, 4, None).unwrap();
        assert_eq!((run.joules, run.joules_per_frame, run.joules_per_bit), (22.0, Some(5.5), None));
        assert_eq!(RunEnergy::measured(&Measured::default(), 2.0, 4, None), None);
    }
}
