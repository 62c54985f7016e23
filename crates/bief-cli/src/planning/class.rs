//! The class that Linux schedules the threads of a plan by.

use std::time::Duration;

use bief::Pipeline;
use bief::realtime::{Class, Mode, RealTime, StageTiming};
use bief::schedule::Goal;
use clap::Args;

use super::Planned;
use crate::failure::Failure;

/// How threads are scheduled, and what happens when that is refused.
#[derive(Args)]
pub(super) struct ClassArgs {
    /// Run under a real-time class: off, try (say so where the system refuses), or require (fail there) [default: off; try with
    /// --class]
    #[arg(long, value_name = "MODE")]
    rt: Option<Mode>,
    /// Which class: deadline, which reserves what the stages need at the rate of the goal, or a priority such as fifo:80
    /// [default: deadline]
    #[arg(long, value_name = "CLASS")]
    class: Option<Class>,
}

impl ClassArgs {
    pub(super) fn is_given(&self) -> bool {
        self.rt.is_some() || self.class.is_some()
    }

    /// The class, if one is wanted, and how badly.
    fn wanted(&self) -> Option<(Class, Mode)> {
        let mode = self.rt.unwrap_or(if self.class.is_some() { Mode::Try } else { Mode::Off });
        (mode != Mode::Off).then(|| (self.class.unwrap_or(Class::Deadline), mode))
    }

    /// Whether threads get reservations, and cannot be pinned.
    pub(super) fn reserves(&self) -> bool {
        self.wanted().is_some_and(|(class, _)| class == Class::Deadline)
    }

    /// Refuses what cannot be, before anything is measured.
    pub(super) fn check(&self, goal: Option<Goal>) -> Result<(), Failure> {
        if self.reserves() && goal.is_none_or(|goal| goal.rate.is_none() && goal.period.is_none()) {
            return Err(Failure::new(
                "--rt: time is reserved for a rate: name it in the goal, as --goal fewest-cores,rate=1Mb/s, or give --class fifo:80",
            ));
        }
        Ok(())
    }

    /// Gives the threads of a plan their class.
    pub(super) fn class(&self, pipeline: Pipeline, planned: &Planned, goal: Option<Goal>) -> bief::Result<Pipeline> {
        let Some((class, mode)) = self.wanted() else { return Ok(pipeline) };
        let Planned { profile, schedule, .. } = planned;
        let real_time = match class {
            Class::Ordinary => RealTime::ordinary(),
            Class::Fifo { priority } => RealTime::fifo(priority),
            Class::Deadline => {
                let period = goal.unwrap_or_default().longest_period(profile)?.expect("checked before the plan");
                let period = Duration::from_nanos(period.ns() as u64);
                RealTime::deadline(StageTiming::of_schedule(schedule, profile, period)?)
            }
        };
        pipeline.real_time(real_time.mode(mode))
    }
}
