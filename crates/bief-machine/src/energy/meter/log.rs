//! What a meter wrote into a file, looked at afterwards.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::super::{Energy, Scope};
use super::line::{Format, Line, Lines};
use crate::error::{Error, Result};

/// Readings that are kept: as many as a meter of 1000 readings a second makes in five hours.
const MAX_READINGS: usize = 20_000_000;

/// A recorded file of a power meter: the energy between two of its times.
///
/// Lines are those that a [`Meter`](super::Meter) takes, with a column of times.
///
/// ```
/// use bief_machine::energy::MeterLog;
///
/// let log = MeterLog::parse(b"time,watts\n10,4\n11,6\n12,6\noops\n13,2\n");
/// assert_eq!(log.span(), Some((10.0, 13.0)));
/// assert_eq!(log.passed_over(), 1);
/// let energy = log.between(10.5, 12.0)?;
/// assert_eq!((energy.joules, energy.seconds), (0.5 * 5.5 + 6.0, 1.5));
/// # Ok::<(), bief_machine::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MeterLog {
    format: Format,
    /// Seconds and watts, in the order of time.
    readings: Vec<(f64, f64)>,
    passed_over: u64,
}

impl MeterLog {
    /// Reads a file to its end.
    ///
    /// # Errors
    /// It cannot be read, is no regular file (a pipe or a line is for [`Meter::open`](super::Meter::open)), or there is no
    /// reading in it.
    pub fn read(path: &Path) -> Result<Self> {
        let fault = |what: &dyn std::fmt::Display| Error::unavailable(format!("{}: {what}", path.display()));
        match std::fs::metadata(path) {
            Ok(file) if !file.is_file() => {
                return Err(fault(&"is no file that has an end: measure with it as it comes"));
            }
            Ok(_) => {}
            Err(error) => return Err(fault(&error)),
        }
        let mut file = File::open(path).map_err(|error| fault(&error))?;
        let (mut log, mut lines) = (Self::default(), Lines::default());
        let mut chunk = vec![0; 1 << 16];
        loop {
            match file.read(&mut chunk).map_err(|error| fault(&error))? {
                0 => break,
                length => lines.feed(&chunk[..length], |line| log.take(line)),
            }
            if log.readings.len() > MAX_READINGS {
                return Err(fault(&format!("has more than {MAX_READINGS} readings: cut it")));
            }
        }
        lines.finish(|line| log.take(line));
        match (log.readings.is_empty(), log.format.lacks_power()) {
            (true, true) => Err(fault(&"its header names no power: one column must be `watts` or `power_mw`")),
            (true, false) if log.format.has_time() == Some(false) => {
                Err(fault(&"has no column of times: record lines of `time,watts`, the time in seconds"))
            }
            (true, false) => Err(fault(&"has no line of `time,watts`, such as `0.5,12.25`")),
            (false, _) => Ok(log),
        }
    }

    /// Takes the bytes of a file.
    pub fn parse(text: &[u8]) -> Self {
        let (mut log, mut lines) = (Self::default(), Lines::default());
        lines.feed(text, |line| log.take(line));
        lines.finish(|line| log.take(line));
        log
    }

    fn take(&mut self, line: Option<&[u8]>) {
        match line.map_or(Line::Garbage, |line| self.format.read(line)) {
            Line::Reading { seconds: Some(seconds), watts }
                if self.readings.last().is_none_or(|&(before, _)| seconds > before) =>
            {
                self.readings.push((seconds, watts));
            }
            Line::Other => {}
            _ => self.passed_over += 1,
        }
    }

    /// The first and the last time, in seconds by the meter's clock; `None` where there is no reading with a time.
    pub fn span(&self) -> Option<(f64, f64)> {
        Some((self.readings.first()?.0, self.readings.last()?.0))
    }

    /// Lines that are no readings: damaged, without a time, or of a time that is not after the one before.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The energy between two times, in seconds by the meter's clock: the area under straight lines from reading to reading.
    ///
    /// # Errors
    /// The times are not in order, or not within [`span`](Self::span).
    pub fn between(&self, from: f64, to: f64) -> Result<Energy> {
        let Some((first, last)) = self.span() else {
            return Err(Error::unavailable("there is no reading with a time"));
        };
        // What is not a number is not in order with anything.
        if !(first <= from && from < to && to <= last) {
            return Err(Error::unavailable(format!(
                "there are readings from {first} s to {last} s: {from} s to {to} s is not within them"
            )));
        }
        let begin = self.readings.partition_point(|&(seconds, _)| seconds <= from);
        let end = self.readings.partition_point(|&(seconds, _)| seconds < to);
        let inner = self.readings[begin..end].iter().copied();
        let corners = std::iter::once((from, self.watts_at(from))).chain(inner).chain([(to, self.watts_at(to))]);
        let mut joules = 0.0;
        let mut before = None;
        for (seconds, watts) in corners {
            if let Some((then, power)) = before.replace((seconds, watts)) {
                joules += (seconds - then) * (power + watts) / 2.0;
            }
        }
        let seconds = to - from;
        Ok(Energy { joules, watts: joules / seconds, seconds, source: "meter".to_owned(), scope: Scope::Meter })
    }

    /// The power at a time within the span.
    fn watts_at(&self, seconds: f64) -> f64 {
        let after = self.readings.partition_point(|&(time, _)| time < seconds).clamp(1, self.readings.len().max(2) - 1);
        match self.readings.get(after - 1..=after) {
            Some(&[(t0, w0), (t1, w1)]) => w0 + (w1 - w0) * (seconds - t0) / (t1 - t0),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_outside_and_backwards_are_refused() {
        let log = MeterLog::parse(b"1,5\n2,5\n1.5,900\n3,5");
        assert_eq!((log.span(), log.passed_over()), (Some((1.0, 3.0)), 1));
        assert_eq!(log.between(1.0, 3.0).unwrap().watts, 5.0);
        for (from, to) in [(0.9, 2.0), (1.0, 3.1), (2.0, 2.0), (2.0, 1.0), (f64::NAN, 2.0), (1.0, f64::NAN)] {
            let refusal = log.between(from, to).unwrap_err().to_string();
            assert!(refusal.contains("readings from 1 s to 3 s"), "{refusal}");
        }
        assert!(MeterLog::parse(b"7\n8\n").between(0.0, 1.0).is_err());
        assert!(MeterLog::parse(b"7,8\n").between(7.0, 7.0).is_err());
    }

    proptest! {
        /// Steps of a thousandth of the span, by the naive rule.
        #[test]
        fn the_area_is_that_of_many_small_steps(
            steps in prop::collection::vec((0.01..3.0_f64, 0.0..50.0_f64), 2..30),
            ends in (0.0..0.49_f64, 0.51..1.0_f64),
        ) {
            let mut time = 0.0;
            let readings: Vec<(f64, f64)> = steps.iter().map(|&(step, watts)| { time += step; (time, watts) }).collect();
            let log = MeterLog { readings: readings.clone(), ..MeterLog::default() };
            let (first, last) = log.span().unwrap();
            let (from, to) = (first + ends.0 * (last - first), first + ends.1 * (last - first));
            let energy = log.between(from, to).unwrap();
            let at = |time: f64| {
                let pair = readings.windows(2).find(|pair| pair[1].0 >= time).unwrap();
                pair[0].1 + (pair[1].1 - pair[0].1) * (time - pair[0].0) / (pair[1].0 - pair[0].0)
            };
            const STEPS: usize = 20_000;
            let step = (to - from) / STEPS as f64;
            let naive: f64 = (0..STEPS).map(|k| at(from + (k as f64 + 0.5) * step) * step).sum();
            prop_assert!((energy.joules - naive).abs() < 0.01 * naive + 0.01, "{} {}", energy.joules, naive);
        }
    }
}
