//! How fast a layer of an LDPC code can be updated: a plain min-sum kernel on 64 lanes of 8 bits, all in the nearest cache.

use std::hint::black_box;
use std::time::Instant;

use bief_dsp::simd;
use fearless_simd::{Level, Simd, dispatch, i8x64, prelude::*, u8x64};

/// Bits of a check, and strips of 64 checks.
const BITS: usize = 16;
const STRIPS: usize = 6;
/// Updates in a row, as the clock is too coarse for one.
const LAYERS: usize = 20;
/// Largest magnitude of a message.
const MOST: u8 = 31;

type Lanes = [[i8; 64]; STRIPS];

/// Updates of an edge per second, the best of several runs, with the instructions that decoders use.
pub(crate) fn edges_per_second() -> f64 {
    let level = level(simd::Level::best().name());
    let mut random = fastrand::Rng::with_seed(1);
    let mut posteriors = [[[0; 64]; STRIPS]; BITS];
    posteriors.as_flattened_mut().as_flattened_mut().fill_with(|| random.i8(..));
    let mut messages = [[[0; 64]; STRIPS]; BITS];
    let mut best = f64::INFINITY;
    for _ in 0..2000 {
        let start = Instant::now();
        dispatch!(level, simd => update_layer(simd, black_box(&mut posteriors), &mut messages));
        best = best.min(start.elapsed().as_secs_f64() / LAYERS as f64);
    }
    (BITS * STRIPS * 64) as f64 / best
}

/// The level of this name.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn level(name: &str) -> Level {
    let best = Level::new();
    let poorer = match name {
        "SSE2" => best.as_sse2().map(Level::Sse2),
        "SSE4.2" => best.as_sse4_2().map(Level::Sse4_2),
        "AVX2" => best.as_avx2().map(Level::Avx2),
        _ => None,
    };
    poorer.unwrap_or(best)
}

/// The only one.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn level(_: &str) -> Level {
    Level::new()
}

#[inline(always)]
fn update_layer<S: Simd>(simd: S, posteriors: &mut [Lanes; BITS], messages: &mut [Lanes; BITS]) {
    for _ in 0..LAYERS {
        // As many strips side by side as there are registers for.
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if let Level::Avx512(_) = simd.level() {
            update_strips::<S, STRIPS>(simd, posteriors, messages, 0);
            continue;
        }
        for strip in 0..STRIPS {
            update_strips::<S, 1>(simd, posteriors, messages, strip);
        }
    }
}

#[inline(always)]
fn update_strips<S: Simd, const N: usize>(
    simd: S,
    posteriors: &mut [Lanes; BITS],
    messages: &mut [Lanes; BITS],
    first: usize,
) {
    let mut least = [u8x64::splat(simd, u8::MAX); N];
    let mut second = [u8x64::splat(simd, u8::MAX); N];
    let mut signs = [i8x64::splat(simd, 0); N];
    for (posteriors, messages) in posteriors.iter().zip(&mut *messages) {
        for k in 0..N {
            let message = &mut messages[first + k];
            let posterior = i8x64::load_array_ref(simd, &posteriors[first + k]);
            let known = posterior.saturating_sub(i8x64::load_array_ref(simd, message));
            known.store_slice(message);
            let magnitude: u8x64<S> = known.abs().bitcast();
            let less = least[k].min(magnitude);
            second[k] = second[k].min(least[k] ^ magnitude ^ less);
            least[k] = less;
            signs[k] ^= known;
        }
    }
    for (posteriors, messages) in posteriors.iter_mut().zip(messages) {
        for k in 0..N {
            let message = &mut messages[first + k];
            let known = i8x64::load_array_ref(simd, message);
            let magnitude: u8x64<S> = known.abs().bitcast();
            let told = magnitude.simd_eq(least[k]).select(second[k], least[k]).min(MOST);
            let told: i8x64<S> = told.bitcast();
            let new = (signs[k] ^ known).simd_lt(0).select(-told, told);
            new.store_slice(message);
            known.saturating_add(new).store_slice(&mut posteriors[first + k]);
        }
    }
}
