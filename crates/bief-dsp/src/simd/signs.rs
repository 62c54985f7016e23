//! Signs of 8-bit integers.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i8x64};

/// The numbers of `x`, negated where those of `of` are negative. -128 stays.
#[inline(always)]
pub(crate) fn with_sign<S: Simd>(simd: S, x: i8x64<S>, of: i8x64<S>) -> i8x64<S> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(signed) = x86::with_sign(simd, x, of) {
        return signed;
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = simd;
    of.simd_lt(0).select(-x, x)
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    use fearless_simd::prelude::*;
    use fearless_simd::{Level, Simd, i8x16, i8x32, i8x64};

    fearless_simd::kernel!(
        #[inline]
        fn of_256(avx2: Avx2, x: __m256i, of: __m256i) -> __m256i {
            _mm256_sign_epi8(x, _mm256_or_si256(of, _mm256_set1_epi8(1)))
        }
    );
    fearless_simd::kernel!(
        #[inline]
        fn of_128(sse4_2: Sse4_2, x: __m128i, of: __m128i) -> __m128i {
            _mm_sign_epi8(x, _mm_or_si128(of, _mm_set1_epi8(1)))
        }
    );

    /// `None` where another way is better.
    #[inline(always)]
    pub(super) fn with_sign<S: Simd>(simd: S, x: i8x64<S>, of: i8x64<S>) -> Option<i8x64<S>> {
        let ((x_low, x_high), (of_low, of_high)) = (x.split(), of.split());
        Some(half(simd, x_low, of_low)?.combine(half(simd, x_high, of_high)?))
    }

    #[inline(always)]
    fn half<S: Simd>(simd: S, x: i8x32<S>, of: i8x32<S>) -> Option<i8x32<S>> {
        // What the level is, is known when this is compiled.
        match simd.level() {
            Level::Avx2(avx2) => Some(of_256(avx2, x.into(), of.into()).simd_into(simd)),
            Level::Sse4_2(sse4_2) => {
                let ((x_low, x_high), (of_low, of_high)) = (x.split(), of.split());
                let low: i8x16<S> = of_128(sse4_2, x_low.into(), of_low.into()).simd_into(simd);
                let high: i8x16<S> = of_128(sse4_2, x_high.into(), of_high.into()).simd_into(simd);
                Some(low.combine(high))
            }
            _ => None,
        }
    }
}
