//! Threads of a run and the interpreter: each keeps one thread state for all its frames.

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

/// The state of a thread that Python did not start. Without one, each call into Python would make a state and drop it, which
/// takes forty times as long as the call.
struct Kept {
    gil: ffi::PyGILState_STATE,
    /// Null where the thread has a state of its own.
    saved: *mut ffi::PyThreadState,
}

thread_local! {
    static KEPT: Kept = Kept::new();
}

impl Kept {
    fn new() -> Self {
        // SAFETY: both may be called from any thread as long as there is an interpreter; what is ensured is released when the
        // thread ends.
        unsafe {
            if !ffi::PyGILState_GetThisThreadState().is_null() {
                return Self { gil: ffi::PyGILState_STATE::PyGILState_UNLOCKED, saved: null_mut() };
            }
            let gil = ffi::PyGILState_Ensure();
            Self { gil, saved: ffi::PyEval_SaveThread() }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.saved.is_null() {
            return;
        }
        // SAFETY: `saved` is this thread's state, detached; runs join their threads before Python goes on, so that there is
        // still an interpreter.
        unsafe {
            if ffi::Py_IsInitialized() != 0 {
                ffi::PyEval_RestoreThread(self.saved);
                ffi::PyGILState_Release(self.gil);
            }
        }
    }
}

/// Does something with the interpreter, on a thread of a run.
pub(crate) fn attached<T>(act: impl for<'py> FnOnce(Python<'py>) -> T) -> T {
    KEPT.with(|_| Python::attach(act))
}
