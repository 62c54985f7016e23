//! The outer code: shortened binary BCH codes that correct 8, 10 or 12 errors (EN 302 307-1, clause 5.3.1).
//!
//! A codeword is a polynomial over GF(2) whose first transmitted bit has the highest power. It is the
//! message followed by parity bits that make it divisible by the generator g(x), the product of the t
//! minimal polynomials of Table 6a or 6b, whose roots are α, α², …, α^2t.
//!
//! Decoding divides by g(x) first: a frame without errors, the normal case, costs nothing else. Otherwise
//! the syndromes come from the short remainder, the error locator from the Berlekamp–Massey algorithm, and
//! its roots from a Chien search over the positions of the shortened code.

mod field;

use super::{Fec, FrameSize, Rate};
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

/// Largest number of errors that one of the codes corrects.
const MAX_T: usize = 12;
/// Bytes that one step of the division takes in.
const STEP: usize = 4;

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
    message_bytes: usize,
    codeword_bytes: usize,
    /// `division[k][b]`: remainder of the byte b followed by k zero bytes and the parity.
    division: Box<[[Remainder; 256]; STEP]>,
}

impl Bch {
    /// The code of a frame size and a rate; `None` for 9/10 short, which does not exist.
    ///
    /// Makes tables (24 KiB, and 64 or 256 KiB that all codes of that frame size share).
    pub fn new(size: FrameSize, rate: Rate) -> Option<Bch> {
        let fec = Fec::new(size, rate)?;
        let (field, minimal) = match size {
            FrameSize::Normal => (Field::normal(), &MINIMAL_NORMAL),
            FrameSize::Short => (Field::short(), &MINIMAL_SHORT),
        };
        Some(Bch {
            field,
            t: fec.bch_t,
            message_bytes: fec.kbch / 8,
            codeword_bytes: fec.nbch / 8,
            division: division_tables(&generator(&minimal[..fec.bch_t])),
        })
    }

    /// Bytes of a message: kbch / 8.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes
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
    /// codeword.
    pub fn encode(&self, message: &[u8], parity: &mut [u8]) {
        assert_eq!(message.len(), self.message_bytes, "length of the message");
        let parity_bytes = self.codeword_bytes - self.message_bytes;
        assert_eq!(parity.len(), parity_bytes, "length of the parity");
        let remainder = self.divide(message);
        parity.copy_from_slice(&to_bytes(&remainder)[..parity_bytes]);
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
        let (message, parity) = codeword.split_at(self.message_bytes);
        let mut received = [0; size_of::<Remainder>()];
        received[..parity.len()].copy_from_slice(parity);
        let mut remainder = self.divide(message);
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

    /// Remainder of the message, times x^(parity bits), modulo g(x).
    fn divide(&self, message: &[u8]) -> Remainder {
        let division = &*self.division;
        let mut r = [0; 3];
        let (steps, rest) = message.as_chunks::<STEP>();
        for bytes in steps {
            let top = ((r[0] >> 32) as u32 ^ u32::from_be_bytes(*bytes)).to_be_bytes();
            let terms = [
                &division[3][usize::from(top[0])],
                &division[2][usize::from(top[1])],
                &division[1][usize::from(top[2])],
                &division[0][usize::from(top[3])],
            ];
            r = [r[0] << 32 | r[1] >> 32, r[1] << 32 | r[2] >> 32, r[2] << 32];
            for term in terms {
                r = add(&r, term);
            }
        }
        for byte in rest {
            let top = (r[0] >> 56) as u8 ^ byte;
            r = add(&times_x8(&r), &division[0][usize::from(top)]);
        }
        r
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
        let parity_bits = 8 * (self.codeword_bytes - self.message_bytes) as u32;
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
        // x, squared m times modulo Λ.
        let mut power = [0; MAX_T];
        let x = {
            let mut x = [0; MAX_T];
            match degree {
                1 => x[0] = monic[0],
                _ => x[1] = 1,
            }
            x
        };
        power.copy_from_slice(&x);
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

fn division_tables(generator: &Remainder) -> Box<[[Remainder; 256]; STEP]> {
    let mut tables = Box::new([[[0; 3]; 256]; STEP]);
    for byte in 0..256 {
        let mut r = [(byte as u64) << 56, 0, 0];
        for _ in 0..8 {
            let out = r[0] >> 63 == 1;
            r = [r[0] << 1 | r[1] >> 63, r[1] << 1 | r[2] >> 63, r[2] << 1];
            if out {
                r = add(&r, generator);
            }
        }
        tables[0][byte] = r;
    }
    for k in 1..STEP {
        for byte in 0..256 {
            let r = tables[k - 1][byte];
            tables[k][byte] = add(&times_x8(&r), &tables[0][(r[0] >> 56) as usize]);
        }
    }
    tables
}

#[inline]
fn add(a: &Remainder, b: &Remainder) -> Remainder {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2]]
}

/// x^8 times the lower powers; the highest eight leave.
#[inline]
fn times_x8(r: &Remainder) -> Remainder {
    [r[0] << 8 | r[1] >> 56, r[1] << 8 | r[2] >> 56, r[2] << 8]
}

fn to_bytes(r: &Remainder) -> [u8; size_of::<Remainder>()] {
    let mut bytes = [0; size_of::<Remainder>()];
    for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().zip(r) {
        *chunk = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dvbs2::noise::Random;

    fn codes() -> Vec<(FrameSize, Rate, Bch)> {
        [FrameSize::Normal, FrameSize::Short]
            .into_iter()
            .flat_map(|size| Rate::ALL.map(|rate| (size, rate)))
            .filter_map(|(size, rate)| Some((size, rate, Bch::new(size, rate)?)))
            .collect()
    }

    fn random_codeword(bch: &Bch, random: &mut Random) -> Vec<u8> {
        let mut codeword = random.bytes(bch.codeword_bytes());
        let (message, parity) = codeword.split_at_mut(bch.message_bytes());
        bch.encode(message, parity);
        codeword
    }

    fn flip(codeword: &mut [u8], bit: usize) {
        codeword[bit / 8] ^= 0x80 >> (bit % 8);
    }

    /// Remainder bit by bit, as bits from the highest power down.
    fn naive_parity(message: &[u8], generator: &[u8]) -> Vec<u8> {
        let parity = generator.len() - 1;
        let mut bits: Vec<u8> = message
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1))
            .chain(std::iter::repeat_n(0, parity))
            .collect();
        for i in 0..bits.len() - parity {
            if bits[i] == 1 {
                for (bit, g) in bits[i..].iter_mut().zip(generator) {
                    *bit ^= g;
                }
            }
        }
        bits.split_off(bits.len() - parity)
    }

    /// Product of polynomials over GF(2), bits from the highest power down.
    fn product(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut c = vec![0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                c[i + j] ^= x & y;
            }
        }
        c
    }

    fn bits_of_hex(hex: &str) -> Vec<u8> {
        let bits: Vec<u8> = hex
            .bytes()
            .flat_map(|digit| {
                let value = (digit as char).to_digit(16).unwrap() as u8;
                (0..4).rev().map(move |k| value >> k & 1)
            })
            .collect();
        bits.into_iter().skip_while(|bit| *bit == 0).collect()
    }

    /// Generators in hexadecimal: bit k is the coefficient of x^k.
    const GENERATORS: [(FrameSize, usize, &str); 4] = [
        (FrameSize::Normal, 8, "11C07255F712797BD19FC6D7504F9662B"),
        (FrameSize::Normal, 10, "160150CEDFC2A331F6A785703EFD12301B8BB6591"),
        (FrameSize::Normal, 12, "14E260E83845C511C50CF2CD8DC350889034785F7660255E7"),
        (FrameSize::Short, 12, "14062DBEA9869B262CD23A39069528FE7D7D11905A5"),
    ];

    #[test]
    fn generators_are_the_products_of_the_minimal_polynomials() {
        for (size, t, hex) in GENERATORS {
            let minimal = match size {
                FrameSize::Normal => &MINIMAL_NORMAL,
                FrameSize::Short => &MINIMAL_SHORT,
            };
            let expected = bits_of_hex(hex);
            let naive = minimal[..t].iter().fold(vec![1], |g, m| product(&g, &bits_of_hex(&format!("{m:x}"))));
            assert_eq!(naive, expected);
            let fast: Vec<u8> = to_bytes(&generator(&minimal[..t]))
                .iter()
                .flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1))
                .collect();
            let degree = expected.len() - 1;
            assert_eq!(fast[..degree], expected[1..]);
            assert!(fast[degree..].iter().all(|bit| *bit == 0));
        }
    }

    #[test]
    fn minimal_polynomials_vanish_at_the_odd_powers_of_alpha() {
        for (field, minimal) in [(Field::normal(), MINIMAL_NORMAL), (Field::short(), MINIMAL_SHORT)] {
            for (i, polynomial) in minimal.into_iter().enumerate() {
                assert_eq!(polynomial.ilog2(), field.degree());
                let power = 2 * i as u32 + 1;
                let value = (0..=field.degree())
                    .filter(|k| polynomial >> k & 1 == 1)
                    .fold(0, |sum, k| sum ^ field.exp(k * power % field.order()));
                assert_eq!(value, 0);
            }
        }
    }

    #[test]
    fn parity_equals_division_bit_by_bit() {
        let mut random = Random::new(1);
        for (size, _, bch) in codes() {
            let (_, _, hex) = GENERATORS.into_iter().find(|(s, t, _)| *s == size && *t == bch.correctable()).unwrap();
            let codeword = random_codeword(&bch, &mut random);
            let (message, parity) = codeword.split_at(bch.message_bytes());
            let parity: Vec<u8> = parity.iter().flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1)).collect();
            assert_eq!(parity, naive_parity(message, &bits_of_hex(hex)));
        }
    }

    #[test]
    fn every_weight_up_to_t_is_corrected() {
        let mut random = Random::new(2);
        for (size, rate, bch) in codes() {
            let sent = random_codeword(&bch, &mut random);
            for weight in 0..=bch.correctable() {
                for _ in 0..if weight == 0 { 1 } else { 4 } {
                    let mut received = sent.clone();
                    for bit in random.distinct(weight, 8 * sent.len()) {
                        flip(&mut received, bit);
                    }
                    let outcome = bch.decode(&mut received);
                    assert_eq!(outcome, Outcome::Corrected(weight), "{size} {rate}");
                    assert!(received == sent, "{size} {rate}, weight {weight}");
                }
            }
        }
    }

    #[test]
    fn single_errors_are_corrected_at_every_position() {
        let mut random = Random::new(3);
        let bch = Bch::new(FrameSize::Short, Rate::R1_4).unwrap();
        let sent = random_codeword(&bch, &mut random);
        for bit in 0..8 * sent.len() {
            let mut received = sent.clone();
            flip(&mut received, bit);
            assert_eq!(bch.decode(&mut received), Outcome::Corrected(1));
            assert!(received == sent, "bit {bit}");
        }
    }

    #[test]
    fn the_first_and_last_bits_are_corrected_together() {
        let mut random = Random::new(4);
        for (size, rate, bch) in codes() {
            let sent = random_codeword(&bch, &mut random);
            let n = 8 * sent.len();
            let mut received = sent.clone();
            for i in 0..bch.correctable() / 2 {
                flip(&mut received, i);
                flip(&mut received, n - 1 - i);
            }
            let outcome = bch.decode(&mut received);
            assert_eq!(outcome, Outcome::Corrected(bch.correctable()));
            assert!(received == sent, "{size} {rate}");
        }
    }

    #[test]
    fn more_errors_are_flagged_and_the_word_left_alone() {
        let mut random = Random::new(5);
        for (size, rate, bch) in codes() {
            let sent = random_codeword(&bch, &mut random);
            let t = bch.correctable();
            for weight in (t + 1..t + 6).chain([30, 100, 1000]) {
                let mut received = sent.clone();
                for bit in random.distinct(weight, 8 * sent.len()) {
                    flip(&mut received, bit);
                }
                let before = received.clone();
                // With these seeds none is taken for another codeword.
                let outcome = bch.decode(&mut received);
                assert_eq!(outcome, Outcome::Uncorrectable, "{size} {rate} {weight}");
                assert!(received == before);
            }
        }
    }

    #[test]
    fn whatever_is_called_corrected_is_a_codeword() {
        let mut random = Random::new(6);
        for (_, _, bch) in codes() {
            for fill in [0x00, 0x01, 0x55, 0xFF] {
                let mut word = vec![fill; bch.codeword_bytes()];
                if bch.decode(&mut word) != Outcome::Uncorrectable {
                    assert_eq!(bch.decode(&mut word), Outcome::Corrected(0));
                }
            }
            for _ in 0..20 {
                let mut word = random.bytes(bch.codeword_bytes());
                assert_eq!(bch.decode(&mut word), Outcome::Uncorrectable);
            }
        }
    }

    #[test]
    fn the_split_test_agrees_with_a_search_of_the_whole_field() {
        let field = Field::short();
        let bch = Bch::new(FrameSize::Short, Rate::R8_9).unwrap();
        let mut random = Random::new(7);
        let mut seen = [0, 0];
        for case in 0..60 {
            let degree = 1 + case % 4;
            let mut coefficients = [0; MAX_T + 1];
            coefficients[0] = 1;
            for c in &mut coefficients[1..=degree] {
                *c = random.next() as u16 & 0x3FFF;
            }
            coefficients[degree] |= 1;
            let roots = (0..field.order())
                .filter(|&k| {
                    let value = (0..=degree as u32).fold(0, |sum, j| {
                        let power = field.exp(j * k % field.order());
                        sum ^ field.multiply(coefficients[j as usize], power)
                    });
                    value == 0
                })
                .count();
            let locator = Locator { coefficients, degree };
            assert_eq!(bch.splits(&locator), roots == degree);
            seen[usize::from(roots == degree)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
    }

    /// The vectors of independent encoders, or `None` with a note.
    fn vector(name: &str) -> Option<Vec<u8>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors").join(name);
        if !path.exists() {
            println!("skipped: {} not found", path.display());
            return None;
        }
        Some(std::fs::read(path).unwrap())
    }

    #[test]
    fn parity_equals_that_of_an_independent_encoder() {
        for (set, size, rate) in [
            ("qpsk_8_9_short", FrameSize::Short, Rate::R8_9),
            ("8psk_3_5_short", FrameSize::Short, Rate::R3_5),
            ("16apsk_8_9_short", FrameSize::Short, Rate::R8_9),
            ("qpsk_1_2_normal", FrameSize::Normal, Rate::R1_2),
            ("32apsk_4_5_normal", FrameSize::Normal, Rate::R4_5),
        ] {
            let Some(messages) = vector(&format!("{set}/2_scrambled.bin")) else {
                return;
            };
            let mut codewords = vector(&format!("{set}/3_bch.bin")).unwrap();
            let bch = Bch::new(size, rate).unwrap();
            let frames = messages.len() / bch.message_bytes();
            assert_eq!(frames * bch.codeword_bytes(), codewords.len());
            assert!(frames > 0);
            for (message, codeword) in
                messages.chunks(bch.message_bytes()).zip(codewords.chunks_mut(bch.codeword_bytes()))
            {
                let mut parity = vec![0; bch.codeword_bytes() - bch.message_bytes()];
                bch.encode(message, &mut parity);
                assert!(codeword == [message, &parity].concat(), "{set}");
                assert_eq!(bch.decode(codeword), Outcome::Corrected(0));
            }
        }
    }
}
