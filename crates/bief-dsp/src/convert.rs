//! Numbers as they are recorded become floats of full scale 1, little-endian.

use crate::simd::{Level, dispatch};

/// Two bytes each, signed, full scale 32768.
///
/// Converts as many as both slices have; so do the others.
///
/// ```
/// let mut floats = [0.0; 2];
/// bief_dsp::convert::from_i16(&[0x00, 0x40, 0xFF, 0xFF], &mut floats);
/// assert_eq!(floats, [0.5, -1.0 / 32768.0]);
/// ```
pub fn from_i16(bytes: &[u8], floats: &mut [f32]) {
    let level = Level::best();
    dispatch!(level => i16_kernel(bytes, floats));
}

/// One byte each, signed, full scale 128.
pub fn from_i8(bytes: &[u8], floats: &mut [f32]) {
    let level = Level::best();
    dispatch!(level => i8_kernel(bytes, floats));
}

/// One byte each, around 127.5, full scale 127.5.
pub fn from_u8(bytes: &[u8], floats: &mut [f32]) {
    let level = Level::best();
    dispatch!(level => u8_kernel(bytes, floats));
}

/// Floats from here on are damage: nothing that samples counts as far, not even in 32 bits.
pub(crate) const TOO_LARGE: f32 = 1e12;

/// Four bytes each, floats; one that is not finite, or of 10¹² and more, becomes 0.
pub fn from_f32(bytes: &[u8], floats: &mut [f32]) {
    let level = Level::best();
    dispatch!(level => f32_kernel(bytes, floats));
}

#[inline(always)]
fn i16_kernel(bytes: &[u8], floats: &mut [f32]) {
    for (float, bytes) in floats.iter_mut().zip(bytes.as_chunks().0) {
        *float = f32::from(i16::from_le_bytes(*bytes)) * (1.0 / 32768.0);
    }
}

#[inline(always)]
fn i8_kernel(bytes: &[u8], floats: &mut [f32]) {
    for (float, byte) in floats.iter_mut().zip(bytes) {
        *float = f32::from(byte.cast_signed()) * (1.0 / 128.0);
    }
}

#[inline(always)]
fn u8_kernel(bytes: &[u8], floats: &mut [f32]) {
    for (float, byte) in floats.iter_mut().zip(bytes) {
        *float = (f32::from(*byte) - 127.5) * (1.0 / 127.5);
    }
}

#[inline(always)]
fn f32_kernel(bytes: &[u8], floats: &mut [f32]) {
    for (float, bytes) in floats.iter_mut().zip(bytes.as_chunks().0) {
        let value = f32::from_le_bytes(*bytes);
        // Of what is no number, this is false too.
        *float = if value.abs() < TOO_LARGE { value } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_converts_the_same() {
        let mut bytes = [0; 1003];
        fastrand::Rng::with_seed(1).fill(&mut bytes);
        bytes[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
        bytes[8..12].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
        bytes[12..16].copy_from_slice(&(-1e18_f32).to_le_bytes());
        bytes[16..20].copy_from_slice(&9.9e11_f32.to_le_bytes());
        let pairs = bytes.as_chunks().0.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / 32768.0);
        let fours = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four));
        let fours = fours.map(|four| if four.is_finite() && four.abs() < 1e12 { four } else { 0.0 });
        let signed = bytes.iter().map(|byte| f32::from(byte.cast_signed()) / 128.0);
        let unsigned = bytes.iter().map(|byte| (f32::from(*byte) - 127.5) * (1.0 / 127.5));
        let exact: [Vec<f32>; 4] = [pairs.collect(), fours.collect(), signed.collect(), unsigned.collect()];
        for level in Level::all() {
            let mut found = exact.clone().map(|exact| vec![7.0; exact.len()]);
            let [pairs, fours, signed, unsigned] = &mut found;
            dispatch!(level => i16_kernel(&bytes, pairs));
            dispatch!(level => f32_kernel(&bytes, fours));
            dispatch!(level => i8_kernel(&bytes, signed));
            dispatch!(level => u8_kernel(&bytes, unsigned));
            assert!(found == exact, "{level}");
        }
    }
}
