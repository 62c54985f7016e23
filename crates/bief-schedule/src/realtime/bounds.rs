//! Bounds on what a processing graph does in the worst case.

use serde::Serialize;

use super::graph::{Graph, node_place};
use super::readable;
use super::tardiness::{self, Basis, Method, ROUNDING, Response, Task};
use crate::error::{Error, ErrorKind};
use crate::period::gcd;

/// How much of a core's time a job may take before it waits for its next period: the budget of its server, which the
/// bounds count in place of its cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Budget {
    /// What the job costs.
    #[default]
    Cost,
    /// That many times what the job costs, at least 1; its period where that is less.
    Factor(f64),
    /// The same with the greatest factor up to 2 with which the tasks still fit on the cores.
    Largest,
}

/// The greatest factor of [`Budget::Largest`].
const LARGEST: f64 = 2.0;

/// Settings of the worst-case analysis of a [`Graph`].
///
/// # Model
///
/// A node of period *P* is a sporadic task: its jobs are released at least *P* apart, each as soon as it may fire and
/// that time has passed. All nodes without cores of their own share the graph's [`cores`](Graph::cores) under
/// preemptive global EDF (Linux: `SCHED_DEADLINE`), by deadlines *P* after the release. A job is done at most *Θ* after
/// its release:
///
/// - on shared cores *Θ* = *P* + tardiness ([`Method`]), where each task needs at most a core and all together at most
///   [`cap`](Self::cap) of the cores;
/// - on *r* cores of its own *Θ* = *e*, where *e* ≤ *r* *P*.
///
/// # Completion, latency, buffers
///
/// Job *j* is done by *φ* + *j* *P*. For a source *φ* = (1 - 1/*b*) *P* + *J* + *Θ*, the first term being the time that
/// *b* firings gathered in one job take to arrive, *J* the jitter; for all others, over the edges from nodes *w*,
///
/// *φ* = *Θ* + max(0, max (*φ*<sub>w</sub> + ((*a* + *δ*)/*p* - 1) *P*<sub>w</sub>))
///
/// with *a* = *t* - *s*, *g* = gcd(*p*, *c*) and *δ* = *p* - *g* + (-*a* mod *g*), the most that rounding up to whole
/// firings adds.
///
/// The latency goes from the due time of the oldest sample of a source's job to the end of the sink's job that consumes
/// the last token which that source job brought about. It is at most *φ* of the sink plus the greatest sum, over the
/// paths that lead there, of
///
/// *κ* = (*s* + *p* - 1 - ((*s* - 1) mod *g*)) / *p* · *P*<sub>w</sub>
///
/// by which the job that consumes the last token of a producer's job is due later than the one in step with that. (This
/// is the decomposition into inherent and imposed latency of Goddard 1998, for jobs that may be late.)
///
/// Job *j* is not released before *E* + *j* *P*: *E* = (1 - 1/*b*) *P* for a source, and for all others the greatest
/// over the edges of *E*<sub>w</sub> + (⌈*a*/*p*⌉ - 1) *P*<sub>w</sub>, or 0 where *a* ≤ 0. On own cores, where jobs
/// are not kept apart, it is *E*<sub>w</sub> + (*a*/*p* - 1) *P*<sub>w</sub>, or where *a* ≤ 0 the less of that and
/// *a*/*p* · *P*<sub>w</sub>. So an edge never holds more than
///
/// *s* + *p* + ⌊*p* (*φ* - *E*<sub>w</sub>)/*P*<sub>w</sub>⌋
///
/// tokens, the place for what its producer is about to write included. The bounds hold where buffers are at least as
/// large: no job waits for place.
///
/// All figures are doubles, exact to about 12 digits; numbers of tokens are rounded up. All cores are taken to be
/// alike: where they are not, nodes share the cores of one kind only.
///
/// # Example
///
/// ```
/// use bief_schedule::realtime::{Analysis, Graph};
///
/// let graph = Graph::from_json(
///     r#"{"format": 1, "cores": 2,
///         "nodes": [{"name": "source", "rate_hz": 1000, "init_ns": 500000, "per_sample_ns": 0},
///                   {"name": "decimator", "init_ns": 2000000, "per_sample_ns": 0},
///                   {"name": "sink", "init_ns": 1000000, "per_sample_ns": 0}],
///         "edges": [{"from": "source", "to": "decimator", "produce": 1, "consume": 4},
///                   {"from": "decimator", "to": "sink", "produce": 1, "consume": 1}]}"#,
/// )?;
/// let bounds = Analysis::default().bounds(&graph)?;
/// assert_eq!(bounds.utilisation, 1.25);
/// assert_eq!(bounds.latency_ns(), 12e6);
/// assert_eq!(bounds.edges[0].tokens, 9);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analysis {
    /// Which bound of the tardiness is taken.
    pub method: Method,
    /// The share of the shared cores' time that the tasks may have together, above 0 and up to 1: 1 in theory. Linux
    /// admits `SCHED_DEADLINE` tasks up to 0.95, and up to 0.90 where its fair server runs (since 6.12). It decides
    /// what fits; by how much jobs are late is counted as on whole cores.
    pub cap: f64,
    /// What the bounds count in place of the cost of a job, on shared cores.
    pub budget: Budget,
    /// What each job costs on top of its node's cost, for taking its input and waking up whoever waits for its output,
    /// in nanoseconds: 0 where the costs hold it.
    pub handover_ns: f64,
    /// How much later than its due time a source may be released, in nanoseconds.
    pub jitter_ns: f64,
    /// The longest time for which the system keeps a job from its core in spite of everything: interrupts, a
    /// hypervisor. It counts only in the figures "on the platform", as each node's *Θ* is longer by it; it was
    /// measured, not proven.
    pub platform_ns: f64,
}

impl Default for Analysis {
    /// The theory's: the automatic method, all of the cores' time, the cost as budget, and 0 ns for all else.
    fn default() -> Self {
        Self {
            method: Method::default(),
            cap: 1.0,
            budget: Budget::default(),
            handover_ns: 0.0,
            jitter_ns: 0.0,
            platform_ns: 0.0,
        }
    }
}

/// The worst case of a graph, by an [`Analysis`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// How many cores all nodes keep busy, those with cores of their own included.
    pub utilisation: f64,
    /// How many of the shared cores are busy.
    pub shared_utilisation: f64,
    /// How many of the shared cores are taken by the budgets.
    pub reserved: f64,
    /// What the responses on shared cores rest on.
    pub basis: Basis,
    /// The nodes, in the order of the graph's.
    pub tasks: Vec<TaskBounds>,
    /// The edges, in the order of the graph's.
    pub edges: Vec<EdgeBounds>,
    /// The nodes without outputs.
    pub sinks: Vec<SinkBounds>,
}

/// The worst case of a node's task. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskBounds {
    /// The time between two jobs, *P*.
    pub period_ns: f64,
    /// What a job costs, *e*, hand-over included.
    pub cost_ns: f64,
    /// What is counted as its cost, *Q*: the budget of its server on shared cores.
    pub budget_ns: f64,
    /// How much of a core the node keeps busy, *e*/*P*; up to the number of its own cores.
    pub utilisation: f64,
    /// The point after a job's release by which jobs are ordered on the shared cores: its deadline, or with
    /// [`Method::FairLateness`] what takes its place. *Θ* on own cores.
    pub priority_point_ns: f64,
    /// How much later than *P* after its release a job may be done.
    pub tardiness_ns: f64,
    /// How long after its release a job is done at the latest, *Θ*.
    pub response_ns: f64,
    /// Job *j* is done by this plus *j* *P*: *φ*.
    pub completion_ns: f64,
    /// Job *j* is not released before this plus *j* *P*: *E*. Below 0 where own cores let jobs go ahead of their time.
    pub earliest_ns: f64,
    /// How long it takes until the node has caught up with a disturbance, as a multiple of that: *u*/(*Q*/*P* - *u*).
    /// `None` where the budget leaves nothing to catch up with.
    pub recovery: Option<f64>,
}

/// The tokens that an edge holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EdgeBounds {
    /// The most tokens, with the place for those that are about to be written.
    pub tokens: u64,
    /// The same with the platform's allowance: what to allocate.
    pub tokens_on_platform: u64,
}

/// The latency bound of a sink. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SinkBounds {
    /// The node.
    pub node: usize,
    /// From the due time of the oldest sample of a source's job until the sink is done with what became of it.
    pub latency_ns: f64,
    /// The same from the due time of the source's job, which is that of its youngest sample.
    pub release_latency_ns: f64,
    /// [`latency_ns`](Self::latency_ns) with the platform's allowance.
    pub latency_on_platform_ns: f64,
    /// What [`latency_ns`](Self::latency_ns) consists of.
    pub parts: LatencyParts,
}

/// The three parts of a latency, on the path of edges that decides it. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LatencyParts {
    /// Tokens wait until there are enough of them for a job, or for their turn in a burst. Less than 0 where tokens that
    /// are there at the start bring jobs forward.
    pub filling_ns: f64,
    /// The source's jitter.
    pub jitter_ns: f64,
    /// The sum of the responses of the nodes on the path.
    pub response_ns: f64,
    /// How much of that is tardiness.
    pub tardiness_ns: f64,
}

impl Bounds {
    /// The worst of the sinks' latencies from the oldest sample, in nanoseconds.
    pub fn latency_ns(&self) -> f64 {
        self.sinks.iter().map(|sink| sink.latency_ns).fold(0.0, f64::max)
    }

    /// The same with the platform's allowance.
    pub fn latency_on_platform_ns(&self) -> f64 {
        self.sinks.iter().map(|sink| sink.latency_on_platform_ns).fold(0.0, f64::max)
    }
}

impl Analysis {
    /// The bounds of a graph.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RealTime`] with the node where one needs more than a core, or more than its own; where all together
    /// need more of the shared cores than they may have; and where a setting is out of its range.
    pub fn bounds(&self, graph: &Graph) -> Result<Bounds, Error> {
        self.check()?;
        let costs: Vec<f64> = (0..graph.nodes().len()).map(|node| graph.cost_ns(node) + self.handover_ns).collect();
        let periods: Vec<f64> = (0..costs.len()).map(|node| graph.period(node).ns()).collect();
        let shared: Vec<usize> = (0..costs.len()).filter(|&node| graph.nodes()[node].own_cores.is_none()).collect();
        self.check_fit(graph, &costs, &periods, &shared)?;

        let tasks: Vec<Task> = shared.iter().map(|&node| Task { period: periods[node], cost: costs[node] }).collect();
        let factor = self.factor(&tasks, graph.cores())?;
        let budget = |task: Task| Task { cost: (task.cost * factor).min(task.period), ..task };
        let servers: Vec<Task> = tasks.iter().map(|&task| budget(task)).collect();

        let mut budgets = costs.clone();
        let mut responses: Vec<Response> =
            costs.iter().map(|&cost| Response { response: cost, priority_point: cost }).collect();
        let (on_shared, basis) = tardiness::responses(&servers, graph.cores(), self.method);
        for ((&node, server), response) in shared.iter().zip(&servers).zip(on_shared) {
            budgets[node] = server.cost;
            responses[node] = response;
        }

        let theory = Envelope::new(graph, &periods, |node| responses[node].response, self.jitter_ns);
        let allowed = |node: usize| responses[node].response + self.platform_ns;
        let platform = Envelope::new(graph, &periods, allowed, self.jitter_ns);
        let sinks = (0..costs.len()).filter(|&node| graph.outputs(node).is_empty()).map(|node| SinkBounds {
            node,
            latency_ns: theory.completion[node] + theory.held[node],
            release_latency_ns: theory.completion[node] + theory.held_after_release[node],
            latency_on_platform_ns: platform.completion[node] + platform.held[node],
            parts: self.parts(&theory, &periods, &responses, node),
        });
        let task_bounds = (0..costs.len()).map(|node| {
            let (period, budget) = (periods[node], budgets[node]);
            let utilisation = costs[node] / period;
            let cores = graph.nodes()[node].own_cores.map_or(budget / period, f64::from);
            let spare = cores - utilisation;
            TaskBounds {
                period_ns: period,
                cost_ns: costs[node],
                budget_ns: budget,
                utilisation,
                priority_point_ns: responses[node].priority_point,
                tardiness_ns: (responses[node].response - period).max(0.0),
                response_ns: responses[node].response,
                completion_ns: theory.completion[node],
                earliest_ns: theory.earliest[node],
                recovery: (spare > ROUNDING).then(|| utilisation / spare),
            }
        });
        let edges = (0..graph.links().len()).map(|link| EdgeBounds {
            tokens: theory.tokens(graph, &periods, link),
            tokens_on_platform: platform.tokens(graph, &periods, link),
        });
        Ok(Bounds {
            utilisation: costs.iter().zip(&periods).map(|(cost, period)| cost / period).sum(),
            shared_utilisation: tasks.iter().map(|task| task.utilisation()).sum(),
            reserved: servers.iter().map(|server| server.utilisation()).sum(),
            basis,
            tasks: task_bounds.collect(),
            edges: edges.collect(),
            sinks: sinks.collect(),
        })
    }

    /// What a sink's latency consists of: the path that decides when it is done is followed back.
    fn parts(&self, envelope: &Envelope, periods: &[f64], responses: &[Response], sink: usize) -> LatencyParts {
        let mut parts = LatencyParts::default();
        let mut node = sink;
        loop {
            let response = responses[node].response;
            parts.response_ns += response;
            parts.tardiness_ns += (response - periods[node]).max(0.0);
            match envelope.waits_for[node] {
                Start::Node(from) => node = from,
                Start::Source => {
                    parts.jitter_ns = self.jitter_ns;
                    break;
                }
                Start::Tokens => break,
            }
        }
        let latency = envelope.completion[sink] + envelope.held[sink];
        parts.filling_ns = latency - parts.response_ns - parts.jitter_ns;
        // What is left by rounding.
        if parts.filling_ns.abs() < latency * 1e-12 {
            parts.filling_ns = 0.0;
        }
        parts
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |place: &str, reason: String| Err(refused(place, reason));
        if !(self.cap > 0.0 && self.cap <= 1.0) {
            return wrong("cap", format!("{}: write a share of the cores' time above 0 and up to 1", self.cap));
        }
        if let Budget::Factor(factor) = self.budget
            && !(factor.is_finite() && factor >= 1.0)
        {
            return wrong("budget", format!("{factor} times the cost: write a finite factor of at least 1"));
        }
        let times =
            [("handover_ns", self.handover_ns), ("jitter_ns", self.jitter_ns), ("platform_ns", self.platform_ns)];
        for (name, ns) in times {
            if !(ns.is_finite() && ns >= 0.0) {
                return wrong(name, format!("{ns} ns: write a finite time of 0 ns or more"));
            }
        }
        Ok(())
    }

    /// The most that shared tasks may need.
    fn most(&self, cores: u32) -> f64 {
        self.cap * f64::from(cores)
    }

    fn check_fit(&self, graph: &Graph, costs: &[f64], periods: &[f64], shared: &[usize]) -> Result<(), Error> {
        for (node, (cost, period)) in graph.nodes().iter().zip(costs.iter().zip(periods)) {
            let needs = cost / period;
            if needs > f64::from(node.own_cores.unwrap_or(1)) * (1.0 + ROUNDING) {
                let has = match node.own_cores {
                    None => "a node on shared cores has one at most: batch more, make it cheaper, or give it own cores",
                    Some(_) => "its own are fewer: batch more, make it cheaper, or give it more cores",
                };
                let reason = format!(
                    "a job takes {} every {}, which needs {needs:.3} cores, and {has}",
                    readable(*cost),
                    readable(*period)
                );
                return Err(refused(&node_place(&node.name), reason));
            }
        }
        if graph.cores() == 0 && !shared.is_empty() {
            let reason =
                format!("there are none, and `{}` has none of its own: give cores", graph.nodes()[shared[0]].name);
            return Err(refused("cores", reason));
        }
        let need: f64 = shared.iter().map(|&node| costs[node] / periods[node]).sum();
        let most = self.most(graph.cores());
        if need > most + ROUNDING {
            let mut heaviest = shared.to_vec();
            heaviest.sort_by(|&a, &b| (costs[b] / periods[b]).total_cmp(&(costs[a] / periods[a])));
            let named: Vec<String> = heaviest
                .iter()
                .take(3)
                .map(|&node| format!("`{}` {:.3}", graph.nodes()[node].name, costs[node] / periods[node]))
                .collect();
            let reason = format!(
                "the nodes need {need:.3} cores and may have {most:.3} of {}, most of it for {}: \
                 batch more, lower the rate, or give more cores",
                graph.cores(),
                named.join(", ")
            );
            return Err(refused("cores", reason));
        }
        Ok(())
    }

    /// How many times its cost a task's budget is.
    fn factor(&self, tasks: &[Task], cores: u32) -> Result<f64, Error> {
        let most = self.most(cores) + ROUNDING;
        let reserved = |factor: f64| -> f64 { tasks.iter().map(|task| (task.utilisation() * factor).min(1.0)).sum() };
        match self.budget {
            Budget::Cost => Ok(1.0),
            Budget::Factor(factor) if reserved(factor) <= most => Ok(factor),
            Budget::Factor(factor) => Err(refused(
                "budget",
                format!(
                    "{factor} times the costs take {:.3} cores, and they may have {:.3}: give a smaller factor, or none",
                    reserved(factor),
                    self.most(cores)
                ),
            )),
            Budget::Largest if reserved(LARGEST) <= most => Ok(LARGEST),
            Budget::Largest => {
                // What is reserved grows with the factor, and fits with 1.
                let (mut fits, mut over) = (1.0, LARGEST);
                for _ in 0..f64::MANTISSA_DIGITS {
                    let factor = f64::midpoint(fits, over);
                    if reserved(factor) <= most { fits = factor } else { over = factor }
                }
                Ok(fits)
            }
        }
    }
}

/// By when jobs are done, and from when on they are released, as offsets of a node's periods; for each node.
struct Envelope {
    completion: Vec<f64>,
    earliest: Vec<f64>,
    /// How much later than the job that a token reaches first the last of the jobs on its way is due.
    held: Vec<f64>,
    /// The same less the time that the source's job takes to fill.
    held_after_release: Vec<f64>,
    waits_for: Vec<Start>,
}

/// What decides when a node's jobs may begin.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// Its samples arrive.
    Source,
    /// That node is done.
    Node(usize),
    /// Tokens that are there at the start are enough.
    Tokens,
}

impl Envelope {
    fn new(graph: &Graph, periods: &[f64], response: impl Fn(usize) -> f64, jitter: f64) -> Self {
        let zeros = vec![0.0; periods.len()];
        let mut envelope = Self {
            completion: zeros.clone(),
            earliest: zeros.clone(),
            held: zeros.clone(),
            held_after_release: zeros,
            waits_for: vec![Start::Tokens; periods.len()],
        };
        for &node in graph.order() {
            envelope.add(graph, periods, node, response(node), jitter);
        }
        envelope
    }

    /// Follows the edges that lead to a node.
    fn add(&mut self, graph: &Graph, periods: &[f64], node: usize, response: f64, jitter: f64) {
        let spaced = graph.nodes()[node].own_cores.is_none();
        let (mut start, mut held, mut held_after_release) = (0.0f64, 0.0f64, f64::NEG_INFINITY);
        let mut earliest = if spaced { 0.0 } else { f64::NEG_INFINITY };
        for &index in graph.inputs(node) {
            let link = graph.links()[index];
            let (from, period) = (link.from, periods[link.from]);
            let produce = link.produce as f64;
            let common = gcd(link.produce, link.consume);
            // Tokens that are missing for the first job; all numbers of tokens are below 2^48.
            let missing = link.threshold as i64 - link.delay as i64;
            let rounding = produce - common as f64 + (-missing).rem_euclid(common as i64) as f64;
            let enabled = self.completion[from] + ((missing as f64 + rounding) / produce - 1.0) * period;
            if enabled > start {
                (start, self.waits_for[node]) = (enabled, Start::Node(from));
            }

            let behind = link.behind_ns(period);
            held = held.max(self.held[from] + behind);
            held_after_release = held_after_release.max(self.held_after_release[from] + behind);

            earliest = earliest.max(match (spaced, missing > 0) {
                (true, false) => 0.0,
                (true, true) => self.earliest[from] + ((missing as f64 / produce).ceil() - 1.0) * period,
                // Jobs are not kept apart: what counts is that no job comes before its input.
                (false, true) => self.earliest[from] + (missing as f64 / produce - 1.0) * period,
                (false, false) => {
                    let missing = missing as f64 / produce * period;
                    missing.min(self.earliest[from] + missing - period)
                }
            });
        }
        if graph.inputs(node).is_empty() {
            let filling = graph.filling_ns(node);
            (start, earliest, held_after_release) = (filling + jitter, filling, -filling);
            self.waits_for[node] = Start::Source;
        }
        let inside = graph.origin(node).held_ns;
        self.completion[node] = start + response;
        self.earliest[node] = earliest;
        self.held[node] = held + inside;
        self.held_after_release[node] = held_after_release + inside;
    }

    /// The most tokens that an edge holds.
    fn tokens(&self, graph: &Graph, periods: &[f64], link: usize) -> u64 {
        let link = graph.links()[link];
        let span = self.completion[link.to] - self.earliest[link.from];
        let during = link.produce as f64 * span / periods[link.from];
        // What rounding might have taken below a whole number is that number.
        let during = (during * (1.0 + ROUNDING) + ROUNDING).floor() as u64;
        during.saturating_add(link.delay + link.produce)
    }
}

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::RealTime, format!("analysis, {place}"), reason)
}
