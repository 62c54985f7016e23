//! Amplitude and noise of a PLFRAME.

mod kernel;

use num_complex::Complex32;

use super::plheader::header_symbols;
use super::scramble::PlScrambler;
use super::{HEADER, Layout, Modulation, PILOT, Pls};
use crate::planar::{LANES, Planar};
use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

/// Es/N0 (linear) between which an estimate is held: -6 to 30 dB, of VL-SNR frames from -13 dB on. Outside, no DVB-S2 decoder needs
/// to know better, and log-likelihood ratios would overflow.
const ES_N0: std::ops::RangeInclusive<f64> = 0.25..=1000.0;
const LEAST_VL_SNR: f64 = 0.05;

/// Variance of the energy of a symbol of 16APSK or 32APSK, about.
const APSK_ENERGY_VARIANCE: f64 = 0.3;

/// How strong the symbols of a frame are, and how noisy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignalLevel {
    /// Modulus of a received symbol that was sent with energy 1.
    pub amplitude: f32,
    /// Variance of the complex noise once symbols are divided by `amplitude`: N0 for Es = 1. From 0.001 to 4, of VL-SNR frames to 20.
    pub n0: f32,
}

impl SignalLevel {
    /// Measures a frame whose carrier phase has been removed.
    ///
    /// Noise: QPSK, 8PSK and dummy frames, from the second and fourth moments of all symbols, to about 0.1 dB.
    /// 16APSK and 32APSK, from header and pilots, with a relative error of 1/√n for n known symbols; that includes
    /// what is left of phase noise. Amplitude: from the power of all symbols less that of the noise; for APSK also
    /// from header and pilots. Symbols after the frame are ignored. A frame of zeros has amplitude 0 and the
    /// largest `n0`.
    ///
    /// # Source
    /// D. R. Pauluzzi and N. C. Beaulieu, "A comparison of SNR estimation techniques for the AWGN channel", IEEE
    /// Trans. Commun. 48 (2000): the M2M4 and the data-aided maximum-likelihood estimator.
    ///
    /// # Panics
    /// When `pls` has no [`Layout`], or `symbols` is shorter than the frame.
    pub fn measure(pls: Pls, symbols: &[Complex32], scrambler: &PlScrambler) -> SignalLevel {
        let layout = Layout::new(pls).expect("the PLS describes a frame");
        let frame = &symbols[..layout.symbols()];
        SignalLevel::measure_from(pls, Moments::of(Level::best(), frame), frame, scrambler)
    }

    /// The same where the moments of the frame were summed elsewhere: of `symbols` those alone are read that [`reads`](Self::reads)
    /// tells.
    ///
    /// # Panics
    /// As [`measure`](Self::measure).
    pub fn measure_from(pls: Pls, moments: Moments, symbols: &[Complex32], scrambler: &PlScrambler) -> SignalLevel {
        let layout = Layout::new(pls).expect("the PLS describes a frame");
        let frame = &symbols[..layout.symbols()];
        let [power, fourth] = [moments.second, moments.fourth].map(|sum| sum / frame.len() as f64);
        let least = if pls.is_vl_snr() { LEAST_VL_SNR } else { *ES_N0.start() };
        let (noise, known) = if has_one_modulus(pls) {
            (power - (2.0 * power * power - fourth).max(0.0).sqrt(), None)
        } else {
            let known = KnownSymbols::measure(pls, &layout, frame, scrambler);
            (known.noise, Some(known))
        };
        let n0 = noise / (power - noise);
        // Also when no signal at all is left.
        let n0 = if n0 >= 0.0 { n0.clamp(1.0 / ES_N0.end(), 1.0 / least) } else { 1.0 / least };
        let mut amplitude = (power / (1.0 + n0)).sqrt();
        if let Some(known) = known {
            // The mean of both, weighted by their inverse relative variances: the energy of the payload is random too.
            let of_power = 4.0 * layout.payload_symbols() as f64 / APSK_ENERGY_VARIANCE;
            let of_known = 2.0 * known.count / n0;
            amplitude = (of_power * amplitude + of_known * known.amplitude) / (of_power + of_known);
        }
        SignalLevel { amplitude: amplitude.max(0.0) as f32, n0: n0 as f32 }
    }

    /// What brings symbols to unit energy: 1 where they have no amplitude.
    pub fn gain(&self) -> f32 {
        if self.amplitude > 0.0 { self.amplitude.recip() } else { 1.0 }
    }
}

/// Whether all symbols have one modulus before noise.
fn has_one_modulus(pls: Pls) -> bool {
    match pls.modcod().map(|modcod| modcod.modulation()) {
        None => !pls.is_vl_snr(),
        Some(modulation) => matches!(modulation, Modulation::Qpsk | Modulation::Psk8),
    }
}

/// What header and pilots tell.
struct KnownSymbols {
    count: f64,
    amplitude: f64,
    /// Variance of what is left when what was sent is taken away.
    noise: f64,
}

impl KnownSymbols {
    fn measure(pls: Pls, layout: &Layout, frame: &[Complex32], scrambler: &PlScrambler) -> KnownSymbols {
        let rotations = scrambler.rotations();
        let pilot = |index: usize| PILOT * Complex32::I.powu(rotations[index - HEADER].into());
        let vl_snr = pls.vl_snr();
        let second = vl_snr.map(|kind| kind.header_symbols());
        let known = || {
            let regular = vl_snr.is_none().then(|| layout.pilots()).into_iter().flatten();
            let denser = vl_snr.into_iter().flat_map(|kind| kind.runs().map(|(_, pilots)| pilots));
            let pilots = regular.chain(denser).flatten().map(|index| (frame[index], pilot(index)));
            let second = frame[HEADER..].iter().copied().zip(second.iter().flatten().copied());
            frame.iter().copied().zip(header_symbols(pls)).chain(second).chain(pilots)
        };
        let count = known().count() as f32;
        let amplitude = known().map(|(symbol, sent)| (symbol * sent.conj()).re).sum::<f32>() / count;
        let error: f32 = known().map(|(symbol, sent)| (symbol - sent * amplitude).norm_sqr()).sum();
        // Of 2 · count real numbers, each phase and the amplitude took one.
        let fitted = (layout.pilot_blocks() + 2) as f32;
        let noise = error / (count - 0.5 * fitted);
        KnownSymbols { count: count.into(), amplitude: amplitude.into(), noise: noise.into() }
    }
}

/// Symbols whose moments are added up in single precision.
pub(super) const RUN: usize = 64 * LANES;

/// Sums of |y|² and of |y|⁴, which do not depend on the carrier phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Sum of |y|².
    pub second: f64,
    /// Sum of |y|⁴.
    pub fourth: f64,
}

impl Moments {
    pub(super) fn of(level: Level, symbols: &[Complex32]) -> Moments {
        let mut moments = Moments::default();
        moments.add(level, symbols);
        moments
    }

    /// Adds those of more symbols.
    pub(super) fn add(&mut self, level: Level, symbols: &[Complex32]) {
        dispatch!(level, simd => self.add_kernel(simd, symbols));
    }

    #[inline(always)]
    fn add_kernel<S: Simd>(&mut self, simd: S, symbols: &[Complex32]) {
        for run in symbols.chunks(RUN) {
            let mut two = [Energies::none(simd); 2];
            let (parts, rest) = run.as_chunks();
            let (pairs, last) = parts.as_chunks::<2>();
            // Two at a time: each waits for the one before.
            for pair in pairs {
                for (part, energies) in pair.iter().zip(&mut two) {
                    energies.add(Planar::load(simd, part).norm_sqr());
                }
            }
            let [mut all, other] = two;
            all.seconds += other.seconds;
            all.fourths += other.fourths;
            for part in last.iter().map(|part| &part[..]).chain([rest]) {
                all.add(Planar::load_some(simd, part).norm_sqr());
            }
            self.add_energies(all);
        }
    }

    #[inline(always)]
    pub(super) fn add_energies<S: Simd>(&mut self, energies: Energies<S>) {
        self.second += f64::from(energies.seconds.reduce_sum());
        self.fourth += f64::from(energies.fourths.reduce_sum());
    }
}

/// What adds up to the moments of some symbols, [`RUN`] at most: single precision has no room for more.
#[derive(Clone, Copy)]
pub(super) struct Energies<S: Simd> {
    seconds: f32x16<S>,
    fourths: f32x16<S>,
}

impl<S: Simd> Energies<S> {
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        let zero = f32x16::splat(simd, 0.0);
        Self { seconds: zero, fourths: zero }
    }

    /// Adds symbols, of which |y|² is given.
    #[inline(always)]
    pub(super) fn add(&mut self, power: f32x16<S>) {
        self.seconds += power;
        self.fourths = power.mul_add(power, self.fourths);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::dvbs2::PlframeBuilder;

    fn measure(value: u8, es_n0: f64, gain: f64, seed: u64) -> (SignalLevel, Vec<Complex32>) {
        let pls = Pls::new(value);
        let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes = pls.fec().map_or(0, |fec| fec.nldpc / 8);
        let codeword: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let mut symbols = vec![Complex32::ZERO; builder.layout().symbols()];
        builder.build(&codeword, &mut symbols);
        let noise_power = Channel::noise_for(es_n0, 1.0);
        let mut symbols = Channel { noise_power, gain, seed, ..Channel::clear() }.apply(&symbols);
        let level = SignalLevel::measure(pls, &symbols, PlScrambler::broadcast());
        symbols.iter_mut().for_each(|symbol| *symbol *= level.gain());
        (level, symbols)
    }

    #[test]
    fn moments_are_those_of_the_definition_at_every_level() {
        let mut random = fastrand::Rng::with_seed(8);
        for count in [0, 1, 15, 16, 255, 256, 257, 3_330, 8_370] {
            let symbols: Vec<_> = (0..count).map(|_| Complex32::new(random.f32() - 0.3, random.f32())).collect();
            let power = |symbol: &Complex32| f64::from(symbol.re).powi(2) + f64::from(symbol.im).powi(2);
            let sum = |order| symbols.iter().map(|symbol| power(symbol).powi(order)).sum::<f64>();
            for level in Level::all() {
                let Moments { second, fourth } = Moments::of(level, &symbols);
                assert!((second - sum(1)).abs() <= 1e-6 * sum(1), "{level}, {count}: {second}");
                assert!((fourth - sum(2)).abs() <= 1e-6 * sum(2), "{level}, {count}: {fourth}");
            }
        }
    }

    #[test]
    fn amplitude_and_noise_are_those_of_the_channel() {
        // PLS, Es/N0, errors allowed of N0 (dB) and of the amplitude (relative).
        for (value, es_n0, noise_error, amplitude_error) in [
            (5, -2.0, 0.7, 0.05),
            (42, 6.5, 0.3, 0.02),
            (43, 6.5, 0.3, 0.02),
            (43, 25.0, 1.0, 0.002),
            (55, 8.0, 0.4, 0.02),
            (75, 10.0, 1.2, 0.03),
            (74, 10.0, 1.5, 0.03),
            (97, 14.0, 1.2, 0.02),
            (0, 3.0, 0.6, 0.04),
        ] {
            for (seed, gain) in [(1, 1.0), (2, 3e-5), (3, 700.0)] {
                let (level, _) = measure(value, es_n0, gain, seed);
                let noise = 10.0 * f64::from(level.n0).log10() + es_n0;
                let amplitude = f64::from(level.amplitude) / gain - 1.0;
                let name = Pls::new(value);
                assert!(noise.abs() < noise_error, "{name}, {es_n0} dB: N0 off by {noise} dB");
                assert!(amplitude.abs() < amplitude_error, "{name}, {es_n0} dB: amplitude off by {amplitude}");
            }
        }
    }

    #[test]
    fn the_gain_brings_symbols_to_unit_energy() {
        let (level, symbols) = measure(43, 20.0, 0.02, 4);
        let energy: f32 = symbols.iter().map(Complex32::norm_sqr).sum::<f32>() / symbols.len() as f32;
        assert!((energy - 1.0 - level.n0).abs() < 0.002, "{energy}");
    }

    #[test]
    fn estimates_are_held_in_range() {
        let (clean, _) = measure(43, 70.0, 1.0, 5);
        assert!((clean.n0 - 0.001).abs() < 1e-6 && (clean.amplitude - 1.0).abs() < 1e-3, "{clean:?}");
        for value in [42, 43, 75] {
            let (lost, symbols) = measure(value, -30.0, 1.0, 6);
            assert!(lost.n0 > 1.0 && lost.n0 <= 4.0 && symbols[500].norm() < 10.0, "{lost:?}");
            let pls = Pls::new(value);
            for symbol in [Complex32::ZERO, Complex32::new(f32::NAN, 1.0)] {
                let level = SignalLevel::measure(pls, &vec![symbol; 33_282], PlScrambler::broadcast());
                assert_eq!((level.n0, level.gain()), (4.0, 1.0), "{level:?}");
            }
        }
    }
}
