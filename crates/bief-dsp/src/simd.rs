//! Run-time choice of the vector instructions.
//!
//! Kernels are plain loops over slices and arrays that the compiler vectorises by itself. `dispatch!`
//! compiles such a kernel once for every [`Level`] of the target (SSE2, SSE4.2, AVX2 and AVX-512 on
//! x86-64, NEON on AArch64) and calls the copy that fits the level it is given, so a build without
//! `target-cpu=native` runs at full speed. No other file names the crate behind it.
//!
//! Pattern: an object with a kernel holds a `Level`, which is [`Level::best`] unless the caller asks
//! for another one (`with_level`), so that tests and benches can compare all of [`Level::all`].
//!
//! ```ignore
//! use crate::simd::{Level, dispatch};
//!
//! #[inline(always)] // together with all that it calls: only inlined code is compiled for the level
//! fn scale_kernel(x: &mut [f32], gain: f32) {
//!     for v in x {
//!         *v *= gain;
//!     }
//! }
//!
//! fn scale(level: Level, x: &mut [f32], gain: f32) {
//!     dispatch!(level => scale_kernel(x, gain))
//! }
//! ```
//!
//! Dispatch once per block or frame, not per sample: the call is not inlined. Inside the expression
//! `return` and `?` do not leave the caller, and a closure given to an iterator adapter may be compiled
//! without the level's instructions: write `for` loops. Accumulate in flat arrays (`[f32; 128]`, not
//! `[[f32; 16]; 8]`, which AVX-512 code turns into gathers and scatters), and write `a * b + c`, not
//! `mul_add`, which is a library call below AVX2.
//!
//! Where the compiler leaves accumulators in memory, a kernel may use vectors of fixed width instead
//! (`i8x64`, `f32x16`): it then takes the token that `dispatch!(level, token => expression)` names.

mod pairs;
mod signs;
mod unsigned;

use std::fmt;
use std::sync::OnceLock;

/// Whether there is code for all levels. A kernel is compiled anew for each: builds that are not for speed have SSE2 and AVX2 alone.
const ALL: bool = !cfg!(debug_assertions);

/// The variable that names the level to use instead of the richest.
const VARIABLE: &str = "BIEF_SIMD";

/// A set of vector instructions that this processor has.
///
/// Every value can be used safely: there is no way to make one that the processor lacks.
///
/// ```
/// use bief_dsp::simd::Level;
///
/// println!("kernels run with {}", Level::best());
/// assert!(!Level::all().is_empty());
/// ```
#[derive(Clone, Copy)]
pub struct Level(fearless_simd::Level);

impl Level {
    /// The level that the environment variable `BIEF_SIMD` [names](Self::chosen), or else the richest of this processor. Found out
    /// once, then a load of a cached value.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::chosen().unwrap_or_else(|_| Level::richest()))
    }

    /// What the environment variable `BIEF_SIMD` asks for: `sse2`, `sse4.2`, `avx2` or `avx-512` on x86-64, for measuring; the
    /// richest level if it is not set.
    ///
    /// # Errors
    /// A level that this processor does not have. [`best`](Self::best) is the richest then.
    pub fn chosen() -> Result<Level, UnknownLevel> {
        let Some(name) = std::env::var_os(VARIABLE) else { return Ok(Level::richest()) };
        let name = name.to_string_lossy();
        let same = |level: &Level| level.name().eq_ignore_ascii_case(&name);
        Level::all().into_iter().find(same).ok_or_else(|| UnknownLevel(name.chars().take(40).collect()))
    }

    fn richest() -> Level {
        let all = Level::all();
        all[all.len() - 1]
    }

    /// Every level of this processor for which there is code, the poorest first. A build with debug assertions has that of two alone.
    pub fn all() -> Vec<Level> {
        let best = fearless_simd::Level::new();
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        let tokens = {
            use fearless_simd::Level as Token;
            // `as_*` also answers for richer levels, so this lists all that the processor has.
            [
                best.as_sse2().map(Token::Sse2),
                best.as_sse4_2().filter(|_| ALL).map(Token::Sse4_2),
                best.as_avx2().map(Token::Avx2),
                best.as_avx512().filter(|_| ALL).map(Token::Avx512),
            ]
        };
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        let tokens = [Some(best)];
        let mut levels: Vec<Level> = tokens.into_iter().flatten().map(Level).collect();
        if levels.is_empty() {
            levels.push(Level(best)); // a 32-bit build on a processor without SSE2
        }
        levels
    }

    /// Name of the instruction set, e.g. `AVX2`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            fearless_simd::Level::Sse2(_) => "SSE2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            fearless_simd::Level::Sse4_2(_) => "SSE4.2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            fearless_simd::Level::Avx2(_) => "AVX2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            fearless_simd::Level::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            fearless_simd::Level::Neon(_) => "NEON",
            _ => "baseline",
        }
    }

    /// What `dispatch!` hands on.
    pub(crate) fn token(self) -> fearless_simd::Level {
        self.0
    }
}

impl Default for Level {
    fn default() -> Level {
        Level::best()
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Level({})", self.name())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A level of vector instructions that this processor does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel(String);

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Level::all().iter().map(|level| level.name().to_ascii_lowercase()).collect();
        write!(f, "{VARIABLE}={}: this processor has {}", self.0.escape_debug(), names.join(", "))
    }
}

impl std::error::Error for UnknownLevel {}

/// `dispatch!(level => expression)`: evaluates the expression, usually one call of an
/// `#[inline(always)]` function, compiled for the instructions of `level`.
///
/// `dispatch!(level, token => expression)` names the token that explicit vectors ask for.
macro_rules! dispatch {
    ($level:expr => $kernel:expr) => {
        $crate::simd::dispatch!($level, _token => $kernel)
    };
    ($level:expr, $token:pat => $kernel:expr) => {
        $crate::simd::dispatch_token!($crate::simd::Level::token($level), $token => $kernel)
    };
}
#[cfg(not(all(debug_assertions, target_arch = "x86_64")))]
pub(crate) use fearless_simd::dispatch as dispatch_token;
/// For two levels alone.
#[cfg(all(debug_assertions, target_arch = "x86_64"))]
macro_rules! dispatch_token {
    ($level:expr, $token:pat => $kernel:expr) => {
        match $level {
            fearless_simd::Level::Avx2(avx2) => fearless_simd::Simd::vectorize(
                avx2,
                #[inline(always)]
                || {
                    let $token = avx2;
                    $kernel
                },
            ),
            fearless_simd::Level::Sse2(sse2) => fearless_simd::Simd::vectorize(
                sse2,
                #[inline(always)]
                || {
                    let $token = sse2;
                    $kernel
                },
            ),
            _ => unreachable!("levels are those of `Level::all`"),
        }
    };
}
pub(crate) use dispatch;
#[cfg(all(debug_assertions, target_arch = "x86_64"))]
pub(crate) use dispatch_token;
pub(crate) use fearless_simd::{
    Simd, f32x16, i8x16, i8x32, i8x64, i16x16, i16x32, i32x8, i32x16, prelude, u8x16, u8x32, u8x64, u32x8, u32x16,
    u64x8,
};

pub(crate) use pairs::{add_pair_products, add_pair_products_half, four_further, has_registers, pack_pairs};
pub(crate) use signs::with_sign;
pub(crate) use unsigned::{MAX_INDEX, entry_or_0, greater};

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn sum_of_products(a: &[i32], b: &[i32]) -> i32 {
        a.iter().zip(b).map(|(x, y)| x.wrapping_mul(*y)).fold(0, i32::wrapping_add)
    }

    #[test]
    fn every_level_computes_the_same() {
        let a: Vec<i32> = (0..1003).collect();
        let b: Vec<i32> = (0..1003).map(|i| 7 * i - 300).collect();
        let expected = sum_of_products(&a, &b);
        for level in Level::all() {
            let sum = dispatch!(level => sum_of_products(&a, &b));
            assert_eq!(sum, expected, "{level}");
        }
    }

    #[test]
    fn levels_have_names_of_their_own() {
        let all = Level::all();
        let mut names: Vec<_> = all.iter().map(|l| l.name()).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn x86_64_has_at_least_its_baseline() {
        assert_eq!(Level::all()[0].name(), "SSE2");
    }
}
