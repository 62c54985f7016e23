//! The CRC-8 of user packets and of the BBHEADER (EN 302 307-1, clause 5.1.4).

/// x⁸ + x⁷ + x⁶ + x⁴ + x² + 1 without its highest term.
const POLYNOMIAL: u8 = 0xD5;

/// Bytes that are taken together: their lookups do not wait for each other.
const SLICE: usize = 16;

/// In table n, what a register that holds the index becomes after n more bytes and its own eight bits.
static TABLES: [[u8; 256]; SLICE] = {
    let mut tables = [[0; 256]; SLICE];
    let mut index = 0;
    while index < 256 {
        let mut register = index as u8;
        let mut table = 0;
        while table < SLICE {
            let mut bit = 0;
            while bit < 8 {
                let carry = register >> 7;
                register = (register << 1) ^ (carry * POLYNOMIAL);
                bit += 1;
            }
            tables[table][index] = register;
            table += 1;
        }
        index += 1;
    }
    tables
};

/// CRC-8 of `bytes`: most significant bit first, register starting at 0, not inverted.
///
/// A message followed by its CRC-8 has the CRC-8 zero.
///
/// ```
/// use bief_dsp::dvbs2::crc::crc8;
///
/// assert_eq!(crc8(b"123456789"), 0xBC);
/// ```
pub fn crc8(bytes: &[u8]) -> u8 {
    crc8_continued(0, bytes)
}

/// CRC-8 of a message whose first part has the CRC-8 `crc` and whose next part is `bytes`.
pub fn crc8_continued(crc: u8, bytes: &[u8]) -> u8 {
    let (slices, rest) = bytes.as_chunks::<SLICE>();
    let crc = slices.iter().fold(crc, |crc, slice| {
        let others = slice.iter().zip(TABLES.iter().rev()).skip(1);
        let others = others.fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
        others ^ TABLES[SLICE - 1][usize::from(crc ^ slice[0])]
    });
    rest.iter().fold(crc, |crc, byte| TABLES[0][usize::from(crc ^ byte)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bit by bit.
    fn divide(mut register: u8, bytes: &[u8]) -> u8 {
        for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
            let carry = register >> 7 ^ bit;
            register = (register << 1) ^ (carry * POLYNOMIAL);
        }
        register
    }

    proptest! {
        #[test]
        fn lookups_divide_by_the_polynomial(start: u8, bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(crc8_continued(start, &bytes), divide(start, &bytes));
        }
    }
}
