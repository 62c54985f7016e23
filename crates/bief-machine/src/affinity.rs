//! Which cores threads may run on, and moving the calling one between them.
//!
//! A system likes to put a thread that it wakes on the core of whoever wakes it. Two stages then take turns on one core while
//! another is idle, and since they take turns, nothing that balances the load of cores ever moves one of them: a thread that
//! finds itself in such a pair [`leave`]s.

use std::ffi::c_ulong;
use std::io;

/// The hardware thread that the calling thread runs on, where the system tells.
pub fn current() -> Option<usize> {
    system::current()
}

/// Moves the calling thread from the hardware thread `from` to another one that it may use, if there is one.
pub fn leave(from: usize) {
    system::leave(from);
}

/// Lets the calling thread run on these hardware threads only.
///
/// # Errors
/// What the system refuses; where it knows no such thing, always.
pub fn pin(threads: &[usize]) -> io::Result<()> {
    Mask::of(threads)?.set(0)
}

/// A set of hardware threads, of as many as the system may have: more than `cpu_set_t` holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Mask([c_ulong; MAX_THREADS / BITS]);

const BITS: usize = c_ulong::BITS as usize;
const MAX_THREADS: usize = 1 << 13;

impl Mask {
    /// These hardware threads.
    ///
    /// # Errors
    /// One that no system has.
    pub fn of(threads: &[usize]) -> io::Result<Self> {
        let mut mask = Self([0; MAX_THREADS / BITS]);
        for &thread in threads {
            let word = mask.0.get_mut(thread / BITS).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("there is no hardware thread {thread}"))
            })?;
            *word |= 1 << (thread % BITS);
        }
        Ok(mask)
    }

    /// Those that a thread may run on: of the calling one where `thread` is 0.
    ///
    /// # Errors
    /// What the system refuses, as where the thread has ended; where it knows no such thing, always.
    pub fn of_thread(thread: i32) -> io::Result<Self> {
        let mut mask = Self([0; MAX_THREADS / BITS]);
        system::affinity(thread, &mut mask.0)?;
        Ok(mask)
    }

    /// Lets a thread run on these only: the calling one where `thread` is 0.
    ///
    /// # Errors
    /// What the system refuses; where it knows no such thing, always.
    pub fn set(&self, thread: i32) -> io::Result<()> {
        system::set_affinity(thread, &self.0)
    }

    /// Those that are in both.
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Those that are in one of them.
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Their numbers, ascending.
    pub fn threads(&self) -> impl Iterator<Item = usize> {
        (0..MAX_THREADS).filter(|thread| self.0[thread / BITS] >> (thread % BITS) & 1 == 1)
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mask({})", crate::topology::thread_list(self.threads()))
    }
}

/// Linux. The interpreter and the model checkers know no cores.
#[cfg(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
#[allow(unsafe_code, reason = "calls of the kernel that no safe library wraps")]
mod system {
    use std::ffi::c_ulong;
    use std::io;

    const SIZE: usize = size_of::<libc::cpu_set_t>();

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

    pub(super) fn affinity(thread: i32, words: &mut [c_ulong]) -> io::Result<()> {
        // SAFETY: the call writes to the set, which is plain bits and as large as it is told.
        match unsafe { libc::sched_getaffinity(thread, size_of_val(words), words.as_mut_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn set_affinity(thread: i32, words: &[c_ulong]) -> io::Result<()> {
        // SAFETY: the set is plain bits, lives as long as the call that reads it, and is as large as the call is told.
        match unsafe { libc::sched_setaffinity(thread, size_of_val(words), words.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle)))))]
mod system {
    use std::ffi::c_ulong;
    use std::io;

    pub(super) fn current() -> Option<usize> {
        None
    }

    pub(super) fn leave(_: usize) {}

    pub(super) fn affinity(_: i32, _: &mut [c_ulong]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not tell where threads may run"))
    }

    pub(super) fn set_affinity(_: i32, _: &[c_ulong]) -> io::Result<()> {
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
