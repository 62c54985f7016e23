//! The machines: three fast cores and three slow ones, as in the paper.

use bief_schedule::Error;
use bief_schedule::mapping::{Cores, HeterogeneityMeasure, heterogeneity};

/// Cores of each of the two kinds.
const OF_EACH_KIND: usize = 3;
/// All cores, and as many threads.
pub(super) const CORES: usize = 2 * OF_EACH_KIND;

/// The readings of the paper's measure.
pub(super) const READINGS: [(HeterogeneityMeasure, &str); 2] =
    [(HeterogeneityMeasure::Printed, "as printed"), (HeterogeneityMeasure::Deviation, "std")];

/// Capacities of slow cores beside those that the paper's machines have.
const SLOW: [f64; 7] = [1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1];

/// How much slower cores of one capacity are than another before they count as two machines.
const SAME: f64 = 1e-9;

/// Fast cores of capacity 1, and slow ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Machine {
    /// The capacity of the slow cores.
    pub(super) slow: f64,
    /// How unlike they are, in the order of [`READINGS`].
    pub(super) heterogeneity: [f64; 2],
}

impl Machine {
    pub(super) fn new(slow: f64) -> Result<Self, Error> {
        let measured = READINGS.map(|(measure, _)| heterogeneity(&capacities(slow), measure));
        let [printed, deviation] = measured;
        Ok(Self { slow, heterogeneity: [printed?, deviation?] })
    }

    /// The machine that is so unlike in a reading. Both measures are in proportion to what the slow cores lack.
    pub(super) fn so_unlike(reading: usize, measured: f64) -> Result<Self, Error> {
        Self::new(1.0 - measured / heterogeneity(&capacities(0.0), READINGS[reading].0)?)
    }

    pub(super) fn cores(self) -> Result<Cores, Error> {
        Cores::new(capacities(self.slow))
    }

    /// The most that any mapping can gain over any other with one thread on each core, in per cent: what a thread gets
    /// on the slowest core is no less than that share of what it gets on the fastest.
    pub(super) fn max_gain_percent(self) -> f64 {
        100.0 * (1.0 / self.slow - 1.0)
    }

    /// The least unlike machine on which a mapping could gain so much.
    pub(super) fn that_could_gain(percent: f64) -> Result<Self, Error> {
        Self::new(1.0 / (1.0 + percent / 100.0))
    }
}

fn capacities(slow: f64) -> [f64; CORES] {
    std::array::from_fn(|core| if core < OF_EACH_KIND { 1.0 } else { slow })
}

/// The machines of the paper in both readings of its measure, and others; from equal cores to unlike ones.
pub(super) fn machines(published: &[f64]) -> Result<Vec<Machine>, Error> {
    let readings = (0..READINGS.len()).flat_map(|reading| published.iter().map(move |&measured| (reading, measured)));
    let mut machines =
        readings.map(|(reading, measured)| Machine::so_unlike(reading, measured)).collect::<Result<Vec<_>, _>>()?;
    for slow in SLOW {
        machines.push(Machine::new(slow)?);
    }
    machines.sort_by(|a, b| b.slow.total_cmp(&a.slow));
    machines.dedup_by(|a, b| (a.slow - b.slow).abs() < SAME);
    Ok(machines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_as_unlike_as_wanted() {
        for reading in 0..READINGS.len() {
            for measured in [0.0, 0.02, 0.1, 0.4] {
                let machine = Machine::so_unlike(reading, measured).unwrap();
                assert!((machine.heterogeneity[reading] - measured).abs() < 1e-12);
            }
        }
        assert!((Machine::so_unlike(1, 0.1).unwrap().slow - 0.8).abs() < 1e-12);
        assert!((Machine::so_unlike(0, 0.1).unwrap().slow - 0.91835).abs() < 1e-5);
    }

    #[test]
    fn machines_of_both_readings_are_there_once() {
        let machines = machines(&[0.0, 0.05, 0.1]).unwrap();
        let slow: Vec<String> = machines.iter().map(|machine| format!("{:.3}", machine.slow)).collect();
        assert_eq!(slow, ["1.000", "0.959", "0.918", "0.900", "0.800", "0.600", "0.400", "0.200", "0.100"]);
    }

    #[test]
    fn a_gain_needs_slow_cores() {
        let machine = Machine::that_could_gain(25.0).unwrap();
        assert!((machine.slow - 0.8).abs() < 1e-12 && (machine.max_gain_percent() - 25.0).abs() < 1e-9);
    }
}
