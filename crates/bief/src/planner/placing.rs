//! Where the threads of a plan run, and what class they have.

use std::time::Duration;

use bief_schedule::{Goal, Profile, Schedule};

use super::Given;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::pipeline::Pipeline;
use crate::placement::{Pinning, Placement, Policy};
use crate::realtime::{self, Mode, RealTime, StageTiming};

/// Where threads run.
#[derive(Debug, Clone, Default)]
pub(super) struct Placing {
    pub(super) place: Option<Place>,
    pub(super) pinning: Pinning,
}

/// What says where threads run.
#[derive(Debug, Clone)]
pub(super) enum Place {
    By(Policy),
    As(Given<Placement>),
}

impl Placing {
    /// Refuses places that the machine does not have.
    pub(super) fn check(&self, machine: &Machine) -> Result<()> {
        match &self.place {
            None => Ok(()),
            Some(Place::By(policy)) => policy.check(machine),
            Some(Place::As(given)) => given.value.check(machine).map_err(|error| given.named(error)),
        }
    }

    /// Gives the threads of a pipeline their places, by the policy `usual` where nothing else was asked for.
    pub(super) fn place(&self, pipeline: Pipeline, usual: &Policy, machine: &Machine) -> Result<Pipeline> {
        let placed = match &self.place {
            Some(Place::As(given)) => {
                pipeline.place_as(given.value.clone(), machine).map_err(|error| given.named(error))
            }
            Some(Place::By(policy)) => pipeline.place(policy, machine),
            None => pipeline.place(usual, machine),
        };
        Ok(placed?.pinning(self.pinning))
    }
}

/// The class that Linux schedules threads by, and how badly it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    pub(super) class: realtime::Class,
    pub(super) mode: Mode,
}

impl Default for Class {
    fn default() -> Self {
        Self { class: realtime::Class::Ordinary, mode: Mode::Off }
    }
}

impl Class {
    /// Whether threads keep the class that they have.
    pub(super) fn is_ordinary(self) -> bool {
        self.mode == Mode::Off
    }

    /// Whether threads get reservations, and cannot be pinned.
    pub(super) fn reserves(self) -> bool {
        self.mode != Mode::Off && self.class == realtime::Class::Deadline
    }

    /// Refuses reservations for no rate.
    pub(super) fn check(self, goal: Option<Goal>) -> Result<()> {
        if self.reserves() && goal.is_none_or(|goal| goal.rate.is_none() && goal.period.is_none()) {
            return Err(Error::build(
                "time is reserved for a rate: name it in the goal, as in fewest-cores,rate=1Mb/s, or choose a priority such as \
                 fifo:80",
            ));
        }
        Ok(())
    }

    /// Gives the threads of a planned pipeline their class; executions come once in a `period` at most.
    pub(super) fn give(
        self,
        pipeline: Pipeline,
        (schedule, profile): (&Schedule, &Profile),
        period: impl FnOnce() -> Result<Duration>,
    ) -> Result<Pipeline> {
        if self.is_ordinary() {
            return Ok(pipeline);
        }
        let real_time = match self.class {
            realtime::Class::Ordinary => RealTime::ordinary(),
            realtime::Class::Fifo { priority } => RealTime::fifo(priority),
            realtime::Class::Deadline => RealTime::deadline(StageTiming::of_schedule(schedule, profile, period()?)?),
        };
        pipeline.real_time(real_time.mode(self.mode))
    }
}
