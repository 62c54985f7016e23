//! The outer code: shortened binary BCH codes that correct 8, 10 or 12 errors (clause 5.3.1 of EN 302 307-1 and EN 302 307-2).
//!
//! A codeword is a polynomial over GF(2) whose first transmitted bit has the highest power. It is the
//! message followed by parity bits that make it divisible by the generator g(x), the product of the t
//! minimal polynomials of Table 6a or 6b, whose roots are α, α², …, α^2t.
//!
//! Decoding divides by g(x) first: a frame without errors, the normal case, costs nothing else. Otherwise
//! the syndromes come from the short remainder, the error locator from the Berlekamp–Massey algorithm, and
//! its roots from a Chien search over the positions of the shortened code.

mod division;
mod field;
#[cfg(test)]
mod tests;

use std::fmt;

use super::{Fec, FrameSize, Rate, bits};
use crate::simd::Level;
use division::Division;
use field::Field;

/// Minimal polynomials of α, α³, …, α²³ over GF(2^16): g1 to g12 of Table 6a. Bit k is the coefficient of x^k.
#[rustfmt::skip]
const MINIMAL_NORMAL: [u32; 12] = [
    0x1002D, 0x10173, 0x10FBD, 0x15A55, 0x11F2F, 0x1F7B5,
    0x1AF65, 0x17367, 0x10EA1, 0x175A7, 0x13A2D, 0x11AE3,
];
/// Minimal polynomials of α, α³, …, α²³ over GF(2^14): g1 to g12 of Table 6b.
#[rustfmt::skip]
const MINIMAL_SHORT: [u32; 12] = [
    0x402B, 0x4941, 0x4647, 0x5591, 0x6B55, 0x6389,
    0x6CE5, 0x4F21, 0x460F, 0x5A49, 0x5811, 0x65EF,
];

/// The same over GF(2^15), of medium FECFRAMEs (EN 302 307-2).
#[rustfmt::skip]
const MINIMAL_MEDIUM: [u32; 12] = [
    0x802D, 0x8C93, 0xB555, 0x8D6D, 0x94D7, 0xB0D1,
    0xD8B5, 0xCB55, 0xBAB7, 0xBC9F, 0x8A17, 0xED15,
];

/// Largest number of errors that one of the codes corrects.
const MAX_T: usize = 12;

/// A polynomial of degree < 192, aligned to the left: the coefficient of the power just below the degree of
/// the generator is the top bit of the first word.
type Remainder = [u64; 3];

/// What [`Bch::decode`] made of a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The codeword is valid now; so many bits were inverted, 0 if it was valid before.
    Corrected(usize),
    /// More errors than the code corrects; the codeword was left as it came.
    Uncorrectable,
}

/// Encoder and decoder of one BCH code.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Rate, bch::{Bch, Outcome}};
///
/// let bch = Bch::new(FrameSize::Short, Rate::R8_9).unwrap();
/// let mut codeword = vec![0x5A; bch.codeword_bytes()];
/// let (message, parity) = codeword.split_at_mut(bch.message_bytes());
/// bch.encode(message, parity);
///
/// codeword[17] ^= 0b0100_0001;
/// assert_eq!(bch.decode(&mut codeword), Outcome::Corrected(2));
/// assert_eq!(codeword[17], 0x5A);
/// ```
#[derive(Clone)]
pub struct Bch {
    field: &'static Field,
    /// Errors that the code corrects.
    t: usize,
    message_bits: usize,
    codeword_bytes: usize,
    division: Division,
}

impl fmt::Debug for Bch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bch")
            .field("codeword_bytes", &self.codeword_bytes)
            .field("message_bits", &self.message_bits)
            .field("t", &self.t)
            .finish_non_exhaustive()
    }
}

impl Bch {
    /// The code of a frame size and a rate; `None` for 9/10 short, which does not exist.
    ///
    /// Makes tables (50 KiB, and 64 or 256 KiB that all codes of that frame size share).
    pub fn new(size: FrameSize, rate: Rate) -> Option<Bch> {
        let fec = Fec::new(size, rate)?;
        Some(Bch::of(size, fec.kbch, fec.nbch, fec.bch_t))
    }

    /// The same code with the kernels of another level.
    pub fn with_level(mut self, level: Level) -> Bch {
        self.division.level = level;
        self
    }

    /// The code of those lengths; `nbch` is a multiple of 8.
    pub(super) fn of(size: FrameSize, kbch: usize, nbch: usize, t: usize) -> Bch {
        let (field, minimal) = match size {
            FrameSize::Normal => (Field::normal(), &MINIMAL_NORMAL),
            FrameSize::Short => (Field::short(), &MINIMAL_SHORT),
            FrameSize::Medium => (Field::medium(), &MINIMAL_MEDIUM),
        };
        let division = Division::new(&generator(&minimal[..t]), kbch, nbch - kbch);
        Bch { field, t, message_bits: kbch, codeword_bytes: nbch / 8, division }
    }

    /// Bytes of a message: kbch / 8. Where kbch is no multiple of 8 (medium FECFRAMEs), parity begins in the last of them.
    pub fn message_bytes(&self) -> usize {
        self.message_bits.div_ceil(8)
    }

    fn parity_bits(&self) -> usize {
        8 * self.codeword_bytes - self.message_bits
    }

    /// Bytes of a codeword, message and parity: nbch / 8.
    pub fn codeword_bytes(&self) -> usize {
        self.codeword_bytes
    }

    /// Number of errors that the code corrects: 8, 10 or 12.
    pub fn correctable(&self) -> usize {
        self.t
    }

    /// Computes the parity that follows a message in its codeword.
    ///
    /// # Panics
    ///
    /// If `message` is not [`message_bytes`](Bch::message_bytes) long, or `parity` not as long as the rest of a
    /// codeword; if the message ends within a byte.
    pub fn encode(&self, message: &[u8], parity: &mut [u8]) {
        assert_eq!(8 * message.len(), self.message_bits, "length of the message");
        let parity_bytes = self.codeword_bytes - message.len();
        assert_eq!(parity.len(), parity_bytes, "length of the parity");
        let remainder = self.division.remainder(message);
        parity.copy_from_slice(&to_bytes(&remainder)[..parity_bytes]);
    }

    /// Computes the parity of the message that `codeword` begins with, and writes it behind, wherever the message ends.
    ///
    /// # Panics
    ///
    /// If `codeword` is not [`codeword_bytes`](Bch::codeword_bytes) long.
    pub fn complete(&self, codeword: &mut [u8]) {
        assert_eq!(codeword.len(), self.codeword_bytes, "length of the codeword");
        let parity = to_bytes(&self.division.remainder(codeword));
        bits::copy(&parity, 0, codeword, self.message_bits, self.parity_bits());
    }

    /// Corrects a codeword in place. Allocates nothing.
    ///
    /// A word with more errors than the code corrects is nearly always found out; the probability that it is
    /// taken for another codeword is about (nbch / 2^m)^t / t!, at most 3·10⁻⁵ (t = 8).
    ///
    /// # Panics
    ///
    /// If `codeword` is not [`codeword_bytes`](Bch::codeword_bytes) long.
    pub fn decode(&self, codeword: &mut [u8]) -> Outcome {
        assert_eq!(codeword.len(), self.codeword_bytes, "length of the codeword");
        let mut received = [0; size_of::<Remainder>()];
        bits::copy(codeword, self.message_bits, &mut received, 0, self.parity_bits());
        let mut remainder = self.division.remainder(codeword);
        for (word, bytes) in remainder.iter_mut().zip(received.as_chunks().0) {
            *word ^= u64::from_be_bytes(*bytes);
        }
        if remainder == [0; 3] {
            return Outcome::Corrected(0);
        }
        match self.locate_errors(&remainder) {
            Some(errors) => {
                for &position in errors.as_slice() {
                    let from_start = 8 * self.codeword_bytes - 1 - position as usize;
                    codeword[from_start / 8] ^= 0x80 >> (from_start % 8);
                }
                Outcome::Corrected(errors.count)
            }
            None => Outcome::Uncorrectable,
        }
    }

    /// Positions of the errors, counted from the last bit of the codeword, or `None` if there are too many.
    fn locate_errors(&self, remainder: &Remainder) -> Option<Errors> {
        let syndromes = self.syndromes(remainder);
        let locator = self.error_locator(&syndromes[..2 * self.t])?;
        if !self.splits(&locator) {
            return None;
        }
        self.roots_in_codeword(&locator)
    }

    /// S_j = c(α^j) for j = 1 ..= 2t, stored at j - 1. As g(α^j) = 0, the remainder replaces the codeword c.
    fn syndromes(&self, remainder: &Remainder) -> [u16; 2 * MAX_T] {
        let field = self.field;
        let parity_bits = self.parity_bits() as u32;
        let mut syndromes = [0; 2 * MAX_T];
        for (i, word) in remainder.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let from_top = bits.leading_zeros();
                bits &= !(1 << (63 - from_top));
                let power = parity_bits - 1 - (64 * i as u32 + from_top);
                for j in (1..2 * self.t).step_by(2) {
                    syndromes[j - 1] ^= field.exp(j as u32 * power % field.order());
                }
            }
        }
        // The codeword is binary, so S_2j = S_j².
        for j in 1..=self.t {
            syndromes[2 * j - 1] = field.multiply(syndromes[j - 1], syndromes[j - 1]);
        }
        syndromes
    }

    /// Berlekamp–Massey: the shortest Λ(x) = 1 + Λ_1 x + … that generates the syndromes; its roots are the
    /// inverses of the error positions. `None` if its degree exceeds t.
    fn error_locator(&self, syndromes: &[u16]) -> Option<Locator> {
        let field = self.field;
        let mut current = [0; 2 * MAX_T + 1];
        current[0] = 1;
        let mut previous = current;
        let mut previous_discrepancy = 1;
        let mut length = 0;
        let mut shift = 1;
        // The syndromes of a binary code leave a discrepancy at every other step only.
        for n in (0..syndromes.len()).step_by(2) {
            let discrepancy = (0..=length).fold(0, |sum, i| sum ^ field.multiply(current[i], syndromes[n - i]));
            if discrepancy == 0 {
                shift += 2;
                continue;
            }
            let before = current;
            let factor = field.divide(discrepancy, previous_discrepancy);
            for (c, &p) in current[shift..].iter_mut().zip(&previous) {
                *c ^= field.multiply(factor, p);
            }
            if 2 * length <= n {
                length = n + 1 - length;
                if length > self.t {
                    return None;
                }
                previous = before;
                previous_discrepancy = discrepancy;
                shift = 2;
            } else {
                shift += 2;
            }
        }
        // A lower degree would mean an error at the inverse of 0.
        if current[length] == 0 {
            return None;
        }
        let mut coefficients = [0; MAX_T + 1];
        coefficients.copy_from_slice(&current[..=MAX_T]);
        Some(Locator { coefficients, degree: length })
    }

    /// Whether Λ has as many different roots in the field as its degree says: it then divides x^(2^m) - x.
    ///
    /// Nearly every word with too many errors is found out here, in a fraction of the time of a search.
    fn splits(&self, locator: &Locator) -> bool {
        let field = self.field;
        let degree = locator.degree;
        let mut monic = locator.coefficients;
        for c in &mut monic[..=degree] {
            *c = field.divide(*c, locator.coefficients[degree]);
        }
        // x modulo Λ, squared m times.
        let mut x = [0; MAX_T];
        if degree == 1 {
            x[0] = monic[0];
        } else {
            x[1] = 1;
        }
        let mut power = x;
        for _ in 0..field.degree() {
            let mut square = [0; 2 * MAX_T];
            for (i, &c) in power[..degree].iter().enumerate() {
                square[2 * i] = field.multiply(c, c);
            }
            for top in (degree..=2 * (degree - 1)).rev() {
                let factor = square[top];
                for i in 0..degree {
                    square[top - degree + i] ^= field.multiply(factor, monic[i]);
                }
            }
            power[..degree].copy_from_slice(&square[..degree]);
        }
        power == x
    }

    /// Chien search: every position k < nbch such that Λ(α^-k) = 0, or `None` if a root lies elsewhere.
    fn roots_in_codeword(&self, locator: &Locator) -> Option<Errors> {
        let field = self.field;
        // Logarithm and step of every term of Λ that is not 0, but for the constant 1.
        let mut terms = [(0, 0); MAX_T];
        let mut term_count = 0;
        for j in 1..=locator.degree {
            if locator.coefficients[j] != 0 {
                terms[term_count] = (field.log(locator.coefficients[j]), field.order() - j as u32);
                term_count += 1;
            }
        }
        let terms = &mut terms[..term_count];
        let mut errors = Errors { positions: [0; MAX_T], count: 0 };
        for position in 0..8 * self.codeword_bytes as u32 {
            let mut value = 1;
            for (log, step) in terms.iter_mut() {
                value ^= field.exp(*log);
                *log = field.reduce(*log + *step);
            }
            if value == 0 {
                errors.positions[errors.count] = position;
                errors.count += 1;
                if errors.count == locator.degree {
                    return Some(errors);
                }
            }
        }
        None
    }
}

/// An error locator polynomial of degree 1 ..= t; its constant term is 1.
struct Locator {
    coefficients: [u16; MAX_T + 1],
    degree: usize,
}

/// Positions of erroneous bits, counted from the last bit of the codeword.
struct Errors {
    positions: [u32; MAX_T],
    count: usize,
}

impl Errors {
    fn as_slice(&self) -> &[u32] {
        &self.positions[..self.count]
    }
}

/// Product of minimal polynomials, without its highest power.
fn generator(minimal: &[u32]) -> Remainder {
    // Powers in descending order from the top bit, as in `Remainder`, but with room for the highest one.
    let mut product = [0u64; 4];
    product[0] = 1 << 63;
    for &factor in minimal {
        let degree = factor.ilog2();
        let mut sum = [0; 4];
        // The factor's power degree - s moves the product s places to the right.
        for s in (0..=degree).filter(|s| factor >> (degree - s) & 1 == 1) {
            for i in 0..4 {
                sum[i] ^= product[i] >> s;
                if i > 0 && s > 0 {
                    sum[i] ^= product[i - 1] << (64 - s);
                }
            }
        }
        product = sum;
    }
    std::array::from_fn(|i| product[i] << 1 | product[i + 1] >> 63)
}

fn to_bytes(r: &Remainder) -> [u8; size_of::<Remainder>()] {
    let mut bytes = [0; size_of::<Remainder>()];
    for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().zip(r) {
        *chunk = word.to_be_bytes();
    }
    bytes
}
