//! What is a graph, and what is not.

use bief_schedule::realtime::{Cost, Edge, FiringRate, Graph, Node, Optimiser};
use bief_schedule::{Error, ErrorKind, Period};
use proptest::prelude::*;

use super::fixed;

fn source(name: &str) -> Node {
    Node::source(name, Period::from(1000), fixed(1.0))
}

fn node(name: &str) -> Node {
    Node::new(name, fixed(1.0))
}

#[track_caller]
fn assert_refused(nodes: Vec<Node>, edges: Vec<Edge>, message: &str) {
    let error = Graph::new(nodes, edges).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Graph);
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_is_no_graph_is_refused_with_the_place() {
    let two = || vec![source("a"), node("b")];
    assert_refused(vec![], vec![], "graph, nodes: there is none: a graph has at least one node");
    assert_refused(vec![source("")], vec![], "graph, nodes[0]: the name is empty: name the node");
    assert_refused(
        vec![source("a"), source("a")],
        vec![],
        "graph, nodes[1] (`a`): nodes[0] has this name, too: give each node a name of its own",
    );
    assert_refused(
        two(),
        vec![Edge::new("a", "c")],
        "graph, edges[0] (`a` -> `c`): there is no node `c`: add it, or correct the name",
    );
    assert_refused(
        two(),
        vec![Edge::new("a", "b").rates(0, 1)],
        "graph, edges[0] (`a` -> `b`): `produce` is 0: a firing produces and consumes at least 1 token",
    );
    assert_refused(
        two(),
        vec![Edge::new("a", "b").rates(1, 0)],
        "graph, edges[0] (`a` -> `b`): `consume` is 0: a firing produces and consumes at least 1 token",
    );
    assert_refused(
        two(),
        vec![Edge::new("a", "b").rates(1, 4).threshold(3)],
        "graph, edges[0] (`a` -> `b`): `threshold` is 3, below the 4 tokens that a firing consumes: write at least 4, or \
         leave it out",
    );
    assert_refused(
        two(),
        vec![Edge::new("a", "b").delay(u64::MAX)],
        "graph, edges[0] (`a` -> `b`): `delay` is 18446744073709551615: write at most 2^48 tokens; count larger ones, or \
         batch less",
    );
    assert_refused(
        two(),
        vec![],
        "graph, node `b`: nothing feeds it and it has no rate: give it a rate (`rate_hz`), or an edge to it",
    );
    assert_refused(
        vec![source("a"), source("b")],
        vec![Edge::new("a", "b")],
        "graph, node `b`: it has a rate and inputs, and the rate follows from the inputs: leave the rate out",
    );
    assert_refused(
        vec![Node::source("a", Period::ZERO, fixed(1.0))],
        vec![],
        "graph, node `a`: its period is 0: write the time between two firings, in nanoseconds",
    );
    assert_refused(
        vec![source("a").on_own_cores(0)],
        vec![],
        "graph, node `a`: `own_cores` is 0: write at least 1, or leave it out for a node on the shared cores",
    );
    for (name, init_ns, per_sample_ns) in [("init_ns", -1.0, 0.0), ("per_sample_ns", 0.0, f64::NAN)] {
        let node = Node::source("a", Period::from(1), Cost { init_ns, per_sample_ns });
        let message = Graph::new([node], []).unwrap_err().to_string();
        assert!(message.starts_with(&format!("graph, node `a`: `{name}` is ")), "{message}");
        assert!(message.ends_with("write a finite number of nanoseconds, 0 or more"), "{message}");
    }
}

#[test]
fn cycles_are_named() {
    let nodes = vec![source("s"), node("a"), node("b"), node("c"), node("behind")];
    let ring = [("s", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "behind")];
    let message =
        "graph, edges: cycle `a` -> `b` -> `c` -> `a`: the analysis needs a graph without cycles; take an edge out";
    assert_refused(nodes, ring.map(|(from, to)| Edge::new(from, to)).to_vec(), message);
    let message = "graph, edges: cycle `a` -> `a`: the analysis needs a graph without cycles; take an edge out";
    assert_refused(vec![source("s"), node("a")], vec![Edge::new("s", "a"), Edge::new("a", "a")], message);
}

#[test]
fn edges_that_meet_agree_on_a_rate() {
    let nodes = vec![source("n0"), node("n1"), node("n2")];
    let edges =
        vec![Edge::new("n0", "n1").rates(2, 3), Edge::new("n0", "n2").rates(1, 2), Edge::new("n1", "n2").rates(1, 1)];
    let message = "graph, node `n2`: its inputs do not agree on a rate: edges[1] (`n0` -> `n2`) brings it to one firing in \
                   2000 ns, edges[2] (`n1` -> `n2`) to one in 1500 ns; correct what is produced or consumed there";
    assert_refused(nodes, edges, message);
}

#[test]
fn rates_beyond_64_bits_are_refused() {
    let large = 1 << 47;
    let nodes = vec![source("a"), node("b"), node("c")];
    let edges = vec![Edge::new("a", "b").rates(1, large), Edge::new("b", "c").rates(1, large)];
    let message = "graph, node `c`: its rate is no fraction of 64-bit numbers: choose rates, or numbers of tokens, with \
                   common factors";
    assert_refused(nodes, edges, message);
}

const JSON: &str = r#"{
  "format": 1,
  "cores": 2,
  "nodes": [
    {"name": "src", "rate_hz": 1e6, "init_ns": 200, "per_sample_ns": 10},
    {"name": "fir", "init_ns": 300.5, "per_sample_ns": 50, "own_cores": 2, "alone": true}
  ],
  "edges": [
    {"from": "src", "to": "fir", "produce": 1, "threshold": 7, "consume": 4, "delay": 3}
  ]
}"#;

#[test]
fn a_document_is_read() {
    let nodes = [
        Node::source_hz("src", 1e6, Cost { init_ns: 200.0, per_sample_ns: 10.0 }).unwrap(),
        Node::new("fir", Cost { init_ns: 300.5, per_sample_ns: 50.0 }).on_own_cores(2).alone(),
    ];
    let edge = Edge::new("src", "fir").rates(1, 4).threshold(7).delay(3);
    let graph = Graph::new(nodes, [edge]).unwrap().with_cores(2);
    assert_eq!(Graph::from_json(JSON).unwrap(), graph);
    assert_eq!(graph.period(1), Period::from(4000));
    assert_eq!(graph.node("fir"), Some(1));
    // What may be left out.
    let short = JSON.replace(r#", "delay": 3"#, "").replace(r#""threshold": 7, "#, "");
    let link = Graph::from_json(&short).unwrap().links()[0];
    assert_eq!((link.threshold, link.delay), (4, 0));
    // A rate that is no whole number of nanoseconds stays exact.
    let nbfm = Graph::from_json(&JSON.replace("1e6", "576000")).unwrap();
    assert_eq!(nbfm.rate(0), FiringRate { firings: 9, interval_ns: 15_625 });
}

#[test]
fn a_document_with_errors_is_refused_with_the_place() {
    for (what, with, message) in [
        (r#""format": 1"#, r#""format": 2"#, "graph, line 2 column 13: format 2 is unknown"),
        (r#""cores": 2"#, r#""cores": -1"#, "graph, line 3 column 13: invalid value: integer `-1`, expected u32"),
        (r#""cores": 2,"#, "", "graph, line 11 column 1: missing field `cores`"),
        (r#""name": "src""#, r#""nome": "src""#, "graph, line 5 column 11: unknown field `nome`"),
        (r#""delay": 3"#, r#""delay": 3, "size": 1"#, "unknown field `size`"),
        (r#""produce": 1"#, r#""produce": 1.5"#, "invalid type: floating point `1.5`, expected u64"),
        (r#""produce": 1, "#, "", "missing field `produce`"),
        ("1e6", "1e999", "number out of range"),
        ("1e6", "0", "graph, node `src`: a rate of 0 Hz: write how often the source fires in a second"),
        ("1e6", "-5", "graph, node `src`: a rate of -5 Hz"),
        ("300.5", "-300.5", "graph, node `fir`: `init_ns` is -300.5"),
        (r#""to": "fir""#, r#""to": "fur""#, "graph, edges[0] (`src` -> `fur`): there is no node `fur`"),
        (r#""own_cores": 2"#, r#""own_cores": 0"#, "graph, node `fir`: `own_cores` is 0"),
        ("  ]\n}", "  ]", "the text is not JSON there"),
    ] {
        let text = JSON.replacen(what, with, 1);
        assert_ne!(text, JSON, "{what}");
        let found = Graph::from_json(&text).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
}

/// A source and nodes that each feed the next.
fn line(nodes: usize) -> Result<Graph, Error> {
    let cost = Cost { init_ns: 1.0, per_sample_ns: 1.0 };
    let name = |node: usize| format!("n{node}");
    let source = Node::source(name(0), Period::from(1_000_000), cost);
    let others = (1..nodes).map(|node| Node::new(name(node), cost));
    Graph::new([source].into_iter().chain(others), (1..nodes).map(|node| Edge::new(name(node - 1), name(node))))
}

#[test]
fn graphs_that_would_take_minutes_are_refused() {
    let error = line(Graph::MAX_NODES + 1).unwrap_err();
    assert_eq!((error.kind(), error.place()), (ErrorKind::Graph, "graph, nodes"));
    assert_eq!(
        error.reason(),
        "there are 10001, at most 10000 are analysed: give those that always run together as one node"
    );
    let graph = line(Graph::MAX_NODES / 2).unwrap();
    let error = Optimiser::default().front(&graph).unwrap_err();
    assert_eq!((error.kind(), error.place()), (ErrorKind::RealTime, "optimiser, merging"));
    let reason = "the graph has too many nodes to merge two at a time: give those that always run together as one node, or \
                  allow no merging";
    assert_eq!(error.reason(), reason);
    assert!(Optimiser { merging: None, max_firings: 1, ..Optimiser::default() }.front(&graph).is_ok());
}

proptest! {
    /// Whatever numbers a document holds, it is a graph whose batches and bounds can be asked for, or an error.
    #[test]
    fn no_document_makes_it_panic(
        rate in prop_oneof![1 => any::<f64>(), 4 => Just(1e6), 1 => Just(5e-324), 1 => Just(1e308)],
        costs in (cost(), cost()),
        edges in prop::collection::vec(((0usize..4, 0usize..4), prop::array::uniform4(tokens())), 0..5),
        batches in prop::array::uniform4(tokens()),
        firings in tokens(),
        cores in 0u32..3,
    ) {
        use bief_schedule::realtime::{Analysis, Optimiser, rate_exploiting, uniform};
        let json = |value: f64| if value.is_finite() { value.to_string() } else { "0".to_owned() };
        let nodes: Vec<String> = (0..4).map(|index| {
            let rate = if index == 0 || edges.iter().all(|edge| edge.0.1 != index) {
                format!(r#""rate_hz": {}, "#, json(rate))
            } else {
                String::new()
            };
            format!(r#"{{"name": "{index}", {rate}"init_ns": {}, "per_sample_ns": {}}}"#, json(costs.0), json(costs.1))
        }).collect();
        let edges: Vec<String> = edges.iter().map(|((from, to), [produce, threshold, consume, delay])| {
            format!(
                r#"{{"from": "{from}", "to": "{to}", "produce": {produce}, "threshold": {threshold}, "consume": {consume}, "delay": {delay}}}"#
            )
        }).collect();
        let text = format!(
            r#"{{"format": 1, "cores": {cores}, "nodes": [{}], "edges": [{}]}}"#,
            nodes.join(", "),
            edges.join(", ")
        );
        if let Ok(graph) = Graph::from_json(&text) {
            let bounds = Analysis::default().bounds(&graph);
            if let Ok(bounds) = bounds {
                prop_assert!(bounds.latency_ns() >= 0.0, "{text}");
            }
            let _ = graph.batched(&batches).map(|graph| Analysis::default().bounds(&graph));
            let _ = uniform(&graph, firings).and_then(|batches| graph.batched(&batches));
            let _ = rate_exploiting(&graph, firings).and_then(|batches| graph.batched(&batches));
            let _ = Optimiser::default().min_utilisation(&graph, costs.0.abs());
        }
    }
}

fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0f64..100.0, 1 => any::<f64>()]
}

fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1u64..8, 1 => any::<u64>(), 1 => Just(1 << 48), 1 => Just(0), 1 => 1u64..1 << 20]
}
