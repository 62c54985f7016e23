//! Sum-product decoder in floating point: slow, and as good as decoding by messages gets. A reference for faster decoders.
//!
//! A check tells a bit
//!
//! sign · φ(Σ φ(|x|)), φ(x) = -ln tanh(x / 2), over what its other bits know without it,
//!
//! which is exact. Sums over all bits but one come from sums of those before and of those behind, as a difference of sums would
//! lose what is small.
//!
//! Bits and checks lie as in the [`Decoder`](super::Decoder): layer r holds the checks r + q m, and meets every group of 360 bits
//! as one row, rotated. Layers follow one another: each works on what the bits know after the one before, which takes half the
//! iterations of checks that all work on what the bits knew before the iteration. The checks of one layer work at once; where a
//! bit takes part in several of them, the changes of their messages are added.

use super::{Code, Decoded, GROUP};
use crate::simd::{Level, dispatch};

/// A value for each lane of a layer, or for each bit of a group.
type Row = [f32; GROUP];

/// Largest magnitude that a bit tells a check.
const MAX_LLR: f32 = 60.0;

/// A group of bits that takes part in a layer of checks: bit i of it in check (i + `turn`) mod 360.
#[derive(Clone, Copy, Debug)]
struct Edge {
    group: usize,
    turn: usize,
}

/// Sum-product decoder of one code, in single precision, layer by layer.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Rate, ldpc::{Code, SumProduct}};
///
/// let code = Code::get(FrameSize::Short, Rate::R8_9).unwrap();
/// let mut decoder = SumProduct::new(code, 50);
/// let mut llr = vec![5.0; code.nldpc]; // all bits 0
/// llr[17] = -2.0;
/// let mut information = vec![0xFF; code.kldpc / 8];
/// let decoded = decoder.decode(&llr, &mut information);
/// assert!(decoded.converged && decoded.iterations == 1);
/// assert!(information.iter().all(|byte| *byte == 0));
/// ```
#[derive(Clone, Debug)]
pub struct SumProduct {
    code: &'static Code,
    max_iterations: u32,
    level: Level,
    /// The edges of each layer. In layer 0 the last one has no bit in lane 0.
    layers: Vec<Vec<Edge>>,
    /// What is known of each group; the parity groups, of which group r holds the bits r + q m, behind the information.
    posteriors: Vec<Row>,
    /// What the checks told last, for each edge of each layer.
    messages: Vec<Vec<Row>>,
    work: Work,
}

/// What one layer needs while it works, for each of its edges.
#[derive(Clone, Debug)]
struct Work {
    /// Sign bits of what the bits know.
    signs: Vec<[u32; GROUP]>,
    /// φ of its magnitude.
    phis: Vec<Row>,
    /// Sums of φ over the edges before.
    before: Vec<Row>,
}

impl SumProduct {
    /// A decoder of `code` that gives up after `max_iterations`. Allocates what it needs; decoding allocates nothing.
    pub fn new(code: &'static Code, max_iterations: u32) -> SumProduct {
        let information = code.rows.len();
        let mut layers = vec![Vec::new(); code.q];
        for (group, row) in code.rows.iter().enumerate() {
            for &address in *row {
                let address = usize::from(address);
                layers[address % code.q].push(Edge { group, turn: address / code.q });
            }
        }
        for (r, layer) in layers.iter_mut().enumerate() {
            layer.push(Edge { group: information + r, turn: 0 });
            layer.push(match r {
                0 => Edge { group: information + code.q - 1, turn: 1 },
                r => Edge { group: information + r - 1, turn: 0 },
            });
        }
        let degree = layers.iter().map(Vec::len).max().unwrap_or(0);
        SumProduct {
            code,
            max_iterations,
            level: Level::best(),
            messages: layers.iter().map(|layer| vec![[0.0; GROUP]; layer.len()]).collect(),
            layers,
            posteriors: vec![[0.0; GROUP]; code.nldpc / GROUP],
            work: Work {
                signs: vec![[0; GROUP]; degree],
                phis: vec![[0.0; GROUP]; degree],
                before: vec![[0.0; GROUP]; degree],
            },
        }
    }

    /// Decodes a frame: one LLR for each bit of the codeword, positive for 0, and the packed information bits. It stops at a
    /// codeword.
    ///
    /// # Panics
    /// When `llr` is not nldpc long, or `information` not kldpc / 8.
    pub fn decode(&mut self, llr: &[f32], information: &mut [u8]) -> Decoded {
        assert_eq!(llr.len(), self.code.nldpc, "number of LLRs");
        assert_eq!(information.len(), self.code.kldpc / 8, "bytes of information");
        self.load(llr);
        let mut iterations = 0;
        let mut converged = self.is_codeword();
        while !converged && iterations < self.max_iterations {
            self.iterate();
            iterations += 1;
            converged = self.is_codeword();
        }
        let bits = self.posteriors.as_flattened();
        for (byte, bits) in information.iter_mut().zip(bits.chunks_exact(8)) {
            *byte = bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit < 0.0));
        }
        Decoded { iterations, converged }
    }

    fn load(&mut self, llr: &[f32]) {
        let (information, parity) = llr.split_at(self.code.kldpc);
        let (groups, columns) = self.posteriors.split_at_mut(self.code.rows.len());
        groups.as_flattened_mut().copy_from_slice(information);
        for (m, bits) in parity.chunks_exact(self.code.q).enumerate() {
            for (group, bit) in columns.iter_mut().zip(bits) {
                group[m] = *bit;
            }
        }
        for message in self.messages.iter_mut().flatten() {
            message.fill(0.0);
        }
    }

    /// Whether the signs of the posteriors satisfy all checks.
    fn is_codeword(&self) -> bool {
        self.layers.iter().enumerate().all(|(r, layer)| {
            let mut sums = [false; GROUP];
            for (index, edge) in layer.iter().enumerate() {
                let bits = &self.posteriors[edge.group];
                let absent = usize::from(r == 0 && index + 1 == layer.len());
                for (lane, sum) in sums.iter_mut().enumerate().skip(absent) {
                    *sum ^= bits[(lane + GROUP - edge.turn) % GROUP] < 0.0;
                }
            }
            !sums.contains(&true)
        })
    }

    fn iterate(&mut self) {
        let level = self.level;
        for (r, (edges, messages)) in self.layers.iter().zip(&mut self.messages).enumerate() {
            let (posteriors, work) = (&mut self.posteriors, &mut self.work);
            dispatch!(level => layer(edges, r == 0, posteriors, messages, work));
        }
    }
}

/// One layer of checks: from what the bits know, and from what the checks told them before, to what they tell them now, and to
/// what the bits know then.
#[inline(always)]
fn layer(edges: &[Edge], first: bool, posteriors: &mut [Row], messages: &mut [Row], work: &mut Work) {
    let mut sign = [0_u32; GROUP];
    let mut sum = [0.0_f32; GROUP];
    let mut known = [0.0_f32; GROUP];
    for (index, edge) in edges.iter().enumerate() {
        let absent = first && index + 1 == edges.len();
        let bits = &posteriors[edge.group];
        known[..edge.turn].copy_from_slice(&bits[GROUP - edge.turn..]);
        known[edge.turn..].copy_from_slice(&bits[..GROUP - edge.turn]);
        let told = &messages[index];
        for lane in 0..GROUP {
            known[lane] -= told[lane];
        }
        if absent {
            known[0] = MAX_LLR;
        }
        let (signs, phis, before) = (&mut work.signs[index], &mut work.phis[index], &mut work.before[index]);
        for lane in 0..GROUP {
            signs[lane] = known[lane].to_bits() & (1 << 31);
            sign[lane] ^= signs[lane];
            phis[lane] = phi(known[lane].abs().min(MAX_LLR));
            before[lane] = sum[lane];
            sum[lane] += phis[lane];
        }
    }
    let mut behind = [0.0_f32; GROUP];
    for (index, edge) in edges.iter().enumerate().rev() {
        let absent = first && index + 1 == edges.len();
        let (signs, phis, before) = (&work.signs[index], &work.phis[index], &work.before[index]);
        let told = &mut messages[index];
        let mut change = [0.0_f32; GROUP];
        for lane in 0..GROUP {
            let magnitude = phi(before[lane] + behind[lane]);
            let tell = f32::from_bits(magnitude.to_bits() | (sign[lane] ^ signs[lane]));
            behind[lane] += phis[lane];
            change[lane] = tell - told[lane];
            told[lane] = tell;
        }
        if absent {
            (change[0], told[0]) = (0.0, 0.0);
        }
        let bits = &mut posteriors[edge.group];
        let (end, start) = change.split_at(edge.turn);
        for i in 0..start.len() {
            bits[i] += start[i];
        }
        for i in 0..end.len() {
            bits[start.len() + i] += end[i];
        }
    }
}

/// -ln tanh(x / 2) for 0 ≤ x, at most 69 (where x is 1e-30 or less); accurate to some 1e-6 of its value. It is its own inverse.
#[inline(always)]
fn phi(x: f32) -> f32 {
    let x = if x > 1e-30 { x } else { 1e-30 };
    let x = if x < 80.0 { x } else { 80.0 };
    let t = exp_minus(x);
    let square = x * x;
    let near_zero = 0.5 * x * (1.0 - square * (1.0 / 12.0 - square * (1.0 / 120.0)));
    let tanh = if x < 0.2 { near_zero } else { (1.0 - t) / (1.0 + t) };
    let t2 = t * t;
    let tail = 2.0 * t * (1.0 + t2 * (1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (1.0 / 7.0))));
    if x > 2.0 { tail } else { -ln(tanh) }
}

/// exp(-x) for x from 0 to 80.
#[inline(always)]
fn exp_minus(x: f32) -> f32 {
    /// 1.5 · 2²³: a small number that is added to it is rounded, and stands in the lowest bits.
    const ROUNDER: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x * -std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = -x - n * LN2_HIGH - n * LN2_LOW;
    let r3 = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0))));
    let fraction = 1.0 + r * (1.0 + r * (0.5 + r * r3));
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127) << 23;
    fraction * f32::from_bits(exponent)
}

/// The natural logarithm of a normal positive number.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // The mantissa between √½ and √2.
    const SQRT_HALF: u32 = 0x3F35_04F3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32 >> 23) as f32;
    let mantissa = f32::from_bits((shifted & 0x007F_FFFF) + SQRT_HALF);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let series = 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0)))));
    exponent * std::f32::consts::LN_2 + series
}

#[cfg(test)]
mod tests {
    use super::super::{CODES, Encoder};
    use super::*;
    use crate::dvbs2::bch::{Bch, Outcome};
    use crate::dvbs2::random::Random;
    use crate::dvbs2::{FrameSize, Rate};

    /// Exact LLRs of packed bits sent in QPSK.
    fn llrs(random: &mut Random, bits: &[u8], esn0_db: f64) -> Vec<f32> {
        let n0 = 10f64.powf(-esn0_db / 10.0);
        let sent = bits.iter().flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1));
        let amplitude = 0.5f64.sqrt();
        sent.map(|bit| {
            let received = if bit == 0 { amplitude } else { -amplitude } + (n0 / 2.0).sqrt() * random.gaussian();
            (8f64.sqrt() * received / n0) as f32
        })
        .collect()
    }

    fn random_codeword(code: &'static Code, random: &mut Random) -> Vec<u8> {
        let mut codeword = random.bytes(code.nldpc / 8);
        Encoder::new(code).encode(&mut codeword);
        codeword
    }

    #[test]
    fn phi_is_what_it_says() {
        let mut x = 1e-12_f32;
        while x < 70.0 {
            let exact = -(f64::from(x) / 2.0).tanh().ln();
            // For large x the logarithm loses what it is about.
            let exact = if x > 10.0 { 2.0 * (-f64::from(x)).exp() } else { exact };
            let error = (f64::from(phi(x)) - exact).abs() / exact;
            assert!(error < 4e-6, "{x}: {} for {exact}", phi(x));
            x *= 1.003;
        }
        assert!(phi(0.0) > 65.0 && phi(f32::INFINITY) >= 0.0 && phi(f32::INFINITY) < 1e-30);
    }

    /// Sum-product by its definition, in double precision: bit by bit and check by check, the checks of a layer at once.
    fn naive(code: &Code, llr: &[f32], iterations: usize) -> Vec<f64> {
        let mut checks = vec![Vec::new(); code.parity()];
        for bit in 0..code.kldpc {
            for &address in code.rows[bit / GROUP] {
                checks[(usize::from(address) + bit % GROUP * code.q) % code.parity()].push(bit);
            }
        }
        for (j, check) in checks.iter_mut().enumerate() {
            check.push(code.kldpc + j);
            if j > 0 {
                check.push(code.kldpc + j - 1);
            }
        }
        let mut messages: Vec<Vec<f64>> = checks.iter().map(|check| vec![0.0; check.len()]).collect();
        let mut posteriors: Vec<f64> = llr.iter().map(|x| f64::from(*x)).collect();
        for layer in (0..iterations).flat_map(|_| 0..code.q) {
            let before = posteriors.clone();
            for (check, messages) in checks.iter().zip(&mut messages).skip(layer).step_by(code.q) {
                let known = check.iter().zip(&*messages).map(|(bit, told)| (0.5 * (before[*bit] - told)).tanh());
                let known: Vec<f64> = known.collect();
                for (i, bit) in check.iter().enumerate() {
                    let others = known.iter().enumerate().filter(|(k, _)| *k != i);
                    let message = 2.0 * others.map(|(_, tanh)| tanh).product::<f64>().atanh();
                    posteriors[*bit] += message - messages[i];
                    messages[i] = message;
                }
            }
        }
        posteriors
    }

    #[test]
    fn a_few_iterations_equal_the_definition() {
        let mut random = Random::new(1);
        for (size, rate, esn0_db) in [
            (FrameSize::Short, Rate::R1_4, -3.0),
            (FrameSize::Short, Rate::R5_6, 4.0),
            (FrameSize::Normal, Rate::R9_10, 5.0),
        ] {
            let code = Code::get(size, rate).unwrap();
            let llr = llrs(&mut random, &random_codeword(code, &mut Random::new(2)), esn0_db);
            for iterations in [1, 3] {
                let mut decoder = SumProduct::new(code, iterations);
                let decoded = decoder.decode(&llr, &mut vec![0; code.kldpc / 8]);
                assert_eq!(decoded, Decoded { iterations, converged: false });
                let expected = naive(code, &llr, iterations as usize);
                let position = |bit: usize| match bit.checked_sub(code.kldpc) {
                    None => bit,
                    Some(j) => code.kldpc + j % code.q * GROUP + j / code.q,
                };
                for (bit, expected) in expected.iter().enumerate() {
                    let posterior = f64::from(decoder.posteriors.as_flattened()[position(bit)]);
                    assert!(
                        (posterior - expected).abs() < 2e-3,
                        "{size} {rate}, bit {bit}: {posterior}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_level_decodes_the_same_frames() {
        let code = Code::get(FrameSize::Short, Rate::R2_3).unwrap();
        let llr = llrs(&mut Random::new(3), &random_codeword(code, &mut Random::new(4)), 3.1);
        let outcomes = Level::all().into_iter().map(|level| {
            let mut decoder = SumProduct { level, ..SumProduct::new(code, 50) };
            let mut information = vec![0; code.kldpc / 8];
            (decoder.decode(&llr, &mut information), information)
        });
        let outcomes: Vec<_> = outcomes.collect();
        assert!(outcomes[0].0.converged && outcomes[0].0.iterations > 5, "{:?}", outcomes[0].0);
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    }

    #[test]
    fn all_codes_are_decoded_well_above_their_thresholds_and_frames_leave_no_trace() {
        let thresholds = [-2.35, -1.24, -0.30, 1.00, 2.23, 3.10, 4.03, 4.68, 5.18, 6.20, 6.42];
        for ((_, rate), code) in CODES {
            let threshold = thresholds[Rate::ALL.iter().position(|r| r == rate).unwrap()];
            let codeword = random_codeword(code, &mut Random::new(5));
            let mut decoder = SumProduct::new(code, 50);
            let mut information = vec![0; code.kldpc / 8];
            decoder.decode(&llrs(&mut Random::new(6), &codeword, threshold - 5.0), &mut information);
            let decoded = decoder.decode(&llrs(&mut Random::new(7), &codeword, threshold + 0.5), &mut information);
            assert!(decoded.converged && information == codeword[..information.len()], "{rate}: {decoded:?}");
        }
    }

    /// Frames of `frames` that are wrong after both codes, and the mean iterations of the inner one.
    fn wrong_frames(size: FrameSize, rate: Rate, esn0_db: f64, frames: u32) -> (u32, f64) {
        let code = Code::get(size, rate).unwrap();
        let bch = Bch::new(size, rate).unwrap();
        let (mut encoder, mut decoder) = (Encoder::new(code), SumProduct::new(code, 50));
        let mut random = Random::new(8);
        let mut information = vec![0; code.kldpc / 8];
        let (mut wrong, mut iterations) = (0, 0);
        for _ in 0..frames {
            let mut codeword = random.bytes(code.nldpc / 8);
            let (message, parity) = codeword.split_at_mut(bch.message_bytes());
            bch.encode(message, &mut parity[..bch.codeword_bytes() - bch.message_bytes()]);
            encoder.encode(&mut codeword);
            iterations += decoder.decode(&llrs(&mut random, &codeword, esn0_db), &mut information).iterations;
            let sound = bch.decode(&mut information) != Outcome::Uncorrectable;
            wrong += u32::from(!sound || information != codeword[..information.len()]);
        }
        (wrong, f64::from(iterations) / f64::from(frames))
    }

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn the_published_frame_error_rate_is_reached() {
        // Published: 5.4e-2 at 6.15 dB. Of 400 frames that is 21.6 with a deviation of 4.5.
        let (wrong, iterations) = wrong_frames(FrameSize::Short, Rate::R8_9, 6.15, 400);
        assert!((8..=36).contains(&wrong), "{wrong} of 400, {iterations} iterations");
    }
}
