//! The cores that threads are mapped to.

use super::refused;
use crate::error::Error;

/// The least capacity of a core, beside the fastest.
const LEAST: f64 = 1e-6;

/// The cores that threads are mapped to, each with its capacity: how fast it is, the fastest being 1.
///
/// # Example
///
/// ```
/// use bief_schedule::mapping::Cores;
///
/// // As Linux tells them: /sys/devices/system/cpu/cpu*/cpu_capacity.
/// let cores = Cores::new([1024.0, 1024.0, 512.0, 512.0])?;
/// assert_eq!(cores.capacities(), [1.0, 1.0, 0.5, 0.5]);
/// assert!(Cores::new([]).is_err());
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    capacities: Vec<f64>,
}

impl Cores {
    /// Cores of these speeds, in any unit that is the same for all. Mappings name cores by their position here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where there is no core, a capacity is negative or not
    /// finite, or one is less than a millionth of the greatest.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Result<Self, Error> {
        let mut capacities: Vec<f64> = capacities.into_iter().collect();
        for (core, &capacity) in capacities.iter().enumerate() {
            check_capacity(core, capacity)?;
        }
        let greatest = greatest(&capacities)?;
        for (core, capacity) in capacities.iter_mut().enumerate() {
            *capacity /= greatest;
            if *capacity < LEAST {
                let reason =
                    "it has less than a millionth of the capacity of the fastest: leave out cores that are off";
                return Err(refused(&format!("core {core}"), reason));
            }
        }
        Ok(Self { capacities })
    }

    /// The capacity of each core, above 0 and at most 1.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }
}

/// Refuses what is no capacity.
pub(super) fn check_capacity(core: usize, capacity: f64) -> Result<(), Error> {
    if capacity.is_finite() && capacity >= 0.0 {
        return Ok(());
    }
    Err(refused(&format!("core {core}"), format!("a capacity of {capacity}: write a finite number of 0 or more")))
}

/// The greatest of the capacities, above 0.
pub(super) fn greatest(capacities: &[f64]) -> Result<f64, Error> {
    match capacities.iter().copied().fold(0.0, f64::max) {
        0.0 => Err(refused("cores", "there is none that works: give at least one core with a capacity above 0")),
        greatest => Ok(greatest),
    }
}
