//! A processing graph under preemptive global EDF, job by job.

use std::collections::VecDeque;

use fastrand::Rng;
use serde::Serialize;

use super::recurrence::lcm;
use crate::error::{Error, ErrorKind};
use crate::period::Period;
use crate::realtime::Graph;

/// The most jobs that a simulation runs.
const MAX_JOBS: f64 = 1e8;

/// How long the simulated jobs of a node take.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Work {
    /// What they [cost](Graph::cost_ns), every time.
    #[default]
    Worst,
    /// That by a factor that is uniform from `least` to 1.
    Uniform {
        /// From 0 to 1.
        least: f64,
    },
}

/// A simulated [`Graph`] on cores that its nodes share by preemptive global EDF.
///
/// # Model
///
/// It is that of [`Analysis`](crate::realtime::Analysis), whose bounds it is there to test: job *j* of a node is
/// released as soon as *s* + *p* · (jobs that the producer has completed) ≥ *t* + *j* *c* on each of its edges, and its
/// period has passed since job *j* - 1 was released. At any time the shared cores work on the released jobs whose
/// deadlines come first, one of each node; a node with cores of its own begins a job as soon as it may and one of them
/// is free. Source jobs are due once per period, when their samples are there, and released up to the jitter later.
/// Preemption takes no time, and no job waits for place in a buffer. Time is counted in a fraction of a
/// nanosecond that makes all periods whole; what jobs take is rounded down to it.
///
/// # Example
///
/// ```
/// use bief_schedule::Period;
/// use bief_schedule::realtime::{Analysis, Cost, Edge, Graph, Node};
/// use bief_schedule::simulate::GlobalEdf;
///
/// let cost = |ns: f64| Cost { init_ns: ns, per_sample_ns: 0.0 };
/// let nodes = [Node::source("source", Period::from(1_000), cost(500.0)), Node::new("decimator", cost(2_000.0))];
/// let graph = Graph::new(nodes, [Edge::new("source", "decimator").rates(1, 4)])?.with_cores(2);
/// let bounds = Analysis::default().bounds(&graph)?;
/// let report = GlobalEdf::new(&graph).run(1_000, &mut fastrand::Rng::with_seed(1))?;
/// assert_eq!(report.latency_ns(), 5_500.0);
/// assert!(report.latency_ns() <= bounds.latency_ns());
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GlobalEdf<'a> {
    graph: &'a Graph,
    work: Work,
    jitter_ns: f64,
    handover_ns: f64,
    fair_lateness: bool,
}

/// The result of a simulated graph. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdfReport {
    /// When the last job was done.
    pub span_ns: f64,
    /// The nodes, in the order of the graph's.
    pub tasks: Vec<EdfTask>,
    /// For each edge, the most tokens that it held while all sources ran, with the place for those that a job at work
    /// was about to write. (When a source has ended, what comes from others piles up where both meet.)
    pub tokens: Vec<u64>,
    /// The nodes without outputs.
    pub sinks: Vec<EdfSink>,
}

/// The result of a node's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EdfTask {
    /// How many were done.
    pub jobs: u64,
    /// The longest time from a job's release until it was done.
    pub response_ns: f64,
    /// The longest time by which a job was done later than its period after its release; 0 where none was.
    pub tardiness_ns: f64,
    /// The latest completion, beside even steps: the greatest difference between the time at which job *j* was done and
    /// *j* periods.
    pub completion_ns: f64,
}

/// The latency of source samples at a sink.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EdfSink {
    /// The node.
    pub node: usize,
    /// Of how many source jobs all was consumed before the simulation ended.
    pub source_jobs: u64,
    /// The longest time from the due time of a source job's oldest sample until the sink was done with the last of what
    /// became of it.
    pub latency_ns: f64,
    /// The mean of these times; 0 where there is none.
    pub mean_latency_ns: f64,
}

impl EdfReport {
    /// The longest latency of all sinks, in nanoseconds.
    pub fn latency_ns(&self) -> f64 {
        self.sinks.iter().map(|sink| sink.latency_ns).fold(0.0, f64::max)
    }
}

impl<'a> GlobalEdf<'a> {
    /// The graph with jobs that take what they cost, sources without jitter, and deadlines at the end of the periods.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, work: Work::default(), jitter_ns: 0.0, handover_ns: 0.0, fair_lateness: false }
    }

    /// Sets how long jobs take.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where the least share is not from 0 to 1.
    pub fn work(self, work: Work) -> Result<Self, Error> {
        match work {
            Work::Uniform { least } if !(0.0..=1.0).contains(&least) => {
                Err(refused("work", format!("a least share of {least}: write a share from 0 to 1")))
            }
            _ => Ok(Self { work, ..self }),
        }
    }

    /// Sets by how much a source job may be released later than it is due: by any time up to that, each as likely.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where it is negative or not finite.
    pub fn jitter_ns(self, jitter_ns: f64) -> Result<Self, Error> {
        if !(jitter_ns.is_finite() && jitter_ns >= 0.0) {
            return Err(refused("jitter", format!("{jitter_ns} ns: write a finite time of 0 ns or more")));
        }
        Ok(Self { jitter_ns, ..self })
    }

    /// Sets what each job costs on top of its node's cost.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where it is negative or not finite.
    pub fn handover_ns(self, handover_ns: f64) -> Result<Self, Error> {
        if !(handover_ns.is_finite() && handover_ns >= 0.0) {
            return Err(refused("hand-over", format!("{handover_ns} ns: write a finite time of 0 ns or more")));
        }
        Ok(Self { handover_ns, ..self })
    }

    /// Orders jobs as [`Method::FairLateness`](crate::realtime::Method::FairLateness) takes them to be, and not by
    /// their deadlines.
    pub fn fair_lateness(self) -> Self {
        Self { fair_lateness: true, ..self }
    }

    /// Runs `jobs` jobs of the fastest source, and as many of the others as are due until then; it ends when all that
    /// can be done is done.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Simulation`] where there are more than 10⁸ jobs, or the time passes 2^64 of the units in which it
    /// is counted.
    pub fn run(&self, jobs: u64, random: &mut Rng) -> Result<EdfReport, Error> {
        let mut machine = Machine::new(self, jobs)?;
        while machine.step(random).ok_or_else(too_long)? {}
        Ok(machine.report())
    }
}

/// Numerator and denominator of a period of the graph.
fn short(period: Period) -> (u64, u64) {
    period.short().expect("the graph has checked its rates")
}

fn too_long() -> Error {
    let reason = "the simulated time passes 2^64 units: give fewer jobs, or periods with common factors";
    refused("time", reason)
}

fn refused(place: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Simulation, format!("simulation, {place}"), reason)
}

/// The state of a node. Times in units.
#[derive(Debug, Clone)]
struct Task {
    period: u64,
    cost: u64,
    own_cores: Option<usize>,
    /// Releases of the jobs that are not done yet: the first may be at work.
    released: VecDeque<u64>,
    /// How many jobs have been released, begun, and done.
    release_count: u64,
    begun: u64,
    last_release: Option<u64>,
    /// What is left of the first job, once it has begun.
    left: Option<u64>,
    /// When the jobs on own cores will be done, in order.
    ends: VecDeque<u64>,
    /// When the next job of a source is released, and whether there is one.
    arrival: Option<u64>,
    /// When each job was done.
    done: Vec<u64>,
    response: u64,
    completion: i128,
}

struct Machine<'a> {
    graph: &'a Graph,
    setup: &'a GlobalEdf<'a>,
    /// Units of time in a nanosecond.
    scale: u64,
    jitter: u64,
    horizon: u64,
    now: u64,
    tasks: Vec<Task>,
    tokens: Vec<u64>,
    /// The nodes that work on shared cores, for one step.
    chosen: Vec<(u128, usize)>,
}

impl<'a> Machine<'a> {
    fn new(setup: &'a GlobalEdf<'a>, jobs: u64) -> Result<Self, Error> {
        let graph = setup.graph;
        let nodes = 0..graph.nodes().len();
        // What a source's job gathers arrives in equal steps, which are whole, too.
        let steps = nodes.clone().filter_map(|node| graph.period(node).scaled(1, graph.batch(node)));
        let scale = steps.fold(1, |scale, step| lcm(scale, short(step).1));
        let units = |period: Period| -> Option<u64> {
            let (num, den) = short(period);
            num.checked_mul(scale / den)
        };
        let periods = nodes.clone().map(|node| units(graph.period(node))).collect::<Option<Vec<u64>>>();
        let periods = periods.filter(|_| scale < u64::MAX).ok_or_else(too_long)?;
        let sources = nodes.clone().filter(|&node| graph.inputs(node).is_empty());
        let shortest = sources.map(|node| periods[node]).min().expect("a graph without cycles has a source");
        let horizon = shortest.checked_mul(jobs).ok_or_else(too_long)?;
        let expected: f64 = periods.iter().map(|&period| horizon as f64 / period as f64).sum();
        if expected > MAX_JOBS {
            return Err(refused("jobs", format!("there would be {expected:.1e}: run fewer source jobs")));
        }
        let task = |node: usize| Task {
            period: periods[node],
            cost: ((graph.cost_ns(node) + setup.handover_ns) * scale as f64) as u64,
            own_cores: graph.nodes()[node].own_cores.map(|cores| cores as usize),
            released: VecDeque::new(),
            release_count: 0,
            begun: 0,
            last_release: None,
            left: None,
            ends: VecDeque::new(),
            arrival: None,
            done: Vec::new(),
            response: 0,
            completion: i128::MIN,
        };
        Ok(Self {
            graph,
            setup,
            scale,
            jitter: (setup.jitter_ns * scale as f64) as u64,
            horizon,
            now: 0,
            tasks: nodes.map(task).collect(),
            tokens: graph.links().iter().map(|link| link.delay).collect(),
            chosen: Vec::new(),
        })
    }

    /// Releases and begins what can be, and goes on to the next moment at which something happens; `Some(false)` where
    /// nothing will, `None` where the time passes 2^64.
    fn step(&mut self, random: &mut Rng) -> Option<bool> {
        for node in 0..self.tasks.len() {
            self.release(node, random)?;
        }
        self.choose();
        let mut next: Option<u64> = None;
        let mut at = |time: u64| next = Some(next.map_or(time, |next| next.min(time)));
        for index in 0..self.chosen.len() {
            let node = self.chosen[index].1;
            if self.tasks[node].left.is_none() {
                let work = self.draw(node, random);
                self.tasks[node].left = Some(work);
                self.begin(node);
            }
            at(self.now.checked_add(self.tasks[node].left.expect("the job has begun"))?);
        }
        for (node, task) in self.tasks.iter().enumerate() {
            if let Some(&end) = task.ends.front() {
                at(end);
            }
            match task.arrival {
                Some(arrival) if arrival > self.now => at(arrival),
                _ => {}
            }
            // It may be fed, and only wait for its period.
            if task.own_cores.is_none()
                && let Some(last) = task.last_release
                && self.is_fed(node)
            {
                at(last.checked_add(task.period)?);
            }
        }
        let Some(next) = next else { return Some(false) };
        let passed = next - self.now;
        self.now = next;
        for index in 0..self.chosen.len() {
            let node = self.chosen[index].1;
            let left = self.tasks[node].left.expect("the job has begun") - passed;
            self.tasks[node].left = Some(left);
            if left == 0 {
                self.tasks[node].left = None;
                self.finish(node);
            }
        }
        for node in 0..self.tasks.len() {
            while self.tasks[node].ends.front().is_some_and(|&end| end <= self.now) {
                self.tasks[node].ends.pop_front();
                self.finish(node);
            }
        }
        Some(true)
    }

    /// Whether all inputs hold what the next job needs, or its samples have arrived.
    fn is_fed(&self, node: usize) -> bool {
        let task = &self.tasks[node];
        if self.graph.inputs(node).is_empty() {
            return task.arrival.is_some_and(|arrival| arrival <= self.now);
        }
        self.graph.inputs(node).iter().all(|&index| {
            let link = self.graph.links()[index];
            let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
            let made = u128::from(link.delay) + product(link.produce, self.tasks[link.from].done.len() as u64);
            made >= u128::from(link.threshold) + product(link.consume, task.release_count)
        })
    }

    fn release(&mut self, node: usize, random: &mut Rng) -> Option<()> {
        let source = self.graph.inputs(node).is_empty();
        loop {
            if source && self.tasks[node].arrival.is_none() {
                self.tasks[node].arrival = self.arrival(node, random)?;
            }
            let task = &self.tasks[node];
            let may = match task.own_cores {
                None => task.last_release.is_none_or(|last| self.now - last >= task.period),
                Some(cores) => task.ends.len() < cores,
            };
            if !may || !self.is_fed(node) {
                return Some(());
            }
            let own = task.own_cores.is_some();
            let task = &mut self.tasks[node];
            task.released.push_back(self.now);
            task.release_count += 1;
            task.last_release = Some(self.now);
            task.arrival = None;
            if own {
                let end = self.now.checked_add(self.draw(node, random))?;
                let task = &mut self.tasks[node];
                // What overtakes waits: jobs are handed on in order.
                let end = task.ends.back().map_or(end, |&last| last.max(end));
                task.ends.push_back(end);
                self.begin(node);
            }
        }
    }

    /// When the next job of a source is released; `Some(None)` where it would be due after the end.
    fn arrival(&self, node: usize, random: &mut Rng) -> Option<Option<u64>> {
        let task = &self.tasks[node];
        let batch = self.graph.batch(node);
        let due = task.period.checked_mul(task.release_count)?.checked_add(task.period / batch * (batch - 1))?;
        if due >= self.horizon {
            return Some(None);
        }
        let late = if self.jitter == 0 { 0 } else { random.u64(..=self.jitter) };
        Some(Some(due.checked_add(late)?))
    }

    /// The nodes whose jobs the shared cores work on: those of the first deadlines.
    fn choose(&mut self) {
        let cores = self.graph.cores();
        self.chosen.clear();
        for (node, task) in self.tasks.iter().enumerate() {
            let Some(&release) = task.released.front().filter(|_| task.own_cores.is_none()) else { continue };
            let mut key = (u128::from(release) + u128::from(task.period)) * u128::from(cores);
            if self.setup.fair_lateness {
                key = key.saturating_sub(u128::from(task.cost) * u128::from(cores.saturating_sub(1)));
            }
            self.chosen.push((key, node));
        }
        self.chosen.sort_unstable();
        self.chosen.truncate(cores as usize);
    }

    fn draw(&self, node: usize, random: &mut Rng) -> u64 {
        let cost = self.tasks[node].cost;
        match self.setup.work {
            Work::Worst => cost,
            Work::Uniform { least } => (cost as f64 * (least + (1.0 - least) * random.f64())) as u64,
        }
    }

    /// A job begins: its output gets its place.
    fn begin(&mut self, node: usize) {
        self.tasks[node].begun += 1;
        if self.now >= self.horizon {
            return;
        }
        for &index in self.graph.outputs(node) {
            let link = self.graph.links()[index];
            let consumed = u128::from(link.consume) * self.tasks[link.to].done.len() as u128;
            let made = u128::from(link.delay) + u128::from(link.produce) * u128::from(self.tasks[node].begun);
            let held = u64::try_from(made - consumed).unwrap_or(u64::MAX);
            self.tokens[index] = self.tokens[index].max(held);
        }
    }

    /// The first job of a node is done.
    fn finish(&mut self, node: usize) {
        let now = self.now;
        let task = &mut self.tasks[node];
        let release = task.released.pop_front().expect("what is done was released");
        task.response = task.response.max(now - release);
        let even = i128::from(task.period) * task.done.len() as i128;
        task.completion = task.completion.max(i128::from(now) - even);
        task.done.push(now);
    }

    fn report(&self) -> EdfReport {
        let ns = |units: f64| units / self.scale as f64;
        let task = |task: &Task| EdfTask {
            jobs: task.done.len() as u64,
            response_ns: ns(task.response as f64),
            tardiness_ns: ns(task.response.saturating_sub(task.period) as f64),
            completion_ns: if task.done.is_empty() { 0.0 } else { ns(task.completion as f64) },
        };
        let sinks = (0..self.tasks.len()).filter(|&node| self.graph.outputs(node).is_empty());
        EdfReport {
            span_ns: ns(self.now as f64),
            tasks: self.tasks.iter().map(task).collect(),
            tokens: self.tokens.clone(),
            sinks: self.latencies(sinks.collect()),
        }
    }

    /// Follows the last token of each source job to the sinks.
    fn latencies(&self, sinks: Vec<usize>) -> Vec<EdfSink> {
        let sink = |node| EdfSink { node, source_jobs: 0, latency_ns: 0.0, mean_latency_ns: 0.0 };
        let mut found: Vec<EdfSink> = sinks.into_iter().map(sink).collect();
        let sources = (0..self.tasks.len()).filter(|&node| self.graph.inputs(node).is_empty());
        let mut reached: Vec<Option<u128>> = vec![None; self.tasks.len()];
        for source in sources {
            for job in 0..self.tasks[source].done.len() {
                reached.fill(None);
                reached[source] = Some(job as u128);
                for &node in self.graph.order() {
                    for &index in self.graph.inputs(node) {
                        let link = self.graph.links()[index];
                        if let Some(from) = reached[link.from] {
                            let last = u128::from(link.delay) + (from + 1) * u128::from(link.produce) - 1;
                            reached[node] = reached[node].max(Some(last / u128::from(link.consume)));
                        }
                    }
                }
                let due = job as u64 * self.tasks[source].period;
                for sink in &mut found {
                    let last = reached[sink.node].and_then(|job| usize::try_from(job).ok());
                    if let Some(&done) = last.and_then(|job| self.tasks[sink.node].done.get(job)) {
                        // A sink that runs ahead of its time may be done with initial tokens only.
                        let latency = done.saturating_sub(due) as f64 / self.scale as f64;
                        sink.source_jobs += 1;
                        sink.latency_ns = sink.latency_ns.max(latency);
                        sink.mean_latency_ns += (latency - sink.mean_latency_ns) / sink.source_jobs as f64;
                    }
                }
            }
        }
        found
    }
}
