//! What a call of a task costs, on one core.

use bief::{Chain, Flow, In, Out, Result, Task, Wire};
use bief_cli::failure::Failure;

use super::case::{Aim, Case};
use super::stream::{Empty, Setting, Source, Stream};

const GROUP: (&str, &str) = ("Call of an empty task, chain on one core", "ns");

/// A way in which the tasks of a chain share wires: its name, and what adds one more task.
type Wiring = (&'static str, fn(&mut Chain, &mut Wire<u64>));

const WIRINGS: [Wiring; 3] = [
    // A wire of its own for each task.
    ("apart", |chain, _| drop(chain.add(Source, ()))),
    // One wire that all rewrite.
    ("in-place", |chain, wire| chain.add(Empty, wire)),
    // Each reads what the one before made.
    ("joined", |chain, wire| *wire = chain.add(Joined, &*wire)),
];

/// Chains of 10 and of 100 tasks, the source among them.
pub(super) fn cases() -> std::result::Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (tasks, aim) in [(10, 6.0), (100, 8.0)] {
        for (name, add) in WIRINGS {
            let mut stream = Stream::new(Setting::DEFAULT, |chain, mut wire| {
                (1..tasks).for_each(|_| add(chain, &mut wire));
            })?;
            let measure = move || Ok((stream.ns_per_frame()? / f64::from(tasks)).into());
            cases.push(Case::new(format!("call/{tasks}/{name}"), GROUP, measure).aiming(Some(Aim::AtMost(aim))));
        }
    }
    Ok(cases)
}

struct Joined;

impl Task for Joined {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, _: &[u64], _: &mut [u64]) -> Result<Flow> {
        Ok(Flow::Next)
    }
}
