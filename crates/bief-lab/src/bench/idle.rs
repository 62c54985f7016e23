//! What a pipeline takes of a core while there is nothing, or little, to do.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use bief::machine::clock::process_time;
use bief::{Chain, Flow, Out, Pipeline, Result, Task};
use bief_cli::failure::Failure;

use super::case::{Aim, Case};
use super::stream::add_stages;

const GROUP: (&str, &str) = ("Pipeline without work, of one core", "%");

/// Between two frames of a slow stream.
const PAUSE: Duration = Duration::from_millis(10);
/// After the start, before the time counts.
const SETTLED: Duration = Duration::from_millis(50);
/// The time that counts.
const WATCHED: Duration = Duration::from_millis(400);

/// Pipelines of two stages, for which there are cores enough on most machines, and of four: without a frame, and with 100
/// frames a second.
pub(super) fn cases() -> std::result::Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (name, pause, aim) in [("idle", None, Some(Aim::AtMost(0.1))), ("trickle", Some(PAUSE), None)] {
        for stages in [2, 4] {
            let (stop, stopped) = channel();
            let mut pipeline = pipeline(stages, Waits { pause, stopped }).map_err(Failure::from_error)?;
            let measure = move || Ok(percent_of_a_core(&mut pipeline, &stop)?.into());
            cases.push(Case::new(format!("{name}/{stages}"), GROUP, measure).aiming(aim));
        }
    }
    Ok(cases)
}

fn pipeline(stages: usize, source: Waits) -> Result<Pipeline> {
    let mut chain = Chain::new();
    let mut wire = chain.add(source, ());
    add_stages(&mut chain, &mut wire, stages - 1);
    chain.build()?.pipeline_as_marked()
}

/// The processor time of this process while the pipeline runs.
fn percent_of_a_core(pipeline: &mut Pipeline, stop: &Sender<()>) -> std::result::Result<f64, Failure> {
    thread::scope(|scope| {
        let run = scope.spawn(|| pipeline.run());
        thread::sleep(SETTLED);
        let (start, before) = (Instant::now(), process_time());
        thread::sleep(WATCHED);
        let percent = 100.0 * (process_time() - before).as_secs_f64() / start.elapsed().as_secs_f64();
        // A run that has failed has no source any more that would listen; what it says is told below.
        let _ = stop.send(());
        run.join().unwrap_or_else(|panic| resume_unwind(panic)).map_err(Failure::from_error)?;
        Ok(percent)
    })
}

/// A source that waits for input: it makes a frame at every pause, or never, until it is stopped.
struct Waits {
    pause: Option<Duration>,
    stopped: Receiver<()>,
}

impl Task for Waits {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u64]) -> Result<Flow> {
        let waited = match self.pause {
            Some(pause) => self.stopped.recv_timeout(pause),
            None => self.stopped.recv().map_err(RecvTimeoutError::from),
        };
        Ok(if waited == Err(RecvTimeoutError::Timeout) { Flow::Next } else { Flow::Stop })
    }
}
