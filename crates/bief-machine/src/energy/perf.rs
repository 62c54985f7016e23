//! Counters of the kernel's performance events, which the system call `perf_event_open` gives.

pub(super) use self::system::Counter;

/// Linux. The interpreter knows no such call.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "calls of the kernel that no safe library wraps")]
mod system {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::FromRawFd;

    /// `PERF_FLAG_FD_CLOEXEC`: programs that this one starts do not get it.
    const CLOSE_ON_EXEC: libc::c_ulong = 8;

    /// `struct perf_event_attr` in its first version of 64 bytes, which every kernel takes.
    #[repr(C)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        config1: u64,
    }

    /// A counter that counts from when it was opened until it is dropped.
    #[derive(Debug)]
    pub(in super::super) struct Counter(File);

    impl Counter {
        /// Opens the counter of an event on one processor, for all processes.
        ///
        /// # Errors
        /// The system knows no such event, or the process may not read it.
        pub(in super::super) fn open(kind: u32, config: u64, processor: u32) -> io::Result<Self> {
            let attributes = Attributes {
                kind,
                size: size_of::<Attributes>() as u32,
                config,
                sample_period: 0,
                sample_type: 0,
                read_format: 0,
                flags: 0,
                wakeup_events: 0,
                breakpoint_type: 0,
                config1: 0,
            };
            let (every_process, no_group): (libc::pid_t, libc::c_int) = (-1, -1);
            // SAFETY: the kernel reads as many bytes of `attributes` as its `size` says, which are all of it, and nothing after
            // the call returns; the other arguments are numbers.
            let descriptor = unsafe {
                libc::syscall(
                    libc::SYS_perf_event_open,
                    &raw const attributes,
                    every_process,
                    processor as libc::c_int,
                    no_group,
                    CLOSE_ON_EXEC,
                )
            };
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the call gave an open descriptor, which nothing else has.
            Ok(Self(unsafe { File::from_raw_fd(descriptor as libc::c_int) }))
        }

        /// What it has counted.
        ///
        /// # Errors
        /// Those of the system.
        pub(in super::super) fn read(&self) -> io::Result<u64> {
            let mut count = [0; 8];
            (&self.0).read_exact(&mut count)?;
            Ok(u64::from_ne_bytes(count))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_kernel_counts() {
            // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: nanoseconds, on every machine.
            let clock = match Counter::open(1, 0, 0) {
                Ok(clock) => clock,
                Err(error) => return eprintln!("skipped: no performance events here: {error}"),
            };
            let first = clock.read().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(clock.read().unwrap() > first);
        }

        #[test]
        fn an_event_that_there_is_not_is_an_error() {
            assert!(Counter::open(u32::MAX, 0, 0).is_err());
            assert!(Counter::open(1, 0, u32::MAX - 1).is_err());
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use std::io;

    /// A counter that is nowhere.
    #[derive(Debug)]
    pub(in super::super) enum Counter {}

    impl Counter {
        pub(in super::super) fn open(_: u32, _: u64, _: u32) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn read(&self) -> io::Result<u64> {
            match *self {}
        }
    }
}
