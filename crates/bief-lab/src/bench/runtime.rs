//! `bief lab bench runtime`: what calls, hand-overs and waiting cost.

use bief_cli::failure::Failure;

use super::aimed::Titled;
use super::case::Case;
use super::{call, handover, idle, rings, speedup};

pub(super) const TITLED: Titled = Titled { bench: "runtime", title: "Bief: what the runtime costs" };

pub(super) fn cases() -> Result<Vec<Case>, Failure> {
    let groups = [call::cases()?, handover::cases()?, rings::cases()?, speedup::cases()?, idle::cases()?];
    Ok(groups.into_iter().flatten().collect())
}
