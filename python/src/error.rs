//! Errors as Python raises them.

use std::error::Error as _;

use bief::error::{ErrorKind, Place};
use bief_cli::failure::Failure;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// `bief.Error`, which Python defines.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "bief._error", "Error")
}

/// Of a kind as `bief.Error.kind` says it, with its place.
fn raised(py: Python<'_>, message: &str, kind: &str, place: &Place) -> PyErr {
    let make = || {
        let named = PyDict::new(py);
        named.set_item("kind", kind)?;
        named.set_item("stage", place.stage.as_deref())?;
        named.set_item("task", place.task.as_deref())?;
        named.set_item("frame", place.frame)?;
        class(py)?.call((message,), Some(&named))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// A fault of the runtime. A task's own exception becomes its cause.
pub(crate) fn of_run(py: Python<'_>, error: &bief::Error) -> PyErr {
    let kind = match error.kind() {
        ErrorKind::Build => "build",
        ErrorKind::Panic => "panic",
        ErrorKind::Placement => "placement",
        ErrorKind::RealTime => "real-time",
        _ => "task",
    };
    let own = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    // Python said it in these words, of no frame.
    if let Some(own) =
        own.filter(|own| error.place().frame.is_none() && class(py).is_ok_and(|class| own.is_instance(py, class)))
    {
        return own.clone_ref(py);
    }
    let raised = raised(py, &error.to_string(), kind, error.place());
    if let Some(cause) = error.source().and_then(|source| source.downcast_ref::<PyErr>()) {
        raised.set_cause(py, Some(cause.clone_ref(py)));
    }
    raised
}

/// What cannot be planned, read or written.
pub(crate) fn refused(py: Python<'_>, message: &str) -> PyErr {
    raised(py, message, "build", &Place::default())
}

/// Results of the libraries as those of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for bief::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| of_run(py, &error))
    }
}

impl<T> OrRaise<T> for Result<T, bief_schedule::Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| refused(py, &error.to_string()))
    }
}

impl<T> OrRaise<T> for Result<T, Failure> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|failure| refused(py, &failure.message))
    }
}
