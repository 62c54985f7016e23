//! Batches, the graphs of He and Ward's evaluation, and the search for the best plan.

use bief_schedule::realtime::{
    Analysis, Cost, Edge, Graph, MergeRule, Node, Optimiser, RandomGraphs, rate_exploiting, uniform,
};
use bief_schedule::{ErrorKind, Period};
use fastrand::Rng;

use super::examples::radio;
use super::{assert_close, fixed, graph};

#[test]
fn batches_are_in_step() {
    // By 3, by 2, and back by 4: three firings of the source, one of n1, …
    let graph = graph(1000, &[1.0; 4], &[(0, 1, 1, 3, 3), (1, 2, 1, 2, 2), (2, 3, 4, 1, 1)]);
    assert_eq!(graph.hyperperiod(), Some(Period::from(6000)));
    let batches = |firings| rate_exploiting(&graph, firings).unwrap();
    assert_eq!(batches(1), [1, 1, 1, 1]);
    // 4 ms: n1 takes 3 ms and does not fit a second time, n2 takes 6, n3 1.5 and fits in n2 four times, or two.
    assert_eq!(batches(4), [4, 1, 1, 2]);
    assert_eq!(batches(6), [6, 2, 1, 4]);
    assert_eq!(batches(12), [12, 4, 2, 8]);
    let step = graph.batched(&batches(12)).unwrap();
    assert!((0..4).all(|node| step.period(node) == Period::from(12_000)));
    assert!(step.links().iter().all(|link| link.produce == link.consume && link.consume == link.threshold));
    // Equal numbers of samples: 12 firings, 4, 6 of what takes 2, 12.
    assert_eq!(uniform(&graph, 12).unwrap(), [12, 4, 6, 12]);
    assert_eq!(uniform(&graph, 13).unwrap(), [13, 5, 7, 13]);
}

#[test]
fn a_batch_changes_what_it_should() {
    let cost = Cost { init_ns: 100.0, per_sample_ns: 3.0 };
    let nodes = [Node::source("n0", Period::from(1000), cost), Node::new("n1", cost)];
    let graph = Graph::new(nodes, [Edge::new("n0", "n1").rates(5, 2).threshold(9).delay(1)]).unwrap();
    assert_eq!((graph.samples(0), graph.samples(1)), (5, 2));
    let batched = graph.batched(&[2, 4]).unwrap();
    let link = batched.links()[0];
    assert_eq!((link.produce, link.threshold, link.consume, link.delay), (10, 3 * 2 + 9, 8, 1));
    assert_eq!((batched.period(0), batched.period(1)), (Period::from(2000), Period::from(1600)));
    assert_eq!((batched.cost_ns(0), batched.cost_ns(1)), (100.0 + 3.0 * 10.0, 100.0 + 3.0 * 8.0));
    assert_eq!((batched.batch(0), batched.samples(1)), (2, 8));
    assert_eq!(batched.batched(&[3, 1]).unwrap(), graph.batched(&[6, 4]).unwrap());
}

#[test]
fn batches_that_cannot_be_are_refused() {
    let graph = graph(1000, &[1.0; 2], &[(0, 1, 1, 3, 3)]);
    let refused = |batches: &[u64]| {
        let error = graph.batched(batches).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Graph);
        error.to_string()
    };
    assert_eq!(refused(&[1]), "graph, batches: 1 for 2 nodes: give one number of firings per node");
    assert_eq!(refused(&[1, 0]), "graph, node `n1`: a job of 0 firings does nothing: give at least 1");
    assert_eq!(
        refused(&[1, u64::MAX]),
        "graph, node `n1`: a job of 18446744073709551615 firings is too large: batch less"
    );
    assert!(refused(&[1 << 49, 1]).ends_with("write at most 2^48 tokens; count larger ones, or batch less"));
    assert!(uniform(&graph, 0).unwrap_err().to_string().contains("give at least 1"));
    assert!(rate_exploiting(&graph, 0).unwrap_err().to_string().contains("give at least 1"));
    assert!(rate_exploiting(&graph, u64::MAX).unwrap_err().to_string().contains("batch less"));
}

const SIZES: [u64; 7] = [1, 2, 4, 8, 16, 64, 256];

/// The mean utilisation, and the mean latency of the graphs that fit in microseconds, by size of batch.
struct Means {
    utilisation: Vec<f64>,
    latency_us: Vec<f64>,
}

fn evaluate(graphs: &[Graph], batches: impl Fn(&Graph, u64) -> Vec<u64>) -> Means {
    let (mut utilisation, mut latency_us) = (vec![0.0; SIZES.len()], vec![0.0; SIZES.len()]);
    let mut fitting = [0.0; SIZES.len()];
    for graph in graphs {
        let mut before = f64::INFINITY;
        for (index, size) in SIZES.into_iter().enumerate() {
            let graph = graph.batched(&batches(graph, size)).unwrap();
            let needs: f64 = (0..graph.nodes().len()).map(|node| graph.cost_ns(node) / graph.period(node).ns()).sum();
            assert!(needs <= before * (1.0 + 1e-12), "larger batches never need more");
            before = needs;
            utilisation[index] += needs / graphs.len() as f64;
            if let Ok(bounds) = Analysis::default().bounds(&graph) {
                latency_us[index] += bounds.latency_ns() / 1e3;
                fitting[index] += 1.0;
            }
        }
    }
    for (latency, fitting) in latency_us.iter_mut().zip(fitting) {
        *latency /= fitting;
    }
    Means { utilisation, latency_us }
}

#[test]
fn batches_bring_what_the_evaluation_of_he_and_ward_shows() {
    let random = &mut Rng::with_seed(1);
    for (name, graphs) in [("light", RandomGraphs::light()), ("heavy", RandomGraphs::heavy())] {
        let graphs: Vec<Graph> = (0..300).map(|_| graphs.sample(random).unwrap()).collect();
        let even = evaluate(&graphs, |graph, size| uniform(graph, size).unwrap());
        let step = evaluate(&graphs, |graph, size| rate_exploiting(graph, size).unwrap());
        println!("{name}, batches of {SIZES:?}");
        println!("uniform: utilisation {:.3?}, latency {:.0?} us", even.utilisation, even.latency_us);
        println!("rate-exploiting: utilisation {:.3?}, latency {:.0?} us", step.utilisation, step.latency_us);
        for (index, size) in SIZES.into_iter().enumerate() {
            assert!(size < 4 || step.latency_us[index] <= even.latency_us[index], "{name}, {size}");
        }
        if name == "light" {
            for means in [&even, &step] {
                let left = means.utilisation[2] / means.utilisation[0];
                assert!((0.35..=0.45).contains(&left), "{left}");
                // Four samples at once: less than 0.1 ms more.
                assert!(means.latency_us[2] < means.latency_us[0] + 100.0);
            }
        }
    }
}

#[test]
fn random_graphs_are_as_described() {
    for (graphs, nodes) in [(RandomGraphs::light(), 5..=10), (RandomGraphs::heavy(), 15..=30)] {
        let random = &mut Rng::with_seed(2);
        let (mut joins, mut decimators, mut edges) = (0, 0, 0);
        for _ in 0..200 {
            let graph = graphs.sample(random).unwrap();
            assert!(nodes.contains(&graph.nodes().len()) && graph.cores() == 8);
            for node in 0..graph.nodes().len() {
                assert!(graph.period(node) <= Period::from(256_000));
                assert!(graph.inputs(node).len() <= 2 && graph.inputs(node).is_empty() == (node == 0));
                joins += usize::from(graph.inputs(node).len() == 2);
            }
            assert!(graph.links().iter().all(|link| link.to - link.from <= 4 && link.produce == 1));
            decimators += graph.links().iter().filter(|link| link.consume > 1).count();
            edges += graph.links().len();
        }
        assert!(joins * 20 > edges && joins * 5 < edges);
        assert!(decimators * 5 > edges && decimators * 3 < edges);
        assert_eq!(graphs.sample(&mut Rng::with_seed(3)), graphs.sample(&mut Rng::with_seed(3)));
    }
    assert!(RandomGraphs { nodes: (0, 0), ..RandomGraphs::light() }.sample(&mut Rng::with_seed(1)).is_err());
}

#[test]
fn plans_are_what_they_say_and_none_is_worse_than_another() {
    let optimiser = Optimiser { max_firings: 64, ..Optimiser::default() };
    for seed in 0..20 {
        let graph = RandomGraphs::light().sample(&mut Rng::with_seed(seed)).unwrap();
        let front = optimiser.front(&graph).unwrap();
        for plan in &front {
            let mut nodes = plan.groups.concat();
            nodes.sort_unstable();
            assert_eq!(nodes, (0..graph.nodes().len()).collect::<Vec<_>>());
            assert_eq!(plan.bounds, optimiser.analysis.bounds(&plan.graph).unwrap());
            let batched = graph.batched(&plan.batches).unwrap();
            for (node, group) in plan.groups.iter().enumerate() {
                let name = |&node: &usize| graph.nodes()[node].name.as_str();
                assert_eq!(plan.graph.nodes()[node].name, group.iter().map(name).collect::<Vec<_>>().join("+"));
                let apart: f64 = group.iter().map(|&node| batched.cost_ns(node)).sum();
                assert!(plan.graph.cost_ns(node) <= apart + 1e-6);
                // No node runs before another of its group that feeds it.
                for link in graph.links() {
                    let place = |node: usize| group.iter().position(|&other| other == node);
                    if let (Some(from), Some(to)) = (place(link.from), place(link.to)) {
                        assert!(from < to);
                    }
                }
            }
        }
        for pair in front.windows(2) {
            assert!(pair[0].bounds.latency_ns() < pair[1].bounds.latency_ns());
            assert!(pair[0].bounds.utilisation > pair[1].bounds.utilisation);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn the_best_plan_is_within_the_latency() {
    let random = &mut Rng::with_seed(1);
    for (name, graphs) in [("light", RandomGraphs::light()), ("heavy", RandomGraphs::heavy())] {
        let graphs: Vec<Graph> = (0..60).map(|_| graphs.sample(random).unwrap()).collect();
        for latency_us in [200.0, 500.0] {
            let apart = Optimiser { merging: None, ..Optimiser::default() };
            let (mut fits, mut fits_apart, mut needs, mut needs_apart) = (0, 0, 0.0, 0.0);
            for graph in &graphs {
                let latency_ns = latency_us * 1e3;
                let merged = Optimiser::default().min_utilisation(graph, latency_ns);
                let apart = apart.min_utilisation(graph, latency_ns);
                if let Ok(plan) = &apart {
                    let merged = merged.as_ref().expect("merging is not demanded");
                    assert!(merged.bounds.utilisation <= plan.bounds.utilisation);
                    (fits_apart, needs_apart) = (fits_apart + 1, needs_apart + plan.bounds.utilisation);
                }
                match merged {
                    Ok(plan) => {
                        assert!(plan.bounds.latency_ns() <= latency_ns);
                        (fits, needs) = (fits + 1, needs + plan.bounds.utilisation);
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::RealTime),
                }
            }
            let (mean, mean_apart) = (needs / f64::from(fits), needs_apart / f64::from(fits_apart));
            println!("{name}, {latency_us} us: {fits_apart} of 60 need {mean_apart:.3}, merged {fits} need {mean:.3}");
            assert!(fits >= fits_apart && mean < mean_apart);
        }
    }
}

#[test]
fn the_search_by_hand() {
    let graph = radio();
    // All in one task: N samples take N - 1 us to come, and the task N more: 64 do it in 127 us.
    let best = Optimiser::default().min_utilisation(&graph, 127_000.0).unwrap();
    assert_eq!((best.firings, best.groups.len()), (64, 1));
    assert_close(&[best.bounds.utilisation, best.bounds.latency_ns()], &[0.090390625, 127_000.0], 1e-6);
    let less = Optimiser::default().min_utilisation(&graph, 126_999.0).unwrap();
    assert!(less.bounds.utilisation > best.bounds.utilisation);
    // Without merging 8 samples are done in 39 us.
    let apart = Optimiser { merging: None, ..Optimiser::default() };
    let best = apart.min_utilisation(&graph, 39_000.0).unwrap();
    assert_eq!(best.batches, [8, 8, 2, 2]);
    assert_close(&[best.bounds.utilisation], &[0.22], 1e-9);
    let refused = apart.min_utilisation(&graph, 5_000.0).unwrap_err().to_string();
    assert_eq!(
        refused,
        "optimiser, latency: no plan is below 5 us: the least latency found is 13 us; allow that, or give more cores"
    );
}

#[test]
fn a_search_that_cannot_be_is_refused() {
    let graph = graph(1000, &[900.0, 900.0], &[(0, 1, 1, 1, 1)]);
    let refused = |optimiser: Optimiser| optimiser.min_utilisation(&graph, 1e6).unwrap_err().to_string();
    let ok = Optimiser::default();
    // One core, and two nodes that nearly fill it each: a job of any size costs 900 ns.
    assert!(ok.min_utilisation(&graph, 1e6).is_ok());
    assert!(refused(Optimiser { max_firings: 1, ..ok }).starts_with("analysis, cores: the nodes need 1.800 cores"));
    assert_eq!(refused(Optimiser { max_firings: 0, ..ok }), "optimiser, max_firings: 0: allow at least 1");
    let rule = |init_share, max_utilisation| Some(MergeRule { init_share, max_utilisation, only: None });
    assert_eq!(
        refused(Optimiser { merging: rule(1.5, 0.9), ..ok }),
        "optimiser, init_share: 1.5: write a share from 0 to 1"
    );
    assert_eq!(
        refused(Optimiser { merging: rule(0.1, 0.0), ..ok }),
        "optimiser, max_utilisation: 0: write a share above 0 and up to 1"
    );
    assert_eq!(
        ok.min_utilisation(&graph, f64::NAN).unwrap_err().to_string(),
        "optimiser, latency: NaN ns: write a latency above 0 ns"
    );
    // What fits only with larger jobs than the latency leaves time for is told by its latency.
    assert_eq!(
        ok.min_utilisation(&graph, 500.0).unwrap_err().to_string(),
        "optimiser, latency: no plan is below 500 ns: the least latency found is 3 us; allow that, or give more cores"
    );
    // Batches that are too large are left out.
    let wide = super::graph(1000, &[100.0, 100.0], &[(0, 1, 1 << 46, 1 << 46, 1 << 46)]);
    let plan = Optimiser { merging: None, ..ok }.min_utilisation(&wide, 1e9).unwrap();
    assert_eq!(plan.batches, [4, 4]);
    // What does not fit apart may fit merged.
    let nodes = [Node::source("a", Period::from(1000), fixed(520.0)), Node::new("b", fixed(500.0))];
    let graph = Graph::new(nodes, [Edge::new("a", "b")]).unwrap();
    let plan = Optimiser { max_firings: 1, ..ok }.min_utilisation(&graph, 1e6).unwrap();
    assert_close(&[plan.bounds.utilisation], &[0.595], 1e-9);
}
