//! Simulates schedules, graphs and threads without the machine.
//!
//! The formulas of a [`Schedule`](crate::Schedule) hold for constant times. A simulator runs the schedule execution by
//! execution with varying times, and shows what the formulas leave out: the distribution of the latency, which stages
//! wait, the fill of the rings, and the remaining throughput when times vary or cores slow down. Simulated time is
//! whole nanoseconds; nothing depends on the machine's own clock, and the same seed gives the same report.
//!
//! [`Pipeline`] simulates the pipelines of the `bief` runtime: each replica of a stage on a core of its own, joined by
//! finite rings. [`GlobalEdf`] simulates the jobs of a [processing graph](crate::realtime::Graph) on cores that they
//! share. [`FairShare`] simulates threads on cores of several kinds, among which they are [mapped](crate::mapping) again
//! and again.

mod edf;
mod fair;
mod mean;
mod pipeline;
mod recurrence;
mod report;
mod times;
mod workload;

pub use edf::{EdfReport, EdfSink, EdfTask, GlobalEdf, Work};
pub use fair::{Comparison, CorePower, FairMeans, FairReport, FairShare, Policy};
pub use mean::{Mean, student};
pub use pipeline::Pipeline;
pub use report::{Percentiles, PipelineReport, RingReport, StageReport};
pub use times::Times;
pub use workload::{PhaseDemand, Workload};
