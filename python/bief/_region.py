"""Loops, switches and feedback: what a chain does with the tasks that are added in a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from bief._bief import Wire
from bief._error import Error

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from bief import _bief


class _Region:
    """Opened by ``with``; what an exception leaves unfinished is taken out of the chain again."""

    __slots__ = ("_chain",)

    def __init__(self, chain: _bief.Chain) -> None:
        self._chain = chain

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self._chain.abandon()
        else:
            self._close()

    def _open(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        self._chain.close()


class Loop(_Region):
    """Runs what is added in it several times on each frame; made by :meth:`Chain.repeat`."""

    __slots__ = ("_bound",)

    def __init__(self, chain: _bief.Chain, bound: int) -> None:
        super().__init__(chain)
        self._bound = bound

    def _open(self) -> None:
        self._chain.repeat(self._bound)

    def leave_if(self, wire: Wire) -> None:
        """Leaves the innermost loop, for this frame, where the one element of ``wire`` (uint8) is not 0. What stands before it
        runs in the last turn too."""
        self._chain.leave_if(wire)


class Path(_Region):
    """What runs on the frames that choose it; made by :meth:`Paths.path`."""

    __slots__ = ()

    def _open(self) -> None:
        self._chain.path()


class Paths(_Region):
    """The paths of a switch, numbered from 0; made by :meth:`Chain.select`."""

    __slots__ = ("_choice",)

    def __init__(self, chain: _bief.Chain, choice: Wire) -> None:
        super().__init__(chain)
        self._choice = choice

    def _open(self) -> None:
        self._chain.select(self._choice)

    def path(self) -> Path:
        """The next path, to be written in a ``with`` block; it may stay empty (``pass``)."""
        return Path(self._chain)


class Feedback(_Region):
    """What is made of a frame and used with the next one; made by :meth:`Chain.feedback`."""

    __slots__ = ("_initial", "_kept", "previous")

    previous: Wire
    """What was kept of the frame before."""

    def __init__(self, chain: _bief.Chain, initial: npt.NDArray[Any]) -> None:
        super().__init__(chain)
        self._initial = initial
        self._kept: Wire | None = None

    def _open(self) -> None:
        self.previous = self._chain.feedback(self._initial)[0]

    def keep(self, wire: Wire) -> None:
        """Keeps the value of this wire for the next frame: one that is made in the block, of the type and length of the first
        value."""
        self._kept = wire

    def _close(self) -> None:
        if self._kept is None:
            self._chain.abandon()
            raise Error("a feedback keeps nothing: call keep(WIRE) in its block", kind="build")
        self._chain.close(self._kept)
