//! What segments cost inside the network, and what it costs to cut there.
//!
//! Engines change the layout of tensors where a network is cut: the times of segments on their own do not add up to that of the
//! whole. So each place is measured as two halves: of the time P of what is before it, the time S of what is behind it, and the time T of the
//! whole, P + S − T is the price of the cut. The weight of a segment is the mean of what P grows by and S shrinks by from the place before it
//! to the place behind it; such weights add up to T.

use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bief::machine::{CoreSpec, affinity};
use bief::plan::Profiling;
use bief::schedule::{Profile, TaskProfile};
use bief::{Error, Machine, Result};

use crate::engine::Session;
use crate::inference::Inference;
use crate::parts::Parts;

/// Bytes of the models that are loaded at a time.
const LOADED: usize = 512 << 20;
/// How often each half runs at least, after once that does not count.
const LEAST: usize = 5;

/// The profile of an inference whose tasks are all segments.
pub(crate) fn profile_on(inference: &Inference, machine: &Machine, profiling: Profiling) -> Result<Profile> {
    let count = inference.tasks().len();
    let all = 0..count;
    let whole = inference.rehearsal_of(std::slice::from_ref(&all), u64::MAX)?.profile_on(machine, profiling)?;
    let [first, network, last] = whole.tasks() else {
        return Err(Error::new("the profile of a network as a whole has a source, a network and a sink"));
    };
    let kinds = machine.kinds();
    let costs: Vec<Costs> = (0..kinds.len())
        .map(|kind| measured(inference.parts(), inference.rehearsed_frame(), (machine, kind), profiling))
        .collect::<Result<_>>()?;
    // In nanoseconds, on a core of a kind: the share of a task of the name of the whole that has another one.
    let task = |index: usize| {
        let name = inference.task_name(&inference.tasks()[index]);
        let of = |share: &dyn Fn(&Costs) -> f64| -> Vec<u64> {
            let each = kinds.iter().zip(&costs).enumerate().map(|(kind, (spec, costs))| {
                let faster = speed(spec, &network.name) / speed(spec, &name);
                (share(costs) * network.ns[kind].unwrap_or(0) as f64 * faster).round() as u64
            });
            each.collect()
        };
        let half = |place: usize| move |costs: &Costs| costs.prices.get(place).map_or(0.0, |price| price / 2.0);
        let weights = of(&|costs| costs.weights[index]);
        let (enter, leave) = (of(&half(index)), of(&half(index + 1)));
        TaskProfile::replicable(name, weights).with_cut_ns(enter, leave)
    };
    let end = |task: &TaskProfile| {
        let none = || vec![0; kinds.len()];
        let (enter, leave) = (task.enter_ns.clone().unwrap_or_else(none), task.leave_ns.clone().unwrap_or_else(none));
        task.clone().with_cut_ns(enter, leave)
    };
    let tasks: Vec<TaskProfile> = std::iter::once(end(first)).chain((0..count).map(task)).chain([end(last)]).collect();
    Ok(whole.with_tasks(tasks)?)
}

fn speed(kind: &CoreSpec, task: &str) -> f64 {
    kind.task_speeds.get(task).copied().unwrap_or(kind.speed)
}

/// As parts of the time of the whole.
#[derive(Debug)]
struct Costs {
    /// Of each segment.
    weights: Vec<f64>,
    /// Of a cut before each segment: the first and the one behind all are none.
    prices: Vec<f64>,
}

impl Costs {
    /// From the times of the halves before and behind each place between two segments.
    fn of(halves: &[[f64; 2]]) -> Self {
        let ends = |place: Option<&[f64; 2]>, end: [f64; 2]| place.copied().unwrap_or(end);
        let weight = |index: usize| {
            let [before, rest] = ends(index.checked_sub(1).and_then(|place| halves.get(place)), [0.0, 1.0]);
            let [also, behind] = ends(halves.get(index), [1.0, 0.0]);
            ((also - before + rest - behind) / 2.0).max(0.0)
        };
        let weights: Vec<f64> = (0..=halves.len()).map(weight).collect();
        let all = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let price = |[before, behind]: &[f64; 2]| (before + behind - 1.0).max(0.0);
        let prices = std::iter::once(0.0).chain(halves.iter().map(price)).chain([0.0]).collect();
        Self { weights: weights.iter().map(|weight| weight / all).collect(), prices }
    }
}

/// Measures on a core of a kind, as its hardware is: on one that is emulated as on any other.
fn measured(parts: &Parts, frame: &[f32], (machine, kind): (&Machine, usize), profiling: Profiling) -> Result<Costs> {
    let count = parts.network().segments().len();
    let bytes: usize = parts.network().segments().iter().map(|segment| segment.weight_bytes()).sum();
    let at_once = (LOADED / bytes.max(1)).clamp(1, count);
    let places: Vec<usize> = (1..count).collect();
    let time = profiling.limit / (machine.kinds().len().max(1) * places.len().div_ceil(at_once).max(1)) as u32;
    let most = profiling.executions.get().max(LEAST);
    let core = machine.cores().iter().find(|core| core.kind == kind);
    let measure = || {
        // A system that pins no threads measures on whatever core there is.
        let _ = core.map(|core| affinity::pin(&core.threads));
        let mut halves = Vec::new();
        for places in places.chunks(at_once) {
            halves.extend(measure_halves(parts, frame, places, (most, time))?);
        }
        Ok(Costs::of(&halves))
    };
    thread::scope(|scope| scope.spawn(measure).join())
        .unwrap_or_else(|_| Err(Error::new("the thread that measures segments panicked")))
}

/// A part with what it gets, what it gives, and how long that took.
struct Timed {
    session: Arc<dyn Session>,
    input: Vec<f32>,
    output: Vec<f32>,
    times: Vec<Duration>,
}

impl Timed {
    fn new(parts: &Parts, segments: Range<usize>, input: Vec<f32>) -> Result<Self> {
        let len = parts.network().segments()[segments.end - 1].output().len();
        let mut timed = Self { session: parts.load(&segments)?, input, output: vec![0.0; len], times: Vec::new() };
        timed.session.run(&timed.input, &mut timed.output)?;
        Ok(timed)
    }

    fn run(&mut self) -> Result<()> {
        let start = Instant::now();
        self.session.run(&self.input, &mut self.output)?;
        self.times.push(start.elapsed());
        Ok(())
    }

    fn median(&mut self) -> f64 {
        self.times.sort_unstable();
        self.times[self.times.len() / 2].as_secs_f64()
    }
}

/// The times of the halves at some places, as parts of that of the whole: all in turns, so that what disturbs one disturbs all.
fn measure_halves(
    parts: &Parts,
    frame: &[f32],
    places: &[usize],
    (most, time): (usize, Duration),
) -> Result<Vec<[f64; 2]>> {
    let count = parts.network().segments().len();
    let mut whole = Timed::new(parts, 0..count, frame.to_vec())?;
    let mut halves = Vec::new();
    for &place in places {
        let before = Timed::new(parts, 0..place, frame.to_vec())?;
        let behind = Timed::new(parts, place..count, before.output.clone())?;
        halves.push([before, behind]);
    }
    let start = Instant::now();
    for round in 0..most {
        if round >= LEAST && start.elapsed() > time {
            break;
        }
        whole.run()?;
        halves.iter_mut().flatten().try_for_each(Timed::run)?;
    }
    let whole = whole.median().max(f64::MIN_POSITIVE);
    Ok(halves.iter_mut().map(|half| half.each_mut().map(|half| half.median() / whole)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_prices_come_from_the_halves() {
        // Three segments of 2, 5 and 3 parts; cuts cost 1 part and nothing.
        let costs = Costs::of(&[[0.25, 0.85], [0.7, 0.3]]);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12) && a.len() == b.len();
        assert!(near(&costs.weights, &[0.2, 0.5, 0.3]), "{costs:?}");
        assert!(near(&costs.prices, &[0.0, 0.1, 0.0, 0.0]), "{costs:?}");
    }

    #[test]
    fn noise_makes_no_weight_or_price_negative() {
        let costs = Costs::of(&[[0.5, 0.49], [0.48, 0.51]]);
        assert!(costs.weights.iter().chain(&costs.prices).all(|&cost| cost >= 0.0), "{costs:?}");
        assert!((costs.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
