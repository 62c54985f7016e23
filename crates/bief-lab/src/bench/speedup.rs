//! What two stages gain over one: eight tasks of equal work.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use bief::{Chain, Flow, InOut, Result, Task, Wire};
use bief_cli::failure::Failure;

use super::case::{Aim, Case};
use super::stream::{Setting, Stream};
use crate::statistics::Sample;

const GROUP: (&str, &str) = ("8 equal tasks as 2 stages, times as fast as on one core", "x");

const TASKS: usize = 8;
/// Microseconds of a task, and how many times as fast two stages are to be.
const WORKS: [(u32, f64); 3] = [(1, 1.7), (10, 1.9), (100, 1.95)];
/// Long enough that the first and the last frame, which only one of the stages works on, hardly count.
const SETTING: Setting = Setting { time: Duration::from_millis(160), ..Setting::DEFAULT };

/// Tasks of every size, and what two threads reach that share the work without a pipeline, which no pipeline can exceed.
pub(super) fn cases() -> std::result::Result<Vec<Case>, Failure> {
    let turns_per_us = turns_per_us();
    let mut cases = Vec::new();
    for (us, aim) in WORKS {
        let work = Work((f64::from(us) * turns_per_us) as u64);
        let tasks = |chain: &mut Chain, wire: &mut Wire<u64>| {
            (0..TASKS / 2).for_each(|_| chain.add(work, &mut *wire));
        };
        let mut one = Stream::new(SETTING, |chain, mut wire| {
            tasks(chain, &mut wire);
            tasks(chain, &mut wire);
        })?;
        let mut two = Stream::new(SETTING, |chain, mut wire| {
            tasks(chain, &mut wire);
            chain.stage("second half");
            tasks(chain, &mut wire);
        })?;
        let measure = move || Ok((one.ns_per_frame()? / two.ns_per_frame()?).into());
        cases.push(Case::new(format!("speedup/{us}us"), GROUP, measure).aiming(Some(Aim::AtLeast(aim))));
    }
    let whole = Work((SETTING.time.as_secs_f64() * 1e6 * turns_per_us) as u64);
    cases.push(Case::new("speedup/threads".into(), GROUP, move || Ok(two_threads(whole).into())));
    Ok(cases)
}

/// Arithmetic of a length that is known in turns, not in time: a slower clock slows it as it slows everything else.
#[derive(Clone, Copy)]
pub(super) struct Work(pub(super) u64);

impl Work {
    pub(super) fn done(self, seed: u64) -> u64 {
        (0..self.0).fold(seed.max(1), |x, _| {
            let x = x ^ (x << 13);
            let x = x ^ (x >> 7);
            x ^ (x << 17)
        })
    }

    fn timed(self) -> f64 {
        let start = Instant::now();
        black_box(self.done(black_box(1)));
        start.elapsed().as_secs_f64()
    }
}

/// How many turns of [`Work`] a microsecond takes.
pub(super) fn turns_per_us() -> f64 {
    const TURNS: u64 = 1_000_000;
    let times = (0..9).map(|_| Work(TURNS).timed());
    TURNS as f64 / (Sample::new(times).expect("nine times").median() * 1e6)
}

/// How many times as fast two threads do the work, half each, as one thread does it.
fn two_threads(whole: Work) -> f64 {
    let half = Work(whole.0 / 2);
    let one = whole.timed();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| half.timed());
        half.timed();
    });
    one / start.elapsed().as_secs_f64()
}

impl Task for Work {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] = self.done(frame[0]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_what_was_asked_for() {
        assert_eq!(Work(0).done(0), 1);
        assert!(Work(1).done(0) != 1);
        assert_eq!(Work(3).done(7), Work(1).done(Work(1).done(Work(1).done(7))));
    }
}
