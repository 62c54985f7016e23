//! Carrier phase for devices: the text for what is done for each symbol, and what it reads.

use std::f64::consts::TAU;
use std::ops::Range;

use num_complex::{Complex32, Complex64};

use super::{CarrierPhase, EXACT};
use crate::dvbs2::known::{self, widen};
use crate::dvbs2::powers::{BLOCK, power_of};
use crate::dvbs2::walk::{Point, nearest};
use crate::dvbs2::{HEADER, Layout, Pls};

/// A part of a frame along which the carrier phase is a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseSegment {
    /// Its first symbol, counted from that of the frame.
    pub first: usize,
    /// The phase there, in cycles, -0.5 to 0.5.
    pub start: f32,
    /// Cycles per symbol.
    pub slope: f32,
}

impl PhaseSegment {
    /// Turns back the symbols of a frame at these places alone, by the course that [`segments`](CarrierPhase::segments) told.
    pub fn turn_back(segments: &[Self], places: Range<usize>, symbols: &mut [Complex32]) {
        for place in places {
            let index = segments.partition_point(|segment| segment.first <= place) - 1;
            let Self { first, start, slope } = segments[index];
            let cycles = f64::from(start) + f64::from(slope) * (place - first) as f64;
            let turned = widen(symbols[place]) * Complex64::cis(-TAU * cycles);
            symbols[place] = Complex32::new(turned.re as f32, turned.im as f32);
        }
    }
}

/// What an estimate of the phase reads of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseReads {
    /// Places that are known beforehand, counted from the first symbol of the frame.
    pub known: Vec<Range<usize>>,
    /// The power that is summed over blocks of the payload, and how many blocks there are.
    pub powers: Option<(u32, usize)>,
    /// It reads all of the payload.
    pub payload: bool,
}

impl PhaseReads {
    /// Payload symbols of a block.
    pub const BLOCK: usize = BLOCK;

    /// Of frames of a kind that are followed by the next header; `None` for frames that DVB-S2 does not define.
    ///
    /// ```
    /// use bief_dsp::dvbs2::{PhaseReads, Pls};
    ///
    /// let reads = PhaseReads::of(Pls::new(43)).unwrap(); // QPSK 8/9 short, pilots: five blocks of them, and two headers
    /// assert_eq!((reads.known.len(), reads.powers, reads.payload), (7, Some((4, 129)), false));
    /// ```
    pub fn of(pls: Pls) -> Option<Self> {
        let layout = Layout::new(pls)?;
        let mut known = known::places(pls, &layout);
        known.push(layout.symbols()..layout.symbols() + HEADER);
        let power = power_of(pls).map(|m| (m as u32, (layout.symbols() - HEADER) / BLOCK));
        let payload = power.is_none() && pls.modcod().is_some() && layout.pilot_blocks() == 0;
        Some(Self { known, powers: power, payload })
    }
}

impl CarrierPhase {
    /// OpenCL C 1.2, of which all kernels want work-groups of 64 items: `powers` sums what
    /// [`estimate_from`](Self::estimate_from) takes, `collect` copies the known symbols to one place, and `turn` does what
    /// [`correct`](Self::correct) does, by [`segments`](Self::segments).
    pub const SOURCE: &'static str = include_str!("phase.cl");

    /// Adds the course of the phase that was found, over so many symbols from the first of the frame on, in parts that are short enough
    /// for single precision: one at least.
    pub fn segments(&self, symbols: usize, segments: &mut Vec<PhaseSegment>) {
        let mut position = 0;
        let mut add = |knot: &Point, slope: f64, upto: usize| {
            let upto = upto.clamp(position, symbols);
            segments.extend((position..upto).step_by(EXACT).map(|first| {
                let phase = knot.phase / TAU + slope * (first as f64 - knot.position);
                PhaseSegment { first, start: (phase - nearest(phase)) as f32, slope: slope as f32 }
            }));
            position = upto;
        };
        let straight = Point { position: 0.0, phase: 0.0, variance: 0.0 };
        let Some(mut knot) = self.knots.first() else { return add(&straight, 0.0, symbols) };
        let mut slope = self.frequency;
        for end in &self.knots {
            if end.position > knot.position {
                slope = (end.phase - knot.phase) / (TAU * (end.position - knot.position));
            }
            add(knot, slope, end.position.ceil() as usize);
            knot = end;
        }
        add(knot, self.frequency, symbols);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::dvbs2::PlframeBuilder;
    use crate::dvbs2::powers::sum_powers;
    use crate::dvbs2::scramble::PlScrambler;

    #[test]
    fn segments_turn_symbols_back_as_the_estimate_does() {
        for value in [0, 6, 16, 42, 43, 54, 72, 75] {
            let pls = Pls::new(value);
            let scrambler = PlScrambler::broadcast();
            let builder = PlframeBuilder::new(pls, scrambler).unwrap();
            let mut sent = vec![Complex32::ZERO; builder.layout().symbols()];
            let mut random = fastrand::Rng::with_seed(value.into());
            let codeword: Vec<u8> = (0..pls.fec().map_or(0, |fec| fec.nldpc / 8)).map(|_| random.u8(..)).collect();
            builder.build(&codeword, &mut sent);
            let channel = Channel { noise_power: 0.05, carrier: 8e-5, phase: 2.0, seed: 3, ..Channel::clear() };
            let mut received = channel.apply(&sent);
            let mut phase = CarrierPhase::new();
            phase.estimate(pls, &received, scrambler);

            // Of what is read alone, the same follows.
            let reads = PhaseReads::of(pls).unwrap();
            let mut part = vec![Complex32::ZERO; received.len()];
            let symbols = received.len();
            let known = reads.known.iter().filter(|known| known.end <= symbols).cloned();
            for range in known.chain(reads.payload.then_some(0..symbols)) {
                part[range.clone()].copy_from_slice(&received[range]);
            }
            let mut powers = Vec::new();
            let payload = &received[HEADER..];
            match reads.powers {
                Some((4, _)) => _ = sum_powers::<4>(phase.level, payload, &mut powers),
                Some(_) => _ = sum_powers::<8>(phase.level, payload, &mut powers),
                None => {}
            }
            assert_eq!(powers.len(), reads.powers.map_or(0, |(_, blocks)| blocks), "{pls}");
            let mut of_part = CarrierPhase::new();
            let report = of_part.estimate_from(pls, &part, &powers, scrambler);
            assert_eq!(report, phase.estimate(pls, &received, scrambler), "{pls}");

            let mut segments = Vec::new();
            of_part.segments(received.len(), &mut segments);
            assert!(segments[0].first == 0 && segments.is_sorted_by(|a, b| a.first < b.first), "{pls}");
            let mut expected = received.clone();
            PhaseSegment::turn_back(&segments, 0..received.len(), &mut expected);
            phase.correct(&mut received);
            for (place, (turned, expected)) in received.iter().zip(&expected).enumerate() {
                assert!((turned - expected).norm() < 1e-5, "{pls}, {place}: {turned}, not {expected}");
            }
        }
    }
}
