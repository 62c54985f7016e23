//! Cores of unlike speed that share the frames of a stage: each takes the next frame when it is free.

use crate::period::{Period, gcd_wide};

/// The period of a stage that cores with these works share: of each the nanoseconds of an execution, and how many cores have
/// it. In a time `t`, `r` cores with the work `W` do `r t / W` executions: the period is 1 / Σ(r / W), and no time where a work
/// is none. `None` where that is no fraction of 128-bit numbers.
pub(crate) fn shared_period(works: impl IntoIterator<Item = (u64, u32)>) -> Option<Period> {
    // The sum, as the fraction `num / den` in lowest terms but for what the last term brought.
    let (mut num, mut den) = (0u128, 1u128);
    for (work, cores) in works {
        if cores == 0 {
            continue;
        }
        if work == 0 {
            return Some(Period::ZERO);
        }
        let common = gcd_wide(u128::from(work), den);
        let (work, rest) = (u128::from(work) / common, den / common);
        num = num.checked_mul(work)?.checked_add(rest.checked_mul(cores.into())?)?;
        den = den.checked_mul(work)?;
        let common = gcd_wide(num, den);
        (num, den) = (num / common, den / common);
    }
    Period::wide(den, num)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_shared_stages_are_exact() {
        let period = |works: &[(u64, u32)]| shared_period(works.iter().copied());
        assert_eq!(period(&[(600, 2), (900, 1)]), Some(Period::from(225)));
        assert_eq!(period(&[(600, 2), (900, 0)]), Some(Period::from(300)));
        assert_eq!(period(&[(600, 2), (0, 1)]), Some(Period::ZERO));
        assert_eq!(period(&[(u64::MAX, 16_000), (u64::MAX - 1, 16_000)]).unwrap().whole(), u64::MAX / 32_000);
        assert_eq!(
            period(&[(7, 1), (11, 2), (13, 3), (17, 4)]),
            Period::new(17_017, 2431 + 2 * 1547 + 3 * 1309 + 4 * 1001)
        );
        // Three of 64 bits without a common factor are too long.
        assert_eq!(period(&[(u64::MAX, 1), (u64::MAX - 1, 1), (u64::MAX - 4, 1)]), None);
    }
}
