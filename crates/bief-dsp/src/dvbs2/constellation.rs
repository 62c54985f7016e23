//! Constellations: from labels to symbols (clause 5.4 of EN 302 307-1 and of EN 302 307-2).

use std::f64::consts::PI;
use std::sync::OnceLock;

use num_complex::{Complex32, Complex64};

use super::s2x::{self, Shape};
use super::{FrameSize, Modcod, Modulation, Rate};

/// Ring (0 = innermost) and angle in degrees of each label, the first bit of a label being its highest.
type Points = &'static [(usize, f64)];

#[rustfmt::skip]
const QPSK: Points = &[(0, 45.0), (0, 315.0), (0, 135.0), (0, 225.0)];

#[rustfmt::skip]
const PSK8: Points = &[
    (0, 45.0), (0, 0.0), (0, 180.0), (0, 225.0), (0, 90.0), (0, 315.0), (0, 135.0), (0, 270.0),
];

#[rustfmt::skip]
const APSK16: Points = &[
    (1, 45.0), (1, 315.0), (1, 135.0), (1, 225.0), (1, 15.0), (1, 345.0), (1, 165.0), (1, 195.0),
    (1, 75.0), (1, 285.0), (1, 105.0), (1, 255.0), (0, 45.0), (0, 315.0), (0, 135.0), (0, 225.0),
];

#[rustfmt::skip]
const APSK32: Points = &[
    (1, 45.0), (1, 75.0), (1, 315.0), (1, 285.0), (1, 135.0), (1, 105.0), (1, 225.0), (1, 255.0),
    (2, 22.5), (2, 67.5), (2, 315.0), (2, 270.0), (2, 135.0), (2, 90.0), (2, 202.5), (2, 247.5),
    (1, 15.0), (0, 45.0), (1, 345.0), (0, 315.0), (1, 165.0), (0, 135.0), (1, 195.0), (0, 225.0),
    (2, 0.0), (2, 45.0), (2, 337.5), (2, 292.5), (2, 157.5), (2, 112.5), (2, 180.0), (2, 225.0),
];

/// Radii of the outer rings relative to the innermost one (Tables 9 and 10), of DVB-S2.
///
/// # Panics
/// When the modulation has several rings and no MODCOD pairs it with the rate.
fn ring_ratios(modulation: Modulation, rate: Rate) -> &'static [f64] {
    match (modulation, rate) {
        (Modulation::Qpsk | Modulation::Psk8, _) => &[],
        (Modulation::Apsk16, Rate::R2_3) => &[3.15],
        (Modulation::Apsk16, Rate::R3_4) => &[2.85],
        (Modulation::Apsk16, Rate::R4_5) => &[2.75],
        (Modulation::Apsk16, Rate::R5_6) => &[2.70],
        (Modulation::Apsk16, Rate::R8_9) => &[2.60],
        (Modulation::Apsk16, Rate::R9_10) => &[2.57],
        (Modulation::Apsk32, Rate::R3_4) => &[2.84, 5.27],
        (Modulation::Apsk32, Rate::R4_5) => &[2.72, 4.87],
        (Modulation::Apsk32, Rate::R5_6) => &[2.64, 4.64],
        (Modulation::Apsk32, Rate::R8_9) => &[2.54, 4.33],
        (Modulation::Apsk32, Rate::R9_10) => &[2.53, 4.30],
        _ => unreachable!("DVB-S2 has no MODCOD {modulation} {rate}"),
    }
}

/// Points of DVB-S2 with their rings at these radii.
fn on_rings(modulation: Modulation, ratios: &[f64]) -> Vec<Complex32> {
    let labels = match modulation {
        Modulation::Qpsk => QPSK,
        Modulation::Psk8 => PSK8,
        Modulation::Apsk16 => APSK16,
        Modulation::Apsk32 => APSK32,
        other => unreachable!("DVB-S2 has no {other}"),
    };
    let radians = labels.iter().map(|&(ring, degrees)| (ring, degrees.to_radians()));
    scaled(&radians.collect::<Vec<_>>(), ratios)
}

/// Points by ring and angle, scaled to mean energy 1.
fn scaled(points: &[(usize, f64)], ratios: &[f64]) -> Vec<Complex32> {
    let ratio = |ring: usize| if ring == 0 { 1.0 } else { ratios[ring - 1] };
    let energy: f64 = points.iter().map(|&(ring, _)| ratio(ring).powi(2)).sum();
    let innermost = (points.len() as f64 / energy).sqrt();
    let exact = |&(ring, angle): &(usize, f64)| Complex64::from_polar(innermost * ratio(ring), angle);
    points.iter().map(exact).map(|exact| Complex32::new(exact.re as f32, exact.im as f32)).collect()
}

/// The pairs of a table of [`s2x::CONSTELLATIONS`], by label.
fn table(kind: &str, name: &str) -> Vec<(&'static str, &'static str)> {
    let is_title = |line: &str| line.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' ')) == Some(name);
    let rows = s2x::CONSTELLATIONS.lines().skip_while(|line| !is_title(line)).skip(1);
    let rows = rows.take_while(|line| line.starts_with(|first: char| first == '-' || first.is_ascii_digit()));
    rows.flat_map(str::split_ascii_whitespace).filter_map(|pair| pair.split_once(':')).collect()
}

/// A number of a table.
fn number(text: &str) -> f64 {
    text.parse().expect("tables consist of numbers")
}

fn points_of(modcod: Modcod, size: FrameSize) -> Vec<Complex32> {
    let modulation = modcod.modulation();
    // A frame size that the MODCOD lacks has the points of the one that it has.
    let frame = s2x::frame_of(modcod, size).or_else(|| s2x::frame(modcod.number()));
    match frame.map(|frame| &frame.shape) {
        None => on_rings(modulation, ring_ratios(modulation, modcod.rate(size))),
        Some(Shape::Psk) => on_rings(modulation, &[]),
        Some(Shape::Rings("4+12APSK", ratios)) => on_rings(modulation, ratios),
        Some(Shape::Rings(name, ratios)) => {
            let point = |(ring, angle): (&str, &str)| {
                let (over, under) = angle.split_once('/').expect("angles are fractions");
                (number(ring) as usize - 1, PI * number(over) / number(under))
            };
            scaled(&table("rings", name).into_iter().map(point).collect::<Vec<_>>(), ratios)
        }
        Some(Shape::Points(name)) => {
            let point = |(re, im): (&str, &str)| Complex32::new(number(re) as f32, number(im) as f32);
            table("points", name).into_iter().map(point).collect()
        }
    }
}

/// The points of one kind of frame, with mean energy 1.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::{Constellation, FrameSize}};
///
/// let qpsk = Constellation::new("qpsk-1/2".parse()?, FrameSize::Short);
/// let mut symbols = [Complex32::ZERO; 2];
/// qpsk.map(&[0b00, 0b11], &mut symbols);
/// assert!((symbols[0] - Complex32::new(0.5f32.sqrt(), 0.5f32.sqrt())).norm() < 1e-6);
/// assert_eq!(symbols[1], -symbols[0]);
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Constellation {
    points: &'static [Complex32],
    modulation: Modulation,
}

impl Constellation {
    /// The constellation of a MODCOD; from 16 points on it depends on the rate, and in DVB-S2X on the frame size too. Made when
    /// it is first asked for, and kept.
    pub fn new(modcod: Modcod, size: FrameSize) -> Constellation {
        static MADE: [[OnceLock<Vec<Complex32>>; 3]; 256] = [const { [const { OnceLock::new() }; 3] }; 256];
        let made = &MADE[usize::from(modcod.number())][size as usize];
        let points = made.get_or_init(|| points_of(modcod, size));
        Constellation { points, modulation: modcod.modulation() }
    }

    /// The points (4 to 256), indexed by label; the first bit of a label is its most significant one.
    pub fn points(&self) -> &'static [Complex32] {
        self.points
    }

    /// The modulation.
    pub const fn modulation(&self) -> Modulation {
        self.modulation
    }

    /// Maps labels to symbols. Bits of a label above those of the modulation are ignored.
    ///
    /// # Panics
    /// When the two slices differ in length.
    pub fn map(&self, labels: &[u8], symbols: &mut [Complex32]) {
        assert_eq!(labels.len(), symbols.len(), "one label for each symbol");
        let mask = self.points.len() - 1;
        for (symbol, &label) in symbols.iter_mut().zip(labels) {
            *symbol = self.points[usize::from(label) & mask];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_energy_is_one_and_no_point_is_twice() {
        for modcod in Modcod::all() {
            let constellation = Constellation::new(modcod, FrameSize::Normal);
            let points = constellation.points();
            assert_eq!(points.len(), 1 << modcod.modulation().bits_per_symbol());
            let energy: f32 = points.iter().map(Complex32::norm_sqr).sum();
            assert!((energy / points.len() as f32 - 1.0).abs() < 7e-5, "{modcod}");
            let mean: Complex32 = points.iter().sum();
            assert!(mean.norm() < 1e-5, "{modcod}");
            for (i, a) in points.iter().enumerate() {
                // Two tables of 256 points have some that only the code tells apart.
                assert!(points[..i].iter().all(|b| (a - b).norm() > 5e-5), "{modcod}");
            }
        }
    }
}
