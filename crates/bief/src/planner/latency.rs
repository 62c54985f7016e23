//! From a chain to a plan that keeps a latency: its tasks measured in executions of several sizes, and what the machine adds.

use std::time::Duration;

use super::{Application, Planner};
use crate::error::{Error, Result};
use crate::machine::class::{Class, probe};
use crate::realtime::{LatencyGoal, LatencyPlan, Mode};

/// How long the machine is watched for its part of the latency.
const PROBE: Duration = Duration::from_millis(300);

impl Planner {
    /// The units in an execution and the stages with which an application keeps a latency at the least use of so many cores of the
    /// first kind: by what its tasks cost here, and how late this machine wakes threads of the planner's class. The
    /// [batch](LatencyPlan::batch) of the plan is in units of the application ([`Application::costs_on`]).
    ///
    /// # Errors
    /// An application whose input arrives at no known rate; a latency below what one unit takes to arrive; those of
    /// [`BatchCosts::latency_plan`](crate::plan::BatchCosts::latency_plan).
    pub fn latency_plan(
        &self,
        application: &(impl Application + ?Sized),
        latency: Duration,
        cores: u32,
    ) -> Result<LatencyPlan> {
        let Some(period) = application.unit_period() else {
            return Err(Error::build("nothing says at which rate the input arrives: a latency needs it"));
        };
        let most = (latency.as_secs_f64() / period.as_secs_f64()).floor() as usize;
        if most == 0 {
            return Err(Error::build(format!(
                "a latency of {latency:?} is less than the {period:?} that the shortest frame takes to arrive: allow more"
            )));
        }
        // A line needs two sizes or more; those beyond the latency are of no use.
        let mut sizes: Vec<usize> =
            std::iter::successors(Some(1), |size| Some(size * 4)).take_while(|&size| size <= most).collect();
        sizes.resize(sizes.len().max(2), 2);
        let costs = application.costs_on(&self.machine, &sizes, self.profiling)?;
        let costs = costs.first().expect("a machine has a kind of cores");
        let class = if self.class.mode == Mode::Off { Class::Ordinary } else { self.class.class };
        // Without the right to have that class there is no bound: the run says so.
        let allowance = probe(class, PROBE).or_else(|_| probe(Class::Ordinary, PROBE))?;
        costs.latency_plan(&LatencyGoal {
            cores,
            allowance: Duration::from_nanos(allowance.p999_ns),
            ..LatencyGoal::new(period, latency)
        })
    }
}
