//! Finding the symbol rate of a signal about which nothing is known.

use std::f64::consts::PI;

use num_complex::{Complex32, Complex64};

use crate::fft::{FftDirection, transform};
use crate::fir::Fir;

/// Samples per symbol that are searched: what a [`MatchedFilter`](crate::filter::MatchedFilter) takes, and a little more.
const RATES: std::ops::RangeInclusive<f64> = 1.49..=8.05;
/// Samples per symbol at which the line is looked for: there is no alias of it, and little noise beside the signal.
const LEAST_RATE: f64 = 2.98;
const MOST_RATE: f64 = 2.0 * LEAST_RATE;
/// Samples that are looked at, at most, at these rates.
const MOST_SAMPLES: usize = 1 << 20;
/// Taps on either side of the filters that change the sampling rate.
const HALF: usize = 32;
/// Bins of the spectrum on either side of a line that tell the noise around it.
const AROUND: usize = 400;
/// Power of a line over that of the noise from which it is one: in some 10⁵ bins, noise seldom reaches it.
const SIGNIFICANT: f32 = 14.0;
/// Lines that are reported.
const CANDIDATES: usize = 6;

/// Samples per symbol that `samples` of a linearly modulated signal may have, from 1.5 to 8, the likeliest first; none if
/// there is no sign of a symbol clock.
///
/// Carrier offset, gain and DC may be anything. Accurate to some tens of ppm. At a roll-off of 0.20, 8 000 symbols suffice at an
/// Es/N0 of 7 dB; at 1 dB 10 000 up to two samples per symbol, 40 000 above; a roll-off of 0.35 needs half of them. Noise alone
/// seldom yields a candidate, and nothing says that one is right: where frames are known, as in DVB-S2, try them one by one,
/// with [`acquire`](crate::dvbs2::acquire). At most the first two million samples are looked at.
///
/// The power of the signal has a spectral line at the symbol rate, all the stronger the larger the roll-off. It is looked for at
/// 3 to 6 samples per symbol, for which the signal is sampled up or down, and measured to a small part of a bin of the spectrum.
///
/// # Source
/// W. A. Gardner, "Exploitation of spectral redundancy in cyclostationary signals", IEEE Signal Processing Magazine 8 (1991).
///
/// # Example
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::pulse::Shaper;
/// use bief_dsp::symbol_rate::find_symbol_rate;
///
/// let mut random = fastrand::Rng::with_seed(1);
/// let mut bit = || if random.bool() { 0.7 } else { -0.7 };
/// let symbols: Vec<Complex32> = (0..8_000).map(|_| Complex32::new(bit(), bit())).collect();
/// let mut samples = vec![Complex32::ZERO; 20_000];
/// Shaper::new(0.2, 2.5).unwrap().shape(&symbols, &mut samples);
///
/// let rates = find_symbol_rate(&samples);
/// assert!((rates[0] / 2.5 - 1.0).abs() < 50e-6);
/// ```
pub fn find_symbol_rate(samples: &[Complex32]) -> Vec<f64> {
    let samples = &samples[..samples.len().min(2 * MOST_SAMPLES)];
    let count = samples.len().max(1) as f64;
    let sum: Complex64 = samples.iter().map(|sample| Complex64::new(sample.re.into(), sample.im.into())).sum();
    let mean = Complex32::new((sum.re / count) as f32, (sum.im / count) as f32);
    let power = samples.iter().map(|sample| f64::from((sample - mean).norm_sqr())).sum::<f64>() / count;
    let scale = power.sqrt().recip() as f32;
    if !(scale.is_finite() && scale > 0.0) {
        return Vec::new();
    }
    let samples: Vec<Complex32> = samples.iter().map(|sample| (sample - mean) * scale).collect();
    let mut lines = Vec::new();
    // Twice as many samples, as they are, and half as many.
    for resampling in [0.5, 1.0, 2.0] {
        let resampled = match resampling {
            0.5 => twice(&samples[..samples.len().min(MOST_SAMPLES / 2)]),
            1.0 => samples[..samples.len().min(MOST_SAMPLES)].to_vec(),
            _ => half(&samples),
        };
        for (rate, significance) in lines_of(resampled) {
            let rate = rate * resampling;
            if RATES.contains(&rate) {
                lines.push((rate, significance));
            }
        }
    }
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut rates: Vec<f64> = Vec::new();
    for (rate, _) in lines {
        // The same line may be seen at two sampling rates.
        if rates.len() < CANDIDATES && rates.iter().all(|other| (rate / other - 1.0).abs() > 300e-6) {
            rates.push(rate);
        }
    }
    rates
}

/// Windowed sinc function: zero at all whole numbers but 0.
fn sinc(x: f64) -> f32 {
    let window = (0.5 * PI * x / HALF as f64).cos().powi(2);
    if x == 0.0 { 1.0 } else { ((PI * x).sin() / (PI * x) * window) as f32 }
}

/// Sampled twice as often.
fn twice(samples: &[Complex32]) -> Vec<Complex32> {
    let taps: Vec<f32> = (0..2 * HALF).map(|tap| sinc(tap as f64 + 0.5 - HALF as f64)).collect();
    let between = filtered(samples, &taps, 1);
    // The filter is late by half its length.
    samples.iter().zip(&between[HALF..]).flat_map(|(sample, between)| [*sample, *between]).collect()
}

/// Every other sample of the lower half of the spectrum.
fn half(samples: &[Complex32]) -> Vec<Complex32> {
    let taps: Vec<f32> = (0..2 * HALF).map(|tap| 0.5 * sinc(0.5 * (tap as f64 - HALF as f64))).collect();
    filtered(samples, &taps, 2)
}

/// Samples, and zeros behind them for the end of the filter.
fn filtered(samples: &[Complex32], taps: &[f32], decimation: usize) -> Vec<Complex32> {
    let mut filter = Fir::new(taps, decimation);
    let mut padded = samples.to_vec();
    padded.resize((samples.len() + taps.len()).next_multiple_of(decimation), Complex32::ZERO);
    let mut out = vec![Complex32::ZERO; padded.len() / decimation];
    filter.filter(&vec![Complex32::ZERO; filter.history()], &padded, &mut out);
    out
}

/// Samples per symbol, and significance, of the strongest lines of the power of samples.
fn lines_of(mut samples: Vec<Complex32>) -> Vec<(f64, f32)> {
    if samples.is_empty() {
        return Vec::new();
    }
    let sum: f64 = samples.iter().map(|sample| f64::from(sample.norm_sqr())).sum();
    let mean = (sum / samples.len() as f64) as f32;
    for sample in &mut samples {
        *sample = (sample.norm_sqr() - mean).into();
    }
    // Half a bin of the samples' own is enough for a parabola.
    samples.resize(2 * samples.len().next_power_of_two(), Complex32::ZERO);
    transform(samples.len(), FftDirection::Forward).process(&mut samples);
    let count = samples.len() as f64;
    let bin = |rate: f64| (count / rate) as usize;
    let powers: Vec<f32> = samples[..samples.len() / 2].iter().map(Complex32::norm_sqr).collect();
    let mut sums = vec![0.0f64];
    sums.extend(powers.iter().scan(0.0, |sum, power| {
        *sum += f64::from(*power);
        Some(*sum)
    }));
    let mut lines = Vec::new();
    for index in bin(MOST_RATE).max(2)..bin(LEAST_RATE).min(powers.len() - 2) {
        let [before, peak, after] = [powers[index - 1], powers[index], powers[index + 1]];
        if peak < before || peak <= after {
            continue;
        }
        let (first, end) = (index.saturating_sub(AROUND), (index + AROUND + 1).min(powers.len()));
        // Without what the line itself leaks.
        let (left, right) = (index.saturating_sub(8).max(first), (index + 9).min(end));
        let noise =
            (sums[end] - sums[first] - (sums[right] - sums[left])) / (end - first - (right - left)).max(1) as f64;
        let significance = peak / (noise as f32).max(f32::MIN_POSITIVE);
        if significance > SIGNIFICANT {
            let roots = [before, peak, after].map(f32::sqrt);
            let vertex = 0.5 * (roots[2] - roots[0]) / (2.0 * roots[1] - roots[0] - roots[2]);
            lines.push((count / (index as f64 + f64::from(vertex)), significance));
        }
    }
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines.truncate(CANDIDATES);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::pulse::Shaper;

    fn qpsk(rate: f64, rolloff: f64, count: usize, channel: Channel) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(channel.seed);
        let mut point = || if random.bool() { 0.5f32.sqrt() } else { -0.5f32.sqrt() };
        let mut symbols: Vec<Complex32> = (0..count).map(|_| Complex32::new(point(), point())).collect();
        let mut shaper = Shaper::new(rolloff, rate).unwrap();
        while shaper.samples(symbols.len()).is_none() {
            symbols.push(Complex32::ZERO);
        }
        let mut samples = vec![Complex32::ZERO; shaper.samples(symbols.len()).unwrap()];
        shaper.shape(&symbols, &mut samples);
        channel.apply(&samples)
    }

    #[test]
    fn every_rate_is_found_first() {
        for (seed, rate) in (1..).zip([1.5, 1.7, 2.0, 2.5, 3.3, 4.0, 5.3, 8.0]) {
            for (rolloff, es_n0, count) in
                [(0.2, 1.3, 40_000), (0.35, 1.3, 20_000), (0.2, 7.0, 10_000), (0.25, 60.0, 9_000)]
            {
                let channel = Channel {
                    clock_ppm: 80.0,
                    carrier: 0.1 / rate,
                    noise_power: Channel::noise_for(es_n0, rate),
                    gain: 1e-3,
                    seed,
                    ..Channel::clear()
                };
                let mut samples = qpsk(rate, rolloff, count, channel);
                for sample in &mut samples {
                    *sample += Complex32::new(6e-4, -5e-4);
                }
                let found = find_symbol_rate(&samples);
                let ppm = found.first().map(|found| 1e6 * (found / rate * (1.0 + 80e-6) - 1.0));
                assert!(
                    ppm.is_some_and(|ppm| ppm.abs() < 50.0),
                    "{rate}, {rolloff}, {es_n0} dB: {found:?}, {ppm:?} ppm"
                );
            }
        }
    }

    #[test]
    fn what_has_no_clock_has_few_candidates() {
        let mut candidates = 0;
        for seed in 0..5 {
            let noise = Channel { noise_power: 1.0, seed, ..Channel::clear() }.apply(&[Complex32::ZERO; 30_000]);
            candidates += find_symbol_rate(&noise).len();
        }
        assert!(candidates < 5, "{candidates}");
        assert_eq!(find_symbol_rate(&[]), []);
        for sample in [Complex32::ZERO, Complex32::new(0.3, -0.1), Complex32::new(f32::NAN, 1.0)] {
            assert_eq!(find_symbol_rate(&vec![sample; 9_000]), []);
        }
        for count in 1..40 {
            let few = qpsk(2.0, 0.35, 40, Channel::clear());
            find_symbol_rate(&few[..count]);
        }
    }
}
