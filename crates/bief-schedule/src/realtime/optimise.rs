//! Which batches, and which nodes merged, take the least of the cores for the latency that is allowed.

use super::batch::rate_exploiting;
use super::bounds::{Analysis, Bounds};
use super::graph::Graph;
use super::merge::{MergeRule, Pair};
use super::readable;
use crate::error::{Error, ErrorKind};

/// The most nodes that are visited to merge, in all graphs together: some ten seconds.
const MAX_VISITS: u64 = 1 << 24;

/// Differences of savings that are due to rounding.
const SAME: f64 = 1e-9;

/// Finds the batches and merged nodes with the least utilisation of the cores.
///
/// For each number of source firings in a job (powers of two, and the numbers with which all nodes run in step, up to
/// [`max_firings`](Self::max_firings)) the graph is batched ([`rate_exploiting`]) and, step by step, the two nodes
/// are merged that save the most, as long as the tasks fit on the cores; of several that save as much, those of the
/// least latency. Each of these graphs is a plan. It is a search by steps: another choice of merges may be better
/// still. The time for merging grows with the cube of the nodes; what takes more than some ten seconds is refused.
///
/// # Example
///
/// ```
/// use bief_schedule::realtime::{Analysis, Optimiser, RandomGraphs};
///
/// let graph = RandomGraphs::light().sample(&mut fastrand::Rng::with_seed(3))?;
/// let plan = Optimiser::default().min_utilisation(&graph, 200_000.0)?;
/// assert!(plan.bounds.latency_ns() <= 200_000.0);
/// assert!(plan.bounds.utilisation < 0.5 * Analysis::default().bounds(&graph)?.utilisation);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimiser {
    /// How the worst case is found. Latencies are those on the platform.
    pub analysis: Analysis,
    /// How nodes are merged; `None`: not at all.
    pub merging: Option<MergeRule>,
    /// The most firings of the fastest source in a job.
    pub max_firings: u64,
}

impl Default for Optimiser {
    /// The default analysis and merging, and up to 65 536 firings in a job.
    fn default() -> Self {
        Self { analysis: Analysis::default(), merging: Some(MergeRule::default()), max_firings: 1 << 16 }
    }
}

/// A way to run a graph: its nodes in batches and in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How many firings of the fastest source make a job.
    pub firings: u64,
    /// For each node of the graph given, how many of its firings make a job.
    pub batches: Vec<u64>,
    /// For each node of [`graph`](Self::graph), the nodes of the graph given that it is made of, in the order in which
    /// they run.
    pub groups: Vec<Vec<usize>>,
    /// The graph, batched and merged.
    pub graph: Graph,
    /// Its worst case.
    pub bounds: Bounds,
}

impl Plan {
    /// Whether the plan is as good as another in all that counts.
    fn covers(&self, other: &Self) -> bool {
        let (mine, its) = (self.bounds.utilisation, other.bounds.utilisation);
        let (soon, its_soon) = (self.bounds.latency_on_platform_ns(), other.bounds.latency_on_platform_ns());
        let fewer = self.groups.len() <= other.groups.len();
        mine <= its && soon <= its_soon && (fewer || mine < its || soon < its_soon)
    }
}

impl Optimiser {
    /// The plan of the least utilisation whose latency bound is at most `latency_ns` nanoseconds; of equal ones that of
    /// the least latency, then of the fewest tasks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RealTime`] where there is none, with the least latency that there is; those of
    /// [`front`](Self::front).
    pub fn min_utilisation(&self, graph: &Graph, latency_ns: f64) -> Result<Plan, Error> {
        if latency_ns.is_nan() || latency_ns <= 0.0 {
            return Err(refused("latency", format!("{latency_ns} ns: write a latency above 0 ns")));
        }
        // The oldest of N samples waits for N - 1 others.
        let most = ((latency_ns / shortest_period_ns(graph)) as u64).saturating_add(1);
        let small = Self { max_firings: self.max_firings.min(most), ..*self }.front(graph);
        let within = |plan: &Plan| plan.bounds.latency_on_platform_ns() <= latency_ns;
        // The front goes from the least latency to the least utilisation.
        if let Some(plan) = small.into_iter().flatten().rfind(within) {
            return Ok(plan);
        }
        // What fits on the cores, or is done the soonest, may be a larger job.
        let least = self.front(graph)?[0].bounds.latency_on_platform_ns();
        let reason = format!(
            "no plan is below {}: the least latency found is {}; allow that, or give more cores",
            readable(latency_ns),
            readable(least)
        );
        Err(refused("latency", reason))
    }

    /// The plans to choose from: each with less utilisation than any that is as fast. From the least latency to the
    /// least utilisation; at least one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RealTime`] where the graph fits on its cores with no batches, has too many nodes to merge, and where a
    /// setting is out of its range; [`ErrorKind::Graph`] where even the smallest batches are too large.
    pub fn front(&self, graph: &Graph) -> Result<Vec<Plan>, Error> {
        self.check()?;
        let mut front: Vec<Plan> = Vec::new();
        let mut refusal = None;
        let mut visits = MAX_VISITS;
        for firings in self.ladder(graph) {
            let batched = rate_exploiting(graph, firings).and_then(|batches| Ok((graph.batched(&batches)?, batches)));
            let (batched, batches) = match batched {
                Ok(batched) => batched,
                Err(error) => {
                    refusal.get_or_insert(error);
                    continue;
                }
            };
            let mut step = Step {
                bounds: self.analysis.bounds(&batched),
                groups: (0..graph.nodes().len()).map(|node| vec![node]).collect(),
                graph: batched,
            };
            loop {
                match &step.bounds {
                    Err(error) => {
                        refusal.get_or_insert_with(|| error.clone());
                    }
                    Ok(bounds) => {
                        let plan = Plan {
                            firings,
                            batches: batches.clone(),
                            groups: step.groups.clone(),
                            graph: step.graph.clone(),
                            bounds: bounds.clone(),
                        };
                        if !front.iter().any(|other| other.covers(&plan)) {
                            front.retain(|other| !plan.covers(other));
                            front.push(plan);
                        }
                    }
                }
                let Some(rule) = &self.merging else { break };
                match self.merge(&step, rule, &mut visits)? {
                    Some(next) => step = next,
                    None => break,
                }
            }
        }
        front.sort_by(|a, b| a.bounds.latency_on_platform_ns().total_cmp(&b.bounds.latency_on_platform_ns()));
        match refusal {
            Some(refusal) if front.is_empty() => Err(refusal),
            _ => Ok(front),
        }
    }

    /// Refuses settings that make no sense for any graph; [`front`](Self::front) begins with it.
    ///
    /// # Errors
    /// Shares that are none, times that are not finite or below 0, no firing at all; with the name of the setting.
    pub fn check(&self) -> Result<(), Error> {
        self.analysis.check()?;
        if self.max_firings == 0 {
            return Err(refused("max_firings", "0: allow at least 1"));
        }
        if let Some(MergeRule { init_share, max_utilisation, .. }) = self.merging {
            if !(0.0..=1.0).contains(&init_share) {
                return Err(refused("init_share", format!("{init_share}: write a share from 0 to 1")));
            }
            if !(max_utilisation > 0.0 && max_utilisation <= 1.0) {
                return Err(refused(
                    "max_utilisation",
                    format!("{max_utilisation}: write a share above 0 and up to 1"),
                ));
            }
        }
        Ok(())
    }

    /// The numbers of source firings that are tried, ascending.
    fn ladder(&self, graph: &Graph) -> Vec<u64> {
        let sources = graph.nodes().iter().filter_map(|node| node.period);
        let in_step = sources.min().zip(graph.hyperperiod()).and_then(|(period, all)| {
            let (num, den) = period.short()?;
            all.scaled(den, num)?.short()
        });
        let mut ladder = vec![self.max_firings];
        for first in [Some(1), in_step.map(|(firings, _)| firings)].into_iter().flatten() {
            let doubled = std::iter::successors(Some(first), |firings| firings.checked_mul(2));
            ladder.extend(doubled.take_while(|&firings| firings <= self.max_firings));
        }
        ladder.sort_unstable();
        ladder.dedup();
        ladder
    }

    /// The graph with two more nodes merged, for which so many nodes may still be visited.
    fn merge(&self, step: &Step, rule: &MergeRule, visits: &mut u64) -> Result<Option<Step>, Error> {
        let graph = &step.graph;
        let mut visit = |times: usize| {
            let left = visits.checked_sub(times as u64 * graph.nodes().len() as u64);
            *visits = left.ok_or_else(|| {
                let reason = "the graph has too many nodes to merge two at a time: give those that always run together as one \
                              node, or allow no merging";
                refused("merging", reason)
            })?;
            Ok(())
        };
        let neighbours = neighbours(graph);
        // Whether a pair may be merged is found faster than what merging it makes of the graph.
        visit(neighbours.len().div_ceil(8))?;
        let mut pairs: Vec<(Pair, f64)> = neighbours
            .into_iter()
            .filter_map(|(a, b)| graph.pair(a, b, rule).ok())
            .map(|pair| {
                let init = |node: usize| graph.nodes()[node].cost.init_ns;
                let saved = rule.saved_ns(init(pair.keep), init(pair.drop)) + self.analysis.handover_ns;
                (pair, saved / graph.period(pair.keep).ns())
            })
            .collect();
        pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut pairs = &pairs[..];
        while let [(_, greatest), ..] = pairs {
            let equal = pairs.iter().take_while(|(_, saved)| *saved >= greatest * (1.0 - SAME)).count();
            let (ties, rest) = pairs.split_at(equal);
            visit(equal)?;
            let merged = ties.iter().filter_map(|(pair, _)| {
                let graph = graph.contract(pair, rule).ok()?;
                let bounds = self.analysis.bounds(&graph);
                // What does not fit yet may fit after more merges; what fits must go on to fit.
                (bounds.is_ok() || step.bounds.is_err()).then_some((pair, graph, bounds))
            });
            let latency =
                |bounds: &Result<Bounds, Error>| bounds.as_ref().map_or(f64::INFINITY, Bounds::latency_on_platform_ns);
            if let Some((pair, graph, bounds)) = merged.min_by(|a, b| latency(&a.2).total_cmp(&latency(&b.2))) {
                let mut groups = step.groups.clone();
                let added = std::mem::take(&mut groups[pair.drop]);
                groups[pair.keep].extend(added);
                groups.remove(pair.drop);
                return Ok(Some(Step { graph, groups, bounds }));
            }
            pairs = rest;
        }
        Ok(None)
    }
}

/// A graph on the way of merges.
struct Step {
    graph: Graph,
    groups: Vec<Vec<usize>>,
    bounds: Result<Bounds, Error>,
}

/// The pairs of nodes of which one feeds the other, or which the same node feeds.
fn neighbours(graph: &Graph) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = graph.links().iter().map(|link| (link.from, link.to)).collect();
    for node in 0..graph.nodes().len() {
        let fed: Vec<usize> = graph.outputs(node).iter().map(|&link| graph.links()[link].to).collect();
        for (index, &b) in fed.iter().enumerate() {
            pairs.extend(fed[..index].iter().map(|&a| (a.min(b), a.max(b))).filter(|(a, b)| a != b));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn shortest_period_ns(graph: &Graph) -> f64 {
    let sources = graph.nodes().iter().filter_map(|node| node.period);
    sources.map(|period| period.ns()).fold(f64::INFINITY, f64::min)
}

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::RealTime, format!("optimiser, {place}"), reason)
}
