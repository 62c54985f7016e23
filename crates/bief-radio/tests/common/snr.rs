//! How well audio was received: its ratio to noise and distortion, against the audio that was sent.
//!
//! The best delay (up to 50 ms) and gain are removed, both signals are low-passed to 4 kHz, 50 ms at each end are left out.

use std::f64::consts::PI;

/// Samples per second of the audio compared.
pub const RATE: usize = 48_000;
/// One sample of so many is kept after the low-pass filter.
const STEP: usize = 4;
const HALF: i32 = 95;

/// 10 log10 of the power of `sent` over the power of what is left when `received`, scaled, is taken away.
pub fn snr_db(received: &[f64], sent: &[f64]) -> f64 {
    let head = |audio: &[f64], samples: usize| audio[..samples.min(audio.len())].to_vec();
    let slow = |audio: &[f64]| low_pass(&head(audio, 36_000), 0.0);
    let coarse = STEP as i32 * best_delay(&slow(received), &slow(sent), -600..=600, 6000);
    let delay = best_delay(received, sent, coarse - 6..=coarse + 6, 24_000);
    let (received, sent) = aligned(received, sent, delay);
    let shortened = low_pass(&head(sent, 24_000), 0.0);
    let shifts = (-16..=16).map(|k| f64::from(k) / 16.0);
    let shift = shifts
        .map(|shift| (shift, compare(&low_pass(&head(received, 24_000), shift), &shortened)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    compare(&low_pass(received, shift.0), &low_pass(sent, 0.0))
}

/// Low-passed to 4 kHz, delayed by -`shift` samples.
fn low_pass(audio: &[f64], shift: f64) -> Vec<f64> {
    let cutoff = 4000.0 / RATE as f64;
    let taps: Vec<f64> = (-HALF..=HALF)
        .map(|k| {
            let u = f64::from(k) + shift;
            let turn = PI * u / f64::from(HALF + 1);
            let window = 0.42 + 0.5 * turn.cos() + 0.08 * (2.0 * turn).cos();
            window * if u == 0.0 { 2.0 * cutoff } else { (2.0 * PI * cutoff * u).sin() / (PI * u) }
        })
        .collect();
    audio.windows(taps.len()).step_by(STEP).map(|window| dot(window, &taps)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Both signals from the same instant on, when the first lags by `delay`.
fn aligned<'a>(received: &'a [f64], sent: &'a [f64], delay: i32) -> (&'a [f64], &'a [f64]) {
    let late = delay.unsigned_abs() as usize;
    let (received, sent) = if delay >= 0 { (&received[late..], sent) } else { (received, &sent[late..]) };
    let length = received.len().min(sent.len());
    (&received[..length], &sent[..length])
}

fn best_delay(received: &[f64], sent: &[f64], delays: std::ops::RangeInclusive<i32>, most: usize) -> i32 {
    let score = |delay: i32| {
        let (received, sent) = aligned(received, sent, delay);
        let length = received.len().min(most);
        let energy = dot(&received[..length], &received[..length]);
        if energy > 0.0 { dot(&received[..length], &sent[..length]).abs() / energy.sqrt() } else { 0.0 }
    };
    let scored = delays.map(|delay| (delay, score(delay)));
    // Of equal scores the shortest delay.
    let better = |a: &(i32, f64), b: &(i32, f64)| a.1.total_cmp(&b.1).then(b.0.abs().cmp(&a.0.abs()));
    scored.max_by(better).unwrap().0
}

fn compare(received: &[f64], sent: &[f64]) -> f64 {
    let inner = |audio: &[f64]| audio[600..audio.len() - 600].to_vec();
    let (received, sent) = (inner(received), inner(sent));
    let gain = dot(&received, &sent) / dot(&received, &received);
    let error: f64 = received.iter().zip(&sent).map(|(r, s)| (s - gain * r).powi(2)).sum();
    10.0 * (dot(&sent, &sent) / error.max(1e-30)).log10()
}
