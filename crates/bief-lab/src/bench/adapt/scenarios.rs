//! What changes.

use bief::Machine;
use bief_cli::failure::Failure;

use super::chain::{Load, TASKS};
use super::phases::{Phase, Scenario, allow};

const EVEN: Load = Load { us: [20; TASKS], second: 1.0 };
/// The same work, elsewhere.
const UNEVEN: Load = Load { us: [80, 20, 20, 20, 5, 5, 5, 5], second: 1.0 };
/// The speed of the slower core, and what its work takes in percent once it is half as fast.
const SLOW: f64 = 0.45;
const TWICE: u64 = 200;

/// All that this machine can show: two cores are needed.
pub(super) fn all() -> Result<Vec<Scenario>, Failure> {
    let machine = Machine::here();
    let [first, .., last] = machine.cores() else {
        return Err(Failure::new("a plan has something to follow where there are two cores: this machine has one"));
    };
    let (first, last) = (first.threads.clone(), last.threads.clone());
    let cores = [&first[..], &last].concat();
    // Of a larger machine, two cores.
    allow(&cores)?;
    let here = Machine::here();
    let calm = Phase {
        load: EVEN,
        goal: Default::default(),
        allowed: Some(cores.clone()),
        competitor: None,
        slow: None,
        cores: 2,
    };
    let scenario =
        |name, other: Phase| Scenario { name, machine: here.clone(), phases: [calm.clone(), other, calm.clone()] };
    let goal = "fewest-cores,period=200us".parse().map_err(|error| Failure::new(format!("{error}")))?;
    let paced = Phase { goal, ..calm.clone() };
    let mut all = vec![
        scenario("nothing", calm.clone()),
        scenario("competitor", Phase { competitor: Some(last.clone()), ..calm.clone() }),
        scenario("work", Phase { load: UNEVEN, ..calm.clone() }),
        scenario("cores", Phase { allowed: Some(first.clone()), cores: 1, ..calm.clone() }),
        Scenario { name: "goal", machine: here.clone(), phases: [paced.clone(), calm.clone(), paced] },
    ];
    all.insert(2, kinds(&here, &calm, [first[0], last[0]])?);
    Ok(all)
}

/// A big core, and one that is slower and becomes slower still.
fn kinds(here: &Machine, calm: &Phase, [big, little]: [usize; 2]) -> Result<Scenario, Failure> {
    let text = format!(
        "[[kind]]\nname = 'big'\ncores = '{big}'\n[[kind]]\nname = 'little'\ncores = '{little}'\nspeed = {SLOW}\n"
    );
    let machine = Machine::emulated(&text, here).map_err(|error| Failure::new(error.to_string()))?;
    let load = |second| Load { second, ..EVEN };
    let calm = Phase { load: load(1.0 / SLOW), allowed: None, ..calm.clone() };
    let slow = Phase { load: load(TWICE as f64 / 100.0 / SLOW), slow: Some((little, TWICE)), ..calm.clone() };
    Ok(Scenario { name: "kind", machine, phases: [calm.clone(), slow, calm] })
}
