//! Exact periods.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A time between two executions, in nanoseconds, as an exact fraction in lowest terms.
///
/// The work of a stage is an integer of nanoseconds and its replicas are counted, so every period that a
/// schedule can have is such a fraction (eq. 1), and two periods compare exactly: no tolerance decides
/// between schedules.
///
/// It is written, and read by [`str::parse`], as `num` or `num/den`.
///
/// ```
/// use bief_schedule::Period;
///
/// let third = Period::new(100, 3).unwrap();
/// assert!(third < Period::from(34));
/// assert_eq!(third, Period::new(200, 6).unwrap());
/// assert_eq!(third.to_string(), "100/3");
/// assert_eq!("100/3".parse(), Ok(third));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    num: u64,
    den: u64,
}

impl Period {
    /// No time at all: the period of a chain whose tasks all weigh nothing.
    pub const ZERO: Self = Self { num: 0, den: 1 };

    /// The fraction `num / den` nanoseconds, or `None` where `den` is zero.
    pub fn new(num: u64, den: u64) -> Option<Self> {
        if den == 0 {
            return None;
        }
        let common = gcd(num, den);
        Some(Self { num: num / common, den: den / common })
    }

    /// `work` nanoseconds shared by `cores` replicas.
    pub(crate) fn shared(work: u64, cores: u32) -> Self {
        Self::new(work, u64::from(cores)).expect("work is shared by at least one core")
    }

    /// This period times `num / den`, or `None` where `den` is zero or the product no fraction of 64-bit numbers.
    pub(crate) fn scaled(self, num: u64, den: u64) -> Option<Self> {
        // Both fractions in lowest terms, and then each numerator beside the other's denominator: so is the product.
        let factor = Self::new(num, den)?;
        let left = Self::new(self.num, factor.den)?;
        let right = Self::new(factor.num, self.den)?;
        Some(Self { num: left.num.checked_mul(right.num)?, den: left.den.checked_mul(right.den)? })
    }

    /// The simplest of the fractions that round to `ns`: what a period was before it was written with the
    /// 53 bits of a JSON number. `None` where `ns` is negative, not finite, 2^64 or more, or positive but
    /// below 2^-10 ns.
    ///
    /// ```
    /// use bief_schedule::Period;
    ///
    /// assert_eq!(Period::from_ns(100.0 / 3.0), Period::new(100, 3));
    /// assert_eq!(Period::from_ns(17683.5), Period::new(35367, 2));
    /// assert_eq!(Period::from_ns(-1.0), None);
    /// ```
    pub fn from_ns(ns: f64) -> Option<Self> {
        if ns == 0.0 {
            return Some(Self::ZERO);
        }
        if !(2f64.powi(-10)..2f64.powi(64)).contains(&ns) {
            return None;
        }
        if ns.fract() == 0.0 {
            return Some(Self::from(ns as u64));
        }
        // A fraction part means ns < 2^53; with ns >= 2^-10 the value is an integer over 2^62 at most.
        const BITS: i32 = 62;
        let mut rest = ((ns * 2f64.powi(BITS)) as u128, 1u128 << BITS);
        // Convergents of the continued fraction, the last but one first.
        let (mut before, mut last) = ((0u128, 1u128), (1u128, 0u128));
        while rest.1 != 0 {
            let quotient = rest.0 / rest.1;
            (before, last) = (last, (quotient * last.0 + before.0, quotient * last.1 + before.1));
            if last.0 as f64 / last.1 as f64 == ns {
                break;
            }
            rest = (rest.1, rest.0 % rest.1);
        }
        Self::new(u64::try_from(last.0).ok()?, u64::try_from(last.1).ok()?)
    }

    /// A short fraction about half-way between two periods, or `low` where there is none.
    pub(crate) fn between(low: Self, high: Self) -> Self {
        // As many binary places as leave the integer below 2^62.
        let places = (high.num / high.den).leading_zeros().saturating_sub(2);
        let scaled = |period: Self| (u128::from(period.num) << places) / u128::from(period.den);
        let middle = u64::try_from((scaled(low) + scaled(high)) / 2).expect("below `high`, so below 2^64");
        let common = middle.trailing_zeros().min(places);
        let middle = Self { num: middle >> common, den: 1 << (places - common) };
        match (low.cmp(&middle), middle.cmp(&high)) {
            (Ordering::Less, Ordering::Less) => middle,
            _ => low,
        }
    }

    /// The numerator, in nanoseconds.
    pub fn num(self) -> u64 {
        self.num
    }

    /// The denominator, at least 1.
    pub fn den(self) -> u64 {
        self.den
    }

    /// The nearest number of nanoseconds.
    pub fn ns(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl From<u64> for Period {
    fn from(ns: u64) -> Self {
        Self { num: ns, den: 1 }
    }
}

impl Ord for Period {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        cross(self.num, other.den).cmp(&cross(other.num, self.den))
    }
}

impl PartialOrd for Period {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { f.pad(&self.num.to_string()) } else { f.pad(&format!("{}/{}", self.num, self.den)) }
    }
}

/// A text is not a [`Period`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a period: write nanoseconds as an integer or as a fraction such as `100/3`")]
pub struct ParsePeriodError;

impl FromStr for Period {
    type Err = ParsePeriodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let integer = |digits: &str| digits.trim().parse().map_err(|_| ParsePeriodError);
        match text.split_once('/') {
            None => Ok(Self::from(integer(text)?)),
            Some((num, den)) => Self::new(integer(num)?, integer(den)?).ok_or(ParsePeriodError),
        }
    }
}

/// The greatest common divisor; 0 of two zeros.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_are_no_period_are_refused() {
        for text in ["", "x", "1/0", "1/2/3", "-1", "1.5", "/", "18446744073709551616"] {
            assert_eq!(text.parse::<Period>(), Err(ParsePeriodError), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_period_are_refused() {
        for ns in [-1.0, f64::NAN, f64::INFINITY, 2f64.powi(64), 1e-9] {
            assert_eq!(Period::from_ns(ns), None, "{ns}");
        }
        assert_eq!(Period::from_ns(2f64.powi(63)), Some(Period::from(1 << 63)));
        assert_eq!(Period::from_ns(0.0), Some(Period::ZERO));
    }

    #[test]
    fn the_largest_periods_compare_exactly() {
        let a = Period::new(u64::MAX, u64::MAX - 1).unwrap();
        let b = Period::new(u64::MAX - 1, u64::MAX - 2).unwrap();
        assert!(a < b);
        assert!(Period::from(1) < a);
    }

    #[test]
    fn products_are_exact_or_none() {
        let third = Period::new(100, 3).unwrap();
        assert_eq!(third.scaled(9, 50), Some(Period::from(6)));
        assert_eq!(third.scaled(1, 0), None);
        let large = Period::new(u64::MAX, 7).unwrap();
        assert_eq!(large.scaled(u64::MAX - 2, u64::MAX), Period::new(u64::MAX - 2, 7));
        assert_eq!(Period::from(u64::MAX).scaled(2, 3).unwrap(), Period::from(u64::MAX / 3 * 2));
        assert_eq!(Period::from(u64::MAX).scaled(2, 7), None);
    }

    #[test]
    fn neighbours_have_nothing_between() {
        let (low, high) = (Period::from(u64::MAX - 1), Period::from(u64::MAX));
        assert_eq!(Period::between(low, high), low);
        assert_eq!(Period::between(low, low), low);
        assert_eq!(Period::between(Period::ZERO, Period::from(u64::MAX)), Period::from(u64::MAX / 2));
    }

    proptest! {
        #[test]
        fn what_is_between_parts_the_two(
            a in (0u64..1 << 40, 1u64..16_000),
            b in (0u64..1 << 40, 1u64..16_000),
        ) {
            let (a, b) = (Period::new(a.0, a.1).unwrap(), Period::new(b.0, b.1).unwrap());
            prop_assume!(a != b);
            let (low, high) = (a.min(b), a.max(b));
            let middle = Period::between(low, high);
            prop_assert!(low < middle && middle < high && middle.den().is_power_of_two());
        }

        #[test]
        fn a_written_period_is_read_back(num in 1u64..1 << 38, den in 1u64..2000) {
            let period = Period::new(num, den).unwrap();
            prop_assert_eq!(Period::from_ns(period.ns()), Some(period));
            prop_assert_eq!(period.to_string().parse(), Ok(period));
        }

        #[test]
        fn a_number_is_read_as_a_fraction_that_rounds_to_it(ns in 0.001f64..1e15) {
            prop_assert_eq!(Period::from_ns(ns).unwrap().ns(), ns);
        }
    }
}
