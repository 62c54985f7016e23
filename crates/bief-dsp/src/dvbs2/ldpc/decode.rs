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
//! A group of 360 posteriors is held in a [`Ring`], turned so that position m belongs to lane m of the layer
//! that used it last, and stored twice in a row: any other rotation is a plain contiguous read, and a layer
//! writes the group back in its own rotation. No lane is ever addressed on its own, but for the missing bit.
//!
//! Where several addresses of a row fall in one layer, a posterior takes part in several lanes at once. Their
//! checks are computed from the same posterior and the changes of their messages added one after another.
//!
//! # Numbers
//!
//! 4 counts are one unit of LLR. Posteriors saturate at -128 and 127, messages at ±31: a saturated posterior less a large
//! message would be a wrong extrinsic value.

mod check;
mod kernel;
mod schedule;
#[cfg(test)]
mod tests;

use std::fmt;

use super::super::transpose::transpose;
use super::{Code, GROUP};
use crate::simd::{Level, Simd, dispatch, i8x64, prelude::*};
use check::{Bits, Sum};
pub use kernel::KernelTables;
use schedule::Schedule;

/// Lanes of a layer: a group, rounded up to whole strips. The lanes beyond a group repeat its first ones.
const LANES: usize = STRIPS * STRIP;
const STRIPS: usize = GROUP.div_ceil(STRIP);
/// Lanes computed together, in vector registers.
const STRIP: usize = 64;
/// Largest magnitude of a message from a check.
const MAX_MESSAGE: u8 = 31;
/// The posteriors of a group, turned and stored twice.
#[derive(Clone)]
#[repr(align(64))]
struct Ring([i8; 2 * LANES]);

impl Ring {
    /// Lanes from position `turn` < 360 on.
    #[inline(always)]
    fn window(&self, turn: u16) -> &[i8; LANES] {
        self.0[usize::from(turn)..].first_chunk().expect("a turn is less than 360")
    }

    #[inline(always)]
    fn strip<S: Simd>(&self, simd: S, turn: u16, strip: usize) -> i8x64<S> {
        i8x64::load_array_ref(simd, &self.window(turn).as_chunks().0[strip])
    }

    /// Stores a strip in both copies.
    #[inline(always)]
    fn store<S: Simd>(&mut self, strip: usize, lanes: i8x64<S>) {
        let start = strip * STRIP;
        lanes.store_slice(&mut self.0[start..start + STRIP]);
        lanes.store_slice(&mut self.0[GROUP + start..GROUP + start + STRIP]);
    }

    /// Takes in a group.
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, group: &[i8; GROUP]) {
        for strip in 0..STRIPS {
            // The last strip begins among the bits of the one before.
            let start = (strip * STRIP).min(GROUP - STRIP);
            let bits = i8x64::from_slice(simd, &group[start..start + STRIP]);
            bits.store_slice(&mut self.0[start..start + STRIP]);
            bits.store_slice(&mut self.0[GROUP + start..GROUP + start + STRIP]);
        }
        self.0[2 * GROUP..GROUP + LANES].copy_from_slice(&group[..LANES - GROUP]);
    }

    /// Sets one lane wherever it is stored.
    fn set(&mut self, lane: usize, value: i8) {
        for copy in self.0[lane..GROUP + LANES].iter_mut().step_by(GROUP) {
            *copy = value;
        }
    }
}

/// One value for every lane of a layer.
#[derive(Clone)]
#[repr(align(64))]
struct Lanes([i8; LANES]);

impl Lanes {
    const ZERO: Lanes = Lanes([0; LANES]);

    #[inline(always)]
    fn strip<S: Simd>(&self, simd: S, strip: usize) -> i8x64<S> {
        i8x64::load_array_ref(simd, &self.0.as_chunks().0[strip])
    }

    #[inline(always)]
    fn store<S: Simd>(&mut self, strip: usize, lanes: i8x64<S>) {
        lanes.store_slice(&mut self.0[strip * STRIP..(strip + 1) * STRIP]);
    }
}

/// Spreads parity bits over the q rings that they belong to, bits `lane` to `lane + 7` of each.
#[inline(always)]
fn load_parity(bits: &[i8], q: usize, lane: usize, rings: &mut [Ring]) {
    if q < 8 {
        for (i, bits) in bits.chunks_exact(q).enumerate() {
            for (ring, bit) in rings.iter_mut().zip(bits) {
                ring.0[lane + i] = *bit;
            }
        }
        return;
    }
    // Eight rings at a time; the last step may repeat some of the one before.
    for step in (0..q).step_by(8) {
        let first = step.min(q - 8);
        let mut rows = [0; 8];
        for (row, bits) in rows.iter_mut().zip(bits.chunks_exact(q)) {
            let bits: &[i8; 8] = bits[first..].first_chunk().expect("eight rings are left");
            *row = u64::from_le_bytes(bits.map(i8::cast_unsigned));
        }
        transpose(&mut rows);
        for (ring, column) in rings[first..].iter_mut().zip(rows) {
            ring.0[lane..lane + 8].copy_from_slice(&column.to_le_bytes().map(u8::cast_signed));
        }
    }
}

/// What [`Decoder::decode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Iterations made; 0 if the hard decisions of the channel were a codeword.
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
    rings: Box<[Ring]>,
    /// Last message of every check to every bit, block by block.
    messages: Box<[Lanes]>,
    /// What the bits of a layer know without the check concerned, block by block.
    extrinsics: Box<[Lanes]>,
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
    /// Allocates all that decoding needs: from 86 KiB (short 4/5) to 436 KiB (normal 3/5).
    pub fn new(code: &'static Code, max_iterations: u32) -> Decoder {
        Decoder::with_level(code, max_iterations, Level::best())
    }

    /// The same with other vector instructions than the best. The results do not depend on them.
    pub fn with_level(code: &'static Code, max_iterations: u32, level: Level) -> Decoder {
        let schedule = Schedule::new(code);
        let blocks_of_a_layer = schedule.layers.iter().map(|layer| layer.end - layer.first);
        Decoder {
            code,
            max_iterations,
            level,
            rings: vec![Ring([0; 2 * LANES]); schedule.groups()].into(),
            messages: vec![Lanes::ZERO; schedule.edges(true).len()].into(),
            extrinsics: vec![Lanes::ZERO; blocks_of_a_layer.max().unwrap_or(0)].into(),
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
    /// Stops as soon as all checks hold, which is tested before every iteration. Any input is accepted.
    /// Allocates nothing.
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
        let mut iterations = 0;
        let mut converged = self.is_codeword(simd, true);
        while !converged && iterations < self.max_iterations {
            self.iterate(simd, iterations == 0);
            iterations += 1;
            converged = self.is_codeword(simd, false);
        }
        self.store(simd, iterations == 0, out);
        Decoded { iterations, converged }
    }

    /// Takes in a frame, parity transposed.
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, llr: &[i8]) {
        let (information, parity) = llr.split_at(self.code.kldpc);
        let (information_rings, parity_rings) = self.rings.split_at_mut(self.code.rows.len());
        let groups = information.as_chunks().0;
        for (ring, group) in information_rings.iter_mut().zip(groups) {
            ring.load(simd, group);
        }
        for (i, eight) in parity.chunks_exact(8 * self.code.q).enumerate() {
            load_parity(eight, self.code.q, 8 * i, parity_rings);
        }
        for ring in parity_rings {
            let group = *ring.0.first_chunk().expect("a ring holds a group");
            ring.load(simd, &group);
        }
    }

    /// Whether the signs of the posteriors satisfy all checks, before the first iteration or any other.
    #[inline(always)]
    fn is_codeword<S: Simd>(&mut self, simd: S, first: bool) -> bool {
        for r in 0..self.schedule.layers.len() {
            let spared = self.replace_missing_bit(r, first);
            let holds = self.layer_holds(simd, r, first);
            if let Some(posterior) = spared {
                let position = usize::from(self.schedule.edges(first)[self.schedule.missing].turn_at_rest);
                self.last_ring().set(position, posterior);
            }
            if !holds {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn layer_holds<S: Simd>(&self, simd: S, r: usize, first: bool) -> bool {
        let layer = &self.schedule.layers[r];
        for strip in 0..STRIPS {
            let mut sign = i8x64::splat(simd, 0);
            for edge in &self.schedule.edges(first)[layer.first..layer.end] {
                sign ^= self.rings[usize::from(edge.group)].strip(simd, edge.turn_at_rest, strip);
            }
            if sign.simd_lt(0).any_true() {
                return false;
            }
        }
        true
    }

    /// Puts a bit that is certainly 0 in the place of the one that lane 0 of layer 0 lacks, and returns what was
    /// there. Does nothing for the other layers.
    #[inline(always)]
    fn replace_missing_bit(&mut self, r: usize, first: bool) -> Option<i8> {
        if r > 0 {
            return None;
        }
        let position = usize::from(self.schedule.edges(first)[self.schedule.missing].turn);
        let ring = self.last_ring();
        let posterior = ring.0[position];
        ring.set(position, i8::MAX);
        Some(posterior)
    }

    /// The parity group of the missing bit.
    #[inline(always)]
    fn last_ring(&mut self) -> &mut Ring {
        let last = self.rings.len() - 1;
        &mut self.rings[last]
    }

    /// Updates every layer once; in the first iteration all messages are 0, whatever is stored.
    #[inline(always)]
    fn iterate<S: Simd>(&mut self, simd: S, first: bool) {
        for r in 0..self.schedule.layers.len() {
            let spared = self.replace_missing_bit(r, first);
            self.update_layer(simd, r, first);
            if let Some(posterior) = spared {
                // The layer has moved its lane 0 to the front.
                self.last_ring().set(0, posterior);
                let message = &mut self.messages[self.schedule.missing].0;
                message[0] = 0;
                message[GROUP] = 0;
            }
        }
    }

    /// Computes the messages of the checks of a layer and adds them to the posteriors.
    #[inline(always)]
    fn update_layer<S: Simd>(&mut self, simd: S, r: usize, first: bool) {
        let layer = &self.schedule.layers[r];
        let edges = &self.schedule.edges(first)[layer.first..layer.end];
        let messages = &mut self.messages[layer.first..layer.end];
        let extrinsics = &mut self.extrinsics[..edges.len()];
        let rings = &mut *self.rings;

        let sum = Sum::new(simd);
        let mut checks = [Bits::none(simd, sum).checks(); STRIPS];
        // Two strips at a time: one's sums would wait for each other.
        for strip in (0..STRIPS).step_by(2) {
            let mut bits = Bits::none(simd, sum);
            let mut bits_beside = bits;
            for ((edge, message), extrinsic) in edges.iter().zip(&*messages).zip(&mut *extrinsics) {
                let message = if first { &Lanes::ZERO } else { message };
                let ring = &rings[usize::from(edge.group)];
                let known = ring.strip(simd, edge.turn, strip).saturating_sub(message.strip(simd, strip));
                extrinsic.store(strip, known);
                bits.take(known);
                let known = ring.strip(simd, edge.turn, strip + 1).saturating_sub(message.strip(simd, strip + 1));
                extrinsic.store(strip + 1, known);
                bits_beside.take(known);
            }
            checks[strip] = bits.checks();
            checks[strip + 1] = bits_beside.checks();
        }

        for (strip, checks) in checks.iter().enumerate() {
            let blocks = edges.iter().zip(&mut *messages).zip(&*extrinsics);
            for ((edge, message), extrinsic) in blocks.take(layer.primaries) {
                let known = extrinsic.strip(simd, strip);
                let new = checks.message(known);
                message.store(strip, new);
                let posterior = known.saturating_add(new);
                rings[usize::from(edge.group)].store(strip, posterior);
            }
        }
        for repeat in &self.schedule.repeats[layer.first_repeat..][..edges.len() - layer.primaries] {
            let ring = &mut rings[usize::from(edges[repeat.edge].group)];
            let message = &mut messages[repeat.edge];
            if first {
                *message = Lanes::ZERO;
            }
            let before = Lanes(*ring.window(repeat.turn));
            for (strip, checks) in checks.iter().enumerate() {
                let new = checks.message(extrinsics[repeat.edge].strip(simd, strip));
                let change = new - message.strip(simd, strip);
                message.store(strip, new);
                let posterior = before.strip(simd, strip).saturating_add(change);
                ring.store(strip, posterior);
            }
        }
    }

    /// Writes the signs of the information bits, before the first iteration or any other.
    #[inline(always)]
    fn store<S: Simd>(&self, simd: S, first: bool, out: &mut [u8]) {
        let groups = out.as_chunks_mut::<{ GROUP / 8 }>().0;
        for (group, (ring, bytes)) in self.rings.iter().zip(groups).enumerate() {
            let shift = self.schedule.shift(group, first);
            for (strip, bytes) in bytes.chunks_mut(STRIP / 8).enumerate() {
                // Lane 0 is the lowest bit of the mask and belongs in the highest bit of the first byte.
                let negative = ring.strip(simd, shift, strip).simd_lt(0).to_bitmask();
                bytes.copy_from_slice(&negative.reverse_bits().to_be_bytes()[..bytes.len()]);
            }
        }
    }
}
