//! Keeping threads that wait for each other on cores of their own.
//!
//! A system likes to put a thread that it wakes on the core of whoever wakes it. Two stages then take turns on one core while
//! another is idle, and since they take turns, nothing that balances the load of cores ever moves one of them.

/// The core that the calling thread runs on, where the system tells.
pub(crate) fn core() -> Option<usize> {
    system::core()
}

/// Moves the calling thread from `core` to another one that it may use, if there is one.
pub(crate) fn leave(core: usize) {
    system::leave(core);
}

/// Linux. The interpreter and the model checkers know no cores.
#[cfg(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod system {
    pub(super) fn core() -> Option<usize> {
        // SAFETY: the call takes nothing and touches no memory of ours.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn leave(core: usize) {
        const SIZE: usize = size_of::<libc::cpu_set_t>();
        // SAFETY: the sets are plain bits, for which all zeros are valid, and live as long as the calls that read and write
        // them, which are told their size; `core` is in the set when its bit is cleared, so it is within it.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, SIZE, &mut allowed) != 0
                || core >= 8 * SIZE
                || !libc::CPU_ISSET(core, &allowed)
                || libc::CPU_COUNT(&allowed) < 2
            {
                return;
            }
            let mut others = allowed;
            libc::CPU_CLR(core, &mut others);
            // The thread moves at once, and stays where it is when it may go back. If the system refuses, it stays here.
            libc::sched_setaffinity(0, SIZE, &others);
            libc::sched_setaffinity(0, SIZE, &allowed);
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle)))))]
mod system {
    pub(super) fn core() -> Option<usize> {
        None
    }

    pub(super) fn leave(_: usize) {}
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_its_core_and_may_come_back() {
        let allowed = || std::thread::available_parallelism().unwrap().get();
        let before = allowed();
        for _ in 0..20 {
            let here = core().unwrap();
            leave(here);
            assert_eq!(allowed(), before);
        }
        leave(usize::MAX);
        leave(1000);
        assert_eq!(allowed(), before);
    }
}
