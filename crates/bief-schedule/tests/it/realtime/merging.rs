//! Which nodes may be merged, and what becomes of them.

use bief_schedule::Period;
use bief_schedule::realtime::{Analysis, Cost, Edge, Graph, MergeRule, Merging, Node, Refusal};
use fastrand::Rng;

use super::{assert_close, fixed, graph};

const RULE: MergeRule = MergeRule { init_share: 0.15, max_utilisation: 0.9, only: None };

/// A source of 1000 ns and nodes that others feed, each of 10 ns, and edges of one token.
fn even(nodes: usize, edges: &[(usize, usize)]) -> Graph {
    let edges: Vec<_> = edges.iter().map(|&(from, to)| (from, to, 1, 1, 1)).collect();
    graph(1000, &vec![10.0; nodes], &edges)
}

#[track_caller]
fn assert_refused(graph: &Graph, a: usize, b: usize, message: &str) -> Refusal {
    let refusal = graph.mergeable(a, b, &RULE).unwrap_err();
    assert_eq!(refusal.to_string(), message);
    assert_eq!(graph.merged(a, b, &RULE).unwrap_err(), refusal);
    refusal
}

#[test]
fn neighbours_of_one_rate_may_be_merged() {
    let graph = even(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
    assert_eq!(graph.mergeable(3, 4, &RULE), Ok(Merging::Serial));
    assert_eq!(graph.mergeable(4, 3, &RULE), Ok(Merging::Serial));
    assert_eq!(graph.mergeable(1, 2, &RULE), Ok(Merging::Parallel));
    let merged = graph.merged(4, 3, &RULE).unwrap();
    assert_eq!(merged.nodes().iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n0", "n1", "n2", "n3+n4"]);
    let merged = graph.merged(2, 1, &RULE).unwrap();
    assert_eq!(merged.nodes()[1].name, "n1+n2");
    let ends = |graph: &Graph| graph.links().iter().map(|link| (link.from, link.to)).collect::<Vec<_>>();
    assert_eq!(ends(&merged), [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3)]);
    // All that is left is one node.
    let one = (0..3).fold(merged, |graph, _| graph.merged(0, 1, &RULE).unwrap());
    assert_eq!((one.nodes().len(), one.links().len(), one.nodes()[0].name.as_str()), (1, 0, "n0+n1+n2+n3+n4"));
}

#[test]
fn what_may_not_be_merged_is_told() {
    let graph = even(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
    let refusal = assert_refused(&graph, 1, 1, "`n1` is to be merged with itself: name two nodes");
    assert_eq!(refusal, Refusal::Itself("n1".to_owned()));
    let refusal = assert_refused(&graph, 1, 3, "`n1` does not feed `n3`, and no node feeds both: merge neighbours");
    assert_eq!(refusal, Refusal::Apart("n1".to_owned(), "n3".to_owned()));
    let message = "`n0` also feeds `n2` through other nodes, which would make a cycle: merge those first";
    let refusal = assert_refused(&graph, 0, 2, message);
    assert_eq!(refusal, Refusal::Path("n0".to_owned(), "n2".to_owned()));
    // Fed by one node, but the one feeds the other behind a third.
    let graph = even(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
    assert!(matches!(graph.mergeable(1, 3, &RULE), Err(Refusal::Path(..))));

    let decimated = super::graph(1000, &[10.0; 2], &[(0, 1, 1, 4, 4)]);
    assert_refused(&decimated, 0, 1, "`n0` runs every 1000 ns, `n1` every 4000 ns: batch them to the same period");
    let history = super::graph(1000, &[10.0; 2], &[(0, 1, 1, 4, 1)]);
    assert_refused(
        &history,
        0,
        1,
        "on edges[0] (`n0` -> `n1`) a job waits for more than the one before it brings: lower its threshold, or give it a \
         delay",
    );
    let full = super::graph(1000, &[500.0, 600.0], &[(0, 1, 1, 1, 1)]);
    let message = "`n0` and `n1` need 0.675 of a core together, and may have 0.600: leave them apart";
    let rule = MergeRule { max_utilisation: 0.6, ..RULE };
    assert_eq!(full.mergeable(0, 1, &rule).unwrap_err().to_string(), message);
    assert!(full.mergeable(0, 1, &RULE).is_ok());
}

#[test]
fn nodes_of_a_kind_only_are_merged() {
    let nodes = |change: &dyn Fn(usize, Node) -> Node| {
        let source = |name: &str| Node::source(name, Period::from(1000), fixed(10.0));
        let all = [source("a"), source("b"), Node::new("c", fixed(10.0)), Node::new("d", fixed(10.0))];
        let edges = [Edge::new("a", "c"), Edge::new("b", "c"), Edge::new("c", "d")];
        let nodes = all.into_iter().enumerate().map(|(index, node)| change(index, node));
        Graph::new(nodes.collect::<Vec<_>>(), edges).unwrap()
    };
    let plain = nodes(&|_, node| node);
    assert_refused(&plain, 0, 2, "`a` is a source and `c` has other inputs: merge those first");
    assert_refused(&plain, 0, 1, "`a` does not feed `b`, and no node feeds both: merge neighbours");
    let driver = nodes(&|index, node| if index == 3 { node.alone() } else { node });
    assert_refused(&driver, 2, 3, "`d` must have a thread for itself: leave it alone");
    let own = nodes(&|index, node| if index == 3 { node.on_own_cores(2) } else { node });
    assert_refused(
        &own,
        2,
        3,
        "`c` and `d` run on different cores, or on different numbers of own cores: give both the same",
    );
    let both = nodes(&|index, node| if index > 1 { node.on_own_cores(2) } else { node });
    assert_eq!(both.merged(2, 3, &RULE).unwrap().nodes()[2].own_cores, Some(2));
}

#[test]
fn a_rule_may_merge_one_kind_only() {
    let graph = super::graph(1000, &[10.0; 3], &[(0, 1, 1, 1, 1), (0, 2, 1, 1, 1)]);
    let serial = MergeRule { only: Some(Merging::Serial), ..RULE };
    let parallel = MergeRule { only: Some(Merging::Parallel), ..RULE };
    assert_eq!(graph.mergeable(0, 1, &serial), Ok(Merging::Serial));
    assert_eq!(graph.mergeable(1, 2, &parallel), Ok(Merging::Parallel));
    assert_eq!(
        graph.mergeable(1, 2, &serial).unwrap_err().to_string(),
        "`n1` and `n2` lie to each other as the rule does not merge them: allow both kinds"
    );
    assert_eq!(graph.mergeable(1, 0, &parallel), Err(Refusal::Kind("n0".to_owned(), "n1".to_owned())));
}

#[test]
fn merged_nodes_start_once() {
    let cost = |init_ns, per_sample_ns| Cost { init_ns, per_sample_ns };
    let nodes = [
        Node::source("a", Period::from(1000), cost(100.0, 7.0)),
        Node::new("b", cost(40.0, 5.0)),
        Node::new("c", cost(60.0, 1.0)),
    ];
    // b handles 3 samples per job, c 2.
    let edges = [Edge::new("a", "b").rates(3, 3), Edge::new("b", "c").rates(2, 2)];
    let graph = Graph::new(nodes, edges).unwrap();
    let merged = graph.merged(1, 2, &RULE).unwrap();
    assert_eq!(merged.nodes()[1].cost.init_ns, 60.0 + 0.15 * 40.0);
    assert_close(&[merged.cost_ns(1)], &[66.0 + 3.0 * 5.0 + 2.0 * 1.0], 1e-9);
    // What a sample costs holds for batches, too.
    let batched = merged.batched(&[4, 4]).unwrap();
    assert_close(&[batched.cost_ns(1)], &[66.0 + 4.0 * 17.0], 1e-9);
    let latency = |graph: &Graph| Analysis::default().bounds(graph).unwrap().latency_ns();
    assert_eq!((latency(&graph), latency(&merged)), (3000.0, 2000.0));
}

#[test]
fn a_delay_inside_a_merged_node_still_counts() {
    let nodes =
        [Node::source("a", Period::from(1000), fixed(10.0)), Node::new("b", fixed(10.0)), Node::new("c", fixed(10.0))];
    let edges = [Edge::new("a", "b"), Edge::new("b", "c").threshold(3).delay(3)];
    let graph = Graph::new(nodes, edges).unwrap();
    let latency = |graph: &Graph| Analysis::default().bounds(graph).unwrap().latency_ns();
    // What b makes, c takes 3 jobs later; job j of c waits for what b made before job j.
    assert_eq!(latency(&graph), 1000.0 + 1000.0 + 3000.0);
    let merged = graph.merged(1, 2, &RULE).unwrap();
    assert_eq!(latency(&merged), 1000.0 + 1000.0 + 3000.0);
    assert_eq!(latency(&merged.merged(0, 1, &RULE).unwrap()), 1000.0 + 3000.0);
    // Jobs of two firings: c takes it 2 jobs later, of two periods each.
    let batched = graph.batched(&[2, 2, 2]).unwrap().merged(1, 2, &RULE).unwrap();
    assert_eq!(latency(&batched), 1000.0 + 2000.0 + 2000.0 + 4000.0);
    assert!(latency(&merged.batched(&[2, 2]).unwrap()) >= latency(&batched));
}

#[test]
fn a_merge_saves_what_the_rule_says() {
    let random = &mut Rng::with_seed(5);
    let (mut serial, mut parallel) = (0, 0);
    for _ in 0..200 {
        let nodes = random.usize(3..9);
        let edges: Vec<(usize, usize)> = (1..nodes).map(|node| (random.usize(..node), node)).collect();
        let costs: Vec<f64> = (0..nodes).map(|_| random.u64(1..60) as f64).collect();
        let edges: Vec<_> = edges.into_iter().map(|(from, to)| (from, to, 1, 1, 1)).collect();
        let graph = graph(1000, &costs, &edges);
        let (a, b) = (random.usize(..nodes), random.usize(..nodes));
        let needs = |graph: &Graph| Analysis::default().bounds(graph).unwrap().utilisation;
        match graph.mergeable(a, b, &RULE) {
            Ok(Merging::Serial) => serial += 1,
            Ok(Merging::Parallel) => parallel += 1,
            Err(refusal) => {
                assert!(matches!(refusal, Refusal::Itself(_) | Refusal::Apart(..)), "in a tree: {refusal}");
                continue;
            }
        }
        let merged = graph.merged(a, b, &RULE).unwrap();
        let saved = 0.85 * costs[a].min(costs[b]) / 1000.0;
        assert_close(&[needs(&merged)], &[needs(&graph) - saved], 1e-12);
        assert_eq!((merged.nodes().len(), merged.cores()), (nodes - 1, 1));
    }
    assert!(serial > 20 && parallel > 10, "{serial}, {parallel}");
}
