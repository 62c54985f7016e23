//! Random graphs in the simulator of global EDF: nothing that is observed is above its bound.

use bief_schedule::Period;
use bief_schedule::realtime::{
    Analysis, Bounds, Cost, Edge, Graph, MergeRule, Method, Node, RandomGraphs, rate_exploiting,
};
use bief_schedule::simulate::{EdfReport, GlobalEdf, Work};
use bief_schedule::{Error, ErrorKind};
use fastrand::Rng;

use super::{fixed, graph};

/// Graphs of 3 to 8 nodes with joins, several sources, interpolators, history, initial tokens and some nodes on cores of
/// their own, on 1 to 4 cores that are used by up to 50, 80, 95 or 100 %; all times are whole nanoseconds.
fn random_graph(random: &mut Rng) -> Graph {
    let count = random.usize(3..=8);
    // How often each node fires while all come round once.
    let firings: Vec<u64> = (0..count).map(|_| random.u64(1..=12)).collect();
    let round = 27_720 * random.u64(1..=4);
    let mut edges = Vec::new();
    let mut fed = vec![false; count];
    for node in 1..count {
        let inputs = if random.f64() < 0.15 { 0 } else { random.usize(1..=2) };
        for _ in 0..inputs {
            let from = random.usize(..node);
            let divides = |d: &u64| [node, from].iter().all(|&node| firings[node].is_multiple_of(*d));
            let common = (1..=12).rev().find(divides).unwrap();
            let (produce, consume) = (firings[node] / common, firings[from] / common);
            let times = random.u64(1..=12 / produce.max(consume));
            let history = if random.bool() { random.u64(0..8) } else { 0 };
            let delay = if random.u8(..4) == 0 { random.u64(0..20) } else { 0 };
            let edge = Edge::new(from.to_string(), node.to_string()).rates(times * produce, times * consume);
            edges.push(edge.threshold(times * consume + history).delay(delay));
            fed[node] = true;
        }
    }
    let cores = random.u32(1..=4);
    let own = random.bool();
    let own_cores: Vec<Option<u32>> =
        (0..count).map(|_| (own && random.u8(..4) == 0).then(|| random.u32(1..=3))).collect();
    let weights: Vec<f64> = (0..count).map(|_| random.f64()).collect();
    let shared = (0..count).filter(|&node| own_cores[node].is_none());
    let use_of_all = [0.5, 0.8, 0.95, 1.0][random.usize(..4)] * f64::from(cores);
    let scale = use_of_all / shared.map(|node| weights[node]).sum::<f64>();
    let nodes = (0..count).map(|node| {
        let period = round / firings[node];
        let utilisation = match own_cores[node] {
            None => (weights[node] * scale).min(1.0),
            Some(cores) => weights[node] * f64::from(cores),
        };
        let cost = fixed((utilisation * period as f64).floor());
        let made = if fed[node] {
            Node::new(node.to_string(), cost)
        } else {
            Node::source(node.to_string(), Period::from(period), cost)
        };
        Node { own_cores: own_cores[node], ..made }
    });
    Graph::new(nodes, edges).unwrap().with_cores(cores)
}

/// How far below the bounds what is observed lies, in the mean over the graphs.
#[derive(Default)]
struct Tightness {
    sum: f64,
    count: u32,
    most: f64,
}

impl Tightness {
    fn add(&mut self, observed: f64, bound: f64) {
        if bound > 0.0 {
            self.sum += observed / bound;
            self.count += 1;
            self.most = self.most.max(observed / bound);
        }
    }
}

impl std::fmt::Display for Tightness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} in the mean, {:.3} at most", self.sum / f64::from(self.count), self.most)
    }
}

#[derive(Default)]
struct Seen {
    tardiness: Tightness,
    completion: Tightness,
    latency: Tightness,
    tokens: Tightness,
    /// Tasks on shared cores that were late. (`tardiness` is about the latest of each run.)
    late: u32,
}

impl Seen {
    fn check(&mut self, graph: &Graph, report: &EdfReport, bounds: &Bounds, what: &str) {
        let (mut latest, mut may_be_late) = (0.0f64, false);
        for (node, (task, bound)) in report.tasks.iter().zip(&bounds.tasks).enumerate() {
            let within =
                |found: f64, bound: f64| assert!(found <= bound + 1e-6, "{what}, node {node}: {found} > {bound}");
            within(task.response_ns, bound.response_ns);
            within(task.tardiness_ns, bound.tardiness_ns);
            within(task.completion_ns, bound.completion_ns);
            if graph.nodes()[node].own_cores.is_none() && bound.tardiness_ns > 0.0 {
                latest = latest.max(task.tardiness_ns / bound.tardiness_ns);
                may_be_late = true;
                self.late += u32::from(task.tardiness_ns > 0.0);
            }
            self.completion.add(task.completion_ns, bound.completion_ns);
        }
        if may_be_late {
            self.tardiness.add(latest, 1.0);
        }
        for (sink, bound) in report.sinks.iter().zip(&bounds.sinks) {
            assert_eq!(sink.node, bound.node);
            let (found, bound) = (sink.latency_ns, bound.latency_ns);
            assert!(found <= bound + 1e-6, "{what}, sink {}: {found} > {bound}", sink.node);
            if sink.source_jobs > 0 {
                self.latency.add(found, bound);
            }
        }
        for (edge, (&found, bound)) in report.tokens.iter().zip(&bounds.edges).enumerate() {
            assert!(found <= bound.tokens, "{what}, edge {edge}: {found} > {}", bound.tokens);
            self.tokens.add(found as f64, bound.tokens as f64);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn nothing_is_later_or_fuller_than_its_bound() {
    let (mut all_shared, mut some_own) = (Seen::default(), Seen::default());
    let mut graphs = 0;
    for seed in 0..3200 {
        let random = &mut Rng::with_seed(seed);
        let mut graph = random_graph(random);
        if seed % 4 == 3 {
            let batches: Vec<u64> = graph.nodes().iter().map(|_| random.u64(1..=4)).collect();
            graph = graph.batched(&batches).unwrap();
        }
        let fair = seed % 8 == 5;
        let methods: &[Method] = if fair {
            &[Method::FairLateness]
        } else {
            &[Method::Automatic, Method::RefinedCompliantVector, Method::CompliantVector, Method::DeviAnderson]
        };
        let jitter_ns = if random.bool() { 0.0 } else { random.u64(0..100_000) as f64 };
        let analysis = |method| Analysis { method, jitter_ns, ..Analysis::default() };
        let bounds: Vec<Bounds> = methods.iter().map(|&method| analysis(method).bounds(&graph).unwrap()).collect();
        for work in [Work::Worst, Work::Uniform { least: 0.2 }] {
            let mut machine = GlobalEdf::new(&graph).work(work).unwrap().jitter_ns(jitter_ns).unwrap();
            if fair {
                machine = machine.fair_lateness();
            }
            let report = machine.run(300, random).unwrap();
            let shared = graph.nodes().iter().all(|node| node.own_cores.is_none());
            let seen = if shared { &mut all_shared } else { &mut some_own };
            seen.check(&graph, &report, &bounds[0], &format!("seed {seed}, {work:?}, {:?}", methods[0]));
            for (bounds, method) in bounds.iter().zip(methods).skip(1) {
                Seen::default().check(&graph, &report, bounds, &format!("seed {seed}, {work:?}, {method:?}"));
            }
        }
        graphs += 1;
    }
    println!("{graphs} graphs; observed by bound:");
    for (what, seen) in [("all on shared cores", &all_shared), ("some on their own", &some_own)] {
        println!("{what}, {} tasks late:", seen.late);
        println!("tardiness {}\ncompletion {}", seen.tardiness, seen.completion);
        println!("latency {}\ntokens {}", seen.latency, seen.tokens);
        // The bounds were put to the test, and say something.
        let latency = &seen.latency;
        assert!(seen.late > 100 && latency.most > 0.9 && latency.sum > 0.3 * f64::from(latency.count));
    }
}

#[test]
fn batched_and_merged_graphs_stay_within_their_bounds() {
    let mut seen = Seen::default();
    for seed in 0..300 {
        let random = &mut Rng::with_seed(seed);
        let graph = RandomGraphs::light().sample(random).unwrap().with_cores(2);
        let firings = 1 << random.u32(2..6);
        let mut graph = graph.batched(&rate_exploiting(&graph, firings).unwrap()).unwrap();
        for _ in 0..random.u32(0..4) {
            let pairs = graph.links().iter().map(|link| (link.from, link.to));
            let merged = pairs.filter_map(|(from, to)| graph.merged(from, to, &MergeRule::default()).ok()).next();
            graph = merged.unwrap_or(graph);
        }
        let Ok(bounds) = Analysis::default().bounds(&graph) else { continue };
        for work in [Work::Worst, Work::Uniform { least: 0.5 }] {
            let report = GlobalEdf::new(&graph).work(work).unwrap().run(200, random).unwrap();
            seen.check(&graph, &report, &bounds, &format!("seed {seed}, {work:?}"));
        }
    }
    println!("latency {}\ntokens {}", seen.latency, seen.tokens);
    assert!(seen.latency.count > 500 && seen.latency.most > 0.4);
}

#[test]
fn the_refined_bound_is_the_least() {
    for seed in 0..500 {
        let graph = random_graph(&mut Rng::with_seed(seed));
        let late = |method| {
            let bounds = Analysis { method, ..Analysis::default() }.bounds(&graph).unwrap();
            bounds.tasks.iter().map(|task| task.tardiness_ns).collect::<Vec<_>>()
        };
        let (refined, automatic) = (late(Method::RefinedCompliantVector), late(Method::Automatic));
        for other in [late(Method::CompliantVector), late(Method::DeviAnderson)] {
            assert!(refined.iter().zip(&other).all(|(refined, other)| *refined <= other * (1.0 + 1e-9)), "seed {seed}");
        }
        assert!(automatic.iter().zip(&refined).all(|(automatic, refined)| automatic <= refined), "seed {seed}");
    }
}

#[test]
fn what_is_simulated_is_known_by_hand() {
    // Two of three tasks of 2 in 3 run at first, the third begins when they are done: at 4 it is 1 late.
    let source = |name: &str| Node::source(name, Period::from(3), fixed(2.0));
    let graph = Graph::new(["a", "b", "c"].map(source), []).unwrap().with_cores(2);
    let report = GlobalEdf::new(&graph).run(100, &mut Rng::with_seed(1)).unwrap();
    assert_eq!(report.tasks.iter().map(|task| task.jobs).collect::<Vec<_>>(), [100; 3]);
    assert_eq!(report.tasks[2].response_ns, 4.0);
    // From 2 to 3 one of the cores has nothing to do: it is 301 until both have done the work of 600.
    assert_eq!(report.span_ns, 301.0);

    // A later job with an earlier deadline takes the core.
    let nodes =
        [Node::source("long", Period::from(10), fixed(5.0)), Node::source("short", Period::from(4), fixed(1.0))];
    let graph = Graph::new(nodes, []).unwrap();
    let report = GlobalEdf::new(&graph).run(200, &mut Rng::with_seed(1)).unwrap();
    assert_eq!(report.tasks.iter().map(|task| task.tardiness_ns).collect::<Vec<_>>(), [0.0, 0.0]);
    assert_eq!((report.tasks[0].response_ns, report.tasks[1].response_ns), (7.0, 1.0));

    // Periods of thirds of a nanosecond are exact.
    let third = Graph::new([Node::source("a", Period::new(10, 3).unwrap(), fixed(1.0))], []).unwrap();
    assert_eq!(GlobalEdf::new(&third).run(30, &mut Rng::with_seed(1)).unwrap().span_ns, 29.0 * 10.0 / 3.0 + 1.0);

    // Three replicas, each busy for two and a half periods: none waits.
    let nodes = [Node::source("a", Period::from(1000), fixed(100.0)), Node::new("b", fixed(2500.0)).on_own_cores(3)];
    let graph = Graph::new(nodes, [Edge::new("a", "b")]).unwrap();
    let report = GlobalEdf::new(&graph).run(50, &mut Rng::with_seed(1)).unwrap();
    assert_eq!((report.tasks[1].response_ns, report.latency_ns(), report.tokens[0]), (2500.0, 2600.0, 3));
}

#[test]
fn a_simulation_that_cannot_be_is_refused() {
    let graph = graph(1000, &[1.0], &[]);
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Simulation);
        error.to_string()
    };
    assert_eq!(
        refused(GlobalEdf::new(&graph).work(Work::Uniform { least: 2.0 }).unwrap_err()),
        "simulation, work: a least share of 2: write a share from 0 to 1"
    );
    assert_eq!(
        refused(GlobalEdf::new(&graph).jitter_ns(-1.0).unwrap_err()),
        "simulation, jitter: -1 ns: write a finite time of 0 ns or more"
    );
    let run = |graph: &Graph, jobs| refused(GlobalEdf::new(graph).run(jobs, &mut Rng::with_seed(1)).unwrap_err());
    assert_eq!(run(&graph, 1 << 40), "simulation, jobs: there would be 1.1e12: run fewer source jobs");
    assert_eq!(
        run(&graph, u64::MAX),
        "simulation, time: the simulated time passes 2^64 units: give fewer jobs, or periods with common factors"
    );
    let endless = Node::source("a", Period::from(1 << 62), Cost { init_ns: 1e19, per_sample_ns: 0.0 });
    assert!(run(&Graph::new([endless], []).unwrap(), 2).starts_with("simulation, time: "));
}
