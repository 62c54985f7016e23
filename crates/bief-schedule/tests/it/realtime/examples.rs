//! Bounds that were worked out by hand.

use bief_schedule::Period;
use bief_schedule::realtime::{
    Analysis, Basis, Bounds, Budget, Cost, Edge, FiringRate, Graph, MergeRule, Method, Node, rate_exploiting, uniform,
};

use super::{assert_close, fixed, graph};

fn bounds(graph: &Graph, method: Method) -> Bounds {
    Analysis { method, ..Analysis::default() }.bounds(graph).unwrap()
}

fn tardiness(bounds: &Bounds) -> Vec<f64> {
    bounds.tasks.iter().map(|task| task.tardiness_ns).collect()
}

fn response(bounds: &Bounds) -> Vec<f64> {
    bounds.tasks.iter().map(|task| task.response_ns).collect()
}

fn completion(bounds: &Bounds) -> Vec<f64> {
    bounds.tasks.iter().map(|task| task.completion_ns).collect()
}

fn tokens(bounds: &Bounds) -> Vec<u64> {
    bounds.edges.iter().map(|edge| edge.tokens).collect()
}

/// A source, a decimator by 4, a sink.
fn chain() -> Graph {
    graph(1000, &[500.0, 2000.0, 1000.0], &[(0, 1, 1, 4, 4), (1, 2, 1, 1, 1)]).with_cores(2)
}

/// A source that feeds two branches, which meet again.
fn diamond() -> Graph {
    let edges = [(0, 1, 4, 7, 3), (0, 2, 2, 6, 6), (1, 3, 1, 4, 4), (2, 3, 1, 1, 1)];
    graph(1200, &[900.0, 600.0, 2400.0, 1800.0], &edges).with_cores(3)
}

#[test]
fn a_chain_that_meets_all_deadlines() {
    let bounds = bounds(&chain(), Method::Automatic);
    assert_eq!(bounds.utilisation, 1.25);
    assert_eq!(tardiness(&bounds), [0.0; 3]);
    assert_eq!(response(&bounds), [1000.0, 4000.0, 4000.0]);
    assert_eq!(completion(&bounds), [1000.0, 8000.0, 12000.0]);
    assert_eq!(bounds.latency_ns(), 12000.0);
    assert_eq!(tokens(&bounds), [9, 3]);
}

#[test]
fn a_latency_is_filling_and_responses() {
    let parts = |bounds: &Bounds| {
        let parts = bounds.sinks[0].parts;
        [parts.filling_ns, parts.jitter_ns, parts.response_ns, parts.tardiness_ns]
    };
    // The decimator waits for three more samples.
    let on_time = Analysis { jitter_ns: 100.0, ..Analysis::default() }.bounds(&chain()).unwrap();
    assert_eq!(on_time.basis, Basis::UtilisationTest);
    assert_eq!(parts(&on_time), [3000.0, 100.0, 9000.0, 0.0]);
    let late = bounds(&chain(), Method::DeviAnderson);
    assert_eq!((late.basis, parts(&late)), (Basis::DeviAnderson, [3000.0, 0.0, 14750.0, 5750.0]));
    // Over n2, which waits for six tokens of two each; and a burst of four on the other way.
    let diamond = bounds(&diamond(), Method::Automatic);
    assert_eq!(diamond.basis, Basis::RefinedCompliantVector);
    assert_close(&parts(&diamond), &[3300.0, 0.0, 16514.29, 2171.43 + 3171.43 + 2771.43], 0.01);
    // Tokens at the start let the sink begin at once, whatever the source's jitter.
    let ahead = graph(1000, &[500.0, 500.0], &[(0, 1, 1, 1, 1)]);
    let nodes = ahead.nodes().to_vec();
    let ahead = Graph::new(nodes, [Edge::new("n0", "n1").delay(5)]).unwrap();
    let ahead = Analysis { jitter_ns: 100.0, ..Analysis::default() }.bounds(&ahead).unwrap();
    assert_eq!((ahead.latency_ns(), parts(&ahead)), (6000.0, [5000.0, 0.0, 1000.0, 0.0]));
}

#[test]
fn a_chain_by_each_method() {
    let devi = bounds(&chain(), Method::DeviAnderson);
    assert_eq!(tardiness(&devi), [1250.0, 2750.0, 1750.0]);
    assert_eq!(completion(&devi), [2250.0, 12000.0, 17750.0]);
    assert_eq!((devi.latency_ns(), tokens(&devi)), (17750.0, vec![13, 4]));
    for method in [Method::CompliantVector, Method::RefinedCompliantVector] {
        let vector = bounds(&chain(), method);
        let plain = method == Method::CompliantVector;
        assert_close(&tardiness(&vector), &[1250.0, 2000.0, 1500.0], 1e-9);
        assert_close(&completion(&vector), &[2250.0, 11250.0, 16750.0], 1e-9);
        assert_eq!((vector.latency_ns(), tokens(&vector)), (16750.0, vec![12, 4]), "plain: {plain}");
    }
    let fair = bounds(&chain(), Method::FairLateness);
    assert_close(&response(&fair), &[2166.67, 5166.67, 5166.67], 0.01);
    assert_close(&[fair.latency_ns()], &[15500.0], 1e-9);
    assert_eq!(fair.tasks[1].priority_point_ns, 3000.0);
    let refused = Analysis::default().bounds(&chain().with_cores(1)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "analysis, cores: the nodes need 1.250 cores and may have 1.000 of 1, most of it for `n0` 0.500, `n1` 0.500, `n2` \
         0.250: batch more, lower the rate, or give more cores"
    );
}

#[test]
fn a_diamond_by_each_method() {
    let graph = diamond();
    let rates = [(1, 1200), (4, 3600), (1, 3600), (1, 3600)];
    for (node, (firings, interval_ns)) in rates.into_iter().enumerate() {
        assert_eq!(graph.rate(node), FiringRate { firings, interval_ns });
    }
    assert_eq!((0..4).map(|node| graph.period(node).num()).collect::<Vec<_>>(), [1200, 900, 3600, 3600]);
    assert!(graph.speeds_up(0) && !graph.speeds_up(1));
    assert!(Analysis::default().bounds(&graph.clone().with_cores(2)).is_err());

    let devi = bounds(&graph, Method::DeviAnderson);
    assert_close(&[devi.utilisation], &[2.583333], 1e-6);
    assert_close(&tardiness(&devi), &[2500.0, 2200.0, 4000.0, 3400.0], 1e-9);
    assert_close(&completion(&devi), &[3700.0, 8600.0, 13700.0, 20700.0], 1e-9);
    assert_eq!(tokens(&devi), [32, 24, 22, 6]);
    let plain = bounds(&graph, Method::CompliantVector);
    assert_close(&tardiness(&plain), &[2436.36, 2236.36, 3436.36, 3036.36], 0.01);
    let refined = bounds(&graph, Method::RefinedCompliantVector);
    assert_close(&tardiness(&refined), &[2171.43, 1971.43, 3171.43, 2771.43], 0.01);
    assert_close(&response(&refined), &[3371.43, 2871.43, 6771.43, 6371.43], 0.01);
    assert_close(&completion(&refined), &[3371.43, 8042.86, 12542.86, 18914.29], 0.01);
    assert_eq!(tokens(&refined), [30, 22, 20, 5]);
    assert_close(&[refined.latency_ns()], &[19814.29], 0.01);
    assert_eq!(bounds(&graph, Method::Automatic), refined);
}

/// Sources that nothing joins, of one period and one cost.
fn alike(count: usize, period: u64, cost: f64, cores: u32) -> Graph {
    let source = |index| Node::source(format!("n{index}"), Period::from(period), fixed(cost));
    Graph::new((0..count).map(source), []).unwrap().with_cores(cores)
}

#[test]
fn equal_tasks_by_each_method() {
    let graph = alike(3, 10, 8.0, 3);
    for (method, late) in [
        (Method::Automatic, 11.636),
        (Method::DeviAnderson, 11.636),
        (Method::CompliantVector, 13.714),
        (Method::RefinedCompliantVector, 11.636),
    ] {
        assert_close(&tardiness(&bounds(&graph, method)), &[late; 3], 0.001);
    }
    assert_close(&response(&bounds(&graph, Method::FairLateness)), &[21.429; 3], 0.001);
}

#[test]
fn cores_may_be_full() {
    let graph = alike(3, 3, 2.0, 2);
    for method in [Method::Automatic, Method::DeviAnderson, Method::CompliantVector, Method::RefinedCompliantVector] {
        assert_close(&tardiness(&bounds(&graph, method)), &[2.0; 3], 1e-12);
    }
    assert!(Analysis { cap: 0.95, ..Analysis::default() }.bounds(&graph).is_err());
}

#[test]
fn what_an_edge_adds() {
    // Four firings fill a threshold of 4: the last comes 3 periods after the first.
    let gather = bounds(&graph(1000, &[0.0, 0.0], &[(0, 1, 1, 4, 4)]), Method::Automatic);
    assert_eq!(completion(&gather), [1000.0, 1000.0 + 3000.0 + 4000.0]);
    assert_eq!(gather.latency_ns(), 8000.0);
    // Of four tokens of a firing, the last is consumed 3 firings after the first.
    let spread = bounds(&graph(1000, &[0.0, 0.0], &[(0, 1, 4, 1, 1)]), Method::Automatic);
    assert_eq!(completion(&spread), [1000.0, 1250.0]);
    assert_eq!(spread.latency_ns(), 1250.0 + 750.0);
    // History that is there at the start is not waited for.
    let nodes = || [Node::source("n0", Period::from(1000), fixed(0.0)), Node::new("n1", fixed(0.0))];
    let fir = |delay| Graph::new(nodes(), [Edge::new("n0", "n1").rates(1, 1).threshold(8).delay(delay)]).unwrap();
    assert_eq!(completion(&bounds(&fir(0), Method::Automatic)), [1000.0, 9000.0]);
    assert_eq!(completion(&bounds(&fir(7), Method::Automatic)), [1000.0, 2000.0]);
    // A sample's last use is when it leaves the history.
    assert_eq!(bounds(&fir(7), Method::Automatic).latency_ns(), 9000.0);
}

#[test]
fn jitter_and_allowance_count_apart() {
    let graph = chain();
    let analysis = Analysis { jitter_ns: 300.0, platform_ns: 50.0, ..Analysis::default() };
    let bounds = analysis.bounds(&graph).unwrap();
    assert_eq!(bounds.latency_ns(), 12300.0);
    assert_eq!(bounds.latency_on_platform_ns(), 12300.0 + 3.0 * 50.0);
    assert_eq!(completion(&bounds), [1300.0, 8300.0, 12300.0]);
    assert_eq!(bounds.edges[1].tokens, 3);
    let bounds = Analysis { platform_ns: 2000.0, ..analysis }.bounds(&graph).unwrap();
    assert_eq!(bounds.edges[0].tokens_on_platform, 13);
    assert_eq!(bounds.edges[0].tokens, 9);
}

#[test]
fn budgets_count_in_place_of_costs() {
    let graph = graph(1000, &[100.0, 200.0], &[(0, 1, 1, 1, 1)]);
    let with = |budget| Analysis { budget, ..Analysis::default() }.bounds(&graph.clone().with_cores(2)).unwrap();
    let some = with(Budget::Factor(1.15));
    assert_close(&[some.tasks[1].budget_ns, some.reserved, some.utilisation], &[230.0, 0.345, 0.3], 1e-9);
    assert_close(&[some.tasks[1].recovery.unwrap()], &[1.0 / 0.15], 1e-9);
    assert_close(&[with(Budget::Factor(2.0)).tasks[0].recovery.unwrap()], &[1.0], 1e-9);
    assert_eq!(with(Budget::Cost).tasks[0].recovery, None);
    assert_eq!(with(Budget::Largest).tasks[0].budget_ns, 200.0);
    // A budget is no longer than the period.
    assert_eq!(with(Budget::Factor(7.0)).tasks[1].budget_ns, 1000.0);

    let full = Analysis { budget: Budget::Largest, cap: 0.9, ..Analysis::default() };
    let bounds = full.bounds(&graph.with_cores(1)).unwrap();
    assert_close(&[bounds.reserved, bounds.tasks[0].budget_ns], &[0.6, 200.0], 1e-9);
    let bounds = full.bounds(&chain()).unwrap();
    assert_close(&[bounds.reserved, bounds.tasks[1].budget_ns], &[1.8, 2000.0 * 1.8 / 1.25], 1e-6);
    let over = Analysis { budget: Budget::Factor(1.5), cap: 0.9, ..Analysis::default() }.bounds(&chain()).unwrap_err();
    assert_eq!(
        over.to_string(),
        "analysis, budget: 1.5 times the costs take 1.875 cores, and they may have 1.800: give a smaller factor, or none"
    );
}

#[test]
fn own_cores_answer_at_once() {
    let nodes = [
        Node::source("source", Period::from(1000), fixed(400.0)).on_own_cores(1),
        Node::new("decode", fixed(2500.0)).on_own_cores(3),
        Node::new("sink", fixed(100.0)),
    ];
    let edges = [Edge::new("source", "decode"), Edge::new("decode", "sink")];
    let graph = Graph::new(nodes.clone(), edges.clone()).unwrap();
    let found = bounds(&graph, Method::Automatic);
    assert_eq!(response(&found), [400.0, 2500.0, 1000.0]);
    assert_eq!(found.latency_ns(), 3900.0);
    assert_close(&[found.utilisation, found.shared_utilisation], &[3.0, 0.1], 1e-12);
    let mut few = nodes;
    few[1].own_cores = Some(2);
    let refused = Analysis::default().bounds(&Graph::new(few, edges).unwrap()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "analysis, node `decode`: a job takes 2.5 us every 1 us, which needs 2.500 cores, and its own are fewer: batch \
         more, make it cheaper, or give it more cores"
    );
}

#[test]
fn settings_out_of_range_are_refused() {
    let wrong = |analysis: Analysis| analysis.bounds(&chain()).unwrap_err().to_string();
    let ok = Analysis::default();
    assert_eq!(
        wrong(Analysis { cap: 0.0, ..ok }),
        "analysis, cap: 0: write a share of the cores' time above 0 and up to 1"
    );
    assert_eq!(
        wrong(Analysis { budget: Budget::Factor(0.5), ..ok }),
        "analysis, budget: 0.5 times the cost: write a finite factor of at least 1"
    );
    for (analysis, name) in [
        (Analysis { handover_ns: -1.0, ..ok }, "handover_ns"),
        (Analysis { jitter_ns: f64::NAN, ..ok }, "jitter_ns"),
        (Analysis { platform_ns: f64::INFINITY, ..ok }, "platform_ns"),
    ] {
        let message = wrong(analysis);
        assert!(message.starts_with(&format!("analysis, {name}: ")) && message.ends_with("time of 0 ns or more"));
    }
    assert_eq!(
        ok.bounds(&chain().with_cores(0)).unwrap_err().to_string(),
        "analysis, cores: there are none, and `n0` has none of its own: give cores"
    );
    // A hand-over makes each job longer.
    let bounds = Analysis { handover_ns: 250.0, ..ok }.bounds(&chain()).unwrap();
    assert_eq!(bounds.tasks[0].cost_ns, 750.0);
}

/// A source at 1 MHz, a filter, a decimator by 4, a sink.
pub(super) fn radio() -> Graph {
    let cost = |init: f64, per_sample: f64| Cost { init_ns: 1e3 * init, per_sample_ns: 1e3 * per_sample };
    let nodes = [
        Node::source_hz("source", 1e6, cost(0.2, 0.01)).unwrap(),
        Node::new("a", cost(0.4, 0.02)),
        Node::new("decimator", cost(0.3, 0.05)),
        Node::new("sink", cost(0.2, 0.01)),
    ];
    let edges = [Edge::new("source", "a"), Edge::new("a", "decimator").rates(1, 4), Edge::new("decimator", "sink")];
    Graph::new(nodes, edges).unwrap().with_cores(2)
}

#[test]
fn batches_trade_latency_for_utilisation() {
    let graph = radio();
    let of = |graph: &Graph| {
        let bounds = bounds(graph, Method::Automatic);
        (bounds.utilisation, bounds.latency_ns() / 1e3)
    };
    let costs = |graph: &Graph| (0..4).map(|node| graph.cost_ns(node)).collect::<Vec<_>>();
    let check = |graph: &Graph, utilisation: f64, latency: f64| {
        let (found, late) = of(graph);
        assert_close(&[found, late], &[utilisation, latency], 1e-6);
    };
    check(&graph, 0.8075, 13.0);
    assert_close(&costs(&graph), &[210.0, 420.0, 500.0, 210.0], 1e-9);

    let even = graph.batched(&uniform(&graph, 8).unwrap()).unwrap();
    assert_close(&costs(&even), &[280.0, 560.0, 700.0, 280.0], 1e-9);
    assert_eq!((0..4).map(|node| even.period(node).num()).collect::<Vec<_>>(), [8000, 8000, 8000, 32000]);
    check(&even, 0.20125, 87.0);

    let step = graph.batched(&rate_exploiting(&graph, 8).unwrap()).unwrap();
    assert_close(&costs(&step), &[280.0, 560.0, 700.0, 220.0], 1e-9);
    assert!((0..4).all(|node| step.period(node) == Period::from(8000)));
    check(&step, 0.22, 39.0);
    // From the release of the job, the oldest of 8 samples is 7 us old.
    assert_eq!(bounds(&step, Method::Automatic).sinks[0].release_latency_ns, 32_000.0);

    let one = (1..4).fold(step, |graph, _| graph.merged(0, 1, &MergeRule::default()).unwrap());
    assert_eq!(one.nodes()[0].name, "source+a+decimator+sink");
    assert_close(&[one.nodes()[0].cost.init_ns, one.cost_ns(0)], &[505.0, 1165.0], 1e-9);
    check(&one, 0.145625, 15.0);

    let even = graph.batched(&uniform(&graph, 64).unwrap()).unwrap();
    check(&even, 0.09734375, 703.0);
    let step = graph.batched(&rate_exploiting(&graph, 64).unwrap()).unwrap();
    check(&step, 0.0996875, 319.0);
    let one = (1..4).fold(step, |graph, _| graph.merged(0, 1, &MergeRule::default()).unwrap());
    check(&one, 0.090390625, 127.0);
}
