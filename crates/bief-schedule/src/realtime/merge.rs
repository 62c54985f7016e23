//! Merging: several nodes in one task, which is woken up once for all of them.

use super::cost::Cost;
use super::graph::{Graph, Link, Node, Origin};
use crate::error::Error;
use crate::period::Period;

/// The assumed gain from merging, and its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergeRule {
    /// How much of the smaller of two costs of starting remains when two nodes are merged: *I* = max + `init_share` ·
    /// min. 0 to 1. Merged blocks are measured to start in "only slightly" more than the larger of the two (He and
    /// Ward, section 7.3); 0.15, the default, is to be replaced by what is measured of the blocks at hand.
    pub init_share: f64,
    /// How much of a core a merged task may need, or of each of its own; above 0 and up to 1, 0.9 by default: what
    /// fills a core leaves the others late.
    pub max_utilisation: f64,
    /// Which pairs may be merged; `None`: both kinds.
    pub only: Option<Merging>,
}

impl Default for MergeRule {
    fn default() -> Self {
        Self { init_share: 0.15, max_utilisation: 0.9, only: None }
    }
}

impl MergeRule {
    /// What starting costs when two nodes are merged.
    fn init_ns(&self, a: f64, b: f64) -> f64 {
        a.max(b) + self.init_share * a.min(b)
    }

    /// How much starting costs less when two nodes are merged.
    pub(super) fn saved_ns(&self, a: f64, b: f64) -> f64 {
        (1.0 - self.init_share) * a.min(b)
    }
}

/// The relation of two nodes that may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Merging {
    /// The first feeds the second.
    Serial,
    /// Another node feeds both.
    Parallel,
}

/// Why two nodes may not be merged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// They are one node.
    #[error("`{0}` is to be merged with itself: name two nodes")]
    Itself(String),
    /// One of them must have a thread for itself.
    #[error("`{0}` must have a thread for itself: leave it alone")]
    Alone(String),
    /// They do not run on the same cores.
    #[error("`{0}` and `{1}` run on different cores, or on different numbers of own cores: give both the same")]
    Cores(String, String),
    /// They do not run equally often.
    #[error(
        "`{first}` runs every {first_period} ns, `{second}` every {second_period} ns: batch them to the same period"
    )]
    Periods {
        /// The one.
        first: String,
        /// Its period.
        first_period: Period,
        /// The other.
        second: String,
        /// Its period.
        second_period: Period,
    },
    /// No edge joins them, and no node feeds both.
    #[error("`{0}` does not feed `{1}`, and no node feeds both: merge neighbours")]
    Apart(String, String),
    /// The rule merges pairs of the other kind only.
    #[error("`{0}` and `{1}` lie to each other as the rule does not merge them: allow both kinds")]
    Kind(String, String),
    /// A job of the first does not feed exactly one of the second.
    #[error("on {0} a job waits for more than the one before it brings: lower its threshold, or give it a delay")]
    Tokens(String),
    /// Tokens go from the one to the other through nodes that would not be merged: there would be a cycle.
    #[error("`{0}` also feeds `{1}` through other nodes, which would make a cycle: merge those first")]
    Path(String, String),
    /// A source would have inputs.
    #[error("`{0}` is a source and `{1}` has other inputs: merge those first")]
    Source(String, String),
    /// Together they need too much of a core.
    #[error("`{first}` and `{second}` need {need:.3} of a core together, and may have {most:.3}: leave them apart")]
    Utilisation {
        /// The one.
        first: String,
        /// The other.
        second: String,
        /// How much they need of a core.
        need: f64,
        /// How much they may have.
        most: f64,
    },
    /// The merged graph has no rates of 64-bit numbers.
    #[error(transparent)]
    Graph(#[from] Error),
}

impl Graph {
    /// Whether two nodes may be merged, and their relation. If one feeds the other, they may be named in either order.
    ///
    /// Both have the same period, run on the same cores and need no thread for themselves. Either the one feeds the
    /// other, with a job for each job (*p* = *c*, *t* - *c* ≤ *s*) and by no other path, or both are fed by the same
    /// node and neither feeds the other, by any path. Together they need no more of a core than the rule lets them.
    ///
    /// # Errors
    ///
    /// The first [`Refusal`] found.
    pub fn mergeable(&self, a: usize, b: usize, rule: &MergeRule) -> Result<Merging, Refusal> {
        self.pair(a, b, rule).map(|pair| pair.merging)
    }

    /// The graph in which two nodes are one. It takes the place of the one that feeds the other, or of the one with the
    /// lower index; the other's index is taken out.
    ///
    /// # Errors
    ///
    /// Those of [`mergeable`](Self::mergeable).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::Period;
    /// use bief_schedule::realtime::{Cost, Edge, Graph, MergeRule, Node};
    ///
    /// let nodes = [
    ///     Node::source("source", Period::from(1_000), Cost { init_ns: 200.0, per_sample_ns: 10.0 }),
    ///     Node::new("gain", Cost { init_ns: 100.0, per_sample_ns: 20.0 }),
    /// ];
    /// let graph = Graph::new(nodes, [Edge::new("source", "gain")])?;
    /// let merged = graph.merged(0, 1, &MergeRule::default()).unwrap();
    /// assert_eq!(merged.nodes()[0].name, "source+gain");
    /// assert_eq!(merged.cost_ns(0), 200.0 + 0.15 * 100.0 + 10.0 + 20.0);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn merged(&self, a: usize, b: usize, rule: &MergeRule) -> Result<Self, Refusal> {
        let pair = self.pair(a, b, rule)?;
        Ok(self.contract(&pair, rule)?)
    }

    pub(super) fn pair(&self, a: usize, b: usize, rule: &MergeRule) -> Result<Pair, Refusal> {
        let name = |node: usize| self.nodes()[node].name.clone();
        if a == b {
            return Err(Refusal::Itself(name(a)));
        }
        for node in [a, b] {
            if self.nodes()[node].alone {
                return Err(Refusal::Alone(name(node)));
            }
        }
        let own_cores = self.nodes()[a].own_cores;
        if own_cores != self.nodes()[b].own_cores {
            return Err(Refusal::Cores(name(a), name(b)));
        }
        if self.period(a) != self.period(b) {
            return Err(Refusal::Periods {
                first: name(a),
                first_period: self.period(a),
                second: name(b),
                second_period: self.period(b),
            });
        }
        let feeds = |from: usize, to: usize| self.outputs(from).iter().any(|&link| self.links()[link].to == to);
        let shared_input = || {
            let from = |node: usize| self.inputs(node).iter().map(|&link| self.links()[link].from);
            from(a).any(|one| from(b).any(|other| one == other))
        };
        let pair = if feeds(a, b) {
            Pair { merging: Merging::Serial, keep: a, drop: b }
        } else if feeds(b, a) {
            Pair { merging: Merging::Serial, keep: b, drop: a }
        } else if shared_input() {
            Pair { merging: Merging::Parallel, keep: a.min(b), drop: a.max(b) }
        } else {
            return Err(Refusal::Apart(name(a), name(b)));
        };
        let Pair { merging, keep, drop } = pair;
        if rule.only.is_some_and(|only| only != merging) {
            return Err(Refusal::Kind(name(keep), name(drop)));
        }
        for &index in self.outputs(keep) {
            let link = self.links()[index];
            if link.to == drop && (link.produce != link.consume || link.threshold - link.consume > link.delay) {
                return Err(Refusal::Tokens(self.link_place(index)));
            }
        }
        for (from, to) in [(keep, drop), (drop, keep)] {
            if self.reaches_through_others(from, to) {
                return Err(Refusal::Path(name(from), name(to)));
            }
        }
        if self.nodes()[keep].period.is_some() && self.inputs(drop).iter().any(|&link| self.links()[link].from != keep)
        {
            return Err(Refusal::Source(name(keep), name(drop)));
        }
        let saved = rule.saved_ns(self.nodes()[keep].cost.init_ns, self.nodes()[drop].cost.init_ns);
        let need = (self.cost_ns(keep) + self.cost_ns(drop) - saved) / self.period(keep).ns();
        let most = rule.max_utilisation * f64::from(own_cores.unwrap_or(1));
        if need > most {
            return Err(Refusal::Utilisation { first: name(keep), second: name(drop), need, most });
        }
        Ok(pair)
    }

    /// Whether tokens go from the one to the other by more than an edge between the two.
    fn reaches_through_others(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.nodes().len()];
        let followers = |node: usize| self.outputs(node).iter().map(|&link| self.links()[link].to);
        let mut open: Vec<usize> = followers(from).filter(|&node| node != to).collect();
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) {
                open.extend(followers(node));
            }
        }
        false
    }

    pub(super) fn contract(&self, pair: &Pair, rule: &MergeRule) -> Result<Self, Error> {
        let &Pair { merging, keep, drop } = pair;
        let (one, other) = (&self.nodes()[keep], &self.nodes()[drop]);
        let samples = [keep, drop].map(|node| self.samples(node) as f64);
        let marginal_ns = one.cost.per_sample_ns * samples[0] + other.cost.per_sample_ns * samples[1];
        let merged = Node {
            name: format!("{}+{}", one.name, other.name),
            cost: Cost {
                init_ns: rule.init_ns(one.cost.init_ns, other.cost.init_ns),
                per_sample_ns: marginal_ns / samples[0],
            },
            ..one.clone()
        };
        let inside = self.outputs(keep).iter().map(|&link| self.links()[link]).filter(|link| link.to == drop);
        let delayed = inside.map(|link| link.behind_ns(self.period(keep).ns())).fold(0.0, f64::max);
        let held = [keep, drop].map(|node| self.origin(node).held_ns);
        let held_ns = match merging {
            Merging::Serial => held[0] + delayed + held[1],
            Merging::Parallel => held[0].max(held[1]),
        };

        let index = |node: usize| match node {
            _ if node == drop => keep - usize::from(keep > drop),
            _ => node - usize::from(node > drop),
        };
        let (mut nodes, mut origins) = (self.nodes().to_vec(), Vec::new());
        nodes[keep] = merged;
        nodes.remove(drop);
        for node in (0..self.nodes().len()).filter(|&node| node != drop) {
            let origin = self.origin(node);
            origins.push(if node == keep { Origin { held_ns, ..origin } } else { origin });
        }
        let ends = |link: &Link| Link { from: index(link.from), to: index(link.to), ..*link };
        let links = self.links().iter().map(ends).filter(|link| link.from != link.to).collect();
        Self::assemble(self.cores(), nodes, links, origins)
    }
}

/// Two nodes that may be merged: `keep` is the one in whose place the merged one comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub merging: Merging,
    pub keep: usize,
    pub drop: usize,
}
