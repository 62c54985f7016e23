//! Unsigned 8-bit integers.

use fearless_simd::{Simd, prelude::*, u8x64};

/// The greater of `a` and `b`, where `less` is the other one.
///
/// Processors with AVX-512 have one unit for the greater of two such numbers, and two for what follows from logic.
#[inline(always)]
pub(crate) fn greater<S: Simd>(simd: S, a: u8x64<S>, b: u8x64<S>, less: u8x64<S>) -> u8x64<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let fearless_simd::Level::Avx512(_) = simd.level() {
        return a ^ b ^ less;
    }
    let _ = (simd, less);
    a.max(b)
}

/// The greatest index of [`entry_or_0`].
pub(crate) const MAX_INDEX: u8 = 143;

/// The entries of a table that is repeated in each block of 16, by `index`, of [`MAX_INDEX`] at most; 0 beyond the last entry, which must be 0.
#[inline(always)]
pub(crate) fn entry_or_0<S: Simd>(simd: S, table: u8x64<S>, index: u8x64<S>) -> u8x64<S> {
    // Indices beyond a block: x86 looks at four bits, and gives 0 where the highest one of all is set; ARM gives 0. With AVX2, units for the
    // lesser of two numbers are as many as for sums.
    let index = match simd.level() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        fearless_simd::Level::Avx512(_) | fearless_simd::Level::Sse4_2(_) => index + 0x70,
        #[cfg(target_arch = "aarch64")]
        fearless_simd::Level::Neon(_) => index,
        _ => index.min(15),
    };
    table.swizzle_dyn_within_blocks(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, dispatch, u8x16};

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: [u8; 64], b: [u8; 64]) -> ([u8; 64], [u8; 64]) {
        const TABLE: [u8; 16] = [9, 8, 7, 6, 5, 4, 3, 2, 1, 9, 8, 7, 6, 5, 4, 0];
        let [a, b] = [a, b].map(|numbers| u8x64::load_array(simd, numbers));
        let table = u8x64::block_splat(u8x16::load_array(simd, TABLE));
        (greater(simd, a, b, a.min(b)).into(), entry_or_0(simd, table, a.min(MAX_INDEX)).into())
    }

    #[test]
    fn every_level_finds_the_same() {
        for level in Level::all() {
            for first in (0..=255_u8).step_by(64) {
                let a: [u8; 64] = std::array::from_fn(|lane| first + lane as u8);
                let b = a.map(|a| a.wrapping_mul(37).rotate_left(3));
                let (most, entries) = dispatch!(level, simd => both(simd, a, b));
                for lane in 0..64 {
                    assert_eq!(most[lane], a[lane].max(b[lane]), "{level}");
                    let entry = [9, 8, 7, 6, 5, 4, 3, 2, 1, 9, 8, 7, 6, 5, 4].get(usize::from(a[lane]));
                    assert_eq!(entries[lane], entry.copied().unwrap_or(0), "{level}: {}", a[lane]);
                }
            }
        }
    }
}
