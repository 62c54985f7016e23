//! Threads of a running process mapped to kinds of cores, by how much of a core each was seen to need.
//!
//! A [`ThreadMapper`] looks at the threads at the end of each interval, estimates their demands, maps them
//! ([`bief_schedule::mapping`], FTFC), and sets the affinity of those that go to another kind of core.
//!
//! # The kind of core is chosen here, the core by Linux
//!
//! A mapped thread may run on all hardware threads of one kind. Which of them it gets, the kernel decides at every wake-up, and
//! it knows what nobody outside does: which of them is idle right now. Cores of one kind are equally fast, so nothing is gained by
//! choosing among them, and a thread bound to one would wait for it while its neighbour is idle.
//!
//! # What threads have is kept
//!
//! The affinity of each thread is remembered and given back ([`ThreadMapper::restore`], also when the mapper is dropped). A thread is
//! never given more than it had: it is mapped to those kinds alone that its affinity allows, and left alone where that is one.
//!
//! A thread that is born has the affinity of the one that started it, which may be that of a kind. It is taken to have had what
//! threads had that were given the same, and gets that back in the end; where these had different ones, what all of them had.
//! Processes that the process starts are not followed: what a thread had when it started them they keep. A mapper that is killed
//! (`SIGKILL`) gives nothing back; `taskset -a -p -c 0-N PID` does.
//!
//! # Which threads are mapped
//!
//! Those that are busy for at least [`min_share`](MapSettings::min_share) of the time, and no more than there are cores: those
//! that want the most. The others are left to the system, which sees where a core is idle for a moment. Were all mapped, threads
//! would be shared out among cores as if each used its whole share, and a busy one be put on a slow core because many that sleep are on the
//! fast one.
//!
//! While the threads together want more than all cores have, none is mapped ([`yields`](MapSettings::yields)): every core is busy then,
//! whoever runs where.
//!
//! # What it costs
//!
//! An interval takes the wake-up of the mapper, a look at the processor time of the threads, and the mapping; affinities are set only
//! where they change. The clock of a thread of this process is read in 0.5 µs. Threads of another process have no clock that may be
//! read: `schedstat` is, in 2 µs, and what it lags behind is made up for, so that the kernel's tick does not show. It is read of mapped
//! threads of this process, too, for how long they had to wait, once in four looks or while they do: a thread that shares its core, be
//! it with another program, needs more than it gets. Threads that want less than a quarter of the time are looked at in every
//! fourth interval, those that sleep in every eighth, and threads are listed only when their number has changed or one has ended. [`MapReport`] tells what it came to.
//!
//! # Example
//!
//! ```
//! use bief_machine::Machine;
//! use bief_machine::mapper::{MapSettings, ThreadMapper};
//!
//! let machine = Machine::here();
//! let settings = MapSettings { dry_run: true, ..MapSettings::default() };
//! # if cfg!(target_os = "linux") {
//! let mut mapper = ThreadMapper::of_process(std::process::id(), &machine, settings)?;
//! for _ in 0..4 {
//!     mapper.wait();
//!     assert!(mapper.step()?, "it goes on");
//! }
//! assert!(!mapper.threads().is_empty());
//! assert_eq!((mapper.report().intervals, mapper.report().dry_run), (4, true));
//! # }
//! # Ok::<(), bief_machine::Error>(())
//! ```

mod assign;
mod cores;
mod crowding;
mod files;
mod homes;
mod listing;
mod meter;
mod moves;
mod refusal;
mod report;
mod settings;
mod thread;
mod thread_mapper;
mod watch;

pub use report::{MapReport, Steering, ThreadStatus};
pub use settings::MapSettings;
pub use thread_mapper::ThreadMapper;

use crate::error::Error;

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::invalid(format!("mapping: {reason}"))
}
