//! Samples that are damage, not signal.

use num_complex::{Complex32, Complex64};

use crate::simd::{Level, dispatch};

/// Share of the energy of all samples that a single one of a signal never has. Of 5 000 samples, the fewest that hold a DVB-S2
/// frame, a sample 12 dB above the mean has 0.3 %.
const SHARE: f64 = 0.005;
/// Samples below which a peak of the signal may have as large a share.
const FEWEST: usize = 5_000;
/// How often the energy is computed again without those that were taken out: each time those remain that are ten times smaller.
const PASSES: usize = 40;
/// Sums that are added up side by side.
const LANES: usize = 16;

/// Sets single samples that have more energy than a signal explains to zero, and says how many there were.
///
/// One such sample hides the signal from whoever measures its power, its spectrum or its constant. What is not a number is left
/// alone, and fewer than 5 000 samples are.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::impulses::remove_impulses;
///
/// let mut samples: Vec<Complex32> = (0..10_000).map(|k| Complex32::cis(k as f32)).collect();
/// samples[77].im = 1e18;
/// assert_eq!(remove_impulses(&mut samples), 1);
/// assert_eq!(samples[77], Complex32::ZERO);
/// ```
pub fn remove_impulses(samples: &mut [Complex32]) -> usize {
    let mut removed = 0;
    if samples.len() < FEWEST {
        return removed;
    }
    for _ in 0..PASSES {
        let (sum, greatest) = dispatch!(Level::best() => sum_and_greatest(samples));
        let most = SHARE * sum;
        if most.is_nan() || greatest <= most {
            break;
        }
        for sample in samples.iter_mut().filter(|sample| energy(sample) > most) {
            *sample = Complex32::ZERO;
            removed += 1;
        }
    }
    removed
}

/// The energy of all samples, and the greatest of one.
#[inline(always)]
fn sum_and_greatest(samples: &[Complex32]) -> (f64, f64) {
    let (mut sums, mut greatest) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = samples.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let energy = energy(&chunk[lane]);
            sums[lane] += energy;
            greatest[lane] = if energy > greatest[lane] { energy } else { greatest[lane] };
        }
    }
    let rest = rest.iter().map(energy);
    let sum = sums.iter().sum::<f64>() + rest.clone().sum::<f64>();
    (sum, greatest.into_iter().chain(rest).fold(0.0, f64::max))
}

/// In double precision, where the square of any float is finite.
#[inline(always)]
fn energy(sample: &Complex32) -> f64 {
    Complex64::new(sample.re.into(), sample.im.into()).norm_sqr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(count: usize) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(1);
        (0..count).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5)).collect()
    }

    #[test]
    fn impulses_of_all_sizes_are_removed_and_nothing_else() {
        let clean = signal(20_000);
        let mut damaged = clean.clone();
        for (place, size) in (0..38).map(|power| (400 * power, 30.0 * 10f32.powi(power as i32))) {
            damaged[place].re = size.min(f32::MAX);
        }
        assert_eq!(remove_impulses(&mut damaged), 38);
        for (place, (clean, left)) in clean.iter().zip(&damaged).enumerate() {
            let removed = place % 400 == 0 && place < 400 * 38;
            assert_eq!(*left, if removed { Complex32::ZERO } else { *clean });
        }
    }

    #[test]
    fn a_signal_behind_silence_is_left_alone() {
        let mut samples = vec![Complex32::ZERO; 1_000_000];
        samples[700_000..705_000].copy_from_slice(&signal(5_000));
        let before = samples.clone();
        assert_eq!(remove_impulses(&mut samples), 0);
        assert_eq!(samples, before);
        let mut silence = vec![Complex32::ZERO; 6_000];
        assert_eq!((remove_impulses(&mut silence), remove_impulses(&mut [])), (0, 0));
        let mut broken = vec![Complex32::new(f32::NAN, 0.0); 6_000];
        assert_eq!(remove_impulses(&mut broken), 0);
    }
}
