"""What a call of an empty Python task costs: one input and one output of 64 complex64, the best of 50 runs.

A chain of an array alone runs in turn with it, and is taken off.
"""

from __future__ import annotations

import numpy as np

import bief

# Few enough to stay in a cache: it is not the memory that is measured.
FRAMES = np.ones((8192, 64), np.complex64)


def nanoseconds(batch: int, batches: bool | None) -> float:
    """Nanoseconds a frame of one run; without a task for None."""
    chain = bief.Chain(batch=batch)
    wire = chain.source(FRAMES)
    if batches is not None:
        chain.add(bief.task(lambda x, y: None, out=np.complex64, batches=batches, name="empty"), wire)
    report = chain.run()
    assert report.frames == len(FRAMES)
    return 1e9 * report.seconds / report.frames


for batch, batches in [(1, False), (16, False), (16, True), (256, True)]:
    rounds = [(nanoseconds(batch, None), nanoseconds(batch, batches)) for _ in range(50)]
    alone, whole = (min(column) for column in zip(*rounds))
    how = "a call a batch" if batches else "a call a frame"
    print(f"batch {batch:3}, {how}: {whole - alone:7.1f} ns a frame ({alone:.1f} ns without the task)")
