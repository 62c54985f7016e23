//! What Linux's files say about rights, limits, reservations and what became of a thread.

use std::fs;
use std::time::Duration;

use super::sched::ThreadId;
use crate::topology::list;

/// The right to set any class, among the capabilities.
const SYS_NICE: u32 = 23;

/// A field of a thread's status.
fn status(thread: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

fn status_of(thread: ThreadId, key: &str) -> Option<String> {
    status(&format!("self/task/{}", thread.number()), key)
}

fn has_bit(mask: &str, bit: u32) -> bool {
    u64::from_str_radix(mask, 16).is_ok_and(|mask| mask >> bit & 1 == 1)
}

/// Whether the calling thread may set any class.
pub(super) fn may_set_classes() -> bool {
    status("thread-self", "CapEff").is_some_and(|mask| has_bit(&mask, SYS_NICE))
}

/// Whether this thread keeps a signal from itself; numbers of signals begin at 1.
pub fn blocks(thread: ThreadId, signal: u32) -> bool {
    status_of(thread, "SigBlk").is_some_and(|mask| has_bit(&mask, signal - 1))
}

/// How often this thread has lost its core to another one while it had work.
pub fn interruptions(thread: ThreadId) -> Option<u64> {
    status_of(thread, "nonvoluntary_ctxt_switches")?.parse().ok()
}

/// The hardware threads that this thread may use, and those that are online, as Linux lists them.
pub(super) fn allowed_and_online(thread: ThreadId) -> Option<(String, String)> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    Some((status_of(thread, "Cpus_allowed_list")?, online.trim().to_owned()))
}

/// How many hardware threads are online: where the system does not tell, those that this process may use.
pub fn online_cores() -> usize {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let cores = online.and_then(|online| list::threads(&online)).map(|threads| threads.len());
    cores
        .filter(|&cores| cores > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// A limit of this process, as it is called in `/proc/self/limits`.
pub(super) fn limit(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.to_owned();
    Some(value)
}

/// The control group of version 1 that leaves this process no time for real-time classes.
pub(super) fn group_without_time() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        let has_none = ["cpu", "cpu,cpuacct"].iter().any(|mount| {
            let file = format!("/sys/fs/cgroup/{mount}{group}/cpu.rt_runtime_us");
            fs::read_to_string(file).is_ok_and(|text| text.trim() == "0")
        });
        (is_cpu && has_none).then(|| group.to_owned())
    })
}

/// The share of each core that real-time classes may have; `None` where there is no such limit.
pub(super) fn share_of_real_time() -> Option<f64> {
    let number = |name: &str| -> Option<f64> {
        fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok()?.trim().parse().ok()
    };
    let (runtime, period) = (number("runtime")?, number("period")?);
    (runtime >= 0.0 && period > 0.0).then(|| runtime / period)
}

/// Whether the kernel keeps a reservation on each core for ordinary threads, as it does since 6.12.
pub(super) fn serves_ordinary_threads() -> bool {
    fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| version(&release) >= Some((6, 12)))
}

/// Major and minor number of a release such as `6.12.0-rc1`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Time that the cores of this virtual machine had work and another one had them, of all cores together.
pub fn stolen() -> Option<Duration> {
    stolen_of(&fs::read_to_string("/proc/stat").ok()?)
}

fn stolen_of(text: &str) -> Option<Duration> {
    // cpu, user, nice, system, idle, waiting, interrupts, soft interrupts, stolen: in hundredths of a second.
    let ticks: u64 = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()?;
    Some(Duration::from_millis(ticks.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert_eq!(version("6.12.0-rc1\n"), Some((6, 12)));
        assert_eq!(version("5.15.153.1-microsoft"), Some((5, 15)));
        assert_eq!(version("generic"), None);
        assert!(version("6.9.3") < version("6.12.1"));
    }

    #[test]
    fn stolen_time_is_the_eighth_number() {
        let text = "cpu  9 8 7 6 5 4 3 123 1 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(stolen_of(text), Some(Duration::from_millis(1230)));
        assert_eq!(stolen_of("cpu  9 8 7 6\n"), None);
        assert_eq!(stolen_of(""), None);
    }

    #[test]
    fn a_mask_is_hexadecimal_and_begins_with_bit_0() {
        assert!(has_bit("0000000000800000", 23) && !has_bit("0000000000800000", 22));
        assert!(!has_bit("", 0) && !has_bit("x", 0));
    }
}
