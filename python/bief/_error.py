"""The error that everything in this package raises."""

from __future__ import annotations


class Error(RuntimeError):
    """What went wrong, and where. An exception that a task of Python raised is its ``__cause__``.

    >>> import bief
    >>> bief.plan("mac_studio", goal="least-power,rate=1Gb/s")
    Traceback (most recent call last):
    ...
    bief.Error: goal `least-power,rate=1Gb/s`: a period of ... is demanded, ...
    """

    kind: str
    """``build`` (nothing was run), ``task``, ``panic``, ``placement`` or ``real-time``."""
    stage: str | None
    """The stage, where a run had one."""
    task: str | None
    """The task."""
    frame: int | None
    """The number of the frame, counted from 0 as the source made them."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "task",
        stage: str | None = None,
        task: str | None = None,
        frame: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.stage = stage
        self.task = task
        self.frame = frame

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (str(self), self.kind, self.stage, self.task, self.frame)


# It is known by where it is to be had.
Error.__module__ = "bief"


def _restored(message: str, kind: str, stage: str | None, task: str | None, frame: int | None) -> Error:
    return Error(message, kind=kind, stage=stage, task=task, frame=frame)
