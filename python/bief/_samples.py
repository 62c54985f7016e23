"""Samples of a radio, as arrays."""

from __future__ import annotations

import os
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from bief._error import Error

Samples = Union[str, os.PathLike[str], npt.NDArray[Any]]
"""A recording: the path of a file (SigMF, WAV, raw), or an array: complex64 of shape ``(n,)``, or int16, int8 or uint8 of shape
``(n, 2)``, I and Q."""

_FORMATS = {"int16": "ci16", "int8": "ci8", "uint8": "cu8"}


def opened(samples: Samples, format: str | None) -> tuple[str | npt.NDArray[Any], str | None]:
    """What the compiled part takes for a recording, and its format."""
    if isinstance(samples, (str, os.PathLike)):
        return os.fspath(samples), format
    array = np.asarray(samples)
    if format is not None:
        raise Error("an array says its format by its dtype: leave out format", kind="build")
    if array.ndim == 1 and array.dtype.kind == "c":
        return np.ascontiguousarray(array, dtype=np.complex64), "cf32"
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.name in _FORMATS:
        return np.ascontiguousarray(array), _FORMATS[array.dtype.name]
    raise Error(
        f"an array of {array.dtype} and shape {array.shape} is no recording: give complex64 of shape (n,), or int16, int8 or "
        "uint8 of shape (n, 2)",
        kind="build",
    )
