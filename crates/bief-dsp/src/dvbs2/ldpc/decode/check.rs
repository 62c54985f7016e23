//! The check rule: what a check tells each of its bits, from what the other ones know.
//!
//! That is the product of their signs, and as magnitude the sum a ⊞ b = 2 artanh(tanh(a/2) tanh(b/2)) over them,
//! which is about min(a, b) - ln(1 + exp(-|a - b|)). A-min* (Jones, Vallés, Smith, Villasenor: Approximate-MIN*
//! constraint node updating for LDPC code decoding, MILCOM 2003) computes two such sums per check: without the
//! bit that knows least, exact, which is told to that bit; and of all, told to the others, to whose own part in it
//! the least one leaves little weight.

use super::MAX_MESSAGE;
use crate::simd::{MAX_INDEX, Simd, entry_or_0, greater, i8x64, prelude::*, u8x16, u8x64, with_sign};

/// ln(1 + exp(-d)) for a difference d in counts of a quarter, on average 10 % less to make up for
/// ln(1 + exp(-(a + b))), which is left out.
const CORRECTIONS: [u8; 16] = [2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];

/// What two bits know together, by the magnitude of what each knows.
#[derive(Clone, Copy)]
pub(super) struct Sum<S: Simd> {
    simd: S,
    corrections: u8x64<S>,
}

impl<S: Simd> Sum<S> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Sum<S> {
        Sum { simd, corrections: u8x64::block_splat(u8x16::load_array(simd, CORRECTIONS)) }
    }

    #[inline(always)]
    fn of(&self, a: u8x64<S>, b: u8x64<S>) -> u8x64<S> {
        let less = a.min(b);
        let difference = greater(self.simd, a, b, less) - less;
        less.saturating_sub(entry_or_0(self.simd, self.corrections, difference))
    }
}

/// What the bits of a strip of checks know, those taken in so far.
#[derive(Clone, Copy)]
pub(super) struct Bits<S: Simd> {
    sum: Sum<S>,
    /// Least magnitude.
    least: u8x64<S>,
    /// Sum of all magnitudes but that one.
    others: u8x64<S>,
    /// Negative if an odd number of bits is.
    sign: i8x64<S>,
}

impl<S: Simd> Bits<S> {
    /// No bits.
    #[inline(always)]
    pub(super) fn none(simd: S, sum: Sum<S>) -> Bits<S> {
        // More than any magnitude, by more than a difference that counts.
        let certain = u8x64::splat(simd, MAX_INDEX);
        Bits { sum, least: certain, others: certain, sign: i8x64::splat(simd, 0) }
    }

    /// Takes in one bit of every check, given by its extrinsic value.
    #[inline(always)]
    pub(super) fn take(&mut self, extrinsic: i8x64<S>) {
        let magnitude = magnitude(extrinsic);
        let less = self.least.min(magnitude);
        self.others = self.sum.of(self.others, greater(self.sum.simd, self.least, magnitude, less));
        self.least = less;
        self.sign ^= extrinsic;
    }

    /// What the checks have to say, once all bits are taken in.
    #[inline(always)]
    pub(super) fn checks(self, simd: S) -> Checks<S> {
        Checks {
            least: self.least,
            to_least: with_sign(simd, self.others.min(MAX_MESSAGE).bitcast(), self.sign),
            to_others: with_sign(simd, self.sum.of(self.others, self.least).min(MAX_MESSAGE).bitcast(), self.sign),
        }
    }
}

/// Without sign, -128 too.
#[inline(always)]
fn magnitude<S: Simd>(x: i8x64<S>) -> u8x64<S> {
    x.abs().bitcast()
}

/// What the checks of a strip tell their bits.
#[derive(Clone, Copy)]
pub(super) struct Checks<S: Simd> {
    /// Least magnitude among the bits.
    least: u8x64<S>,
    /// Message to the bit that has the least one, if that is positive.
    to_least: i8x64<S>,
    /// Message to each of the others, likewise.
    to_others: i8x64<S>,
}

impl<S: Simd> Checks<S> {
    /// Message to the bit whose extrinsic value is given.
    #[inline(always)]
    pub(super) fn message(&self, simd: S, extrinsic: i8x64<S>) -> i8x64<S> {
        // Of bits that share the least magnitude, each is told what the others know: it is the same.
        let is_least = magnitude(extrinsic).simd_eq(self.least);
        with_sign(simd, is_least.select(self.to_least, self.to_others), extrinsic)
    }
}
