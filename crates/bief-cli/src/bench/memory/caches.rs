//! The caches of a core, where the system tells them.

use std::fs;

use bief::Machine;

use super::size::Size;

/// Levels and sizes of the caches that keep data for the first core, from the nearest to the farthest.
pub(super) fn of_first_core(machine: &Machine) -> Vec<(u32, Size)> {
    let folder = format!("/sys/devices/system/cpu/cpu{}/cache", machine.cores()[0].threads[0]);
    let mut caches: Vec<(u32, Size)> =
        (0..).map_while(|index| cache(&format!("{folder}/index{index}"))).flatten().collect();
    caches.sort_unstable();
    caches
}

/// The cache of a folder; `Some(None)` for one that keeps instructions alone, or whose size is not told, `None` where there is
/// no such folder.
fn cache(folder: &str) -> Option<Option<(u32, Size)>> {
    let read = |name: &str| Some(fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().to_owned());
    let level = read("level")?.parse().ok()?;
    let keeps_data = read("type")? != "Instruction";
    let size = read("size").and_then(|size| format!("{size}iB").parse().ok());
    Some(size.filter(|_| keeps_data).map(|size| (level, size)))
}
