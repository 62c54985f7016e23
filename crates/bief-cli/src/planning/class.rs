//! The class that Linux schedules the threads of a plan by.

use bief::Planner;
use bief::realtime::{Class, Mode};
use clap::Args;

/// How threads are scheduled, and what happens when that is refused.
#[derive(Args)]
pub(super) struct ClassArgs {
    /// Run under a real-time class: off, try (report if the system refuses), or require (fail then) [default: off; try
    /// with --class]
    #[arg(long, value_name = "MODE")]
    rt: Option<Mode>,
    /// Real-time class: deadline, which reserves what the stages need at the rate of the goal, or a priority such as
    /// fifo:80 [default: deadline]
    #[arg(long, value_name = "CLASS")]
    class: Option<Class>,
}

impl ClassArgs {
    pub(super) fn is_given(&self) -> bool {
        self.rt.is_some() || self.class.is_some()
    }

    /// Says to a planner which class threads are to have, and how badly.
    pub(super) fn fill(&self, planner: Planner) -> Planner {
        let mode = self.rt.unwrap_or(if self.class.is_some() { Mode::Try } else { Mode::Off });
        planner.class(self.class.unwrap_or(Class::Deadline), mode)
    }
}
