//! The strategies that the paper compares, under its names, and the exact search beside them.

use bief_schedule::{CoreKind, Error, Platform, Profile, Schedule, Strategy, strategy};
use serde::Deserialize;

use crate::draw::plot::Rgb;

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
}

impl Contender {
    /// Those of the paper, in its order.
    pub(crate) const PUBLISHED: [Self; 5] =
        [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac, Self::Herad];
    /// Those of the paper that may miss the optimum.
    pub(crate) const HEURISTICS: [Self; 4] = [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac];
    /// All.
    pub(crate) const ALL: [Self; 6] =
        [Self::OtacLittle, Self::OtacBig, Self::Fertac, Self::TwoCatac, Self::Herad, Self::Exact];

    /// As the paper names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OtacLittle => "OTAC (L)",
            Self::OtacBig => "OTAC (B)",
            Self::Fertac => "FERTAC",
            Self::TwoCatac => "2CATAC",
            Self::Herad => "HeRAD",
            Self::Exact => "exact",
        }
    }

    /// The colour in all figures; colour-blind readers tell them apart (Okabe and Ito).
    pub(crate) fn color(self) -> Rgb {
        match self {
            Self::OtacLittle => (86, 180, 233),
            Self::OtacBig => (0, 114, 178),
            Self::Fertac => (230, 159, 0),
            Self::TwoCatac => (0, 158, 115),
            Self::Herad => (213, 94, 0),
            Self::Exact => (34, 34, 34),
        }
    }

    /// The strategy with the cores that it may use of `cores`.
    pub(crate) fn on(self, cores: Cores) -> Result<Ready, Error> {
        let (name, big, little) = match self {
            Self::OtacLittle => ("otac", 0, cores.little),
            Self::OtacBig => ("otac", cores.big, 0),
            Self::Fertac => ("fertac", cores.big, cores.little),
            Self::TwoCatac => ("two_catac", cores.big, cores.little),
            Self::Herad => ("herad", cores.big, cores.little),
            Self::Exact => ("exact", cores.big, cores.little),
        };
        let platform = Platform::new([CoreKind::new("big", big), CoreKind::new("little", little)])?;
        Ok(Ready { strategy: strategy(name)?, platform })
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
    strategy: &'static dyn Strategy,
    platform: Platform,
}

impl Ready {
    /// Schedules a chain.
    pub(crate) fn schedule(&self, profile: &Profile) -> Result<Schedule, Error> {
        self.strategy.schedule(profile, &self.platform)
    }
}
