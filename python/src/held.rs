//! Arrays of Python that Rust reads from any thread, without a copy.

use std::io::{self, Read};
use std::sync::Arc;

use numpy::npyffi::{NPY_ARRAY_C_CONTIGUOUS, PyArrayObject};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::refused;

/// The bytes of an array that lie one after the other. Whoever hands one over leaves it as it is until the run has ended.
pub(crate) struct Held {
    /// Keeps the memory.
    _array: Py<PyUntypedArray>,
    start: *const u8,
    bytes: usize,
}

// SAFETY: the memory is only read, and kept by the reference.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Arc<Self>> {
        let pointer = array.as_array_ptr();
        // SAFETY: it is an array.
        let PyArrayObject { fields, .. } = unsafe { &*pointer };
        if fields.flags & NPY_ARRAY_C_CONTIGUOUS == 0 {
            return Err(refused(
                array.py(),
                "its elements do not lie one after the other: give np.ascontiguousarray(x)",
            ));
        }
        let bytes = array.len() * array.dtype().itemsize();
        Ok(Arc::new(Self { start: fields.data.cast::<u8>(), bytes, _array: array.clone().unbind() }))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are there, as long as the array is kept.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// Reads the bytes from the first on.
    pub(crate) fn reader(self: &Arc<Self>) -> HeldReader {
        HeldReader { held: Arc::clone(self), at: 0 }
    }
}

/// Reads what is held.
pub(crate) struct HeldReader {
    held: Arc<Held>,
    at: usize,
}

impl Read for HeldReader {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let read = (&self.held.bytes()[self.at..]).read(space)?;
        self.at += read;
        Ok(read)
    }
}
