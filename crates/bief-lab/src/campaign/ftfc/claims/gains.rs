//! What the paper says of throughput, power and migrations.

use bief_schedule::Error;
use bief_schedule::simulate::Mean;

use super::super::Results;
use super::super::gains::{DEMANDS, Outcome, Point, migration_bound, within};
use super::super::machine::{Machine, READINGS};
use super::super::policy::{BSM, FAIR, ORACLE, PUBLISHED, RANK, contenders};
use super::super::table::interval;
use crate::campaign::claim::Claim;

/// Policies that map by what threads were seen to use.
const SEEN: [usize; 3] = [PUBLISHED, BSM, RANK];

/// Intervals for which a saturated thread is not moved, at first, where demands are remembered.
const TRUSTED: f64 = 16.0;

/// Which part of the power that the paper saved, at least and at most, is of the same order.
const SAME_ORDER: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// All points of both kinds of demands.
fn points(results: &Results) -> impl Iterator<Item = &Point> {
    results.gains.iter().flatten()
}

/// The point of a machine for each kind of demands.
fn on(results: &Results, machine: Machine) -> [&Point; DEMANDS.len()] {
    [0, 1].map(|demands| {
        let points = results.gains[demands].iter();
        let distance = |point: &&Point| (point.machine.slow - machine.slow).abs();
        points.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("there are machines")
    })
}

pub(super) fn equality(results: &Results, printed: f64) -> Claim {
    let equal = on(results, Machine { slow: 1.0, heterogeneity: [0.0; 2] }).map(|point| &point.outcomes[PUBLISHED]);
    let differs = |outcome: &&Outcome| {
        let Outcome { comparison, max_migrations, .. } = outcome;
        let changes = [comparison.throughput_percent, comparison.power_percent];
        changes.map(|change| change.mean.abs() + change.margin).into_iter().sum::<f64>() + max_migrations
    };
    let most = equal.iter().map(differs).fold(0.0, f64::max);
    Claim {
        what: "equal cores: FTFC is as CFS in power and throughput, and moves no thread",
        section: Some("5"),
        printed: format!("{printed} %"),
        found: format!("{most} %"),
        holds: Some(most == 0.0),
        why: "cores of one kind are one to every algorithm here".to_owned(),
    }
}

/// A value of policies on both machines, for each kind of demands.
fn all_of(
    results: &Results,
    machines: [Machine; 2],
    policies: &[usize],
    value: impl Fn(&Outcome) -> Mean,
) -> Vec<Mean> {
    let points = machines.into_iter().flat_map(|machine| on(results, machine));
    points.flat_map(|point| policies.iter().map(|&policy| value(&point.outcomes[policy])).collect::<Vec<_>>()).collect()
}

/// The same in words: for each kind of demands each policy on both machines.
fn told(results: &Results, machines: [Machine; 2], policies: &[usize], value: impl Fn(&Outcome) -> Mean) -> String {
    let of_demands = DEMANDS.iter().enumerate().map(|(demands, (name, _))| {
        let of_policy = policies.iter().map(|&policy| {
            let means = machines.map(|machine| interval(value(&on(results, machine)[demands].outcomes[policy])));
            format!("{} {}", contenders()[policy].name, means.join(" and "))
        });
        format!("{name} {}", of_policy.collect::<Vec<_>>().join(", "))
    });
    format!("{} ({} and {})", of_demands.collect::<Vec<_>>().join("; "), READINGS[0].1, READINGS[1].1)
}

pub(super) fn throughput(results: &Results, machines: [Machine; 2], printed: f64) -> Result<Claim, Error> {
    let gain = |outcome: &Outcome| outcome.comparison.throughput_percent;
    let gains = all_of(results, machines, &SEEN, gain);
    let needed = Machine::that_could_gain(printed)?;
    Ok(Claim {
        what: "heterogeneity 0.1: more throughput than CFS",
        section: Some("5"),
        printed: format!("+{printed} %"),
        found: told(results, machines, &[PUBLISHED, BSM, ORACLE], gain),
        holds: Some(gains.iter().any(|gain| gain.high() >= printed)),
        why: format!(
            "it cannot follow from the measure: with a thread on each core none gets less than r of what the fastest \
             core gives, so that no mapping gains more than 1/r - 1, {:.1} % at 0.1 {} (r = {:.3}) and {:.1} % at 0.1 {} \
             (r = {:.2}); {printed} % need r = {:.3} or less, a measure of {:.2} or {:.2}. The paper takes for the speed of a \
             core its CPU utilisation, which may hide how unlike cores with issue widths of 64 and 1 are",
            machines[0].max_gain_percent(),
            READINGS[0].1,
            machines[0].slow,
            machines[1].max_gain_percent(),
            READINGS[1].1,
            machines[1].slow,
            needed.slow,
            needed.heterogeneity[0],
            needed.heterogeneity[1],
        ),
    })
}

pub(super) fn power(results: &Results, machines: [Machine; 2], printed: f64) -> Claim {
    let power = |outcome: &Outcome| outcome.comparison.power_percent;
    let powers = all_of(results, machines, &SEEN, power);
    Claim {
        what: "heterogeneity 0.1: less power than CFS (of the same order: half of it to twice)",
        section: Some("5"),
        printed: format!("{printed} %"),
        found: told(results, machines, &[PUBLISHED, BSM], power),
        holds: Some(powers.iter().any(|power| power.high() < 0.0 && SAME_ORDER.contains(&(power.mean / printed)))),
        why: "cores draw 0.1 T^1.5, and T^2.2 more while busy, which is a model; the paper's were simulated in ESESC"
            .to_owned(),
    }
}

/// The points of the paper's machines in a reading of its measure, from equal cores to unlike ones, for each kind of demands.
fn as_published(results: &Results, reading: usize) -> [Vec<&Point>; DEMANDS.len()] {
    let heterogeneities = &results.published.heterogeneities;
    let last = heterogeneities[heterogeneities.len() - 1];
    results.gains.each_ref().map(|points| within(points, reading, last))
}

pub(super) fn highest(results: &Results) -> Claim {
    let all: Vec<Vec<&Point>> = (0..READINGS.len()).flat_map(|reading| as_published(results, reading)).collect();
    let at_last = |points: &Vec<&Point>, policy: usize| {
        let gain = |point: &Point| point.outcomes[policy].comparison.throughput_percent.mean;
        let last = gain(points[points.len() - 1]);
        points.iter().all(|point| gain(point) <= last)
    };
    let held: Vec<usize> = SEEN.map(|policy| all.iter().filter(|points| at_last(points, policy)).count()).into();
    let shown = SEEN.iter().zip(&held).map(|(&policy, held)| format!("{} {held}", contenders()[policy].name));
    Claim {
        what: "of heterogeneities up to 0.1 the gain in throughput is the highest at 0.1",
        section: Some("5"),
        printed: String::new(),
        found: format!("in how many of {} series: {}", all.len(), shown.collect::<Vec<_>>().join(", ")),
        holds: Some(held.iter().all(|&held| held == all.len())),
        why: "series: two kinds of demands, two readings of the measure".to_owned(),
    }
}

pub(super) fn advantage(results: &Results, what: &'static str, why: &str, better: impl Fn(&Outcome) -> bool) -> Claim {
    // As standard deviation, which takes in the machines of the other reading.
    let unlike: Vec<&Point> = as_published(results, 1).concat();
    let unlike: Vec<&Point> = unlike.into_iter().filter(|point| point.machine.slow < 1.0).collect();
    let count = |policy: usize| unlike.iter().filter(|point| better(&point.outcomes[policy])).count();
    let held = SEEN.map(count);
    let shown = SEEN.iter().zip(held).map(|(&policy, held)| format!("{} {held}", contenders()[policy].name));
    Claim {
        what,
        section: Some("5"),
        printed: String::new(),
        found: format!("in how many of {}: {}", unlike.len(), shown.collect::<Vec<_>>().join(", ")),
        holds: Some(2 * held[0] > unlike.len()),
        why: why.to_owned(),
    }
}

/// The most migrations per second that a policy made in a run, over all machines and demands.
fn max_migrations(results: &Results, policies: impl IntoIterator<Item = usize>) -> f64 {
    let policies: Vec<usize> = policies.into_iter().collect();
    let most = |point: &Point| policies.iter().map(|&policy| point.outcomes[policy].max_migrations).fold(0.0, f64::max);
    points(results).map(most).fold(0.0, f64::max)
}

pub(super) fn migrations(results: &Results) -> Claim {
    let most = max_migrations(results, FAIR..=ORACLE);
    let published = max_migrations(results, [PUBLISHED]);
    Claim {
        what: "at most N migrations in an interval",
        section: Some("4"),
        printed: format!("{:.0} per second", migration_bound()),
        found: format!("{published:.0} per second as published, {most:.0} with any policy, at most in a run"),
        holds: Some(most <= migration_bound()),
        why: "each thread is mapped once in each interval of 1 ms".to_owned(),
    }
}

pub(super) fn bounded(results: &Results) -> Claim {
    let share = |point: &Point| {
        let most = point.outcomes.iter().map(|outcome| outcome.comparison.throughput_percent.mean).fold(0.0, f64::max);
        most / point.machine.max_gain_percent()
    };
    let most = points(results).filter(|point| point.machine.slow < 1.0).map(share).fold(0.0, f64::max);
    Claim {
        what: "no policy gains more than 1/r - 1",
        section: None,
        printed: String::new(),
        found: format!("{:.0} % of that at most", 100.0 * most),
        holds: Some(most <= 1.0),
        why: String::new(),
    }
}

pub(super) fn grows(results: &Results) -> Claim {
    let gains = |points: &Vec<Point>| -> Vec<Mean> {
        points.iter().map(|point| point.outcomes[BSM].comparison.throughput_percent).collect()
    };
    let series: Vec<Vec<Mean>> = results.gains.iter().map(gains).collect();
    let shown = series
        .iter()
        .zip(DEMANDS)
        .map(|(gains, (name, _))| format!("to {} % {name}", interval(gains[gains.len() - 1])));
    Claim {
        what: "FTFC with memory: the more unlike the cores, the greater the gain (within the intervals)",
        section: None,
        printed: String::new(),
        found: shown.collect::<Vec<_>>().join(", "),
        holds: Some(series.iter().all(|gains| gains.windows(2).all(|pair| pair[1].high() >= pair[0].low()))),
        why: String::new(),
    }
}

pub(super) fn remembered(results: &Results) -> Claim {
    let bound = migration_bound() / TRUSTED;
    let most = [BSM, RANK].map(|policy| max_migrations(results, [policy]));
    Claim {
        what: "with memory: at most one migration of each thread in 16 intervals",
        section: None,
        printed: String::new(),
        found: format!("{:.0} (BSM) and {:.0} (rank) per second at most in a run, of {bound:.0}", most[0], most[1]),
        holds: Some(most.iter().all(|most| *most <= bound)),
        why: String::new(),
    }
}
