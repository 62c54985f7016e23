//! Why the system refused, and what can be done about it.

use std::io;

const DENIED: i32 = 1;
const NO_SUCH_THREAD: i32 = 3;
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// Whether the thread has ended.
pub(super) fn is_end(error: &io::Error) -> bool {
    error.raw_os_error() == Some(NO_SUCH_THREAD) || error.kind() == io::ErrorKind::NotFound
}

pub(super) fn is_denied(error: &io::Error) -> bool {
    error.raw_os_error() == Some(DENIED)
}

/// Why the affinity of a thread, which is called so, is not set.
pub(super) fn of_affinity(thread: &str, error: &io::Error) -> String {
    if is_denied(error) {
        return format!(
            "the affinity of {thread} may not be set: map it as the user that it belongs to, or with CAP_SYS_NICE (as root), or \
             look on in a dry run"
        );
    }
    format!(
        "{thread} is left alone, the system does not set its affinity ({error}): it is a thread of the kernel, or has time \
         reserved (SCHED_DEADLINE)"
    )
}

/// Why a thread is not looked at.
pub(super) fn of_look(thread: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) if TOO_MANY_FILES.contains(&code) => {
            format!("{thread} is not looked at, too many files are open: raise the limit (ulimit -n)")
        }
        _ => format!("{thread} cannot be looked at: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_a_remedy() {
        let of = io::Error::from_raw_os_error;
        assert!(of_affinity("thread 7 `x`", &of(DENIED)).contains("CAP_SYS_NICE"));
        assert!(of_affinity("thread 7 `x`", &of(16)).contains("SCHED_DEADLINE"));
        assert!(of_look("thread 7", &of(24)).contains("ulimit -n"));
        assert!(is_end(&of(NO_SUCH_THREAD)) && !is_end(&of(DENIED)));
    }
}
