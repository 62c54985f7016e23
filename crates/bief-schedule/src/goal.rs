//! What a schedule is made for: an aim, and the demands that it must meet.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::period::{Period, gcd};
use crate::profile::Profile;

/// The goal of a schedule: an aim, and demands that bound it.
///
/// As a text: the aim, then demands in any order, each at most once, separated by commas.
///
/// | aim | of the schedules that meet the demands |
/// | --- | --- |
/// | `max-throughput` | the shortest period; of the Pareto-least numbers of cores that reach it, the one with the fewest stages |
/// | `fewest-big` | the fewest cores of the first kind, then of the second, …: HeRAD's choice |
/// | `fewest-cores` | the fewest cores of all kinds together |
/// | `least-power` | the least power, by the [busy-time model](crate::Power) |
///
/// All but the first aim for the shortest period, too, unless a rate or a period is demanded: then any period will do that
/// is no longer, and the pipeline is taken to run at the demanded pace. Without that, and for the first aim always, it is
/// taken to run as fast as it can: a power then bounds what it draws in its own period.
///
/// Among schedules that serve the aim equally well, that with the fewest stages is taken where neither power nor latency
/// is asked for; else the stages are only compared where these are equal, too.
///
/// | demand | |
/// | --- | --- |
/// | `rate=30Mb/s` | at least this rate of bits of use: `b/s`, `kb/s`, `Mb/s`, `Gb/s`; or of frames: `frames/s` |
/// | `period=1ms` | at most this period of one execution: `ns`, `us`, `ms`, `s` |
/// | `power=20W` | at most this power: `W`, `mW`; not where the power of a kind [saturates](crate::CoreKind::saturation) |
/// | `latency=5ms` | every frame is done that soon after it is due |
///
/// The latency is the [bound](crate::Schedule::latency_bound_ns) at the demanded pace. A pipeline that is to run as fast as it can
/// has no pace: then only the [time in the stages](crate::Schedule::latency_ns) counts, which is the bound for input that comes
/// no faster than the pipeline runs, execution by execution.
///
/// Numbers are decimal (`1.5ms`) or fractions (`100/3us`).
///
/// # Example
///
/// ```
/// use bief_schedule::{Aim, Goal, Period};
///
/// let goal: Goal = "least-power,period=1.5ms".parse()?;
/// assert_eq!(goal.aim, Aim::LeastPower);
/// assert_eq!(goal.period, Some(Period::from(1_500_000)));
/// assert_eq!(goal.to_string().parse(), Ok(goal));
/// assert!("least-power,colour=red".parse::<Goal>().is_err());
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Goal {
    /// What is sought.
    pub aim: Aim,
    /// The least rate.
    pub rate: Option<Rate>,
    /// The longest period of one execution, in nanoseconds.
    pub period: Option<Period>,
    /// The most power that the machine draws, idle power included, in watts.
    pub power: Option<f64>,
    /// The longest that a frame may take, in nanoseconds.
    pub latency: Option<Period>,
}

/// The criterion among the schedules that meet the demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Aim {
    /// The shortest period.
    MaxThroughput,
    /// The fewest cores of the first kind, then of the second, and so on.
    #[default]
    FewestBig,
    /// The fewest cores of all kinds together.
    FewestCores,
    /// The least power.
    LeastPower,
}

const AIMS: [(&str, Aim); 4] = [
    ("max-throughput", Aim::MaxThroughput),
    ("fewest-big", Aim::FewestBig),
    ("fewest-cores", Aim::FewestCores),
    ("least-power", Aim::LeastPower),
];

/// A rate of information bits or of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Bits of use per second, as the fraction `num / den`.
    Bits(Period),
    /// Frames per second, as the fraction `num / den`.
    Frames(Period),
}

const TIMES: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const BIT_RATES: [(&str, u64); 4] = [("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];
const FRAME_RATES: [(&str, u64); 1] = [("frames/s", 1)];

impl Goal {
    /// The longest period that the demanded period and rate leave for one execution of a chain; `None` where neither is
    /// demanded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Goal`] where a rate of bits is demanded of a chain that carries none, a rate is zero, or a power is
    /// negative or not a number.
    pub fn longest_period(&self, profile: &Profile) -> Result<Option<Period>, Error> {
        let refused = |key: &str, reason: String| Err(Error::new(ErrorKind::Goal, format!("goal, {key}"), reason));
        if let Some(Rate::Bits(rate) | Rate::Frames(rate)) = self.rate
            && rate == Period::ZERO
        {
            return refused("rate", "a rate of zero asks for nothing: leave it out".to_owned());
        }
        if let Some(power) = self.power
            && !(power.is_finite() && power >= 0.0)
        {
            return refused("power", format!("{power} W: demand 0 W or more"));
        }
        let short = |rate: Period| {
            let reason = "its numerator or denominator has more than 64 bits: round it";
            rate.short().ok_or_else(|| Error::new(ErrorKind::Goal, "goal, rate", reason))
        };
        let by_rate = match self.rate {
            None => None,
            Some(Rate::Frames(rate)) => Some(time_for(1, short(rate)?, profile)),
            Some(Rate::Bits(rate)) => {
                let bits = profile.bits_per_frame().ok_or_else(|| {
                    let reason = "the profile does not say how many bits a frame carries: demand frames/s, \
                                  or add \"bits_per_frame\" to the profile";
                    Error::new(ErrorKind::Goal, format!("goal `{self}`, rate"), reason)
                })?;
                Some(time_for(bits, short(rate)?, profile))
            }
        };
        Ok(match (self.period, by_rate) {
            (Some(period), Some(by_rate)) => Some(period.min(by_rate)),
            (period, by_rate) => period.or(by_rate),
        })
    }
}

/// The nanoseconds in which one execution delivers at the rate `num / den`, when each of its frames counts `each`; rounded down
/// where it is no fraction of 64-bit numbers.
fn time_for(each: u64, (num, den): (u64, u64), profile: &Profile) -> Period {
    // each * frames * 1e9 * den / num, all that can be cancelled before it is multiplied.
    let frames = u64::from(profile.frames_per_execution());
    let (mut over, mut under) = ([each, frames, 1_000_000_000, den], num);
    for factor in &mut over {
        let common = gcd(*factor, under);
        (*factor, under) = (*factor / common, under / common);
    }
    // What is left is in lowest terms: below 2^64 * 2^32 and 2^30 * 2^64.
    let left = u128::from(over[0]) * u128::from(over[1]);
    let right = u128::from(over[2]) * u128::from(over[3]);
    let Some(num) = left.checked_mul(right) else { return Period::from(u64::MAX) };
    let most = u128::from(u64::MAX);
    if num <= most {
        return Period::new(num as u64, under).expect("a denominator is not zero");
    }
    Period::from(u64::try_from(num / u128::from(under)).unwrap_or(u64::MAX))
}

impl FromStr for Goal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |reason: String| Error::new(ErrorKind::Goal, format!("goal `{text}`"), reason);
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let Some(&(_, aim)) = AIMS.iter().find(|(name, _)| *name == first) else {
            let names = AIMS.map(|(name, _)| name).join(", ");
            return Err(refused(format!("`{first}` is no aim: begin with one of {names}")));
        };
        let mut goal = Self { aim, ..Self::default() };
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(refused(format!(
                    "`{part}` is no demand: write for example `rate=30Mb/s`, `period=1ms`, `power=20W` or `latency=5ms`"
                )));
            };
            let (key, value) = (key.trim(), value.trim());
            let wrong =
                |example: &str| refused(format!("`{key}={value}` cannot be read: write for example `{key}={example}`"));
            let twice = match key {
                "rate" => {
                    let rate = quantity(value, &FRAME_RATES)
                        .map(Rate::Frames)
                        .or_else(|| quantity(value, &BIT_RATES).map(Rate::Bits))
                        .ok_or_else(|| wrong("30Mb/s` or `rate=1000frames/s"))?;
                    goal.rate.replace(rate).is_some()
                }
                "period" => goal.period.replace(quantity(value, &TIMES).ok_or_else(|| wrong("1ms"))?).is_some(),
                "latency" => goal.latency.replace(quantity(value, &TIMES).ok_or_else(|| wrong("5ms"))?).is_some(),
                "power" => goal.power.replace(watts(value).ok_or_else(|| wrong("20W"))?).is_some(),
                _ => {
                    return Err(refused(format!("`{key}` is no demand: there are rate, period, power and latency")));
                }
            };
            if twice {
                return Err(refused(format!("`{key}` is demanded twice: demand it once")));
            }
        }
        Ok(goal)
    }
}

impl Period {
    /// Reads a time above zero with its unit, as goals write them: `5ms`, `1.5 us`, `100/3ns`. `None` where the text is
    /// none.
    ///
    /// ```
    /// use bief_schedule::Period;
    ///
    /// assert_eq!(Period::with_unit("1.5ms"), Some(Period::from(1_500_000)));
    /// assert_eq!(Period::with_unit("1.5"), None);
    /// ```
    pub fn with_unit(text: &str) -> Option<Self> {
        quantity(text, &TIMES)
    }
}

/// A number above zero with one of the units, in the first unit's measure.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<Period> {
    // The longest unit that fits: `ms` ends in `s`, too.
    let fits = units.iter().filter(|(unit, _)| text.ends_with(unit));
    let &(unit, scale) = fits.max_by_key(|(unit, _)| unit.len())?;
    let number = text[..text.len() - unit.len()].trim();
    let (num, den) = match number.split_once('/') {
        Some((num, den)) => (whole(num)?, whole(den)?),
        None => {
            let (before, part) = number.split_once('.').unwrap_or((number, ""));
            let part = part.trim_end_matches('0');
            let den = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
            (whole(&format!("{before}{part}"))?, den)
        }
    };
    let (scale, den) = Period::new(scale, den)?.short()?;
    let value = Period::new(num.checked_mul(scale)?, den)?;
    (value > Period::ZERO).then_some(value)
}

/// An integer of digits only: no sign.
fn whole(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A power above zero in watts: a decimal number, or a fraction, with its unit.
fn watts(text: &str) -> Option<f64> {
    let (number, scale) = match text.strip_suffix("mW") {
        Some(number) => (number, 1e3),
        None => (text.strip_suffix('W')?, 1.0),
    };
    let decimal = |text: &str| -> Option<f64> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse().ok().filter(|_| plain)
    };
    let value = match number.trim().split_once('/') {
        Some((num, den)) => decimal(num)? / decimal(den)?,
        None => decimal(number.trim())?,
    };
    Some(value / scale).filter(|watts| watts.is_finite() && *watts > 0.0)
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = AIMS.iter().find(|(_, aim)| aim == self).expect("every aim has a name");
        f.pad(name)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.aim)?;
        match self.rate {
            None => {}
            Some(Rate::Bits(rate)) => write!(f, ",rate={}", written(rate, &BIT_RATES))?,
            Some(Rate::Frames(rate)) => write!(f, ",rate={}", written(rate, &FRAME_RATES))?,
        }
        if let Some(period) = self.period {
            write!(f, ",period={}", written(period, &TIMES))?;
        }
        if let Some(power) = self.power {
            write!(f, ",power={power}W")?;
        }
        if let Some(latency) = self.latency {
            write!(f, ",latency={}", written(latency, &TIMES))?;
        }
        Ok(())
    }
}

/// The value in the greatest unit that leaves it whole, or as a fraction of the smallest.
fn written(value: Period, units: &[(&str, u64)]) -> String {
    let whole = units.iter().rev().find(|(_, scale)| value.den() == 1 && value.num().is_multiple_of((*scale).into()));
    match whole {
        Some((unit, scale)) => format!("{}{unit}", value.num() / u128::from(*scale)),
        None => format!("{value}{}", units[0].0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TaskProfile;

    fn goal(text: &str) -> Goal {
        text.parse().unwrap()
    }

    #[test]
    fn aims_and_demands_are_read() {
        assert_eq!(goal("max-throughput").aim, Aim::MaxThroughput);
        assert_eq!(Goal::default(), goal("fewest-big"));
        let all = goal("fewest-cores, latency = 5ms ,power=20.5W,period=100/3us,rate=2.5Gb/s");
        assert_eq!(all.aim, Aim::FewestCores);
        assert_eq!(all.latency, Some(Period::from(5_000_000)));
        assert_eq!(all.power, Some(20.5));
        assert_eq!(all.period, Period::new(100_000, 3));
        assert_eq!(all.rate, Some(Rate::Bits(Period::from(2_500_000_000))));
        assert_eq!(goal("least-power,power=1500mW").power, Some(1.5));
        assert_eq!(goal("least-power,period=.25ns").period, Period::new(1, 4));
        assert_eq!(goal("least-power,rate=10.50frames/s").rate, Some(Rate::Frames(Period::new(21, 2).unwrap())));
    }

    #[test]
    fn goals_are_written_as_they_are_read() {
        for text in [
            "max-throughput",
            "fewest-big,rate=30Mb/s",
            "fewest-cores,rate=1500frames/s,latency=5ms",
            "least-power,period=100/3ns,power=0.25W",
            "least-power,rate=12345b/s,period=2s",
            "least-power,power=3.0777761839999997W",
        ] {
            assert_eq!(goal(text).to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_remedy() {
        for (text, reason) in [
            ("", "`` is no aim: begin with one of max-throughput, fewest-big, fewest-cores, least-power"),
            ("fastest", "`fastest` is no aim: begin with one of max-throughput, fewest-big, fewest-cores, least-power"),
            (
                "fewest-big,",
                "`` is no demand: write for example `rate=30Mb/s`, `period=1ms`, `power=20W` or `latency=5ms`",
            ),
            ("fewest-big,speed=3", "`speed` is no demand: there are rate, period, power and latency"),
            ("fewest-big,period=3", "`period=3` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=0ms", "`period=0ms` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=+1ms", "`period=+1ms` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=-1ms", "`period=-1ms` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=1e3ms", "`period=1e3ms` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=99999999999s", "`period=99999999999s` cannot be read: write for example `period=1ms`"),
            ("fewest-big,period=1/0s", "`period=1/0s` cannot be read: write for example `period=1ms`"),
            ("fewest-big,power=20", "`power=20` cannot be read: write for example `power=20W`"),
            ("fewest-big,power=.W", "`power=.W` cannot be read: write for example `power=20W`"),
            (
                "fewest-big,rate=fast",
                "`rate=fast` cannot be read: write for example `rate=30Mb/s` or `rate=1000frames/s`",
            ),
            ("fewest-big,period=1ms,period=2ms", "`period` is demanded twice: demand it once"),
        ] {
            let error = text.parse::<Goal>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Goal);
            assert_eq!(error.to_string(), format!("goal `{text}`: {reason}"));
        }
    }

    #[test]
    fn a_rate_is_a_period_of_the_chain() {
        let silent = Profile::new(["cpu"], [TaskProfile::replicable("t", [1])]).unwrap();
        let silent = silent.with_frames_per_execution(16).unwrap();
        let chain = silent.clone().with_bits_per_frame(14_232).unwrap();
        let period = |text: &str, profile: &Profile| goal(text).longest_period(profile);
        assert_eq!(period("fewest-big", &chain), Ok(None));
        assert_eq!(period("fewest-big,rate=30Mb/s", &chain), Ok(Period::new(14_232 * 16 * 1000, 30)));
        assert_eq!(period("fewest-big,rate=16frames/s", &silent), Ok(Some(Period::from(1_000_000_000))));
        assert_eq!(period("fewest-big,rate=16frames/s,period=1ms", &silent), Ok(Some(Period::from(1_000_000))));
        assert_eq!(period("fewest-big,rate=16frames/s,period=2s", &silent), Ok(Some(Period::from(1_000_000_000))));
        assert_eq!(
            period("fewest-big,rate=1Mb/s", &silent).unwrap_err().to_string(),
            "goal `fewest-big,rate=1Mb/s`, rate: the profile does not say how many bits a frame carries: demand \
             frames/s, or add \"bits_per_frame\" to the profile"
        );
        // What can be cancelled is.
        let same = silent.clone().with_frames_per_execution(1).unwrap().with_bits_per_frame(3u64.pow(25)).unwrap();
        assert_eq!(period("fewest-big,rate=847288609443b/s", &same), Ok(Some(Period::from(1_000_000_000))));
        for wrong in [
            Goal { rate: Some(Rate::Frames(Period::ZERO)), ..Goal::default() },
            Goal { power: Some(f64::NAN), ..Goal::default() },
            Goal { power: Some(-1.0), ..Goal::default() },
        ] {
            assert_eq!(wrong.longest_period(&chain).unwrap_err().kind(), ErrorKind::Goal);
        }
        // The extremes of both stay fractions of 64-bit numbers.
        let huge = chain.with_bits_per_frame(u64::MAX).unwrap().with_frames_per_execution(u32::MAX).unwrap();
        let tiny = period("fewest-big,rate=1/18446744073709551615b/s", &huge).unwrap().unwrap();
        assert!(tiny >= Period::from(u64::MAX / 2));
    }
}
