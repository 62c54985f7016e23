//! The kinds of core that a stage may have.

use bief::schedule::strategy::{Exact, Strategy};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::Failure;

/// What the exact strategy may give to a stage.
#[derive(Args)]
pub(crate) struct StagesArgs {
    /// For exact: whether cores of several kinds may share a stage, each frame going to the one that is free (mixed), or
    /// each stage has cores of one kind (one-kind) [default: mixed]
    #[arg(long, value_name = "KINDS", value_parser = PossibleValuesParser::new(Exact.capabilities().parameters))]
    stages: Option<String>,
}

impl StagesArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.stages.is_some()
    }

    /// The name of the strategy with such stages.
    pub(crate) fn strategy(&self, named: &str) -> Result<String, Failure> {
        let Some(stages) = &self.stages else { return Ok(named.to_owned()) };
        let asked = format!("{}:{stages}", Exact.name());
        if named == Exact.name() || named == asked {
            return Ok(asked);
        }
        let reason = format!(
            "--stages {stages} is for the strategy `{}`, and --strategy {named} is given: leave one of them out",
            Exact.name()
        );
        Err(Failure::usage(reason))
    }
}
