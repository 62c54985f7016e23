//! Narrowband FM: one channel among others demodulated, with its carrier followed; and the carrier found.

use std::f64::consts::{PI, TAU};

use num_complex::{Complex32, Complex64};

use crate::derotate::Phasor;
use crate::discriminator::discriminate;
use crate::fft::{self, FftDirection};
use crate::fir::Fir;

/// Samples that are worked on together: a filter's tile, several times.
const CHUNK: usize = 256;
/// Mean square of the demodulated signal, as a share of the deviation, from which it is taken for noise: a tone of full
/// deviation has a half, speech much less. Noise alone, whose frequency jumps, has more.
const NOISE: f64 = 1.0;

/// Demodulates one channel: what lies beside it is filtered out, and a carrier that drifts is kept in the middle of the filter.
///
/// The middle is followed (automatic frequency control): the mean of what was demodulated is how far the carrier is off. It is taken
/// over [intervals](Self::INTERVAL) of the stream, so that the result does not depend on how the stream is cut into slices, and a
/// small share of it moves the filter. By how much that was moved is added again to what is demodulated, which stays what it was: the
/// frequency above where the middle was at first. What is no FM signal, noise above all, moves nothing.
///
/// ```
/// use bief_dsp::fm::Demodulator;
/// use bief_dsp::low_pass::{Window, low_pass};
/// use bief_dsp::Complex32;
///
/// // At 48 kHz, a deviation of 5 kHz; the carrier is unmodulated and 1 kHz off.
/// let taps = low_pass(8e3 / 48e3, 3.2e3 / 48e3, Window::Blackman);
/// let mut channel = Demodulator::new(&taps, 5e3 / 48e3).following(2.5e3 / 48e3, 4800.0);
/// let carrier: Vec<Complex32> = (0..96_000).map(|k| Complex32::cis(std::f32::consts::TAU * k as f32 / 48.0)).collect();
/// let mut audio = vec![0.0; carrier.len()];
/// channel.demodulate(&carrier, &mut audio);
/// assert!((audio[200] - 0.2).abs() < 1e-3); // a fifth of the deviation
/// assert!((audio[90_000] - 0.2).abs() < 1e-3);
/// assert!((48e3 * channel.offset() - 1e3).abs() < 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Demodulator {
    filter: Fir<Complex32>,
    /// Cycles per sample that are 1 in what is demodulated.
    deviation: f64,
    /// What the filter remembers, then the samples that are worked on.
    shifted: Vec<Complex32>,
    filtered: Vec<Complex32>,
    previous: Complex32,
    follows: Option<Follows>,
}

/// How a carrier is followed.
#[derive(Clone, Debug)]
struct Follows {
    /// Turns the carrier to frequency 0.
    phasor: Phasor,
    /// Cycles per sample that the carrier is off, was off in the interval before, and at most is taken to be off.
    offset: f64,
    last: f64,
    range: f64,
    /// Part of a mean by which the offset is corrected.
    share: f64,
    /// Of what was demodulated since the last correction.
    sums: Sums,
    /// Whether a signal was seen in the last interval.
    signal: bool,
}

impl Follows {
    fn restart(&mut self) {
        *self = Self { phasor: Phasor::new(0.0, Complex64::ONE), offset: 0.0, last: 0.0, ..self.clone() };
        (self.sums, self.signal) = (Sums::default(), false);
    }

    /// Notes what was demodulated `delay` samples behind the filter's middle, and adds to it by how much that was moved.
    fn note(&mut self, demodulated: &mut [f32], delay: usize, deviation: f64) {
        // What is still to come of the interval before.
        let (old, new) = demodulated.split_at_mut(delay.saturating_sub(self.sums.count).min(demodulated.len()));
        let (was, is) = ((self.last / deviation) as f32, (self.offset / deviation) as f32);
        self.sums.add(old);
        self.sums.add(new);
        old.iter_mut().for_each(|frequency| *frequency += was);
        new.iter_mut().for_each(|frequency| *frequency += is);
        if self.sums.count < Demodulator::INTERVAL {
            return;
        }
        let mean = std::mem::take(&mut self.sums).mean();
        self.signal = mean.is_some();
        self.last = self.offset;
        if let Some(mean) = mean {
            self.offset = (self.offset + self.share * mean * deviation).clamp(-self.range, self.range);
            self.phasor = self.phasor.at_frequency(-self.offset);
        }
    }
}

/// Sums over what was demodulated.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: usize,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, demodulated: &[f32]) {
        // Few at a time in single precision, which is exact enough for them, and several side by side.
        for part in demodulated.chunks(CHUNK) {
            let (mut sums, mut squares) = ([0.0; 16], [0.0; 16]);
            let (vectors, rest) = part.as_chunks::<16>();
            for vector in vectors {
                for lane in 0..16 {
                    sums[lane] += vector[lane];
                    squares[lane] += vector[lane] * vector[lane];
                }
            }
            self.sum += f64::from(sums.iter().chain(rest).sum::<f32>());
            self.squares += f64::from(squares.iter().copied().chain(rest.iter().map(|x| x * x)).sum::<f32>());
        }
        self.count += demodulated.len();
    }

    /// The mean; `None` of silence and of noise.
    fn mean(&self) -> Option<f64> {
        let mean = self.sum / self.count as f64;
        (self.squares > 0.0 && self.squares / (self.count as f64) - mean * mean < NOISE).then_some(mean)
    }
}

/// The mean of what was demodulated, as a share of the deviation: how far the carrier is from the middle. `None` where there is no
/// signal: of silence, of noise, of nothing.
///
/// The mean is one under a Hann window: tones of which some periods are there do not move it.
///
/// ```
/// let tone: Vec<f32> = (0..4000).map(|k| 0.1 + 0.5 * (0.0312 * k as f32).sin()).collect();
/// assert!((bief_dsp::fm::mean_frequency(&tone).unwrap() - 0.1).abs() < 1e-4);
/// ```
pub fn mean_frequency(demodulated: &[f32]) -> Option<f64> {
    let mut sums = Sums::default();
    sums.add(demodulated);
    sums.mean()?;
    let weighted =
        demodulated.iter().zip(hann(demodulated.len())).map(|(frequency, weight)| f64::from(*frequency) * weight);
    // The weights' mean is a half.
    Some(weighted.sum::<f64>() * 2.0 / demodulated.len() as f64)
}

fn hann(length: usize) -> impl Iterator<Item = f64> {
    (0..length).map(move |k| (PI * (k as f64 + 0.5) / length as f64).sin().powi(2))
}

impl Demodulator {
    /// Samples after which the middle is corrected.
    pub const INTERVAL: usize = 1024;

    /// A channel that passes what this low-pass filter passes, with a largest deviation of so many cycles per sample; its middle stays
    /// where it is.
    pub fn new(taps: &[f32], deviation: f64) -> Self {
        let filter = Fir::new(taps, 1);
        Self {
            shifted: vec![Complex32::ZERO; filter.history() + CHUNK],
            filtered: vec![Complex32::ZERO; CHUNK],
            previous: Complex32::ZERO,
            follows: None,
            deviation,
            filter,
        }
    }

    /// The same, but it follows its carrier as far as `range` cycles per sample to either side, with this time constant in samples.
    pub fn following(self, range: f64, time_constant: f64) -> Self {
        let share = (Self::INTERVAL as f64 / time_constant).min(1.0);
        let phasor = Phasor::new(0.0, Complex64::ONE);
        let follows = Follows { phasor, offset: 0.0, last: 0.0, range, share, sums: Sums::default(), signal: false };
        Self { follows: Some(follows), ..self }
    }

    /// Sets `out[k]` to the frequency at sample k, as a share of the deviation.
    ///
    /// # Panics
    /// When `out` is not as long as `samples`.
    pub fn demodulate(&mut self, samples: &[Complex32], out: &mut [f32]) {
        assert_eq!(samples.len(), out.len(), "one frequency for each sample");
        let (mut samples, mut out) = (samples, out);
        while !samples.is_empty() {
            let room = self.follows.as_ref().map_or(CHUNK, |follows| Self::INTERVAL - follows.sums.count);
            let length = samples.len().min(CHUNK).min(room);
            let (now, later) = samples.split_at(length);
            let (demodulated, rest) = out.split_at_mut(length);
            self.chunk(now, demodulated);
            (samples, out) = (later, rest);
        }
    }

    fn chunk(&mut self, samples: &[Complex32], out: &mut [f32]) {
        let history = self.filter.history();
        let new = &mut self.shifted[history..][..samples.len()];
        new.copy_from_slice(samples);
        if let Some(follows) = &mut self.follows {
            follows.phasor.multiply(new);
        }
        let (before, new) = self.shifted.split_at(history);
        let filtered = &mut self.filtered[..samples.len()];
        self.filter.filter(before, &new[..samples.len()], filtered);
        discriminate(self.previous, filtered, (1.0 / (TAU * self.deviation)) as f32, out);
        self.previous = filtered.last().copied().unwrap_or(self.previous);
        self.shifted.copy_within(samples.len()..samples.len() + history, 0);
        let delay = self.delay();
        if let Some(follows) = &mut self.follows {
            follows.note(out, delay, self.deviation);
        }
    }

    /// How far the carrier is off, in cycles per sample, as far as it was followed.
    pub fn offset(&self) -> f64 {
        self.follows.as_ref().map_or(0.0, |follows| follows.offset)
    }

    /// Whether the last whole interval held a signal; nothing is known of a channel that is not followed.
    pub fn has_signal(&self) -> Option<bool> {
        self.follows.as_ref().map(|follows| follows.signal)
    }

    /// Samples by which what is demodulated lags behind.
    pub fn delay(&self) -> usize {
        self.filter.history() / 2
    }

    /// Forgets what went before.
    pub fn reset(&mut self) {
        self.shifted.fill(Complex32::ZERO);
        self.previous = Complex32::ZERO;
        if let Some(follows) = &mut self.follows {
            follows.restart();
        }
    }
}

/// Bins of the spectrum in which carriers are looked for, in a channel's width: so many at least.
const BINS: f64 = 16.0;
/// Power of a channel over that of as much noise from which it is one.
const SIGNIFICANT: f64 = 2.0;

/// Where the strongest channel of this width lies: the middle of its power, in cycles per sample, above or below the middle of the
/// band. `None` where no channel stands out from the rest of the band: there must be more than twice its width of that.
///
/// The mean of the power says where a carrier is to a small part of the width; modulation and noise move it.
///
/// # Source
/// P. D. Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Transactions on Audio and
/// Electroacoustics 15 (1967): the spectrum, with Hann windows that overlap by half.
///
/// ```
/// use bief_dsp::{Complex32, fm::find_carrier};
///
/// let mut random = fastrand::Rng::with_seed(1);
/// let mut noise = || 0.1 * Complex32::new(random.f32() - 0.5, random.f32() - 0.5);
/// let samples: Vec<Complex32> = (0..20_000).map(|k| Complex32::cis(0.2 * k as f32) + noise()).collect();
/// let carrier = find_carrier(&samples, 0.03).unwrap();
/// assert!((carrier * std::f64::consts::TAU - 0.2).abs() < 0.003);
/// let noise: Vec<Complex32> = (0..20_000).map(|_| noise()).collect();
/// assert_eq!(find_carrier(&noise, 0.03), None);
/// ```
pub fn find_carrier(samples: &[Complex32], width: f64) -> Option<f64> {
    let length = ((BINS / width) as usize).next_power_of_two();
    let spectrum = spectrum(samples, length)?;
    let bins = (width * length as f64).round() as usize;
    if 3 * bins > length {
        return None;
    }
    let around = |first: usize| (first..first + bins).map(|bin| (bin, spectrum[bin % length]));
    let power = |first: usize| around(first).map(|(_, power)| power).sum::<f64>();
    let strongest = (0..length).max_by(|a, b| power(*a).total_cmp(&power(*b)))?;
    let mut sorted = spectrum.clone();
    sorted.sort_by(f64::total_cmp);
    // Of noise: half of the bins have no more.
    let noise = sorted[length / 2];
    let total = power(strongest);
    if total.is_nan() || total <= SIGNIFICANT * noise * bins as f64 {
        return None;
    }
    let above = |power: f64| (power - noise).max(0.0);
    let weight: f64 = around(strongest).map(|(_, power)| above(power)).sum();
    let middle = around(strongest).map(|(bin, power)| bin as f64 * above(power)).sum::<f64>() / weight / length as f64;
    // Frequencies above half of the rate are those below 0.
    Some((middle + 0.5).rem_euclid(1.0) - 0.5)
}

/// The mean power in each of `length` bins, from frequency 0 upwards; `None` of fewer samples.
fn spectrum(samples: &[Complex32], length: usize) -> Option<Vec<f64>> {
    if samples.len() < length {
        return None;
    }
    let transform = fft::transform(length, FftDirection::Forward);
    let window: Vec<f32> = hann(length).map(|weight| weight as f32).collect();
    let mut scratch = vec![Complex32::ZERO; transform.get_inplace_scratch_len()];
    let mut part = vec![Complex32::ZERO; length];
    let mut powers = vec![0.0; length];
    for start in (0..=samples.len() - length).step_by(length / 2) {
        for (part, (sample, weight)) in part.iter_mut().zip(samples[start..].iter().zip(&window)) {
            *part = sample * *weight;
        }
        transform.process_with_scratch(&mut part, &mut scratch);
        powers.iter_mut().zip(&part).for_each(|(power, part)| *power += f64::from(part.norm_sqr()));
    }
    Some(powers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low_pass::{Window, low_pass};

    const RATE: f64 = 48e3;

    /// An FM signal at 48 kHz: a tone of 1 kHz at half of a deviation of 5 kHz, its carrier at `carrier` and `drift` Hz higher each
    /// second; and noise.
    fn signal(seconds: f64, carrier: f64, drift: f64, noise: f32) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut phase = 0.0;
        (0..(seconds * RATE) as usize)
            .map(|k| {
                let time = k as f64 / RATE;
                phase = (phase + (carrier + drift * time + 2500.0 * (TAU * 1e3 * time).sin()) / RATE).fract();
                let noise = Complex32::new(random.f32() - 0.5, random.f32() - 0.5) * noise;
                Complex32::cis((TAU * phase) as f32) + noise
            })
            .collect()
    }

    fn channel() -> Demodulator {
        Demodulator::new(&low_pass(8e3 / RATE, 3.2e3 / RATE, Window::Blackman), 5e3 / RATE)
    }

    fn following() -> Demodulator {
        channel().following(5e3 / RATE, 0.5 * RATE)
    }

    fn demodulated(channel: &mut Demodulator, samples: &[Complex32]) -> Vec<f32> {
        let mut out = vec![9.0; samples.len()];
        channel.demodulate(samples, &mut out);
        out
    }

    #[test]
    fn slices_of_any_length_make_the_same() {
        let samples = signal(0.3, 700.0, 0.0, 0.1);
        for make in [channel, following] {
            let whole = demodulated(&mut make(), &samples);
            let (mut channel, mut random, mut rest) = (make(), fastrand::Rng::with_seed(2), &samples[..]);
            let mut parts = Vec::new();
            while !rest.is_empty() {
                let (part, later) = rest.split_at(random.usize(0..700).min(rest.len()));
                parts.extend(demodulated(&mut channel, part));
                rest = later;
            }
            let worst = parts.iter().zip(&whole).map(|(part, whole)| (part - whole).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{worst}");
            channel.reset();
            assert!(demodulated(&mut channel, &samples) == whole, "a reset forgets");
        }
    }

    #[test]
    fn the_tone_is_what_was_sent() {
        let delay = channel().delay() as f64;
        let out = demodulated(&mut channel(), &signal(0.2, 0.0, 0.0, 0.0));
        for (k, out) in out.iter().enumerate().skip(1000) {
            let time = (k as f64 - delay) / RATE;
            assert!((f64::from(*out) - 0.5 * (TAU * 1e3 * time).sin()).abs() < 2e-3, "{k}: {out}");
        }
    }

    #[test]
    fn a_carrier_that_drifts_stays_in_the_middle() {
        // From 1 kHz off to 4 kHz.
        let mut channel = following();
        let samples = signal(6.0, 1e3, 500.0, 0.2);
        let out = demodulated(&mut channel, &samples);
        // Behind a ramp a filter of one pole lags by its time constant.
        assert!((RATE * channel.offset() - (4000.0 - 250.0)).abs() < 40.0, "{}", RATE * channel.offset());
        let end = &out[out.len() - 9600..];
        let mean = end.iter().sum::<f32>() / end.len() as f32;
        assert!((mean - 0.79).abs() < 0.02, "{mean}"); // of the deviation, at 3.95 kHz
        assert_eq!(channel.has_signal(), Some(true));
    }

    #[test]
    fn noise_moves_nothing_and_the_range_is_kept() {
        let mut random = fastrand::Rng::with_seed(9);
        let mut uniform = || random.f32() + random.f32() + random.f32() - 1.5;
        let noise: Vec<Complex32> = (0..480_000).map(|_| Complex32::new(uniform(), uniform())).collect();
        let mut channel = following();
        demodulated(&mut channel, &noise);
        assert_eq!((channel.offset(), channel.has_signal()), (0.0, Some(false)));
        demodulated(&mut channel, &vec![Complex32::ZERO; 10_000]);
        assert_eq!((channel.offset(), channel.has_signal()), (0.0, Some(false)));
        let mut near = self::channel().following(200.0 / RATE, 0.1 * RATE);
        demodulated(&mut near, &signal(2.0, 1e3, 0.0, 0.0));
        assert_eq!(near.offset(), 200.0 / RATE);
    }

    #[test]
    fn the_strongest_carrier_is_found_wherever_it_is() {
        let rate = 576e3;
        let width = 16e3 / rate;
        for carrier in [-287e3, -100e3, 0.0, 31_415.0, 287e3] {
            let mut random = fastrand::Rng::with_seed(3);
            let (mut phase, mut other) = (0.0, 0.0);
            let samples: Vec<Complex32> = (0..288_000)
                .map(|k| {
                    let audio = (TAU * 700.0 * k as f64 / rate).sin();
                    phase = (phase + (carrier + 3e3 * audio) / rate).fract();
                    other = (other + (carrier + 25e3 + 2e3 * audio) / rate).fract();
                    let noise = Complex32::new(random.f32() - 0.5, random.f32() - 0.5) * 2.0;
                    Complex32::cis((TAU * phase) as f32) + 0.7 * Complex32::cis((TAU * other) as f32) + noise
                })
                .collect();
            let found = find_carrier(&samples, width).unwrap();
            let off = (found - carrier / rate + 0.5).rem_euclid(1.0) - 0.5;
            assert!((off * rate).abs() < 500.0, "{carrier}: {} Hz off", off * rate);
        }
        assert_eq!(find_carrier(&[Complex32::ONE; 100], width), None, "too few samples");
        assert_eq!(find_carrier(&[Complex32::ZERO; 5000], width), None);
    }
}
