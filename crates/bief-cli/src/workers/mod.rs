//! Tasks on workers of other machines: options and reports of the commands that send frames there.

mod away;
mod elements;
mod lend;
mod list;
mod pool_plan;
mod reach;

pub(crate) use away::{Away, AwayArgs, Decision};
pub(crate) use lend::{WorkerArgs, lend};
pub(crate) use list::{WorkersArgs, list};
pub(crate) use pool_plan::PoolArgs;
