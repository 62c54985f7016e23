//! Threads whose demand changes from phase to phase.

use fastrand::Rng;

use crate::error::{Error, ErrorKind};

/// How much of the fastest core a thread needs in a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PhaseDemand {
    /// Always the same.
    Constant(f64),
    /// Each demand between two is as likely.
    Uniform {
        /// The least, from 0 to 1.
        least: f64,
        /// The greatest, not less and at most 1.
        most: f64,
    },
    /// One of two, each as likely.
    Either(f64, f64),
}

/// Threads that go from phase to phase, each on its own. In a phase a thread demands a constant share of the fastest
/// core; between two phases it waits for something else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// How many threads there are.
    pub threads: usize,
    /// What they demand in a phase, from 0 to 1.
    pub demand: PhaseDemand,
    /// How long a phase takes in the mean, in nanoseconds, at least 1; exponentially distributed.
    pub phase_ns: u64,
    /// How long a thread waits after a phase in the mean, in nanoseconds; exponentially distributed, 0 for no waiting.
    pub waiting_ns: u64,
}

impl Default for Workload {
    /// 6 threads, demands uniform from 0.05 to 1, phases of 200 ms without waiting.
    fn default() -> Self {
        let demand = PhaseDemand::Uniform { least: 0.05, most: 1.0 };
        Self { threads: 6, demand, phase_ns: 200_000_000, waiting_ns: 0 }
    }
}

impl Workload {
    pub(super) fn check(&self) -> Result<(), Error> {
        let refused = |place: &str, reason: String| {
            Err(Error::new(ErrorKind::Simulation, format!("simulated threads, {place}"), reason))
        };
        if self.threads == 0 {
            return refused("threads", "there are none: give at least one".to_owned());
        }
        if self.phase_ns == 0 {
            return refused("phase_ns", "phases of 0 ns: write at least 1 ns".to_owned());
        }
        let (least, most) = match self.demand {
            PhaseDemand::Constant(demand) => (demand, demand),
            PhaseDemand::Uniform { least, most } => (least, most),
            PhaseDemand::Either(one, other) => (one.min(other), one.max(other)),
        };
        if !(0.0 <= least && least <= most && most <= 1.0) {
            return refused("demand", format!("from {least} to {most}: write shares from 0 to 1, the least first"));
        }
        Ok(())
    }
}

/// What a thread demands as time passes.
#[derive(Debug, Clone)]
pub(super) struct Phases {
    workload: Workload,
    random: Rng,
    /// The present demand, and until when it holds.
    pub(super) demand: f64,
    pub(super) until: u64,
    waiting: bool,
}

impl Phases {
    /// A thread at the start of a phase.
    pub(super) fn new(workload: Workload, random: Rng) -> Self {
        let mut phases = Self { workload, random, demand: 0.0, until: 0, waiting: true };
        phases.turn();
        phases
    }

    /// Goes on to what follows the present phase or wait.
    pub(super) fn turn(&mut self) {
        self.waiting = !self.waiting && self.workload.waiting_ns > 0;
        let (demand, mean_ns) = match self.waiting {
            true => (0.0, self.workload.waiting_ns),
            false => (self.draw(), self.workload.phase_ns),
        };
        let length = -(1.0 - self.random.f64()).ln() * mean_ns as f64;
        self.demand = demand;
        self.until = self.until.saturating_add((length as u64).max(1));
    }

    fn draw(&mut self) -> f64 {
        match self.workload.demand {
            PhaseDemand::Constant(demand) => demand,
            PhaseDemand::Uniform { least, most } => least + (most - least) * self.random.f64(),
            PhaseDemand::Either(one, other) => [one, other][usize::from(self.random.bool())],
        }
    }

    /// The mean demand from now, the start, until `span_ns`.
    pub(super) fn mean(mut self, span_ns: u64) -> f64 {
        let mut from = 0;
        let mut sum = 0.0;
        while from < span_ns {
            let until = self.until.min(span_ns);
            sum += self.demand * (until - from) as f64;
            from = until;
            self.turn();
        }
        sum / span_ns as f64
    }
}
