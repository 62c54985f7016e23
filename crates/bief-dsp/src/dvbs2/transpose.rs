//! Small matrices turned over.

/// Transposes eight rows of eight bytes, of which the first is the lowest of a row.
#[inline(always)]
pub(super) fn transpose(rows: &mut [u64; 8]) {
    exchange::<1>(rows, 0x00FF_00FF_00FF_00FF);
    exchange::<2>(rows, 0x0000_FFFF_0000_FFFF);
    exchange::<4>(rows, 0x0000_0000_FFFF_FFFF);
}

/// Transposes the 2 × 2 blocks of `SIDE` × `SIDE` bytes; `mask` selects the even columns of blocks.
#[inline(always)]
fn exchange<const SIDE: usize>(rows: &mut [u64; 8], mask: u64) {
    for i in 0..8 {
        if i & SIDE == 0 {
            let swap = (rows[i] >> (8 * SIDE) ^ rows[i + SIDE]) & mask;
            rows[i] ^= swap << (8 * SIDE);
            rows[i + SIDE] ^= swap;
        }
    }
}
