//! What a mapper does, and how often.

use std::time::Duration;

use bief_schedule::mapping::{Algorithm, Cores, Ftfc, FtfcSettings, Measure};

use super::refused;
use crate::error::Result;

/// The shortest and the longest interval.
const INTERVALS: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(1)];

/// How a [`ThreadMapper`](super::ThreadMapper) maps threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapSettings {
    /// How often threads are looked at and mapped: 1 ms to 1 s.
    pub interval: Duration,
    /// How demands are estimated, and threads mapped by them.
    pub ftfc: FtfcSettings,
    /// For how many intervals a thread stays on a kind of core before it may go to another one.
    pub residency: u32,
    /// How many threads may go to another kind of core at the end of one interval, at least 1: those that need the most go
    /// first.
    pub max_migrations: usize,
    /// The share of the time, 0 to 1, from which on a busy thread is mapped. One that is busy for less than half of it is
    /// left to the system, after 20 intervals, with the affinity that it had: it would take a place from threads that
    /// need it.
    pub min_share: f64,
    /// Whether all threads are left to the system while more of them want to run than there are cores. Every core is busy then,
    /// whoever runs where, and a thread that is bound to a kind waits while a core of another one is idle for a moment.
    pub yields: bool,
    /// Look and decide, and set nothing.
    pub dry_run: bool,
}

impl Default for MapSettings {
    /// Every 5 ms, for throughput ([`Algorithm::RANK`]): who maps threads wants them to be done, and those that a slow
    /// core delays are the first to gain. Two intervals on a kind at least, 8 migrations per interval at most; threads
    /// that are busy for less than 5 % of the time are left to the system, and all while there are too few cores for them.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(5),
            ftfc: FtfcSettings { algorithm: Algorithm::RANK, ..FtfcSettings::default() },
            residency: 2,
            max_migrations: 8,
            min_share: 0.05,
            yields: true,
            dry_run: false,
        }
    }
}

impl MapSettings {
    /// Checks the fields.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) where one is out of its range, or does not go with busy shares, which
    /// are what is measured.
    pub fn check(&self) -> Result<()> {
        let [shortest, longest] = INTERVALS;
        if !(shortest..=longest).contains(&self.interval) {
            return Err(refused(format!("an interval of {:?}: write one from 1 ms to 1 s", self.interval)));
        }
        if self.max_migrations == 0 {
            return Err(refused("no migration per interval is allowed: allow at least 1, or ask for a dry run"));
        }
        if !(0.0..=1.0).contains(&self.min_share) {
            let share = self.min_share;
            return Err(refused(format!("a minimum share of {share}: write a share of the time, from 0 to 1")));
        }
        if self.ftfc.estimator.measure != Measure::BusyShare {
            return Err(refused("throughputs of threads are not known: measure busy shares"));
        }
        // The rest is checked where it is used.
        Ftfc::new(&Cores::new([1.0])?, [], self.ftfc)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused() {
        let usual = MapSettings::default();
        assert!(usual.check().is_ok());
        let ftfc = |algorithm| FtfcSettings { algorithm, ..usual.ftfc };
        for (settings, reason) in [
            (MapSettings { interval: Duration::from_micros(999), ..usual }, "999"),
            (MapSettings { interval: Duration::from_secs(2), ..usual }, "1 s"),
            (MapSettings { max_migrations: 0, ..usual }, "dry run"),
            (MapSettings { min_share: f64::NAN, ..usual }, "share"),
            (MapSettings { min_share: 1.5, ..usual }, "share"),
            (MapSettings { ftfc: ftfc(Algorithm::Rank { stickiness: -1.0 }), ..usual }, "stickiness"),
        ] {
            let error = settings.check().unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let mut throughputs = usual;
        throughputs.ftfc.estimator.measure = Measure::Throughput;
        assert!(throughputs.check().unwrap_err().to_string().contains("busy shares"));
    }
}
