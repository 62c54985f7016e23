//! What the paper says, beside what was found.

use super::KINDS;
use super::evaluate::{BATCHINGS, MERGED_AT, SIZES};
use super::means::{Means, Swept};
use super::receiver::{self, Receiver};
use crate::campaign::claim::Claim;

/// By how much utilisation falls where it falls "by nearly two-thirds".
const NEARLY_TWO_THIRDS: std::ops::RangeInclusive<f64> = 0.55..=0.70;
/// "Less than 0.1 ms".
const LITTLE_US: f64 = 100.0;
/// What a straight line must explain of latencies that grow "approximately linearly".
const LINEAR: f64 = 0.99;
/// Of what is still needed, what more merging has to save to be worth a word.
const NOTHING: f64 = 0.02;
/// What doubling a batch saves, in cores, where it brings diminishing returns.
const LITTLE_CORES: f64 = 0.01;

/// The place of a size.
fn at(size: u64) -> usize {
    SIZES.iter().position(|&other| other == size).expect("one of the sizes")
}

fn latency(points: &[Swept], index: usize) -> f64 {
    points[index].latency_us.unwrap_or(f64::NAN)
}

/// All claims, judged. Where no graph fits a claim does not hold.
pub(super) fn judge(means: &[Means; 2], receiver: &Receiver) -> Vec<Claim> {
    vec![
        two_thirds(&means[0]),
        little_latency(&means[0], 0),
        little_latency(&means[0], 1),
        linear(means),
        diminishing(means),
        rate_exploiting(means),
        merging(means),
        parallel(means),
        case_study(receiver),
    ]
}

fn two_thirds(light: &Means) -> Claim {
    let less = [0, 1].map(|way| 1.0 - light.swept[way][at(4)].utilisation / light.swept[way][0].utilisation);
    Claim {
        what: "light graphs, batches of 4: utilisation falls by nearly two-thirds (55 to 70 %)",
        section: Some("7.2"),
        printed: "2/3".to_owned(),
        found: format!("{:.0} %, {:.0} % ({}, {})", 100.0 * less[0], 100.0 * less[1], BATCHINGS[0], BATCHINGS[1]),
        holds: Some(less.iter().all(|less| NEARLY_TWO_THIRDS.contains(less))),
        why: String::new(),
    }
}

fn little_latency(light: &Means, way: usize) -> Claim {
    let more = [2, 4, 6].map(|size| latency(&light.swept[way], at(size)) - latency(&light.swept[way], 0));
    Claim {
        what: [
            "light graphs, uniform batches of 2 to 6: latency grows by less than 0.1 ms",
            "light graphs, rate-exploiting batches of 2 to 6: latency grows by less than 0.1 ms",
        ][way],
        section: Some("7.2"),
        printed: "0.1 ms".to_owned(),
        found: format!("{:.0}, {:.0}, {:.0} us by 2, 4, 6", more[0], more[1], more[2]),
        holds: Some(more.iter().all(|more| *more < LITTLE_US)),
        why: String::new(),
    }
}

/// Which part of the variance of latencies a straight line over the batch explains.
fn explained(points: &[Swept]) -> f64 {
    let all: Vec<(f64, f64)> = (0..SIZES.len()).map(|index| (SIZES[index] as f64, latency(points, index))).collect();
    let count = all.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| all.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    sum(&|x, y| x * y).powi(2) / (sum(&|x, _| x * x) * sum(&|_, y| y * y))
}

fn linear(means: &[Means; 2]) -> Claim {
    let all: Vec<f64> = means.iter().flat_map(|means| &means.swept).map(|points| explained(points)).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    Claim {
        what: "latency grows linearly with the batch (R² of a straight line)",
        section: Some("7.2"),
        printed: String::new(),
        found: format!("R² = {least:.4} or more"),
        holds: Some(all.iter().all(|explained| *explained >= LINEAR)),
        why: String::new(),
    }
}

fn diminishing(means: &[Means; 2]) -> Claim {
    let doublings = [1, 2, 4, 8, 16, 32, 64, 128, 256].map(at);
    let saves = |points: &[Swept]| -> Vec<f64> {
        doublings.windows(2).map(|pair| points[pair[0]].utilisation - points[pair[1]].utilisation).collect()
    };
    let all: Vec<Vec<f64>> = means.iter().flat_map(|means| &means.swept).map(|points| saves(points)).collect();
    let (first, last) = (&all[0][0], &all[0][doublings.len() - 2]);
    Claim {
        what: "each doubling of the batch saves less of the cores than the one before",
        section: Some("7.2"),
        printed: String::new(),
        found: format!("from {first:.3} to {last:.3} cores (light, uniform)"),
        holds: Some(all.iter().all(|saved| saved.is_sorted_by(|a, b| a > b) && saved.iter().all(|saved| *saved > 0.0))),
        why: String::new(),
    }
}

/// The latency of uniform batches that need so much of the cores, between two sizes in proportion.
fn uniform_latency(points: &[Swept], utilisation: f64) -> Option<f64> {
    (1..points.len()).find(|&index| points[index].utilisation <= utilisation).map(|index| {
        let (above, below) = (&points[index - 1], &points[index]);
        let part = (above.utilisation - utilisation) / (above.utilisation - below.utilisation);
        latency(points, index - 1) + part * (latency(points, index) - latency(points, index - 1))
    })
}

fn rate_exploiting(means: &[Means; 2]) -> Claim {
    let ratios: Vec<f64> = means
        .iter()
        .flat_map(|means| {
            let [uniform, in_step] = &means.swept;
            (at(4)..SIZES.len()).filter_map(|index| {
                let other = uniform_latency(uniform, in_step[index].utilisation)?;
                Some(latency(in_step, index) / other)
            })
        })
        .collect();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let best = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    Claim {
        what: "rate-exploiting batches (4 and more) are done sooner than uniform ones of the same utilisation",
        section: Some("5.2"),
        printed: String::new(),
        found: format!("in {:.0} to {:.0} % of the time", 100.0 * best, 100.0 * worst),
        holds: Some(!ratios.is_empty() && ratios.iter().all(|ratio| *ratio < 1.0)),
        why: String::new(),
    }
}

/// By how much of `one` the other is less.
fn less(one: Option<f64>, other: Option<f64>) -> f64 {
    one.zip(other).map_or(f64::NAN, |(one, other)| 1.0 - other / one)
}

fn merging(means: &[Means; 2]) -> Claim {
    let found: Vec<(f64, f64, usize)> = means
        .iter()
        .map(|means| {
            let (none, both) = (&means.merged[0], &means.merged[3]);
            (less(none.utilisation, both.utilisation), less(none.latency_us, both.latency_us), both.slower)
        })
        .collect();
    let shown = found.iter().zip(KINDS).map(|((needs, latency, slower), kind)| {
        format!("{kind}: {:.0} % cores, {:.0} % latency less; later: {slower} graphs", 100.0 * needs, 100.0 * latency)
    });
    debug_assert_eq!(MERGED_AT, 8, "the claim names the batch");
    Claim {
        what: "merging (batches of 8) saves utilisation and adds no latency",
        section: Some("7.3"),
        printed: String::new(),
        found: shown.collect::<Vec<_>>().join("; "),
        holds: Some(found.iter().all(|(needs, latency, _)| *needs > 0.0 && *latency >= 0.0)),
        why: String::new(),
    }
}

fn parallel(means: &[Means; 2]) -> Claim {
    let more = [0, 1].map(|kind| less(means[kind].merged[1].utilisation, means[kind].merged[3].utilisation));
    Claim {
        what: "parallel merging adds next to nothing after serial merging (2 % of what is needed or less)",
        section: None,
        printed: String::new(),
        found: format!("{:.1} % light, {:.1} % heavy", 100.0 * more[0], 100.0 * more[1]),
        holds: Some(more.iter().all(|more| more.abs() <= NOTHING)),
        why: String::new(),
    }
}

fn case_study(receiver: &Receiver) -> Claim {
    let knee = receiver::SIZES.iter().position(|&size| size == 750).expect("the paper's size is one of ours");
    let points = &receiver.swept[0];
    let saved = |index: usize| points[index].utilisation - points[index + 1].utilisation;
    Claim {
        what: "narrowband FM, batches of 750: more save little (less than 0.01 cores by twice as many)",
        section: Some("7.2"),
        printed: "750".to_owned(),
        found: format!("{:.4} cores; {:.3} from 94 to 188", saved(knee), saved(1)),
        holds: Some(saved(knee) < LITTLE_CORES && saved(1) > LITTLE_CORES),
        why: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::batching::evaluate::evaluate;

    #[test]
    fn a_few_graphs_show_what_the_paper_says() {
        let means =
            [0, 1].map(|kind| Means::of(&(0..40).map(|graph| evaluate(kind, 1, graph).unwrap()).collect::<Vec<_>>()));
        let claims = judge(&means, &Receiver::evaluate().unwrap());
        let held = |part: &str| {
            let claim = claims.iter().find(|claim| claim.what.contains(part));
            let claim = claim.unwrap_or_else(|| panic!("no claim about {part}"));
            assert_eq!(claim.holds, Some(true), "{}: {}", claim.what, claim.found);
        };
        for part in [
            "two-thirds",
            "rate-exploiting batches of 2 to 6",
            "linearly",
            "doubling",
            "done sooner",
            "adds no latency",
            "parallel",
            "narrowband FM",
        ] {
            held(part);
        }
        let means = [Means::of(&[]), Means::of(&[])];
        assert!(
            judge(&means, &Receiver::evaluate().unwrap()).iter().filter(|claim| claim.holds == Some(true)).count() == 1
        );
    }

    #[test]
    fn a_straight_line_explains_itself() {
        let points = |of: fn(f64) -> f64| -> Vec<Swept> {
            let point = |&size: &u64| Swept { utilisation: 1.0, latency_us: Some(of(size as f64)), fitting: 1 };
            SIZES.iter().map(point).collect()
        };
        assert!((explained(&points(|size| 3.0 + 2.0 * size)) - 1.0).abs() < 1e-12);
        assert!(explained(&points(f64::sqrt)) < LINEAR);
    }
}
