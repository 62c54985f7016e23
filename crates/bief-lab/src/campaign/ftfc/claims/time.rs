//! What the paper says of the time that mapping takes.

use bief_schedule::simulate::Mean;

use super::super::Results;
use super::super::table::interval;
use super::super::times::{COUNTS, Growth, KINDS, MANY, NEWS, median_us};
use crate::campaign::claim::Claim;

/// By how much a fitted power may be above the one that is stated.
const POWER: f64 = 0.1;

/// The most cores.
const MOST_CORES: usize = COUNTS[COUNTS.len() - 1];

/// The powers of the cores (of N! for the naive search) and of the kinds with which Table 1 lets times grow. Between the
/// least and the greatest number of kinds log M grows as a power of M does.
fn stated(algorithm: &str) -> (f64, Option<f64>) {
    let [few, .., many] = KINDS.map(|kinds| kinds as f64);
    match algorithm {
        "BSM" => (1.0, Some((many.ln() / few.ln()).ln() / (many / few).ln())),
        "WED" => (1.0, Some(1.0)),
        "MTS" => (2.0, Some(-1.0)),
        _ => (1.0, None),
    }
}

pub(super) fn growth(results: &Results, algorithm: &'static str) -> Claim {
    let stated = stated(algorithm);
    let growths: Vec<&Growth> = results.growths.iter().filter(|growth| growth.algorithm == algorithm).collect();
    let base = if stated.1.is_some() { "N" } else { "(N!)" };
    let shown = growths.iter().map(|growth| {
        let Some(cores) = growth.with_cores else { return format!("{}: not measured", growth.news) };
        let kinds = growth.with_kinds.map(|power| format!(" M^{}", interval(power))).unwrap_or_default();
        format!("{}: {base}^{}{kinds}", growth.news, interval(cores))
    });
    let (what, why) = match algorithm {
        "BSM" => ("the time of BSM", "demands are searched by bisection, and what N threads take is the greater part"),
        "WED" => ("the time of WED", "each thread looks at each kind that is free"),
        "MTS" => (
            "the time of MTS",
            "all pairs of threads on unlike cores are tried until none gains: as many passes as it takes, and more kinds \
             make more such pairs",
        ),
        _ => ("the time of the naive search", "all mappings are tried; measured as far as the budget allows"),
    };
    Claim {
        what,
        section: Some("4.3, Table 1"),
        printed: results.published.complexity(algorithm).unwrap_or_default().to_owned(),
        found: shown.collect::<Vec<_>>().join("; "),
        holds: growths.iter().map(|growth| within(growth, stated)).try_fold(true, |all, one| Some(all & one?)),
        why: why.to_owned(),
    }
}

/// Whether times grow no more than with these powers, as far as that is known: what is stated are bounds from above.
fn within(growth: &Growth, (of_cores, of_kinds): (f64, Option<f64>)) -> Option<bool> {
    let keeps = |found: Option<Mean>, stated: f64| {
        let found = found.filter(|found| found.margin.is_finite())?;
        Some(found.low() <= stated + POWER)
    };
    let with_kinds = of_kinds.map_or(Some(true), |stated| keeps(growth.with_kinds, stated));
    Some(keeps(growth.with_cores, of_cores)? & with_kinds?)
}

pub(super) fn outperforms(results: &Results) -> Claim {
    let us = |algorithm: &str, (news, kinds, count): (&str, usize, usize)| {
        median_us(&results.times, algorithm, news, kinds, count)
    };
    let machines = KINDS.iter().flat_map(|&kinds| COUNTS.map(|count| (kinds, count)));
    let machines = machines.filter(|&(kinds, count)| count >= MANY && count >= kinds);
    let cases = machines.flat_map(|(kinds, count)| NEWS.map(|(news, _)| (news, kinds, count)));
    // What took too long to be measured did not take less.
    let found: Vec<bool> = cases
        .filter_map(|case| {
            let (bsm, wed) = (us("BSM", case)?, us("WED", case)?);
            Some(bsm <= wed && us("MTS", case).is_none_or(|mts| bsm <= mts))
        })
        .collect();
    let least = found.iter().filter(|least| **least).count();
    let beside = |kinds: usize| {
        let case = (NEWS[0].0, kinds, MOST_CORES);
        let times = us("WED", case)? / us("BSM", case)?;
        Some(format!(", WED takes {times:.2} times as long for {MOST_CORES} cores of {kinds} kinds"))
    };
    let [few, .., many] = KINDS;
    let beside = [few, many].map(|kinds| beside(kinds).unwrap_or_default());
    Claim {
        what: "BSM takes less time than WED and MTS (50 cores and more)",
        section: Some("4.3"),
        printed: String::new(),
        found: format!("the least in {least} of {} cases{}", found.len(), beside.concat()),
        holds: (!found.is_empty()).then_some(least == found.len()),
        why: "less growth is not less time: with few kinds a scan is as short as a search".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(with_cores: f64, with_kinds: f64, margin: f64) -> Growth {
        let power = |mean| Some(Mean { mean, margin });
        Growth { algorithm: "", news: "", with_cores: power(with_cores), with_kinds: power(with_kinds) }
    }

    #[test]
    fn times_may_grow_less_than_stated() {
        // From 2 kinds to 16 the logarithm grows by a factor of 4: the power is 2/3.
        let (cores, kinds) = stated("BSM");
        assert!(cores == 1.0 && (kinds.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        for (with_cores, with_kinds, holds) in
            [(1.02, 0.05, true), (0.9, 0.7, true), (1.3, 0.0, false), (1.0, 1.0, false)]
        {
            assert_eq!(within(&growth(with_cores, with_kinds, 0.02), stated("BSM")), Some(holds));
        }
        assert_eq!(within(&growth(2.0, 0.3, 0.02), stated("MTS")), Some(false));
        assert_eq!(within(&growth(1.05, 9.0, 0.02), stated("naive")), Some(true));
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        assert_eq!(within(&growth(1.0, 0.0, f64::INFINITY), stated("WED")), None);
        assert_eq!(within(&Growth { with_kinds: None, ..growth(1.0, 0.0, 0.1) }, stated("WED")), None);
        assert_eq!(within(&Growth { with_kinds: None, ..growth(1.0, 0.0, 0.1) }, stated("naive")), Some(true));
    }
}
