//! The last checks by bit flipping (Gallager: Low-density parity-check codes, 1962).
//!
//! Towards the end of decoding few checks do not hold. The bits to blame would come right in the next iteration, which updates all
//! others, too. They are found more quickly from those checks alone: an information bit that knows little and most of whose checks do not
//! hold is wrong. So are the parity bits between two checks that are near each other in the chain which parity bits make: each check shares
//! one with that before it, and one with that behind it. If this explains all checks that do not hold, the decoder has arrived.

use super::super::{Code, GROUP};
use super::schedule::Schedule;
use super::signs::Signs;
use super::strips::{LANES_OF, RING, STRIPS};
use crate::simd::{Simd, prelude::*, u64x8};

/// Most checks that may not hold where bits are flipped. For more of them, tries that fail take more time than the others spare.
pub(super) const MOST_ODD: usize = 24;
/// Most bits that are flipped, and checks that do not hold meanwhile.
const MOST: usize = 4 * MOST_ODD;
/// Largest magnitude of the posterior of a bit that may be wrong, in counts. Most know far more.
pub(super) const WEAK: u8 = 24;

/// Most parity bits in a row that may be wrong. Few checks of those that do not hold are as near each other by chance.
pub(super) fn longest_run(checks: usize) -> usize {
    (checks / 800).clamp(2, 16)
}

/// A place round a group, given it or one that is a turn further.
fn wrapped(place: usize) -> usize {
    if place < GROUP { place } else { place - GROUP }
}

/// A check, by the residue of its layer.
#[derive(Clone, Copy)]
struct Check {
    residue: usize,
    lane: usize,
}

/// What bit flipping knows of a code, and finds out of a frame.
pub(super) struct Flipping {
    /// Of each group of information bits: the checks of its bit 0.
    checks: Box<[Box<[Check]>]>,
    /// Checks that do not hold, a bit for each, by residue ...
    odd: Box<[[u64; STRIPS]]>,
    /// ... and one by one.
    listed: Vec<Check>,
    /// Bits that are flipped, by group and place in its ring.
    flipped: Vec<(usize, usize)>,
}

impl Clone for Flipping {
    /// With room for all that it may find: a clone of a vector has room for what is in it alone.
    fn clone(&self) -> Flipping {
        Flipping {
            checks: self.checks.clone(),
            odd: self.odd.clone(),
            listed: Vec::with_capacity(MOST),
            flipped: Vec::with_capacity(MOST),
        }
    }
}

impl Flipping {
    pub(super) fn new(code: &Code) -> Flipping {
        let check = |x: &u16| Check { residue: usize::from(*x) % code.q, lane: usize::from(*x) / code.q };
        Flipping {
            checks: code.rows.iter().map(|row| row.iter().map(check).collect()).collect(),
            odd: vec![[0; STRIPS]; code.q].into(),
            listed: Vec::with_capacity(MOST),
            flipped: Vec::with_capacity(MOST),
        }
    }

    /// Finds the checks that do not hold: their number, if bit flipping may explain so many.
    #[inline(always)]
    pub(super) fn find_odd<S: Simd>(
        &mut self,
        simd: S,
        signs: &Signs,
        shifts: &[u16],
        schedule: &Schedule,
    ) -> Option<usize> {
        let mut count = 0;
        for layer in &schedule.layers {
            let mut lanes = u64x8::splat(simd, 0);
            for block in &schedule.blocks[layer.first..layer.end] {
                lanes ^= signs.turned(simd, usize::from(block.group), usize::from(block.turn(shifts)));
            }
            let odd = &mut self.odd[layer.residue];
            odd.copy_from_slice(&lanes.as_slice()[..STRIPS]);
            if layer.residue == 0 {
                // The bit that lane 0 lacks.
                let block = schedule.blocks[schedule.missing];
                odd[0] ^= u64::from(signs.is_negative(usize::from(block.group), usize::from(block.turn(shifts))));
            }
            for (odd, lanes) in odd.iter_mut().zip(LANES_OF) {
                *odd &= lanes;
                count += odd.count_ones() as usize;
            }
            if count > MOST_ODD {
                return None;
            }
        }
        Some(count)
    }

    /// Flips signs so that the checks hold that were found not to: whether all do. If not, signs are what they were.
    pub(super) fn flip(&mut self, signs: &mut Signs, rings: &[i8], shifts: &[u16], schedule: &Schedule) -> bool {
        self.flipped.clear();
        // Where a parity bit is wrong, too, a check that should not hold does, and the next one does not.
        let explained = self.flip_information::<false>(rings, shifts, schedule)
            && self.flip_information::<true>(rings, shifts, schedule)
            && self.flip_parity(rings, shifts);
        if explained {
            self.flipped.iter().for_each(|&(group, place)| signs.flip(group, place));
        }
        explained
    }

    /// Flips a bit of each check that does not hold, if most of its checks don't: they or, if they are `NEAR`, those next to them.
    /// `false` if that are more than are kept track of.
    fn flip_information<const NEAR: bool>(&mut self, rings: &[i8], shifts: &[u16], schedule: &Schedule) -> bool {
        if !self.list_odd() {
            return false;
        }
        for k in 0..self.listed.len() {
            let check = self.listed[k];
            // A bit that was flipped for another check may have set this one right.
            if !self.is_odd(check) {
                continue;
            }
            let layer = schedule.layer(check.residue);
            for block in &schedule.blocks[layer.first..layer.end] {
                let group = usize::from(block.group);
                let place = wrapped(check.lane + usize::from(block.turn(shifts)));
                if rings[group * RING + place].unsigned_abs() > WEAK {
                    continue;
                }
                let Some(checks) = self.checks.get(group) else { continue };
                let bit = wrapped(check.lane + GROUP - usize::from(block.shift));
                let check_of = |first: &Check| Check { lane: wrapped(first.lane + bit), ..*first };
                let is_blamed = |check: Check| self.is_odd(check) || NEAR && self.is_near_odd(check);
                let blamed = checks.iter().filter(|first| is_blamed(check_of(first))).count();
                if 2 * blamed > checks.len() {
                    for first in checks {
                        let Check { residue, lane } = check_of(first);
                        self.odd[residue][lane / 64] ^= 1 << (lane % 64);
                    }
                    if self.flipped.len() == MOST {
                        return false;
                    }
                    self.flipped.push((group, place));
                    break;
                }
            }
        }
        true
    }

    /// Flips the parity bits between each two checks that do not hold. `false` if these are not near each other, or a bit of them knows too much,
    /// or they are too many: a run of bits that are right may lead to another codeword.
    fn flip_parity(&mut self, rings: &[i8], shifts: &[u16]) -> bool {
        if !self.list_odd() {
            return false;
        }
        let (q, groups) = (self.odd.len(), self.checks.len());
        let longest = longest_run(q * GROUP);
        let number = |check: &Check| check.residue + q * check.lane;
        self.listed.sort_unstable_by_key(number);
        for run in self.listed.chunks(2) {
            // Parity bits from one on until the last leave no other check that does not hold.
            let run = number(&run[0])..run.get(1).map_or(q * GROUP, number);
            if run.len() > longest || self.flipped.len() + run.len() > MOST {
                return false;
            }
            for bit in run {
                let group = groups + bit % q;
                let place = wrapped(bit / q + usize::from(shifts[group]));
                if rings[group * RING + place].unsigned_abs() > WEAK {
                    return false;
                }
                self.flipped.push((group, place));
            }
        }
        true
    }

    /// Lists the checks that do not hold. `false` if they have become too many.
    fn list_odd(&mut self) -> bool {
        self.listed.clear();
        for (residue, odd) in self.odd.iter().enumerate() {
            for (word, &lanes) in odd.iter().enumerate() {
                let mut left = lanes;
                while left != 0 {
                    if self.listed.len() == MOST {
                        return false;
                    }
                    self.listed.push(Check { residue, lane: 64 * word + left.trailing_zeros() as usize });
                    left &= left - 1;
                }
            }
        }
        true
    }

    fn is_odd(&self, check: Check) -> bool {
        self.odd[check.residue][check.lane / 64] >> (check.lane % 64) & 1 == 1
    }

    /// Whether a check does not hold that shares a parity bit with this one.
    fn is_near_odd(&self, Check { residue, lane }: Check) -> bool {
        let last = self.odd.len() - 1;
        let before = match residue {
            0 => lane.checked_sub(1).map(|lane| Check { residue: last, lane }),
            _ => Some(Check { residue: residue - 1, lane }),
        };
        let behind = match residue {
            _ if residue < last => Some(Check { residue: residue + 1, lane }),
            _ => Some(Check { residue: 0, lane: lane + 1 }).filter(|check| check.lane < GROUP),
        };
        before.is_some_and(|check| self.is_odd(check)) || behind.is_some_and(|check| self.is_odd(check))
    }
}
