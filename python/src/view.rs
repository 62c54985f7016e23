//! Arrays over the memory of frames: made once for each place, checked after each call.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::null_mut;

use numpy::npyffi::{
    NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, PyArray_Descr, PyArrayObject, get_type_object,
    npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Places that are remembered at most: frames of varying length have one for each length.
const MOST: usize = 4096;

/// Where the frames of a socket lie that a call is about.
pub(crate) struct Place {
    pub(crate) start: *mut u8,
    /// Elements of a frame of variable length; 0 for others.
    pub(crate) len: usize,
}

/// The frames of a socket, as arrays.
pub(crate) struct Geometry {
    pub(crate) description: Py<PyArrayDescr>,
    pub(crate) itemsize: usize,
    /// The shape of a frame; without one it is as long as the frame.
    pub(crate) shape: Option<Vec<usize>>,
    /// Elements from one frame to the next.
    pub(crate) stride: usize,
    pub(crate) is_writable: bool,
}

/// An array that was shown, and what it was like then.
struct Shown {
    array: *mut PyArrayObject,
    start: *mut u8,
    flags: c_int,
    dims: Vec<npy_intp>,
    strides: Vec<npy_intp>,
    description: *mut PyArray_Descr,
}

/// Arrays for all sockets at one place.
struct Entry {
    arguments: Py<PyTuple>,
    shown: Vec<Shown>,
}

// SAFETY: the arrays are kept by `arguments`, and looked at by attached threads alone.
unsafe impl Send for Entry {}

/// The views of a task, by the places of its frames.
#[derive(Default)]
pub(crate) struct Views {
    entries: HashMap<Vec<usize>, Entry>,
    key: Vec<usize>,
}

/// What came of a call.
pub(crate) struct Called<'py> {
    pub(crate) returned: PyResult<Bound<'py, PyAny>>,
    /// The sockets of which a view is still held by someone.
    pub(crate) kept: Vec<usize>,
}

impl Views {
    /// Calls a function with the arrays for these places, of so many frames if they come in batches.
    pub(crate) fn call<'py>(
        &mut self,
        function: &Bound<'py, PyAny>,
        sockets: &[Geometry],
        places: &[Place],
        frames: Option<usize>,
    ) -> PyResult<Called<'py>> {
        let py = function.py();
        self.key.clear();
        self.key.push(frames.unwrap_or(0));
        self.key.extend(places.iter().flat_map(|place| [place.start as usize, place.len]));
        if !self.entries.contains_key(&self.key) {
            if self.entries.len() == MOST {
                self.entries.clear();
            }
            self.entries.insert(self.key.clone(), Entry::new(py, sockets, places, frames)?);
        }
        let entry = &self.entries[&self.key];
        // SAFETY: a callable and a tuple, on an attached thread.
        let returned = unsafe {
            let result = ffi::PyObject_Call(function.as_ptr(), entry.arguments.as_ptr(), null_mut());
            Bound::from_owned_ptr_or_err(py, result)
        };
        // An array that it got is what NumPy returns for `out=`: it says nothing, and is let go here.
        let is_own =
            |returned: &Bound<'py, PyAny>| entry.shown.iter().any(|shown| shown.array.cast() == returned.as_ptr());
        let returned = returned.map(|returned| if is_own(&returned) { py.None().into_bound(py) } else { returned });
        let mut kept = Vec::new();
        let is_whole = entry.check(&mut kept);
        if !is_whole {
            self.entries.remove(&self.key);
        }
        Ok(Called { returned, kept })
    }

    /// Forgets all arrays, on an attached thread.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

impl Entry {
    fn new(py: Python<'_>, sockets: &[Geometry], places: &[Place], frames: Option<usize>) -> PyResult<Self> {
        let mut shown = Vec::with_capacity(sockets.len());
        let mut arrays = Vec::with_capacity(sockets.len());
        for (socket, place) in sockets.iter().zip(places) {
            let (view, array) = socket.view(py, place, frames)?;
            shown.push(view);
            arrays.push(array);
        }
        let arguments = PyTuple::new(py, arrays)?.unbind();
        Ok(Self { arguments, shown })
    }

    /// Whether the arrays may be shown again: nobody holds one, and they are as they were. Tells which are held.
    fn check(&self, kept: &mut Vec<usize>) -> bool {
        let mut is_same = true;
        for (socket, shown) in self.shown.iter().enumerate() {
            // SAFETY: the tuple keeps the array.
            if unsafe { references(shown.array.cast()) } != 1 {
                kept.push(socket);
            }
            // SAFETY: as above.
            is_same &= unsafe { shown.is_same() };
        }
        // SAFETY: it is there. Someone who holds the tuple holds the arrays.
        if unsafe { references(self.arguments.as_ptr()) } != 1 {
            kept.clear();
            kept.extend(0..self.shown.len());
        }
        is_same && kept.is_empty()
    }
}

/// References to an object.
///
/// # Safety
/// There is such an object, and the thread is attached.
unsafe fn references(object: *mut ffi::PyObject) -> u32 {
    // Built for the stable interface, a newer Python has other things in the upper half.
    // SAFETY: passed on to the caller.
    unsafe { ffi::Py_REFCNT(object) as u32 }
}

impl Geometry {
    fn view<'py>(&self, py: Python<'py>, place: &Place, frames: Option<usize>) -> PyResult<(Shown, Bound<'py, PyAny>)> {
        let mut dims: Vec<npy_intp> = frames.iter().map(|&frames| frames as npy_intp).collect();
        match &self.shape {
            Some(shape) => dims.extend(shape.iter().map(|&dim| dim as npy_intp)),
            None => dims.push(place.len as npy_intp),
        }
        let mut strides = vec![self.itemsize as npy_intp; dims.len()];
        for dim in (0..dims.len().saturating_sub(1)).rev() {
            strides[dim] = strides[dim + 1] * dims[dim + 1];
        }
        if frames.is_some() {
            strides[0] = (self.stride * self.itemsize) as npy_intp;
        }
        let flags = NPY_ARRAY_ALIGNED | if self.is_writable { NPY_ARRAY_WRITEABLE } else { 0 };
        let description = self.description.bind(py).clone().into_dtype_ptr();
        // SAFETY: the numbers describe memory of the frames, which outlives the call that the array is made for; the reference to
        // the description is given away.
        let array = unsafe {
            let class = get_type_object(py, NpyTypes::PyArray_Type);
            let array = PY_ARRAY_API.PyArray_NewFromDescr(
                py,
                class,
                description,
                dims.len() as c_int,
                dims.as_mut_ptr(),
                strides.as_mut_ptr(),
                place.start.cast(),
                flags,
                null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, array)?
        };
        let pointer = array.as_ptr().cast::<PyArrayObject>();
        // SAFETY: it was just made.
        let fields = unsafe { &(*pointer).fields };
        // As NumPy has them: it may leave strides of single elements as it likes.
        // SAFETY: an array has as many as it has dimensions.
        let strides = unsafe { std::slice::from_raw_parts(fields.strides, dims.len()) }.to_vec();
        let shown = Shown { array: pointer, start: place.start, flags: fields.flags, dims, strides, description };
        Ok((shown, array))
    }
}

impl Shown {
    /// Whether the array is what it was.
    ///
    /// # Safety
    /// It is there, and the thread is attached.
    unsafe fn is_same(&self) -> bool {
        // SAFETY: passed on to the caller; an array has as many numbers as dimensions.
        unsafe {
            let fields = &(*self.array).fields;
            fields.data.cast::<u8>() == self.start
                && fields.nd as usize == self.dims.len()
                && fields.flags == self.flags
                && fields.descr == self.description
                && std::slice::from_raw_parts(fields.dimensions, self.dims.len()) == self.dims
                && std::slice::from_raw_parts(fields.strides, self.strides.len()) == self.strides
        }
    }
}
