//! How often the nodes of a graph fire.

// A graph is made with its rates, which are found on its nodes and links: the two are one thing in two files.
use super::graph::{Graph, node_place, refused};
use crate::error::Error;
use crate::period::{Period, gcd};

/// A firing rate: *x* firings in any interval of *y* nanoseconds.
///
/// Not in lowest terms where firings come in bursts: a node that fires 4 times after every third firing of what feeds
/// it says something else than one that fires evenly at the same rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiringRate {
    /// How many times, *x*; at least 1.
    pub firings: u64,
    /// In how many nanoseconds, *y*; at least 1.
    pub interval_ns: u64,
}

impl FiringRate {
    /// The time between two firings, *y* / *x*.
    pub fn period(self) -> Period {
        Period::new(self.interval_ns, self.firings).expect("a node fires at least once in its interval")
    }
}

/// The rates of all nodes of a graph without cycles; refuses edges that do not agree on one.
pub(super) fn rates(graph: &Graph) -> Result<Vec<FiringRate>, Error> {
    let mut rates = vec![FiringRate { firings: 1, interval_ns: 1 }; graph.nodes().len()];
    for &node in graph.order() {
        rates[node] = match graph.nodes()[node].period {
            Some(period) => {
                let (interval_ns, firings) = period.short().ok_or_else(|| too_unlike(graph, node))?;
                FiringRate { firings, interval_ns }
            }
            None => {
                let period = common_period(graph, node, &rates)?;
                follow(graph, node, &rates, period).ok_or_else(|| too_unlike(graph, node))?
            }
        };
    }
    Ok(rates)
}

/// The period to which all inputs bring a node.
fn common_period(graph: &Graph, node: usize, rates: &[FiringRate]) -> Result<Period, Error> {
    let mut common: Option<(Period, usize)> = None;
    for &index in graph.inputs(node) {
        let link = graph.links()[index];
        let period = rates[link.from].period().scaled(link.consume, link.produce);
        let period = period.ok_or_else(|| too_unlike(graph, node))?;
        match common {
            Some((first, other)) if first != period => {
                let reason = format!(
                    "its inputs do not agree on a rate: {} brings it to one firing in {first} ns, \
                     {} to one in {period} ns; \
                     correct what is produced or consumed there",
                    graph.link_place(other),
                    graph.link_place(index)
                );
                return Err(refused(&node_place(&graph.nodes()[node].name), reason));
            }
            Some(_) => {}
            None => common = Some((period, index)),
        }
    }
    Ok(common.expect("a node without a rate has inputs").0)
}

/// The rate of a node of that period: the shortest interval in which each input brings a whole number of firings.
fn follow(graph: &Graph, node: usize, rates: &[FiringRate], period: Period) -> Option<FiringRate> {
    let mut interval = 1;
    for &index in graph.inputs(node) {
        let link = graph.links()[index];
        let from = rates[link.from];
        // c / gcd(p x, c), without the product.
        let left = link.consume / gcd(link.produce, link.consume);
        let own = from.interval_ns.checked_mul(left / gcd(from.firings, left))?;
        interval = own.checked_mul(interval / gcd(interval, own))?;
    }
    let (num, den) = period.short()?;
    let (firings, left) = Period::from(interval).scaled(den, num)?.short()?;
    debug_assert_eq!(left, 1, "an interval holds a whole number of firings");
    Some(FiringRate { firings, interval_ns: interval })
}

fn too_unlike(graph: &Graph, node: usize) -> Error {
    let reason = "its rate is no fraction of 64-bit numbers: choose rates, or numbers of tokens, with common factors";
    refused(&node_place(&graph.nodes()[node].name), reason)
}
