//! Runs of bits at any position of packed bytes, most significant bit first.

/// The `count` (at most 8) bits at bit `position`, right-aligned.
#[inline(always)]
pub(super) fn read(bytes: &[u8], position: usize, count: usize) -> u8 {
    let (byte, shift) = (position / 8, position % 8);
    let second = if shift + count > 8 { bytes[byte + 1] } else { 0 };
    let pair = u16::from_be_bytes([bytes[byte], second]) << shift;
    (u32::from(pair) >> (16 - count)) as u8
}

/// Copies `count` bits from bit `from` of `source` to bit `to` of `target`; the bits around them stay.
pub(super) fn copy(source: &[u8], from: usize, target: &mut [u8], to: usize, count: usize) {
    // Bits that complete the first byte of the target.
    let head = count.min((8 - to % 8) % 8);
    if head > 0 {
        write(target, to, read(source, from, head), head);
    }
    let (from, to, count) = (from + head, to + head, count - head);

    let bytes = &mut target[to / 8..to / 8 + count / 8];
    if from.is_multiple_of(8) {
        bytes.copy_from_slice(&source[from / 8..from / 8 + count / 8]);
    } else {
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = read(source, from + 8 * i, 8);
        }
    }

    let tail = count % 8;
    if tail > 0 {
        let done = count - tail;
        write(target, to + done, read(source, from + done, tail), tail);
    }
}

/// Puts `count` bits, which must not cross the end of a byte, at bit `position`.
fn write(bytes: &mut [u8], position: usize, bits: u8, count: usize) {
    let shift = 8 - position % 8 - count;
    let mask = (0xFFu8 >> (8 - count)) << shift;
    let byte = &mut bytes[position / 8];
    *byte = *byte & !mask | bits << shift;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bit(bytes: &[u8], position: usize) -> u8 {
        bytes[position / 8] >> (7 - position % 8) & 1
    }

    proptest! {
        #[test]
        fn copies_are_exact_and_touch_nothing_else(
            source in prop::collection::vec(any::<u8>(), 16),
            target in prop::collection::vec(any::<u8>(), 16),
            from in 0usize..128,
            to in 0usize..128,
            count in 0usize..128,
        ) {
            let count = count.min(128 - from).min(128 - to);
            let mut copied = target.clone();
            copy(&source, from, &mut copied, to, count);
            for i in 0..128 {
                let expected = if (to..to + count).contains(&i) {
                    bit(&source, from + i - to)
                } else {
                    bit(&target, i)
                };
                prop_assert_eq!(bit(&copied, i), expected, "bit {}", i);
            }
        }
    }
}
