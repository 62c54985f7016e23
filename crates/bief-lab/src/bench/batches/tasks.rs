//! What each task of the receiver costs by the samples of a batch.

use std::num::NonZeroUsize;
use std::time::Duration;

use bief::plan::Profiling;
use bief::schedule::realtime::{CostFit, CostSamples};
use bief::{Chain, Machine, Result};

use super::fitted;
use crate::bench::receiver::{chain, signal};

/// Samples of a block, where batches have several.
pub(super) const BLOCK: usize = 60;
/// Blocks of a batch.
const BATCHES: [usize; 5] = [1, 4, 16, 64, 128];
/// Samples of a block, where a batch has one.
const BLOCKS: [usize; 5] = [60, 240, 960, 3840, 7680];
const EXECUTIONS: NonZeroUsize = NonZeroUsize::new(200).unwrap();

/// A task of the receiver. All samples are those of the recording, at whatever rate it works.
pub(super) struct TaskLines {
    pub(super) name: String,
    /// By the number of blocks in a batch.
    pub(super) by_batch: CostFit,
    /// By the length of the only block in a batch.
    pub(super) by_block: CostFit,
}

/// What was found of all tasks.
pub(super) struct Tasks {
    pub(super) kind: String,
    pub(super) tasks: Vec<TaskLines>,
    /// Processor time that it takes to hand a batch to a thread that sleeps.
    pub(super) hand_over_ns: f64,
}

/// On a core of the first kind.
pub(super) fn measure() -> Result<Tasks> {
    let machine = Machine::here();
    // Some more than all executions take, so that none is cut short.
    let enough = |samples: usize| signal(2 * EXECUTIONS.get() * samples);
    let all = BLOCK * BATCHES.iter().sum::<usize>() * machine.kinds().len();
    let program = chain(&enough(all), BLOCK, None).and_then(Chain::build)?;
    let profiling = Profiling { executions: EXECUTIONS, limit: Duration::MAX, ..Profiling::default() };
    let costs = program.costs_on(&machine, &BATCHES, profiling)?.swap_remove(0);
    let mut by_block = vec![Vec::new(); costs.tasks.len()];
    for block in BLOCKS {
        let profile = chain(&enough(block), block, None).and_then(Chain::build)?.profile(EXECUTIONS.get())?;
        for (rows, task) in by_block.iter_mut().zip(profile.tasks()) {
            let median = task.seen.as_ref().and_then(|seen| seen[0]).map(|seen| seen.median_ns).or(task.ns[0]);
            rows.push(CostSamples { samples: block as u64, ns: median.into_iter().map(|ns| ns as f64).collect() });
        }
    }
    let lines = costs.tasks.into_iter().zip(by_block).map(|(task, by_block)| {
        let in_samples = |size: CostSamples| CostSamples { samples: size.samples * BLOCK as u64, ..size };
        let by_batch: Vec<CostSamples> = task.sizes.into_iter().map(in_samples).collect();
        Ok(TaskLines { name: task.name, by_batch: fitted(&by_batch)?, by_block: fitted(&by_block)? })
    });
    Ok(Tasks { kind: costs.kind, tasks: lines.collect::<Result<_>>()?, hand_over_ns: costs.hand_over_ns })
}
