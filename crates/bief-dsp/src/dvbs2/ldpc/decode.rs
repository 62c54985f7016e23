//! Layered A-min* decoder on 8-bit log-likelihood ratios.
//!
//! # Structure
//!
//! The checks j = r + q m (m in 0..360) of one residue r form a layer, in which lane m is check r + q m. Every
//! code is then made of 360 × 360 blocks: address x of row g says that bit i of group g takes part in lane
//! (i + floor(x / q)) mod 360 of layer x mod q. Parity bit r + q m, reordered as bit m of a group r, takes part in
//! lane m of layers r and r + 1; group q - 1 takes part in layer 0 one lane further, except in lane 0, which
//! has one bit fewer than the other checks.
//!
//! A group of 360 posteriors is held in a ring, turned so that position m belongs to lane m of the layer that used it last, and with
//! as many of its first positions behind its end as a vector register has lanes: any other rotation is read in plain loads, and a layer
//! writes the group back in its own rotation. No lane is ever addressed on its own, but for the missing bit, and at the end, where the last
//! checks are updated one by one.
//!
//! Where several addresses of a row fall in one layer, a posterior takes part in several lanes at once. Their
//! checks are computed from the same posterior and the changes of their messages added one after another.
//!
//! # Numbers
//!
//! 4 counts are one unit of LLR. Posteriors saturate at -128 and 127, messages at ±25: a saturated posterior less a large
//! message would be a wrong extrinsic value.

mod check;
mod informed;
mod kernel;
mod schedule;
mod signs;
mod strips;
#[cfg(test)]
mod tests;

use std::fmt;

use super::super::transpose::transpose;
use super::{Code, GROUP};
use crate::aligned::Aligned;
use crate::simd::{Level, Simd, dispatch, has_registers, prelude::*, u8x16};
use check::{Bits, Sum};
use informed::Informed;
pub use kernel::KernelTables;
use schedule::Schedule;
use signs::Signs;
use strips::{
    Lanes, RING, STRIP, STRIPS, hear_strips, odd_in_strip, ring_at, set_place, strip_at, tell_repeat, tell_strips,
};

/// Largest magnitude of a message from a check.
const MAX_MESSAGE: u8 = 25;

/// Fills a ring, turned by `shift`, with the group that is first among `bits`.
#[inline(always)]
fn load_group<S: Simd>(simd: S, ring: &mut [i8; RING], bits: &[i8], shift: u16) {
    let shift = usize::from(shift);
    // The last strip of each part runs over its end, into what is written afterwards. Nothing is read that was just written in other
    // pieces: that takes long.
    for place in (0..shift).step_by(STRIP) {
        strip_at(simd, bits, GROUP - shift + place).store_slice(&mut ring[place..place + STRIP]);
    }
    // One strip that crosses a boundary of cache lines, rather than all.
    strip_at(simd, bits, 0).store_slice(&mut ring[shift..shift + STRIP]);
    for place in (shift.next_multiple_of(STRIP)..GROUP).step_by(STRIP) {
        strip_at(simd, bits, place - shift).store_slice(&mut ring[place..place + STRIP]);
    }
    end_ring(simd, ring);
}

/// Stores the first strip of a ring behind its end, too.
#[inline(always)]
fn end_ring<S: Simd>(simd: S, ring: &mut [i8; RING]) {
    strip_at(simd, ring, 0).store_slice(&mut ring[GROUP..GROUP + STRIP]);
}

/// Sixteen columns of a matrix of so many, from `first` on, of eight rows from a place on: those beyond the end are 0.
#[inline(always)]
fn columns<S: Simd>(simd: S, matrix: &[i8], width: usize, row: usize, first: usize) -> [[i8; 8]; 16] {
    let mut rows = [u8x16::splat(simd, 0); 8];
    for (k, slot) in rows.iter_mut().enumerate() {
        let start = (row + k) * width + first;
        let behind = &matrix[start.min(matrix.len())..];
        let row = behind.first_chunk().copied().unwrap_or_else(|| {
            let mut row = [0; 16];
            row[..behind.len()].copy_from_slice(behind);
            row
        });
        *slot = u8x16::load_array(simd, row.map(i8::cast_unsigned));
    }
    let mut columns = [[0; 16]; 8];
    for (columns, pair) in columns.iter_mut().zip(transpose::<S, 3>(rows)) {
        *columns = pair.into();
    }
    bytemuck::cast(columns)
}

/// What [`Decoder::decode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Iterations begun; 0 if the hard decisions of the channel were a codeword, or nearly one.
    pub iterations: u32,
    /// Whether all checks hold. If not, the decisions are the best that is known.
    pub converged: bool,
}

/// Decoder of one code: layered, with a check rule (A-min*) close to sum-product.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Rate, ldpc::{Code, Decoder}};
///
/// let code = Code::get(FrameSize::Short, Rate::R8_9).unwrap();
/// let mut decoder = Decoder::new(code, 20);
/// let mut llr = vec![30; code.nldpc]; // all bits 0 ...
/// for wrong in llr.iter_mut().step_by(100) {
///     *wrong = -4; // ... but for some errors
/// }
/// let mut bits = vec![0xFF; code.kldpc / 8];
/// let decoded = decoder.decode(&llr, &mut bits);
/// assert!(decoded.converged && decoded.iterations < 10);
/// assert!(bits.iter().all(|byte| *byte == 0));
/// ```
#[derive(Clone)]
pub struct Decoder {
    code: &'static Code,
    max_iterations: u32,
    level: Level,
    schedule: Schedule,
    /// Posteriors: information groups, then parity groups.
    rings: Aligned<i8>,
    /// Where the decoder looked last, of [`Schedule::looks`]: how the rings are turned.
    look: usize,
    /// Last message of every check to every bit, block by block; while a layer is updated, what its bits know without the check
    /// concerned.
    messages: Box<[Lanes]>,
    /// The same for those blocks of a layer that are repeats, whose messages are still needed.
    repeated: Box<[Lanes]>,
    /// So many of the messages are of this frame. The others count as 0, whatever is stored.
    fresh: usize,
    signs: Signs,
    informed: Informed,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("nldpc", &self.code.nldpc)
            .field("kldpc", &self.code.kldpc)
            .field("max_iterations", &self.max_iterations)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder that gives up after `max_iterations`. 50 cost a good frame nothing, which stops as soon as it is
    /// right: near the threshold after 5 (rate 9/10) to 40 (1/4), 1 dB above it after 2 to 15.
    ///
    /// Allocates all that decoding needs: from 95 KiB (short 4/5) to 495 KiB (normal 3/5).
    pub fn new(code: &'static Code, max_iterations: u32) -> Decoder {
        Decoder::with_level(code, max_iterations, Level::best())
    }

    /// The same with other vector instructions than the best. The results do not depend on them.
    pub fn with_level(code: &'static Code, max_iterations: u32, level: Level) -> Decoder {
        let schedule = Schedule::new(code);
        Decoder {
            code,
            max_iterations,
            level,
            rings: Aligned::new(schedule.groups * RING),
            look: 0,
            messages: vec![Lanes::ZERO; schedule.blocks.len()].into(),
            repeated: vec![Lanes::ZERO; schedule.most_repeats].into(),
            fresh: 0,
            signs: Signs::new(schedule.groups),
            informed: Informed::new(code),
            schedule,
        }
    }

    /// The code that is decoded.
    pub fn code(&self) -> &'static Code {
        self.code
    }

    /// Decodes a frame: nldpc LLRs in the order of transmission, positive for 0, 4 counts per unit, into the
    /// kldpc / 8 bytes of information, first bit in the most significant place.
    ///
    /// Looks several times in an iteration, and stops as soon as all checks hold. If all but a few do, it updates these one by one, which mostly
    /// sets them right. Any input is accepted. Allocates nothing.
    ///
    /// # Panics
    ///
    /// If `llr` is not nldpc long, or `out` not kldpc / 8.
    pub fn decode(&mut self, llr: &[i8], out: &mut [u8]) -> Decoded {
        assert_eq!(llr.len(), self.code.nldpc, "number of LLRs");
        assert_eq!(out.len(), self.code.kldpc / 8, "bytes of information");
        let level = self.level;
        dispatch!(level, simd => self.decode_kernel(simd, llr, out))
    }

    #[inline(always)]
    fn decode_kernel<S: Simd>(&mut self, simd: S, llr: &[i8], out: &mut [u8]) -> Decoded {
        self.load(simd, llr);
        let (mut iterations, mut next) = (0, 0);
        let converged = loop {
            if self.arrives(simd, next) {
                break true;
            }
            if next == 0 {
                if iterations == self.max_iterations {
                    break false;
                }
                iterations += 1;
            }
            next = if self.fresh < self.messages.len() {
                self.update::<S, true>(simd, next)
            } else {
                self.update::<S, false>(simd, next)
            };
        };
        if !converged {
            self.signs.take(simd, &self.rings);
        }
        self.signs.write(simd, &self.schedule.looks[self.look].shifts, out);
        Decoded { iterations, converged }
    }

    /// Takes in a frame, parity transposed, and every group turned as an iteration leaves it.
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, llr: &[i8]) {
        let parity = &llr[self.code.kldpc..];
        self.fresh = 0;
        self.look = self.schedule.looks.len() - 1;
        let shifts = &self.schedule.looks[self.look].shifts;
        let (groups, q) = (self.code.rows.len(), self.code.q);
        let (of_information, of_parity) = self.rings.as_chunks_mut::<RING>().0.split_at_mut(groups);
        for (group, (ring, &shift)) in of_information.iter_mut().zip(shifts).enumerate() {
            load_group(simd, ring, &llr[group * GROUP..], shift);
        }
        // The last columns may be some of those before again.
        for first in (0..q).step_by(16).map(|first| first.min(q.saturating_sub(16))) {
            let rings = &mut of_parity[first..];
            for row in (0..GROUP).step_by(8) {
                for (ring, bits) in rings.iter_mut().zip(columns(simd, parity, q, row, first)) {
                    ring[row..row + 8].copy_from_slice(&bits);
                }
            }
        }
        for ring in of_parity {
            end_ring(simd, ring);
        }
    }

    /// Looks at the frame: whether it is a codeword, once its last checks are updated one by one if they are few. `next` is the layer that
    /// would be updated next.
    #[inline(always)]
    fn arrives<S: Simd>(&mut self, simd: S, next: usize) -> bool {
        // Mostly, the layer that was updated longest ago says by itself that too many checks do not hold.
        let layer = &self.schedule.layers[next];
        let places = &self.schedule.places[layer.first..layer.end];
        let mut odd = 0;
        for strip in 0..STRIPS {
            let mut lanes = odd_in_strip(simd, &self.rings, places, strip);
            if next == 0 && strip == 0 {
                // The place of the missing bit has another one.
                lanes &= !1;
            }
            odd += lanes.count_ones() as usize;
            if odd > self.informed.most_in_layer() {
                return false;
            }
        }
        self.signs.take(simd, &self.rings);
        let turned = &self.schedule.looks[self.look];
        match self.informed.find_odd(simd, &self.signs, turned, &self.schedule) {
            None => false,
            Some(0) => true,
            Some(_) => {
                // Only frames with little noise come here in their first iteration.
                self.messages[self.fresh..].fill(Lanes::ZERO);
                self.fresh = self.messages.len();
                let posteriors = (&mut self.signs, &mut self.rings[..]);
                self.informed.settle(posteriors, &mut self.messages, turned, &self.schedule)
            }
        }
    }

    /// Puts a bit that is certainly 0 in the place of the one that lane 0 of the first layer lacks, and returns what was there. Does nothing
    /// for the other layers.
    #[inline(always)]
    fn replace_missing_bit(&mut self, r: usize) -> Option<i8> {
        if r > 0 {
            return None;
        }
        // The decoder looked before the first layer.
        let turn = self.schedule.looks[self.look].blocks[self.schedule.missing];
        Some(set_place(ring_at(&mut self.rings, self.schedule.last_ring()), usize::from(turn), i8::MAX))
    }

    /// Updates layers from this one on until it is time to look: which one is next then. In the first iteration their messages are not
    /// fresh.
    #[inline(always)]
    fn update<S: Simd, const FIRST: bool>(&mut self, simd: S, first: usize) -> usize {
        for r in first..self.schedule.layers.len() {
            let spared = self.replace_missing_bit(r);
            if has_registers(simd) {
                self.update_layer::<S, FIRST, STRIPS, STRIPS>(simd, r);
            } else {
                self.update_layer::<S, FIRST, 1, 2>(simd, r);
            }
            if let Some(posterior) = spared {
                // The layer has moved its lane 0 to the front.
                set_place(ring_at(&mut self.rings, self.schedule.last_ring()), 0, posterior);
                self.messages[self.schedule.missing].set(0, 0);
            }
            self.fresh = self.fresh.max(self.schedule.layers[r].end);
            if let Some(look) = self.schedule.layers[r].look {
                self.look = look;
                return (r + 1) % self.schedule.layers.len();
            }
        }
        0
    }

    /// Computes the messages of the checks of a layer and adds them to the posteriors. As registers have room for them, `HEARD` strips at
    /// a time hear what bits know, and `TOLD` tell them.
    #[inline(always)]
    fn update_layer<S: Simd, const FIRST: bool, const HEARD: usize, const TOLD: usize>(&mut self, simd: S, r: usize) {
        let layer = &self.schedule.layers[r];
        let blocks = &self.schedule.blocks[layer.first..layer.end];
        let messages = &mut self.messages[layer.first..layer.end];
        let places = &self.schedule.places[layer.first..layer.end];
        let repeat_places = &self.schedule.repeat_places[layer.first_repeat..];
        let rings = &mut self.rings[..];
        let (primaries, repeats) = messages.split_at_mut(layer.primaries);
        let repeated = &mut self.repeated[..repeats.len()];
        let sum = Sum::new(simd);
        let mut checks = [Bits::none(simd, sum).checks(simd); STRIPS];
        for (group, checks) in checks.as_chunks_mut().0.iter_mut().enumerate() {
            let repeats = (&*repeats, &mut *repeated);
            *checks = hear_strips::<S, FIRST, HEARD>(simd, sum, (rings, places), primaries, repeats, group * HEARD);
        }
        for (group, checks) in checks.as_chunks().0.iter().enumerate() {
            // Out of memory into registers.
            let primaries = (&blocks[..layer.primaries], &mut *primaries);
            tell_strips::<S, TOLD>(simd, *checks, rings, primaries, group * TOLD);
        }
        let repeats = blocks[layer.primaries..].iter().zip(repeat_places).zip(repeats);
        for (((block, places), message), extrinsic) in repeats.zip(&*repeated) {
            tell_repeat::<S, FIRST>(simd, &checks, rings, (block.ring(), places), message, extrinsic);
        }
    }
}
