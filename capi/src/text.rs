//! Text that crosses: read from C, and given to C to be freed by [`bief_text_free`].

use std::ffi::{CStr, CString, c_char};

use crate::fault::{Fault, Result, guarded};

/// Reads a text that must be there; `what` names it in errors.
///
/// # Safety
/// `text` is null, or ends with a zero and lives and stays as it is as long as what is returned.
pub(crate) unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str> {
    // SAFETY: passed on to the caller.
    unsafe { optional(text, what)? }.ok_or_else(|| Fault::argument(format!("no {what}: the pointer is NULL")))
}

/// Reads a text, or nothing where the pointer is null.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional<'t>(text: *const c_char, what: &str) -> Result<Option<&'t str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises a text that ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| Fault::argument(format!("{what} is no UTF-8: {error}")))
}

/// Gives a text to C, if it wants it.
///
/// # Safety
/// `to` is null or may be written.
pub(crate) unsafe fn give(to: *mut *mut c_char, text: String) -> Result<()> {
    if to.is_null() {
        return Ok(());
    }
    // Documents have no zeros: JSON writes them as \u0000.
    let text = CString::new(text).map_err(|error| Fault::argument(format!("a text with a zero in it: {error}")))?;
    // SAFETY: the caller promises so.
    unsafe { to.write(text.into_raw()) };
    Ok(())
}

/// Frees a text that a function of this library gave; NULL is none.
///
/// # Safety
/// `text` is NULL or comes from this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_text_free(text: *mut c_char) {
    guarded(|| {
        if !text.is_null() {
            // SAFETY: `give` made it.
            drop(unsafe { CString::from_raw(text) });
        }
        Ok(())
    });
}

/// The version of this library, as `"0.1.0"`; it need not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn bief_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zeros"),
    };
    VERSION.as_ptr()
}
