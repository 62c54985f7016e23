//! What is measured: cases, each by a name, read once in every round.

use bief_cli::failure::Failure;
use bief_cli::progress::progress;

use crate::statistics::Sample;

/// Something that is measured again and again.
pub(super) struct Case {
    /// What `--only` looks for: `group/variant`.
    pub(super) name: String,
    /// What it is one of, with the unit: a heading.
    pub(super) group: &'static str,
    pub(super) unit: &'static str,
    pub(super) aim: Option<Aim>,
    pub(super) readings: Vec<Reading>,
    measure: Box<dyn FnMut() -> Result<Reading, Failure>>,
}

/// What one round found.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) value: f64,
    /// The mean of the probes just before and after, where the value is to be compared with it and both could be taken.
    pub(super) probe_ns: Option<f64>,
}

/// What is to be reached.
#[derive(Clone, Copy)]
pub(super) enum Aim {
    AtMost(f64),
    AtLeast(f64),
    /// At most so many probes.
    ProbesAtMost(f64),
}

impl Case {
    pub(super) fn new(
        name: String,
        (group, unit): (&'static str, &'static str),
        measure: impl FnMut() -> Result<Reading, Failure> + 'static,
    ) -> Self {
        Self { name, group, unit, aim: None, readings: Vec::new(), measure: Box::new(measure) }
    }

    /// The case with an aim, where there is one.
    pub(super) fn aiming(self, aim: Option<Aim>) -> Self {
        Self { aim, ..self }
    }

    /// What all rounds found.
    pub(super) fn values(&self) -> Sample {
        Sample::new(self.readings.iter().map(|reading| reading.value)).expect("there is at least one round")
    }

    /// The same in probes, each by the probe of its own round.
    pub(super) fn in_probes(&self) -> Option<Sample> {
        Sample::new(self.readings.iter().filter_map(|reading| Some(reading.value / reading.probe_ns?)))
    }

    /// Whether the median reaches the aim.
    pub(super) fn is_met(&self) -> Option<bool> {
        let median = self.values().median();
        Some(match self.aim? {
            Aim::AtMost(limit) => median <= limit,
            Aim::AtLeast(limit) => median >= limit,
            Aim::ProbesAtMost(limit) => self.in_probes()?.median() <= limit,
        })
    }
}

impl From<f64> for Reading {
    fn from(value: f64) -> Self {
        Self { value, probe_ns: None }
    }
}

/// What has the name of a case.
pub(super) trait Named {
    fn name(&self) -> &str;
}

impl Named for Case {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads every case once per round.
pub(super) fn read(cases: &mut [Case], rounds: u32) -> Result<(), Failure> {
    in_turn(cases, rounds, |case| {
        let reading = (case.measure)()?;
        case.readings.push(reading);
        Ok(())
    })
}

/// Measures every case once per round, so that a phase in which the machine is slow hits all of them.
pub(super) fn in_turn<C: Named>(
    cases: &mut [C],
    rounds: u32,
    mut measure: impl FnMut(&mut C) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let bar = progress(Some(u64::from(rounds) * cases.len() as u64));
    for _ in 0..rounds {
        for case in &mut *cases {
            bar.set_message(case.name().to_owned());
            measure(case)?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The cases whose names contain the pattern.
pub(super) fn select<C: Named>(cases: Vec<C>, pattern: Option<&str>) -> Result<Vec<C>, Failure> {
    let Some(pattern) = pattern else { return Ok(cases) };
    let mut groups: Vec<String> =
        cases.iter().map(|case| case.name().split('/').next().unwrap_or_default().to_owned()).collect();
    groups.dedup();
    let chosen: Vec<C> = cases.into_iter().filter(|case| case.name().contains(pattern)).collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!(
            "--only {pattern}: no case has this in its name; the groups are {}",
            bief_cli::text::listed(&groups)
        )));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(aim: Aim, readings: &[(f64, Option<f64>)]) -> Case {
        let mut case = Case::new("a/b/c".into(), ("a, ns", "ns"), || Ok(1.0.into())).aiming(Some(aim));
        case.readings = readings.iter().map(|&(value, probe_ns)| Reading { value, probe_ns }).collect();
        case
    }

    #[test]
    fn the_median_decides_about_an_aim() {
        let readings = [(1.0, Some(1.0)), (4.0, Some(8.0)), (9.0, Some(9.0))];
        for (aim, met) in [
            (Aim::AtMost(4.0), true),
            (Aim::AtMost(3.9), false),
            (Aim::AtLeast(4.0), true),
            (Aim::AtLeast(4.1), false),
            (Aim::ProbesAtMost(1.0), true),
            (Aim::ProbesAtMost(0.9), false),
        ] {
            assert_eq!(case(aim, &readings).is_met(), Some(met));
        }
        assert_eq!(case(Aim::ProbesAtMost(1.0), &[(1.0, None)]).is_met(), None);
    }

    #[test]
    fn rounds_go_over_all_cases_that_are_chosen() {
        let order = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let named = |name: &'static str| {
            let order = order.clone();
            Case::new(name.into(), ("", ""), move || {
                order.borrow_mut().push(name);
                Ok(1.0.into())
            })
        };
        let all = || vec![named("x/1"), named("x/2"), named("y/1")];
        let mut chosen = select(all(), Some("/1")).unwrap();
        read(&mut chosen, 2).unwrap();
        assert_eq!(*order.borrow(), ["x/1", "y/1", "x/1", "y/1"]);
        assert_eq!(chosen[0].readings.len(), 2);
        let message = select(all(), Some("z")).err().unwrap().message;
        assert!(message.contains("--only z") && message.ends_with("x and y"), "{message}");
    }
}
