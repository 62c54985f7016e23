//! The caches of a core, where the system tells them.

use bief::machine::{CacheContent, Machine};

use super::size::Size;

/// Levels and sizes of the caches that keep data for the first core, from the nearest to the farthest.
pub(super) fn of_first_core(machine: &Machine) -> Vec<(u8, Size)> {
    let keeps_data = machine.caches().iter().filter(|cache| cache.holds != CacheContent::Instructions);
    keeps_data
        .filter(|cache| cache.cores.contains(&0))
        .filter_map(|cache| Some((cache.level, Size(usize::try_from(cache.bytes?).ok()?))))
        .collect()
}
