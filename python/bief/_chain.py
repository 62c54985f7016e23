"""Chains: tasks joined by wires, measured, planned and run on all cores."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from bief import _bief
from bief._bief import Wire
from bief._documents import Cores, Document, Profile, cores_text, html_table, loaded, read, whole
from bief._error import Error
from bief._plan import Plan
from bief._region import Feedback, Loop, Paths
from bief._task import FunctionTask, Task, described, parameters_of, rewritten

Progress = Union[bool, Callable[[dict[str, Any]], object]]
"""Whether progress is shown, or a function that is told of it: a dict, ten times a second."""


class Report:
    """What happened in a run, beside its plan. ``print`` gives the table."""

    __slots__ = ("_document", "_table", "plan", "profile")

    plan: Plan | None
    """The plan, where the run was planned."""
    profile: Profile | None
    """The profile that it was planned with."""

    def __init__(self, outcome: _bief.Outcome, goal: str | None = None) -> None:
        self._document: dict[str, Any] = loaded(outcome.report or "{}")
        self._table = outcome.table or ""
        self.plan = plan_of(outcome, goal)
        self.profile = None if self.plan is None else self.plan.profile

    def to_dict(self) -> dict[str, Any]:
        """The whole report; times in nanoseconds unless the name says otherwise."""
        return dict(self._document)

    @property
    def frames(self) -> int:
        """Frames that passed the last task."""
        return int(self._document["frames"])

    @property
    def seconds(self) -> float:
        """Time of the run, in seconds."""
        return float(self._document["seconds"])

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages, from source to sink."""
        return list(self._document["stages"])

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks with their stage: a table for pandas."""
        return [
            {"stage": stage["name"], **{key: value for key, value in task.items() if not isinstance(value, dict)}}
            for stage in self.stages
            for task in stage["tasks"]
        ]

    @property
    def figures(self) -> list[dict[str, Any]]:
        """What the tasks tell of their work."""
        return list(self._document["figures"])

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<Report of {self.frames} frames in {self.seconds:.3f} s, {len(self.stages)} stages>"

    def _repr_html_(self) -> str:
        from html import escape

        picture = "" if self.plan is None else self.plan.svg()
        return f"<pre>{escape(self._table)}</pre>{picture}"


class Collected:
    """The frames of a wire, after a run; made by :meth:`Chain.collect`."""

    __slots__ = ("_collected", "_wire")

    def __init__(self, collected: _bief.Collected, wire: Wire) -> None:
        self._collected, self._wire = collected, wire

    def take(self) -> npt.NDArray[Any]:
        """The frames of the last run, shape ``(frames, …)``; of frames that vary in length an array of objects, each a frame.
        They are gone from here afterwards."""
        data, frames, lens = self._collected.take()
        dtype = self._wire.dtype
        assert dtype is not None
        elements = data.view(dtype)
        if self._wire.is_variable:
            parts = np.empty(frames, dtype=object)
            ends = np.cumsum([0, *lens])
            for index in range(frames):
                parts[index] = elements[ends[index] : ends[index + 1]]
            return parts
        return elements.reshape((frames, *self._wire.shape))


class Chain:
    """A chain of tasks, in the order in which they are added.

    What does not fit is refused when it is added. A chain can run again and again: sources begin anew.

    Parameters
    ----------
    batch
        Frames that travel and are worked on together, at least 1.
    depth
        Batches that may wait between two stages.
    waiting
        How threads wait for each other: ``adaptive``, ``passive`` or ``active``.

    >>> chain = bief.Chain(batch=4)
    >>> numbers = chain.source(np.arange(8, dtype=np.float32), frame=2)
    >>> numbers
    <Wire 2 x f32>
    >>> halves = chain.add(bief.task(lambda x, y: np.multiply(x, 0.5, out=y), out=np.float32, name="halve"), numbers)
    >>> got = chain.collect(halves)
    >>> report = chain.run()
    >>> got.take().tolist()
    [[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]
    """

    def __init__(self, *, batch: int = 1, depth: int | None = None, waiting: str = "adaptive") -> None:
        least = None if depth is None else whole(depth, "depth", 1)
        self._chain = _bief.Chain(whole(batch, "batch", 1), least, waiting)
        self._names: set[str] = set()

    def source(self, frames: npt.ArrayLike, *, frame: int | None = None, repeat: bool = False, name: str = "array") -> Wire:
        """Adds a source that plays the frames of an array.

        Parameters
        ----------
        frames
            Shape ``(frames, …)``; with ``frame`` one dimension, a whole number of frames long. It must stay as it is until the
            run has ended.
        frame
            Elements of a frame.
        repeat
            Begin anew at the end, for ever: until a task or Ctrl-C stops the stream.
        name
            The task's name.
        """
        array = np.ascontiguousarray(frames)
        if frame is not None:
            if frame < 1 or array.ndim != 1 or len(array) % frame:
                raise Error(
                    f"an array of shape {array.shape} is no whole number of frames of {frame}: cut it, "
                    f"x[:len(x) // {frame} * {frame}]",
                    kind="build",
                )
            array = array.reshape(-1, frame)
        if array.ndim < 2:
            raise Error(f"an array of shape {array.shape} has no frames: give frame=LENGTH", kind="build")
        if repeat and len(array) == 0:
            raise Error("an array without frames cannot be repeated", kind="build")
        return self._chain.array(self._unique(name), array, repeat)[0]

    def add(self, what: Task | str | Callable[..., Any], *wires: Wire, name: str | None = None, **parameters: Any) -> Any:
        """Adds a task of Python, or one of a kind that ships; returns the wire that it makes, a tuple of several, or None.

        Parameters
        ----------
        what
            A :class:`Task`, a function (one without outputs, unless :func:`task` says them), or the name of a kind of
            :func:`kinds`.
        wires
            What it reads or rewrites, in order.
        name
            Its name in profiles, reports and errors.
        parameters
            Of a kind.
        """
        if isinstance(what, str):
            made = self._chain.kind(self._unique(name or what.rpartition(".")[2]), what, parameters, list(wires))
        else:
            if parameters:
                raise Error(f"a task of Python has no parameter `{next(iter(parameters))}`: kinds have", kind="build")
            made = self._add_task(what, wires, name)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def _add_task(self, what: Task | Callable[..., Any], wires: Sequence[Wire], name: str | None) -> list[Wire]:
        if isinstance(what, type) and issubclass(what, Task):
            raise Error(f"{what.__name__} is a class: give an object of it, {what.__name__}(…)", kind="build")
        if not isinstance(what, Task):
            if not callable(what):
                raise Error(f"a {type(what).__name__} is no task: give a bief.Task, a function or a kind's name", kind="build")
            options: dict[str, Any] = dict.fromkeys(("name", "lens", "rehearsal"))
            what = FunctionTask(what, {"out": (), "inplace": False, "batches": False, "replicable": False, **options})
        called = self._unique(name or what.name or type(what).__name__)
        shapes = [wire.shape for wire in wires]
        if what.batches and any(wire.is_variable for wire in wires):
            raise Error(f"task `{called}`: frames that vary in length come one by one: leave out batches", kind="build")
        outputs = described(what, called, shapes)
        names = parameters_of(what, called, len(wires), len(outputs))
        in_place = rewritten(what, called, len(wires))
        return self._chain.task(called, what, names, list(wires), in_place, outputs, bool(what.batches), bool(what.replicable))

    def collect(self, wire: Wire, *, name: str = "collect") -> Collected:
        """Keeps the frames of a wire, for after the run: ``Collected.take()``."""
        return Collected(self._chain.collect(self._unique(name), wire), wire)

    def stage(self, name: str, *, threads: int = 1) -> None:
        """Begins a stage at the task that is added next, on so many threads: what runs unless a plan is made."""
        self._chain.stage(name, whole(threads, "threads", 1))

    def repeat(self, bound: int) -> Loop:
        """Runs what is added in a ``with`` block up to ``bound`` times on each frame, in one task. A value that goes from turn
        to turn, or out of the loop, is a wire made before it that tasks in the block rewrite in place.

        >>> chain = bief.Chain()
        >>> numbers = chain.source(np.array([12, 14, 1024], np.uint32), frame=1)
        >>> @bief.task(out=(np.uint8, 1), inplace=True)
        ... def halve(x, odd):
        ...     x //= 2
        ...     odd[0] = x[0] % 2
        >>> with chain.repeat(8) as loop:
        ...     loop.leave_if(chain.add(halve, numbers))
        >>> got = chain.collect(numbers)
        >>> report = chain.run()
        >>> got.take().ravel().tolist()
        [3, 7, 4]
        """
        return Loop(self._chain, whole(bound, "bound", 0))

    def select(self, choice: Wire) -> Paths:
        """Runs one of several paths on each frame, in one task: the one whose number is the one element of ``choice`` (uint8 or
        uint32). What a path gives to later tasks is a wire made before (see :meth:`blank`) that tasks in the path rewrite in
        place.

        >>> chain = bief.Chain()
        >>> numbers = chain.source(np.array([1.0, 2.0, 3.0]), frame=1)
        >>> choice = chain.source(np.array([0, 1, 0], np.uint8), frame=1)
        >>> @bief.task(inplace=True)
        ... def negate(x):
        ...     x *= -1
        >>> with chain.select(choice) as paths:
        ...     with paths.path():
        ...         pass
        ...     with paths.path():
        ...         chain.add(negate, numbers)
        >>> got = chain.collect(numbers)
        >>> report = chain.run()
        >>> got.take().ravel().tolist()
        [1.0, -2.0, 3.0]
        """
        return Paths(self._chain, choice)

    def feedback(self, initial: npt.ArrayLike) -> Feedback:
        """Gives what is added in a ``with`` block the value that it kept of the frame before; on the first frame that is
        ``initial``, an array. Such a task is never replicated.

        >>> chain = bief.Chain()
        >>> numbers = chain.source(np.array([1, 2, 3, 4], np.uint32), frame=1)
        >>> add = bief.task(lambda a, b, total: np.add(a, b, out=total), out=np.uint32, name="add")
        >>> with chain.feedback(np.zeros(1, np.uint32)) as sums:
        ...     total = chain.add(add, numbers, sums.previous)
        ...     sums.keep(total)
        >>> got = chain.collect(total)
        >>> report = chain.run()
        >>> got.take().ravel().tolist()
        [1, 3, 6, 10]
        """
        return Feedback(self._chain, np.array(initial, ndmin=1, order="C"))

    def blank(self, dtype: npt.DTypeLike, shape: int | Sequence[int] = 1) -> Wire:
        """A wire of zeros in every frame, for the paths of a :meth:`select` or the block of a :meth:`repeat` to fill."""
        dims = [shape] if isinstance(shape, int) else list(shape)
        return self._chain.blank(np.dtype(dtype), [whole(length, "shape", 0) for length in dims])[0]

    def profile(self, *, executions: int | None = None) -> Profile:
        """Measures each task on each kind of core of this machine, in a rehearsal: input is not used up, and what makes no wire
        is left out (:meth:`Task.rehearsal`).

        Parameters
        ----------
        executions
            How many, however long they take; 100 unless given, fewer after 4 seconds.
        """
        plan = self.plan(executions=executions)
        return plan.profile

    def plan(
        self,
        *,
        cores: Cores | None = None,
        goal: str | None = None,
        strategy: str | None = None,
        refine: int = 0,
        profile: Document | Profile | None = None,
        executions: int | None = None,
    ) -> Plan:
        """Measures the tasks and plans; parameters as of :meth:`run`."""
        how = how_of(True, cores, goal, strategy, refine, profile, None, None, None, executions, False)
        plan = plan_of(self._chain.plan(how), goal)
        assert plan is not None
        return plan

    def run(
        self,
        plan: Plan | None = None,
        *,
        cores: Cores | None = None,
        goal: str | None = None,
        strategy: str | None = None,
        refine: int = 0,
        profile: Document | Profile | None = None,
        place: str | None = None,
        stages: Iterable[tuple[int, int]] | None = None,
        executions: int | None = None,
        observe: bool = False,
        progress: Progress = False,
    ) -> Report:
        """Runs the chain until its source ends.

        With a plan, or with ``cores``, ``goal``, ``strategy``, ``refine`` or ``profile``, its tasks are measured and cut into
        the best stages. Else it runs in the stages that are marked, or on one core.

        Ctrl-C ends the run in order: what was under way is delivered, then KeyboardInterrupt is raised.

        Parameters
        ----------
        plan
            What :meth:`plan` gave.
        cores
            The most cores to use: ``2`` or ``{"big": 4}``.
        goal, strategy
            As of :func:`bief.plan`.
        refine
            Try the plan, correct the profile, plan again: up to so many times.
        profile
            A profile of this chain, in place of measuring.
        place
            Where threads run: ``loose``, ``guided``, ``packed``, ``distant``, ``dynamic``, or places.
        stages
            Number of tasks and threads of each stage, in place of a plan.
        executions
            Executions to measure.
        observe
            Times of each task, fill of rings and latency in the report.
        progress
            Show the progress on a terminal or in a notebook, or tell a function.
        """
        given = (cores, goal, strategy, profile, place, executions)
        plans = plan is not None or bool(refine) or any(option is not None for option in given)
        if plan is not None and (bool(refine) or any(option is not None for option in (cores, goal, strategy, profile))):
            raise Error("a plan is given: leave out cores, goal, strategy, refine and profile", kind="build")
        if plans and stages is not None:
            raise Error("stages take the place of a plan: give either", kind="build")
        how = how_of(plans, cores, goal, strategy, refine, profile, plan, place, stages, executions, observe)
        with Shown(progress) as shown:
            outcome = self._chain.run(how, shown)
        return Report(outcome, goal)

    def dot(self) -> str:
        """The chain as a graph in the DOT language."""
        return self._chain.dot()

    def _unique(self, name: str) -> str:
        names = [name, *(f"{name} {number}" for number in range(2, len(self._names) + 3))]
        free = next(name for name in names if name not in self._names)
        self._names.add(free)
        return free


def plan_of(outcome: _bief.Outcome, goal: str | None) -> Plan | None:
    """The plan of a run or a measurement."""
    if outcome.schedule is None or outcome.platform is None or outcome.profile is None:
        return None
    return Plan(outcome.schedule, outcome.platform, outcome.profile, goal)


def how_of(
    plans: bool,
    cores: Cores | None,
    goal: str | None,
    strategy: str | None,
    refine: int,
    profile: Document | Profile | None,
    plan: Plan | None,
    place: str | None,
    stages: Iterable[tuple[int, int]] | None,
    executions: int | None,
    observe: bool,
) -> str:
    """How a chain is to be run, as the compiled part reads it."""
    document: dict[str, Any] = {
        "plans": plans,
        "cores": cores_text(cores),
        "goal": goal,
        "strategy": strategy,
        "refine": whole(refine, "refine", 0),
        "place": place,
        "observe": bool(observe),
        "executions": None if executions is None else whole(executions, "executions", 1),
    }
    if profile is not None:
        document["profile"] = Profile(profile).to_dict()
    if plan is not None:
        document["profile"], document["schedule"] = plan.profile.to_dict(), plan.to_dict()
    if stages is not None:
        document["stages"] = [[whole(tasks, "stages", 1), whole(threads, "stages", 1, 2**32 - 1)] for tasks, threads in stages]
    return json.dumps({key: value for key, value in document.items() if value is not None})


class Shown:
    """Shows the progress of a run, or tells a function."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._display: Any = None
        self._width = 0

    def __enter__(self) -> Callable[[str], object] | None:
        if self._progress is False or self._progress is None:
            return None
        if callable(self._progress):
            told = self._progress
            return lambda text: told(json.loads(text))
        if "ipykernel" in sys.modules:
            display: Any = importlib.import_module("IPython.display").display
            self._display = display({"text/plain": ""}, raw=True, display_id=True)
            return self._in_notebook
        return self._on_terminal if sys.stderr.isatty() else None

    def __exit__(self, *_: object) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    @staticmethod
    def _line(text: str) -> str:
        status = json.loads(text)
        busy = " ".join(f"{100 * stage['busy']:.0f}" for stage in status["stages"])
        return f"{status['frames']} frames, {status['frames_per_second']:.0f}/s, busy {busy} %"

    def _in_notebook(self, text: str) -> None:
        self._display.update({"text/plain": self._line(text)}, raw=True)

    def _on_terminal(self, text: str) -> None:
        line = self._line(text)[:79]
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)


class ChainFile:
    """A chain that a TOML file describes, of kinds that ship.

    >>> file = bief.ChainFile(text='''
    ... [[task]]
    ... name = "read"
    ... kind = "radio.reed"
    ... out = ["iq"]
    ... ''')
    >>> file.run()
    Traceback (most recent call last):
    ...
    bief.Error: chain.toml:4: ...
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, text: str | None = None) -> None:
        if (path is None) == (text is None):
            raise Error("give the path of a file, or text=", kind="build")
        self._path, self._text = "chain.toml" if path is None else os.fspath(path), text
        if text is None:
            read(self._path)

    def run(
        self,
        *,
        cores: Cores | None = None,
        goal: str | None = None,
        strategy: str | None = None,
        refine: int = 0,
        profile: Document | Profile | None = None,
        place: str | None = None,
        executions: int | None = None,
        observe: bool = False,
        progress: Progress = False,
    ) -> Report:
        """Runs the chain; parameters as of :meth:`Chain.run`. Paths in the file are relative to its folder."""
        given = (cores, goal, strategy, profile, place, executions)
        plans = bool(refine) or any(option is not None for option in given)
        how = how_of(plans, cores, goal, strategy, refine, profile, None, place, None, executions, observe)
        with Shown(progress) as shown:
            return Report(_bief.run_file(self._path, self._text, how, shown), goal)


class Kinds(list[dict[str, Any]]):
    """Kinds of tasks: dicts with ``name``, ``summary``, ``inputs``, ``outputs`` and ``parameters``; made by :func:`kinds`."""

    def _repr_html_(self) -> str:
        rows = [
            [kind["name"], kind["summary"], ", ".join(f"{one['name']} ({one['form']})" for one in kind["parameters"])]
            for kind in self
        ]
        return html_table(["kind", "what it does", "parameters"], rows)


def kinds() -> Kinds:
    """The kinds of tasks that ship, for :meth:`Chain.add` and chain files.

    >>> next(kind["summary"] for kind in bief.kinds() if kind["name"] == "radio.agc")
    '...'
    """
    return Kinds(json.loads(_bief.kinds()))
