//! The last checks, one by one: informed dynamic scheduling (Vila Casado, Griot, Wesel: Informed dynamic scheduling for belief-propagation
//! decoding of LDPC codes, ICC 2007).
//!
//! Towards the end of decoding few checks do not hold. The next iterations would set them right, and update all others, too. Here they alone
//! are updated, one after the other: the bit of a check that knows least turns, or learns that it is suspected, and where a bit turns, those
//! of its checks are next that no longer hold by that. Mostly all hold after about as many updates as there were such checks. If they do not,
//! everything is put back, and layers go on: some frames would never come right after what such updates told.
//!
//! The rule is min-sum, in place of A-min*, and messages may be larger than in layers: fewer updates suffice, and a bit can turn against
//! checks that confirm it in error.

use super::super::{Code, GROUP};
use super::schedule::{Block, Schedule, Turned};
use super::signs::Signs;
use super::strips::{LANES_OF, Lanes, STRIPS, ring_at, set_place, wrapped};
use crate::simd::{Simd, prelude::*, u64x8};

/// Largest magnitude of a message.
pub(super) const MAX_MESSAGE: i32 = 48;
/// Bits with posteriors of this magnitude and more are left alone: they know too much to turn, and more than others have to tell.
pub(super) const CERTAIN: i32 = 2 * MAX_MESSAGE;
/// Where at most so many checks do not hold at first, what updates change stays even if it does not set all right: a wrong bit or two, which other
/// checks confirm, have to be told again and again.
pub(super) const FEW: usize = 3;
/// Most bits of a check.
const MOST_BITS: usize = 32;
/// Most checks that wait for their update. If there are more, they are left out, and decoding goes on with layers.
const MOST_WAITING: usize = 1024;

/// Most checks of so many that may not hold where they are updated one by one. More take longer than they save iterations.
pub(super) fn most_odd(checks: usize) -> usize {
    (checks / 150).min(100)
}

/// Where so many checks do not hold, updates end once so many messages have changed: those of three updates for each check, or so.
pub(super) fn most_changes(odd: usize) -> usize {
    64 + 24 * odd
}

/// Room for what changes before updates end. The last one may go beyond.
fn room_for_changes(most_odd: usize) -> Vec<Change> {
    Vec::with_capacity(most_changes(most_odd) + MOST_BITS)
}

/// A check, by the residue of its layer.
#[derive(Clone, Copy)]
struct Check {
    residue: u16,
    lane: u16,
}

/// A bit of a check: the number of its block in the layer, its place in its ring, and what it knows without the check.
#[derive(Clone, Copy, Default)]
struct Bit {
    block: u16,
    place: u16,
    known: i32,
}

/// A message to a bit that has changed, and what it and the bit's posterior were before.
#[derive(Clone, Copy)]
struct Change {
    /// Number of the block among all.
    block: u16,
    lane: u16,
    /// Place of the bit in its ring.
    place: u16,
    posterior: i8,
    message: i8,
}

/// Checks that do not hold.
#[derive(Clone)]
struct Odd {
    /// By residue, a bit for each.
    lanes: Box<[[u64; STRIPS]]>,
    count: usize,
    /// Those that wait for their update, the next one last; some hold by now.
    waiting: Vec<Check>,
}

impl Odd {
    /// Lets all wait.
    fn list(&mut self) {
        self.waiting.clear();
        for (residue, strips) in self.lanes.iter().enumerate() {
            for (strip, &lanes) in strips.iter().enumerate() {
                let mut left = lanes;
                while left != 0 {
                    let lane = 64 * strip + left.trailing_zeros() as usize;
                    self.waiting.push(Check { residue: residue as u16, lane: lane as u16 });
                    left &= left - 1;
                }
            }
        }
    }

    fn has(&self, check: Check) -> bool {
        self.lanes[usize::from(check.residue)][usize::from(check.lane) / 64] >> (check.lane % 64) & 1 == 1
    }

    /// One of the bits of a check has turned.
    fn toggle(&mut self, check: Check) {
        self.lanes[usize::from(check.residue)][usize::from(check.lane) / 64] ^= 1 << (check.lane % 64);
        if self.has(check) {
            self.count += 1;
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push(check);
            }
        } else {
            self.count -= 1;
        }
    }
}

/// What is known of a code, and found out of a frame.
pub(super) struct Informed {
    /// Of each group of information bits: the checks of its bit 0.
    checks: Box<[Box<[Check]>]>,
    odd: Odd,
    /// Most of them that are updated one by one.
    most_odd: usize,
    /// What updates have changed, so that it can be taken back.
    changes: Vec<Change>,
}

impl Clone for Informed {
    /// With room for all checks that may wait: a clone of a vector has room for what is in it alone.
    fn clone(&self) -> Informed {
        let odd = Odd { waiting: Vec::with_capacity(MOST_WAITING), ..self.odd.clone() };
        Informed { checks: self.checks.clone(), odd, most_odd: self.most_odd, changes: room_for_changes(self.most_odd) }
    }
}

impl Informed {
    pub(super) fn new(code: &Code) -> Informed {
        let most_odd = most_odd(code.parity());
        let q = code.q as u16;
        let check = |x: &u16| Check { residue: x % q, lane: x / q };
        let odd = Odd { lanes: vec![[0; STRIPS]; code.q].into(), count: 0, waiting: Vec::with_capacity(MOST_WAITING) };
        Informed {
            checks: code.rows.iter().map(|row| row.iter().map(check).collect()).collect(),
            odd,
            most_odd,
            changes: room_for_changes(most_odd),
        }
    }

    /// Most checks of a layer that may not hold if those of all layers may be few.
    #[inline(always)]
    pub(super) fn most_in_layer(&self) -> usize {
        1 + self.most_odd / self.odd.lanes.len()
    }

    /// Finds the checks that do not hold: their number, if they may be updated one by one.
    #[inline(always)]
    pub(super) fn find_odd<S: Simd>(
        &mut self,
        simd: S,
        signs: &Signs,
        turned: &Turned,
        schedule: &Schedule,
    ) -> Option<usize> {
        self.odd.count = 0;
        for layer in &schedule.layers {
            let mut lanes = u64x8::splat(simd, 0);
            let blocks = &schedule.blocks[layer.first..layer.end];
            for (block, turn) in blocks.iter().zip(&turned.blocks[layer.first..layer.end]) {
                lanes ^= signs.turned(simd, usize::from(block.group), usize::from(*turn));
            }
            let odd = &mut self.odd.lanes[layer.residue];
            odd.copy_from_slice(&lanes.as_slice()[..STRIPS]);
            if layer.residue == 0 {
                // The bit that lane 0 lacks.
                let (group, place) = (schedule.groups - 1, usize::from(turned.blocks[schedule.missing]));
                odd[0] ^= u64::from(signs.is_negative(group, place));
            }
            for (odd, lanes) in odd.iter_mut().zip(LANES_OF) {
                *odd &= lanes;
                self.odd.count += odd.count_ones() as usize;
            }
            if self.odd.count > self.most_odd {
                return None;
            }
        }
        Some(self.odd.count)
    }

    /// Updates the checks that were found not to hold, and those that no longer do by that: whether all hold now. If not, signs are no longer
    /// those of the posteriors. All `messages` have to be of this frame.
    pub(super) fn settle(
        &mut self,
        (signs, rings): (&mut Signs, &mut [i8]),
        messages: &mut [Lanes],
        turned: &Turned,
        schedule: &Schedule,
    ) -> bool {
        self.odd.list();
        self.changes.clear();
        let first = self.odd.count;
        while self.changes.len() < most_changes(first)
            && let Some(check) = self.odd.waiting.pop()
        {
            if self.odd.has(check) {
                self.update(check, (signs, rings), messages, turned, schedule);
            }
        }
        if self.odd.count == 0 {
            return true;
        }
        if first <= FEW {
            return false;
        }
        for change in self.changes.iter().rev() {
            let block = usize::from(change.block);
            messages[block].set(usize::from(change.lane), change.message);
            set_place(ring_at(rings, schedule.blocks[block].ring()), usize::from(change.place), change.posterior);
        }
        false
    }

    /// Updates a check that does not hold.
    #[inline(always)]
    fn update(
        &mut self,
        check: Check,
        (signs, rings): (&mut Signs, &mut [i8]),
        messages: &mut [Lanes],
        turned: &Turned,
        schedule: &Schedule,
    ) {
        let (residue, lane) = (usize::from(check.residue), usize::from(check.lane));
        let layer = schedule.layer(residue);
        let blocks = &schedule.blocks[layer.first..layer.end];
        let turns = &turned.blocks[layer.first..layer.end];
        let messages = &mut messages[layer.first..layer.end];
        let missing = if (residue, lane) == (0, 0) { schedule.missing - layer.first } else { MOST_BITS };
        // Only bits that may turn, or have to be told that they are suspected. Whether there is one more is written without a branch.
        let mut bits = [Bit::default(); MOST_BITS];
        let mut count = 0;
        for (k, (block, turn)) in blocks.iter().zip(turns).enumerate() {
            if k == missing {
                continue;
            }
            let place = wrapped(lane + usize::from(*turn));
            let posterior = i32::from(rings[block.ring() + place]);
            bits[count % MOST_BITS] = Bit { block: k as u16, place: place as u16, known: posterior };
            count += usize::from(posterior.abs() < CERTAIN);
        }
        let bits = &mut bits[..count];
        // The check does not hold: the product of the signs of all posteriors is negative.
        let (mut least, mut second, mut sign) = (MAX_MESSAGE, MAX_MESSAGE, -1);
        for bit in &mut *bits {
            let posterior = bit.known;
            bit.known -= i32::from(messages[usize::from(bit.block)].0[lane]);
            let magnitude = bit.known.abs();
            second = second.min(magnitude.max(least));
            least = least.min(magnitude);
            sign ^= bit.known ^ posterior;
        }
        for bit in &*bits {
            let magnitude = if bit.known.abs() == least { second } else { least };
            let new = if (bit.known ^ sign) < 0 { -magnitude } else { magnitude };
            let message = messages[usize::from(bit.block)].set(lane, new as i8);
            let (block, place) = (blocks[usize::from(bit.block)], usize::from(bit.place));
            let now = (bit.known + new).clamp(-128, 127) as i8;
            let posterior = set_place(ring_at(rings, block.ring()), place, now);
            self.changes.push(Change {
                block: layer.first as u16 + bit.block,
                lane: check.lane,
                place: bit.place,
                posterior,
                message,
            });
            if (posterior ^ now) < 0 {
                self.turn(block, lane, signs, place);
            }
        }
    }

    /// A bit has turned: that of a block that takes part in this lane.
    #[inline(never)]
    fn turn(&mut self, block: Block, lane: usize, signs: &mut Signs, place: usize) {
        let group = usize::from(block.group);
        signs.flip(group, place);
        let bit = wrapped(lane + GROUP - usize::from(block.shift));
        if let Some(checks) = self.checks.get(group) {
            for first in checks {
                self.odd.toggle(Check { lane: wrapped(usize::from(first.lane) + bit) as u16, ..*first });
            }
            return;
        }
        let (residue, lane) = ((group - self.checks.len()) as u16, bit as u16);
        self.odd.toggle(Check { residue, lane });
        if group + 1 < self.checks.len() + self.odd.lanes.len() {
            self.odd.toggle(Check { residue: residue + 1, lane });
        } else if bit + 1 < GROUP {
            self.odd.toggle(Check { residue: 0, lane: lane + 1 });
        }
    }
}
