"""Real time: bounds on the latency of a processing graph on shared cores, and batches and merges that meet a limit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Union

from bief import _bief
from bief._documents import Document, dumped, loaded, read

Time = Union[str, float]
"""A time: ``"5ms"``, or seconds."""


class Study:
    """Bounds and plans of a graph; made by :func:`study`. ``print`` gives the table of the command, a notebook the picture."""

    __slots__ = ("_document", "_svg", "_table")

    def __init__(self, text: str, table: str, svg: str) -> None:
        self._document, self._table, self._svg = loaded(text), table, svg

    def to_dict(self) -> dict[str, Any]:
        """What ``bief realtime --json`` writes: ``bounds`` of the graph as it is (or the ``refusal``), the ``plan`` within the
        latency, the ``front`` of latency and utilisation."""
        return dict(self._document)

    @property
    def plan(self) -> dict[str, Any] | None:
        """The plan of the least utilisation within the latency, where one was given."""
        plan: dict[str, Any] | None = self._document["plan"]
        return plan

    @property
    def front(self) -> list[dict[str, Any]]:
        """Plans from the least latency to the least utilisation: ``latency_ns``, ``utilisation``, ``groups``, ``firings``."""
        return list(self._document["front"])

    def svg(self) -> str:
        """The graph as a picture, an SVG document."""
        return self._svg

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<Study of {self._document['title']}: {len(self.front)} plans>"

    def _repr_svg_(self) -> str:
        return self._svg


def study(
    graph: Document,
    *,
    latency: Time | None = None,
    cores: int | None = None,
    merge: bool = True,
    init_share: float | None = None,
    cap: float = 1.0,
    budget: str | float = "cost",
    method: str = "automatic",
    jitter: Time | None = None,
    handover: Time | None = None,
    allowance: Time | None = None,
    simulate: int | None = None,
) -> Study:
    """Bounds the latency of a graph, as ``bief realtime``.

    Parameters
    ----------
    graph
        A dict with ``format`` 1, ``cores``, ``nodes`` and ``edges``, as ``bief realtime --help`` shows it, or a path.
    latency
        The longest latency that is allowed: then the plan of the least utilisation within it is found.
    cores
        Cores that the nodes share, in place of those of the graph.
    merge
        Whether nodes may be merged.
    init_share
        Share of the smaller start cost that remains where two nodes are merged, 0 to 1.
    cap
        Share of the cores' time that the tasks may use, up to 1.
    budget
        The cost of a job in the bounds: ``"cost"``, ``"largest"``, or a factor of at least 1.
    method
        ``automatic``, ``devi-anderson``, ``vector``, ``refined-vector`` or ``fair-lateness``.
    jitter, handover, allowance
        Release jitter of sources, cost of waking for each job, longest delay by the system.
    simulate
        Jobs of the fastest source to simulate beside the bounds.

    >>> source = {"name": "source", "rate_hz": 1e6, "init_ns": 200, "per_sample_ns": 10}
    >>> work = {"name": "filter", "init_ns": 300, "per_sample_ns": 50}
    >>> edge = {"from": "source", "to": "filter", "produce": 1, "consume": 1}
    >>> graph = {"format": 1, "cores": 2, "nodes": [source, work], "edges": [edge]}
    >>> study = bief.realtime.study(graph, latency="1ms")
    >>> study.plan["bounds"]["latency_ns"] <= 1e6
    True
    """
    options = [f"--cap={cap}", f"--budget={budget}", f"--method={method}"]
    if not merge:
        options.append("--no-merge")
    times = {"latency": latency, "jitter": jitter, "handover": handover, "allowance": allowance}
    options += [f"--{name}={_time(time)}" for name, time in times.items() if time is not None]
    numbers = {"cores": cores, "init-share": init_share, "simulate": simulate}
    options += [f"--{name}={number}" for name, number in numbers.items() if number is not None]
    if isinstance(graph, Mapping):
        return Study(*_bief.study(dumped(graph), "graph", options))
    return Study(*_bief.study(read(graph), os.path.basename(os.fspath(graph)), options))


def _time(time: Time) -> str:
    return time if isinstance(time, str) else f"{round(time * 1e9)}ns"
