//! The goal of a run, which may change while it goes on.

use std::sync::{Arc, Mutex, PoisonError};

use bief_schedule::Goal;

use super::super::{Chosen, Planned};
use crate::error::Result;

/// Changes the goal of runs that [adapt](Planned::run_adapting); made by [`Planned::goal_handle`], any number of copies.
#[derive(Debug, Clone)]
pub struct GoalHandle {
    goal: Arc<Mutex<Goal>>,
    strategy: Chosen,
}

impl GoalHandle {
    pub(in crate::planner) fn new(goal: Goal, strategy: Chosen) -> Self {
        Self { goal: Arc::new(Mutex::new(goal)), strategy }
    }

    /// Looks for this from now on: at the next look of a run that adapts.
    ///
    /// # Errors
    /// A goal that the strategy does not serve. One that no plan reaches is no error: the plan in force stays until there is one.
    pub fn set(&self, goal: Goal) -> Result<()> {
        self.strategy.0.serves(&goal)?;
        *self.goal.lock().unwrap_or_else(PoisonError::into_inner) = goal;
        Ok(())
    }

    /// The goal that is looked for.
    pub fn get(&self) -> Goal {
        *self.goal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Planned {
    /// What changes the goal of this plan's [adapting](Self::run_adapting) runs from elsewhere, as a battery runs low.
    pub fn goal_handle(&self) -> GoalHandle {
        self.goal_handle.clone()
    }
}
