//! How much of a core a thread needs, by what it was seen to use.

use super::refused;
use crate::error::Error;

/// A thread's use of its core in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// The share of the interval in which it ran, from 0 to 1; with [`Measure::Throughput`] what it delivered, 0 or
    /// more.
    pub busy: f64,
    /// The share in which it was ready and another thread had the core, from 0 to 1; 0 where that is not known, as it
    /// is where each thread has a core of its own.
    pub ready: f64,
}

impl Usage {
    /// A thread that ran for that share of the interval and never waited for the core.
    pub fn busy(busy: f64) -> Self {
        Self { busy, ready: 0.0 }
    }
}

/// The meaning of [`Usage::busy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Measure {
    /// A share of time: *U* on a core of capacity *T* is *U* *T* of the fastest core.
    ///
    /// The paper's text says to multiply by 1/*T*, its equation 2 by *T*. It measures the CPU time of threads, and for
    /// that the equation is right: half of the time of a core that is half as fast is a quarter of the work.
    #[default]
    BusyShare,
    /// What is delivered per time, in any unit: *U* on a core of capacity *T* would be *U* / *T* on the fastest core.
    /// This is the reading of the paper's text. Demands are in that unit too, and must be [normalised](normalise).
    Throughput,
}

impl Measure {
    /// What was measured on a core of that capacity, in terms of the fastest core ("homogenised", equation 2 of the
    /// paper).
    ///
    /// ```
    /// use bief_schedule::mapping::Measure;
    ///
    /// assert_eq!(Measure::BusyShare.homogenised(0.8, 0.5), 0.4);
    /// assert_eq!(Measure::Throughput.homogenised(0.4, 0.5), 0.8);
    /// ```
    pub fn homogenised(self, value: f64, capacity: f64) -> f64 {
        match self {
            Self::BusyShare => value * capacity,
            Self::Throughput => value / capacity,
        }
    }
}

/// Divides demands by the greatest of them (equation 3 of the paper); leaves them as they are where all are 0.
///
/// What it costs: demands no longer say how much is needed. Where all threads need little, the one that needs the most
/// is taken to need the fastest core. It is there to do as the paper does, and for [`Measure::Throughput`].
pub fn normalise(demands: &mut [f64]) {
    let greatest = demands.iter().copied().fold(0.0, f64::max);
    if greatest > 0.0 {
        demands.iter_mut().for_each(|demand| *demand /= greatest);
    }
}

/// The assumed demand of a thread that keeps a core busy all the time.
///
/// On the fastest core it is 1. On a slower one all that is known is that it needs at least what the core has: the
/// paper takes just that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Saturation {
    /// What it got, as the paper does. A thread that once got a slow core never seems to need more than that core has:
    /// it stays there.
    Ignored,
    /// 1, to see what it needs on a fast core. A thread that needs a bit less than the slow core has is sent to and
    /// fro: it saturates the slow core, is found to need little on the fast one, and is sent back.
    Probed,
    /// What it was last seen to need while it did not saturate its core, if that is at least as much as it gets now;
    /// for 16 intervals, then 1 to look again, then for 32 intervals, and then for 64 each time.
    #[default]
    Remembered,
}

/// Intervals for which a thread's last known demand is believed, at first and at most.
const FIRST_TRUST: u32 = 16;
const MAX_TRUST: u32 = 64;

/// How demands are estimated.
///
/// # Model
///
/// The busy share of a thread is averaged over intervals: each new one counts with [`smoothing`](Self::smoothing), the
/// average before it with the rest. Where the thread came to a core of another capacity the average begins anew, since
/// shares of unlike cores do not add. The average, homogenised, is the demand, as long as the thread is busy or ready
/// for less than [`saturated`](Self::saturated) of the time; else the [`Saturation`] rule says what is.
///
/// # Example
///
/// ```
/// use bief_schedule::mapping::{Estimator, ThreadDemand, Usage};
///
/// let estimator = Estimator::default();
/// let mut thread = ThreadDemand::default();
/// // Busy all the time on a slow core: it may need a fast one.
/// assert_eq!(thread.observe(&estimator, Usage::busy(1.0), 0.4)?, 1.0);
/// // There it is seen to need a bit more than the slow core has.
/// assert_eq!(thread.observe(&estimator, Usage::busy(0.45), 1.0)?, 0.45);
/// // Back on the slow core, this is remembered for a while.
/// for _ in 0..16 {
///     assert_eq!(thread.observe(&estimator, Usage::busy(1.0), 0.4)?, 0.45);
/// }
/// assert_eq!(thread.observe(&estimator, Usage::busy(1.0), 0.4)?, 1.0);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimator {
    /// What usage is measured in.
    pub measure: Measure,
    /// What a saturated core means. With [`Measure::Throughput`], which does not tell, [`Saturation::Ignored`].
    pub saturation: Saturation,
    /// From which share of an interval on, busy or ready, a thread saturates its core: above 0, at most 1.
    pub saturated: f64,
    /// The weight of the latest interval in the average: above 0, and 1 for no average.
    pub smoothing: f64,
}

impl Default for Estimator {
    /// Busy shares, averaged over about two intervals; saturated from 0.95 on, with memory.
    fn default() -> Self {
        Self { measure: Measure::BusyShare, saturation: Saturation::Remembered, saturated: 0.95, smoothing: 0.5 }
    }
}

impl Estimator {
    /// As the paper does it: the busy share of the latest interval, and nothing about saturated cores.
    pub fn published() -> Self {
        Self { saturation: Saturation::Ignored, smoothing: 1.0, ..Self::default() }
    }

    /// Checks the fields.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where one is out of its range, or throughputs are to tell
    /// whether a core is saturated.
    pub fn check(&self) -> Result<(), Error> {
        for (name, value) in [("saturated", self.saturated), ("smoothing", self.smoothing)] {
            if !(value > 0.0 && value <= 1.0) {
                let reason = format!("{value}: write a share above 0 and at most 1");
                return Err(refused(&format!("estimator, {name}"), reason));
            }
        }
        if self.measure == Measure::Throughput && self.saturation != Saturation::Ignored {
            let reason =
                "a throughput does not tell whether a core is saturated: measure busy shares, or ignore saturation";
            return Err(refused("estimator, saturation", reason));
        }
        Ok(())
    }

    fn check_usage(&self, usage: Usage) -> Result<(), Error> {
        let greatest = match self.measure {
            Measure::BusyShare => 1.0 + ROUNDING,
            Measure::Throughput => f64::MAX,
        };
        if !(0.0..=greatest).contains(&usage.busy) {
            let remedy = match self.measure {
                Measure::BusyShare => "write a share from 0 to 1",
                Measure::Throughput => "write a finite throughput of 0 or more",
            };
            return Err(refused("usage, busy", format!("{}: {remedy}", usage.busy)));
        }
        if !(0.0..=1.0 + ROUNDING).contains(&usage.ready) {
            return Err(refused("usage, ready", format!("{}: write a share from 0 to 1", usage.ready)));
        }
        Ok(())
    }
}

/// Clocks that are read one after the other show up to this much more than a whole interval.
const ROUNDING: f64 = 0.05;

/// The demand of a thread, estimated from interval to interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadDemand {
    /// In terms of the fastest core.
    estimate: f64,
    /// The average usage on cores of the capacity.
    busy: f64,
    ready: f64,
    capacity: Option<f64>,
    /// For how many more intervals the estimate is believed against a saturated core, and for how many after the next
    /// time that it is seen.
    trusted: u32,
    trust: u32,
}

impl Default for ThreadDemand {
    /// Of a thread that has not been seen: it may need all of a core.
    fn default() -> Self {
        Self { estimate: 1.0, busy: 0.0, ready: 0.0, capacity: None, trusted: 0, trust: FIRST_TRUST }
    }
}

impl ThreadDemand {
    /// Takes the thread's use of a core of that capacity in an interval, and returns its demand: the capacity that it
    /// needs, the fastest core having 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where the estimator, a share of the usage (up to 0.05 above 1
    /// is taken for a clock's error) or the capacity is out of its range. The thread's state is then as before.
    pub fn observe(&mut self, estimator: &Estimator, usage: Usage, capacity: f64) -> Result<f64, Error> {
        estimator.check()?;
        estimator.check_usage(usage)?;
        if !(capacity > 0.0 && capacity <= 1.0) {
            let reason = format!("{capacity}: write a share of the fastest core's, above 0 and at most 1");
            return Err(refused("usage, capacity", reason));
        }
        self.average(estimator, usage, capacity);
        let used = estimator.measure.homogenised(self.busy, capacity);
        let saturated = estimator.saturation != Saturation::Ignored && self.busy + self.ready >= estimator.saturated;
        if !saturated {
            self.estimate = used;
            self.trusted = self.trust;
        } else if capacity == 1.0 || estimator.saturation == Saturation::Probed {
            self.estimate = 1.0;
            self.trusted = self.trust;
        } else if self.trusted > 0 && self.estimate < 1.0 && self.estimate >= used * estimator.saturated {
            self.trusted -= 1;
            if self.trusted == 0 {
                self.trust = MAX_TRUST.min(2 * self.trust);
            }
        } else {
            self.estimate = 1.0;
        }
        Ok(self.estimate)
    }

    fn average(&mut self, estimator: &Estimator, usage: Usage, capacity: f64) {
        let busy = match estimator.measure {
            Measure::BusyShare => usage.busy.min(1.0),
            Measure::Throughput => usage.busy,
        };
        let ready = usage.ready.min(1.0);
        if self.capacity == Some(capacity) {
            self.busy += estimator.smoothing * (busy - self.busy);
            self.ready += estimator.smoothing * (ready - self.ready);
        } else {
            (self.busy, self.ready, self.capacity) = (busy, ready, Some(capacity));
        }
    }

    /// The demand as it was last estimated; 1 before anything was seen.
    pub fn get(&self) -> f64 {
        self.estimate
    }
}
