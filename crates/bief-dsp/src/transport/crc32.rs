//! The CRC-32 of sections, and of what carries IP packets (MPE, ULE, GSE).

/// x³² + x²⁶ + x²³ + x²² + x¹⁶ + x¹² + x¹¹ + x¹⁰ + x⁸ + x⁷ + x⁵ + x⁴ + x² + x + 1 without its highest term.
const POLYNOMIAL: u32 = 0x04C1_1DB7;
/// The register before the first byte.
const START: u32 = u32::MAX;
/// Bytes that are taken together: their lookups do not wait for each other.
const SLICE: usize = 8;

/// In table n, what a register becomes whose first byte is the index, the others 0, after n more bytes and its own.
static TABLES: [[u32; 256]; SLICE] = {
    let mut tables = [[0; 256]; SLICE];
    let mut index = 0;
    while index < 256 {
        let mut register = (index as u32) << 24;
        let mut table = 0;
        while table < SLICE {
            let mut bit = 0;
            while bit < 8 {
                let carry = register >> 31;
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

/// CRC-32 of `bytes`: most significant bit first, register starting with ones, not inverted.
///
/// A message followed by its CRC-32 has the CRC-32 zero.
///
/// ```
/// use bief_dsp::transport::crc32;
/// assert_eq!(crc32(b"123456789"), 0x0376_E6E7);
/// ```
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32_continued(START, bytes)
}

/// CRC-32 of a message whose first part has the CRC-32 `crc` and whose next part is `bytes`.
pub fn crc32_continued(crc: u32, bytes: &[u8]) -> u32 {
    let (slices, rest) = bytes.as_chunks::<SLICE>();
    let crc = slices.iter().fold(crc, |crc, slice| {
        let mut bytes = *slice;
        bytes.iter_mut().zip(crc.to_be_bytes()).for_each(|(byte, register)| *byte ^= register);
        bytes.iter().zip(TABLES.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    });
    rest.iter().fold(crc, |crc, byte| crc << 8 ^ TABLES[0][usize::from((crc >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bit by bit.
    fn divide(mut register: u32, bytes: &[u8]) -> u32 {
        for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1))) {
            let carry = register >> 31 ^ bit;
            register = (register << 1) ^ (carry * POLYNOMIAL);
        }
        register
    }

    proptest! {
        #[test]
        fn lookups_divide_by_the_polynomial(start: u32, bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(crc32_continued(start, &bytes), divide(start, &bytes));
        }
    }
}
