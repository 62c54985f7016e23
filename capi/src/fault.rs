//! What went wrong: a status that is returned, and the rest kept for `bief_last_error`.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::Error;
use runtime::error::ErrorKind;

use crate::sized::{self, Versioned};

/// The function did what it is there for.
pub const BIEF_OK: i32 = 0;
/// What was given cannot be meant: a NULL pointer, a struct without its size, a handle that is used up.
pub const BIEF_ERROR_ARGUMENT: i32 = -1;
/// The chain, its stages, its plan or a document cannot be used as given; nothing was run.
pub const BIEF_ERROR_BUILD: i32 = -2;
/// A task failed in a run.
pub const BIEF_ERROR_TASK: i32 = -3;
/// A panic: of a task of Rust in a run, or of this library.
pub const BIEF_ERROR_PANIC: i32 = -4;
/// The system refused a thread the place that was required for it.
pub const BIEF_ERROR_PLACEMENT: i32 = -5;
/// The system refused a thread the real-time class that was required for it.
pub const BIEF_ERROR_REAL_TIME: i32 = -6;

/// The version of the interface that this header is of: BIEF_ABI_MAJOR << 16 | BIEF_ABI_MINOR.
pub const BIEF_ABI_MAJOR: u32 = 0;
/// The minor version: it grows with each addition.
pub const BIEF_ABI_MINOR: u32 = 1;

/// The version of the interface that the library has: major << 16 | minor. A program works with a library of its own major
/// version and of its own or a greater minor version.
#[unsafe(no_mangle)]
pub extern "C" fn bief_abi_version() -> u32 {
    BIEF_ABI_MAJOR << 16 | BIEF_ABI_MINOR
}

/// What went wrong, and where: filled by bief_last_error.
///
/// Texts belong to the library, and are valid until the next function that fails on this thread.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_error {
    /// sizeof(bief_error), set by the program.
    pub size: usize,
    /// What the function returned, less than 0.
    pub status: i32,
    /// What a task of C returned, less than 0; 0 where none failed.
    pub code: i32,
    /// What went wrong, without the place.
    pub message: *const c_char,
    /// The stage; NULL where it does not apply.
    pub stage: *const c_char,
    /// The task; NULL where it does not apply.
    pub task: *const c_char,
    /// The number of the frame, counted from 0 as the source made them; -1 where it does not apply.
    pub frame: i64,
    /// All of it in one line: "task `x` (stage `y`, frame 3): message".
    pub text: *const c_char,
}

// SAFETY: `repr(C)`, the size first; zeros are null pointers and numbers.
unsafe impl Versioned for bief_error {
    const NAME: &'static str = "bief_error";
}

/// A fault with the status that is returned for it.
#[derive(Debug)]
pub(crate) struct Fault {
    status: i32,
    error: Error,
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// What cannot be meant.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self { status: BIEF_ERROR_ARGUMENT, error: Error::new(message) }
    }

    pub(crate) fn into_error(self) -> Error {
        self.error
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Task => BIEF_ERROR_TASK,
            ErrorKind::Panic => BIEF_ERROR_PANIC,
            ErrorKind::Placement => BIEF_ERROR_PLACEMENT,
            ErrorKind::RealTime => BIEF_ERROR_REAL_TIME,
            _ => BIEF_ERROR_BUILD,
        };
        Self { status, error }
    }
}

impl From<runtime::schedule::Error> for Fault {
    fn from(error: runtime::schedule::Error) -> Self {
        Error::from(error).into()
    }
}

/// What a function of C returned that failed.
#[derive(Debug)]
pub(crate) struct ForeignError {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ForeignError {}

/// The last fault of a thread, in texts that C can read.
struct Last {
    fault: Error,
    status: i32,
    code: i32,
    message: CString,
    stage: Option<CString>,
    task: Option<CString>,
    frame: i64,
    text: CString,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

impl Last {
    fn new(Fault { status, error }: &Fault) -> Self {
        let place = error.place();
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ForeignError>());
        Self {
            fault: error.clone(),
            status: *status,
            code: source.map_or(0, |source| source.code),
            message: c_string(error.message()),
            stage: place.stage.as_deref().map(c_string),
            task: place.task.as_deref().map(c_string),
            frame: place.frame.map_or(-1, |frame| i64::try_from(frame).unwrap_or(i64::MAX)),
            text: c_string(&error.to_string()),
        }
    }
}

/// The last fault of this thread, if it had this status.
pub(crate) fn last(status: i32) -> Option<Error> {
    let last = LAST
        .try_with(|last| last.borrow().as_ref().filter(|last| last.status == status).map(|last| last.fault.clone()));
    last.ok().flatten()
}

/// Does what a function is there for, and answers its status: nothing unwinds into C.
pub(crate) fn guarded(act: impl FnOnce() -> Result<()>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|payload| {
        let text =
            payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|text| &**text));
        let message = format!("the library panicked: {}", text.unwrap_or("a value that is not text"));
        // What it panicked with may panic when it is dropped.
        std::mem::forget(payload);
        Err(Fault { status: BIEF_ERROR_PANIC, error: Error::new(message) })
    });
    let Err(fault) = outcome else { return BIEF_OK };
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| last.replace(Some(Last::new(&fault))));
    fault.status
}

/// Tells what the last function of this thread that failed had to say.
///
/// Returns BIEF_OK; BIEF_ERROR_ARGUMENT where none has failed yet, or `error` is NULL or has no size.
///
/// # Safety
/// `error` is NULL or points at a bief_error whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_last_error(error: *mut bief_error) -> i32 {
    // Not guarded: it must leave the last error alone.
    let told = LAST.try_with(|last| {
        let last = last.borrow();
        let Some(last) = &*last else { return BIEF_ERROR_ARGUMENT };
        let text = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let value = bief_error {
            size: size_of::<bief_error>(),
            status: last.status,
            code: last.code,
            message: last.message.as_ptr(),
            stage: text(&last.stage),
            task: text(&last.task),
            frame: last.frame,
            text: last.text.as_ptr(),
        };
        // SAFETY: passed on to the caller.
        unsafe { sized::write(error, &value) }.map_or(BIEF_ERROR_ARGUMENT, |()| BIEF_OK)
    });
    told.unwrap_or(BIEF_ERROR_ARGUMENT)
}

/// A handle that must be there.
///
/// # Safety
/// `handle` is null, or was made by this library, has not been freed, and is in nobody else's hands meanwhile.
pub(crate) unsafe fn handle<'h, H>(handle: *mut H, what: &str) -> Result<&'h mut H> {
    // SAFETY: passed on to the caller.
    unsafe { handle.as_mut() }.ok_or_else(|| Fault::argument(format!("no {what}: the pointer is NULL")))
}

/// Puts a new handle where C wants it.
///
/// # Safety
/// `to` is null or may be written.
pub(crate) unsafe fn give_handle<H>(to: *mut *mut H, what: &str, make: impl FnOnce() -> Result<H>) -> Result<()> {
    if to.is_null() {
        return Err(Fault::argument(format!("no place for the {what}: the pointer is NULL")));
    }
    // SAFETY: the caller promises so.
    unsafe { to.write(std::ptr::null_mut()) };
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: as before.
    unsafe { to.write(made) };
    Ok(())
}

/// Frees a handle; null is none.
///
/// # Safety
/// `handle` is null, or was made by [`give_handle`] and is not used any more.
pub(crate) unsafe fn free_handle<H>(handle: *mut H) {
    guarded(|| {
        if !handle.is_null() {
            // SAFETY: passed on to the caller.
            drop(unsafe { Box::from_raw(handle) });
        }
        Ok(())
    });
}
