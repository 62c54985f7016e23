//! Design of low-pass filters by windowed sinc functions.

use std::f64::consts::{PI, TAU};
use std::fmt;
use std::str::FromStr;

/// The window that tapers a filter: it sets how much passes of what lies outside the passband, and how long the filter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// Stopband at -44 dB, 0.06 dB of ripple, 3.1 / transition taps.
    Hann,
    /// Stopband at -53 dB, 0.02 dB of ripple, 3.3 / transition taps.
    Hamming,
    /// Stopband at -74 dB, 0.002 dB of ripple, 5.5 / transition taps.
    Blackman,
}

impl Window {
    /// Every window, the shortest filters first.
    pub const ALL: [Self; 3] = [Self::Hann, Self::Hamming, Self::Blackman];

    /// The name in files: `hann`, `hamming` or `blackman`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hann => "hann",
            Self::Hamming => "hamming",
            Self::Blackman => "blackman",
        }
    }

    /// Taps times width of the transition.
    const fn width(self) -> f64 {
        match self {
            Self::Hann => 3.1,
            Self::Hamming => 3.3,
            Self::Blackman => 5.5,
        }
    }

    /// Its value at `x`, from -1 to 1 over the length of the filter.
    fn at(self, x: f64) -> f64 {
        let (once, twice) = ((PI * x).cos(), (TAU * x).cos());
        match self {
            Self::Hann => 0.5 + 0.5 * once,
            Self::Hamming => 0.54 + 0.46 * once,
            Self::Blackman => 0.42 + 0.5 * once + 0.08 * twice,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|window| window.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("unknown window `{name}`: choose one of {names}"))
    }
}

/// Taps that a filter needs to go from passband to stopband within `transition` cycles per sample; an odd number.
///
/// # Source
/// E. C. Ifeachor and B. W. Jervis, *Digital Signal Processing: A Practical Approach*, 2nd edition (2002), Table 7.3.
pub fn length(transition: f64, window: Window) -> usize {
    (window.width() / transition).ceil() as usize | 1
}

/// The taps of a low-pass filter of linear phase and gain 1 at frequency 0, [`length`] of them. Frequencies are in cycles per
/// sample; at `cutoff`, in the middle of the transition, half of the amplitude passes.
///
/// ```
/// use bief_dsp::low_pass::{Window, low_pass};
///
/// let taps = low_pass(0.1, 0.05, Window::Hamming);
/// assert_eq!(taps.len(), 67);
/// assert!((taps.iter().sum::<f32>() - 1.0).abs() < 1e-6);
/// ```
///
/// # Panics
/// When `cutoff` is not between 0 and 0.5, or `transition` not above 0.
pub fn low_pass(cutoff: f64, transition: f64, window: Window) -> Vec<f32> {
    assert!(transition > 0.0, "a transition of {transition} cycles per sample is not above 0");
    low_pass_of_length(cutoff, length(transition, window), window)
}

/// The same with so many taps, or one more where that is even.
///
/// # Panics
/// When `cutoff` is not between 0 and 0.5.
pub fn low_pass_of_length(cutoff: f64, taps: usize, window: Window) -> Vec<f32> {
    assert!(cutoff > 0.0 && cutoff < 0.5, "a cutoff of {cutoff} cycles per sample is not between 0 and 0.5");
    let half = (taps / 2) as i32;
    let tap = |k: i32| {
        let sinc = if k == 0 { 2.0 * cutoff } else { (TAU * cutoff * f64::from(k)).sin() / (PI * f64::from(k)) };
        // The window would be 0 just outside of the filter.
        sinc * window.at(f64::from(k) / f64::from(half + 1))
    };
    let gain: f64 = (-half..=half).map(tap).sum();
    (-half..=half).map(|k| (tap(k) / gain) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amplitude at a frequency, in dB.
    fn response(taps: &[f32], frequency: f64) -> f64 {
        let middle = (taps.len() / 2) as f64;
        let amplitude: f64 = taps
            .iter()
            .enumerate()
            .map(|(k, tap)| f64::from(*tap) * (TAU * frequency * (k as f64 - middle)).cos())
            .sum();
        20.0 * amplitude.abs().max(1e-9).log10()
    }

    #[test]
    fn what_is_asked_passes_and_the_rest_does_not() {
        for (window, ripple, stopband) in
            [(Window::Hann, 0.06, -43.5), (Window::Hamming, 0.025, -53.0), (Window::Blackman, 0.002, -73.5)]
        {
            for (cutoff, transition) in [(0.0167, 0.0043), (0.1, 0.05), (0.4, 0.01)] {
                let taps = low_pass(cutoff, transition, window);
                let steps = || (0..=2000).map(|k| f64::from(k) / 4000.0);
                let pass = steps().take_while(|f| *f <= cutoff - transition / 2.0);
                let stop = steps().skip_while(|f| *f < cutoff + transition / 2.0);
                let most = pass.map(|f| response(&taps, f).abs()).fold(0.0, f64::max);
                let left = stop.map(|f| response(&taps, f)).fold(f64::NEG_INFINITY, f64::max);
                let name = format!("{window}, {cutoff}, {transition}");
                assert!(most < ripple, "{name}: {most} dB of ripple");
                assert!(left < stopband, "{name}: {left} dB in the stopband");
                assert!(
                    (response(&taps, cutoff) + 6.0).abs() < 0.1,
                    "{name}: {} dB at cutoff",
                    response(&taps, cutoff)
                );
                assert!(taps.iter().eq(taps.iter().rev()), "{name}: not of linear phase");
            }
        }
    }

    #[test]
    fn windows_are_known_by_name() {
        for window in Window::ALL {
            assert_eq!(window.to_string().to_uppercase().parse(), Ok(window));
        }
        assert!("kaiser".parse::<Window>().unwrap_err().contains("`kaiser`: choose one of hann, hamming, blackman"));
    }

    #[test]
    #[should_panic(expected = "cutoff of 0.5 cycles per sample")]
    fn a_cutoff_that_passes_everything_is_refused() {
        low_pass(0.5, 0.1, Window::Hann);
    }

    #[test]
    #[should_panic(expected = "transition of 0 cycles per sample")]
    fn a_filter_without_end_is_refused() {
        low_pass(0.1, 0.0, Window::Hann);
    }
}
