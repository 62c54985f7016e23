//! Hard decisions: the signs of all posteriors, a bit each, in words of 64.

use super::super::GROUP;
use super::strips::{LANES, RING, STRIP, STRIPS, strip_at};
use crate::simd::{Simd, prelude::*, u64x8};

/// The signs of a ring, and behind them the first ones again, as far as any rotation reads.
type Ring = [u64; 16];

/// Signs of all groups, each turned as its ring is.
#[derive(Clone)]
pub(super) struct Signs(Box<[Ring]>);

impl Signs {
    pub(super) fn new(groups: usize) -> Signs {
        Signs(vec![[0; 16]; groups].into())
    }

    /// Takes those of the posteriors.
    #[inline(always)]
    pub(super) fn take<S: Simd>(&mut self, simd: S, rings: &[i8]) {
        for (ring, signs) in rings.as_chunks::<RING>().0.iter().zip(&mut self.0) {
            for (strip, signs) in signs[..STRIPS].iter_mut().enumerate() {
                *signs = strip_at(simd, ring, strip * STRIP).simd_lt(0).to_bitmask();
            }
        }
        // In a loop of its own: words that were just written one by one are not to be had as a vector.
        for group in 0..self.0.len() {
            // The last strip already has some of the first signs again.
            let again = self.turned(simd, group, LANES - GROUP);
            again.store_slice(&mut self.0[group][STRIPS..STRIPS + 8]);
        }
    }

    /// Those of a group from this place of its ring on; behind the group they mean nothing.
    #[inline(always)]
    pub(super) fn turned<S: Simd>(&self, simd: S, group: usize, place: usize) -> u64x8<S> {
        let words = &self.0[group][place / 64..place / 64 + 9];
        let bit = place as u32 % 64;
        let first = u64x8::from_slice(simd, &words[..8]);
        let second = u64x8::from_slice(simd, &words[1..]);
        first >> bit | (second << 1) << (63 - bit)
    }

    /// Whether the sign in this place of a group's ring is negative.
    pub(super) fn is_negative(&self, group: usize, place: usize) -> bool {
        self.0[group][place / 64] >> (place % 64) & 1 == 1
    }

    /// Makes the sign in this place of a group's ring the other one.
    pub(super) fn flip(&mut self, group: usize, place: usize) {
        for place in [place, place + GROUP] {
            self.0[group][place / 64] ^= 1 << (place % 64);
        }
    }

    /// Writes the bits of the first groups, which are turned so far: bit 0 in the highest place of the first byte.
    #[inline(always)]
    pub(super) fn write<S: Simd>(&self, simd: S, shifts: &[u16], out: &mut [u8]) {
        let groups = out.as_chunks_mut::<{ GROUP / 8 }>().0;
        for (group, (shift, bytes)) in shifts.iter().zip(groups).enumerate() {
            let mut bits = self.turned(simd, group, usize::from(*shift));
            // Backwards within bytes.
            for (distance, mask) in [(1, 0x5555_5555_5555_5555), (2, 0x3333_3333_3333_3333), (4, 0x0f0f_0f0f_0f0f_0f0f)]
            {
                bits = bits >> distance & mask | (bits & mask) << distance;
            }
            let words: [u64; 8] = bits.into();
            bytes.copy_from_slice(&bytemuck::bytes_of(&words.map(u64::to_le))[..GROUP / 8]);
        }
    }
}
