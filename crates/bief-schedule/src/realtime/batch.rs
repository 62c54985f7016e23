//! Batching: several firings of a node in one job, which pays its cost of starting once.

use super::graph::{Graph, Link, Node, Origin, node_place, refused};
use crate::error::Error;
use crate::period::{Period, gcd};

/// Among so many sizes one is looked for that divides a predecessor's.
const DIVISORS_TRIED: u64 = 4096;

impl Graph {
    /// The graph with the given number of firings per job of each node.
    ///
    /// With *b* firings of a node in a job, each edge has *p*' = *b* *p* at its producer, *c*' = *b* *c* and *t*' =
    /// (*b* - 1) *c* + *t* at its consumer; the period is *b* *P*, the cost *I* + *D* *b* *c*. It is a graph like any
    /// other, and its bounds are those of the batched processing; a source's job waits until its samples are there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Graph`](crate::ErrorKind::Graph) where there is not one number per node, one is 0, or tokens or
    /// periods become too large.
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::Period;
    /// use bief_schedule::realtime::{Cost, Edge, Graph, Node, rate_exploiting};
    ///
    /// let cost = Cost { init_ns: 200.0, per_sample_ns: 10.0 };
    /// let nodes = [Node::source("source", Period::from(1_000), cost), Node::new("decimator", cost)];
    /// let graph = Graph::new(nodes, [Edge::new("source", "decimator").rates(1, 4)])?;
    /// let batches = rate_exploiting(&graph, 8)?;
    /// assert_eq!(batches, [8, 2]);
    /// let batched = graph.batched(&batches)?;
    /// assert_eq!(batched.period(0), batched.period(1));
    /// assert_eq!(batched.cost_ns(1), 280.0);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn batched(&self, batches: &[u64]) -> Result<Self, Error> {
        if batches.len() != self.nodes().len() {
            let reason =
                format!("{} for {} nodes: give one number of firings per node", batches.len(), self.nodes().len());
            return Err(refused("batches", reason));
        }
        let too_large = |node: usize| {
            let reason = format!("a job of {} firings is too large: batch less", batches[node]);
            refused(&node_place(&self.nodes()[node].name), reason)
        };
        if let Some(node) = batches.iter().position(|&batch| batch == 0) {
            let reason = "a job of 0 firings does nothing: give at least 1";
            return Err(refused(&node_place(&self.nodes()[node].name), reason));
        }
        let node = |(index, node): (usize, &Node)| {
            let period = match node.period {
                None => None,
                Some(period) => Some(period.scaled(batches[index], 1).ok_or_else(|| too_large(index))?),
            };
            Ok(Node { period, ..node.clone() })
        };
        let link = |link: &Link| {
            let consume = link.consume.checked_mul(batches[link.to]);
            let threshold = consume.and_then(|consume| consume.checked_add(link.threshold - link.consume));
            let produce = link.produce.checked_mul(batches[link.from]).ok_or_else(|| too_large(link.from))?;
            let (Some(consume), Some(threshold)) = (consume, threshold) else { return Err(too_large(link.to)) };
            Ok(Link { produce, threshold, consume, ..*link })
        };
        let origin = |index: usize| {
            let (origin, batch) = (self.origin(index), batches[index]);
            let scaled = |number: u64| number.checked_mul(batch).ok_or_else(|| too_large(index));
            // A delay inside a merged node is rounded up to whole jobs.
            let held_ns = origin.held_ns * batch as f64;
            Ok(Origin { samples: scaled(origin.samples)?, batch: scaled(origin.batch)?, held_ns })
        };
        let nodes = self.nodes().iter().enumerate().map(node).collect::<Result<Vec<_>, Error>>()?;
        let links = self.links().iter().map(link).collect::<Result<Vec<_>, Error>>()?;
        let origins = (0..batches.len()).map(origin).collect::<Result<Vec<_>, Error>>()?;
        Self::assemble(self.cores(), nodes, links, origins)
    }

    /// The longest time after which all nodes fire in step again: the shortest that is a whole number of periods of
    /// each. `None` where it is no fraction of 64-bit numbers.
    pub fn hyperperiod(&self) -> Option<Period> {
        (0..self.nodes().len()).map(|node| self.period(node)).try_fold(None, |common: Option<Period>, period| {
            let Some(common) = common else { return Some(Some(period)) };
            let ((num, den), (other_num, other_den)) = (common.short()?, period.short()?);
            let num = num.checked_mul(other_num / gcd(num, other_num))?;
            Some(Some(Period::new(num, gcd(den, other_den)).expect("a divisor of denominators is not zero")))
        })?
    }
}

/// Uniform batching (He and Ward, section 5.1): the numbers of firings for [`Graph::batched`] with which each node
/// handles `samples` samples per job, rounded up to whole firings. Behind a decimator by *X* that is a period *X* times
/// as long.
///
/// # Errors
///
/// [`ErrorKind::Graph`](crate::ErrorKind::Graph) where `samples` is 0.
pub fn uniform(graph: &Graph, samples: u64) -> Result<Vec<u64>, Error> {
    if samples == 0 {
        return Err(refused("batches", "jobs of 0 samples do nothing: give at least 1"));
    }
    Ok((0..graph.nodes().len()).map(|node| samples.div_ceil(graph.samples(node))).collect())
}

/// Rate-exploiting batching (He and Ward, section 5.2): the numbers of firings for [`Graph::batched`] with which all
/// jobs are in step with `firings` firings of the fastest source.
///
/// Each node whose period fits into that time a whole number of times gets that number: all of them have the same
/// period, and one job feeds one. A node of a longer period fires alone. Where the time is no multiple of a node's
/// period, the node gets the most firings that fit into it with which its period and those of the nodes that feed it
/// divide each other, or, if there is no such number, the most that fit.
///
/// # Errors
///
/// [`ErrorKind::Graph`](crate::ErrorKind::Graph) where `firings` is 0, or the time no fraction of 64-bit numbers.
pub fn rate_exploiting(graph: &Graph, firings: u64) -> Result<Vec<u64>, Error> {
    if firings == 0 {
        return Err(refused("batches", "jobs of 0 firings do nothing: give at least 1"));
    }
    let sources = graph.nodes().iter().filter_map(|node| node.period);
    let shortest = sources.min().expect("a graph without cycles has a source");
    let too_long = || refused("batches", format!("jobs of {firings} firings take too long: batch less"));
    let step = shortest.scaled(firings, 1).ok_or_else(too_long)?;
    let mut batches = vec![1; graph.nodes().len()];
    for &node in graph.order() {
        let fits = quotient(step, graph.period(node)).ok_or_else(too_long)?;
        let most = fits.whole();
        batches[node] = match most {
            0 => 1,
            _ if fits.den() == 1 => most,
            _ => aligned(graph, &batches, node, most),
        };
    }
    Ok(batches)
}

/// The most firings up to `most` with which the node is in step with those that feed it.
fn aligned(graph: &Graph, batches: &[u64], node: usize, most: u64) -> u64 {
    // How many firings of the node there are to a job of each node that feeds it.
    let inputs = graph.inputs(node).iter().filter_map(|&link| {
        let from = graph.links()[link].from;
        quotient(graph.period(from).scaled(batches[from], 1)?, graph.period(node))
    });
    let inputs: Vec<Period> = inputs.collect();
    let in_step = |batch: u64| {
        let divides = |input: &Period| input.scaled(1, batch).is_some_and(|jobs| jobs.num() == 1 || jobs.den() == 1);
        inputs.iter().all(divides)
    };
    let candidates = inputs.iter().filter_map(|input| {
        let (num, _) = input.short()?;
        let multiple = most / num * num;
        let divisor = || (1..=most.min(DIVISORS_TRIED)).rev().find(|divisor| num.is_multiple_of(*divisor));
        if multiple > 0 { Some(multiple) } else { divisor() }
    });
    candidates.filter(|&batch| in_step(batch)).max().unwrap_or(most)
}

/// How often a period fits into another.
fn quotient(long: Period, short: Period) -> Option<Period> {
    let (num, den) = short.short()?;
    long.scaled(den, num)
}
