//! What OpenCL refuses, in words.

use bief::Error;
use opencl3::error_codes::ClError;

/// Codes of those faults that a user can do something about.
const OUT_OF_MEMORY: [i32; 3] = [-4, -6, -61];
/// The loader is there, and no driver; or neither (`DLOPEN_RUNTIME_LOAD_FAILED`).
const NO_PLATFORM: i32 = -1001;
const NO_LIBRARY: i32 = -2003;

/// Why nothing can be found at all.
pub(crate) fn nothing(error: ClError) -> Error {
    match error.0 {
        NO_LIBRARY => {
            Error::new("no OpenCL library is installed (Debian: ocl-icd-libopencl1, and the driver of the device)")
        }
        NO_PLATFORM => Error::new(
            "OpenCL has no driver here: install that of the device, or name its library in OCL_ICD_VENDORS (Debian's pocl-opencl-icd \
             has the cores as a device)",
        ),
        _ => failed("looking for devices", error),
    }
}

/// That something failed.
pub(crate) fn failed(what: &str, error: ClError) -> Error {
    let remedy =
        if OUT_OF_MEMORY.contains(&error.0) { "; it lacks memory: smaller batches need less (--batch)" } else { "" };
    Error::new(format!("OpenCL: {what}: {error} ({}){remedy}", error.0))
}

/// That a buffer is more than there is.
pub(crate) fn too_much(asked: usize, there: u64) -> Error {
    Error::new(format!(
        "OpenCL: a buffer of {asked} bytes is asked for, and the device gives {there} at most: smaller batches need less (--batch)"
    ))
}
