//! Maps running threads to cores by demand, interval by interval.
//!
//! [`Cores`] give the speed of each core. [`ThreadDemand`] estimates how much of the fastest core a thread needs, from
//! the share of time in which it was busy. A [`Mapper`] makes a [`Mapping`] from the demands by an [`Algorithm`]: the
//! most demanding thread to the fastest core. [`Ftfc`] is the loop of these, one step per interval. [`heterogeneity`]
//! shows whether there is anything to gain; [`FairShare`](crate::simulate::FairShare) simulates it.
//!
//! # Which algorithm
//!
//! [`Algorithm::Rank`] for throughput: it is the optimum where the demands are right. [`Algorithm::BinarySearched`],
//! the paper's, to save power where threads need little: it leaves fast cores to threads that need them, and gives up
//! some throughput for it. The others are there for comparison.
//!
//! # More threads than cores
//!
//! The paper has one thread per core. Here each core has a slot, and where there are more threads than cores some have
//! several: as many slots as threads in all, each one beyond the first of every core where it gets the most. A slot
//! counts as much as its share of the core, the capacity divided by the number of the core's slots, which is what a
//! fair scheduler gives a thread whose neighbours are busy. With it all algorithms work as if each slot was a core.
//!
//! # Source
//!
//! *FTFC*: the Fastest-Thread-Fastest-Core scheduler with binary searched mapping, a paper in *Mobile Information
//! Systems*. Its algorithm 1 does not end (`left = mid` where `right = left + 1`), reads a name that is not defined
//! (`T_p`), takes the last core that it probed and not the nearest, and leaves open what happens to a thread whose core
//! is taken; its measure of heterogeneity is not what its text says ([`heterogeneity`]), nor is its equation 2
//! ([`Measure`]). Here it ends, and demands that a slow core hides are found ([`Saturation`]).
//!
//! # What of the paper can be seen again
//!
//! In simulation ([`FairShare`](crate::simulate::FairShare)): nothing gained on equal cores; more, the more unlike they
//! are; mapping by demand ahead of a fixed mapping by profiles; a little energy saved on cores that differ little;
//! mapping time in proportion to the threads. *Not* the 52.62 % more throughput at a measure of 0.1: at 0.1 no mapping
//! whatever gains more than a few per cent.
//!
//! # Example
//!
//! ```
//! use bief_schedule::mapping::{Cores, Ftfc, FtfcSettings, Usage};
//!
//! let cores = Cores::new([1.0, 0.4])?;
//! // The first thread is on the fast core, the second on the slow one.
//! let mut ftfc = Ftfc::new(&cores, [Some(0), Some(1)], FtfcSettings::default())?;
//! // The first one hardly needs it, the second one is always busy: they change places.
//! let mapping = ftfc.step(&[Usage::busy(0.3), Usage::busy(1.0)])?;
//! assert_eq!((mapping.cores(), mapping.moved()), (&[Some(1), Some(0)][..], &[0, 1][..]));
//! // That was right: they stay.
//! let mapping = ftfc.step(&[Usage::busy(0.75), Usage::busy(0.9)])?;
//! assert!(mapping.moved().is_empty());
//! # Ok::<(), bief_schedule::Error>(())
//! ```

mod binary_searched;
mod chooser;
mod cores;
mod demand;
mod ftfc;
mod heterogeneity;
mod mapper;
mod maximise_swap;
mod nearest_sum;
mod rank;
mod slots;
mod weighted_euclidean;

pub use cores::Cores;
pub use demand::{Estimator, Measure, Saturation, ThreadDemand, Usage, normalise};
pub use ftfc::{Ftfc, FtfcSettings};
pub use heterogeneity::{HeterogeneityMeasure, heterogeneity};
pub use mapper::{Algorithm, Mapper, Mapping};

use crate::error::{Error, ErrorKind};

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Mapping, format!("mapping, {place}"), reason)
}
