//! Samples as they were recorded become integers without their carrier, a part at a time.
//!
//! The carrier turns by the same phasors in each part, but for what it has turned before: these are made once, and what is left is
//! one factor for all that a part becomes.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use crate::aligned::Aligned;
use crate::convert::TOO_LARGE;
use crate::planar::Planar;
use crate::simd::{Level, Simd, dispatch, f32x16, i8x32, i16x32, i32x16, pack_pairs, prelude::*, u8x32, u32x16};

/// Samples that are turned together.
pub(super) const TOGETHER: usize = 16;
/// Samples that are turned at a time at most.
pub(super) const MOST: usize = 1536;
/// Magnitude of the largest phasor: products with any two samples, and what is taken from them, are less than 2³¹.
const LARGEST: f64 = 16_384.0;
const MOST_SHIFT: f64 = 30.0;
/// How many bytes ahead samples are prefetched: they have come when their turn does.
const AHEAD: usize = 3072;

/// Samples as they were recorded: bytes, little-endian, real parts first.
#[derive(Clone, Copy, Debug)]
pub enum Recorded<'a> {
    /// Two signed 16-bit integers each, full scale 32768.
    I16(&'a [u8]),
    /// Two signed bytes each, full scale 128.
    I8(&'a [u8]),
    /// Two unsigned bytes each, around 127.5, full scale 127.5.
    U8(&'a [u8]),
    /// Two floats each, full scale 1; one that is not finite, or of 10¹² and more, counts as 0.
    F32(&'a [u8]),
}

impl<'a> Recorded<'a> {
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::I16(bytes) | Self::I8(bytes) | Self::U8(bytes) | Self::F32(bytes) => bytes,
        }
    }

    /// Bytes of a sample.
    fn each(self) -> usize {
        match self {
            Self::I16(_) => 4,
            Self::I8(_) | Self::U8(_) => 2,
            Self::F32(_) => 8,
        }
    }

    /// How many there are.
    pub(super) fn samples(self) -> usize {
        self.bytes().len() / self.each()
    }

    /// Its number in the kernel for devices.
    pub(super) fn form(self) -> u32 {
        match self {
            Self::I16(_) => 0,
            Self::I8(_) => 1,
            Self::U8(_) => 2,
            Self::F32(_) => 3,
        }
    }

    fn with_bytes(self, bytes: &[u8]) -> Recorded<'_> {
        match self {
            Self::I16(_) => Recorded::I16(bytes),
            Self::I8(_) => Recorded::I8(bytes),
            Self::U8(_) => Recorded::U8(bytes),
            Self::F32(_) => Recorded::F32(bytes),
        }
    }

    /// Counts per unit of full scale, and the count of zero.
    fn scale(self) -> (f64, f64) {
        match self {
            Self::I16(_) => (32_768.0, 0.0),
            Self::I8(_) => (128.0, 0.0),
            Self::U8(_) => (127.5, 127.5),
            Self::F32(_) => (1.0, 0.0),
        }
    }
}

/// What is taken out of samples: sample n, less `constant`, mirrored if the spectrum is inverted, is multiplied by
/// `start` · exp(2πj · `frequency` · n).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// In cycles per sample.
    pub frequency: f64,
    /// At sample 0.
    pub start: Complex64,
    /// In units of full scale.
    pub constant: Complex32,
    /// Whether samples, once the constant is taken away, are conjugated.
    pub inverted: bool,
}

/// What 16 integers are multiplied by, and what is added to the products.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct OfIntegers {
    to_re: [[i16; 2]; TOGETHER],
    to_im: [[i16; 2]; TOGETHER],
    more_re: [i32; TOGETHER],
    more_im: [i32; TOGETHER],
}

impl OfIntegers {
    const ZERO: OfIntegers = OfIntegers {
        to_re: [[0; 2]; TOGETHER],
        to_im: [[0; 2]; TOGETHER],
        more_re: [0; TOGETHER],
        more_im: [0; TOGETHER],
    };
}

/// The same of floats.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct OfFloats {
    to_re: [[f32; TOGETHER]; 2],
    to_im: [[f32; TOGETHER]; 2],
    more_re: [f32; TOGETHER],
    more_im: [f32; TOGETHER],
}

impl OfFloats {
    const ZERO: OfFloats = OfFloats {
        to_re: [[0.0; TOGETHER]; 2],
        to_im: [[0.0; TOGETHER]; 2],
        more_re: [0.0; TOGETHER],
        more_im: [0.0; TOGETHER],
    };
}

/// How turned samples are arranged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrangement {
    /// In pairs: two real parts, two imaginary parts.
    Pairs,
    /// All real parts, then all imaginary parts.
    Apart,
}

/// Turned samples, and what turned them.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    /// Asks memory for bytes that are read soon.
    pub(super) prefetch: fn(&[u8]),
    shift: u32,
    integers: Vec<OfIntegers>,
    floats: Vec<OfFloats>,
    /// As many of these as there are samples in a part.
    words: Aligned<[i16; 2]>,
    count: usize,
    /// The bytes of a part of which some are missing.
    padded: Vec<u8>,
    /// Powers of the carrier.
    powers: [Vec<f64>; 2],
}

impl Turned {
    /// Room for the longest parts; no later call allocates.
    pub(super) fn new() -> Turned {
        let vectors = MOST / TOGETHER;
        Turned {
            prefetch: |_| (),
            shift: 0,
            integers: Vec::with_capacity(vectors),
            floats: Vec::with_capacity(vectors),
            words: Aligned::new(MOST),
            count: 0,
            padded: Vec::with_capacity(MOST * 8),
            powers: [Vec::with_capacity(MOST), Vec::with_capacity(MOST)],
        }
    }

    /// Samples of a part.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Makes phasors for parts of so many samples, at most [`MOST`]; integers are `level` times what is turned by `turn`, whose start
    /// is not looked at.
    pub(super) fn prepare(&mut self, recorded: Recorded<'_>, turn: &Turn, level: f32, count: usize) {
        let vectors = count.div_ceil(TOGETHER);
        let (counts, zero) = recorded.scale();
        let gain = f64::from(level) / counts;
        let constant = Complex64::new(turn.constant.re.into(), turn.constant.im.into()) * counts;
        let constant = constant + Complex64::new(zero, zero);
        let mirror = if turn.inverted { -1.0 } else { 1.0 };
        let [re, im] = &mut self.powers;
        re.resize(vectors * TOGETHER, 0.0);
        im.resize(vectors * TOGETHER, 0.0);
        let power = Complex64::cis(TAU * turn.frequency.fract());
        self.count = vectors * TOGETHER;
        let best = Level::best();
        if matches!(recorded, Recorded::F32(_)) {
            self.floats.resize(vectors, OfFloats::ZERO);
            let floats = &mut self.floats;
            dispatch!(best => {
                powers(power, gain, re, im);
                for_floats((re, im), mirror, constant, floats);
            });
        } else {
            let bits = (LARGEST.log2() - gain.log2()).floor().clamp(0.0, MOST_SHIFT);
            self.shift = bits as u32;
            let half = if self.shift > 0 { (1_i64 << (self.shift - 1)) as f64 } else { 0.0 };
            self.integers.resize(vectors, OfIntegers::ZERO);
            let integers = &mut self.integers;
            dispatch!(best => {
                powers(power, gain * bits.exp2(), re, im);
                for_integers((re, im), mirror, constant, half, integers);
            });
        }
    }

    /// Adds what the samples of a part were prepared to be multiplied by, in the layout of the kernel for devices. Answers by how much
    /// products of integers are shifted.
    pub(super) fn add_phasors(&self, recorded: Recorded<'_>, phasors: &mut Vec<[u32; 8]>) -> u32 {
        if matches!(recorded, Recorded::F32(_)) {
            for by in &self.floats {
                phasors.extend((0..TOGETHER).map(|lane| {
                    let ([a, b], [c, d]) = (by.to_re.map(|to| to[lane]), by.to_im.map(|to| to[lane]));
                    [a, b, c, d, by.more_re[lane], by.more_im[lane], 0.0, 0.0].map(f32::to_bits)
                }));
            }
            return 0;
        }
        for by in &self.integers {
            phasors.extend((0..TOGETHER).map(|lane| {
                let [a, b] = [by.to_re[lane], by.to_im[lane]].map(bytemuck::cast);
                [a, b, 0, 0, by.more_re[lane].cast_unsigned(), by.more_im[lane].cast_unsigned(), 0, 0]
            }));
        }
        self.shift
    }

    /// Turns the samples from number `first` on, as many as were prepared for: those outside of the recording are zero.
    pub(super) fn turn(
        &mut self,
        level: Level,
        recorded: Recorded<'_>,
        first: i64,
        arrangement: Arrangement,
    ) -> &[[i16; 2]] {
        let (bytes, each, count) = (recorded.bytes(), recorded.each(), self.count);
        let inside = usize::try_from(first).ok().and_then(|first| {
            let rest = bytes.get(first.checked_mul(each)?..)?;
            (self.prefetch)(&rest[AHEAD.min(rest.len())..(AHEAD + count * each).min(rest.len())]);
            rest.get(..count * each)
        });
        match inside {
            Some(bytes) => self.turn_inside(level, recorded.with_bytes(bytes), arrangement),
            None => self.turn_at_edge(level, recorded, first, arrangement),
        }
        &self.words[..count]
    }

    /// Turns as many samples as there are words.
    fn turn_inside(&mut self, level: Level, recorded: Recorded<'_>, arrangement: Arrangement) {
        let Self { shift, integers, floats, words, count, .. } = self;
        let (shift, integers, floats, words) = (*shift, &integers[..], &floats[..], &mut words[..*count]);
        match (recorded, arrangement) {
            (Recorded::I16(bytes), Arrangement::Pairs) => {
                dispatch!(level, simd => of_i16::<_, true>(simd, bytes, integers, shift, words))
            }
            (Recorded::I16(bytes), Arrangement::Apart) => {
                dispatch!(level, simd => of_i16::<_, false>(simd, bytes, integers, shift, words))
            }
            (Recorded::I8(bytes), Arrangement::Pairs) => {
                dispatch!(level, simd => of_i8::<_, true>(simd, bytes, integers, shift, words))
            }
            (Recorded::I8(bytes), Arrangement::Apart) => {
                dispatch!(level, simd => of_i8::<_, false>(simd, bytes, integers, shift, words))
            }
            (Recorded::U8(bytes), Arrangement::Pairs) => {
                dispatch!(level, simd => of_u8::<_, true>(simd, bytes, integers, shift, words))
            }
            (Recorded::U8(bytes), Arrangement::Apart) => {
                dispatch!(level, simd => of_u8::<_, false>(simd, bytes, integers, shift, words))
            }
            (Recorded::F32(bytes), Arrangement::Pairs) => {
                dispatch!(level, simd => of_f32::<_, true>(simd, bytes, floats, words))
            }
            (Recorded::F32(bytes), Arrangement::Apart) => {
                dispatch!(level, simd => of_f32::<_, false>(simd, bytes, floats, words))
            }
        }
    }

    /// Turns samples of which some are missing.
    #[cold]
    #[inline(never)]
    fn turn_at_edge(&mut self, level: Level, recorded: Recorded<'_>, first: i64, arrangement: Arrangement) {
        let (bytes, each, count) = (recorded.bytes(), recorded.each(), self.count);
        let index = |sample: i64| sample.saturating_sub(first).clamp(0, count as i64) as usize;
        let there = index(0)..index((bytes.len() / each) as i64);
        let mut padded = std::mem::take(&mut self.padded);
        padded.resize(count * each, 0);
        if !there.is_empty() {
            // It is not negative: the first one there is that of number 0 or `first`.
            let sample = first.max(0) as usize;
            padded[there.start * each..there.end * each].copy_from_slice(&bytes[sample * each..][..there.len() * each]);
        }
        self.turn_inside(level, recorded.with_bytes(&padded), arrangement);
        self.padded = padded;
        let numbers = self.words.as_flattened_mut();
        for index in (0..there.start).chain(there.end..count) {
            let (re, im) = match arrangement {
                Arrangement::Pairs => (index / 2 * 4 + index % 2, index / 2 * 4 + index % 2 + 2),
                Arrangement::Apart => (index, count + index),
            };
            (numbers[re], numbers[im]) = (0, 0);
        }
    }
}

/// Fills in `gain` times the powers of a number, from 0 on: real and imaginary parts, as many as there is room for.
#[inline(always)]
fn powers(mut power: Complex64, gain: f64, re: &mut [f64], im: &mut [f64]) {
    let Some(first) = re.first_mut() else { return };
    *first = gain;
    // By doubling: a few roundings at most lie between the first power and any other.
    let mut known = 1;
    while known < re.len() {
        let (a, b) = (power.re, power.im);
        let (known_re, new_re) = re.split_at_mut(known);
        let (known_im, new_im) = im.split_at_mut(known);
        for ((new_re, new_im), (re, im)) in new_re.iter_mut().zip(new_im).zip(known_re.iter().zip(&*known_im)) {
            *new_re = re * a - im * b;
            *new_im = re * b + im * a;
        }
        power *= power;
        known *= 2;
    }
}

/// Of a phasor: what is made of a sample's parts, and of the constant, which is taken away.
#[inline(always)]
fn parts(c: f64, d: f64, mirror: f64, constant: Complex64) -> ([f64; 2], [f64; 2], [f64; 2]) {
    let (to_re, to_im) = ([c, -mirror * d], [d, mirror * c]);
    let more_re = -(to_re[0] * constant.re + to_re[1] * constant.im);
    let more_im = -(to_im[0] * constant.re + to_im[1] * constant.im);
    (to_re, to_im, [more_re, more_im])
}

/// The nearest integer, in the lowest bits; of numbers beyond 32 bits, some other.
#[inline(always)]
fn nearest(number: f64) -> u64 {
    // From here on a float has no room for fractions.
    const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
    (number + WHOLE).to_bits()
}

#[inline(always)]
fn for_integers((re, im): (&[f64], &[f64]), mirror: f64, constant: Complex64, half: f64, made: &mut [OfIntegers]) {
    const LARGEST: f64 = i16::MAX as f64;
    let phasors = re.as_chunks::<TOGETHER>().0.iter().zip(im.as_chunks::<TOGETHER>().0);
    for (made, (re, im)) in made.iter_mut().zip(phasors) {
        for lane in 0..TOGETHER {
            let (c, d) = (re[lane].clamp(-LARGEST, LARGEST), im[lane].clamp(-LARGEST, LARGEST));
            let (to_re, to_im, [more_re, more_im]) = parts(c, d, mirror, constant);
            for part in 0..2 {
                (made.to_re[lane][part], made.to_im[lane][part]) =
                    (nearest(to_re[part]) as i16, nearest(to_im[part]) as i16);
            }
            (made.more_re[lane], made.more_im[lane]) = (nearest(more_re + half) as i32, nearest(more_im + half) as i32);
        }
    }
}

#[inline(always)]
fn for_floats((re, im): (&[f64], &[f64]), mirror: f64, constant: Complex64, made: &mut [OfFloats]) {
    let phasors = re.as_chunks::<TOGETHER>().0.iter().zip(im.as_chunks::<TOGETHER>().0);
    for (made, (re, im)) in made.iter_mut().zip(phasors) {
        for lane in 0..TOGETHER {
            let (to_re, to_im, [more_re, more_im]) = parts(re[lane], im[lane], mirror, constant);
            for part in 0..2 {
                (made.to_re[part][lane], made.to_im[part][lane]) = (to_re[part] as f32, to_im[part] as f32);
            }
            (made.more_re[lane], made.more_im[lane]) = (more_re as f32, more_im as f32);
        }
    }
}

/// Turns 16 samples that are integers.
#[inline(always)]
fn turned<S: Simd, const PAIRS: bool>(
    simd: S,
    samples: i16x32<S>,
    by: &OfIntegers,
    shift: u32,
    vector: usize,
    words: &mut [[i16; 2]],
) {
    let re = samples.pairwise_dot_product(i16x32::from_slice(simd, by.to_re.as_flattened()));
    let im = samples.pairwise_dot_product(i16x32::from_slice(simd, by.to_im.as_flattened()));
    let re = (re + i32x16::load_array_ref(simd, &by.more_re)) >> shift;
    let im = (im + i32x16::load_array_ref(simd, &by.more_im)) >> shift;
    store::<S, PAIRS>(simd, re, im, vector, words);
}

/// Stores the numbers of a vector as 16-bit integers, those beyond their range as the last of it.
#[inline(always)]
fn store<S: Simd, const PAIRS: bool>(simd: S, re: i32x16<S>, im: i32x16<S>, vector: usize, words: &mut [[i16; 2]]) {
    let (first, count) = (vector * TOGETHER, words.len());
    let numbers = words.as_flattened_mut();
    if PAIRS {
        pack_pairs(simd, re, im).store_slice(&mut numbers[2 * first..][..2 * TOGETHER]);
    } else {
        let (re, im) = re.saturating_narrow(im).split();
        re.store_slice(&mut numbers[first..][..TOGETHER]);
        im.store_slice(&mut numbers[count + first..][..TOGETHER]);
    }
}

#[inline(always)]
fn of_i16<S: Simd, const PAIRS: bool>(simd: S, bytes: &[u8], by: &[OfIntegers], shift: u32, words: &mut [[i16; 2]]) {
    let samples = bytes.as_chunks::<{ 4 * TOGETHER }>().0;
    for (vector, (samples, by)) in samples.iter().zip(by).enumerate() {
        // Not by `map`, which may be compiled without these instructions.
        let mut numbers: [i16; 2 * TOGETHER] = bytemuck::cast(*samples);
        for number in &mut numbers {
            *number = i16::from_le(*number);
        }
        turned::<S, PAIRS>(simd, i16x32::load_array(simd, numbers), by, shift, vector, words);
    }
}

#[inline(always)]
fn of_i8<S: Simd, const PAIRS: bool>(simd: S, bytes: &[u8], by: &[OfIntegers], shift: u32, words: &mut [[i16; 2]]) {
    let samples = bytes.as_chunks::<{ 2 * TOGETHER }>().0;
    for (vector, (samples, by)) in samples.iter().zip(by).enumerate() {
        let (low, high) = i8x32::load_array(simd, bytemuck::cast(*samples)).widen();
        turned::<S, PAIRS>(simd, low.combine(high), by, shift, vector, words);
    }
}

#[inline(always)]
fn of_u8<S: Simd, const PAIRS: bool>(simd: S, bytes: &[u8], by: &[OfIntegers], shift: u32, words: &mut [[i16; 2]]) {
    let samples = bytes.as_chunks::<{ 2 * TOGETHER }>().0;
    for (vector, (samples, by)) in samples.iter().zip(by).enumerate() {
        let (low, high) = u8x32::load_array(simd, *samples).widen();
        turned::<S, PAIRS>(simd, low.combine(high).bitcast(), by, shift, vector, words);
    }
}

#[inline(always)]
fn of_f32<S: Simd, const PAIRS: bool>(simd: S, bytes: &[u8], by: &[OfFloats], words: &mut [[i16; 2]]) {
    let samples = bytes.as_chunks::<{ 8 * TOGETHER }>().0;
    for (vector, (samples, by)) in samples.iter().zip(by).enumerate() {
        let mut parts: [u32; 2 * TOGETHER] = bytemuck::cast(*samples);
        for part in &mut parts {
            *part = u32::from_le(*part);
        }
        let Planar { re, im } = Planar::load(simd, &bytemuck::cast(parts));
        let (re, im) = (sound(simd, re), sound(simd, im));
        let (to_re, to_im) = (&by.to_re, &by.to_im);
        let more = f32x16::load_array_ref(simd, &by.more_re);
        let more = im.mul_add(f32x16::load_array_ref(simd, &to_re[1]), more);
        let new_re = whole(simd, re.mul_add(f32x16::load_array_ref(simd, &to_re[0]), more));
        let more = f32x16::load_array_ref(simd, &by.more_im);
        let more = im.mul_add(f32x16::load_array_ref(simd, &to_im[1]), more);
        let new_im = whole(simd, re.mul_add(f32x16::load_array_ref(simd, &to_im[0]), more));
        store::<S, PAIRS>(simd, new_re, new_im, vector, words);
    }
}

/// Zeros where numbers are none, or damaged.
#[inline(always)]
fn sound<S: Simd>(simd: S, numbers: f32x16<S>) -> f32x16<S> {
    // Of what is no number, this is false too.
    numbers.abs().simd_lt(f32x16::splat(simd, TOO_LARGE)).select(numbers, f32x16::splat(simd, 0.0))
}

/// The nearest integers, within the range of 16 bits.
#[inline(always)]
fn whole<S: Simd>(simd: S, numbers: f32x16<S>) -> i32x16<S> {
    // From here on a float has no room for fractions: a sum is rounded, and its lowest bits are the integer.
    const WHOLE: f32 = 1.5 * (1 << 23) as f32;
    let bits = (numbers.max(-32_767.0).min(32_767.0) + WHOLE).to_bits();
    (bits - u32x16::splat(simd, WHOLE.to_bits())).bitcast()
}
