//! LDPC encoder (EN 302 307-1, clause 5.3.2).

use super::{Code, GROUP};

/// Computes the parity bits of one code.
///
/// The checks of one layer, which are those whose number has the same remainder modulo q, meet each group of
/// 360 information bits in one piece, rotated: a row of 360 bytes is added per address, and memory is read and
/// written in order.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Rate, ldpc::{Code, Encoder}};
///
/// let code = Code::get(FrameSize::Short, Rate::R8_9).unwrap();
/// let mut encoder = Encoder::new(code);
/// let mut codeword = [0; 16_200 / 8];
/// codeword[0] = 0x80;
/// encoder.encode(&mut codeword);
/// assert_ne!(codeword[14_400 / 8..], [0; 1_800 / 8]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    code: &'static Code,
    /// Sums of the checks, one bit per byte: layer r holds checks r, r + q, r + 2 q, …
    layers: Vec<[u8; GROUP]>,
}

impl Encoder {
    /// An encoder for `code`. Allocates what it needs; encoding allocates nothing.
    pub fn new(code: &'static Code) -> Encoder {
        Encoder { code, layers: vec![[0; GROUP]; code.q] }
    }

    /// The code.
    pub const fn code(&self) -> &'static Code {
        self.code
    }

    /// Writes the parity bits behind the information bits that `codeword` starts with (both packed).
    ///
    /// # Panics
    /// When `codeword` is not nldpc / 8 bytes long.
    pub fn encode(&mut self, codeword: &mut [u8]) {
        assert_eq!(codeword.len(), self.code.nldpc / 8, "bytes of a codeword");
        let (information, parity) = codeword.split_at_mut(self.code.kldpc / 8);
        self.accumulate(information);
        self.integrate();
        self.write(parity);
    }

    /// Adds every information bit to the checks it takes part in.
    fn accumulate(&mut self, information: &[u8]) {
        self.layers.fill([0; GROUP]);
        let q = self.code.q;
        // The group twice in a row, so that every rotation of it is one slice.
        let mut group = [0; 2 * GROUP];
        for (packed, row) in information.chunks_exact(GROUP / 8).zip(self.code.rows) {
            let (once, again) = group.split_at_mut(GROUP);
            for (bits, byte) in once.chunks_exact_mut(8).zip(packed) {
                for (i, bit) in bits.iter_mut().enumerate() {
                    *bit = byte >> (7 - i) & 1;
                }
            }
            again.copy_from_slice(once);
            for &address in *row {
                let (layer, shift) = (usize::from(address) % q, usize::from(address) / q);
                let rotated = &group[GROUP - shift..2 * GROUP - shift];
                for (check, bit) in self.layers[layer].iter_mut().zip(rotated) {
                    *check ^= bit;
                }
            }
        }
    }

    /// Turns sums of checks into parity bits: each is the sum of all checks up to its own.
    fn integrate(&mut self) {
        for r in 1..self.layers.len() {
            let (done, next) = self.layers.split_at_mut(r);
            for (sum, before) in next[0].iter_mut().zip(&done[r - 1]) {
                *sum ^= before;
            }
        }
        // The last layer holds the sum of each column of q checks; what the columns before add up to is missing.
        let mut carry = self.layers[self.layers.len() - 1];
        let mut sum = 0;
        for column in &mut carry {
            let own = *column;
            *column = sum;
            sum ^= own;
        }
        for layer in &mut self.layers {
            for (bit, carry) in layer.iter_mut().zip(&carry) {
                *bit ^= carry;
            }
        }
    }

    /// Packs the parity bits column by column: check r + q m is bit m of layer r.
    fn write(&self, parity: &mut [u8]) {
        let mut bits = (0..GROUP).flat_map(|m| self.layers.iter().map(move |layer| layer[m]));
        for byte in parity {
            *byte = bits.by_ref().take(8).fold(0, |byte, bit| byte << 1 | bit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CODES, S2X_CODES};
    use super::*;

    /// The rule of the standard, bit by bit.
    fn naive(code: &Code, information: &[u8]) -> Vec<u8> {
        let mut parity = vec![0; code.parity()];
        for bit in 0..code.kldpc {
            if information[bit / 8] >> (7 - bit % 8) & 1 == 1 {
                for &address in code.rows[bit / GROUP] {
                    let check = usize::from(address) + bit % GROUP * code.q;
                    parity[check % code.parity()] ^= 1;
                }
            }
        }
        for j in 1..parity.len() {
            parity[j] ^= parity[j - 1];
        }
        parity.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
    }

    #[test]
    fn every_code_follows_the_rule() {
        let mut state = 1u32;
        for (_, code) in CODES.iter().chain(&*S2X_CODES) {
            let mut encoder = Encoder::new(code);
            for _ in 0..2 {
                let mut codeword: Vec<u8> = (0..code.nldpc / 8)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> 24) as u8
                    })
                    .collect();
                let information = codeword[..code.kldpc / 8].to_vec();
                encoder.encode(&mut codeword);
                assert_eq!(codeword[..information.len()], information);
                assert_eq!(codeword[information.len()..], naive(code, &information));
            }
        }
    }
}
