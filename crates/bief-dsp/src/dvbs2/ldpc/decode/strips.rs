//! A layer strip by strip: lanes in vector registers, what their checks hear from bits, and what they tell them.

use super::super::GROUP;
use super::check::{Bits, Checks, Sum};
use super::schedule::Block;
use crate::simd::{Simd, i8x64, prelude::*};

/// Lanes of a layer: a group, rounded up to whole strips. The lanes beyond a group repeat its first ones.
pub(super) const LANES: usize = STRIPS * STRIP;
/// Strips of a layer.
pub(super) const STRIPS: usize = GROUP.div_ceil(STRIP);
/// Those of each strip that are of the group.
pub(super) const LANES_OF: [u64; STRIPS] = [!0, !0, !0, !0, !0, (1 << (GROUP % STRIP)) - 1];
/// Lanes computed together, in vector registers.
pub(super) const STRIP: usize = 64;
/// Bytes of a ring: the posteriors of a group, turned, and behind them the first ones again, as many as a strip has.
pub(super) const RING: usize = (GROUP + STRIP).next_multiple_of(64);

/// One value for every lane of a layer.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Lanes(pub(super) [i8; LANES]);

impl Lanes {
    pub(super) const ZERO: Lanes = Lanes([0; LANES]);

    #[inline(always)]
    pub(super) fn strip<S: Simd>(&self, simd: S, strip: usize) -> i8x64<S> {
        i8x64::load_array_ref(simd, &self.0.as_chunks().0[strip])
    }

    #[inline(always)]
    pub(super) fn store<S: Simd>(&mut self, strip: usize, lanes: i8x64<S>) {
        lanes.store_slice(&mut self.0[strip * STRIP..(strip + 1) * STRIP]);
    }

    /// Sets a lane wherever it is stored: what it was.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, value: i8) -> i8 {
        let before = std::mem::replace(&mut self.0[lane], value);
        self.0[if lane < LANES - GROUP { lane + GROUP } else { lane }] = value;
        before
    }
}

/// Reads a strip from a place among the rings.
#[inline(always)]
pub(super) fn strip_at<S: Simd>(simd: S, rings: &[i8], place: usize) -> i8x64<S> {
    i8x64::from_slice(simd, &rings[place..place + STRIP])
}

/// The ring that begins at a place.
#[inline(always)]
pub(super) fn ring_at(rings: &mut [i8], place: usize) -> &mut [i8; RING] {
    rings[place..].first_chunk_mut().expect("there is a ring for each group")
}

/// Sets one place of a ring wherever it is stored: what it was.
#[inline(always)]
pub(super) fn set_place(ring: &mut [i8; RING], place: usize, value: i8) -> i8 {
    let before = std::mem::replace(&mut ring[place], value);
    ring[if place < STRIP { place + GROUP } else { place }] = value;
    before
}

/// Stores a strip of a ring.
#[inline(always)]
fn store_strip<S: Simd>(ring: &mut [i8; RING], strip: usize, lanes: i8x64<S>) {
    lanes.store_slice(&mut ring[strip * STRIP..(strip + 1) * STRIP]);
    if strip == 0 {
        lanes.store_slice(&mut ring[GROUP..GROUP + STRIP]);
    }
}

/// A place round a group, given it or one that is a turn further.
#[inline(always)]
pub(super) fn wrapped(place: usize) -> usize {
    if place < GROUP { place } else { place - GROUP }
}

/// Where strip `strip` of a ring is, lane 0 being `turn` behind its beginning.
#[inline(always)]
pub(super) fn place(ring: usize, turn: u16, strip: usize) -> usize {
    ring + wrapped(usize::from(turn) + strip * STRIP)
}

/// Where each strip of a block is among the rings.
pub(super) type Places = [u32; STRIPS];

/// Those of a block, lane 0 being `turn` behind the beginning of the ring.
pub(super) fn places_of(ring: usize, turn: u16) -> Places {
    std::array::from_fn(|strip| place(ring, turn, strip) as u32)
}

/// The checks of a strip that do not hold, a bit for each.
#[inline(always)]
pub(super) fn odd_in_strip<S: Simd>(simd: S, rings: &[i8], places: &[Places], strip: usize) -> u64 {
    let mut sign = i8x64::splat(simd, 0);
    for places in places {
        sign ^= strip_at(simd, rings, places[strip] as usize);
    }
    sign.simd_lt(0).to_bitmask() & LANES_OF[strip]
}

/// What the bits of a strip know without the check that told them `message`; in the first iteration none has.
#[inline(always)]
fn known<S: Simd, const FIRST: bool>(simd: S, rings: &[i8], place: u32, message: &Lanes, strip: usize) -> i8x64<S> {
    let posterior = strip_at(simd, rings, place as usize);
    if FIRST { posterior } else { posterior.saturating_sub(message.strip(simd, strip)) }
}

/// What the checks of `N` strips have to say, from strip `first` on. What a bit adds has to wait for the one before: other strips fill the time.
/// What primary bits know without the check concerned takes the place of their messages; of repeats it goes into `repeated`.
#[inline(always)]
pub(super) fn hear_strips<S: Simd, const FIRST: bool, const N: usize>(
    simd: S,
    sum: Sum<S>,
    (rings, places): (&[i8], &[Places]),
    primaries: &mut [Lanes],
    (repeats, repeated): (&[Lanes], &mut [Lanes]),
    first: usize,
) -> [Checks<S>; N] {
    let mut bits = [Bits::none(simd, sum); N];
    let (of_primaries, of_repeats) = places.split_at(primaries.len());
    for (places, message) in of_primaries.iter().zip(primaries) {
        for (strip, bits) in (first..).zip(&mut bits) {
            let known = known::<S, FIRST>(simd, rings, places[strip], message, strip);
            message.store(strip, known);
            bits.take(known);
        }
    }
    for ((places, message), extrinsic) in of_repeats.iter().zip(repeats).zip(repeated) {
        for (strip, bits) in (first..).zip(&mut bits) {
            let known = known::<S, FIRST>(simd, rings, places[strip], message, strip);
            extrinsic.store(strip, known);
            bits.take(known);
        }
    }
    let mut checks = [bits[0].checks(simd); N];
    for (checks, bits) in checks.iter_mut().zip(bits) {
        *checks = bits.checks(simd);
    }
    checks
}

/// Tells the primary bits of `N` strips, from strip `first` on, what their checks have to say.
#[inline(always)]
pub(super) fn tell_strips<S: Simd, const N: usize>(
    simd: S,
    checks: [Checks<S>; N],
    rings: &mut [i8],
    primaries: (&[Block], &mut [Lanes]),
    first: usize,
) {
    for (block, message) in primaries.0.iter().zip(primaries.1) {
        let ring = ring_at(rings, block.ring());
        for (strip, checks) in (first..).zip(&checks) {
            let known = message.strip(simd, strip);
            let new = checks.message(simd, known);
            message.store(strip, new);
            store_strip(ring, strip, known.saturating_add(new));
        }
    }
}

/// Tells a group of bits that has been told by another block of the layer: what their message changes is added to what they have become.
#[inline(always)]
pub(super) fn tell_repeat<S: Simd, const FIRST: bool>(
    simd: S,
    checks: &[Checks<S>; STRIPS],
    rings: &mut [i8],
    (ring, places): (usize, &Places),
    message: &mut Lanes,
    extrinsic: &Lanes,
) {
    let mut posteriors = [i8x64::splat(simd, 0); STRIPS];
    for (posterior, place) in posteriors.iter_mut().zip(places) {
        *posterior = strip_at(simd, rings, *place as usize);
    }
    let ring = ring_at(rings, ring);
    for (strip, (checks, posterior)) in checks.iter().zip(&posteriors).enumerate() {
        let new = checks.message(simd, extrinsic.strip(simd, strip));
        let change = if FIRST { new } else { new - message.strip(simd, strip) };
        message.store(strip, new);
        store_strip(ring, strip, posterior.saturating_add(change));
    }
}
