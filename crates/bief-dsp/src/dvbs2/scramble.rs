//! The two scramblers: one spreads the bits of a BBFRAME, the other the symbols of a PLFRAME.

use std::sync::LazyLock;

use num_complex::Complex32;

use super::{HEADER, MAX_SYMBOLS};
use crate::simd::{Level, dispatch};

/// Bytes of the longest BBFRAME (rate 9/10, normal).
const MAX_BBFRAME: usize = 58_192 / 8;

/// What the BB scrambler adds to a BBFRAME.
static BB_SEQUENCE: [u8; MAX_BBFRAME] = bb_sequence();

const fn bb_sequence() -> [u8; MAX_BBFRAME] {
    // Bit k - 1 is stage k of the register.
    let mut register: u16 = 0b000_0000_1010_1001;
    let mut sequence = [0; MAX_BBFRAME];
    let mut bit = 0;
    while bit < 8 * MAX_BBFRAME {
        let output = (register >> 13 ^ register >> 14) & 1;
        register = (register << 1 | output) & 0x7FFF;
        sequence[bit / 8] |= (output as u8) << (7 - bit % 8);
        bit += 1;
    }
    sequence
}

/// Scrambles, or descrambles, a BBFRAME in place: header, data field and padding (EN 302 307-1, clause 5.2.2).
///
/// # Panics
/// When the frame is longer than 7274 bytes, the longest BBFRAME.
///
/// ```
/// use bief_dsp::dvbs2::scramble::scramble_bbframe;
///
/// let mut frame = [0; 4];
/// scramble_bbframe(&mut frame);
/// assert_eq!(frame, [0x03, 0xF6, 0x08, 0x34]);
/// ```
pub fn scramble_bbframe(frame: &mut [u8]) {
    assert!(frame.len() <= MAX_BBFRAME, "a BBFRAME has at most {MAX_BBFRAME} bytes, not {}", frame.len());
    for (byte, mask) in frame.iter_mut().zip(&BB_SEQUENCE) {
        *byte ^= mask;
    }
}

/// Period of the two sequences that make the PL scrambling sequence.
const PERIOD: usize = (1 << 18) - 1;
/// Symbols that the longest PLFRAME has after its header.
const MAX_SCRAMBLED: usize = MAX_SYMBOLS - HEADER;

/// A Gold code number outside 0..=262141.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PL scrambling code {0} does not exist; use 0 (broadcast) to 262141")]
pub struct ScramblingCodeError(u32);

/// The PL scrambler: a sequence of quarter turns that restarts at each PLFRAME (EN 302 307-1, clause 5.5.4).
///
/// Its sequence is indexed from the first symbol after the PLHEADER, pilots counted.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::scramble::PlScrambler};
///
/// let scrambler = PlScrambler::broadcast();
/// let mut symbols = [Complex32::new(1.0, 0.0); 8];
/// scrambler.scramble(0, &mut symbols);
/// assert_eq!(symbols[1], Complex32::new(0.0, 1.0));
/// scrambler.descramble(0, &mut symbols);
/// assert_eq!(symbols, [Complex32::new(1.0, 0.0); 8]);
/// ```
#[derive(Clone, Debug)]
pub struct PlScrambler {
    rotations: Vec<u8>,
}

impl PlScrambler {
    /// The scrambler of Gold code `code`, 0 to 262 141.
    ///
    /// # Errors
    /// When there is no such code.
    pub fn new(code: u32) -> Result<PlScrambler, ScramblingCodeError> {
        let offset = match usize::try_from(code) {
            Ok(offset) if offset < PERIOD - 1 => offset,
            _ => return Err(ScramblingCodeError(code)),
        };
        // Bit i of a register is the sequence i steps ahead.
        let x = m_sequence(1, |register| register ^ register >> 7);
        let y = m_sequence(0x3FFFF, |register| register ^ register >> 5 ^ register >> 7 ^ register >> 10);
        let z = |i: usize| x[(i + offset) % PERIOD] ^ y[i % PERIOD];
        let half = 1 << 17;
        Ok(PlScrambler { rotations: (0..MAX_SCRAMBLED).map(|i| 2 * z((i + half) % PERIOD) + z(i)).collect() })
    }

    /// The scrambler of code 0, which broadcast services use; made once per process.
    pub fn broadcast() -> &'static PlScrambler {
        static BROADCAST: LazyLock<PlScrambler> = LazyLock::new(|| PlScrambler::new(0).expect("code 0 exists"));
        &BROADCAST
    }

    /// Quarter turns (0 to 3, counter-clockwise) of the 33 192 symbols that can follow a PLHEADER.
    pub fn rotations(&self) -> &[u8] {
        &self.rotations
    }

    /// Scrambles consecutive symbols, the first of which is number `start` after the PLHEADER.
    ///
    /// # Panics
    /// When `start + symbols.len()` exceeds 33 192.
    pub fn scramble(&self, start: usize, symbols: &mut [Complex32]) {
        let rotations = &self.rotations[start..start + symbols.len()];
        dispatch!(Level::best() => turn::<1>(symbols, rotations));
    }

    /// Undoes [`scramble`](PlScrambler::scramble).
    ///
    /// # Panics
    /// When `start + symbols.len()` exceeds 33 192.
    pub fn descramble(&self, start: usize, symbols: &mut [Complex32]) {
        let rotations = &self.rotations[start..start + symbols.len()];
        dispatch!(Level::best() => turn_back(symbols, rotations));
    }
}

/// One period of a sequence of degree 18, one bit per byte.
fn m_sequence(start: u32, feedback: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut register = start;
    (0..PERIOD)
        .map(|_| {
            let output = register & 1;
            register = register >> 1 | (feedback(register) & 1) << 17;
            output as u8
        })
        .collect()
}

/// Undoes rotations.
#[inline(always)]
pub(super) fn turn_back(symbols: &mut [Complex32], rotations: &[u8]) {
    turn::<-1>(symbols, rotations);
}

/// Turns each symbol by its rotation, counter-clockwise for `DIRECTION` 1, clockwise for -1.
#[inline(always)]
fn turn<const DIRECTION: i32>(symbols: &mut [Complex32], rotations: &[u8]) {
    for (symbol, &turns) in symbols.iter_mut().zip(rotations) {
        *symbol = quarter_turns(*symbol, (DIRECTION * i32::from(turns)).cast_unsigned());
    }
}

/// Multiplies by j to the power `turns` (modulo 4): a swap and two sign flips, without branches so that loops
/// vectorise.
#[inline(always)]
fn quarter_turns(symbol: Complex32, turns: u32) -> Complex32 {
    let (re, im) = (symbol.re.to_bits(), symbol.im.to_bits());
    let odd = turns & 1;
    let upper = turns >> 1 & 1;
    let swap = (re ^ im) & odd.wrapping_neg();
    Complex32::new(f32::from_bits(re ^ swap ^ (odd ^ upper) << 31), f32::from_bits(im ^ swap ^ upper << 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_turns_multiply_by_powers_of_j() {
        let symbol = Complex32::new(2.0, 3.0);
        let mut turned = symbol;
        for turns in 0..8 {
            assert_eq!(quarter_turns(symbol, turns), turned);
            turned *= Complex32::I;
        }
    }

    #[test]
    fn parts_of_a_frame_are_scrambled_as_the_whole() {
        let scrambler = PlScrambler::broadcast();
        let symbols: Vec<Complex32> = (0..MAX_SCRAMBLED).map(|i| Complex32::new(i as f32, -1.0)).collect();
        let mut whole = symbols.clone();
        scrambler.scramble(0, &mut whole);
        for (i, (scrambled, symbol)) in whole.iter().zip(&symbols).enumerate() {
            let factor = Complex32::I.powu(scrambler.rotations()[i].into());
            assert!((scrambled - symbol * factor).norm() < 1e-3);
        }
        let mut parts = symbols.clone();
        let (first, second) = parts.split_at_mut(1_530);
        scrambler.scramble(1_530, second);
        scrambler.scramble(0, first);
        assert_eq!(parts, whole);
        scrambler.descramble(0, &mut whole);
        assert_eq!(whole, symbols);
    }

    #[test]
    fn codes_end_at_262141() {
        assert!(PlScrambler::new(262_141).is_ok());
        let error = PlScrambler::new(262_142).unwrap_err();
        assert_eq!(error.to_string(), "PL scrambling code 262142 does not exist; use 0 (broadcast) to 262141");
    }
}
