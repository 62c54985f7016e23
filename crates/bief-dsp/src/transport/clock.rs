//! The clocks of programmes against the place in the stream.

use super::{PCR_HZ, PCR_ROUND};

/// Two clocks that are further apart, in ticks, or backwards, are of two clocks: one second.
const FURTHEST: u64 = 27_000_000;

/// Follows the clock (PCRs) of one PID of a multiplex of constant rate.
///
/// ```
/// use bief_dsp::transport::Clock;
/// let mut clock = Clock::default();
/// for k in 0..100 {
///     clock.push(k * 50, k * 540_000, false); // 50 packets in 20 ms
/// }
/// let figures = clock.figures().unwrap();
/// assert_eq!((figures.marks, figures.packets_per_second, figures.jitter), (100, 2500.0, 0.0));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// The last mark: packet and ticks.
    last: Option<(u64, u64)>,
    marks: u64,
    jumps: u64,
    longest: u64,
    /// Packets and ticks of all intervals that fit.
    packets: u64,
    ticks: u64,
    fit: Option<Fit>,
}

/// A straight line through marks since the last jump: sums over what is left of a first guess, so that they stay small.
#[derive(Debug, Clone, Copy)]
struct Fit {
    /// Ticks per packet, and the sums since the first mark.
    guess: f64,
    packets: f64,
    ticks: f64,
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

/// What a clock tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFigures {
    /// PCRs.
    pub marks: u64,
    /// Of these, ones that do not continue those before.
    pub jumps: u64,
    /// The longest time between two, in seconds.
    pub longest: f64,
    /// Packets of the whole stream per second.
    pub packets_per_second: f64,
    /// How far PCRs are from a clock that fits the places of their packets best, in seconds: root mean square, since the last jump.
    pub jitter: f64,
}

impl Clock {
    /// Takes the PCR, in ticks of 27 MHz, of a packet by its number in the stream.
    pub fn push(&mut self, packet: u64, ticks: u64, is_discontinuous: bool) {
        self.marks += 1;
        let Some((before, last)) = self.last.replace((packet, ticks)) else { return };
        let (packets, passed) =
            (packet.saturating_sub(before), (ticks % PCR_ROUND + PCR_ROUND - last % PCR_ROUND) % PCR_ROUND);
        if is_discontinuous || packets == 0 || passed == 0 || passed > FURTHEST {
            self.jumps += 1;
            self.fit = None;
            return;
        }
        self.longest = self.longest.max(passed);
        self.packets = self.packets.saturating_add(packets);
        self.ticks = self.ticks.saturating_add(passed);
        let (packets, passed) = (packets as f64, passed as f64);
        let first = Fit {
            guess: passed / packets,
            packets: 0.0,
            ticks: 0.0,
            n: 1.0,
            x: 0.0,
            y: 0.0,
            xx: 0.0,
            xy: 0.0,
            yy: 0.0,
        };
        self.fit.get_or_insert(first).add(packets, passed);
    }

    /// What it tells so far; `None` before the second PCR of one clock.
    pub fn figures(&self) -> Option<ClockFigures> {
        let seconds = self.ticks as f64 / PCR_HZ;
        (self.ticks > 0).then(|| ClockFigures {
            marks: self.marks,
            jumps: self.jumps,
            longest: self.longest as f64 / PCR_HZ,
            packets_per_second: self.packets as f64 / seconds,
            jitter: self.fit.map_or(0.0, |fit| fit.rms() / PCR_HZ),
        })
    }
}

impl Fit {
    fn add(&mut self, packets: f64, ticks: f64) {
        self.packets += packets;
        self.ticks += ticks;
        let (x, y) = (self.packets, self.ticks - self.guess * self.packets);
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// What is left of the best line.
    fn rms(&self) -> f64 {
        let Self { n, x, y, xx, xy, yy, .. } = *self;
        let (varies, with, spread) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        if varies <= 0.0 {
            return 0.0;
        }
        ((spread - with * with / varies).max(0.0) / n).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_what_is_left_of_a_straight_line() {
        let mut clock = Clock::default();
        // 1 µs to either side in turn; the rate is no whole number of ticks; the clock begins again meanwhile.
        for k in 0..2001_u64 {
            let exact = PCR_ROUND as f64 - 1e8 + k as f64 * 40.0 * 13_333.7;
            clock.push(k * 40, (exact + if k % 2 == 0 { 27.0 } else { -27.0 }) as u64 % PCR_ROUND, false);
        }
        let figures = clock.figures().unwrap();
        assert!((figures.jitter - 1e-6).abs() < 5e-8, "{figures:?}");
        assert!((figures.packets_per_second - 27e6 / 13_333.7).abs() < 0.01, "{figures:?}");
        assert_eq!((figures.jumps, figures.marks), (0, 2001));
    }

    #[test]
    fn jumps_are_counted_and_not_measured() {
        let mut clock = Clock::default();
        for (packet, ticks, told) in
            [(0, 0, false), (10, 270_000, false), (20, 9_000_000_000, false), (30, 9_000_270_000, false), (40, 5, true)]
        {
            clock.push(packet, ticks, told);
        }
        let figures = clock.figures().unwrap();
        assert_eq!((figures.jumps, figures.packets_per_second), (2, 1000.0));
        let mut hostile = Clock::default();
        for k in 0..100_u64 {
            hostile.push(u64::MAX / (k + 1), u64::MAX / (k * k + 1), false);
        }
        assert!(hostile.figures().is_none_or(|figures| figures.jitter.is_finite()));
    }
}
