//! How much processor time can be reserved, and how much of it each thread asks for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::files;
use super::sched::Reservation;

/// What a budget should leave room for at least, in nanoseconds, however short the work is: being woken takes tens of microseconds,
/// and to fill a second-level cache of a megabyte again, that another program has emptied, takes 250 at 4 GB/s.
const MIN_MARGIN_NS: u64 = 250_000;
/// The share of each core that the kernel keeps for ordinary threads: 50 ms of every second.
const KEPT_FOR_ORDINARY: f64 = 0.05;
/// The kernel adds up shares of 20 bits each, rounded.
const ROUNDING: f64 = 1e-5;

/// What Linux will say about the reservations of a pipeline, as far as its files tell: the reservations of other programs are
/// not in them, so only the kernel's own answer counts. In cores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// What all reservations of this machine may take together.
    pub capacity: f64,
    /// What the execution times take: the least that must be reserved.
    pub least: f64,
    /// What the budgets take.
    pub reserved: f64,
    /// The share of what budgets should have beyond the execution times that there is room for: 0 to 1. Wished for is as much
    /// again, and a quarter of a millisecond at least.
    pub margin: f64,
}

impl Forecast {
    /// Whether there is room for the execution times.
    pub fn fits(&self) -> bool {
        self.least <= self.capacity
    }

    /// For threads that ask for so much, on this machine.
    pub fn here(demands: &[Demand]) -> Self {
        let share = files::share_of_real_time();
        Self::of(demands, capacity(files::online_cores(), share, files::serves_ordinary_threads()))
    }

    fn of(demands: &[Demand], capacity: f64) -> Self {
        let total = |margin: f64| demands.iter().map(|demand| demand.share(margin)).sum::<f64>();
        let room = capacity - ROUNDING * demands.len() as f64;
        let margin = if total(1.0) <= room {
            1.0
        } else {
            // No budget is longer than its deadline, so the total does not grow in proportion.
            let (mut fits, mut exceeds) = (0.0, 1.0);
            for _ in 0..40 {
                let middle = (fits + exceeds) / 2.0;
                *(if total(middle) <= room { &mut fits } else { &mut exceeds }) = middle;
            }
            fits
        };
        Self { capacity, least: total(0.0), reserved: total(margin), margin }
    }
}

/// What all reservations on so many cores may take. `share` of each core is for real-time classes, if that is limited.
fn capacity(cores: usize, share: Option<f64>, serves_ordinary: bool) -> f64 {
    let kept = if serves_ordinary { KEPT_FOR_ORDINARY } else { 0.0 };
    cores as f64 * share.map_or(1.0, |share| (share - kept).max(0.0))
}

/// What one thread needs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    execution: u64,
    deadline: u64,
    period: u64,
}

impl Demand {
    /// So much time to work after each moment at which there is work, before a deadline, once in a period: all in nanoseconds, the
    /// period at least 1.
    pub fn new(execution: u64, deadline: u64, period: u64) -> Self {
        Self { execution, deadline, period }
    }

    /// With a budget of the execution time and so much of the wished margin, if the deadline leaves room for it.
    ///
    /// A margin of more than the execution time brings little: after a disturbance, a thread with this much catches up in about the
    /// time that the disturbance took.
    pub fn reserve(&self, margin: f64) -> Reservation {
        let wished = self.execution.max(MIN_MARGIN_NS);
        let budget = self.execution.saturating_add((wished as f64 * margin) as u64);
        Reservation { budget_ns: budget.min(self.deadline), deadline_ns: self.deadline, period_ns: self.period }
    }

    /// The share of a core that such a budget takes.
    pub fn share(&self, margin: f64) -> f64 {
        self.reserve(margin).budget_ns as f64 / self.period as f64
    }

    /// From one moment at which there is work to the next, at least.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn demand(execution: u64, deadline: u64, period: u64) -> Demand {
        Demand::new(execution, deadline, period)
    }

    #[test]
    fn the_kernel_keeps_a_share_of_each_core() {
        assert!((capacity(2, Some(0.95), true) - 1.8).abs() < 1e-12);
        assert!((capacity(2, Some(0.95), false) - 1.9).abs() < 1e-12);
        assert_eq!(capacity(3, None, true), 3.0, "nothing is limited");
        assert_eq!(capacity(4, Some(0.0), true), 0.0);
    }

    #[test]
    fn a_budget_is_twice_the_execution_time_where_there_is_room() {
        let forecast = Forecast::of(&[demand(1_000_000, 4_000_000, 4_000_000)], 1.8);
        assert_eq!((forecast.margin, forecast.least, forecast.reserved), (1.0, 0.25, 0.5));
        assert_eq!(demand(3, 4, 10).reserve(1.0).budget_ns, 4, "no longer than the deadline");
        let crowded = Forecast::of(&[demand(8, 10, 10), demand(8, 10, 10), demand(8, 10, 10)], 1.8);
        assert!(!crowded.fits() && crowded.margin == 0.0 && (crowded.least - 2.4).abs() < 1e-9, "{crowded:?}");
    }

    #[test]
    fn short_work_has_room_for_what_does_not_get_shorter_with_it() {
        let short = demand(40_000, 5_000_000, 5_000_000);
        assert_eq!([0.0, 0.5, 1.0].map(|margin| short.reserve(margin).budget_ns), [40_000, 165_000, 290_000]);
    }

    fn demands() -> impl Strategy<Value = Vec<Demand>> {
        let one = (100_000..4_000_000_u64)
            .prop_flat_map(|period| (1024..=period, Just(period)))
            .prop_flat_map(|(deadline, period)| (1024..=deadline, Just(deadline), Just(period)))
            .prop_map(|(execution, deadline, period)| demand(execution, deadline, period));
        proptest::collection::vec(one, 1..20)
    }

    proptest! {
        #[test]
        fn the_margin_is_the_largest_that_fits(demands in demands(), capacity in 0.1..20.0_f64) {
            let forecast = Forecast::of(&demands, capacity);
            let total = |margin: f64| demands.iter().map(|demand| demand.share(margin)).sum::<f64>();
            prop_assert!((0.0..=1.0).contains(&forecast.margin));
            prop_assert_eq!(forecast.reserved, total(forecast.margin));
            if forecast.margin > 0.0 {
                prop_assert!(forecast.reserved <= capacity && forecast.fits());
            }
            if forecast.margin < 1.0 {
                prop_assert!(total(forecast.margin + 1e-3) + 1e-3 > capacity);
            }
            for demand in &demands {
                let Reservation { budget_ns, deadline_ns, period_ns } = demand.reserve(forecast.margin);
                prop_assert!(demand.execution <= budget_ns && budget_ns <= deadline_ns && deadline_ns <= period_ns);
            }
        }
    }
}
