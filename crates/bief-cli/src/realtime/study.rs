//! What there is to know about a graph.

use bief_schedule::realtime::{Analysis, Bounds, Graph, Method, Optimiser, Plan};
use bief_schedule::simulate::{EdfReport, GlobalEdf};
use bief_schedule::{Error, Period};
use fastrand::Rng;

use super::options::RealtimeOptions;
use crate::failure::Failure;
use crate::text::counted;
use crate::units::nanoseconds;

/// A graph, its bounds, and the plans for it.
pub(super) struct Study {
    /// What messages call the graph.
    pub(super) title: String,
    pub(super) graph: Graph,
    pub(super) optimiser: Optimiser,
    pub(super) limit: Option<Period>,
    /// The graph with no batches and nothing merged, or why it does not fit on its cores.
    pub(super) as_it_is: Result<Bounds, Error>,
    /// From the least latency to the least utilisation; at least one.
    pub(super) front: Vec<Plan>,
    /// The same without merging, where a curve is to be drawn.
    pub(super) apart: Option<Vec<Plan>>,
    /// The plan within the limit, where there is one.
    pub(super) chosen: Option<Plan>,
    /// What the simulated jobs of the graph that is [shown](Self::shown) did.
    pub(super) observed: Option<EdfReport>,
}

/// The graph whose bounds are shown: the one given, or that of the plan.
pub(super) struct Shown<'a> {
    pub(super) graph: &'a Graph,
    pub(super) bounds: &'a Bounds,
}

impl Study {
    pub(super) fn of(graph: Graph, title: &str, options: &RealtimeOptions) -> Result<Self, Failure> {
        let graph = match options.cores {
            Some(cores) => graph.with_cores(cores),
            None => graph,
        };
        let failed = |error: Error| Failure::usage(format!("{title}: {error}"));
        let optimiser = options.optimiser();
        let front = optimiser.front(&graph).map_err(failed)?;
        let chosen = match options.latency {
            None => None,
            Some(limit) => {
                let least = &front[0];
                let soonest = least.bounds.latency_on_platform_ns();
                if soonest > limit.ns() {
                    return Err(Failure::usage(format!(
                        "{title}: no plan is done within {}: the least latency found is {}, in jobs of {} of the fastest \
                         source; allow that, give more cores, or make the nodes cheaper",
                        nanoseconds(limit.ns()),
                        nanoseconds(soonest),
                        counted(least.firings as usize, "firing"),
                    )));
                }
                Some(optimiser.min_utilisation(&graph, limit.ns()).map_err(failed)?)
            }
        };
        // Without merging it may be that nothing fits.
        let apart =
            options.curve.as_ref().map(|_| Optimiser { merging: None, ..optimiser }.front(&graph).unwrap_or_default());
        let mut study = Self {
            title: title.to_owned(),
            as_it_is: optimiser.analysis.bounds(&graph),
            graph,
            optimiser,
            limit: options.latency,
            front,
            apart,
            chosen,
            observed: None,
        };
        if let Some(jobs) = options.simulate {
            study.observed = Some(study.simulated(jobs)?);
        }
        Ok(study)
    }

    /// `None` where the graph as it is does not fit, and no plan is asked for.
    pub(super) fn shown(&self) -> Option<Shown<'_>> {
        match (&self.chosen, &self.as_it_is) {
            (Some(plan), _) => Some(Shown { graph: &plan.graph, bounds: &plan.bounds }),
            (None, Ok(bounds)) => Some(Shown { graph: &self.graph, bounds }),
            (None, Err(_)) => None,
        }
    }

    /// The nodes of each task that is shown, in the order in which they run.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        match &self.chosen {
            Some(plan) => plan.groups.clone(),
            None => (0..self.graph.nodes().len()).map(|node| vec![node]).collect(),
        }
    }

    /// The graph that is drawn, which need not fit on its cores.
    pub(super) fn drawn(&self) -> &Graph {
        self.chosen.as_ref().map_or(&self.graph, |plan| &plan.graph)
    }

    pub(super) fn analysis(&self) -> &Analysis {
        &self.optimiser.analysis
    }

    fn simulated(&self, jobs: u64) -> Result<EdfReport, Failure> {
        let shown = self.shown().ok_or_else(|| {
            Failure::usage(
                "--simulate: the graph as it is does not fit on its cores: give --latency, for a plan that does",
            )
        })?;
        let simulation = GlobalEdf::new(shown.graph)
            .jitter_ns(self.analysis().jitter_ns)
            .and_then(|simulation| simulation.handover_ns(self.analysis().handover_ns))
            .map_err(Failure::from_error)?;
        let simulation =
            if self.analysis().method == Method::FairLateness { simulation.fair_lateness() } else { simulation };
        simulation.run(jobs, &mut Rng::with_seed(1)).map_err(Failure::from_error)
    }
}
