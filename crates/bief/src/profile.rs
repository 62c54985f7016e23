//! Time per task: the weights that the schedulers need.

use std::time::{Duration, Instant};

use bief_schedule::{Profile, TaskProfile};

use crate::clock::{self, nanoseconds};
use crate::error::{Error, Result};
use crate::frame::Batch;
use crate::machine::Machine;
use crate::stage::Stage;
use crate::task::Node;
use crate::wire::Joint;

/// The first executions fill caches and pages; they are run and not counted, unless the source has hardly more.
const WARM_UP: usize = 8;
/// Executions that there is room for from the start; a source may end long before as many as are asked for.
const ROOM: usize = 1 << 16;

/// Runs up to `executions` batches (and a few before, to warm up) and times every task on this thread's core.
///
/// A task's weight is its median time over the batches that it ran on, times the share of batches that it ran on: a task
/// behind one that skips three frames of four counts a quarter.
pub(crate) fn measure(tasks: Vec<Node>, wires: &[Joint], frames: usize, executions: usize) -> Result<Profile> {
    let facts: Vec<(String, bool)> =
        tasks.iter().map(|task| (task.name.to_string(), task.step.replica().is_some())).collect();
    let count = tasks.len();
    let mut stage = Stage::new("profile".into(), tasks, 0..count, wires, frames);
    let clock_cost = clock::cost();
    let mut batch = Batch::new(frames);
    // For each task, in which execution it had work, and how long it took.
    let mut times: Vec<Vec<(usize, u64)>> = vec![Vec::with_capacity(executions.min(ROOM)); count];
    let mut done = 0;
    while done < executions.saturating_add(WARM_UP) {
        batch.renew((done * frames) as u64);
        let note = |task: usize, _: Instant, time: Duration, ran: bool| {
            if ran {
                times[task].push((done, nanoseconds(time.saturating_sub(clock_cost))));
            }
        };
        // SAFETY: every wire is local to the one stage.
        unsafe { stage.run_timed(&mut batch, note)? };
        if batch.last {
            break;
        }
        done += 1;
    }
    stage.finish()?;
    if done == 0 {
        return Err(Error::build("the source ended before one whole batch: there is nothing to profile"));
    }
    let warm_up = if done >= 2 * WARM_UP { WARM_UP } else { 0 };
    let counted = done - warm_up;
    let machine = Machine::here();
    let kind = machine.kinds().first().map_or_else(|| "cpu".to_owned(), |kind| kind.name.clone());
    let tasks = facts.into_iter().zip(times).map(|((name, replicable), times)| {
        let counts = |&(execution, _): &(usize, u64)| (warm_up..done).contains(&execution);
        let mut times: Vec<u64> = times.iter().filter(|&time| counts(time)).map(|&(_, ns)| ns).collect();
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 4).copied().unwrap_or(0);
        let ran = times.len() as u64;
        let weight = |ns: u64| ns.saturating_mul(ran) / counted as u64;
        TaskProfile { name, replicable, ns: vec![weight(at(2)).max(1)], spread_ns: Some(vec![at(3) - at(1)]) }
    });
    let profile: Profile = Profile::new([kind], tasks.collect::<Vec<_>>())?;
    Ok(profile.with_machine(machine.model()).with_frames_per_execution(frames as u32)?)
}
