//! Exact periods.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A time between two executions, in nanoseconds, as an exact fraction in lowest terms; below 2^64 ns.
///
/// The work of a stage is an integer of nanoseconds and its replicas are counted, so every period that a
/// schedule can have is such a fraction (eq. 1), and two periods compare exactly: no tolerance decides
/// between schedules. Cores of several kinds that share a stage make for long fractions: numerator and denominator have 128 bits.
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
    num: u128,
    den: u128,
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
        Some(Self { num: (num / common).into(), den: (den / common).into() })
    }

    /// The fraction `num / den` nanoseconds of long numbers, or `None` where `den` is zero, or the fraction 2^64 or more.
    pub fn wide(num: u128, den: u128) -> Option<Self> {
        if den == 0 || num / den > MOST_NS {
            return None;
        }
        let common = gcd_wide(num, den);
        Some(Self { num: num / common, den: den / common })
    }

    /// `work` nanoseconds shared by `cores` replicas.
    pub(crate) fn shared(work: u64, cores: u32) -> Self {
        Self::new(work, u64::from(cores)).expect("work is shared by at least one core")
    }

    /// Numerator and denominator, where both have at most 64 bits.
    pub(crate) fn short(self) -> Option<(u64, u64)> {
        Some((u64::try_from(self.num).ok()?, u64::try_from(self.den).ok()?))
    }

    /// This period times `num / den`, or `None` where `den` is zero or the product no fraction of 64-bit numbers.
    pub(crate) fn scaled(self, num: u64, den: u64) -> Option<Self> {
        // Both fractions in lowest terms, and then each numerator beside the other's denominator: so is the product.
        let factor = Self::new(num, den)?;
        let (left, right) = (gcd_wide(self.num, factor.den), gcd_wide(factor.num, self.den));
        let num = (self.num / left).checked_mul(factor.num / right)?;
        let (num, den) = Self { num, den: (self.den / right).checked_mul(factor.den / left)? }.short()?;
        Some(Self { num: num.into(), den: den.into() })
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
        Self::wide(last.0, last.1)
    }

    /// A short fraction about so many 32nds of the way from one period to another, or `low` where there is none.
    pub(crate) fn between(low: Self, high: Self, part: u32) -> Self {
        // As many binary places as leave the integer below 2^62.
        let places = high.whole().leading_zeros().saturating_sub(2);
        let scaled = |period: Self| period.times(1 << places).0;
        let (from, to) = (scaled(low), scaled(high));
        let middle = from + to.saturating_sub(from) * u128::from(part) / 32;
        let middle = u64::try_from(middle).expect("below `high`, so below 2^64");
        let common = middle.trailing_zeros().min(places);
        let middle = Self { num: (middle >> common).into(), den: 1 << (places - common) };
        match (low.cmp(&middle), middle.cmp(&high)) {
            (Ordering::Less, Ordering::Less) => middle,
            _ => low,
        }
    }

    /// The numerator, in nanoseconds.
    pub fn num(self) -> u128 {
        self.num
    }

    /// The denominator, at least 1.
    pub fn den(self) -> u128 {
        self.den
    }

    /// The nearest number of nanoseconds.
    pub fn ns(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// The whole nanoseconds, rounded down.
    pub(crate) fn whole(self) -> u64 {
        match self.short() {
            Some((num, den)) => num / den,
            None => (self.num / self.den) as u64,
        }
    }

    /// So many times the period in nanoseconds, rounded down, and whether something was left.
    pub(crate) fn times(self, count: u64) -> (u128, bool) {
        share(count, self.num, self.den)
    }

    /// How often the period goes into `ns` nanoseconds, rounded down, and whether something was left; `None` for a period of no
    /// time. What exceeds 128 bits is 2^128 - 1.
    pub(crate) fn goes_into(self, ns: u64) -> Option<(u128, bool)> {
        (self.num > 0).then(|| share(ns, self.den, self.num))
    }
}

/// The most whole nanoseconds of a period.
const MOST_NS: u128 = u64::MAX as u128;

/// `count * num / den`, rounded down, and whether something was left. A quotient of more than 128 bits is 2^128 - 1.
fn share(count: u64, num: u128, den: u128) -> (u128, bool) {
    if let Some(product) = u128::from(count).checked_mul(num) {
        let quotient = product / den;
        return (quotient, quotient * den != product);
    }
    let (whole, part) = (num / den, num % den);
    // Count times the part, bit by bit: both `left` and `part` are below `den`, which may have all 128 bits.
    let (mut quotient, mut left) = (0u128, 0u128);
    let add = |left: &mut u128, more: u128| {
        let (sum, wrapped) = left.overflowing_add(more);
        let over = wrapped || sum >= den;
        *left = if over { sum.wrapping_sub(den) } else { sum };
        u128::from(over)
    };
    for bit in (0..u64::BITS).rev() {
        let twice = left;
        quotient = 2 * quotient + add(&mut left, twice);
        if count >> bit & 1 == 1 {
            quotient += add(&mut left, part);
        }
    }
    (whole.saturating_mul(count.into()).saturating_add(quotient), left > 0)
}

impl From<u64> for Period {
    fn from(ns: u64) -> Self {
        Self { num: ns.into(), den: 1 }
    }
}

impl Ord for Period {
    fn cmp(&self, other: &Self) -> Ordering {
        if (self.num | self.den | other.num | other.den) <= MOST_NS {
            return (self.num * other.den).cmp(&(other.num * self.den));
        }
        product(self.num, other.den).cmp(&product(other.num, self.den))
    }
}

/// A product of two numbers, its upper half first.
fn product(a: u128, b: u128) -> (u128, u128) {
    let half = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (half(a), half(b));
    let (low, cross) = (a0 * b0, a1 * b0);
    // Neither sum reaches 2^128: a product of two 64-bit numbers leaves room for two more of them.
    let middle = cross + (low >> 64);
    let (middle_high, middle_low) = half(middle);
    let second = a0 * b1 + middle_low;
    (a1 * b1 + middle_high + (second >> 64), second << 64 | half(low).1)
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
            None => Self::wide(integer(text)?, 1).ok_or(ParsePeriodError),
            Some((num, den)) => Self::wide(integer(num)?, integer(den)?).ok_or(ParsePeriodError),
        }
    }
}

/// The greatest common divisor, by long division only as long as the numbers are long.
pub(crate) fn gcd_wide(mut a: u128, mut b: u128) -> u128 {
    loop {
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return gcd(a, b).into();
        }
        if b == 0 {
            return a;
        }
        (a, b) = (b, a % b);
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
    fn periods_of_128_bits_compare_and_divide_exactly() {
        let a = Period::wide(u128::MAX, u128::MAX - 1).unwrap();
        let b = Period::wide(u128::MAX - 1, u128::MAX - 2).unwrap();
        assert!(a < b && Period::from(1) < a && b < Period::from(2));
        assert_eq!(Period::wide(u128::MAX, 1 << 63), None);
        assert_eq!(a.times(u64::MAX), (u128::from(u64::MAX), true));
        assert_eq!(a.goes_into(u64::MAX), Some((u128::from(u64::MAX) - 1, true)));
        assert_eq!(Period::from(7).goes_into(21), Some((3, false)));
        assert_eq!(Period::wide(1, u128::MAX).unwrap().goes_into(2), Some((u128::MAX, false)));
        assert_eq!(a.to_string().parse(), Ok(a));
    }

    #[test]
    fn neighbours_have_nothing_between() {
        let (low, high) = (Period::from(u64::MAX - 1), Period::from(u64::MAX));
        assert_eq!(Period::between(low, high, 16), low);
        assert_eq!(Period::between(low, low, 16), low);
        assert_eq!(Period::between(Period::ZERO, Period::from(u64::MAX), 16), Period::from(u64::MAX / 2));
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
            let middle = Period::between(low, high, 16);
            prop_assert!(low < middle && middle < high && middle.den().is_power_of_two());
        }

        #[test]
        fn long_numbers_divide_as_short_ones(
            count in 0u64..1 << 40,
            num in 1u128..1 << 40,
            den in 1u128..1 << 40,
            factor in (1u128 << 64)..1 << 80,
        ) {
            let product = u128::from(count) * num;
            let expected = (product / den, product % den > 0);
            prop_assert_eq!(share(count, num, den), expected);
            prop_assert_eq!(share(count, num * factor, den * factor), expected);
            let (high, low) = super::product(num * factor, den * factor);
            prop_assert_eq!(low, (num * factor).wrapping_mul(den * factor));
            let approximate = (num * factor) as f64 * (den * factor) as f64 / 2f64.powi(128);
            prop_assert!((high as f64 - approximate).abs() <= 1.0 + approximate * 1e-12);
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
