//! What each task costs by the number of frames in a batch.

use std::time::Duration;

use bief_schedule::realtime::{CostFit, CostSamples, FitMethod};

use super::{Measured, Measurements, Profiling, Sample, TURNS, Visit, core_of, facts, hand_over, on_each_kind};
use crate::emulate;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::task::Node;
use crate::wire::WireInfo;

/// Where batches have their time, threads sleep between them, and find caches and clock as others left them.
const REST: Duration = Duration::from_micros(300);

/// The costs of a chain's tasks on one kind of core, by the number of frames in a batch:
/// [`Program::costs_on`](crate::Program::costs_on).
#[derive(Debug, Clone, PartialEq)]
pub struct BatchCosts {
    /// The machine that it was measured on.
    pub machine: String,
    /// The kind of core.
    pub kind: String,
    /// The tasks, in the order of the chain.
    pub tasks: Vec<TaskCosts>,
    /// Processor time, in nanoseconds, that it takes to hand a batch to a stage whose thread sleeps, of both threads together.
    pub hand_over_ns: f64,
}

/// The costs of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskCosts {
    /// The task.
    pub name: String,
    /// Whether it may be replicated.
    pub replicable: bool,
    /// For each number of frames in a batch, the times that the task took for a batch with frames to work on. The longest hundredth
    /// of them is there, too, but none in which the thread lost its core to another one, if there are others.
    pub sizes: Vec<CostSamples>,
}

impl TaskCosts {
    /// The line *I* + *D* *c* through these times; *c* is the number of frames.
    ///
    /// # Errors
    /// Times of one size only, and a quantile that is none.
    pub fn fit(&self, method: FitMethod) -> Result<CostFit> {
        Ok(CostFit::new(&self.sizes, method)?)
    }
}

impl BatchCosts {
    /// Combines measurements of different frame lengths as if they were batches: each part is of a chain whose frames
    /// are the given multiple of the shortest, processed one by one.
    ///
    /// # Errors
    /// Parts of other tasks than the first has; none at all, or batches.
    pub fn by_size(parts: impl IntoIterator<Item = (u64, Self)>) -> Result<Self> {
        let mut parts = parts.into_iter().map(|(size, mut part)| {
            let single = |task: &mut TaskCosts| match &mut task.sizes[..] {
                [only] if only.samples == 1 => {
                    only.samples = size;
                    true
                }
                _ => false,
            };
            if part.tasks.iter_mut().all(single) {
                return Ok(part);
            }
            Err(Error::build("frames of different lengths are compared one by one: measure batches of 1"))
        });
        let mut whole = parts.next().ok_or_else(|| Error::build("nothing was measured: give two sizes or more"))??;
        for part in parts {
            let part = part?;
            let differs = part.tasks.len() != whole.tasks.len();
            if differs || part.tasks.iter().zip(&whole.tasks).any(|(task, first)| task.name != first.name) {
                return Err(Error::build(
                    "chains of other tasks cannot be compared: measure the same chain with each length",
                ));
            }
            whole.tasks.iter_mut().zip(part.tasks).for_each(|(task, other)| task.sizes.extend(other.sizes));
        }
        Ok(whole)
    }
}

/// Measures on a core of each kind in turn, batch by batch; the calling thread waits.
pub(crate) fn measure_on(
    tasks: Vec<Node>,
    wires: &[WireInfo],
    machine: &Machine,
    batches: &[usize],
    profiling: Profiling,
) -> Result<Vec<BatchCosts>> {
    let facts = facts(&tasks);
    let cores = (0..machine.kinds().len()).map(|kind| core_of(machine, kind)).collect::<Result<Vec<_>>>()?;
    let mut measured = Measured::new(tasks, wires, batches[0]);
    measured.rest = REST;
    let each = || batches.iter().map(|_| Measurements::default()).collect();
    let mut samples: Vec<Vec<Measurements>> = cores.iter().map(|_| each()).collect();
    on_each_kind(&mut measured, &cores, machine, profiling, |measured, kind, visit| {
        let part = (TURNS * batches.len()) as u32;
        let visit = Visit {
            warm_up: visit.warm_up,
            executions: visit.executions.div_ceil(TURNS),
            least: visit.least.div_ceil(TURNS),
            time: visit.time / part,
        };
        // Sizes take turns, too.
        for _ in 0..TURNS {
            for (&frames, samples) in batches.iter().zip(&mut samples[kind]) {
                measured.set_batch(wires, frames);
                if !measured.visit(visit, samples)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    })?;
    measured.stage.finish()?;
    let hand_over_ns = hand_over::asleep_ns(machine)?;
    machine
        .kinds()
        .iter()
        .zip(samples)
        .map(|(kind, samples)| {
            let samples = samples.into_iter().map(Measurements::counted).collect::<Result<Vec<Sample>>>()?;
            let task = |(task, (name, replicable)): (usize, &(String, bool))| {
                let slower = emulate::slowness(kind, name);
                let size = |(&frames, sample): (&usize, &Sample)| {
                    let ns: Vec<f64> = sample.tasks[task].times.iter().map(|&ns| ns as f64 * slower).collect();
                    if ns.is_empty() {
                        return Err(Error::build(format!(
                            "task `{name}` never had a frame to work on in batches of {frames}: give a longer input, or count more \
                             executions"
                        )));
                    }
                    Ok(CostSamples { samples: frames as u64, ns })
                };
                let sizes = batches.iter().zip(&samples).map(size).collect::<Result<_>>()?;
                Ok(TaskCosts { name: name.clone(), replicable: *replicable, sizes })
            };
            let tasks = facts.iter().enumerate().map(task).collect::<Result<_>>()?;
            Ok(BatchCosts { machine: machine.to_string(), kind: kind.name.clone(), tasks, hand_over_ns })
        })
        .collect()
}
