use std::path::Path;

use super::informed::{self, CERTAIN, FEW, most_changes, most_odd};
use super::schedule::order;
use super::*;
use crate::dvbs2::ldpc::{CODES, Encoder};
use crate::dvbs2::random::Random;
use crate::dvbs2::{FrameSize, Rate};

fn code(size: FrameSize, rate: Rate) -> &'static Code {
    Code::get(size, rate).unwrap()
}

fn random_codeword(code: &'static Code, random: &mut Random) -> Vec<u8> {
    let mut codeword = random.bytes(code.nldpc / 8);
    Encoder::new(code).encode(&mut codeword);
    codeword
}

/// Es/N0 (dB) at which the codes are meant to work in QPSK, Table 13.
fn threshold_db(rate: Rate) -> f64 {
    let thresholds = [-2.35, -1.24, -0.30, 1.00, 2.23, 3.10, 4.03, 4.68, 5.18, 6.20, 6.42];
    thresholds[Rate::ALL.iter().position(|r| *r == rate).unwrap()]
}

/// A check and its bits, straight from the address table.
struct Check {
    bits: Vec<usize>,
    /// For each bit: how many of its edges in the same layer come before this one, in the order of the table.
    turns: Vec<usize>,
    messages: Vec<i32>,
}

impl Check {
    /// Puts the bits into the order in which the decoder takes them in: group by group, but for repeats.
    fn sort(&mut self) {
        let mut edges: Vec<_> = self.turns.drain(..).zip(self.bits.drain(..)).collect();
        edges.sort_by_key(|(turn, bit)| (*turn > 0, if *turn > 0 { bit / GROUP } else { 0 }, *turn));
        (self.turns, self.bits) = edges.into_iter().unzip();
    }
}

/// What two magnitudes are together.
fn sum(a: i32, b: i32) -> i32 {
    let correction = match a.abs_diff(b) {
        0..3 => 2,
        3..8 => 1,
        8.. => 0,
    };
    a.min(b) - correction
}

/// Layered A-min*, one check after the other, without any block structure.
struct Naive {
    code: &'static Code,
    checks: Vec<Check>,
    /// Of each bit, those of information bits in the order of the table.
    checks_of: Vec<Vec<usize>>,
    posteriors: Vec<i32>,
}

impl Naive {
    fn new(code: &'static Code, llr: &[i8]) -> Naive {
        let mut checks: Vec<_> =
            (0..code.parity()).map(|_| Check { bits: Vec::new(), turns: Vec::new(), messages: Vec::new() }).collect();
        let mut checks_of = vec![Vec::new(); code.nldpc];
        for (bit, checks_of) in checks_of[..code.kldpc].iter_mut().enumerate() {
            let row = code.rows[bit / GROUP];
            for (i, &x) in row.iter().enumerate() {
                let before = row[..i].iter().filter(|y| usize::from(**y) % code.q == usize::from(x) % code.q);
                let j = (usize::from(x) + bit % GROUP * code.q) % code.parity();
                checks_of.push(j);
                let check = &mut checks[j];
                check.bits.push(bit);
                check.turns.push(before.count());
            }
        }
        for (j, check) in checks.iter_mut().enumerate() {
            for bit in (j.saturating_sub(1)..=j).map(|j| code.kldpc + j) {
                checks_of[bit].push(j);
                check.bits.push(bit);
                check.turns.push(0);
            }
            check.messages = vec![0; check.bits.len()];
            check.sort();
        }
        Naive { code, checks, checks_of, posteriors: llr.iter().map(|x| i32::from(*x)).collect() }
    }

    /// For each check, whether an odd number of its bits is 1.
    fn odd(&self, bits: &[bool]) -> Vec<bool> {
        let is_odd = |check: &Check| check.bits.iter().filter(|bit| bits[**bit]).count() % 2 == 1;
        self.checks.iter().map(is_odd).collect()
    }

    /// Whether the decoder arrives, once it has updated the last checks one by one; `next` is the residue that comes next.
    fn arrives(&mut self, next: usize) -> bool {
        let (q, mut odd) = (self.code.q, self.odd(&self.decisions()));
        let count = |from: usize, step: usize| odd.iter().skip(from).step_by(step).filter(|odd| **odd).count();
        let most = most_odd(self.checks.len());
        // Check 0 does not count at first: the decoder does not look for the bit that it lacks.
        if count(if next == 0 { q } else { next }, q) > 1 + most / q || count(0, 1) > most {
            return false;
        }
        let mut waiting: Vec<usize> = (0..odd.len()).filter(|j| odd[*j]).collect();
        waiting.sort_by_key(|j| (j % q, j / q));
        let (first, mut changes) = (waiting.len(), 0);
        let messages = |naive: &Naive| naive.checks.iter().map(|check| check.messages.clone()).collect::<Vec<_>>();
        let before = (self.posteriors.clone(), messages(self));
        while changes < most_changes(first)
            && let Some(j) = waiting.pop()
        {
            if !odd[j] {
                continue;
            }
            for bit in self.update_alone(j, &mut changes) {
                for &j in &self.checks_of[bit] {
                    odd[j] = !odd[j];
                    if odd[j] {
                        waiting.push(j);
                    }
                }
            }
        }
        let arrives = !odd.contains(&true);
        if !arrives && first > FEW {
            self.posteriors = before.0;
            self.checks.iter_mut().zip(before.1).for_each(|(check, messages)| check.messages = messages);
        }
        arrives
    }

    /// Updates one of the last checks, and counts the messages that change: the bits that turn.
    fn update_alone(&mut self, j: usize, changes: &mut usize) -> Vec<usize> {
        let check = &mut self.checks[j];
        let posteriors = check.bits.iter().map(|bit| self.posteriors[*bit]);
        let known: Vec<Result<i32, i32>> = posteriors
            .zip(&check.messages)
            .map(
                |(posterior, message)| if posterior.abs() < CERTAIN { Ok(posterior - message) } else { Err(posterior) },
            )
            .collect();
        let mut turned = Vec::new();
        for (i, bit) in check.bits.iter().enumerate() {
            let Ok(own) = known[i] else { continue };
            let others = || known[..i].iter().chain(&known[i + 1..]);
            let magnitude = others().filter_map(|x| x.ok()).map(i32::abs).fold(informed::MAX_MESSAGE, i32::min);
            let negative = others().filter(|x| x.unwrap_or_else(|posterior| posterior) < 0).count();
            check.messages[i] = if negative % 2 == 0 { magnitude } else { -magnitude };
            let posterior = (own + check.messages[i]).clamp(-128, 127);
            *changes += 1;
            if (self.posteriors[*bit] < 0) != (posterior < 0) {
                turned.push(*bit);
            }
            self.posteriors[*bit] = posterior;
        }
        turned
    }

    fn decisions(&self) -> Vec<bool> {
        self.posteriors.iter().map(|x| *x < 0).collect()
    }

    /// What the check tells each of its bits, given what they know without it.
    fn messages(&self, extrinsics: &[i32]) -> Vec<i32> {
        let least = extrinsics.iter().map(|x| x.abs()).min().unwrap();
        // All but the first of the least magnitude, in the order in which each turns out not to be the least.
        let mut others = Vec::new();
        let mut least_so_far = 255;
        for x in extrinsics {
            others.push(x.abs().max(least_so_far));
            least_so_far = least_so_far.min(x.abs());
        }
        let without_least = others.into_iter().fold(255, sum);
        let of_all = sum(without_least, least);
        let negative = extrinsics.iter().filter(|x| **x < 0).count();
        let message = |x: &i32| {
            let magnitude = if x.abs() == least { without_least } else { of_all }.clamp(0, i32::from(MAX_MESSAGE));
            let negative_others = negative - usize::from(*x < 0);
            if negative_others % 2 == 0 { magnitude } else { -magnitude }
        };
        extrinsics.iter().map(message).collect()
    }

    fn extrinsics(&self, j: usize) -> Vec<i32> {
        let check = &self.checks[j];
        let known = check.bits.iter().zip(&check.messages);
        known.map(|(bit, message)| (self.posteriors[*bit] - message).clamp(-128, 127)).collect()
    }

    /// One iteration, all checks of a layer computed before any posterior changes.
    fn iterate(&mut self) {
        for r in order(self.code) {
            let layer: Vec<usize> = (r..self.checks.len()).step_by(self.code.q).collect();
            let extrinsics: Vec<_> = layer.iter().map(|j| self.extrinsics(*j)).collect();
            let most = layer.iter().flat_map(|j| self.checks[*j].turns.clone()).max().unwrap();
            for turn in 0..=most {
                for (j, extrinsics) in layer.iter().zip(&extrinsics) {
                    let new = self.messages(extrinsics);
                    let check = &mut self.checks[*j];
                    for i in (0..check.bits.len()).filter(|i| check.turns[*i] == turn) {
                        let posterior = &mut self.posteriors[check.bits[i]];
                        *posterior = match turn {
                            0 => extrinsics[i] + new[i],
                            _ => *posterior + new[i] - check.messages[i],
                        }
                        .clamp(-128, 127);
                        check.messages[i] = new[i];
                    }
                }
            }
        }
    }

    /// The checks of a layer, every one computed from what the one before it left.
    fn update_one_by_one(&mut self, r: usize) {
        for j in (r..self.checks.len()).step_by(self.code.q) {
            let extrinsics = self.extrinsics(j);
            let new = self.messages(&extrinsics);
            for (i, bit) in self.checks[j].bits.iter().enumerate() {
                self.posteriors[*bit] = (extrinsics[i] + new[i]).clamp(-128, 127);
            }
            self.checks[j].messages = new;
        }
    }
}

/// What a decoder has of each bit, by group and place in its ring, in the order of transmission.
fn of_each_bit<T>(decoder: &Decoder, of: impl Fn(usize, usize) -> T) -> Vec<T> {
    let code = decoder.code;
    let shifts = &decoder.schedule.looks[decoder.look].shifts;
    let of = |group: usize, bit: usize| of(group, (bit + usize::from(shifts[group])) % GROUP);
    let information = (0..code.kldpc).map(|bit| of(bit / GROUP, bit % GROUP));
    let parity = (0..code.parity()).map(|j| of(code.rows.len() + j % code.q, j / code.q));
    information.chain(parity).collect()
}

fn posteriors(decoder: &Decoder) -> Vec<i32> {
    of_each_bit(decoder, |group, place| i32::from(decoder.rings[group * RING + place]))
}

/// Its decisions, of parity bits, too.
fn decisions(decoder: &Decoder) -> Vec<bool> {
    of_each_bit(decoder, |group, place| decoder.signs.is_negative(group, place))
}

fn decode(decoder: &mut Decoder, llr: &[i8]) -> (Decoded, Vec<u8>) {
    let mut out = vec![0xA5; decoder.code.kldpc / 8];
    let decoded = decoder.decode(llr, &mut out);
    (decoded, out)
}

#[test]
fn every_code_equals_the_checks_of_the_standard_one_by_one() {
    let mut random = Random::new(1);
    for ((size, rate), code) in CODES {
        let codeword = random_codeword(code, &mut random);
        // Noisy enough that three iterations do not settle it.
        let llr = random.qpsk_llr(&codeword, threshold_db(*rate) - 0.5);
        let mut naive = Naive::new(code, &llr);
        for iterations in 0..=3 {
            let mut decoder = Decoder::new(code, iterations);
            let (decoded, out) = decode(&mut decoder, &llr);
            assert_eq!(decoded, Decoded { iterations, converged: false }, "{size} {rate}");
            assert!(posteriors(&decoder) == naive.posteriors, "{size} {rate}, iteration {iterations}");
            let decision = |bit: usize| out[bit / 8] >> (7 - bit % 8) & 1 == 1;
            assert!((0..code.kldpc).all(|bit| decision(bit) == (naive.posteriors[bit] < 0)));
            naive.iterate();
        }
    }
}

/// A code without two addresses of a row in the same layer, made from one of the standard.
fn without_repeats(code: &Code) -> &'static Code {
    let rows: Vec<&'static [u16]> = code
        .rows
        .iter()
        .map(|row| {
            let mut seen = vec![false; code.q];
            let first = |x: &u16| !std::mem::replace(&mut seen[usize::from(*x) % code.q], true);
            let row: Vec<u16> = row.iter().copied().filter(first).collect();
            &*row.leak()
        })
        .collect();
    Box::leak(Box::new(Code { kldpc: code.kldpc, nldpc: code.nldpc, q: code.q, rows: rows.leak() }))
}

#[test]
fn without_repeats_layers_equal_strictly_sequential_checks() {
    let mut random = Random::new(2);
    for rate in [Rate::R8_9, Rate::R5_6, Rate::R1_4] {
        let code = without_repeats(code(FrameSize::Short, rate));
        let codeword = random_codeword(code, &mut random);
        let llr = random.qpsk_llr(&codeword, threshold_db(rate) + 1.0);
        let mut naive = Naive::new(code, &llr);
        let mut decoder = Decoder::new(code, 50);
        let residues: Vec<usize> = order(code).collect();
        let (mut iterations, mut arrived) = (0, naive.arrives(0));
        while !arrived {
            for (layer, &r) in residues.iter().enumerate() {
                naive.update_one_by_one(r);
                if decoder.schedule.layers[layer].look.is_some() {
                    arrived = naive.arrives(residues[(layer + 1) % residues.len()]);
                }
                if arrived {
                    break;
                }
            }
            iterations += 1;
            assert!(iterations < 50);
        }
        let (decoded, out) = decode(&mut decoder, &llr);
        assert_eq!(decoded, Decoded { iterations, converged: true });
        assert!(iterations > 1);
        assert!(posteriors(&decoder) == naive.posteriors);
        assert!(decisions(&decoder) == naive.decisions());
        assert!(out == codeword[..out.len()]);
    }
}

#[test]
fn every_code_corrects_noise_and_stops_at_a_codeword() {
    let mut random = Random::new(3);
    for ((size, rate), code) in CODES {
        let codeword = random_codeword(code, &mut random);
        let llr = random.qpsk_llr(&codeword, threshold_db(*rate) + 1.0);
        let mut decoder = Decoder::new(code, 50);
        let (decoded, out) = decode(&mut decoder, &llr);
        assert!(decoded.converged && decoded.iterations > 0, "{size} {rate} {decoded:?}");
        assert!(out == codeword[..out.len()], "{size} {rate}");
        let odd = Naive::new(code, &llr).odd(&decisions(&decoder));
        assert!(odd.iter().all(|odd| !odd), "{size} {rate}");
    }
}

#[test]
fn a_clean_frame_costs_no_iteration_nor_does_a_wrong_bit_that_knows_little() {
    let mut random = Random::new(4);
    for (_, code) in CODES {
        let codeword = random_codeword(code, &mut random);
        let mut llr = random.qpsk_llr(&codeword, 30.0);
        let mut decoder = Decoder::new(code, 5);
        let (decoded, out) = decode(&mut decoder, &llr);
        assert_eq!(decoded, Decoded { iterations: 0, converged: true });
        assert!(out == codeword[..out.len()]);
        // The last parity bit belongs to one check only, next to the one that check 0 lacks.
        for bit in [code.kldpc - 1, code.nldpc - 1, code.nldpc - 2, code.kldpc] {
            llr[bit] = if llr[bit] < 0 { 3 } else { -3 };
            let (decoded, out) = decode(&mut decoder, &llr);
            assert_eq!(decoded, Decoded { iterations: 0, converged: true });
            assert!(out == codeword[..out.len()]);
            llr[bit] = if llr[bit] < 0 { 100 } else { -100 };
        }
        // One that seems to be certain is left to an iteration.
        llr[code.kldpc - 2] = if llr[code.kldpc - 2] < 0 { 96 } else { -96 };
        let (decoded, out) = decode(&mut decoder, &llr);
        assert_eq!(decoded, Decoded { iterations: 1, converged: true });
        assert!(out == codeword[..out.len()]);
    }
}

#[test]
fn the_last_checks_are_updated_one_by_one() {
    let mut random = Random::new(9);
    let (mut arrived, mut cases) = (0, 0);
    for (_, code) in CODES {
        let codeword = random_codeword(code, &mut random);
        let mut naive = Naive::new(code, &[]);
        for case in 0..20 {
            let mut llr = random.qpsk_llr(&codeword, 30.0);
            // From one wrong bit to more than can be set right, some next to each other, some too certain; others know little.
            for _ in 0..=case / 2 {
                let first = random.below(code.nldpc);
                for llr in llr[first..].iter_mut().take(1 + random.below(3)) {
                    let certainty = 1 + random.below(40) as i8;
                    *llr = if *llr < 0 { certainty } else { -certainty };
                }
                let other = random.below(code.nldpc);
                llr[other] /= 8;
            }
            naive.posteriors = llr.iter().map(|llr| i32::from(*llr)).collect();
            naive.checks.iter_mut().for_each(|check| check.messages.fill(0));
            let expected = naive.arrives(0);
            let mut decoder = Decoder::new(code, 0);
            let (decoded, _) = decode(&mut decoder, &llr);
            assert_eq!(decoded, Decoded { iterations: 0, converged: expected });
            assert!(posteriors(&decoder) == naive.posteriors);
            assert!(decisions(&decoder) == naive.decisions());
            arrived += u32::from(decoded.converged);
            cases += 1;
        }
    }
    assert!(arrived > cases / 4 && arrived < cases, "{arrived} of {cases}");
}

#[test]
fn the_last_checks_do_not_lead_to_another_codeword() {
    let code = code(FrameSize::Normal, Rate::R2_3);
    // Two information bits and seven parity bits are a codeword of rate 2/3, the smallest of any rate.
    let mut llr = vec![60; code.nldpc];
    for wrong in [8533, code.kldpc + 15203, code.kldpc + 6193] {
        llr[wrong] = -3;
    }
    llr[24583] = 3;
    let (decoded, out) = decode(&mut Decoder::new(code, 5), &llr);
    assert!(decoded.converged);
    assert!(out.iter().all(|byte| *byte == 0));
}

#[test]
fn wrong_bits_that_confirm_each_other_turn() {
    // Two checks of this bit are three apart in the chain of parity bits. If those between are wrong, too, only the bit's last check does not
    // hold.
    let code = code(FrameSize::Normal, Rate::R135_180);
    let mut llr = vec![60; code.nldpc];
    llr[9720] = -10;
    llr[code.kldpc + 12283..code.kldpc + 12286].fill(-10);
    let (decoded, out) = decode(&mut Decoder::new(code, 0), &llr);
    assert_eq!(decoded, Decoded { iterations: 0, converged: true });
    assert!(out.iter().all(|byte| *byte == 0));
}

#[test]
fn every_level_computes_the_same() {
    let mut random = Random::new(5);
    for (size, rate) in
        [(FrameSize::Short, Rate::R8_9), (FrameSize::Short, Rate::R1_4), (FrameSize::Normal, Rate::R5_6)]
    {
        let code = code(size, rate);
        let codeword = random_codeword(code, &mut random);
        for offset_db in [-1.0, 0.6] {
            let llr = random.qpsk_llr(&codeword, threshold_db(rate) + offset_db);
            let mut best = Decoder::new(code, 8);
            let expected = decode(&mut best, &llr);
            for level in Level::all() {
                let mut decoder = Decoder::with_level(code, 8, level);
                assert!(decode(&mut decoder, &llr) == expected, "{size} {rate} {level}");
                assert!(posteriors(&decoder) == posteriors(&best), "{size} {rate} {level}");
            }
        }
    }
}

#[test]
fn a_frame_leaves_no_trace_in_the_next() {
    let mut random = Random::new(6);
    let code = code(FrameSize::Short, Rate::R3_5);
    let codeword = random_codeword(code, &mut random);
    let frames: Vec<_> = [1.0, 2.6, 30.0, 2.8].map(|esn0_db| random.qpsk_llr(&codeword, esn0_db)).into();
    let mut used = Decoder::new(code, 10);
    for llr in &frames {
        assert!(decode(&mut used, llr) == decode(&mut Decoder::new(code, 10), llr));
        assert!(decode(&mut used.clone(), llr) == decode(&mut used, llr));
    }
}

#[test]
fn extreme_input_is_accepted() {
    let mut random = Random::new(7);
    for (_, code) in CODES {
        let mut decoder = Decoder::new(code, 4);
        let checker = |bit: usize| if bit.is_multiple_of(2) { -128 } else { 127 };
        let inputs: [Vec<i8>; 5] = [
            vec![-128; code.nldpc],
            vec![-127; code.nldpc],
            vec![-1; code.nldpc],
            (0..code.nldpc).map(checker).collect(),
            random.bytes(code.nldpc).into_iter().map(u8::cast_signed).collect(),
        ];
        for llr in &inputs {
            let (decoded, _) = decode(&mut decoder, llr);
            assert!(decoded.iterations <= 4);
            assert_eq!(decoded.iterations == 4, !decoded.converged);
        }
        // Erasures: nothing contradicts the zero codeword.
        let (decoded, out) = decode(&mut decoder, &vec![0; code.nldpc]);
        assert_eq!(decoded, Decoded { iterations: 0, converged: true });
        assert!(out.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn no_iterations_at_all_still_gives_the_decisions_of_the_channel() {
    let code = code(FrameSize::Short, Rate::R8_9);
    let llr: Vec<i8> = (0..code.nldpc).map(|bit| if bit % 3 == 0 { -5 } else { 5 }).collect();
    let (decoded, out) = decode(&mut Decoder::new(code, 0), &llr);
    assert_eq!(decoded, Decoded { iterations: 0, converged: false });
    assert_eq!(out[..3], [0b1001_0010, 0b0100_1001, 0b0010_0100]);
}

#[test]
#[should_panic(expected = "number of LLRs")]
fn a_wrong_number_of_llrs_is_a_programming_error() {
    Decoder::new(code(FrameSize::Short, Rate::R8_9), 1).decode(&[0; 16_199], &mut [0; 1_800]);
}

#[test]
#[should_panic(expected = "bytes of information")]
fn a_wrong_output_length_is_a_programming_error() {
    Decoder::new(code(FrameSize::Short, Rate::R8_9), 1).decode(&[0; 16_200], &mut [0; 1_799]);
}

/// Frames with a wrong bit after decoding, as (frames, bits wrong, mean iterations).
fn measure(code: &'static Code, iterations: u32, esn0_db: f64, frames: u32, random: &mut Random) -> (u32, u32, f64) {
    let mut decoder = Decoder::new(code, iterations);
    let (mut wrong_frames, mut wrong_bits, mut total) = (0, 0, 0);
    for _ in 0..frames {
        let codeword = random_codeword(code, random);
        let llr = random.qpsk_llr(&codeword, esn0_db);
        let (decoded, out) = decode(&mut decoder, &llr);
        let wrong: u32 = out.iter().zip(&codeword).map(|(a, b)| (a ^ b).count_ones()).sum();
        wrong_frames += u32::from(wrong > 0);
        wrong_bits += wrong;
        total += decoded.iterations;
    }
    (wrong_frames, wrong_bits, f64::from(total) / f64::from(frames))
}

#[test]
fn frames_are_decoded_at_the_signal_levels_where_the_codes_are_used() {
    // Expected frame error rates: below 10⁻³ everywhere.
    for (size, rate, iterations, esn0_db, frames) in [
        (FrameSize::Short, Rate::R8_9, 20, 6.5, 100),
        (FrameSize::Short, Rate::R3_5, 20, 2.7, 60),
        (FrameSize::Short, Rate::R5_6, 20, 5.5, 60),
        (FrameSize::Normal, Rate::R1_2, 20, 1.4, 10),
        (FrameSize::Normal, Rate::R3_4, 20, 4.4, 10),
        (FrameSize::Normal, Rate::R1_4, 50, -2.2, 6),
        (FrameSize::Short, Rate::R1_2, 50, 0.7, 30),
        (FrameSize::Normal, Rate::R9_10, 20, 6.8, 10),
    ] {
        let (wrong, _, mean) = measure(code(size, rate), iterations, esn0_db, frames, &mut Random::new(8));
        assert_eq!(wrong, 0, "{size} {rate}: of {frames} frames, {mean} iterations");
        assert!(mean < f64::from(iterations));
    }
}

/// Frame error rate over Es/N0; `cargo test --release -p bief-dsp -- --ignored --nocapture frame_error_rate`.
#[test]
#[ignore = "a measurement of some minutes"]
fn frame_error_rate() {
    for (size, rate, iterations, points) in [
        (FrameSize::Short, Rate::R8_9, 20, &[6.20, 6.25, 6.30, 6.35][..]),
        (FrameSize::Short, Rate::R3_5, 20, &[2.35, 2.40, 2.45]),
        (FrameSize::Normal, Rate::R1_2, 20, &[1.05, 1.10]),
        (FrameSize::Normal, Rate::R1_4, 50, &[-2.55, -2.50, -2.45]),
    ] {
        for &esn0_db in points {
            let frames = if size == FrameSize::Short { 8000 } else { 1000 };
            let random = &mut Random::new((1000.0 * (esn0_db + 10.0)) as u64);
            let (wrong, bits, mean) = measure(code(size, rate), iterations, esn0_db, frames, random);
            println!(
                "{size} {rate}, {iterations} iterations, {esn0_db:.2} dB: {:.1e} ({wrong} of {frames} frames, {:.1} bits each), {mean:.1} iterations",
                f64::from(wrong) / f64::from(frames),
                f64::from(bits) / f64::from(wrong.max(1)),
            );
        }
    }
}

#[test]
fn codewords_of_an_independent_encoder_satisfy_all_checks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors/all_modcods");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: {} not found", folder.display());
        return;
    };
    let mut checked = 0;
    for file in files.map(|file| file.unwrap().path()) {
        // Such as 01_qpsk_1_4_normal.ldpc.bin.
        let name = file.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".ldpc.bin") else { continue };
        let size = if name.ends_with("normal") { FrameSize::Normal } else { FrameSize::Short };
        let mut words = name.split('_').skip(2);
        let rate = format!("{}/{}", words.next().unwrap(), words.next().unwrap());
        let rate = Rate::ALL.into_iter().find(|r| r.to_string() == rate).unwrap();
        let codeword = std::fs::read(&file).unwrap();
        let llr: Vec<i8> = codeword
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |k| if byte >> k & 1 == 0 { 9 } else { -9 }))
            .collect();
        let (decoded, out) = decode(&mut Decoder::new(code(size, rate), 1), &llr);
        assert_eq!(decoded, Decoded { iterations: 0, converged: true }, "{name}");
        assert!(out == codeword[..out.len()], "{name}");
        checked += 1;
    }
    assert_eq!(checked, 52);
}
