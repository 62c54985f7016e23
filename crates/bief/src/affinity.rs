//! Which cores the calling thread may run on, and moving it between them.
//!
//! A system likes to put a thread that it wakes on the core of whoever wakes it. Two stages then take turns on one core while
//! another is idle, and since they take turns, nothing that balances the load of cores ever moves one of them: a thread that
//! finds itself in such a pair [`leave`]s.

use std::io;

/// The hardware thread that the calling thread runs on, where the system tells.
pub(crate) fn current() -> Option<usize> {
    system::current()
}

/// Moves the calling thread from the hardware thread `from` to another one that it may use, if there is one.
pub(crate) fn leave(from: usize) {
    system::leave(from);
}

/// Lets the calling thread run on these hardware threads only.
///
/// # Errors
/// What the system refuses; where it knows no such thing, always.
pub(crate) fn pin(threads: &[usize]) -> io::Result<()> {
    system::pin(threads)
}

/// Linux. The interpreter and the model checkers know no cores.
#[cfg(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod system {
    use std::io;

    const SIZE: usize = size_of::<libc::cpu_set_t>();

    /// The words of a set of as many hardware threads as the system may have: more than `cpu_set_t` holds.
    type Words = [libc::c_ulong; MOST / BITS];
    const BITS: usize = libc::c_ulong::BITS as usize;
    const MOST: usize = 1 << 13;

    pub(super) fn current() -> Option<usize> {
        // SAFETY: the call takes nothing and touches no memory of ours.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn leave(from: usize) {
        // SAFETY: the sets are plain bits, for which all zeros are valid, and live as long as the calls that read and write
        // them, which are told their size; `from` is in the set when its bit is cleared, so it is within it.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, SIZE, &mut allowed) != 0
                || from >= 8 * SIZE
                || !libc::CPU_ISSET(from, &allowed)
                || libc::CPU_COUNT(&allowed) < 2
            {
                return;
            }
            let mut others = allowed;
            libc::CPU_CLR(from, &mut others);
            // The thread moves at once, and stays where it is when it may go back. If the system refuses, it stays here.
            libc::sched_setaffinity(0, SIZE, &others);
            libc::sched_setaffinity(0, SIZE, &allowed);
        }
    }

    pub(super) fn pin(threads: &[usize]) -> io::Result<()> {
        let mut words: Words = [0; MOST / BITS];
        for &thread in threads {
            let word = words.get_mut(thread / BITS).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("there is no hardware thread {thread}"))
            })?;
            *word |= 1 << (thread % BITS);
        }
        // SAFETY: the set is plain bits, lives as long as the call that reads it, and is as large as the call is told.
        match unsafe { libc::sched_setaffinity(0, size_of::<Words>(), words.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle)))))]
mod system {
    use std::io;

    pub(super) fn current() -> Option<usize> {
        None
    }

    pub(super) fn leave(_: usize) {}

    pub(super) fn pin(_: &[usize]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "threads cannot be pinned on this system"))
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    fn allowed() -> usize {
        std::thread::available_parallelism().unwrap().get()
    }

    #[test]
    fn a_thread_leaves_its_core_and_may_come_back() {
        let before = allowed();
        for _ in 0..20 {
            let here = current().unwrap();
            leave(here);
            assert_eq!(allowed(), before);
        }
        leave(usize::MAX);
        leave(1000);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_pinned_thread_runs_where_it_is_told_to() {
        // On a thread of its own: the tests' threads keep what they have.
        let pinned = std::thread::spawn(|| {
            let here = current().unwrap();
            pin(&[here]).unwrap();
            assert_eq!((current(), allowed()), (Some(here), 1));
            leave(here);
            assert_eq!(current(), Some(here), "there is nowhere else to go");
            assert_eq!(pin(&[1 << 20]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert!(pin(&[8191]).is_err(), "no machine has that one");
            assert!(pin(&[]).is_err());
            assert_eq!(current(), Some(here));
        });
        pinned.join().unwrap();
    }
}
