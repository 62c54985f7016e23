//! PLHEADER: the 90 symbols that open a PLFRAME (clause 5.5.2 of EN 302 307-1 and of EN 302 307-2).
//!
//! 26 symbols of SOF (start of frame) followed by the 64 of the PLS code, in π/2-BPSK, never scrambled. Those of the PLS code of
//! DVB-S2X are a quarter turn ahead.

use std::array;
use std::f32::consts::FRAC_1_SQRT_2;
use std::sync::LazyLock;

use num_complex::Complex32;

use super::{HEADER, Pls};
use crate::simd::{Level, dispatch};

/// The start-of-frame word: 26 bits, the first sent being bit 25.
pub const SOF: u32 = 0x18D_2E82;
/// Symbols of the start of frame.
pub const SOF_SYMBOLS: usize = 26;
/// Symbols of the PLS code.
pub const PLS_SYMBOLS: usize = 64;

/// Rows that bits b1 to b6 of a PLS value select, most significant bit first.
const PLS_ROWS: [u32; 6] = [0x5555_5555, 0x3333_3333, 0x0F0F_0F0F, 0x00FF_00FF, 0x0000_FFFF, 0xFFFF_FFFF];
/// Row that bit b0 selects, which is 1 in DVB-S2X.
const S2X_ROW: u32 = 0x90AC_2DDD;
/// Word that scrambles the PLS code.
const PLS_SCRAMBLING: u64 = 0x719D_83C9_5342_2DFA;
/// PLS values that differ in bits b1 to b5 only, one per row of the transform.
const ROW: usize = 32;

/// The scrambled 64-bit codeword of a PLS value, first bit sent in bit 63.
///
/// ```
/// use bief_dsp::dvbs2::{Pls, plheader};
///
/// assert_eq!(plheader::pls_codeword(Pls::DUMMY), 0x719D83C953422DFA);
/// ```
pub const fn pls_codeword(pls: Pls) -> u64 {
    let mut half = if pls.is_s2x() { S2X_ROW } else { 0 };
    let mut bit = 0;
    while bit < 6 {
        if pls.value() >> (6 - bit) & 1 == 1 {
            half ^= PLS_ROWS[bit];
        }
        bit += 1;
    }
    // Every bit is sent twice, the second time inverted when b7 is 1.
    let mut word = 0;
    let mut i = 0;
    while i < 32 {
        let bit = (half >> (31 - i) & 1) as u64;
        word = word << 2 | bit << 1 | (bit ^ (pls.value() & 1) as u64);
        i += 1;
    }
    word ^ PLS_SCRAMBLING
}

/// Bits of the PLHEADER in the order they are sent, each 0 or 1.
pub fn header_bits(pls: Pls) -> [u8; HEADER] {
    let word = pls_codeword(pls);
    array::from_fn(|i| {
        if i < SOF_SYMBOLS { (SOF >> (SOF_SYMBOLS - 1 - i) & 1) as u8 } else { (word >> (HEADER - 1 - i) & 1) as u8 }
    })
}

/// The π/2-BPSK symbol that sends bit 0 at position `index` of the header; bit 1 sends its negative. In the PLS code of DVB-S2X,
/// both are turned by +90°.
pub const fn symbol_of_zero(index: usize) -> Complex32 {
    let quadrature = FRAC_1_SQRT_2;
    let in_phase = if index.is_multiple_of(2) { FRAC_1_SQRT_2 } else { -FRAC_1_SQRT_2 };
    Complex32::new(in_phase, quadrature)
}

/// The 90 unit-energy symbols of the PLHEADER of `pls`.
pub fn header_symbols(pls: Pls) -> [Complex32; HEADER] {
    static MADE: LazyLock<Vec<[Complex32; HEADER]>> = LazyLock::new(|| (0..=u8::MAX).map(Pls::new).map(make).collect());
    MADE[usize::from(pls.value())]
}

fn make(pls: Pls) -> [Complex32; HEADER] {
    let bits = header_bits(pls);
    array::from_fn(|i| {
        let symbol = if bits[i] == 0 { symbol_of_zero(i) } else { -symbol_of_zero(i) };
        if i >= SOF_SYMBOLS && pls.is_s2x() { symbol * Complex32::I } else { symbol }
    })
}

/// What [`decode`] found in a header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decoded {
    /// The most likely PLS value.
    pub pls: Pls,
    /// Sum of y · conj(h) over the 90 symbols: its argument is the carrier phase, and its modulus / 90 the
    /// amplitude, of symbols h sent with unit energy.
    pub correlation: Complex32,
    /// |correlation|² / (90 Σ|y|²), from 0 to 1. Noise alone gives about 1/90 for one candidate; a header
    /// received at Es/N0 (linear) gives about Es/N0 / (1 + Es/N0).
    pub quality: f32,
}

/// Decodes the PLS of 90 received header symbols: the value whose header has the largest correlation modulus.
///
/// Joint non-coherent maximum likelihood over SOF and PLS code: phase and gain may be anything, and a
/// frequency error of 0.003 cycles per symbol is harmless. Pair sums resolve b7 and a 32-point fast Hadamard
/// transform b1 to b5, so that all 256 correlations cost less than six plain ones.
///
/// A header of silence decodes as PLS 0 with quality 0.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::{Pls, plheader}};
///
/// let sent = Pls::new(43);
/// let received = plheader::header_symbols(sent).map(|h| h * Complex32::from_polar(0.3, 2.0));
/// let decoded = plheader::decode(&received);
/// assert_eq!(decoded.pls, sent);
/// assert!((decoded.correlation.arg() - 2.0).abs() < 1e-3);
/// assert!(decoded.quality > 0.999);
/// ```
pub fn decode(symbols: &[Complex32; HEADER]) -> Decoded {
    let best = Level::best();
    dispatch!(best => search(symbols))
}

/// Quality from which no header but the one that has it can be the most likely: the normalised correlation r of two headers is 38/90 at
/// most, so that with one of them of quality q, that of the other is at most (r√q + √(1 - r²)√(1 - q))², which is less where
/// q > (1 + r)/2.
const CERTAIN: f32 = 0.5 * (1.0 + 38.0 / 90.0) + 0.01;

/// The same as [`decode`], sooner where the header is the one expected and good.
pub(super) fn decode_expecting(symbols: &[Complex32; HEADER], expected: Pls) -> Decoded {
    let found = correlate(symbols, Pls::new(expected.value()));
    if found.quality > CERTAIN { found } else { decode(symbols) }
}

/// How a header of one PLS fits.
fn correlate(symbols: &[Complex32; HEADER], pls: Pls) -> Decoded {
    let bound = HEADER as f32 * symbols.iter().map(Complex32::norm_sqr).sum::<f32>();
    let correlation: Complex32 = symbols.iter().zip(header_symbols(pls)).map(|(y, h)| y * h.conj()).sum();
    Decoded { pls, correlation, quality: if bound > 0.0 { correlation.norm_sqr() / bound } else { 0.0 } }
}

/// Of all 256 headers the most likely one.
#[inline(always)]
fn search(symbols: &[Complex32; HEADER]) -> Decoded {
    let energy: f32 = symbols.iter().map(Complex32::norm_sqr).sum();
    // Correlate with the header of PLS 0: what remains unknown of the code is its sign pattern.
    let dummy = header_symbols(Pls::DUMMY);
    let mut straight = [Complex32::ZERO; HEADER];
    for ((straight, symbol), dummy) in straight.iter_mut().zip(symbols).zip(dummy) {
        *straight = symbol * dummy.conj();
    }
    let sof: Complex32 = straight[..SOF_SYMBOLS].iter().sum();

    // Side by side for all b7 and b0: real parts, then imaginary parts.
    let mut rows = [[0.0; 8]; ROW];
    for (i, (row, pair)) in rows.iter_mut().zip(straight[SOF_SYMBOLS..].as_chunks::<2>().0).enumerate() {
        let (plus, minus) = (pair[0] + pair[1], pair[0] - pair[1]);
        let of = [plus, to_s2x(i, plus), minus, to_s2x(i, minus)];
        for (variant, sum) in of.into_iter().enumerate() {
            (row[variant], row[4 + variant]) = (sum.re, sum.im);
        }
    }
    hadamard(&mut rows);
    // With b6 = 0 and 1.
    let mut powers = [[0.0; 8]; ROW];
    let mut greatest = [0.0f32; 8];
    for (powers, row) in powers.iter_mut().zip(&rows) {
        for variant in 0..4 {
            let (re, im) = (row[variant], row[4 + variant]);
            powers[variant] = (sof.re + re) * (sof.re + re) + (sof.im + im) * (sof.im + im);
            powers[4 + variant] = (sof.re - re) * (sof.re - re) + (sof.im - im) * (sof.im - im);
        }
        for (greatest, power) in greatest.iter_mut().zip(powers) {
            *greatest = if *power > *greatest { *power } else { *greatest };
        }
    }
    let greatest = greatest.into_iter().fold(0.0, f32::max);
    let place = powers.as_flattened().iter().position(|power| *power == greatest).unwrap_or(0);
    // Position i of the code has sign (-1)^(b1 i0 + b2 i1 + … + b5 i4), and b6 inverts it all.
    let (index, b6, variant) = (place / 8, place / 4 % 2, place % 4);
    let modcod = (index as u8).reverse_bits() >> 3;
    let (b7, b0) = (variant as u8 / 2, variant as u8 % 2);
    let code = Complex32::new(rows[index][variant], rows[index][4 + variant]);
    let correlation = if b6 == 0 { sof + code } else { sof - code };
    let bound = HEADER as f32 * energy;
    Decoded {
        pls: Pls::new(b0 << 7 | modcod << 2 | (b6 as u8) << 1 | b7),
        correlation,
        quality: if bound > 0.0 { correlation.norm_sqr() / bound } else { 0.0 },
    }
}

/// The same among the headers of VL-SNR frames, 129 and 131, alone.
pub(super) fn decode_vl_snr(symbols: &[Complex32; HEADER]) -> Decoded {
    let [first, second] = [129, 131].map(|value| correlate(symbols, Pls::new(value)));
    if second.quality > first.quality { second } else { first }
}

/// What pair `i` of the PLS code of DVB-S2 is worth in that of DVB-S2X: its bit may differ, and its symbols are turned back.
#[inline(always)]
fn to_s2x(i: usize, pair: Complex32) -> Complex32 {
    if S2X_ROW >> (31 - i) & 1 == 0 { pair * -Complex32::I } else { pair * Complex32::I }
}

/// Replaces row k by the sum over i of (-1)^popcount(i & k) · row i.
#[inline(always)]
fn hadamard(rows: &mut [[f32; 8]; ROW]) {
    let mut half = 1;
    while half < ROW {
        for block in rows.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                for lane in 0..8 {
                    (a[lane], b[lane]) = (a[lane] + b[lane], a[lane] - b[lane]);
                }
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All 256 correlations, one after the other.
    fn exhaustive(symbols: &[Complex32; HEADER]) -> (Pls, Complex32) {
        Pls::all()
            .map(|pls| {
                let header = header_symbols(pls);
                let sum = symbols.iter().zip(header).map(|(y, h)| y * h.conj()).sum();
                (pls, sum)
            })
            .max_by(|a: &(Pls, Complex32), b| a.1.norm_sqr().total_cmp(&b.1.norm_sqr()))
            .unwrap()
    }

    #[test]
    fn codewords_of_a_kind_are_32_apart_and_all_24() {
        for a in Pls::all() {
            for b in Pls::all().filter(|b| *b != a) {
                let distance = (pls_codeword(a) ^ pls_codeword(b)).count_ones();
                let of_a_kind = a.is_s2x() == b.is_s2x();
                assert!(
                    if of_a_kind { distance == 32 || distance == 64 } else { distance >= 24 },
                    "{a} {b} {distance}"
                );
            }
        }
    }

    #[test]
    fn every_header_is_decoded() {
        for pls in Pls::all() {
            let decoded = decode(&header_symbols(pls));
            assert_eq!(decoded.pls, pls);
            assert!((decoded.correlation - 90.0).norm() < 1e-3);
            assert!((decoded.quality - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn no_two_headers_are_more_alike_than_is_certain() {
        for a in Pls::all() {
            for b in Pls::all().filter(|b| *b != a) {
                let alike = correlate(&header_symbols(b), a).quality.sqrt();
                assert!(0.5 * (1.0 + alike) < CERTAIN, "{a} {b}: {alike}");
            }
        }
    }

    #[test]
    fn silence_has_no_quality() {
        let decoded = decode(&[Complex32::ZERO; HEADER]);
        assert_eq!((decoded.pls, decoded.quality), (Pls::DUMMY, 0.0));
    }

    proptest! {
        #[test]
        fn the_transform_finds_what_256_correlations_find(
            value in any::<u8>(),
            phase in -3.2f32..3.2,
            gain in 0.01f32..100.0,
            noise in prop::collection::vec((-1.5f32..1.5, -1.5f32..1.5), HEADER),
        ) {
            let pls = Pls::new(value);
            let header = header_symbols(pls);
            let channel = Complex32::from_polar(gain, phase);
            let symbols = array::from_fn(|i| {
                (header[i] + Complex32::new(noise[i].0, noise[i].1)) * channel
            });
            let decoded = decode(&symbols);
            let (best, correlation) = exhaustive(&symbols);
            prop_assert_eq!(decoded.pls, best);
            for expected in [pls, best, Pls::new(value ^ 1)] {
                prop_assert_eq!(decode_expecting(&symbols, expected).pls, best);
            }
            prop_assert!((decoded.correlation - correlation).norm() <= 1e-4 * 90.0 * gain);
            let energy: f32 = symbols.iter().map(Complex32::norm_sqr).sum();
            let quality = correlation.norm_sqr() / (90.0 * energy);
            prop_assert!((decoded.quality - quality).abs() < 1e-4);
        }
    }
}
