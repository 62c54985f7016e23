//! A study for a reader: sections of at most 80 columns.

use std::collections::HashSet;

use bief_schedule::Period;
use bief_schedule::realtime::{Basis, Budget, Link, Plan};

use super::study::{Shown, Study};
use crate::draw::graph::{Arrow, Block, Parts};
use crate::table;
use crate::text::{COLUMNS, counted, listed, printable, wrapped};
use crate::units::{nanoseconds, significant};

/// What Linux admits of the cores: always, and before its fair server.
const ADMITTED: [f64; 2] = [0.90, 0.95];
/// The periods and the least budget that `SCHED_DEADLINE` takes, in nanoseconds.
const PERIODS_NS: [f64; 2] = [100e3, 4.194e9];
const LEAST_BUDGET_NS: f64 = 1024.0;
/// The most plans that a table shows.
const MOST_PLANS: usize = 12;

pub(super) fn text(study: &Study) -> String {
    let mut lines = wrapped(&heading(study), COLUMNS);
    for fact in summary(study) {
        lines.extend(wrapped(&fact, COLUMNS));
    }
    if let Some(shown) = study.shown() {
        let mut section = |title: &str, rows: Vec<String>| {
            lines.extend([String::new(), title.to_owned()]);
            lines.extend(rows);
        };
        section("Tasks", tasks(study, &shown));
        section("Latency, from the oldest sample of a source's job", sinks(study, &shown));
        if !shown.graph.links().is_empty() {
            section("Edges, in tokens per job", edges(study, &shown));
        }
        lines.push(String::new());
        for fact in [Some(basis(study, &shown)), Some(admission(&shown)), observed(study)].into_iter().flatten() {
            lines.extend(wrapped(&fact, COLUMNS));
        }
    }
    if study.limit.is_none() {
        lines.push(String::new());
        lines.extend(wrapped(
            "Plans to choose from, the cheapest of each batch (firings of the fastest source in a job); --latency takes \
             the cheapest within a limit",
            COLUMNS,
        ));
        lines.extend(front(study));
    }
    lines.join("\n")
}

/// What is looked at.
pub(super) fn heading(study: &Study) -> String {
    let graph = &study.graph;
    let cores = match graph.cores() {
        0 => "cores of their own".to_owned(),
        cores => counted(cores as usize, "shared core"),
    };
    format!(
        "{}: {} and {} on {cores}, by global EDF.",
        printable(&study.title),
        counted(graph.nodes().len(), "node"),
        counted(graph.links().len(), "edge")
    )
}

/// The sentences below the heading: the answer.
pub(super) fn summary(study: &Study) -> Vec<String> {
    let as_it_is = match &study.as_it_is {
        Ok(bounds) => format!(
            "As it is, it needs {} cores and is done within {}.",
            significant(bounds.utilisation),
            latency(bounds.latency_ns(), bounds.latency_on_platform_ns(), study)
        ),
        Err(error) => format!("As it is, it does not fit: {error}."),
    };
    let Some(plan) = &study.chosen else { return vec![as_it_is] };
    let limit = study.limit.map_or(0.0, Period::ns);
    let less = match &study.as_it_is {
        Ok(bounds) => format!(" ({:.0} % less)", 100.0 * (1.0 - plan.bounds.utilisation / bounds.utilisation)),
        Err(_) => String::new(),
    };
    let found = format!(
        "Within {}: jobs of {} of the fastest source, {}. It needs {} cores{less} and is done within {}.",
        nanoseconds(limit),
        counted(plan.firings as usize, "firing"),
        merged(plan, study.graph.nodes().len()),
        significant(plan.bounds.utilisation),
        latency(plan.bounds.latency_ns(), plan.bounds.latency_on_platform_ns(), study),
    );
    vec![as_it_is, found]
}

fn merged(plan: &Plan, nodes: usize) -> String {
    match plan.groups.len() {
        tasks if tasks == nodes => "nothing merged".to_owned(),
        tasks => format!("{} merged into {}", counted(nodes, "node"), counted(tasks, "task")),
    }
}

fn latency(theory: f64, platform: f64, study: &Study) -> String {
    if study.analysis().platform_ns > 0.0 {
        format!("{}, or {} with the allowance", nanoseconds(theory), nanoseconds(platform))
    } else {
        nanoseconds(theory)
    }
}

/// The task's nodes, with the number of their firings in a job where it is more than one.
fn members(study: &Study, group: &[usize]) -> Vec<String> {
    let batch = |node: usize| study.chosen.as_ref().map_or(1, |plan| plan.batches[node]);
    let member = |&node: &usize| {
        let name = printable(&study.graph.nodes()[node].name);
        match batch(node) {
            1 => name,
            firings => format!("{name}×{firings}"),
        }
    };
    group.iter().map(member).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share))
}

fn tasks(study: &Study, shown: &Shown) -> Vec<String> {
    let with_budget = study.analysis().budget != Budget::Cost;
    let mut headings = vec!["#", "nodes", "period", "cost"];
    headings.extend(with_budget.then_some("budget"));
    headings.extend(["busy", "response"]);
    headings.extend(study.observed.is_some().then_some("observed"));
    let rows: Vec<Vec<String>> = study
        .groups()
        .iter()
        .zip(&shown.bounds.tasks)
        .enumerate()
        .map(|(task, (group, bounds))| {
            let mut row = vec![(task + 1).to_string(), members(study, group).join(", ")];
            row.extend([nanoseconds(bounds.period_ns), nanoseconds(bounds.cost_ns)]);
            row.extend(with_budget.then(|| nanoseconds(bounds.budget_ns)));
            row.extend([percent(bounds.utilisation), nanoseconds(bounds.response_ns)]);
            row.extend(study.observed.as_ref().map(|report| nanoseconds(report.tasks[task].response_ns)));
            row
        })
        .collect();
    table::columns(&headings, &rows, Some(1))
}

/// What a task is called where its number is shown elsewhere.
fn label(study: &Study, task: usize) -> String {
    match &study.groups()[task][..] {
        [node] => printable(&study.graph.nodes()[*node].name),
        _ => format!("task {}", task + 1),
    }
}

fn sinks(study: &Study, shown: &Shown) -> Vec<String> {
    let analysis = study.analysis();
    let mut headings = vec!["sink", "at most", "filling", "responses", "of that late"];
    headings.extend((analysis.jitter_ns > 0.0).then_some("jitter"));
    headings.extend((analysis.platform_ns > 0.0).then_some("with allowance"));
    headings.extend(study.observed.is_some().then_some("observed"));
    let rows: Vec<Vec<String>> = shown
        .bounds
        .sinks
        .iter()
        .enumerate()
        .map(|(index, sink)| {
            let parts = sink.parts;
            let mut row = vec![label(study, sink.node)];
            row.extend([sink.latency_ns, parts.filling_ns, parts.response_ns, parts.tardiness_ns].map(nanoseconds));
            row.extend((analysis.jitter_ns > 0.0).then(|| nanoseconds(parts.jitter_ns)));
            row.extend((analysis.platform_ns > 0.0).then(|| nanoseconds(sink.latency_on_platform_ns)));
            row.extend(study.observed.as_ref().map(|report| nanoseconds(report.sinks[index].latency_ns)));
            row
        })
        .collect();
    table::columns(&headings, &rows, Some(0))
}

fn edges(study: &Study, shown: &Shown) -> Vec<String> {
    let links = shown.graph.links();
    let with_delay = links.iter().any(|link| link.delay > 0);
    let mut headings = vec!["edge", "produce", "threshold", "consume"];
    headings.extend(with_delay.then_some("delay"));
    headings.push("buffer");
    let allowance = study.analysis().platform_ns > 0.0;
    headings.extend(allowance.then_some("with allowance"));
    headings.extend(study.observed.is_some().then_some("observed"));
    let rows: Vec<Vec<String>> = links
        .iter()
        .zip(&shown.bounds.edges)
        .enumerate()
        .map(|(index, (link, bounds))| {
            let mut row = vec![format!("{} -> {}", label(study, link.from), label(study, link.to))];
            row.extend([link.produce, link.threshold, link.consume].map(|tokens| tokens.to_string()));
            row.extend(with_delay.then(|| link.delay.to_string()));
            row.push(bounds.tokens.to_string());
            row.extend(allowance.then(|| bounds.tokens_on_platform.to_string()));
            row.extend(study.observed.as_ref().map(|report| report.tokens[index].to_string()));
            row
        })
        .collect();
    table::columns(&headings, &rows, Some(0))
}

/// What the bounds rest on.
fn basis(study: &Study, shown: &Shown) -> String {
    let latest = shown.bounds.tasks.iter().map(|task| task.tardiness_ns).fold(0.0, f64::max);
    let late = |by: &str| format!("Bounds: jobs are late by up to {}, by {by}.", nanoseconds(latest));
    match shown.bounds.basis {
        Basis::OwnCores => "Bounds: no node shares cores.".to_owned(),
        Basis::OneCore => "Bounds: no job is late, for all tasks together need no more than one core.".to_owned(),
        Basis::UtilisationTest => {
            let (cores, busiest) = (f64::from(study.graph.cores()), busiest(shown));
            format!(
                "Bounds: no job is late, for U = {} is no more than M - (M - 1) u = {} (Goossens, Funk and Baruah).",
                significant(shown.bounds.reserved),
                significant(cores - (cores - 1.0) * busiest)
            )
        }
        Basis::DeviAnderson => late("Devi and Anderson"),
        Basis::CompliantVector => late("compliant vectors (Erickson, Devi and Baruah)"),
        Basis::RefinedCompliantVector => late("refined compliant vectors (Erickson, Anderson and Ward)"),
        Basis::FairLateness => late(
            "fair lateness (Erickson, Anderson and Ward), with priority points before the ends of \
                                     the periods",
        ),
    }
}

/// The greatest utilisation of a task on shared cores, as reserved.
fn busiest(shown: &Shown) -> f64 {
    let shared = shown.graph.nodes().iter().zip(&shown.bounds.tasks).filter(|(node, _)| node.own_cores.is_none());
    shared.map(|(_, task)| task.budget_ns / task.period_ns).fold(0.0, f64::max)
}

/// Whether Linux would take the tasks as they are.
fn admission(shown: &Shown) -> String {
    let cores = f64::from(shown.graph.cores());
    if cores == 0.0 {
        return "Linux: nothing to admit as SCHED_DEADLINE, for no cores are shared.".to_owned();
    }
    let reserved = shown.bounds.reserved;
    let verdict = match reserved / cores {
        share if share <= ADMITTED[0] => "which it admits",
        share if share <= ADMITTED[1] => "which it admits before 6.12 only",
        _ => "which it refuses: --cap 0.9 takes only what it admits",
    };
    let shared = shown.graph.nodes().iter().zip(&shown.bounds.tasks).enumerate();
    let out = shared.filter(|(_, (node, task))| {
        let period_fits = task.period_ns >= PERIODS_NS[0] && task.period_ns <= PERIODS_NS[1];
        node.own_cores.is_none() && !(period_fits && task.budget_ns >= LEAST_BUDGET_NS)
    });
    let out: Vec<String> = out.map(|(index, _)| (index + 1).to_string()).collect();
    let remark = match &out[..] {
        [] => String::new(),
        out => format!(
            " It takes no periods outside 100 us to 4.19 s and no budgets below 1.03 us, as of {} {}.",
            if out.len() == 1 { "task" } else { "tasks" },
            listed(out)
        ),
    };
    format!(
        "Linux: as SCHED_DEADLINE these reserve {} of {}, {verdict} (up to 0.95 of them, 0.90 since 6.12).{remark}",
        significant(reserved),
        counted(shown.graph.cores() as usize, "core")
    )
}

fn observed(study: &Study) -> Option<String> {
    let report = study.observed.as_ref()?;
    let jobs: u64 = report.tasks.iter().map(|task| task.jobs).sum();
    Some(format!(
        "Observed: the most in {} of simulated time, {}, each as long as its cost.",
        nanoseconds(report.span_ns),
        counted(jobs as usize, "job")
    ))
}

fn front(study: &Study) -> Vec<String> {
    let mut seen = HashSet::new();
    // The front ends with the cheapest.
    let cheapest: Vec<&Plan> = study.front.iter().rev().filter(|plan| seen.insert(plan.firings)).collect();
    let allowance = study.analysis().platform_ns > 0.0;
    let mut headings = vec!["batch", "tasks", "cores", "latency"];
    headings.extend(allowance.then_some("with allowance"));
    let rows: Vec<Vec<String>> = cheapest
        .iter()
        .rev()
        .take(MOST_PLANS)
        .map(|plan| {
            let mut row = vec![plan.firings.to_string(), plan.groups.len().to_string()];
            row.extend([significant(plan.bounds.utilisation), nanoseconds(plan.bounds.latency_ns())]);
            row.extend(allowance.then(|| nanoseconds(plan.bounds.latency_on_platform_ns())));
            row
        })
        .collect();
    let mut lines = table::columns(&headings, &rows, None);
    if let Some(more) = cheapest.len().checked_sub(MOST_PLANS + 1) {
        let most = cheapest[0].firings;
        lines.push(format!("and {} more, in batches of up to {most} (--json, --curve)", more + 1));
    }
    lines
}

/// What is drawn of the graph.
pub(super) fn parts(study: &Study) -> Parts {
    let graph = study.drawn();
    let groups = study.groups();
    let block = |task: usize| {
        let period = graph.period(task).ns();
        let cost = graph.cost_ns(task) + study.analysis().handover_ns;
        let title = match &groups[task][..] {
            [_] => members(study, &groups[task]).join(", "),
            group => format!("task {}: {}", task + 1, counted(group.len(), "node")),
        };
        let rate = format!("{} Hz, every {}, {}", significant(1e9 / period), nanoseconds(period), nanoseconds(cost));
        let nodes = if groups[task].len() > 1 { members(study, &groups[task]).join(", ") } else { String::new() };
        Block { title, lines: vec![rate, nodes], busy: cost / period }
    };
    let arrow = |&Link { from, to, produce, threshold, consume, .. }: &Link| Arrow {
        from,
        to,
        label: format!("{produce} / {threshold} / {consume}"),
    };
    Parts {
        blocks: (0..graph.nodes().len()).map(block).collect(),
        arrows: graph.links().iter().map(arrow).collect(),
        note: "Box: firings or jobs per second, period, cost, and how much of a core it is busy. Arrow: tokens that a job \
               produces / that must be there / that a job consumes."
            .to_owned(),
    }
}
