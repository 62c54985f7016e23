//! Stages under a real-time class of Linux: reserved time or fixed priorities, what the system makes of it, and how far frames
//! keep to a bound.
//!
//! [`RealTime`] says what is wanted. Before a run begins, while the pipeline's threads are parked, the thread that starts it sets
//! the class of each of them, and gives them back what they had when the run has ended, by a fault or a panic too. While it is
//! set they wait parked, whatever [`Waiting`](crate::pipeline::Waiting) says of looking for a while; threads that never park
//! ([`Waiting::Active`](crate::pipeline::Waiting::Active)) are refused. Threads that tasks start have an ordinary class, that of a
//! [live](crate::source::live) source too. The report tells what each stage got ([`RealTimeReport`]).
//!
//! # Signals
//!
//! The kernel tells with SIGXCPU that a thread has used up a reserved budget. From the first run with reservations on, this
//! process counts these signals and does nothing else about them, for good; a limit of processor time (`RLIMIT_CPU`) then ends it
//! at the hard limit, not the soft one. A program that has a handler of its own for SIGXCPU, or ignores it, keeps that, and
//! no budgets are watched. A signal may end a system call that a task waits in with `EINTR`, as any may.

mod plan;
mod report;
mod session;
mod settings;

pub use bief_machine::class::Class;
pub use plan::{LatencyGoal, LatencyPlan};
pub use report::{AgainstBound, RealTimeReport, StageClass};
pub use settings::{Mode, RealTime, StageTiming};

pub(crate) use report::Tally;
pub(crate) use session::{Outcome, Session};
pub(crate) use settings::Wanted;
