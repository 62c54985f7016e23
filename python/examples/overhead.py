"""What a call of an empty Python task costs: one input and one output of 64 complex64, the best of five runs.

A chain of an array alone runs beside it, and is taken off.
"""

from __future__ import annotations

import numpy as np

import bief


def nanoseconds(batch: int, batches: bool | None) -> float:
    """Nanoseconds a frame; without a task for None."""
    frames = np.ones((max(400_000 // batch, 1) * batch // (1 if batches else 4), 64), np.complex64)
    best = float("inf")
    for _ in range(5):
        chain = bief.Chain(batch=batch)
        wire = chain.source(frames)
        if batches is not None:
            chain.add(bief.task(lambda x, y: None, out=np.complex64, batches=batches, name="empty"), wire)
        report = chain.run()
        assert report.frames == len(frames)
        best = min(best, 1e9 * report.seconds / report.frames)
    return best


for batch, batches in [(1, False), (16, False), (16, True), (256, True)]:
    alone, whole = nanoseconds(batch, None), nanoseconds(batch, batches)
    how = "a call a batch" if batches else "a call a frame"
    print(f"batch {batch:3}, {how}: {whole - alone:7.1f} ns a frame ({alone:.1f} ns without the task)")
