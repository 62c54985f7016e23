//! Who is faster: ranks, and whether they are as planned.

use std::cmp::Ordering;

/// Values share a rank where they differ by less than this part of the greater one.
const TIE: f64 = 0.02;

/// The rank of each value, the greatest first, from 1; a value shares the rank of the greatest of those that it is tied with.
pub(super) fn ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut ranks = vec![0; values.len()];
    let (mut rank, mut first) = (0, f64::INFINITY);
    for (place, index) in order.into_iter().enumerate() {
        if compare(values[index], first) != Ordering::Equal {
            (rank, first) = (place + 1, values[index]);
        }
        ranks[index] = rank;
    }
    ranks
}

/// Which is greater, unless they are tied.
fn compare(a: f64, b: f64) -> Ordering {
    if (a - b).abs() < TIE * a.max(b) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// Two that were planned in one order and measured in the other, by their positions.
#[derive(Debug, PartialEq)]
pub(super) struct Swap {
    pub(super) planned_faster: usize,
    pub(super) measured_faster: usize,
}

/// All pairs that changed places, those that are measured farthest apart first; ties do not.
pub(super) fn swaps(planned: &[f64], measured: &[f64]) -> Vec<Swap> {
    let all = 0..planned.len();
    let pairs = all.clone().flat_map(|one| all.clone().map(move |other| (one, other)));
    let mut swaps: Vec<Swap> = pairs
        .filter(|&(one, other)| {
            compare(planned[one], planned[other]) == Ordering::Greater
                && compare(measured[one], measured[other]) == Ordering::Less
        })
        .map(|(planned_faster, measured_faster)| Swap { planned_faster, measured_faster })
        .collect();
    let apart = |swap: &Swap| measured[swap.measured_faster] / measured[swap.planned_faster];
    swaps.sort_by(|a, b| apart(b).total_cmp(&apart(a)));
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_a_rank() {
        assert_eq!(ranks(&[100.0, 50.0, 99.0, 98.5, 97.9, 49.5]), [1, 5, 1, 1, 4, 5]);
        assert_eq!(ranks(&[1.0]), [1]);
        assert_eq!(ranks(&[0.0, 0.0, 3.0]), [2, 2, 1]);
    }

    #[test]
    fn only_what_is_clearly_the_other_way_round_is_swapped() {
        let swap = |planned_faster, measured_faster| Swap { planned_faster, measured_faster };
        assert_eq!(swaps(&[100.0, 90.0, 80.0], &[100.0, 90.0, 95.0]), [swap(1, 2)]);
        assert_eq!(swaps(&[100.0, 90.0], &[90.0, 91.0]), [], "measured as equals");
        assert_eq!(swaps(&[100.0, 99.0], &[90.0, 100.0]), [], "planned as equals");
        assert_eq!(swaps(&[3.0, 2.0, 1.0], &[1.0, 2.0, 3.0]), [swap(0, 2), swap(0, 1), swap(1, 2)]);
    }
}
