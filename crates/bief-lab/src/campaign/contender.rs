//! The strategies that the paper compares, under its names, and the exact search and the strategies without replicas beside
//! them.

use bief_cli::draw::plot::Rgb;
use bief_schedule::strategy::{Exact, Fertac, Herad, Nicol, Otac, RecursiveBisection, ThreadPerTask, TwoCatac};
use bief_schedule::{CoreKind, Error, Platform, Profile, Schedule, Strategy};
use serde::Deserialize;

/// A strategy together with the kinds of cores that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Contender {
    #[serde(rename = "OTAC (L)")]
    OtacLittle,
    #[serde(rename = "OTAC (B)")]
    OtacBig,
    #[serde(rename = "FERTAC")]
    Fertac,
    #[serde(rename = "2CATAC")]
    TwoCatac,
    #[serde(rename = "HeRAD")]
    Herad,
    #[serde(skip)]
    Exact,
    #[serde(skip)]
    NicolBig,
    #[serde(skip)]
    BisectionBig,
    #[serde(skip)]
    ThreadPerTask,
}

impl Contender {
    /// Those of the paper, in its order.
    pub(crate) const PUBLISHED: [Self; 5] =
        [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac, Self::Herad];
    /// Those of the paper that may miss the optimum.
    pub(crate) const HEURISTICS: [Self; 4] = [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac];
    /// All whose schedules are compared.
    pub(crate) const COMPARED: [Self; 6] =
        [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac, Self::Herad, Self::Exact];
    /// Those that replicate no task: only the time that they take is of interest here.
    pub(crate) const WITHOUT_REPLICAS: [Self; 3] = [Self::NicolBig, Self::BisectionBig, Self::ThreadPerTask];

    /// The one that the paper names so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::PUBLISHED.into_iter().find(|contender| contender.name() == name)
    }

    /// As the paper names it, where it does.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OtacLittle => "OTAC (L)",
            Self::OtacBig => "OTAC (B)",
            Self::Fertac => "FERTAC",
            Self::TwoCatac => "2CATAC",
            Self::Herad => "HeRAD",
            Self::Exact => "exact",
            Self::NicolBig => "nicol (B)",
            Self::BisectionBig => "RB (B)",
            Self::ThreadPerTask => "R1",
        }
    }

    /// The colour in all figures; colour-blind readers tell them apart (Okabe and Ito). Those without replicas are grey.
    pub(crate) fn color(self) -> Rgb {
        match self {
            Self::OtacLittle => (86, 180, 233),
            Self::OtacBig => (0, 114, 178),
            Self::Fertac => (230, 159, 0),
            Self::TwoCatac => (0, 158, 115),
            Self::Herad => (213, 94, 0),
            Self::Exact => (34, 34, 34),
            Self::NicolBig | Self::BisectionBig | Self::ThreadPerTask => (110, 110, 110),
        }
    }

    fn strategy(self) -> &'static dyn Strategy {
        match self {
            Self::OtacLittle | Self::OtacBig => &Otac,
            Self::Fertac => &Fertac,
            Self::TwoCatac => &TwoCatac,
            Self::Herad => &Herad,
            Self::Exact => &Exact::ONE_KIND,
            Self::NicolBig => &Nicol,
            Self::BisectionBig => &RecursiveBisection,
            Self::ThreadPerTask => &ThreadPerTask::R1,
        }
    }

    /// The strategy with the cores that it may use of `cores`.
    pub(crate) fn on(self, cores: Cores) -> Result<Ready, Error> {
        let (big, little) = match self {
            Self::OtacLittle => (0, cores.little),
            Self::OtacBig | Self::NicolBig | Self::BisectionBig => (cores.big, 0),
            _ => (cores.big, cores.little),
        };
        let platform = Platform::new([CoreKind::new("big", big), CoreKind::new("little", little)])?;
        Ok(Ready { contender: self, platform })
    }
}

/// Numbers of big and little cores: the paper's R.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores {
    pub(crate) big: u32,
    pub(crate) little: u32,
}

impl std::fmt::Display for Cores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.big, self.little)
    }
}

/// A strategy and its cores.
pub(crate) struct Ready {
    contender: Contender,
    platform: Platform,
}

impl Ready {
    /// Schedules a chain.
    pub(crate) fn schedule(&self, profile: &Profile) -> Result<Schedule, Error> {
        self.contender.strategy().schedule(profile, &self.platform)
    }

    /// One schedule of a chain, which compares in time with those of the other strategies: the exact search finds the
    /// shortest period and all numbers of cores that reach it, but makes the schedule of the first of these numbers only.
    pub(crate) fn one_schedule(&self, profile: &Profile) -> Result<Schedule, Error> {
        if self.contender != Contender::Exact {
            return self.schedule(profile);
        }
        let stages = Exact::ONE_KIND.optimum(profile, &self.platform)?.stages(0);
        Schedule::new(Exact::ONE_KIND.name(), stages, profile)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chains::Family;
    use super::*;

    const CORES: Cores = Cores { big: 6, little: 4 };

    #[test]
    fn one_schedule_has_the_period_and_the_cores_of_the_whole_search() {
        for ratio in [0.0, 0.5, 1.0] {
            let chain = Family { tasks: 20, ratio, seed: 1 }.chain(0).unwrap();
            for contender in Contender::COMPARED {
                let ready = contender.on(CORES).unwrap();
                let (one, whole) = (ready.one_schedule(&chain).unwrap(), ready.schedule(&chain).unwrap());
                assert_eq!(one.planned_period(), whole.planned_period(), "{} at {ratio}", contender.name());
                assert_eq!(one.cores(), whole.cores(), "{} at {ratio}", contender.name());
            }
        }
    }

    #[test]
    fn names_say_which_cores_are_used() {
        let chain = Family { tasks: 20, ratio: 0.5, seed: 1 }.chain(0).unwrap();
        for contender in Contender::COMPARED.into_iter().chain(Contender::WITHOUT_REPLICAS) {
            let schedule = contender.on(CORES).unwrap().schedule(&chain).unwrap();
            let only = |kind: &str| schedule.stages().iter().all(|stage| stage.kind() == Some(kind));
            assert_eq!(only("big"), contender.name().ends_with("(B)"), "{}", contender.name());
            assert_eq!(only("little"), contender.name().ends_with("(L)"), "{}", contender.name());
        }
    }
}
