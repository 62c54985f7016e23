//! Built without the feature `workers`: no options, no tasks that leave.

use std::sync::Arc;

use bief::{ChainFile, Pipeline, Planned, Registry};
use bief_schedule::{Platform, Profile};
use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::files::Files;
use crate::json::JsonArgs;
use crate::text::printable;

/// No options.
#[derive(Args)]
pub(crate) struct AwayArgs {}

/// No options.
#[derive(Args)]
pub(crate) struct PoolArgs {}

impl PoolArgs {
    pub(crate) fn claim(&self, _: &mut Files) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn show(&self, _: &Profile, _: &Platform, _: &JsonArgs) -> Result<bool, Failure> {
        Ok(false)
    }
}

/// Whether tasks leave: nobody asks.
pub(crate) enum Decision {
    #[expect(dead_code, reason = "there are no workers")]
    Leave(Box<Leaving>),
    #[expect(dead_code, reason = "there are no workers")]
    Stay(Box<Planned>),
}

/// Tasks that there are not.
pub(crate) enum Leaving {}

/// A run that there is not.
pub(crate) enum Away {}

impl AwayArgs {
    pub(crate) fn is_given(&self) -> Result<bool, Failure> {
        Ok(false)
    }

    pub(crate) fn follow(&mut self, file: &ChainFile) -> Result<(), Failure> {
        match file.machines() {
            None => Ok(()),
            Some((machines, _)) => Err(Failure::usage(format!(
                "tasks are to leave for the machines of [machines.{}], and this `bief` was built without workers: build it with \
                 --features workers, or give --one-core, or leave `machines` out",
                printable(&machines.name)
            ))),
        }
    }

    pub(crate) fn claim(&self, _: &mut Files) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn decide(&self, _: &ChainFile, _: &Arc<Registry>) -> Result<Decision, Failure> {
        Err(Failure::new("this `bief` was built without workers"))
    }

    pub(crate) fn pipeline(
        &self,
        leaving: Leaving,
        _: &ChainFile,
        _: &Arc<Registry>,
    ) -> Result<(Pipeline, Away), Failure> {
        match leaving {}
    }
}

impl Away {
    pub(crate) fn ending(&self) -> fn() {
        match *self {}
    }

    pub(crate) fn table(&self) -> String {
        match *self {}
    }

    pub(crate) fn document(&self) -> Value {
        match *self {}
    }
}
