//! The check rule: what a check tells each of its bits, from what the other ones know.
//!
//! That is the product of their signs, and as magnitude the sum a ⊞ b = 2 artanh(tanh(a/2) tanh(b/2)) over them,
//! which is about min(a, b) - ln(1 + exp(-|a - b|)). A-min* (Jones, Vallés, Smith, Villasenor: Approximate-MIN*
//! constraint node updating for LDPC code decoding, MILCOM 2003) computes two such sums per check: without the
//! bit that knows least, exact, which is told to that bit; and of all, told to the others, to whose own part in it
//! the least one leaves little weight.

use super::MAX_MESSAGE;
use crate::simd::{Simd, i8x64, prelude::*};

/// Magnitudes that differ by less than this many counts give a sum one count below the smaller one ...
const NEAR: i8 = 8;
/// ... and two counts if they differ by less than this: ln(1 + exp(-|a - b|)) in counts of a quarter, on average
/// 10 % less, for ln(1 + exp(-(a + b))), which belongs to the sum, is left out.
const VERY_NEAR: i8 = 3;

/// Magnitude of what two bits know together. Far from both, it may be less than 0, which stands for 0.
#[inline(always)]
fn sum<S: Simd>(a: i8x64<S>, b: i8x64<S>) -> i8x64<S> {
    let less = a.min(b);
    let difference = a.max(b) - less;
    let less = difference.simd_lt(NEAR).select(less - 1, less);
    difference.simd_lt(VERY_NEAR).select(less - 1, less)
}

/// What the bits of a strip of checks know, those taken in so far.
#[derive(Clone, Copy)]
pub(super) struct Bits<S: Simd> {
    /// Least magnitude.
    least: i8x64<S>,
    /// Sum of all magnitudes but that one.
    others: i8x64<S>,
    /// Negative if an odd number of bits is.
    sign: i8x64<S>,
}

impl<S: Simd> Bits<S> {
    /// No bits.
    #[inline(always)]
    pub(super) fn none(simd: S) -> Bits<S> {
        let certain = i8x64::splat(simd, i8::MAX);
        Bits { least: certain, others: certain, sign: i8x64::splat(simd, 0) }
    }

    /// Takes in one bit of every check, given by its extrinsic value.
    #[inline(always)]
    pub(super) fn take(&mut self, extrinsic: i8x64<S>) {
        let magnitude = extrinsic.abs();
        self.others = sum(self.others, self.least.max(magnitude));
        self.least = self.least.min(magnitude);
        self.sign ^= extrinsic;
    }

    /// What the checks have to say, once all bits are taken in.
    #[inline(always)]
    pub(super) fn checks(self) -> Checks<S> {
        let message = |magnitude: i8x64<S>| magnitude.max(0).min(MAX_MESSAGE);
        Checks {
            least: self.least,
            to_least: message(self.others),
            to_others: message(sum(self.others, self.least)),
            sign: self.sign,
        }
    }
}

/// What the checks of a strip tell their bits.
#[derive(Clone, Copy)]
pub(super) struct Checks<S: Simd> {
    /// Least magnitude among the bits.
    least: i8x64<S>,
    /// Magnitude of the message to the bit that has the least one.
    to_least: i8x64<S>,
    /// Magnitude of the message to the others.
    to_others: i8x64<S>,
    /// Negative if an odd number of bits is.
    sign: i8x64<S>,
}

impl<S: Simd> Checks<S> {
    /// Message to the bit whose extrinsic value is given.
    #[inline(always)]
    pub(super) fn message(&self, extrinsic: i8x64<S>) -> i8x64<S> {
        // Of bits that share the least magnitude, each is told what the others know: it is the same.
        let is_least = extrinsic.abs().simd_eq(self.least);
        let magnitude = is_least.select(self.to_least, self.to_others);
        let negative = (self.sign ^ extrinsic).simd_lt(0);
        negative.select(-magnitude, magnitude)
    }
}
