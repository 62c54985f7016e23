//! What OpenCL refuses, in words.

use bief::Error;
use opencl3::error_codes::{
    CL_DEVICE_NOT_AVAILABLE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_BUFFER_SIZE,
    CL_INVALID_COMMAND_QUEUE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, ClError,
    DLOPEN_RUNTIME_LOAD_FAILED,
};

/// Codes of those faults that a user can do something about.
const OUT_OF_MEMORY: [i32; 3] = [CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE];
/// What drivers say of a device that does not work any more, from then on.
const LOST: [i32; 4] = [
    CL_DEVICE_NOT_AVAILABLE,
    CL_OUT_OF_RESOURCES,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_INVALID_COMMAND_QUEUE,
];
/// The loader is there, and no driver (`CL_PLATFORM_NOT_FOUND_KHR`).
const NO_PLATFORM: i32 = -1001;

/// Why nothing can be found at all.
pub(crate) fn nothing(error: ClError) -> Error {
    match error.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => {
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
    let remedy = match error.0 {
        code if OUT_OF_MEMORY.contains(&code) => "; it lacks memory: smaller batches need less (--batch)",
        code if LOST.contains(&code) => "; the device may be lost: --device off does without it",
        _ => "",
    };
    Error::new(format!("OpenCL: {what}: {error} ({}){remedy}", error.0))
}

/// That a buffer is more than there is.
pub(crate) fn too_much(asked: usize, there: u64) -> Error {
    Error::new(format!(
        "OpenCL: a buffer of {asked} bytes is asked for, and the device gives {there} at most: smaller batches need less (--batch)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_comes_with_its_remedy() {
        let nothing = |code| nothing(ClError(code)).to_string();
        assert!(nothing(DLOPEN_RUNTIME_LOAD_FAILED).contains("no OpenCL library is installed"));
        assert!(nothing(NO_PLATFORM).contains("OpenCL has no driver here"));
        let failed = |code| failed("starting a kernel", ClError(code)).to_string();
        assert!(failed(-4).contains("(-4); it lacks memory: smaller batches need less (--batch)"));
        assert!(
            failed(-5).contains("starting a kernel: CL_OUT_OF_RESOURCES (-5); the device may be lost: --device off")
        );
        assert!(failed(-54).ends_with("(-54)"), "{}", failed(-54));
    }
}
