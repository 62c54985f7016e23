//! Processing graphs: nodes that fire when their inputs hold enough tokens.

use std::collections::HashMap;

use serde::Deserialize;

use super::cost::Cost;
use super::rates::{self, FiringRate};
use crate::error::{Error, ErrorKind};
use crate::json::{self, Document, Format};
use crate::period::{Period, gcd};

/// The most tokens that an edge may name: all sums of tokens are then exact in doubles, too.
const MAX_TOKENS: u64 = 1 << 48;

const DOCUMENT: Document = Document {
    name: "graph",
    shape: r#"{"format": 1, "cores": 2, "nodes": [{"name": "src", "rate_hz": 1e6, "init_ns": 200, "per_sample_ns": 10}, {"name": "fir", "init_ns": 300, "per_sample_ns": 50}], "edges": [{"from": "src", "to": "fir", "produce": 1, "consume": 4}]}; in an edge "threshold" and "delay", in a node "own_cores" and "alone" may be left out, and "rate_hz" where other nodes feed it"#,
};

/// A node of a processing graph, which fires.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The node's name; not empty, and no other node has it.
    pub name: String,
    /// The time between two firings, of a source only: that of all others follows from what feeds them.
    pub period: Option<Period>,
    /// What a job costs.
    pub cost: Cost,
    /// How many cores of its own the node has, at least 1: job *k* runs on core *k* modulo that number, as soon as it
    /// may and the core is free. `None`: the node shares the graph's cores with the others.
    pub own_cores: Option<u32>,
    /// Whether the node must have a thread for itself, as what drives a device or waits for one: it is not merged.
    pub alone: bool,
}

impl Node {
    /// A node that other nodes feed, on the shared cores.
    pub fn new(name: impl Into<String>, cost: Cost) -> Self {
        Self { name: name.into(), period: None, cost, own_cores: None, alone: false }
    }

    /// A source that fires once in `period`, on the shared cores.
    pub fn source(name: impl Into<String>, period: Period, cost: Cost) -> Self {
        Self { period: Some(period), ..Self::new(name, cost) }
    }

    /// A source that fires `hz` times a second.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Graph`] where `hz` is not a number from 2^-10 on, or its period no fraction of 64-bit numbers.
    pub fn source_hz(name: impl Into<String>, hz: f64, cost: Cost) -> Result<Self, Error> {
        let name = name.into();
        let period = Period::from_ns(hz).and_then(|hz| {
            let (num, den) = hz.short()?;
            Period::from(1_000_000_000).scaled(den, num)
        });
        match period {
            Some(period) => Ok(Self::source(name, period, cost)),
            None => Err(refused(
                &node_place(&name),
                format!("a rate of {hz} Hz: write how often the source fires in a second, from 0.001 to 1e15"),
            )),
        }
    }

    /// The same node on `cores` cores of its own.
    pub fn on_own_cores(self, cores: u32) -> Self {
        Self { own_cores: Some(cores), ..self }
    }

    /// The same node with a thread for itself: it is not merged.
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }
}

/// An edge of a processing graph, between named nodes: a queue of tokens.
///
/// Numbers of tokens are below 2^48.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The node that produces.
    pub from: String,
    /// The node that consumes.
    pub to: String,
    /// Tokens produced by each firing of `from`, at least 1.
    pub produce: u64,
    /// Tokens that must be there before `to` fires, at least `consume`: more than that is history that is read again.
    pub threshold: u64,
    /// Tokens consumed by each firing of `to`, at least 1.
    pub consume: u64,
    /// Tokens that are there at the start.
    pub delay: u64,
}

impl Edge {
    /// An edge over which one token goes with each firing; no delay.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), produce: 1, threshold: 1, consume: 1, delay: 0 }
    }

    /// The same edge with other numbers of tokens; the threshold is what is consumed.
    pub fn rates(self, produce: u64, consume: u64) -> Self {
        Self { produce, threshold: consume, consume, ..self }
    }

    /// The same edge with another threshold.
    pub fn threshold(self, threshold: u64) -> Self {
        Self { threshold, ..self }
    }

    /// The same edge with tokens that are there at the start.
    pub fn delay(self, delay: u64) -> Self {
        Self { delay, ..self }
    }
}

/// An edge of a [`Graph`]: an [`Edge`] between nodes by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The node that produces.
    pub from: usize,
    /// The node that consumes.
    pub to: usize,
    /// Tokens produced by each firing of `from`.
    pub produce: u64,
    /// Tokens that must be there before `to` fires.
    pub threshold: u64,
    /// Tokens consumed by each firing of `to`.
    pub consume: u64,
    /// Tokens that are there at the start.
    pub delay: u64,
}

impl Link {
    /// How long after the first of a producer's job's tokens the last of them is consumed, when all is on time (*κ*):
    /// the job that consumes the last may be a later one. `period` is the producer's.
    pub(super) fn behind_ns(&self, period: f64) -> f64 {
        let common = gcd(self.produce, self.consume) as i64;
        let last = (self.delay as i64 - 1).rem_euclid(common);
        ((self.delay + self.produce - 1) as f64 - last as f64) / self.produce as f64 * period
    }
}

/// What a node takes over from the graph that its own was made of by batching or merging.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Origin {
    /// Samples that a job handles.
    pub samples: u64,
    /// Firings of the given graph's node in a job.
    pub batch: u64,
    /// How much later than the job that gets a token the job is that hands on what became of it, for delays that were
    /// merged into the node.
    pub held_ns: f64,
}

/// A processing graph (PGM): nodes that fire when all their inputs hold enough tokens, joined by edges that say how
/// many tokens a firing produces, needs and consumes, on a number of cores that the nodes share.
///
/// # Validity
///
/// Each edge has *threshold ≥ consume ≥ 1* and *produce ≥ 1*; there is no cycle; each node without inputs has a rate,
/// and no other has; where several edges meet, all bring the node to the same rate (the balance equations of
/// synchronous data flow: Lee and Messerschmitt, 1987). A job of a source handles as many samples as it produces on the
/// edge of most, a job of any other node as many as it consumes from the edge of most, and 1 where there are no edges.
///
/// # Rates
///
/// A source of period *P* = *y*/*x* ns fires *x* times in any *y* ns. With *p* tokens produced and *c* consumed on edge
/// *k* from *w* to *v* (Goddard 1998; Liu and Anderson 2010)
///
/// *y*ᵥ = lcmₖ (*c* *y*<sub>w</sub> / gcd(*p* *x*<sub>w</sub>, *c*)), *x*ᵥ = *y*ᵥ *p* *x*<sub>w</sub> / (*c*
/// *y*<sub>w</sub>), *P*ᵥ = *y*ᵥ / *x*ᵥ
///
/// all exact ([`rate`](Self::rate), [`period`](Self::period)).
///
/// # JSON
///
/// ```json
/// {
///   "format": 1,
///   "cores": 2,
///   "nodes": [
///     {"name": "src", "rate_hz": 1e6, "init_ns": 200, "per_sample_ns": 10},
///     {"name": "fir", "init_ns": 300, "per_sample_ns": 50}
///   ],
///   "edges": [
///     {"from": "src", "to": "fir", "produce": 1, "threshold": 7, "consume": 4, "delay": 0}
///   ]
/// }
/// ```
///
/// Keys that may be left out: in an edge `threshold` (what is consumed) and `delay` (0); in a node `rate_hz`, which
/// only sources have, `own_cores` (see [`Node::own_cores`]) and `alone` (see [`Node::alone`]). A key that is not named
/// here is refused.
///
/// # Example
///
/// ```
/// use bief_schedule::Period;
/// use bief_schedule::realtime::{Cost, Edge, Graph, Node};
///
/// let graph = Graph::new(
///     [
///         Node::source_hz("source", 1e6, Cost { init_ns: 200.0, per_sample_ns: 10.0 })?,
///         Node::new("decimator", Cost { init_ns: 300.0, per_sample_ns: 50.0 }),
///     ],
///     [Edge::new("source", "decimator").rates(1, 4)],
/// )?
/// .with_cores(2);
/// assert_eq!(graph.period(1), Period::from(4_000));
/// assert_eq!(graph.cost_ns(1), 500.0);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    cores: u32,
    nodes: Vec<Node>,
    links: Vec<Link>,
    origins: Vec<Origin>,
    /// For each node, the links that lead to it and those that leave it.
    inputs: Vec<Vec<usize>>,
    outputs: Vec<Vec<usize>>,
    /// The nodes, each after all that feed it.
    order: Vec<usize>,
    rates: Vec<FiringRate>,
    periods: Vec<Period>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphJson {
    #[serde(rename = "format")]
    _format: Format,
    cores: u32,
    #[serde(deserialize_with = "json::objects")]
    nodes: Vec<NodeJson>,
    #[serde(deserialize_with = "json::objects")]
    edges: Vec<EdgeJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeJson {
    name: String,
    #[serde(default)]
    rate_hz: Option<f64>,
    init_ns: f64,
    per_sample_ns: f64,
    #[serde(default)]
    own_cores: Option<u32>,
    #[serde(default)]
    alone: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeJson {
    from: String,
    to: String,
    produce: u64,
    #[serde(default)]
    threshold: Option<u64>,
    consume: u64,
    #[serde(default)]
    delay: u64,
}

impl Graph {
    /// The most nodes that a graph may have.
    pub const MAX_NODES: usize = 10_000;

    /// The graph of these nodes and edges, whose nodes share one core.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Graph`] with the node or edge where the graph is not [valid](Self#validity) or has more than
    /// [`MAX_NODES`](Self::MAX_NODES), a name is empty, given
    /// twice or not that of a node, a cost is negative or not finite, or a rate no fraction of 64-bit numbers.
    pub fn new(nodes: impl IntoIterator<Item = Node>, edges: impl IntoIterator<Item = Edge>) -> Result<Self, Error> {
        let nodes: Vec<Node> = nodes.into_iter().collect();
        let mut indices = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if node.name.is_empty() {
                return Err(refused(&format!("nodes[{index}]"), "the name is empty: name the node"));
            }
            if let Some(other) = indices.insert(node.name.as_str(), index) {
                let reason = format!("nodes[{other}] has this name, too: give each node a name of its own");
                return Err(refused(&format!("nodes[{index}] (`{}`)", node.name), reason));
            }
        }
        let link = |(index, edge): (usize, Edge)| -> Result<Link, Error> {
            let find = |name: &str| {
                indices.get(name).copied().ok_or_else(|| {
                    let place = format!("edges[{index}] (`{}` -> `{}`)", edge.from, edge.to);
                    refused(&place, format!("there is no node `{name}`: add it, or correct the name"))
                })
            };
            let Edge { produce, threshold, consume, delay, .. } = edge;
            Ok(Link { from: find(&edge.from)?, to: find(&edge.to)?, produce, threshold, consume, delay })
        };
        let links = edges.into_iter().enumerate().map(link).collect::<Result<Vec<_>, _>>()?;
        let mut origins = vec![Origin { samples: 1, batch: 1, held_ns: 0.0 }; nodes.len()];
        for link in &links {
            // A node without inputs handles what it delivers.
            if nodes[link.from].period.is_some() {
                origins[link.from].samples = origins[link.from].samples.max(link.produce);
            }
            origins[link.to].samples = origins[link.to].samples.max(link.consume);
        }
        Self::assemble(1, nodes, links, origins)
    }

    /// Reads the JSON document described at [`Graph`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Json`] with line and column where the text is not such a document; those of [`new`](Self::new).
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let json: GraphJson = json::read(text, &DOCUMENT)?;
        let node = |node: NodeJson| {
            let cost = Cost { init_ns: node.init_ns, per_sample_ns: node.per_sample_ns };
            let read = match node.rate_hz {
                None => Node::new(node.name, cost),
                Some(hz) => Node::source_hz(node.name, hz, cost)?,
            };
            Ok(Node { own_cores: node.own_cores, alone: node.alone, ..read })
        };
        let nodes = json.nodes.into_iter().map(node).collect::<Result<Vec<_>, Error>>()?;
        let edges = json.edges.into_iter().map(|edge| Edge {
            threshold: edge.threshold.unwrap_or(edge.consume),
            from: edge.from,
            to: edge.to,
            produce: edge.produce,
            consume: edge.consume,
            delay: edge.delay,
        });
        Ok(Self::new(nodes, edges)?.with_cores(json.cores))
    }

    /// The same graph on `cores` cores that its nodes share; 0 where each node has its own.
    pub fn with_cores(self, cores: u32) -> Self {
        Self { cores, ..self }
    }

    /// The graph of resolved parts, checked and with its rates.
    pub(super) fn assemble(
        cores: u32,
        nodes: Vec<Node>,
        links: Vec<Link>,
        origins: Vec<Origin>,
    ) -> Result<Self, Error> {
        if nodes.is_empty() {
            return Err(refused("nodes", "there is none: a graph has at least one node"));
        }
        if nodes.len() > Self::MAX_NODES {
            let reason = format!(
                "there are {}, at most {} are analysed: give those that always run together as one node",
                nodes.len(),
                Self::MAX_NODES
            );
            return Err(refused("nodes", reason));
        }
        let (mut inputs, mut outputs) = (vec![Vec::new(); nodes.len()], vec![Vec::new(); nodes.len()]);
        for (index, link) in links.iter().enumerate() {
            outputs[link.from].push(index);
            inputs[link.to].push(index);
        }
        let order = Vec::new();
        let mut graph =
            Self { cores, nodes, links, origins, inputs, outputs, order, rates: Vec::new(), periods: Vec::new() };
        graph.check_links()?;
        graph.check_nodes()?;
        graph.order = graph.topological_order()?;
        graph.rates = rates::rates(&graph)?;
        graph.periods = graph.rates.iter().map(|rate| rate.period()).collect();
        Ok(graph)
    }

    fn check_links(&self) -> Result<(), Error> {
        for (index, link) in self.links.iter().enumerate() {
            let wrong = |reason: String| Err(refused(&self.link_place(index), reason));
            let Link { produce, threshold, consume, delay, .. } = *link;
            for (name, tokens) in [("produce", produce), ("consume", consume)] {
                if tokens == 0 {
                    return wrong(format!("`{name}` is 0: a firing produces and consumes at least 1 token"));
                }
            }
            let all = [("produce", produce), ("threshold", threshold), ("consume", consume), ("delay", delay)];
            if let Some((name, tokens)) = all.into_iter().find(|(_, tokens)| *tokens > MAX_TOKENS) {
                return wrong(format!(
                    "`{name}` is {tokens}: write at most 2^48 tokens; count larger ones, or batch less"
                ));
            }
            if threshold < consume {
                return wrong(format!(
                    "`threshold` is {threshold}, below the {consume} tokens that a firing consumes: \
                     write at least {consume}, or leave it out"
                ));
            }
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), Error> {
        for (index, node) in self.nodes.iter().enumerate() {
            let wrong = |reason: &str| Err(refused(&node_place(&node.name), reason));
            node.cost.check().or_else(|reason| wrong(&reason))?;
            if node.own_cores == Some(0) {
                return wrong("`own_cores` is 0: write at least 1, or leave it out for a node on the shared cores");
            }
            match (node.period, self.inputs[index].is_empty()) {
                (None, true) => {
                    return wrong("nothing feeds it and it has no rate: give it a rate (`rate_hz`), or an edge to it");
                }
                (Some(_), false) => {
                    return wrong("it has a rate and inputs, and the rate follows from the inputs: leave the rate out");
                }
                (Some(Period::ZERO), true) => {
                    return wrong("its period is 0: write the time between two firings, in nanoseconds");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The nodes, each after all that feed it.
    fn topological_order(&self) -> Result<Vec<usize>, Error> {
        let mut missing: Vec<usize> = self.inputs.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|&node| missing[node] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for &link in &self.outputs[node] {
                let to = self.links[link].to;
                missing[to] -= 1;
                if missing[to] == 0 {
                    order.push(to);
                }
            }
        }
        let Some(start) = missing.iter().position(|&missing| missing > 0) else { return Ok(order) };
        // Whoever waits has an input from one that waits, too: going back along them leads into a cycle.
        let waiting_input = |node: usize| {
            let mut sources = self.inputs[node].iter().map(|&link| self.links[link].from);
            sources.find(|&from| missing[from] > 0).expect("a node waits for one that waits")
        };
        let mut seen = vec![false; self.nodes.len()];
        let mut node = start;
        while !seen[node] {
            seen[node] = true;
            node = waiting_input(node);
        }
        let (first, mut cycle) = (node, format!("`{}`", self.nodes[node].name));
        loop {
            node = waiting_input(node);
            cycle = format!("`{}` -> {cycle}", self.nodes[node].name);
            if node == first {
                break;
            }
        }
        Err(refused("edges", format!("cycle {cycle}: the analysis needs a graph without cycles; take an edge out")))
    }

    /// How many cores the nodes share that have none of their own.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// The nodes. A node's index here is its index everywhere.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The index of the node of that name.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The edges, in the order given. An edge's index here is its index everywhere.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The edges that lead to a node, by index.
    pub fn inputs(&self, node: usize) -> &[usize] {
        &self.inputs[node]
    }

    /// The edges that leave a node, by index.
    pub fn outputs(&self, node: usize) -> &[usize] {
        &self.outputs[node]
    }

    /// The nodes, each after all that feed it.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How often a node fires.
    pub fn rate(&self, node: usize) -> FiringRate {
        self.rates[node]
    }

    /// The time between two jobs of a node.
    pub fn period(&self, node: usize) -> Period {
        self.periods[node]
    }

    /// How many samples a job of the node handles.
    pub fn samples(&self, node: usize) -> u64 {
        self.origins[node].samples
    }

    /// How many firings of the node as it was given make a job: 1 in a graph that is not batched.
    pub fn batch(&self, node: usize) -> u64 {
        self.origins[node].batch
    }

    /// What a job of the node costs, in nanoseconds: *I* + *D* samples.
    pub fn cost_ns(&self, node: usize) -> f64 {
        self.nodes[node].cost.ns(self.samples(node))
    }

    /// Whether the consumer of an edge fires more often than the producer, as an interpolator does. The analysis takes
    /// such edges; He and Ward's does not.
    pub fn speeds_up(&self, link: usize) -> bool {
        let link = self.links[link];
        self.periods[link.to] < self.periods[link.from]
    }

    /// How long the oldest sample of a source's job waits until the job's last one is there; 0 where a job is one
    /// firing.
    pub(super) fn filling_ns(&self, node: usize) -> f64 {
        let batch = self.batch(node);
        self.period(node).ns() * (batch - 1) as f64 / batch as f64
    }

    pub(super) fn origin(&self, node: usize) -> Origin {
        self.origins[node]
    }

    /// How an error names an edge.
    pub(super) fn link_place(&self, link: usize) -> String {
        let Link { from, to, .. } = self.links[link];
        format!("edges[{link}] (`{}` -> `{}`)", self.nodes[from].name, self.nodes[to].name)
    }
}

/// How an error names a node.
pub(super) fn node_place(name: &str) -> String {
    format!("node `{name}`")
}

pub(super) fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Graph, format!("graph, {place}"), reason)
}
