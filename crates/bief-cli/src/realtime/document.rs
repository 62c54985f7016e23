//! A study for a machine.

use bief_schedule::realtime::{Bounds, Graph, Plan};
use serde_json::{Value, json};

use super::study::Study;

pub(super) fn json(study: &Study) -> Value {
    let nodes: Vec<Vec<usize>> = (0..study.graph.nodes().len()).map(|node| vec![node]).collect();
    let as_it_is = study.as_it_is.as_ref();
    json!({
        "title": study.title,
        "cores": study.graph.cores(),
        "limit_ns": study.limit.map(|limit| limit.ns()),
        "bounds": as_it_is.ok().map(|found| bounds(study, &study.graph, &nodes, found)),
        "refusal": as_it_is.err().map(ToString::to_string),
        "plan": study.chosen.as_ref().map(|plan| chosen(study, plan)),
        "front": study.front.iter().map(|plan| entry(study, plan)).collect::<Vec<_>>(),
        "simulated": study.observed,
    })
}

fn names(study: &Study, group: &[usize]) -> Vec<String> {
    group.iter().map(|&node| study.graph.nodes()[node].name.clone()).collect()
}

/// The bounds of a graph whose tasks are those groups of the given nodes.
fn bounds(study: &Study, graph: &Graph, groups: &[Vec<usize>], found: &Bounds) -> Value {
    let mut json = json!(found);
    json["latency_ns"] = found.latency_ns().into();
    json["latency_on_platform_ns"] = found.latency_on_platform_ns().into();
    for (task, group) in groups.iter().enumerate() {
        json["tasks"][task]["nodes"] = json!(names(study, group));
    }
    for (edge, link) in graph.links().iter().enumerate() {
        let json = &mut json["edges"][edge];
        json["from"] = link.from.into();
        json["to"] = link.to.into();
        json["produce"] = link.produce.into();
        json["threshold"] = link.threshold.into();
        json["consume"] = link.consume.into();
        json["delay"] = link.delay.into();
    }
    json
}

fn chosen(study: &Study, plan: &Plan) -> Value {
    let batches = study.graph.nodes().iter().zip(&plan.batches);
    json!({
        "firings": plan.firings,
        "batches": batches.map(|(node, batch)| json!({"node": node.name, "firings": batch})).collect::<Vec<_>>(),
        "bounds": bounds(study, &plan.graph, &plan.groups, &plan.bounds),
    })
}

fn entry(study: &Study, plan: &Plan) -> Value {
    json!({
        "firings": plan.firings,
        "groups": plan.groups.iter().map(|group| names(study, group)).collect::<Vec<_>>(),
        "utilisation": plan.bounds.utilisation,
        "latency_ns": plan.bounds.latency_ns(),
        "latency_on_platform_ns": plan.bounds.latency_on_platform_ns(),
    })
}
