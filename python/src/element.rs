//! Elements that Bief and NumPy share.

use bief::raw::Dtype;
use numpy::{Complex32, Complex64, PyArrayDescr, PyArrayDescrMethods, dtype};
use pyo3::prelude::*;

use crate::error::refused;

/// NumPy's description of an element; `None` of one that NumPy has no number for.
pub(crate) fn description<'py>(py: Python<'py>, element: &Dtype) -> Option<Bound<'py, PyArrayDescr>> {
    Some(match element {
        Dtype::U8 => dtype::<u8>(py),
        Dtype::I8 => dtype::<i8>(py),
        Dtype::U16 => dtype::<u16>(py),
        Dtype::I16 => dtype::<i16>(py),
        Dtype::U32 => dtype::<u32>(py),
        Dtype::I32 => dtype::<i32>(py),
        Dtype::U64 => dtype::<u64>(py),
        Dtype::I64 => dtype::<i64>(py),
        Dtype::F32 => dtype::<f32>(py),
        Dtype::F64 => dtype::<f64>(py),
        Dtype::ComplexF32 => dtype::<Complex32>(py),
        Dtype::ComplexF64 => dtype::<Complex64>(py),
        _ => return None,
    })
}

/// The element that a dtype of NumPy describes.
pub(crate) fn element(description: &Bound<'_, PyArrayDescr>) -> PyResult<Dtype> {
    let py = description.py();
    let known = [
        Dtype::U8,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::U32,
        Dtype::I32,
        Dtype::U64,
        Dtype::I64,
        Dtype::F32,
        Dtype::F64,
        Dtype::ComplexF32,
        Dtype::ComplexF64,
    ];
    let same = |known: &Dtype| self::description(py, known).is_some_and(|known| known.is_equiv_to(description));
    known.into_iter().find(same).ok_or_else(|| {
        refused(
            py,
            &format!(
                "frames cannot have elements of dtype {description}: use uint8 to uint64, int8 to int64, float32, float64, \
                 complex64 or complex128, in this machine's byte order"
            ),
        )
    })
}
