//! Why the system refused, and what can be done about it.

use std::io;

use super::files;
use super::sched::ThreadId;

const DENIED: i32 = 1;
const BUSY: i32 = 16;
const INVALID: i32 = 22;

/// Whether all time that can be reserved is.
pub fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(BUSY)
}

/// Why a thread has no reservation. `total` tells of what was asked for.
pub fn of_deadline(thread: ThreadId, error: &io::Error, total: &str) -> String {
    match error.raw_os_error() {
        Some(DENIED) if !files::may_set_classes() => {
            "SCHED_DEADLINE needs CAP_SYS_NICE: run `sudo setcap cap_sys_nice+ep PROGRAM`, set \
             AmbientCapabilities=CAP_SYS_NICE in the unit, or start the container with --cap-add SYS_NICE"
                .to_owned()
        }
        Some(DENIED) => match files::allowed_and_online(thread) {
            Some((allowed, online)) if allowed != online => format!(
                "SCHED_DEADLINE needs a thread that may run on all cores of its scheduling domain: it may use {allowed} of \
                 {online}. Start the program without taskset or a smaller cpuset, or make that cpuset a partition \
                 (cpuset.cpus.partition = root)"
            ),
            _ => "the kernel, or what confines this process (seccomp), does not permit SCHED_DEADLINE".to_owned(),
        },
        Some(BUSY) => format!("{total}: lower the rate, raise the batch or free cores"),
        Some(INVALID) => {
            "the kernel takes no such reservation: look at /proc/sys/kernel/sched_deadline_period_min_us and \
                          sched_deadline_period_max_us"
                .to_owned()
        }
        _ => format!("SCHED_DEADLINE: {error}"),
    }
}

/// Why a thread does not have this priority.
pub fn of_fifo(priority: u32, error: &io::Error) -> String {
    if error.raw_os_error() != Some(DENIED) {
        return format!("SCHED_FIFO: {error}");
    }
    if let Some(group) = files::group_without_time() {
        return format!(
            "SCHED_FIFO: the control group {group} has cpu.rt_runtime_us = 0: give it time, or start the container with \
             --cpu-rt-runtime"
        );
    }
    if files::may_set_classes() {
        return "the kernel, or what confines this process (seccomp), does not permit SCHED_FIFO".to_owned();
    }
    let limit = files::limit("Max realtime priority").unwrap_or_else(|| "unknown".to_owned());
    format!(
        "SCHED_FIFO: RLIMIT_RTPRIO is {limit}, priority {priority} needs as much: add `@realtime - rtprio {priority}` and \
         `@realtime - memlock unlimited` to /etc/security/limits.d and log in again, or give the program CAP_SYS_NICE"
    )
}

/// Why memory is not locked.
pub fn of_memory(error: &io::Error) -> String {
    let limit = files::limit("Max locked memory").unwrap_or_else(|| "unknown".to_owned());
    format!("memory is not locked ({error}; RLIMIT_MEMLOCK is {limit} bytes): page faults may add latency")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_a_remedy() {
        let here = ThreadId::of_this_thread();
        let told =
            |code| of_deadline(here, &io::Error::from_raw_os_error(code), "reservations total 2.40 of 1.80 cores");
        assert_eq!(told(BUSY), "reservations total 2.40 of 1.80 cores: lower the rate, raise the batch or free cores");
        assert!(is_busy(&io::Error::from_raw_os_error(BUSY)) && !is_busy(&io::Error::from_raw_os_error(DENIED)));
        assert!(told(INVALID).contains("sched_deadline_period_min_us"));
        assert!(told(DENIED).contains("SCHED_DEADLINE"));
        assert!(of_fifo(80, &io::Error::from_raw_os_error(DENIED)).contains("SCHED_FIFO"));
        assert!(of_memory(&io::Error::from_raw_os_error(12)).contains("page faults"));
    }
}
