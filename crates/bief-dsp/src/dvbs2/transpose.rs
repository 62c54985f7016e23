//! Small matrices of bytes turned over, in vector registers.

use crate::simd::{Simd, prelude::*, u8x16};

/// Reads `ROUNDS` bits of the place of a byte, the highest ones, as its lowest ones: the 2^`ROUNDS` columns of equal parts of all that
/// the vectors hold become rows. With three rounds byte r of column c, of 8 rows of 16, becomes byte 8 c + r; with four, byte b of
/// number s, of 16 numbers of 8, becomes byte 16 b + s.
#[inline(always)]
pub(super) fn transpose<S: Simd, const ROUNDS: usize>(mut rows: [u8x16<S>; 8]) -> [u8x16<S>; 8] {
    for _ in 0..ROUNDS {
        let [a, b, c, d, e, f, g, h] = rows;
        let pairs = [a.interleave(e), b.interleave(f), c.interleave(g), d.interleave(h)];
        let [(a, b), (c, d), (e, f), (g, h)] = pairs;
        rows = [a, b, c, d, e, f, g, h];
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, dispatch};

    #[inline(always)]
    fn turned<S: Simd, const ROUNDS: usize>(simd: S, bytes: &[[u8; 16]; 8]) -> [[u8; 16]; 8] {
        transpose::<S, ROUNDS>(bytes.map(|row| u8x16::load_array(simd, row))).map(|row| row.into())
    }

    #[test]
    fn columns_become_rows_at_every_level() {
        let bytes: [[u8; 16]; 8] = std::array::from_fn(|row| std::array::from_fn(|column| (16 * row + column) as u8));
        for level in Level::all() {
            let of_8 = dispatch!(level, simd => turned::<_, 3>(simd, &bytes));
            let of_16 = dispatch!(level, simd => turned::<_, 4>(simd, &bytes));
            for (place, byte) in bytes.as_flattened().iter().enumerate() {
                let (row, column) = (place / 16, place % 16);
                assert_eq!(of_8.as_flattened()[8 * column + row], *byte, "{level}");
                let (number, of_number) = (place / 8, place % 8);
                assert_eq!(of_16.as_flattened()[16 * of_number + number], *byte, "{level}");
            }
        }
    }
}
