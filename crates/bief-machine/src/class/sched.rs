//! Linux's scheduling classes: what is told to the kernel and asked of it, for one thread. What its files say is in `files.rs`.
//!
//! A thread may set the class of another one of its process. So classes are set by the thread that starts a run while those of
//! the pipeline are parked: if one is refused, nothing has begun.

use std::io;

use serde::{Deserialize, Serialize};

/// A thread, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadId(i32);

impl ThreadId {
    /// The calling thread.
    pub fn of_this_thread() -> Self {
        Self(system::this_thread())
    }

    /// Its number, as in `/proc/self/task`.
    pub fn number(self) -> i32 {
        self.0
    }
}

/// Processor time that the kernel reserves for a thread, in nanoseconds: so much from each moment at which it has work again,
/// at most once a period, and before the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Processor time in each period.
    pub budget_ns: u64,
    /// From the moment at which the thread has work to when it has had its budget.
    pub deadline_ns: u64,
    /// From one budget to the next.
    pub period_ns: u64,
}

/// A class for a thread.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// `SCHED_DEADLINE`.
    Deadline {
        /// What is reserved.
        reservation: Reservation,
        /// Whether what others leave of their reservations is used too.
        reclaims: bool,
        /// Whether a signal comes when the budget is used up.
        tells: bool,
    },
    /// `SCHED_FIFO`.
    Fifo {
        /// From 1 to 99: a higher one goes first.
        priority: u32,
    },
}

/// What a thread had before.
pub struct Before(system::Attributes);

impl Before {
    /// What this thread has now.
    pub fn of(thread: ThreadId) -> io::Result<Self> {
        system::attributes(thread.0).map(Self)
    }

    /// Gives it back.
    pub fn restore(&self, thread: ThreadId) -> io::Result<()> {
        system::restore(thread.0, &self.0)
    }
}

/// Sets the class of a thread. Threads that it starts have an ordinary one.
pub fn set(thread: ThreadId, order: Order) -> io::Result<()> {
    match order {
        Order::Deadline { reservation, reclaims, tells } => system::reserve(thread.0, reservation, reclaims, tells),
        Order::Fifo { priority } => system::prefer(thread.0, priority),
    }
}

/// Makes this process count the signals that tell of used up budgets from now on, for good: one that is still on its way must
/// not end the process.
///
/// # Errors
/// The program has another use for the signal.
pub fn count_signals() -> io::Result<()> {
    system::count_signals()
}

/// How many of these signals the calling thread got.
pub fn signals() -> u64 {
    system::signals()
}

/// The number of the signal that tells of a used up budget.
pub const SIGNAL: u32 = system::SIGNAL;

/// Fetches all memory that this process has now, and keeps it.
pub fn lock_memory() -> io::Result<()> {
    system::lock_memory()
}

/// Linux. The interpreter and the model checkers know no classes.
#[cfg(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
#[allow(unsafe_code, reason = "calls of the kernel that no safe library wraps")]
mod system {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Reservation;

    pub(super) type Attributes = libc::sched_attr;
    pub(super) const SIGNAL: u32 = libc::SIGXCPU as u32;

    const SIZE: u32 = size_of::<Attributes>() as u32;
    /// Which threads this thread starts are never of a real-time class: the kernel refuses to start some otherwise.
    const RESET_ON_FORK: u64 = libc::SCHED_FLAG_RESET_ON_FORK as u64;

    thread_local! {
        /// Without a destructor and a first use: a signal handler may touch it.
        static SIGNALS: AtomicU64 = const { AtomicU64::new(0) };
    }

    pub(super) fn this_thread() -> i32 {
        // SAFETY: the call takes nothing and touches no memory of ours.
        unsafe { libc::gettid() }
    }

    fn told(result: libc::c_long) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn blank() -> Attributes {
        Attributes {
            size: SIZE,
            sched_policy: libc::SCHED_OTHER as u32,
            sched_flags: RESET_ON_FORK,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        }
    }

    pub(super) fn attributes(thread: i32) -> io::Result<Attributes> {
        let mut attributes = blank();
        // SAFETY: the call writes as many bytes as it is told that there are; any bits are valid for plain numbers.
        told(unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, SIZE, 0) })?;
        Ok(attributes)
    }

    fn set_attributes(thread: i32, attributes: &Attributes) -> io::Result<()> {
        // SAFETY: the call reads as many bytes as the structure says that it has, and it lives as long as the call.
        told(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, std::ptr::from_ref(attributes), 0) })
    }

    pub(super) fn reserve(thread: i32, reservation: Reservation, reclaims: bool, tells: bool) -> io::Result<()> {
        let flags = [(libc::SCHED_FLAG_RECLAIM, reclaims), (libc::SCHED_FLAG_DL_OVERRUN, tells)];
        let set = flags.into_iter().filter(|&(_, is_set)| is_set).map(|(flag, _)| flag as u64);
        let attributes = Attributes {
            sched_policy: libc::SCHED_DEADLINE as u32,
            sched_flags: set.fold(RESET_ON_FORK, |all, flag| all | flag),
            sched_runtime: reservation.budget_ns,
            sched_deadline: reservation.deadline_ns,
            sched_period: reservation.period_ns,
            ..blank()
        };
        set_attributes(thread, &attributes)
    }

    pub(super) fn prefer(thread: i32, priority: u32) -> io::Result<()> {
        let attributes = Attributes { sched_policy: libc::SCHED_FIFO as u32, sched_priority: priority, ..blank() };
        set_attributes(thread, &attributes)
    }

    pub(super) fn restore(thread: i32, before: &Attributes) -> io::Result<()> {
        // Who has no privilege may not take the flag back; on a thread of an ordinary class it means nothing.
        set_attributes(thread, &Attributes { size: SIZE, sched_flags: before.sched_flags | RESET_ON_FORK, ..*before })
    }

    /// The kernel gives the signal to the thread that has used up its budget, unless that blocks it.
    extern "C" fn count(_: libc::c_int) {
        SIGNALS.with(|signals| signals.fetch_add(1, Ordering::Relaxed));
    }

    pub(super) fn count_signals() -> io::Result<()> {
        let handler = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: plain numbers and bits, for which all zeros are valid, which live as long as the calls that read and write
        // them; the handler does nothing but add to a number of its own thread, which a handler may at any time.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            told(libc::sigaction(libc::SIGXCPU, std::ptr::null(), &mut now).into())?;
            if now.sa_sigaction == handler {
                return Ok(());
            }
            if now.sa_sigaction != libc::SIG_DFL {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            told(libc::sigaction(libc::SIGXCPU, &action, std::ptr::null_mut()).into())
        }
    }

    pub(super) fn signals() -> u64 {
        SIGNALS.with(|signals| signals.load(Ordering::Relaxed))
    }

    pub(super) fn lock_memory() -> io::Result<()> {
        // SAFETY: no memory changes; pages are fetched and stay.
        told(unsafe { libc::mlockall(libc::MCL_CURRENT) }.into())
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle)))))]
mod system {
    use std::io;

    use super::Reservation;

    pub(super) struct Attributes;
    pub(super) const SIGNAL: u32 = 1;

    fn refused<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "real-time classes are set on Linux alone"))
    }

    pub(super) fn this_thread() -> i32 {
        0
    }

    pub(super) fn attributes(_: i32) -> io::Result<Attributes> {
        refused()
    }

    pub(super) fn reserve(_: i32, _: Reservation, _: bool, _: bool) -> io::Result<()> {
        refused()
    }

    pub(super) fn prefer(_: i32, _: u32) -> io::Result<()> {
        refused()
    }

    pub(super) fn restore(_: i32, _: &Attributes) -> io::Result<()> {
        refused()
    }

    pub(super) fn count_signals() -> io::Result<()> {
        refused()
    }

    pub(super) fn signals() -> u64 {
        0
    }

    pub(super) fn lock_memory() -> io::Result<()> {
        refused()
    }
}
