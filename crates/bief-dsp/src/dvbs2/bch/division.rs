//! Division by the generator of a code: a message in parts side by side, each four bytes at a time.

use super::Remainder;
use crate::simd::{Level, Simd, dispatch, prelude::*, u32x8};

/// Bytes that one step of the division takes in.
const STEP: usize = 4;
/// Parts of a message that are divided side by side: each step of a division waits for what its tables say of the one before.
const PARTS: usize = 4;
/// Words of a row: of 32 bits, so that a step moves them by one.
const WORDS: usize = 8;
const REMAINDER_BITS: usize = 8 * size_of::<Remainder>();

/// A [`Remainder`] in words of 32 bits, the highest powers first; the last two are 0.
type Row = [u32; WORDS];

/// Divides messages of so many bits, which so many bits of parity follow.
#[derive(Clone)]
pub(super) struct Division {
    pub(super) level: Level,
    message_bits: usize,
    generator: Remainder,
    /// `steps[k][b]`: remainder of the byte b followed by k zero bytes and the parity.
    steps: Box<[[Row; 256]; STEP]>,
    /// `behind[p][i]`: remainder of bit i from the top of a remainder, followed by p + 1 whole parts of the message.
    behind: Box<[[Row; REMAINDER_BITS]; PARTS - 1]>,
}

impl Division {
    pub(super) fn new(generator: &Remainder, message_bits: usize, parity_bits: usize) -> Self {
        Self {
            level: Level::best(),
            message_bits,
            generator: *generator,
            steps: step_tables(generator),
            behind: followed_by_parts(generator, parity_bits, 8 * part_bytes(message_bits)),
        }
    }

    /// Remainder of the message that the bytes begin with, times x^(parity bits), modulo g(x).
    pub(super) fn remainder(&self, bytes: &[u8]) -> Remainder {
        let part = part_bytes(self.message_bits);
        let (parts, rest) = bytes.split_at(PARTS * part);
        let mut r = from_row(&dispatch!(self.level, simd => self.of_parts(simd, parts, part)));
        let (rest, last) = rest.split_at(self.message_bits / 8 - PARTS * part);
        for byte in rest {
            let top = (r[0] >> 56) as u8 ^ byte;
            r = add(&times_x8(&r), &from_row(&self.steps[0][usize::from(top)]));
        }
        for bit in 0..self.message_bits % 8 {
            let carry = r[0] >> 63 == 1;
            r = times_x(&r);
            r = if carry != (last[0] >> (7 - bit) & 1 == 1) { add(&r, &self.generator) } else { r };
        }
        r
    }

    /// Remainder of all parts.
    #[inline(always)]
    fn of_parts<S: Simd>(&self, simd: S, parts: &[u8], part: usize) -> Row {
        let row = |k: usize, byte: u8| u32x8::simd_from(simd, self.steps[k][usize::from(byte)]);
        let (parts, _) = parts.as_chunks::<STEP>();
        let steps = part / STEP;
        // Each part for itself ...
        let mut remainders = [u32x8::splat(simd, 0); PARTS];
        for step in 0..steps {
            for (p, r) in remainders.iter_mut().enumerate() {
                let top = (r.as_slice()[0] ^ u32::from_be_bytes(parts[p * steps + step])).to_be_bytes();
                let moved = r.slide::<1>(u32x8::splat(simd, 0));
                *r = moved ^ (row(3, top[0]) ^ row(2, top[1])) ^ (row(1, top[2]) ^ row(0, top[3]));
            }
        }
        // ... then, added to that of the last one, what the parts before it leave once it follows.
        let [first @ .., mut sum] = remainders;
        for (part, behind) in first.iter().rev().zip(&*self.behind) {
            let words: Row = (*part).into();
            for (word, rows) in words.iter().zip(behind.as_chunks::<32>().0) {
                for (bit, row) in rows.iter().enumerate() {
                    let present = (word >> (31 - bit) & 1).wrapping_neg();
                    sum ^= u32x8::simd_from(simd, *row) & u32x8::splat(simd, present);
                }
            }
        }
        sum.into()
    }
}

fn to_row(r: &Remainder) -> Row {
    let mut row = [0; WORDS];
    for (words, r) in row.as_chunks_mut::<2>().0.iter_mut().zip(r) {
        *words = [(r >> 32) as u32, *r as u32];
    }
    row
}

fn from_row(row: &Row) -> Remainder {
    [0, 2, 4].map(|word| u64::from(row[word]) << 32 | u64::from(row[word + 1]))
}

fn step_tables(generator: &Remainder) -> Box<[[Row; 256]; STEP]> {
    let mut tables = [const { [[0; 3]; 256] }; STEP];
    for (byte, entry) in (0..).zip(&mut tables[0]) {
        let mut r = [byte << 56, 0, 0];
        for _ in 0..8 {
            r = times_x_modulo(&r, generator);
        }
        *entry = r;
    }
    for k in 1..STEP {
        for byte in 0..256 {
            let r = tables[k - 1][byte];
            tables[k][byte] = add(&times_x8(&r), &tables[0][(r[0] >> 56) as usize]);
        }
    }
    Box::new(tables.map(|table| table.map(|r| to_row(&r))))
}

/// Bytes of each part of a message that is divided beside others; what is left behind them is less than `PARTS` steps and a byte.
fn part_bytes(message_bits: usize) -> usize {
    message_bits / 8 / (PARTS * STEP) * STEP
}

/// What each bit of a remainder leaves when one part of that many bits follows it, when two do, and so on.
fn followed_by_parts(
    generator: &Remainder,
    parity_bits: usize,
    part_bits: usize,
) -> Box<[[Row; REMAINDER_BITS]; PARTS - 1]> {
    let mut tables = Box::new([[[0; WORDS]; REMAINDER_BITS]; PARTS - 1]);
    // The remainder 1.
    let mut power = [0; 3];
    power[(parity_bits - 1) / 64] = 1 << (63 - (parity_bits - 1) % 64);
    for table in &mut *tables {
        for _ in 0..part_bits {
            power = times_x_modulo(&power, generator);
        }
        let mut term = power;
        for entry in table[..parity_bits].iter_mut().rev() {
            *entry = to_row(&term);
            term = times_x_modulo(&term, generator);
        }
    }
    tables
}

#[inline]
fn add(a: &Remainder, b: &Remainder) -> Remainder {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2]]
}

/// x times the lower powers; the highest one leaves.
#[inline]
fn times_x(r: &Remainder) -> Remainder {
    [r[0] << 1 | r[1] >> 63, r[1] << 1 | r[2] >> 63, r[2] << 1]
}

fn times_x_modulo(r: &Remainder, generator: &Remainder) -> Remainder {
    if r[0] >> 63 == 1 { add(&times_x(r), generator) } else { times_x(r) }
}

/// x^8 times the lower powers; the highest eight leave.
#[inline]
fn times_x8(r: &Remainder) -> Remainder {
    [r[0] << 8 | r[1] >> 56, r[1] << 8 | r[2] >> 56, r[2] << 8]
}
