//! The CRC-8 of user packets and of the BBHEADER (EN 302 307-1, clause 5.1.4).

/// x⁸ + x⁷ + x⁶ + x⁴ + x² + 1 without its highest term.
const POLYNOMIAL: u8 = 0xD5;

/// What a register that holds the index becomes after eight more bits.
const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut register = index as u8;
        let mut bit = 0;
        while bit < 8 {
            let carry = register >> 7;
            register = (register << 1) ^ (carry * POLYNOMIAL);
            bit += 1;
        }
        table[index] = register;
        index += 1;
    }
    table
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
    bytes.iter().fold(crc, |crc, byte| TABLE[usize::from(crc ^ byte)])
}
