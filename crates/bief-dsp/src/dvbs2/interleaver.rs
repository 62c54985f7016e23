//! Bit interleaver: which codeword bits make the label of a symbol (EN 302 307-1, clause 5.3.3).

use super::{FrameSize, Modcod, Modulation, Rate, bits};

/// Block interleaver of a MODCOD and frame size.
///
/// A codeword is written column by column and read row by row; a row is the label of a symbol, its first bit
/// in the highest place. QPSK is not interleaved.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Interleaver};
///
/// let interleaver = Interleaver::new("8psk-2/3".parse()?, FrameSize::Short);
/// assert_eq!(interleaver.bit(7, 2), 10_807); // third column, row 7
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleaver {
    /// Where in the codeword the column of each label bit starts.
    starts: [usize; 5],
    /// Bits of a label.
    width: usize,
    /// Codeword bits between the same label bit of neighbouring symbols.
    stride: usize,
}

impl Interleaver {
    /// The interleaver of a MODCOD and frame size.
    pub const fn new(modcod: Modcod, size: FrameSize) -> Interleaver {
        let width = modcod.modulation().bits_per_symbol();
        let rows = size.bits() / width;
        let (starts, stride) = match (modcod.modulation(), modcod.rate()) {
            (Modulation::Qpsk, _) => ([0, 1, 0, 0, 0], 2),
            (Modulation::Psk8, Rate::R3_5) => ([2 * rows, rows, 0, 0, 0], 1),
            _ => ([0, rows, 2 * rows, 3 * rows, 4 * rows], 1),
        };
        Interleaver { starts, width, stride }
    }

    /// Position in the codeword of label bit `bit` (0 is the first, most significant one) of symbol `symbol`.
    ///
    /// # Panics
    /// When `bit` is not below the bits of a label.
    pub const fn bit(&self, symbol: usize, bit: usize) -> usize {
        assert!(bit < self.width);
        self.starts[bit] + self.stride * symbol
    }

    /// The labels of consecutive symbols, the first of which is symbol `first` of the frame.
    ///
    /// # Panics
    /// When `codeword` (packed bits) ends before the bits that are needed.
    pub fn labels(&self, codeword: &[u8], first: usize, labels: &mut [u8]) {
        if self.stride == 2 {
            self.pairs(codeword, first, labels);
            return;
        }
        for (block, labels) in labels.chunks_mut(8).enumerate() {
            let symbol = first + 8 * block;
            labels.fill(0);
            for start in &self.starts[..self.width] {
                let column = bits::read(codeword, start + symbol, labels.len());
                let top = labels.len() - 1;
                for (i, label) in labels.iter_mut().enumerate() {
                    *label = *label << 1 | (column >> (top - i) & 1);
                }
            }
        }
    }

    /// The labels of QPSK: consecutive pairs of bits.
    fn pairs(&self, codeword: &[u8], first: usize, labels: &mut [u8]) {
        for (block, labels) in labels.chunks_mut(4).enumerate() {
            let position = 2 * (first + 4 * block);
            let pairs = bits::read(codeword, position, 2 * labels.len());
            let top = labels.len() - 1;
            for (i, label) in labels.iter_mut().enumerate() {
                *label = pairs >> (2 * (top - i)) & 3;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn labels_hold_the_bits_that_the_table_names(
            number in 1u8..=28,
            normal in any::<bool>(),
            seed in any::<u64>(),
            first in 0usize..3_000,
            count in 0usize..240,
        ) {
            let modcod = Modcod::new(number).unwrap();
            let size = if normal { FrameSize::Normal } else { FrameSize::Short };
            let mut state = seed;
            let codeword: Vec<u8> = (0..size.bits() / 8)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let interleaver = Interleaver::new(modcod, size);
            let mut labels = vec![0xFF; count];
            interleaver.labels(&codeword, first, &mut labels);
            for (i, &label) in labels.iter().enumerate() {
                let naive = (0..modcod.modulation().bits_per_symbol()).fold(0, |label, bit| {
                    let position = interleaver.bit(first + i, bit);
                    label << 1 | (codeword[position / 8] >> (7 - position % 8) & 1)
                });
                prop_assert_eq!(label, naive);
            }
        }
    }

    #[test]
    fn every_codeword_bit_is_sent_once() {
        for modcod in Modcod::all() {
            for size in [FrameSize::Normal, FrameSize::Short] {
                let interleaver = Interleaver::new(modcod, size);
                let width = modcod.modulation().bits_per_symbol();
                let mut sent = vec![false; size.bits()];
                for symbol in 0..size.bits() / width {
                    for bit in 0..width {
                        assert!(!std::mem::replace(&mut sent[interleaver.bit(symbol, bit)], true));
                    }
                }
                assert!(sent.iter().all(|&sent| sent));
            }
        }
    }
}
