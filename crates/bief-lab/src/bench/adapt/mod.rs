//! `bief lab bench adapt`: what a run that adapts keeps of the best plan while the world changes.

mod chain;
mod phases;
mod scenarios;

use std::cell::RefCell;
use std::rc::Rc;

use bief_cli::failure::Failure;

use self::phases::{Outcome, Scenario};
use super::aimed::Titled;
use super::case::{Aim, Case};

pub(super) const TITLED: Titled = Titled { bench: "adapt", title: "Bief: a plan that follows the world" };

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench adapt --rounds 3        about 4 minutes
  bief lab bench adapt --only cores      one of the scenarios

Eight tasks of 20 us on two cores. Each scenario has three phases of 2 s; the
third is as the first:
  nothing      nothing changes: beside the same plan, not followed
  competitor   a thread of another program on one of the cores
  kind         one big core and one of 0.45 of its speed, which becomes half as
               fast
  work         the first task takes four times as long, the last three a quarter
  cores        the process may use one core, then two
  goal         the fewest cores that keep a period, then the shortest period
Cases of each:
  NAME/share   frames of the run over those of the best plan for each phase,
               which runs before, for as long, with nothing to follow
  NAME/after   seconds from a change of the world to the last plan that was put
               in force in that phase; 0 where none was needed
  NAME/pause   the longest pause of a change, in median latencies of the plan
               before it";

const SHARE: (&str, &str) = ("Frames of a run that adapts, over those of the best plan of each phase", "x");
const AFTER: (&str, &str) = ("From a change of the world to the plan for it", "s");
const PAUSE: (&str, &str) = ("Pause of a change, in median latencies of the plan before it", "x");

/// What a case reads of an outcome, by its name.
type Part = (&'static str, (&'static str, &'static str), Aim, fn(&Outcome) -> f64);

/// Three cases for each scenario, which read one run of it.
pub(super) fn cases() -> Result<Vec<Case>, Failure> {
    let all = scenarios::all()?.into_iter().map(|scenario| Rc::new(RefCell::new(Runs { scenario, last: None })));
    let all: Vec<Rc<RefCell<Runs>>> = all.collect();
    let share =
        |least| ("share", SHARE, Aim::AtLeast(least), (|outcome: &Outcome| outcome.share) as fn(&Outcome) -> f64);
    let parts: [Part; 2] = [
        ("after", AFTER, Aim::AtMost(1.0), |outcome| outcome.after_seconds),
        ("pause", PAUSE, Aim::AtMost(2.0), |outcome| outcome.pause),
    ];
    let mut cases = Vec::new();
    for runs in &all {
        let changes = runs.borrow().scenario.changes();
        cases.push(case(runs, share(if changes { 0.95 } else { 0.995 })));
    }
    for part in parts {
        cases.extend(all.iter().filter(|runs| runs.borrow().scenario.changes()).map(|runs| case(runs, part)));
    }
    Ok(cases)
}

/// A scenario, and its last outcome with the parts that were read of it.
struct Runs {
    scenario: Scenario,
    last: Option<(Outcome, Vec<&'static str>)>,
}

impl Runs {
    /// Runs it anew where this part of the last run was read already.
    fn read(&mut self, (name, _, _, read): Part) -> Result<f64, Failure> {
        if let Some((outcome, parts)) = &mut self.last
            && !parts.contains(&name)
        {
            parts.push(name);
            return Ok(read(outcome));
        }
        let outcome = self.scenario.run()?;
        let value = read(&outcome);
        self.last = Some((outcome, vec![name]));
        Ok(value)
    }
}

fn case(runs: &Rc<RefCell<Runs>>, part: Part) -> Case {
    let name = format!("{}/{}", runs.borrow().scenario.name, part.0);
    let runs = Rc::clone(runs);
    Case::new(name, part.1, move || Ok(runs.borrow_mut().read(part)?.into())).aiming(Some(part.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_its_cases() {
        let Ok(cases) = cases() else {
            eprintln!("skipped: a plan has something to follow where there are two cores");
            return;
        };
        let names: Vec<&str> = cases.iter().map(|case| &*case.name).collect();
        for scenario in ["competitor", "kind", "work", "cores", "goal"] {
            for part in ["share", "after", "pause"] {
                assert!(names.contains(&&*format!("{scenario}/{part}")), "{names:?}");
            }
        }
        assert!(names.contains(&"nothing/share") && names.len() == 16, "{names:?}");
    }
}
