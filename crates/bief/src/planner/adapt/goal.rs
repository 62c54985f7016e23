//! The goal of a run, which may change while it goes on, and wishes to plan it anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bief_schedule::Goal;

use super::super::{Chosen, Planned};
use crate::error::Result;

/// Changes the goal of runs that [adapt](Planned::run_adapting), and lets them plan anew; made by [`Planned::goal_handle`], any number
/// of copies.
#[derive(Debug, Clone)]
pub struct GoalHandle {
    goal: Arc<Mutex<Goal>>,
    strategy: Chosen,
    wish: Arc<Mutex<Wish>>,
}

/// To plan anew, though nothing has changed enough for that.
#[derive(Debug, Default)]
struct Wish {
    reason: Option<String>,
    /// What came of the last one.
    outcome: Option<String>,
}

impl GoalHandle {
    pub(in crate::planner) fn new(goal: Goal, strategy: Chosen) -> Self {
        Self { goal: Arc::new(Mutex::new(goal)), strategy, wish: Arc::default() }
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

    /// Asks for a plan for the times, cores and goal of now, which the run looks for at its next look. Other stages than those in force
    /// are put in force, for this reason, however little is gained; [`outcome`](Self::outcome) says what came of it.
    pub fn replan(&self, reason: impl Into<String>) {
        *self.wish() = Wish { reason: Some(reason.into()), outcome: None };
    }

    /// What came of the last [`replan`](Self::replan), in words; `None` before it was heard.
    pub fn outcome(&self) -> Option<String> {
        self.wish().outcome.clone()
    }

    /// Why to plan anew, if someone wishes that.
    pub(super) fn take_wish(&self) -> Option<String> {
        self.wish().reason.take()
    }

    pub(super) fn tell(&self, outcome: String) {
        self.wish().outcome = Some(outcome);
    }

    fn wish(&self) -> MutexGuard<'_, Wish> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
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
