//! Symbol timing by a closed loop.

use std::f64::consts::PI;

use num_complex::Complex32;

/// Samples per symbol that the loop takes.
const RATE: f64 = 2.0;
/// Relative error of the symbol rate that the loop follows.
const MAX_CLOCK_ERROR: f64 = 2e-3;
/// Damping of the loop.
const DAMPING: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Symbols over which the power of symbols is averaged.
const POWER_SYMBOLS: f32 = 64.0;
/// Samples that an interpolation may need from the call before.
const TAIL: usize = 4;
/// Symbols on either side whose pulses make the slope of the error detector.
const NEIGHBOURS: i32 = 32;

/// Gardner's timing loop: from a matched-filtered signal at 2 samples per symbol to symbols.
///
/// The closed-loop alternative to a timing that is measured once and then predicted, as
/// [`Tracker`](crate::dvbs2::Tracker) and [`MatchedFilter::symbols`](crate::filter::MatchedFilter::symbols) do. It needs neither
/// frames nor a carrier, but each symbol depends on the one before, so that a signal is one core's work; and it takes some
/// 1 / `bandwidth` symbols to lock, more when it begins half a symbol off.
///
/// Second order, with the damping 1/√2. Calls continue one another. A call makes about half as many symbols as it takes samples:
/// one more or one less whenever the clocks have drifted apart by a symbol.
///
/// # Source
/// F. M. Gardner, "A BPSK/QPSK timing-error detector for sampled receivers", IEEE Trans. Commun. 34 (1986).
///
/// # Example
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::gardner::Gardner;
///
/// // 1, -1, 1, -1, ... at 2 samples per symbol, sampled a fifth of a symbol late.
/// let sample = |n: i32| Complex32::from((std::f32::consts::PI * (0.5 * n as f32 + 0.2)).cos());
/// let samples: Vec<Complex32> = (0..4_000).map(sample).collect();
/// let mut gardner = Gardner::new(0.01, 0.35);
/// let mut symbols = vec![Complex32::ZERO; Gardner::most_symbols(samples.len())];
/// let count = gardner.recover(&samples, &mut symbols);
/// assert!(symbols[count - 100..count].iter().all(|symbol| (symbol.norm() - 1.0).abs() < 0.15));
/// ```
#[derive(Clone, Debug)]
pub struct Gardner {
    /// Corrections of position and step per symbol of delay.
    proportional: f64,
    integral: f64,
    /// Delay in symbols per unit of the error detector, for symbols of energy 1.
    delay_per_error: f64,
    /// Next instant, in samples from the next one, and whether it lies between two symbols.
    position: f64,
    between: bool,
    /// Samples per symbol.
    step: f64,
    last: Complex32,
    middle: Complex32,
    /// Mean energy of symbols, and how many it stems from.
    power: f32,
    averaged: f32,
    tail: [Complex32; TAIL],
}

impl Gardner {
    /// A loop of the noise bandwidth `bandwidth`, in cycles per symbol (1e-4 to 1e-2 are usual), for a signal of this roll-off.
    ///
    /// The slope of the error detector is about proportional to the roll-off. It is allowed for, so that the bandwidth is what it
    /// says.
    ///
    /// # Panics
    /// When `bandwidth` is not above 0 and at most 0.1, or `rolloff` is outside of 0.05 to 1.
    pub fn new(bandwidth: f64, rolloff: f64) -> Gardner {
        assert!(bandwidth > 0.0 && bandwidth <= 0.1, "the bandwidth of a timing loop is above 0, up to 0.1");
        assert!((0.05..=1.0).contains(&rolloff), "the roll-off must be 0.05 to 1, not {rolloff}");
        let theta = bandwidth / (DAMPING + 0.25 / DAMPING);
        let denominator = 1.0 + 2.0 * DAMPING * theta + theta * theta;
        Gardner {
            proportional: 4.0 * DAMPING * theta / denominator,
            integral: 4.0 * theta * theta / denominator,
            delay_per_error: detector_slope(rolloff).recip(),
            position: 0.0,
            between: false,
            step: RATE,
            last: Complex32::ZERO,
            middle: Complex32::ZERO,
            power: 0.0,
            averaged: 0.0,
            tail: [Complex32::ZERO; TAIL],
        }
    }

    /// Samples per symbol as the loop has found them.
    pub fn samples_per_symbol(&self) -> f64 {
        self.step
    }

    /// The most symbols that so many samples make, however wide the loop is.
    pub const fn most_symbols(samples: usize) -> usize {
        // The widest loop moves instants by up to a quarter of a sample per symbol.
        samples / 2 + samples / 12 + 2
    }

    /// Takes the samples that continue the signal, of any amplitude and phase. Returns how many symbols it has written.
    ///
    /// # Panics
    /// When `symbols` is shorter than [`most_symbols`](Gardner::most_symbols).
    pub fn recover(&mut self, samples: &[Complex32], symbols: &mut [Complex32]) -> usize {
        assert!(symbols.len() >= Gardner::most_symbols(samples.len()), "room for {} symbols", symbols.len());
        let mut count = 0;
        // The last of the four samples around the instant must be there.
        while self.position.floor() + 2.0 < samples.len() as f64 {
            let value = self.interpolate(samples);
            let mut advance = 0.5 * self.step;
            if self.between {
                self.middle = value;
            } else {
                symbols[count] = value;
                count += 1;
                let delay = self.delay(value);
                let widest = RATE * MAX_CLOCK_ERROR;
                self.step = (self.step - RATE * self.integral * delay).clamp(RATE - widest, RATE + widest);
                advance -= RATE * self.proportional * delay;
                self.last = value;
            }
            self.between = !self.between;
            self.position += advance;
        }
        self.position -= samples.len() as f64;
        let kept = samples.len().min(TAIL);
        self.tail.rotate_left(kept);
        self.tail[TAIL - kept..].copy_from_slice(&samples[samples.len() - kept..]);
        count
    }

    /// Symbols by which instants are late, from a symbol, the one before, and the value between them; at most half a symbol.
    fn delay(&mut self, symbol: Complex32) -> f64 {
        let energy = symbol.norm_sqr();
        if !energy.is_finite() {
            return 0.0;
        }
        self.averaged = (self.averaged + 1.0).min(POWER_SYMBOLS);
        self.power += (energy - self.power) / self.averaged;
        // Silence has neither energy nor delay.
        let error = ((symbol - self.last) * self.middle.conj()).re / self.power;
        let delay = f64::from(error) * self.delay_per_error;
        if delay.is_finite() { delay.clamp(-0.5, 0.5) } else { 0.0 }
    }

    /// The value at `position`, on the cubic polynomial through the two samples on either side.
    fn interpolate(&self, samples: &[Complex32]) -> Complex32 {
        let before = self.position.floor();
        let x = (self.position - before) as f32;
        let first = before as i64 - 1;
        let sample = |offset: i64| match usize::try_from(first + offset) {
            Ok(index) => samples[index],
            Err(_) => usize::try_from(first + offset + TAIL as i64).map_or(Complex32::ZERO, |index| self.tail[index]),
        };
        let (a, b, c) = (x + 1.0, x - 1.0, x - 2.0);
        sample(0) * (-x * b * c / 6.0)
            + sample(1) * (a * b * c / 2.0)
            + sample(2) * (-a * x * c / 2.0)
            + sample(3) * (a * x * b / 6.0)
    }
}

/// Mean of the error detector per symbol of delay, around zero, for independent symbols of energy 1.
fn detector_slope(rolloff: f64) -> f64 {
    let mean = |delay: f64| -> f64 {
        let pulse = |offset: f64| raised_cosine(delay + offset, rolloff);
        (-NEIGHBOURS..=NEIGHBOURS)
            .map(f64::from)
            .map(|symbol| (pulse(symbol) - pulse(symbol - 1.0)) * pulse(symbol - 0.5))
            .sum()
    };
    (mean(0.01) - mean(-0.01)) / 0.02
}

/// The pulse behind a matched filter at time `t`, in symbol periods.
fn raised_cosine(t: f64, rolloff: f64) -> f64 {
    let sinc = if t.abs() < 1e-9 { 1.0 } else { (PI * t).sin() / (PI * t) };
    let pole = 2.0 * rolloff * t.abs();
    if (pole - 1.0).abs() < 1e-6 {
        return 0.25 * PI * sinc;
    }
    sinc * (PI * rolloff * t).cos() / (1.0 - pole * pole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::filter::MatchedFilter;
    use crate::pulse::Shaper;

    const NOISE: f64 = 10.0;

    /// Matched-filtered QPSK of symbol energy 2, two samples per symbol: symbol k lies at (k + DELAY) · step - start.
    fn signal(count: usize, rolloff: f64, start: f64, clock_ppm: f64, seed: u64) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut point = || if random.bool() { 1.0 } else { -1.0 };
        let symbols: Vec<Complex32> = (0..count).map(|_| Complex32::new(point(), point())).collect();
        let mut samples = vec![Complex32::ZERO; 2 * count];
        Shaper::new(rolloff, 2.0).unwrap().shape(&symbols, &mut samples);
        let noise_power = 2.0 * Channel::noise_for(NOISE, 2.0);
        let samples = Channel { clock_ppm, start, noise_power, seed, phase: 1.0, ..Channel::clear() }.apply(&samples);
        let mut filtered = vec![Complex32::ZERO; samples.len()];
        MatchedFilter::new(rolloff, 2.0).symbols(&samples, 0.0, 1.0, &mut filtered);
        filtered
    }

    /// Delay in symbols, -0.5 to 0.5, of each symbol that the loop takes.
    fn delays(gardner: &mut Gardner, samples: &[Complex32], start: f64, clock_ppm: f64) -> Vec<f64> {
        let step = 2.0 / (1.0 + 1e-6 * clock_ppm);
        let mut delays = Vec::new();
        let mut symbols = [Complex32::ZERO; 4];
        for (index, sample) in samples.chunks_exact(1).enumerate() {
            if gardner.recover(sample, &mut symbols) > 0 && gardner.between {
                let next_middle = gardner.position + (index + 1) as f64;
                let late = (next_middle + start / (1.0 + 1e-6 * clock_ppm)) / step - 0.5;
                delays.push(late - late.round());
            }
        }
        delays
    }

    #[test]
    fn the_loop_locks_from_every_fraction_and_follows_the_clock() {
        for rolloff in [0.2, 0.35] {
            for eighth in 0..8u8 {
                for clock_ppm in [-100.0, 0.0, 100.0] {
                    let start = 0.25 * f64::from(eighth);
                    let samples = signal(12_000, rolloff, start, clock_ppm, eighth.into());
                    let mut gardner = Gardner::new(3e-3, rolloff);
                    let delays = delays(&mut gardner, &samples, start, clock_ppm);
                    let end = &delays[8_000..11_500];
                    let mean = end.iter().sum::<f64>() / end.len() as f64;
                    let worst = end.iter().fold(0.0f64, |worst, delay| worst.max(delay.abs()));
                    let name = format!("roll-off {rolloff}, {start} samples, {clock_ppm} ppm");
                    assert!(mean.abs() < 0.05 && worst < 0.2, "{name}: mean {mean}, worst {worst}");
                    let ppm = 1e6 * (2.0 / gardner.samples_per_symbol() - 1.0);
                    assert!((ppm - clock_ppm).abs() < 400.0, "{name}: {ppm} ppm");
                }
            }
        }
    }

    #[test]
    fn symbols_are_stuffed_and_skipped() {
        for (clock_ppm, drifted) in [(500.0, -30i64), (0.0, 0), (-500.0, 30)] {
            let samples = signal(60_000, 0.35, 0.0, clock_ppm, 5);
            // The same symbols, in calls of any length.
            let mut gardner = Gardner::new(3e-3, 0.35);
            let mut symbols = vec![Complex32::ZERO; Gardner::most_symbols(samples.len())];
            let count = gardner.recover(&samples, &mut symbols);
            // As many as were sent, though there are more or fewer samples.
            assert!((count as i64 - 60_000).abs() <= 3, "{clock_ppm} ppm: {count} symbols");
            assert!((samples.len() as i64 - 120_000 - 2 * drifted).abs() <= 3, "{}", samples.len());
            let mut parts = Gardner::new(3e-3, 0.35);
            let mut random = fastrand::Rng::with_seed(6);
            let (mut rest, mut made) = (&samples[..], 0);
            while !rest.is_empty() {
                let (now, later) = rest.split_at(random.usize(0..50).min(rest.len()));
                let mut some = [Complex32::ZERO; Gardner::most_symbols(50)];
                let count = parts.recover(now, &mut some);
                assert!(some[..count].iter().zip(&symbols[made..]).all(|(a, b)| (a - b).norm() < 1e-3));
                made += count;
                rest = later;
            }
            assert_eq!(made, count);
        }
    }

    #[test]
    fn jitter_grows_with_the_bandwidth_and_a_block_that_is_measured_has_less() {
        let rolloff = 0.35;
        let samples = signal(40_000, rolloff, 0.3, 0.0, 7);
        let rms = |delays: &[f64]| (delays.iter().map(|delay| delay * delay).sum::<f64>() / delays.len() as f64).sqrt();
        let jitter = |bandwidth: f64| {
            let delays = delays(&mut Gardner::new(bandwidth, rolloff), &samples, 0.3, 0.0);
            rms(&delays[20_000..39_000])
        };
        let (narrow, wide) = (jitter(5e-4), jitter(5e-3));
        // Oerder and Meyr, blocks of 1000 symbols: as much memory as the narrow loop has.
        let block = |block: &[Complex32]| {
            let power = |half: usize| block.iter().skip(half).step_by(2).map(Complex32::norm_sqr).sum::<f32>();
            // The line's quadrature needs the powers between samples, which products of neighbours give.
            let products = |half: usize| -> f32 {
                block.windows(2).skip(half).step_by(2).map(|pair| (pair[0] * pair[1].conj()).re).sum()
            };
            let late = f64::from(products(1) - products(0)).atan2(f64::from(power(0) - power(1)));
            late / (2.0 * PI) + 0.15
        };
        let measured: Vec<f64> = samples[200..78_000].chunks_exact(2_000).map(block).collect();
        let mean = measured.iter().sum::<f64>() / measured.len() as f64;
        let forward = rms(&measured.iter().map(|delay| delay - mean).collect::<Vec<_>>());
        println!("rms in symbols: loop 5e-4 {narrow:.4}, 5e-3 {wide:.4}; blocks of 1000 {forward:.4}");
        assert!(narrow < 0.02 && wide > 1.5 * narrow && wide < 0.08, "{narrow} {wide}");
        assert!(forward < 2.0 * narrow, "{forward} {narrow}");
    }

    #[test]
    fn samples_that_say_nothing_do_no_harm() {
        let mut gardner = Gardner::new(3e-3, 0.25);
        let mut symbols = vec![Complex32::ZERO; Gardner::most_symbols(1_000)];
        for sample in [Complex32::ZERO, Complex32::new(f32::NAN, 0.0), Complex32::new(f32::MAX, f32::INFINITY)] {
            let count = gardner.recover(&[sample; 1_000], &mut symbols);
            assert!((499..=501).contains(&count), "{count}");
        }
    }
    #[test]
    fn there_is_room_for_the_symbols_of_any_samples() {
        // Symbols that come too soon pull a wide loop with them.
        let mut most = 0;
        for rate in [1.7, 1.76, 1.8, 1.85, 1.9] {
            let samples: Vec<Complex32> =
                (0..10_000).map(|n| (PI * f64::from(n) / rate).cos() as f32).map(Complex32::from).collect();
            let mut gardner = Gardner::new(0.1, 0.05);
            let mut symbols = vec![Complex32::ZERO; Gardner::most_symbols(samples.len())];
            let count = gardner.recover(&samples, &mut symbols);
            most = most.max(count);
        }
        assert!(most > 5_200, "{most}");
    }
}
