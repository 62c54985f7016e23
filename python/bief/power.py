"""Power: what an idle machine and its busy cores draw, from measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bief import _bief
from bief._documents import Document, loaded, platform_text
from bief._error import Error


def fit(
    busy: npt.ArrayLike,
    watts: npt.ArrayLike,
    *,
    kinds: Sequence[str],
    saturate: str | None = None,
    platform: Document | None = None,
) -> dict[str, Any]:
    """Watts of the idle machine and of each busy core, by least squares, as ``bief power fit``.

    Parameters
    ----------
    busy
        Mean number of busy cores of each kind in each run, shape ``(runs, kinds)``; at least 4 runs.
    watts
        Mean power of each run, in watts, shape ``(runs,)``.
    kinds
        The names of the kinds of cores.
    saturate
        The kind whose power saturates as more of its cores are busy.
    platform
        Cores to which the watts are to be written.

    Returns
    -------
    ``idle_watts``, ``kinds``, ``rows``, ``errors`` and ``left_out_errors`` (shares of the power); with ``platform`` also
    ``platform``, for :func:`bief.plan`.

    >>> runs = [[0, 0], [1, 0], [2, 0], [0, 2], [4, 2]]
    >>> fitted = bief.power.fit(runs, [5, 8, 11, 7, 19], kinds=["big", "little"])
    >>> round(fitted["idle_watts"], 6), [round(kind["watts"], 6) for kind in fitted["kinds"]]
    (5.0, [3.0, 1.0])
    """
    rows, drawn = np.asarray(busy, dtype=np.float64), np.asarray(watts, dtype=np.float64)
    if rows.ndim != 2 or drawn.shape != rows.shape[:1] or rows.shape[1] != len(kinds):
        raise Error(
            f"busy has the shape {rows.shape} and watts {drawn.shape} for {len(kinds)} kinds: give (runs, kinds) and (runs,)",
            kind="build",
        )
    own = None if platform is None else platform_text(platform)
    text, fitted = _bief.fit_power(
        list(kinds), [(row.tolist(), float(power)) for row, power in zip(rows, drawn)], saturate, own
    )
    result = loaded(text)
    if fitted is not None:
        result["platform"] = loaded(fitted)
    return result
