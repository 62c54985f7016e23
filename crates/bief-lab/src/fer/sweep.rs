//! At which Es/N0 a curve is measured.

use bief_cli::failure::Failure;

use super::count::{Count, Rule};
use super::setup::{EsN0, Setup};

/// Distance of two points where none are given.
const STEP: EsN0 = EsN0(100);
/// A curve is followed until it falls below this.
const LOWEST: f64 = 1e-3;
/// A curve that begins below this is followed to the other side, until it is above the second.
const LATE: (f64, f64) = (0.1, 0.3);
/// Points after which a curve that does not fall, or rise, is left.
const MOST: i32 = 30;
/// The most points that can be asked for.
const MOST_GIVEN: usize = 1000;

/// Points that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Levels(Vec<EsN0>);

impl std::str::FromStr for Levels {
    type Err = String;

    /// `6.2`, `6.0,6.2` or `6:6.5:0.1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let level = text.trim().parse().ok().and_then(EsN0::from_db);
            level.ok_or_else(|| format!("`{text}` is no Es/N0 in dB: give numbers from -60 to 60"))
        };
        let parts: Vec<&str> = text.split(':').collect();
        let mut levels = match parts[..] {
            [list] => list.split(',').map(number).collect::<Result<Vec<_>, _>>()?,
            [from, to, step] => {
                let (from, to, step) = (number(from)?, number(to)?, number(step)?);
                if step.0 <= 0 || from > to {
                    return Err(format!("`{text}`: FROM:TO:STEP rises from FROM to TO by a STEP above 0"));
                }
                (from.0..=to.0).step_by(step.0 as usize).map(EsN0).collect()
            }
            _ => return Err("give a list such as 6.0,6.2 or FROM:TO:STEP such as 6:6.5:0.1".to_owned()),
        };
        levels.sort_unstable();
        levels.dedup();
        if levels.len() > MOST_GIVEN {
            return Err(format!("{} points: give at most {MOST_GIVEN}", levels.len()));
        }
        Ok(Self(levels))
    }
}

/// Measures a curve: at the given points, or around the threshold of the setup until the frame error rate is below 10⁻³ or a
/// point ends at its frames, not at its errors.
pub(super) fn sweep(
    setup: &Setup,
    given: Option<&Levels>,
    rule: &Rule,
    mut measure: impl FnMut(EsN0) -> Result<Count, Failure>,
) -> Result<(), Failure> {
    if let Some(Levels(levels)) = given {
        return levels.iter().try_for_each(|level| measure(*level).map(drop));
    }
    // Table 13 is for one packet in 10⁷. The curves of normal frames are the steeper ones and lie further down.
    let before = if setup.size == bief_dsp::dvbs2::FrameSize::Short { 0.2 } else { 0.4 };
    let start = EsN0((10.0 * (setup.threshold_db() - before)).round() as i32 * STEP.0);
    let mut first = None;
    for index in 0..MOST {
        let count = measure(EsN0(start.0 + index * STEP.0))?;
        first.get_or_insert(count.rate());
        if count.rate() < LOWEST || count.all.errors < rule.errors {
            break;
        }
    }
    if first.is_some_and(|rate| rate < LATE.0) {
        for index in 1..MOST {
            if measure(EsN0(start.0 - index * STEP.0))?.rate() >= LATE.1 {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::count::count;
    use super::super::setup::TESTED;
    use super::*;

    fn levels(text: &str) -> Vec<i32> {
        text.parse::<Levels>().unwrap().0.into_iter().map(|level| level.0).collect()
    }

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(levels("6.2, 6, 6.2"), [6000, 6200]);
        assert_eq!(levels("-2.35"), [-2350]);
        assert_eq!(levels("6:6.5:0.1"), [6000, 6100, 6200, 6300, 6400, 6500]);
        assert_eq!(levels("-0.1:0.15:0.1"), [-100, 0, 100]);
        for (text, word) in [
            ("six", "`six`"),
            ("", "``"),
            ("6:7", "FROM:TO:STEP"),
            ("7:6:0.1", "rises"),
            ("6:7:0", "rises"),
            ("0:60:0.001", "at most 1000"),
            ("61", "-60 to 60"),
        ] {
            let refusal = text.parse::<Levels>().unwrap_err();
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    /// The points at which a waterfall of a decade per 0.1 dB is measured, that has fallen to 1 at `edge`.
    fn visited(edge: f64, rule: &Rule) -> Vec<i32> {
        let mut visited = Vec::new();
        sweep(&TESTED, None, rule, |level| {
            visited.push(level.0);
            let rate = 10_f64.powf(10.0 * (edge - level.db())).min(1.0);
            let frames = (rule.errors as f64 / rate).min(rule.frames as f64).round();
            Ok(count(frames as u64, (rate * frames).round() as u64))
        })
        .unwrap();
        visited
    }

    #[test]
    fn a_curve_is_followed_from_one_to_a_thousandth() {
        let rule = Rule { errors: 100, frames: 1_000_000 };
        assert_eq!(visited(6.05, &rule), [6000, 6100, 6200, 6300, 6400]);
        assert_eq!(visited(6.45, &rule), [6000, 6100, 6200, 6300, 6400, 6500, 6600, 6700, 6800]);
        assert_eq!(visited(5.75, &rule), [6000, 6100, 5900, 5800]);
        // Few frames do not reach far.
        assert_eq!(visited(6.05, &Rule { errors: 100, frames: 2000 }), [6000, 6100, 6200]);
        assert_eq!(visited(60.0, &rule).len(), MOST as usize);
    }
}
