//! A text is refused as a processing graph, or it is read, batched, bounded, and planned within its own latency.
#![no_main]

use bief_schedule::realtime::{Analysis, Graph, Optimiser, rate_exploiting, uniform};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(graph) = Graph::from_json(text) else { return };
    let analysis = Analysis::default();
    for firings in [1, 6, 1024] {
        for batches in [uniform(&graph, firings), rate_exploiting(&graph, firings)].into_iter().flatten() {
            let Ok(batched) = graph.batched(&batches) else { continue };
            let Ok(bounds) = analysis.bounds(&batched) else { continue };
            assert!(bounds.utilisation <= f64::from(graph.cores()) + own_cores(&graph) + 1e-6);
            assert!(bounds.sinks.iter().all(|sink| sink.latency_ns >= 0.0));
        }
    }
    // Every step of the search bounds every pair of neighbours.
    if graph.nodes().len() > 12 {
        return;
    }
    let optimiser = Optimiser { max_firings: 16, ..Optimiser::default() };
    if let Ok(front) = optimiser.front(&graph) {
        let latency = front.last().expect("a front has a plan").bounds.latency_on_platform_ns();
        if latency > 0.0 && latency.is_finite() {
            let plan = optimiser.min_utilisation(&graph, latency).expect("the front has such a plan");
            assert!(plan.bounds.latency_on_platform_ns() <= latency);
        }
    }
});

fn own_cores(graph: &Graph) -> f64 {
    graph.nodes().iter().map(|node| f64::from(node.own_cores.unwrap_or(0))).sum()
}
