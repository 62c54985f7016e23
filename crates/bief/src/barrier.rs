//! A pair of fences of which one side bears the cost. Whoever hands a frame over passes the light one, every time; whoever
//! is about to park passes the heavy one, which makes all threads of this process pass a fence.
//!
//! Between "write, fence, look" on either side at least one sees what the other wrote: that is all a wake-up needs.
//! Where the system has no such call, both are ordinary fences.

use crate::sync::{Ordering, fence};

/// Which fences two threads use between them; both must use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// An ordinary fence on both sides.
    Even,
    /// Nothing but an order for the compiler on the light side, a system call on the heavy one.
    OneSided,
}

impl Barrier {
    /// What is cheapest for the light side on this system.
    pub(crate) fn cheapest() -> Self {
        if system::is_there() { Self::OneSided } else { Self::Even }
    }

    /// The fence of the side that must not be slowed down.
    pub(crate) fn light(self) {
        match self {
            Self::Even => fence(Ordering::SeqCst),
            Self::OneSided => std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst),
        }
    }

    /// The fence of the side that has time: it is about to sleep.
    pub(crate) fn heavy(self) {
        match self {
            Self::Even => fence(Ordering::SeqCst),
            Self::OneSided => system::fence_everywhere(),
        }
    }
}

/// Linux has it as `membarrier(2)`. The interpreter and the model checkers do not know it.
#[cfg(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod system {
    use std::sync::OnceLock;

    fn membarrier(command: libc::c_int) -> libc::c_long {
        // SAFETY: the call takes three numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }

    /// Whether the system has it, after announcing that this process will use it.
    pub(super) fn is_there() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
    }

    pub(super) fn fence_everywhere() {
        assert_eq!(membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED), 0, "a process that has registered may");
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, bief_loom, bief_shuttle)))))]
mod system {
    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn fence_everywhere() {
        unreachable!("only what is there is used");
    }
}
