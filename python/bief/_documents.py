"""Profiles, platforms and other documents: what a caller may give for one, and the text that the compiled part reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from bief import _bief
from bief._error import Error

Cores = Union[int, str, Mapping[str, int]]
"""Cores: ``4``, ``{"big": 4, "little": 8}`` or ``"big=4,little=8"``."""

Document = Union[str, os.PathLike[str], Mapping[str, Any]]
"""A document of Bief: a dict as its JSON has it, or the path of a file."""


class Profile:
    """How long each task of a chain takes on each kind of core.

    Made from what :meth:`to_dict` gives, from a file, from the name of a machine that ships (``orange_pi_5_plus``,
    ``mac_studio``, ``ai370``, ``x7_ti``), or from arrays by :meth:`of`.

    >>> profile = Profile.of([1000, 4000, 500], replicable=[False, True, False], names=["read", "work", "write"])
    >>> profile.tasks
    ['read', 'work', 'write']
    >>> Profile(profile.to_dict()).to_dict() == profile.to_dict()
    True
    """

    __slots__ = ("_platform", "_text")

    _text: str
    _platform: str | None

    def __init__(self, document: Document | Profile) -> None:
        if isinstance(document, Profile):
            self._text, self._platform = document._text, document._platform
            return
        text, self._platform, origin = _profile(document)
        try:
            self._text = _bief.profile(text)
        except Error as error:
            raise Error(f"{origin}{error}", kind="build") from None

    @classmethod
    def of(
        cls,
        ns: npt.ArrayLike,
        *,
        replicable: npt.ArrayLike,
        names: Sequence[str] | None = None,
        kinds: Sequence[str] = (),
        frames_per_execution: int = 1,
        bits_per_frame: int | None = None,
        sync_ns: npt.ArrayLike | None = None,
    ) -> Profile:
        """A profile from arrays.

        Parameters
        ----------
        ns
            Nanoseconds of an execution of each task: shape ``(tasks,)``, or ``(tasks, kinds)`` with a column for each kind
            of core, the fastest first. A negative number or NaN: the task cannot run on that kind.
        replicable
            Whether several cores may work on a task at once, shape ``(tasks,)``.
        names
            What the tasks are called; ``t0``, ``t1`` and so on unless given.
        kinds
            What the kinds are called; ``cpu`` for one, ``big`` and ``little`` for two, unless given.
        frames_per_execution
            Frames of a batch, at least 1.
        bits_per_frame
            Bits of information in a frame, where rates are to be told in Mb/s.
        sync_ns
            What a stage on each kind spends on handing over, in nanoseconds, shape ``(kinds,)``.
        """
        times = np.asarray(ns, dtype=np.float64)
        if times.ndim == 1:
            times = times[:, np.newaxis]
        flags = np.asarray(replicable)
        if times.ndim != 2 or flags.shape != times.shape[:1]:
            raise Error(
                f"ns has the shape {np.shape(ns)} and replicable {flags.shape}: give ns as (tasks,) or (tasks, kinds), and "
                "replicable as (tasks,)",
                kind="build",
            )
        if np.isinf(times).any():
            raise Error("ns: a time is infinite: give NaN where a task cannot run on a kind", kind="build")
        usual = {1: ["cpu"], 2: ["big", "little"]}.get(times.shape[1], [f"kind{k}" for k in range(times.shape[1])])
        labels = list(kinds) if len(kinds) > 0 else usual
        called = list(names) if names is not None else [f"t{task}" for task in range(len(times))]
        if len(called) != len(times) or len(labels) != times.shape[1]:
            raise Error(
                f"there are {len(times)} tasks on {times.shape[1]} kinds, but {len(called)} names and {len(labels)} kinds "
                "are named: give one for each",
                kind="build",
            )
        tasks = [
            {
                "name": name,
                "replicable": bool(flag),
                "ns": [None if not time >= 0 else round(float(time)) for time in row],
            }
            for name, flag, row in zip(called, flags, times)
        ]
        document: dict[str, Any] = {
            "format": 1,
            "kinds": labels,
            "frames_per_execution": int(frames_per_execution),
            "tasks": tasks,
        }
        if bits_per_frame is not None:
            document["bits_per_frame"] = int(bits_per_frame)
        if sync_ns is not None:
            document["sync_ns"] = [int(time) for time in np.asarray(sync_ns).ravel()]
        return cls(document)

    def to_dict(self) -> dict[str, Any]:
        """The document, as ``bief profile`` writes it."""
        return loaded(self._text)

    def to_json(self) -> str:
        """The same as text."""
        return self._text

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, in order."""
        return [task["name"] for task in self.to_dict()["tasks"]]

    @property
    def kinds(self) -> list[str]:
        """The names of the kinds of cores."""
        return list(self.to_dict()["kinds"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        document = self.to_dict()
        return f"<Profile of {len(document['tasks'])} tasks on {', '.join(document['kinds'])}>"

    def _repr_html_(self) -> str:
        document = self.to_dict()
        heads = ["task", "replicable", *(f"{kind}, ns" for kind in document["kinds"])]
        rows = [
            [task["name"], "yes" if task["replicable"] else "no", *("-" if ns is None else str(ns) for ns in task["ns"])]
            for task in document["tasks"]
        ]
        return html_table(heads, rows)


def loaded(text: str) -> dict[str, Any]:
    """A JSON object."""
    value: dict[str, Any] = json.loads(text)
    return value


def read(document: str | os.PathLike[str]) -> str:
    """The text of a file."""
    try:
        return Path(document).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{os.fspath(document)}: {error}", kind="build") from error


def dumped(document: Mapping[str, Any]) -> str:
    """The JSON of a dict, which may hold what NumPy has for numbers."""

    def plain(value: object) -> object:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"a {type(value).__name__} is nothing that JSON has")

    try:
        return json.dumps(document, default=plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Error(f"the document is no JSON: {error}", kind="build") from error


def _profile(document: Document) -> tuple[str, str | None, str]:
    """Its text, the platform where one ships with it, and what errors begin with."""
    if isinstance(document, Mapping):
        return dumped(document), None, ""
    if isinstance(document, (str, os.PathLike)):
        if isinstance(document, str) and not os.path.exists(document):
            ships = _bief.shipped(document)
            if ships is not None:
                return (*ships, "")
        return read(document), None, f"{os.fspath(document)}: "
    raise Error(f"a {type(document).__name__} is no profile: give a dict, a path, or Profile.of(…)", kind="build")


def platform_text(platform: Document) -> str:
    """The text of a platform."""
    if isinstance(platform, Mapping):
        return dumped(platform)
    if isinstance(platform, str) and not os.path.exists(platform):
        ships = _bief.shipped(platform)
        if ships is not None:
            return ships[1]
    return read(platform)


def cores_text(cores: Cores | None) -> str | None:
    """Cores as the command takes them."""
    if cores is None or isinstance(cores, str):
        return cores
    if isinstance(cores, Mapping):
        return ",".join(f"{kind}={whole(count, 'cores')}" for kind, count in cores.items())
    return str(whole(cores, "cores"))


def whole(number: object, name: str, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """A whole number, of NumPy too, in a range."""
    if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
        if least <= number <= most:
            return int(number)
        limits = f"at least {least}" if number < least else f"at most {most}"
        raise Error(f"{name} must be {limits}, not {number}", kind="build")
    raise Error(f"{name} must be a whole number, not {number!r}", kind="build")


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings for the compiled part."""
    for name, value in settings.items():
        if isinstance(value, (float, np.floating)) and not np.isfinite(value):
            raise Error(f"{name} must be a finite number, not {value}", kind="build")
    return dumped(settings)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of a notebook."""
    from html import escape

    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
