//! Constellations: from labels to symbols (EN 302 307-1, clause 5.4).

use num_complex::{Complex32, Complex64};

use super::{Modcod, Modulation, Rate};

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

/// Radii of the outer rings relative to the innermost one (Tables 9 and 10).
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

/// The points of one MODCOD, with mean energy 1.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::Constellation};
///
/// let qpsk = Constellation::new("qpsk-1/2".parse()?);
/// let mut symbols = [Complex32::ZERO; 2];
/// qpsk.map(&[0b00, 0b11], &mut symbols);
/// assert!((symbols[0] - Complex32::new(0.5f32.sqrt(), 0.5f32.sqrt())).norm() < 1e-6);
/// assert_eq!(symbols[1], -symbols[0]);
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constellation {
    /// As many as the modulation has, then zeros.
    points: [Complex32; 32],
    modulation: Modulation,
}

impl Constellation {
    /// The constellation of a MODCOD; that of 16APSK and 32APSK depends on the rate.
    pub fn new(modcod: Modcod) -> Constellation {
        let modulation = modcod.modulation();
        let labels = match modulation {
            Modulation::Qpsk => QPSK,
            Modulation::Psk8 => PSK8,
            Modulation::Apsk16 => APSK16,
            Modulation::Apsk32 => APSK32,
        };
        let ratios = ring_ratios(modulation, modcod.rate());
        let ratio = |ring: usize| if ring == 0 { 1.0 } else { ratios[ring - 1] };
        let energy: f64 = labels.iter().map(|&(ring, _)| ratio(ring).powi(2)).sum();
        let innermost = (labels.len() as f64 / energy).sqrt();
        let mut points = [Complex32::ZERO; 32];
        for (point, &(ring, degrees)) in points.iter_mut().zip(labels) {
            let exact = Complex64::from_polar(innermost * ratio(ring), degrees.to_radians());
            *point = Complex32::new(exact.re as f32, exact.im as f32);
        }
        Constellation { points, modulation }
    }

    /// The points (4, 8, 16 or 32), indexed by label; the first bit of a label is its most significant one.
    pub fn points(&self) -> &[Complex32] {
        &self.points[..1 << self.modulation.bits_per_symbol()]
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
        let mask = self.points().len() - 1;
        for (symbol, &label) in symbols.iter_mut().zip(labels) {
            *symbol = self.points[usize::from(label) & mask & 31];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_energy_is_one_and_no_point_is_twice() {
        for modcod in Modcod::all() {
            let constellation = Constellation::new(modcod);
            let points = constellation.points();
            assert_eq!(points.len(), 1 << modcod.modulation().bits_per_symbol());
            let energy: f32 = points.iter().map(Complex32::norm_sqr).sum();
            assert!((energy / points.len() as f32 - 1.0).abs() < 1e-6, "{modcod}");
            let mean: Complex32 = points.iter().sum();
            assert!(mean.norm() < 1e-5, "{modcod}");
            for (i, a) in points.iter().enumerate() {
                assert!(points[..i].iter().all(|b| (a - b).norm() > 0.2), "{modcod}");
            }
        }
    }
}
