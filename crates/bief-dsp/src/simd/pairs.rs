//! Sums of two products of 16-bit integers in each 32-bit lane: twice the arithmetic of floats per instruction.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x16, i16x32, i32x8, i32x16};

/// Adds a\[2 i\] b\[2 i\] + a\[2 i + 1\] b\[2 i + 1\] to lane i of `sums`, which wrap around.
#[inline(always)]
pub(crate) fn add_pair_products<S: Simd>(simd: S, sums: i32x16<S>, a: i16x32<S>, b: i16x32<S>) -> i32x16<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let fearless_simd::Level::Avx512(avx512) = simd.level() {
        return x86::of_512(avx512, sums.into(), a.into(), b.into()).simd_into(simd);
    }
    let ((low, high), (a_low, a_high), (b_low, b_high)) = (sums.split(), a.split(), b.split());
    add_pair_products_half(simd, low, a_low, b_low).combine(add_pair_products_half(simd, high, a_high, b_high))
}

/// The same of half as many.
#[inline(always)]
pub(crate) fn add_pair_products_half<S: Simd>(simd: S, sums: i32x8<S>, a: i16x16<S>, b: i16x16<S>) -> i32x8<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(sums) = x86::add_pair_products_half(simd, sums, a, b) {
        return sums;
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = simd;
    let (low, high) = a.widening_mul(b);
    let (even, odd) = low.deinterleave(high);
    sums + even + odd
}

/// Whether there are registers enough to keep a score of vectors in: else it is better to read them again.
#[inline(always)]
pub(crate) fn has_registers<S: Simd>(simd: S) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    let has_them = matches!(simd.level(), fearless_simd::Level::Avx512(_));
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let has_them = {
        let _ = simd;
        false
    };
    has_them
}

/// What is four numbers further in `a` and, behind it, `b`.
#[inline(always)]
pub(crate) fn four_further<S: Simd>(simd: S, a: i16x32<S>, b: i16x32<S>) -> i16x32<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let fearless_simd::Level::Avx512(avx512) = simd.level() {
        return x86::four_further_of_512(avx512, a.into(), b.into()).simd_into(simd);
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = simd;
    a.slide::<4>(b)
}

/// The numbers of `a` and `b` as 16-bit integers, those beyond their range as the last of it: two of `a`, two of `b`, and so on.
#[inline(always)]
pub(crate) fn pack_pairs<S: Simd>(simd: S, a: i32x16<S>, b: i32x16<S>) -> i16x32<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(packed) = x86::pack_pairs(simd, a, b) {
        return packed;
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = simd;
    let pairs: i32x16<S> = a.saturating_narrow(b).bitcast();
    let (of_a, of_b) = pairs.split();
    let (low, high) = of_a.interleave(of_b);
    low.combine(high).bitcast()
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    use fearless_simd::prelude::*;
    use fearless_simd::{Level, Simd, i16x8, i16x16, i16x32, i32x4, i32x8, i32x16};

    fearless_simd::kernel!(
        #[inline]
        pub(super) fn of_512(avx512: Avx512, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
            _mm512_dpwssd_epi32(sums, a, b)
        }
    );
    fearless_simd::kernel!(
        #[inline]
        pub(super) fn four_further_of_512(avx512: Avx512, a: __m512i, b: __m512i) -> __m512i {
            _mm512_alignr_epi64::<1>(b, a)
        }
    );
    fearless_simd::kernel!(
        #[inline]
        fn of_256(avx2: Avx2, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
            _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
        }
    );
    fearless_simd::kernel!(
        #[inline]
        fn of_128(sse2: Sse2, sums: __m128i, a: __m128i, b: __m128i) -> __m128i {
            _mm_add_epi32(sums, _mm_madd_epi16(a, b))
        }
    );

    fearless_simd::kernel!(
        #[inline]
        fn packed_of_512(avx512: Avx512, a: __m512i, b: __m512i) -> __m512i {
            _mm512_shuffle_epi32::<0b11_01_10_00>(_mm512_packs_epi32(a, b))
        }
    );
    fearless_simd::kernel!(
        #[inline]
        fn packed_of_256(avx2: Avx2, a: __m256i, b: __m256i) -> __m256i {
            _mm256_shuffle_epi32::<0b11_01_10_00>(_mm256_packs_epi32(a, b))
        }
    );
    fearless_simd::kernel!(
        #[inline]
        fn packed_of_128(sse2: Sse2, a: __m128i, b: __m128i) -> __m128i {
            _mm_shuffle_epi32::<0b11_01_10_00>(_mm_packs_epi32(a, b))
        }
    );

    /// `None` where the processor has no instruction for it.
    #[inline(always)]
    pub(super) fn pack_pairs<S: Simd>(simd: S, a: i32x16<S>, b: i32x16<S>) -> Option<i16x32<S>> {
        let level = simd.level();
        if let Level::Avx512(avx512) = level {
            return Some(packed_of_512(avx512, a.into(), b.into()).simd_into(simd));
        }
        let ((a_low, a_high), (b_low, b_high)) = (a.split(), b.split());
        let half = |a: i32x8<S>, b: i32x8<S>| -> Option<i16x16<S>> {
            if let Level::Avx2(avx2) = level {
                return Some(packed_of_256(avx2, a.into(), b.into()).simd_into(simd));
            }
            let sse2 = level.as_sse2()?;
            let ((a_low, a_high), (b_low, b_high)) = (a.split(), b.split());
            let low: i16x8<S> = packed_of_128(sse2, a_low.into(), b_low.into()).simd_into(simd);
            let high: i16x8<S> = packed_of_128(sse2, a_high.into(), b_high.into()).simd_into(simd);
            Some(low.combine(high))
        };
        Some(half(a_low, b_low)?.combine(half(a_high, b_high)?))
    }

    /// `None` where the processor has no instruction for it.
    #[inline(always)]
    pub(super) fn add_pair_products_half<S: Simd>(
        simd: S,
        sums: i32x8<S>,
        a: i16x16<S>,
        b: i16x16<S>,
    ) -> Option<i32x8<S>> {
        let level = simd.level();
        if let Some(avx2) = level.as_avx2() {
            return Some(of_256(avx2, sums.into(), a.into(), b.into()).simd_into(simd));
        }
        let sse2 = level.as_sse2()?;
        let ((low, high), (a_low, a_high), (b_low, b_high)) = (sums.split(), a.split(), b.split());
        let low: i32x4<S> = of_128(sse2, low.into(), a_low.into(), b_low.into()).simd_into(simd);
        let high: i32x4<S> = of_128(sse2, high.into(), a_high.into(), b_high.into()).simd_into(simd);
        Some(low.combine(high))
    }
}
