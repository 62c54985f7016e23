//! Deterministic random numbers for the tests and benches of the codes.

use std::collections::BTreeSet;

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    /// Different seeds give unrelated sequences.
    pub(super) fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 20) as usize % n
    }

    pub(super) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 32) as u8).collect()
    }

    /// `count` different numbers below `n`.
    pub(super) fn distinct(&mut self, count: usize, n: usize) -> BTreeSet<usize> {
        let mut numbers = BTreeSet::new();
        while numbers.len() < count {
            numbers.insert(self.below(n));
        }
        numbers
    }

    /// Uniform in 0..1, without either end.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal, mean 0, variance 1.
    pub(super) fn gaussian(&mut self) -> f64 {
        self.gaussian_pair().0
    }

    /// Two independent normal numbers, mean 0, variance 1 (Box–Muller).
    pub(super) fn gaussian_pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }

    /// LLRs, 4 counts per unit, of packed bits sent in QPSK over a channel of that Es/N0 (dB).
    pub(super) fn qpsk_llr(&mut self, bits: &[u8], esn0_db: f64) -> Vec<i8> {
        let n0 = 10f64.powf(-esn0_db / 10.0);
        let amplitude = 0.5f64.sqrt();
        bits.iter()
            .flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1))
            .map(|bit| {
                let sent = if bit == 0 { amplitude } else { -amplitude };
                let received = sent + (n0 / 2.0).sqrt() * self.gaussian();
                (4.0 * 8f64.sqrt() * received / n0).round().clamp(-127.0, 127.0) as i8
            })
            .collect()
    }
}
