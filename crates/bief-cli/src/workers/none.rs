//! Built without the feature `workers`: no options, no tasks that leave.

use std::sync::Arc;

use bief::{ChainFile, Pipeline, Registry};
use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// No options.
#[derive(Args)]
pub(crate) struct AwayArgs {}

/// A run that there is not.
pub(crate) enum Away {}

impl AwayArgs {
    pub(crate) fn is_given(&self) -> Result<bool, Failure> {
        Ok(false)
    }

    pub(crate) fn pipeline(&self, _: &ChainFile, _: &Arc<Registry>) -> Result<(Pipeline, Away), Failure> {
        Err(Failure::new("this `bief` was built without workers"))
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
