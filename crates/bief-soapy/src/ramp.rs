//! How a transmission begins and ends.

use std::f32::consts::PI;

/// Samples of a ramp.
pub(crate) const RAMP: usize = 512;

/// Puts a ramp before the first sample and behind the last one, so that neither switches on or off at once: each is the signal beside
/// it, backwards, which grows or fades. The samples between are as they are.
#[derive(Debug)]
pub(crate) struct Ramp {
    /// The first samples, until there are enough of them.
    first: Vec<[f32; 2]>,
    has_begun: bool,
    /// The last samples that went out.
    last: Vec<[f32; 2]>,
}

/// How loud a sample of a ramp is: the first of it the least.
fn loudness(at: usize, length: usize) -> f32 {
    0.5 - 0.5 * (PI * (at as f32 + 0.5) / length as f32).cos()
}

fn scaled([i, q]: [f32; 2], by: f32) -> [f32; 2] {
    [i * by, q * by]
}

impl Ramp {
    pub(crate) fn new() -> Self {
        Self { first: Vec::with_capacity(RAMP), has_begun: false, last: Vec::with_capacity(2 * RAMP) }
    }

    /// Passes samples on to `out`.
    pub(crate) fn push<E>(
        &mut self,
        mut samples: &[[f32; 2]],
        out: &mut impl FnMut(&[[f32; 2]]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has_begun {
            let (some, rest) = samples.split_at(samples.len().min(RAMP - self.first.len()));
            self.first.extend_from_slice(some);
            samples = rest;
            if self.first.len() < RAMP {
                return Ok(());
            }
            self.begin(out)?;
        }
        self.remember(samples);
        out(samples)
    }

    fn begin<E>(&mut self, out: &mut impl FnMut(&[[f32; 2]]) -> Result<(), E>) -> Result<(), E> {
        self.has_begun = true;
        let first = std::mem::take(&mut self.first);
        let length = first.len();
        let up: Vec<_> = first.iter().rev().enumerate().map(|(at, &x)| scaled(x, loudness(at, length))).collect();
        out(&up)?;
        self.remember(&first);
        out(&first)
    }

    /// Keeps the last samples.
    fn remember(&mut self, samples: &[[f32; 2]]) {
        let new = &samples[samples.len().saturating_sub(RAMP)..];
        self.last.drain(..(self.last.len() + new.len()).saturating_sub(RAMP).min(self.last.len()));
        self.last.extend_from_slice(new);
    }

    /// The ramp at the end.
    pub(crate) fn finish<E>(&mut self, out: &mut impl FnMut(&[[f32; 2]]) -> Result<(), E>) -> Result<(), E> {
        if !self.has_begun {
            self.begin(out)?;
        }
        let last = std::mem::take(&mut self.last);
        let length = last.len();
        let down: Vec<_> =
            last.iter().rev().enumerate().map(|(at, &x)| scaled(x, loudness(length - 1 - at, length))).collect();
        out(&down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(signal: &[[f32; 2]], chunk: usize) -> Vec<[f32; 2]> {
        let (mut ramp, mut all) = (Ramp::new(), Vec::new());
        let mut out = |samples: &[[f32; 2]]| {
            all.extend_from_slice(samples);
            Ok::<(), ()>(())
        };
        signal.chunks(chunk).try_for_each(|samples| ramp.push(samples, &mut out)).unwrap();
        ramp.finish(&mut out).unwrap();
        all
    }

    #[test]
    fn the_signal_is_whole_between_two_ramps() {
        for length in [0, 1, 100, RAMP - 1, RAMP, RAMP + 1, 5000] {
            let signal: Vec<[f32; 2]> = (0..length).map(|k| [(k as f32 * 0.1).cos(), (k as f32 * 0.1).sin()]).collect();
            for chunk in [1, 7, 700, 4096] {
                let all = sent(&signal, chunk);
                let ramp = length.min(RAMP);
                assert_eq!(all.len(), length + 2 * ramp);
                assert_eq!(all[ramp..ramp + length], signal);
                let size = |x: &[f32; 2]| x[0].hypot(x[1]);
                // Of constant magnitude: both ramps rise and fall without a step.
                assert!(all[..ramp].windows(2).all(|pair| size(&pair[0]) <= size(&pair[1]) + 1e-6));
                assert!(all[ramp + length..].windows(2).all(|pair| size(&pair[0]) + 1e-6 >= size(&pair[1])));
                if length >= RAMP {
                    assert!(size(&all[0]) < 1e-4 && size(all.last().unwrap()) < 1e-4);
                }
            }
        }
    }
}
