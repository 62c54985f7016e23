//! Profiles of task chains, and the schedules that run them on processors with several kinds of cores.
//!
//! A [`Profile`] gives the time of each task of a chain on each kind of core, a [`Platform`] the number of cores. From
//! the two a [`Strategy`] makes a [`Schedule`]: it cuts the chain into stages, which run as a pipeline, and gives each
//! stage one core, or several that work on different frames if all its tasks may be replicated. The slowest stage sets
//! the period, the time from one execution to the next.
//!
//! The model, and the equation numbers in the documentation, are those of Idouar et al., *Energy-Aware
//! Scheduling Strategies for Partially-Replicable Task Chains on Heterogeneous Processors*: the weight of a
//! stage `s` on `r` cores of kind `v` is the sum of its tasks' times on `v`, divided by `r` if all of them
//! may be replicated (eq. 1); the period is the greatest weight (eq. 2); no more cores of a kind are used
//! than there are (eq. 3). Beyond the paper, cores of several kinds may share a stage ([`Stage::mixed`]). Times are whole nanoseconds and periods exact fractions ([`Period`]).
//!
//! The module [`mod@strategy`] holds the published strategies and [`Exact`](struct@strategy::Exact), which makes them
//! unnecessary: it finds the shortest period and all core counts that reach it in microseconds. A [`Goal`] asks for
//! more: few cores, little [power](Power), a rate, a latency; a [`ClockPlan`] sets the clocks, too. [`gains`] shows the gain from one more core, and
//! [`simulate`] how a schedule behaves when times vary.
//!
//! The module [`realtime`] analyses processing graphs whose nodes share cores: latency bounds, and batches that save
//! work.
//!
//! The module [`mapping`] maps running threads to cores by their observed demand.
//!
//! The crate only computes: no threads, no files, no clock.
//!
//! ```
//! use bief_schedule::{Limit, Platform, Profile, TaskProfile, strategy};
//!
//! let profile = Profile::new(
//!     ["big", "little"],
//!     [
//!         TaskProfile::sequential("receive", [216_300, 227_100]),
//!         TaskProfile::replicable("demodulate", [2_491_100, 3_281_400]),
//!         TaskProfile::replicable("decode", [3_959_000, 5_220_400]),
//!         TaskProfile::sequential("send", [27_500, 35_200]),
//!     ],
//! )?
//! .with_frames_per_execution(16)?
//! .with_bits_per_frame(14_232)?;
//!
//! let platform = Platform::parse_cores("big=1,little=7", &profile)?;
//! let schedule = strategy("exact:one-kind")?.schedule(&profile, &platform)?;
//! for stage in schedule.stages() {
//!     println!("{} tasks on {}", stage.tasks, stage.core_list());
//! }
//! assert_eq!(schedule.planned_period().to_string(), "4250900/3");
//! assert_eq!(schedule.limit(&profile)?, Limit::Stage(1));
//! assert_eq!(schedule.mbps(&profile).unwrap().round(), 161.0);
//! # Ok::<(), bief_schedule::Error>(())
//! ```

#![forbid(unsafe_code)]

#[cfg(test)]
mod brute;
mod busy;
mod clock;
mod cores;
mod error;
mod gain;
mod goal;
#[doc(hidden)]
pub mod json;
mod load;
pub mod mapping;
mod period;
mod platform;
mod power;
mod profile;
pub mod realtime;
mod sample;
mod schedule;
mod share;
pub mod simulate;
mod smt;
mod stage;
pub mod strategy;

pub use busy::BusyPlan;
pub use clock::ClockPlan;
pub use cores::CoresByKind;
pub use error::{Error, ErrorKind};
pub use gain::{Gain, gains};
pub use goal::{Aim, Goal, Rate};
pub use load::{Limit, StageLoad};
pub use period::{ParsePeriodError, Period};
pub use platform::{Clock, CoreKind, Platform};
pub use power::{FitErrors, FittedKind, FittedRow, Power, PowerFit, PowerRow};
pub use profile::{Busy, Gather, Profile, Samples, TaskProfile};
pub use sample::sample_chain;
pub use schedule::{FrontPoint, Schedule, Stage};
pub use smt::Smt;
pub use strategy::{Capabilities, Strategy, strategies, strategy};
