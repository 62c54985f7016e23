//! How late a thread goes on after a planned moment: the machine's part of a latency.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Class;
use super::refusal;
use super::sched::{self, Order, Reservation, ThreadId};
use crate::clock::nanoseconds;
use crate::error::{Error, Result};
use crate::histogram::Histogram;

/// From one planned moment to the next.
const PERIOD: Duration = Duration::from_millis(1);
/// What is reserved in each period, in the class of reservations.
const BUDGET: Duration = Duration::from_micros(200);

/// How late a thread of a class went on after moments that were planned, a millisecond apart, in nanoseconds. Least and
/// greatest are exact, the others within 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Its class.
    pub class: Class,
    /// Planned moments.
    pub samples: u64,
    /// The delay that half of them had at most.
    pub median_ns: u64,
    /// The delay that 99 of 100 had at most.
    pub p99_ns: u64,
    /// The delay that 999 of 1000 had at most.
    pub p999_ns: u64,
    /// The longest delay: what a bound is allowed for the machine, as far as this time shows. A machine under more load, or one
    /// whose host is, may take longer.
    pub max_ns: u64,
}

/// Measures for so long how late this machine wakes a thread of this class, at least once: under the load that it has now.
///
/// ```
/// use std::time::Duration;
///
/// use bief_machine::class::{Class, probe};
///
/// let probe = probe(Class::Ordinary, Duration::from_millis(20))?;
/// println!("woken up to {} ns late", probe.max_ns);
/// assert!(probe.samples > 0 && probe.median_ns <= probe.max_ns);
/// # Ok::<(), bief_machine::Error>(())
/// ```
///
/// # Errors
/// A class that the system refuses, with what to do about it; a thread that it refuses.
pub fn probe(class: Class, time: Duration) -> Result<Probe> {
    let outcome = thread::Builder::new().name("probe".to_owned()).spawn(move || {
        enter(class)?;
        Ok(measure(class, time))
    });
    outcome?.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Sets the class of the calling thread, which ends with it.
fn enter(class: Class) -> Result<()> {
    let thread = ThreadId::of_this_thread();
    let period_ns = nanoseconds(PERIOD);
    let reservation = Reservation { budget_ns: nanoseconds(BUDGET), deadline_ns: period_ns, period_ns };
    let refused = Error::class;
    match class {
        Class::Ordinary => Ok(()),
        Class::Fifo { priority } => {
            sched::set(thread, Order::Fifo { priority }).map_err(|error| refused(refusal::of_fifo(priority, &error)))
        }
        Class::Deadline => sched::set(thread, Order::Deadline { reservation, reclaims: false, tells: false })
            .map_err(|error| refused(refusal::of_deadline(thread, &error, "0.20 of a core are not free"))),
    }
}

fn measure(class: Class, time: Duration) -> Probe {
    let mut delays = Histogram::new();
    let start = Instant::now();
    let mut due = start + PERIOD;
    while delays.count() == 0 || start.elapsed() < time {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        delays.record(nanoseconds(now - due), 1);
        // Moments that have passed meanwhile are not planned again: each delay counts once.
        while due <= now {
            due += PERIOD;
        }
    }
    Probe {
        class,
        samples: delays.count(),
        median_ns: delays.percentile(50),
        p99_ns: delays.percentile(99),
        p999_ns: delays.per_mille(999),
        max_ns: delays.max(),
    }
}
