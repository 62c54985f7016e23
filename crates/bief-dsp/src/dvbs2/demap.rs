//! Soft demapping: from received symbols to log-likelihood ratios in the order of the codeword
//! (the inverse of EN 302 307-1, clauses 5.3.3 and 5.4).

mod cells;
mod kernel;

use num_complex::Complex32;

use super::s2x::{self, Shape};
use super::scramble::PlScrambler;
use super::transpose::transpose;
use super::{Constellation, FrameSize, HEADER, Interleaver, Layout, Modcod, Modulation, SLOT, SignalLevel};
use crate::planar::Planar;
use crate::simd::{Level, Simd, dispatch, f32x16, i8x16, i8x64, i32x16, prelude::*, u8x16, u8x32, u8x64, u32x16};
use cells::Cells;

pub use kernel::{DemapKernel, DemapTables};

/// Counts of an 8-bit LLR per unit.
const COUNTS: f32 = 4.0;
/// Largest magnitude of an 8-bit LLR.
const MAX: f32 = 127.0;
/// Symbols demapped together: as many as a vector has lanes.
const BLOCK: usize = 16;
/// Symbols of QPSK demapped together.
const PAIR: usize = 2 * BLOCK;
/// 1.5 · 2²³: added to a small number, it leaves the rounded number in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;
/// Largest number of points that are looked at one by one.
const MAX_POINTS: usize = 16;

/// Demapper and deinterleaver of one MODCOD and frame size.
///
/// QPSK is demapped exactly. 8PSK, and 16APSK with the labels of DVB-S2, use the max-log rule, which takes the nearest
/// point for each value of a bit: LLR = (min |y - p|² over bit 1 - min |y - p|² over bit 0) / N0. It loses up to 0.03 dB
/// against the exact rule. The other constellations, where it would lose up to 0.14 dB or look at many points, are demapped by a
/// table of exact LLRs, which is made for the Es/N0 that the MODCOD needs and scaled to that of the frame, to within 0.4 %.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::{Demapper, FrameSize}};
///
/// let demapper = Demapper::new("qpsk-8/9".parse()?, FrameSize::Short);
/// let symbols = vec![Complex32::new(0.7, -0.1); demapper.symbols()];
/// let mut llr = vec![0; demapper.bits()];
/// demapper.demap(&symbols, 0.5, &mut llr);
/// assert_eq!(llr[..2], [16, -2]); // 4 × 2√2 × 0.7 / 0.5 = 15.8, and -2.3
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Demapper {
    rule: Rule,
    interleaver: Interleaver,
    /// 2 Re p of every point p, by label.
    twice_re: [f32; MAX_POINTS],
    /// 2 Im p.
    twice_im: [f32; MAX_POINTS],
    /// |p|².
    energy: [f32; MAX_POINTS],
    size: FrameSize,
    level: Level,
}

/// How symbols are demapped.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Qpsk,
    Psk8,
    Apsk16,
    Table(&'static Cells),
}

impl Rule {
    fn of(modcod: Modcod, size: FrameSize) -> Rule {
        let rings = s2x::frame_of(modcod, size).map(|frame| &frame.shape);
        match (modcod.modulation(), rings) {
            (Modulation::Qpsk, _) => Rule::Qpsk,
            (Modulation::Psk8, _) => Rule::Psk8,
            (Modulation::Apsk16, None | Some(Shape::Rings("4+12APSK", _))) => Rule::Apsk16,
            _ => Rule::Table(Cells::of(modcod, size)),
        }
    }
}

impl Demapper {
    /// The demapper of a MODCOD and frame size.
    pub fn new(modcod: Modcod, size: FrameSize) -> Demapper {
        Demapper::with_level(modcod, size, Level::best())
    }

    /// The same with other vector instructions than the best. The results do not depend on them.
    pub fn with_level(modcod: Modcod, size: FrameSize, level: Level) -> Demapper {
        let interleaver = Interleaver::new(modcod, size);
        let points = Constellation::new(modcod, size).points();
        let [mut twice_re, mut twice_im, mut energy] = [[0.0; MAX_POINTS]; 3];
        for (i, p) in points.iter().take(MAX_POINTS).enumerate() {
            (twice_re[i], twice_im[i], energy[i]) = (2.0 * p.re, 2.0 * p.im, p.norm_sqr());
        }
        Demapper { rule: Rule::of(modcod, size), interleaver, twice_re, twice_im, energy, size, level }
    }

    /// Payload symbols of a frame.
    pub fn symbols(&self) -> usize {
        self.interleaver.rows().next_multiple_of(SLOT)
    }

    /// Bits of a codeword: nldpc.
    pub fn bits(&self) -> usize {
        self.size.bits()
    }

    /// Writes the LLR of every codeword bit, positive for 0, in steps of a quarter, rounded and saturated at
    /// ±127 counts.
    ///
    /// The symbols have unit mean energy, without pilots and PL scrambling; `n0` is the variance of the complex
    /// noise. A symbol that is not a number gets LLRs of 0; `n0` = 0 gives decisions of ±127; an `n0` that is
    /// negative or not a number gives 0 throughout. Allocates nothing.
    ///
    /// An `n0` far below the true one saturates all LLRs and spoils decoding: bound the estimate by what the
    /// MODCOD needs, say 6 dB above its threshold.
    ///
    /// # Panics
    ///
    /// If `symbols` is not [`symbols`](Demapper::symbols) long, or `llr` not [`bits`](Demapper::bits).
    pub fn demap(&self, symbols: &[Complex32], n0: f32, llr: &mut [i8]) {
        assert_eq!(symbols.len(), self.symbols(), "payload symbols");
        self.demap_run(Plain(symbols), SignalLevel { amplitude: 1.0, n0 }, 0, llr);
    }

    /// The same for the payload of a whole PLFRAME, header and pilots included, as strong as it was received: scaling it to unit
    /// energy, PL descrambling, taking the payload out and demapping in one pass.
    ///
    /// ```
    /// use bief_dsp::{Complex32, dvbs2::{Demapper, FrameSize, Layout, Pls, SignalLevel, scramble::PlScrambler}};
    ///
    /// let pls = Pls::new(43); // QPSK 8/9 short, pilots
    /// let (layout, scrambler) = (Layout::new(pls).unwrap(), PlScrambler::broadcast());
    /// let mut frame = vec![Complex32::new(1.4, -0.2); layout.symbols()];
    /// scrambler.scramble(0, &mut frame[90..]);
    /// let demapper = Demapper::new(pls.modcod().unwrap(), FrameSize::Short);
    /// let mut llr = vec![0; demapper.bits()];
    /// demapper.demap_plframe(&frame, &layout, scrambler, SignalLevel { amplitude: 2.0, n0: 0.5 }, &mut llr);
    /// assert!(llr.chunks(2).all(|pair| pair == [16, -2]));
    /// ```
    ///
    /// # Panics
    ///
    /// If `frame` is not as long as `layout` says, `layout` has another number of payload symbols than
    /// [`symbols`](Demapper::symbols), or `llr` is not [`bits`](Demapper::bits) long.
    pub fn demap_plframe(
        &self,
        frame: &[Complex32],
        layout: &Layout,
        scrambler: &PlScrambler,
        received: SignalLevel,
        llr: &mut [i8],
    ) {
        assert_eq!(frame.len(), layout.symbols(), "symbols of the PLFRAME");
        assert_eq!(layout.payload_symbols(), self.symbols(), "payload symbols");
        let mut first = 0;
        for run in layout.payload_runs() {
            let rotations = &scrambler.rotations()[run.start - HEADER..run.end - HEADER];
            let symbols = &frame[run];
            self.demap_run(Scrambled { symbols, rotations }, received, first, llr);
            first += symbols.len();
        }
    }

    /// Demaps consecutive payload symbols of a frame, the first of which is number `offset`.
    fn demap_run<P: Payload>(&self, payload: P, received: SignalLevel, offset: usize, llr: &mut [i8]) {
        assert_eq!(llr.len(), self.bits(), "LLRs");
        let (n0, gain) = (received.n0, received.gain());
        if n0.is_nan() || n0 < 0.0 {
            llr.fill(0);
            return;
        }
        let level = self.level;
        match self.rule {
            Rule::Qpsk => dispatch!(level, simd => qpsk(simd, payload, gain / n0, offset, llr)),
            Rule::Psk8 => dispatch!(level, simd => self.psk8(simd, payload, gain / n0, offset, llr)),
            Rule::Apsk16 => dispatch!(level, simd => self.apsk16(simd, payload, (gain, n0), offset, llr)),
            Rule::Table(cells) => {
                dispatch!(level, simd => self.by_cells(simd, cells, payload, (gain, n0), offset, llr))
            }
        }
    }

    /// 16APSK. The last two bits are the signs of a point's parts, the first two tell the four points of a
    /// quadrant apart: the symbol is folded into the first quadrant.
    #[inline(always)]
    fn apsk16<S: Simd, P: Payload>(&self, simd: S, payload: P, (gain, n0): (f32, f32), offset: usize, llr: &mut [i8]) {
        for first in blocks::<BLOCK>(payload.len()) {
            let Planar { re, im } = payload.block(simd, first).scale(f32x16::splat(simd, gain));
            let (re_abs, im_abs) = (re.abs(), im.abs());
            // Nearness of the points, and of their mirror images on the other side of either axis.
            let (mut points, mut left, mut below) = ([re; 4], [re; 4], [re; 4]);
            for i in 0..4 {
                let (along_re, along_im) = (re_abs * self.twice_re[4 * i], im_abs * self.twice_im[4 * i]);
                points[i] = along_re + along_im - self.energy[4 * i];
                left[i] = along_im - along_re - self.energy[4 * i];
                below[i] = along_re - along_im - self.energy[4 * i];
            }
            let (bit_0, by_bit_1) = split::<S, 4, 2>(points);
            let bit_1 = by_bit_1[0] - by_bit_1[1];
            let nearest = by_bit_1[0].max(by_bit_1[1]);
            let bit_2 = (nearest - nearest_of(left)).copysign(re);
            let bit_3 = (nearest - nearest_of(below)).copysign(im);
            self.store([bit_0, bit_1, bit_2, bit_3], COUNTS / n0, offset + first, llr);
        }
    }

    /// 8PSK. A turn by 22.5° brings the points between the axes, in pairs on either side of each: the first bit
    /// says which axis is near, the second one the sign along the first axis, the third one that along the other.
    #[inline(always)]
    fn psk8<S: Simd, P: Payload>(&self, simd: S, payload: P, scale: f32, offset: usize, llr: &mut [i8]) {
        let (sin, cos) = std::f32::consts::FRAC_PI_8.sin_cos();
        for first in blocks::<BLOCK>(payload.len()) {
            let Planar { re, im } = payload.block(simd, first);
            let (u, v) = (re * cos + im * sin, im * cos - re * sin);
            let bits = [(u.abs() - v.abs()) * (cos - sin), along(u, v, sin, cos), along(v, u, sin, cos)];
            self.store(bits, 2.0 * COUNTS * scale, offset + first, llr);
        }
    }

    /// By the cells that symbols lie in.
    #[inline(always)]
    fn by_cells<S: Simd, P: Payload>(
        &self,
        simd: S,
        cells: &Cells,
        payload: P,
        (gain, n0): (f32, f32),
        offset: usize,
        llr: &mut [i8],
    ) {
        let scale = Scale::new(cells.n0 / n0);
        let (length, width) = (self.interleaver.rows(), self.interleaver.width());
        let mut columns = [0; 8];
        for (bit, column) in columns.iter_mut().enumerate().take(width) {
            *column = self.interleaver.bit(0, bit);
        }
        for first in blocks::<BLOCK>(payload.len()) {
            let Planar { re, im } = payload.block(simd, first).scale(f32x16::splat(simd, gain));
            let pairs: [[u8; BLOCK]; 8] = bytemuck::cast(cells.look_up(simd, re, im).map(u64::to_le));
            let mut rows = [u8x16::splat(simd, 0); 8];
            for (row, pair) in rows.iter_mut().zip(pairs) {
                *row = u8x16::load_array(simd, pair);
            }
            let [a, b, c, d, e, f, g, h] = transpose::<S, 4>(rows);
            let halves = [a.combine(b).combine(c.combine(d)), e.combine(f).combine(g.combine(h))];
            let mut bits = [[0; BLOCK]; 8];
            for (half, bits) in halves.into_iter().zip(bits.as_chunks_mut::<4>().0) {
                *bits = bytemuck::cast::<[i8; 64], _>(scale.of(half.bitcast::<i8x64<S>>()).into());
            }
            // The table is that of the quadrant where both parts are positive.
            if let Some([of_re, of_im]) = cells.signs {
                mirror(simd, &mut bits[of_re], re);
                mirror(simd, &mut bits[of_im], im);
            }
            let first = offset + first;
            for (bit, (counts, column)) in bits.iter().zip(columns).enumerate().take(width) {
                match llr.get_mut(column + first..).and_then(<[i8]>::first_chunk_mut) {
                    Some(room) if first + BLOCK <= length => *room = *counts,
                    _ => self.store_some(counts, first, bit, llr),
                }
            }
        }
    }

    /// Writes the LLRs of one label bit of a block of symbols, which does not lie in the codeword as a whole, as far as it does.
    #[cold]
    #[inline(never)]
    fn store_some(&self, counts: &[i8; BLOCK], first: usize, index: usize, llr: &mut [i8]) {
        let place = self.interleaver.bit(first, index);
        let count = self.interleaver.rows().saturating_sub(first).min(llr.len().saturating_sub(place));
        if count > 0 {
            let count = count.min(BLOCK);
            llr[place..place + count].copy_from_slice(&counts[..count]);
        }
    }

    /// Writes the LLRs of the label bits of a block of symbols to their places in the codeword.
    #[inline(always)]
    fn store<S: Simd, const BITS: usize>(&self, bits: [f32x16<S>; BITS], scale: f32, first: usize, llr: &mut [i8]) {
        for (i, bit) in bits.into_iter().enumerate() {
            quantise(bit * scale, chunk_mut(llr, self.interleaver.bit(first, i)));
        }
    }
}

/// What the counts of a table are multiplied by: eight significant bits, so that products fit 16 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    /// 0 to 256.
    factor: i16,
    /// How many of its bits are behind the binary point.
    places: u32,
}

impl Scale {
    /// Bits of a factor, and its places at most: with a smaller one, all counts become 0.
    const BITS: i32 = 8;
    const MOST_PLACES: i32 = 15;

    /// The nearest one; for numbers that are too large, and infinity, the largest.
    fn new(scale: f32) -> Scale {
        const LARGEST: f32 = 255.0;
        let scale = scale.clamp(0.0, LARGEST);
        // 2^exponent is the highest power of two in it.
        let exponent = (scale.to_bits() >> 23) as i32 - 127;
        let places = (Self::BITS - 1 - exponent).clamp(0, Self::MOST_PLACES);
        Scale { factor: (scale * (places as f32).exp2()).round() as i16, places: places as u32 }
    }

    /// As a number.
    fn value(self) -> f32 {
        f32::from(self.factor) / (self.places as f32).exp2()
    }

    /// Counts times this: rounded, halves up, and saturated at ±127.
    #[inline(always)]
    fn of<S: Simd>(self, counts: i8x64<S>) -> i8x64<S> {
        let (low, high) = counts.widen();
        let (low, high) = (low * self.factor, high * self.factor);
        let scaled = if self.places == 0 {
            low.saturating_narrow(high)
        } else {
            // A product and a half more may need 17 bits: it is rounded when one place is left.
            let places = self.places - 1;
            (((low >> places) + 1) >> 1).saturating_narrow(((high >> places) + 1) >> 1)
        };
        scaled.max(-(MAX as i8))
    }
}

/// Negates the counts of symbols whose part is negative.
#[inline(always)]
fn mirror<S: Simd>(simd: S, counts: &mut [i8; BLOCK], part: f32x16<S>) {
    let mut is_negative = [0; BLOCK];
    for (negative, bits) in is_negative.iter_mut().zip(part.to_bits().to_array()) {
        *negative = (bits.cast_signed() >> 31) as i8;
    }
    let (is_negative, all) = (i8x16::load_array(simd, is_negative), i8x16::load_array(simd, *counts));
    *counts = ((all ^ is_negative) - is_negative).into();
}

/// Half of |y - p|² - |y - q|² for the nearest of four points on each side of an axis of 8PSK, y being `x` along
/// the axis and `across` beside it. While y is nearer to this axis than to the other one, the nearest of all
/// counts; else the two points next to the border do.
#[inline(always)]
fn along<S: Simd>(x: f32x16<S>, across: f32x16<S>, sin: f32, cos: f32) -> f32x16<S> {
    let (x_abs, across) = (x.abs(), across.abs());
    (x_abs * (cos + sin) - across * (cos - sin)).max(x_abs * (2.0 * sin)).copysign(x)
}

#[inline(always)]
fn nearest_of<S: Simd>(nearness: [f32x16<S>; 4]) -> f32x16<S> {
    nearness[0].max(nearness[1]).max(nearness[2].max(nearness[3]))
}

/// By how much the nearest point is nearer among those whose label begins with 0 than among the others; and,
/// for each rest of a label, the nearer one of the two points that have it.
#[inline(always)]
fn split<S: Simd, const POINTS: usize, const HALF: usize>(
    nearness: [f32x16<S>; POINTS],
) -> (f32x16<S>, [f32x16<S>; HALF]) {
    let (of_0, of_1) = nearness.split_at(HALF);
    let (mut nearest_of_0, mut nearest_of_1) = (of_0[0], of_1[0]);
    let mut nearer = [of_0[0]; HALF];
    for i in 0..HALF {
        nearest_of_0 = nearest_of_0.max(of_0[i]);
        nearest_of_1 = nearest_of_1.max(of_1[i]);
        nearer[i] = of_0[i].max(of_1[i]);
    }
    (nearest_of_0 - nearest_of_1, nearer)
}

/// Both bits of a symbol are independent: LLR = 2√2 Re y / N0 and 2√2 Im y / N0.
#[inline(always)]
fn qpsk<S: Simd, P: Payload>(simd: S, payload: P, scale: f32, offset: usize, llr: &mut [i8]) {
    let scale = COUNTS * 8f32.sqrt() * scale;
    for first in blocks::<PAIR>(payload.len()) {
        let [a, b] = parts(simd, payload.symbols(first));
        let [c, d] = parts(simd, payload.symbols(first + BLOCK));
        let [a, b, c, d] = [whole(a * scale), whole(b * scale), whole(c * scale), whole(d * scale)];
        let counts = a.saturating_narrow(b).saturating_narrow(c.saturating_narrow(d));
        let counts = payload.turn_counts(first, counts);
        counts.store_slice(&mut llr[2 * (offset + first)..][..2 * PAIR]);
    }
}

/// Consecutive payload symbols.
trait Payload: Copy {
    fn len(self) -> usize;

    /// The symbols from `first` on, as they were received.
    fn symbols(&self, first: usize) -> &[Complex32; BLOCK];

    /// The same without PL scrambling.
    fn block<S: Simd>(self, simd: S, first: usize) -> Planar<S>;

    /// Takes the PL scrambling off rounded real and imaginary parts of two blocks of symbols from `first` on: rounding is
    /// the same for either sign, so quarter turns can wait until the parts are small.
    fn turn_counts<S: Simd>(self, first: usize, counts: i8x64<S>) -> i8x64<S>;
}

/// Symbols without PL scrambling.
#[derive(Clone, Copy)]
struct Plain<'a>(&'a [Complex32]);

impl Payload for Plain<'_> {
    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn symbols(&self, first: usize) -> &[Complex32; BLOCK] {
        self.0[first..].first_chunk().expect("the block is among the symbols")
    }

    #[inline(always)]
    fn block<S: Simd>(self, simd: S, first: usize) -> Planar<S> {
        Planar::load(simd, self.symbols(first))
    }

    #[inline(always)]
    fn turn_counts<S: Simd>(self, _first: usize, counts: i8x64<S>) -> i8x64<S> {
        counts
    }
}

/// Symbols with PL scrambling, and its quarter turns.
#[derive(Clone, Copy)]
struct Scrambled<'a> {
    symbols: &'a [Complex32],
    rotations: &'a [u8],
}

impl Payload for Scrambled<'_> {
    #[inline(always)]
    fn len(self) -> usize {
        self.symbols.len()
    }

    #[inline(always)]
    fn symbols(&self, first: usize) -> &[Complex32; BLOCK] {
        self.symbols[first..].first_chunk().expect("the block is among the symbols")
    }

    #[inline(always)]
    fn block<S: Simd>(self, simd: S, first: usize) -> Planar<S> {
        let Planar { re, im } = Planar::load(simd, self.symbols(first));
        let (low, high) = u8x16::from_slice(simd, &self.rotations[first..first + BLOCK]).widen();
        let (low, high) = low.combine(high).widen();
        let turns = low.combine(high);
        let is_odd = (turns & 1).simd_eq(1);
        let (turned_re, turned_im) = (is_odd.select(im, re), is_odd.select(re, im));
        // Two and three turns back negate what is now the real part, one and two the imaginary part.
        let (of_re, of_im) = ((turns & 2) << 30, (turns ^ turns >> 1) << 31);
        Planar { re: (turned_re.to_bits() ^ of_re).bitcast(), im: (turned_im.to_bits() ^ of_im).bitcast() }
    }

    #[inline(always)]
    fn turn_counts<S: Simd>(self, first: usize, counts: i8x64<S>) -> i8x64<S> {
        let simd = counts.token();
        let turns = u8x32::from_slice(simd, &self.rotations[first..first + PAIR]);
        // One lane for each part.
        let turns = turns.zip_low(turns).combine(turns.zip_high(turns));
        let swapped = counts.swizzle_dyn_within_blocks(u8x64::block_splat(u8x16::load_array(simd, SWAP)));
        let counts = (turns & 1).simd_eq(1).select(swapped, counts);
        // Two turns negate both parts, one the imaginary part, three the real one.
        let turns = turns + u8x64::block_splat(u8x16::load_array(simd, IS_IMAGINARY));
        (turns & 2).simd_eq(2).select(-counts, counts)
    }
}

/// The lanes of real and imaginary parts exchanged.
const SWAP: [u8; 16] = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14];
/// 1 in the lanes of imaginary parts.
const IS_IMAGINARY: [u8; 16] = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1];

/// Where blocks of this length begin among so many symbols; the last block may begin among the symbols of the one before.
#[inline(always)]
fn blocks<const LENGTH: usize>(symbols: usize) -> impl Iterator<Item = usize> {
    (0..symbols).step_by(LENGTH).map(move |first| first.min(symbols - LENGTH))
}

/// Real and imaginary parts as they alternate in memory.
#[inline(always)]
fn parts<S: Simd>(simd: S, symbols: &[Complex32; BLOCK]) -> [f32x16<S>; 2] {
    let mut parts = [0.0; 2 * BLOCK];
    for (parts, symbol) in parts.as_chunks_mut().0.iter_mut().zip(symbols) {
        *parts = [symbol.re, symbol.im];
    }
    let (low, high) = parts.split_at(BLOCK);
    [f32x16::from_slice(simd, low), f32x16::from_slice(simd, high)]
}

#[inline(always)]
fn chunk_mut(llr: &mut [i8], first: usize) -> &mut [i8; BLOCK] {
    llr[first..].first_chunk_mut().expect("as many LLRs as label bits")
}

/// Rounds to the nearest count (ties to even) and saturates; 0 if not a number.
#[inline(always)]
fn quantise<S: Simd>(x: f32x16<S>, counts: &mut [i8; BLOCK]) {
    for (count, bits) in counts.iter_mut().zip(rounded(x).to_array()) {
        *count = bits as i8;
    }
}

/// The same, as integers of 32 bits.
#[inline(always)]
fn whole<S: Simd>(x: f32x16<S>) -> i32x16<S> {
    (rounded(x) - ROUNDER.to_bits()).bitcast()
}

/// The same, in the lowest bits beside others.
#[inline(always)]
fn rounded<S: Simd>(x: f32x16<S>) -> u32x16<S> {
    let number = x.is_nan().select(f32x16::splat(x.token(), 0.0), x);
    (number.min(MAX).max(-MAX) + ROUNDER).bitcast()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dvbs2::Pls;
    use crate::dvbs2::random::Random;

    const SIZES: [FrameSize; 2] = [FrameSize::Normal, FrameSize::Short];

    /// A random codeword and its symbols.
    fn transmit(modcod: Modcod, size: FrameSize, random: &mut Random) -> (Vec<u8>, Vec<Complex32>) {
        let codeword = random.bytes(size.bits() / 8);
        let mut labels = vec![0; Interleaver::new(modcod, size).rows().next_multiple_of(SLOT)];
        Interleaver::new(modcod, size).labels(&codeword, 0, &mut labels);
        let mut symbols = vec![Complex32::ZERO; labels.len()];
        Constellation::new(modcod, size).map(&labels, &mut symbols);
        (codeword, symbols)
    }

    fn add_noise(symbols: &mut [Complex32], n0: f32, random: &mut Random) {
        let deviation = f64::from(n0 / 2.0).sqrt();
        for symbol in symbols {
            symbol.re += (deviation * random.gaussian()) as f32;
            symbol.im += (deviation * random.gaussian()) as f32;
        }
    }

    fn bit(codeword: &[u8], i: usize) -> bool {
        codeword[i / 8] >> (7 - i % 8) & 1 == 1
    }

    /// LLRs of the label bits of a symbol: exact, and by the max-log rule.
    fn oracle(points: &[Complex32], y: Complex32, n0: f32) -> Vec<(f64, f64)> {
        let metric = |p: &Complex32| {
            let (re, im) = (f64::from(y.re - p.re), f64::from(y.im - p.im));
            -(re * re + im * im) / f64::from(n0)
        };
        (0..points.len().ilog2())
            .map(|bit| {
                let of_bit = |value| {
                    let label_bit = move |label: usize| label >> (points.len().ilog2() - 1 - bit) & 1;
                    points.iter().enumerate().filter(move |(label, _)| label_bit(*label) == value)
                };
                let nearest = |value| of_bit(value).map(|(_, p)| metric(p)).fold(f64::MIN, f64::max);
                let sum = |value| {
                    let scaled = of_bit(value).map(|(_, p)| (metric(p) - nearest(value)).exp());
                    scaled.sum::<f64>().ln() + nearest(value)
                };
                (sum(0) - sum(1), nearest(0) - nearest(1))
            })
            .collect()
    }

    #[test]
    fn llrs_equal_the_definition() {
        let mut random = Random::new(1);
        let size = FrameSize::Short;
        for modcod in Modcod::of_s2().filter(|modcod| !matches!(Rule::of(*modcod, size), Rule::Table(_))) {
            let n0 = 10f32.powf(-modcod.ideal_esn0_db() / 10.0);
            let (_, mut symbols) = transmit(modcod, size, &mut random);
            add_noise(&mut symbols, n0, &mut random);
            let demapper = Demapper::new(modcod, size);
            let mut llr = vec![0; demapper.bits()];
            demapper.demap(&symbols, n0, &mut llr);
            let points = Constellation::new(modcod, size);
            let interleaver = Interleaver::new(modcod, size);
            // No more than the logarithm of the points per bit value separates the two rules.
            let gap = f64::from(points.points().len() as f32 / 2.0).ln();
            for (k, symbol) in symbols.iter().enumerate() {
                for (bit, (exact, max_log)) in oracle(points.points(), *symbol, n0).into_iter().enumerate() {
                    let counts = f64::from(llr[interleaver.bit(k, bit)]);
                    let expected = (4.0 * max_log).clamp(-127.0, 127.0);
                    assert!((counts - expected).abs() < 0.51, "{modcod}: {counts} for {expected}");
                    assert!((max_log - exact).abs() < gap + 1e-6);
                    if modcod.modulation() == Modulation::Qpsk {
                        assert!((max_log - exact).abs() < 1e-6);
                    }
                }
            }
        }
    }

    /// Every MODCOD and frame size that is demapped by a table.
    fn by_table() -> impl Iterator<Item = (Modcod, FrameSize)> {
        let all = Modcod::all().flat_map(|modcod| SIZES.map(|size| (modcod, size)));
        let defined = all.filter(|(modcod, size)| Pls::from_parts(*modcod, *size, false).is_some());
        defined.filter(|(modcod, size)| matches!(Rule::of(*modcod, *size), Rule::Table(_)))
    }

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn llrs_of_a_table_are_near_the_exact_ones() {
        let mut random = Random::new(8);
        for (modcod, size) in by_table() {
            let n0 = 10f32.powf(-modcod.ideal_esn0_db() / 10.0);
            let (_, mut symbols) = transmit(modcod, size, &mut random);
            add_noise(&mut symbols, n0, &mut random);
            let demapper = Demapper::new(modcod, size);
            let mut llr = vec![0; demapper.bits()];
            demapper.demap(&symbols, n0, &mut llr);
            let points = Constellation::new(modcod, size).points();
            let interleaver = Interleaver::new(modcod, size);
            let (mut squares, mut count, mut energy) = (0.0, 0.0, 0.0);
            for (k, symbol) in symbols.iter().enumerate().take(interleaver.rows()).step_by(31) {
                for (bit, (exact, _)) in oracle(points, *symbol, n0).into_iter().enumerate() {
                    let Some(counts) = llr.get(interleaver.bit(k, bit)) else { continue };
                    let expected = (4.0 * exact).clamp(-127.0, 127.0);
                    squares += (f64::from(*counts) - expected).powi(2);
                    energy += expected * expected;
                    count += 1.0;
                }
            }
            // Rounding alone makes 0.3 counts.
            let (error, typical) = ((squares / count).sqrt(), (energy / count).sqrt());
            assert!(error < 0.6 + 0.02 * typical, "{modcod} {size}: error {error} of {typical} counts");
        }
    }

    #[test]
    fn a_table_is_scaled_to_the_noise() {
        let mut random = Random::new(9);
        let (modcod, size) = ("64apsk-11/15".parse().unwrap(), FrameSize::Normal);
        let (_, symbols) = transmit(modcod, size, &mut random);
        let demapper = Demapper::new(modcod, size);
        let [mut once, mut twice] = [vec![0; demapper.bits()], vec![0; demapper.bits()]];
        demapper.demap(&symbols, 0.1, &mut once);
        demapper.demap(&symbols, 0.05, &mut twice);
        for (once, twice) in once.iter().zip(&twice) {
            let (once, twice) = (i32::from(*once), i32::from(*twice));
            assert!((2 * once).clamp(-127, 127).abs_diff(twice) <= 1, "{once} {twice}");
        }
    }

    #[test]
    fn clean_symbols_give_back_the_codeword() {
        let mut random = Random::new(2);
        for modcod in Modcod::all() {
            for size in SIZES.into_iter().filter(|size| Pls::from_parts(modcod, *size, false).is_some()) {
                let (codeword, symbols) = transmit(modcod, size, &mut random);
                let demapper = Demapper::new(modcod, size);
                assert_eq!(demapper.symbols(), symbols.len());
                for n0 in [0.1, 1e-3, 0.0] {
                    let mut llr = vec![0; demapper.bits()];
                    demapper.demap(&symbols, n0, &mut llr);
                    if let Rule::Table(_) = demapper.rule {
                        // With as much noise as tables are made for, some points lie among others.
                        let wrong = llr.iter().enumerate().filter(|(i, llr)| (**llr < 0) != bit(&codeword, *i)).count();
                        assert!(20 * wrong < llr.len(), "{modcod} {size}: {wrong} of {}", llr.len());
                        continue;
                    }
                    for (i, llr) in llr.iter().enumerate() {
                        assert!(*llr != 0 && *llr != -128);
                        assert_eq!(*llr < 0, bit(&codeword, i), "{modcod} {size}, bit {i}");
                        assert!(n0 > 0.0 || llr.abs() == 127);
                    }
                }
            }
        }
    }

    #[test]
    fn a_plframe_gives_the_llrs_of_its_descrambled_payload() {
        let mut random = Random::new(6);
        let scrambler = PlScrambler::new(1234).unwrap();
        for pls in Pls::all() {
            let (Some(modcod), Some(size), Some(layout)) =
                (pls.modcod(), pls.fec().map(|_| pls.frame_size()), Layout::new(pls))
            else {
                continue;
            };
            let mut frame = vec![Complex32::ZERO; layout.symbols()];
            add_noise(&mut frame, 1.0, &mut random);
            frame[HEADER + 100] = Complex32::new(f32::NAN, f32::INFINITY);
            frame[HEADER + 101] = Complex32::new(-0.0, 0.0);
            let demapper = Demapper::new(modcod, size);
            let mut one_pass = vec![99; demapper.bits()];
            demapper.demap_plframe(&frame, &layout, &scrambler, SignalLevel { amplitude: 1.0, n0: 0.3 }, &mut one_pass);
            scrambler.descramble(0, &mut frame[HEADER..]);
            let payload: Vec<_> = layout.payload_runs().flat_map(|run| frame[run].to_vec()).collect();
            let mut three_passes = vec![0; demapper.bits()];
            demapper.demap(&payload, 0.3, &mut three_passes);
            assert!(one_pass == three_passes, "{pls}");
            // A power of two changes nothing but exponents.
            frame.iter_mut().for_each(|symbol| *symbol *= 0.125);
            scrambler.scramble(0, &mut frame[HEADER..]);
            let weak = SignalLevel { amplitude: 0.125, n0: 0.3 };
            demapper.demap_plframe(&frame, &layout, &scrambler, weak, &mut one_pass);
            assert!(one_pass == three_passes, "{pls}");
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        let mut random = Random::new(3);
        for modcod in ["qpsk-1/2", "8psk-3/5", "16apsk-2/3", "32apsk-9/10", "8apsk-5/9-l", "128apsk-3/4"] {
            let modcod: Modcod = modcod.parse().unwrap();
            let size = if modcod.number() < 128 { FrameSize::Short } else { FrameSize::Normal };
            let (_, mut symbols) = transmit(modcod, size, &mut random);
            add_noise(&mut symbols, 0.1, &mut random);
            let mut expected = vec![0; size.bits()];
            Demapper::new(modcod, size).demap(&symbols, 0.08, &mut expected);
            for level in Level::all() {
                let mut llr = vec![0; expected.len()];
                Demapper::with_level(modcod, size, level).demap(&symbols, 0.08, &mut llr);
                assert!(llr == expected, "{modcod} {level}");
            }
        }
    }

    #[test]
    fn counts_of_a_table_are_scaled_to_the_nearest() {
        let all: [i8; 64] = std::array::from_fn(|lane| (5 * lane as i32 - 127).clamp(-127, 127) as i8);
        let scaled = |scale: Scale, level: Level| -> [i8; 64] {
            dispatch!(level, simd => scale.of(i8x64::load_array(simd, all)).into())
        };
        for number in
            [0.0, 1e-9, 0.003, 0.02, 0.24, 0.5, 0.77, 0.999, 1.0, 1.004, 1.9, 2.0, 3.3, 63.0, 254.9, 255.0, 1e9]
        {
            let scale = Scale::new(number);
            let of = number.min(255.0);
            assert!((scale.value() - of).abs() <= of / 255.0 + 1e-4, "{number}: {scale:?}");
            for level in Level::all() {
                for (count, scaled) in all.into_iter().zip(scaled(scale, level)) {
                    let expected = (f32::from(count) * scale.value() + 0.5).floor().clamp(-127.0, 127.0);
                    assert_eq!(f32::from(scaled), expected, "{count} times {number}, {level}");
                }
            }
        }
        assert_eq!(Scale::new(f32::INFINITY), Scale::new(255.0));
        assert_eq!(Scale::new(f32::NAN).value(), 0.0);
    }

    #[test]
    fn rounding_is_to_the_nearest_count() {
        let quantise = |x: f32| {
            let mut counts = [0; BLOCK];
            dispatch!(Level::best(), simd => quantise(f32x16::splat(simd, x), &mut counts));
            assert!(counts.iter().all(|count| *count == counts[0]));
            counts[0]
        };
        for i in -1400..=1400 {
            let x = i as f32 / 10.0;
            assert_eq!(quantise(x), x.round_ties_even().clamp(-127.0, 127.0) as i8, "{x}");
        }
        for (x, counts) in [(f32::NAN, 0), (f32::INFINITY, 127), (f32::NEG_INFINITY, -127), (f32::MIN, -127), (-0.0, 0)]
        {
            assert_eq!(quantise(x), counts, "{x}");
        }
    }

    #[test]
    fn broken_symbols_are_erasures_and_spoil_no_others() {
        let mut random = Random::new(4);
        for modcod in ["qpsk-1/2", "8psk-3/5", "32apsk-9/10", "32apsk-2/3", "8apsk-5/9-l"] {
            let modcod: Modcod = modcod.parse().unwrap();
            let size = if modcod.modulation() == Modulation::Apsk8 { FrameSize::Normal } else { FrameSize::Short };
            let (_, mut symbols) = transmit(modcod, size, &mut random);
            let demapper = Demapper::new(modcod, size);
            let mut clean = vec![0; demapper.bits()];
            demapper.demap(&symbols, 0.1, &mut clean);
            symbols[5] = Complex32::new(f32::NAN, f32::NAN);
            symbols[77] = Complex32::new(f32::INFINITY, f32::NEG_INFINITY);
            symbols[1001] = Complex32::new(f32::MAX, f32::MIN);
            let mut llr = vec![0; demapper.bits()];
            demapper.demap(&symbols, 0.1, &mut llr);
            let interleaver = Interleaver::new(modcod, size);
            for k in 0..symbols.len() {
                for bit in 0..modcod.modulation().bits_per_symbol() {
                    let i = interleaver.bit(k, bit);
                    match k {
                        5 => assert_eq!(llr[i], 0),
                        77 | 1001 => assert!(llr[i] >= -127),
                        _ => assert_eq!(llr[i], clean[i]),
                    }
                }
            }
        }
    }

    #[test]
    fn a_useless_noise_variance_is_an_erasure() {
        for modcod in ["qpsk-1/2", "8psk-3/5"] {
            let modcod: Modcod = modcod.parse().unwrap();
            let (_, symbols) = transmit(modcod, FrameSize::Short, &mut Random::new(5));
            let demapper = Demapper::new(modcod, FrameSize::Short);
            for n0 in [f32::NAN, -1.0, f32::NEG_INFINITY, f32::INFINITY] {
                let mut llr = vec![99; demapper.bits()];
                demapper.demap(&symbols, n0, &mut llr);
                assert!(llr.iter().all(|llr| *llr == 0), "{n0}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "payload symbols")]
    fn a_wrong_number_of_symbols_is_a_programming_error() {
        let demapper = Demapper::new("qpsk-1/2".parse().unwrap(), FrameSize::Short);
        demapper.demap(&[Complex32::ZERO; 8_099], 0.1, &mut [0; 16_200]);
    }

    #[test]
    fn symbols_of_an_independent_transmitter_give_back_its_codeword() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors");
        if !vectors.exists() {
            println!("skipped: {} not found", vectors.display());
            return;
        }
        for (set, modcod, size) in [
            ("qpsk_8_9_short", "qpsk-8/9", FrameSize::Short),
            ("8psk_3_5_short", "8psk-3/5", FrameSize::Short),
            ("16apsk_8_9_short", "16apsk-8/9", FrameSize::Short),
            ("qpsk_1_2_normal", "qpsk-1/2", FrameSize::Normal),
            ("32apsk_4_5_normal", "32apsk-4/5", FrameSize::Normal),
        ] {
            let codeword = std::fs::read(vectors.join(set).join("4_ldpc.bin")).unwrap();
            let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
            let symbols: Vec<_> = std::fs::read(vectors.join(set).join("6_mapped.cf32"))
                .unwrap()
                .chunks_exact(8)
                .map(|bytes| Complex32::new(float(&bytes[..4]), float(&bytes[4..])))
                .collect();
            let demapper = Demapper::new(modcod.parse().unwrap(), size);
            let mut llr = vec![0; demapper.bits()];
            demapper.demap(&symbols, 0.05, &mut llr);
            for (i, llr) in llr.iter().enumerate() {
                assert!(*llr != 0 && (*llr < 0) == bit(&codeword, i), "{set}, bit {i}");
            }
        }
    }
}
