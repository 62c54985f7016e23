//! Bit interleaver: which codeword bits make the label of a symbol (EN 302 307-1, clause 5.3.3).

use super::{FrameSize, Modcod, Modulation, Rate, bits, s2x};

/// Block interleaver of a MODCOD and frame size.
///
/// A codeword is written column by column and read row by row; a row is the label of a symbol, its first bit
/// in the highest place. QPSK is not interleaved. Where the bits do not fill the last rows (128APSK), zeros follow them, and
/// labels of ones the last row, up to a whole slot.
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
    starts: [usize; 8],
    /// Bits of a label.
    width: usize,
    /// Bits of a codeword.
    bits: usize,
    /// Codeword bits between the same label bit of neighbouring symbols.
    stride: usize,
}

impl Interleaver {
    /// The interleaver of a MODCOD and frame size.
    pub const fn new(modcod: Modcod, size: FrameSize) -> Interleaver {
        let width = modcod.modulation().bits_per_symbol();
        let rows = size.bits().div_ceil(width);
        let mut starts = [0, rows, 2 * rows, 3 * rows, 4 * rows, 0, 0, 0];
        let mut stride = 1;
        match (modcod.modulation(), modcod.rate(size), s2x::frame_of(modcod, size)) {
            (Modulation::Qpsk, ..) => (starts, stride) = ([0, 1, 0, 0, 0, 0, 0, 0], 2),
            (.., Some(frame)) => {
                let mut bit = 0;
                while bit < width {
                    starts[bit] = frame.columns[bit] * rows;
                    bit += 1;
                }
            }
            (Modulation::Psk8, Rate::R3_5, None) => (starts[0], starts[1], starts[2]) = (2 * rows, rows, 0),
            _ => {}
        }
        Interleaver { starts, width, bits: size.bits(), stride }
    }

    /// Label bits of a symbol.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Symbols that carry bits of the codeword.
    pub(super) const fn rows(&self) -> usize {
        self.bits.div_ceil(self.width)
    }

    /// Codeword bits between the same label bit of neighbouring symbols.
    pub(super) const fn stride(&self) -> usize {
        self.stride
    }

    /// Position in the codeword of label bit `bit` (0 is the first, most significant one) of symbol `symbol`. From nldpc on it is
    /// one of the zeros behind the codeword.
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
            if self.width * self.rows() > self.bits && symbol + labels.len() + 8 > self.rows() {
                self.last(codeword, symbol, labels);
                continue;
            }
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

    /// Labels where the codeword ends.
    fn last(&self, codeword: &[u8], first: usize, labels: &mut [u8]) {
        let read = |position: usize| if position < self.bits { bits::read(codeword, position, 1) } else { 0 };
        for (symbol, label) in (first..).zip(labels) {
            let bit = |bit: usize| if symbol < self.rows() { read(self.bit(symbol, bit)) } else { 1 };
            *label = (0..self.width).fold(0, |label, index| label << 1 | bit(index));
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
    use crate::dvbs2::Pls;

    proptest! {
        #[test]
        fn labels_hold_the_bits_that_the_table_names(
            pls in prop::sample::select(Pls::all().filter(|pls| pls.fec().is_some()).collect::<Vec<_>>()),
            seed in any::<u64>(),
            first in 0usize..3_000,
            count in 0usize..240,
        ) {
            let (modcod, size) = (pls.modcod().unwrap(), pls.frame_size());
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
                    // Zeros follow the codeword, and ones the last row.
                    let behind = if first + i < interleaver.rows() { 0 } else { 1 };
                    let inside = behind == 0 && position < size.bits();
                    label << 1 | if inside { codeword[position / 8] >> (7 - position % 8) & 1 } else { behind }
                });
                prop_assert_eq!(label, naive);
            }
        }
    }

    #[test]
    fn every_codeword_bit_is_sent_once() {
        for modcod in Modcod::all() {
            for size in [FrameSize::Normal, FrameSize::Short] {
                if Pls::from_parts(modcod, size, false).is_none() {
                    continue;
                }
                let interleaver = Interleaver::new(modcod, size);
                let width = modcod.modulation().bits_per_symbol();
                let mut sent = vec![false; size.bits()];
                for symbol in 0..size.bits().div_ceil(width) {
                    for position in (0..width).map(|bit| interleaver.bit(symbol, bit)).filter(|at| *at < size.bits()) {
                        assert!(!std::mem::replace(&mut sent[position], true));
                    }
                }
                assert!(sent.iter().all(|&sent| sent));
            }
        }
    }
}
