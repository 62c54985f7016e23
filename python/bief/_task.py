"""Tasks of Python: what a chain calls for each frame, or each batch of frames."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Union, overload

import numpy as np
import numpy.typing as npt

from bief._error import Error

Shape = Union[int, tuple[int, ...]]
"""The shape of a frame: its length, or several dimensions."""


class variable:
    """Frames that vary in length: ``out=bief.variable(np.uint8, 188)`` are bytes, 188 at most.

    The task returns how many elements it wrote.
    """

    def __init__(self, dtype: npt.DTypeLike, most: int) -> None:
        self.dtype, self.most = np.dtype(dtype), int(most)


Out = Union[npt.DTypeLike, tuple[npt.DTypeLike, Shape], variable]
"""An output: a dtype (frames as long as those of the first input), ``(dtype, shape)``, or a :class:`variable`."""


class Task:
    """What works on frames. Make one of a function by :func:`task`, or subclass it for one that remembers something.

    ``run`` gets an array for each input and each output, in this order: views of the memory of the frames, without copies,
    inputs read-only unless they are rewritten. They are the task's until it returns; what it wants to keep it copies. A frame
    has the shape of its wire; with ``batches`` an array has the frames of a batch as its first dimension.

    ``run`` returns None; or :attr:`Flow.SKIP`, and tasks that follow do not see the frame (all frames of a batch); or
    :attr:`Flow.STOP`, and the stream ends before it. A number says, in batches, how many frames go on before the stream ends;
    for frames that vary, how many elements were written.

    >>> class Mean(bief.Task):
    ...     out = (np.float64, 1)
    ...     def __init__(self):
    ...         self.seen = 0
    ...     def run(self, x, y):
    ...         self.seen += 1
    ...         y[0] = x.mean()
    >>> chain = bief.Chain()
    >>> x = chain.source(np.arange(12.0).reshape(3, 4))
    >>> mean = chain.collect(chain.add(Mean(), x))
    >>> chain.run().frames
    3
    >>> mean.take().ravel().tolist()
    [1.5, 5.5, 9.5]
    """

    out: Out | Sequence[Out] = ()
    """What it makes: an output, or a list of them."""
    inplace: bool | Sequence[int] = False
    """The inputs that it rewrites, by number; True for the first."""
    batches: bool = False
    """Whether ``run`` gets batches of frames."""
    replicable: bool = False
    """Whether several cores may run it at once: then it remembers nothing from frame to frame, or :meth:`replica` copies it."""
    name: str | None = None
    """Its name in profiles, reports and errors; the class's unless given."""

    def run(self, *frames: Any) -> Any:
        """Works on a frame, or a batch."""
        raise NotImplementedError

    def lens(self, *shapes: tuple[int, ...]) -> Sequence[Shape] | Shape | None:
        """The shapes of the outputs, from those of the inputs; None for what ``out`` says."""
        del shapes
        return None

    def replica(self) -> Task:
        """What another core runs: this object, unless a subclass copies it."""
        return self

    def reset(self) -> None:
        """Begins anew, before each run but the first."""

    def finish(self) -> None:
        """The stream has ended."""

    def rehearsal(self) -> Task | None:
        """Stands in for it while a chain is measured: a copy unless a subclass has something better, and nothing for what
        makes no wire: its work would be seen outside."""
        return copy.deepcopy(self) if outputs_of(self) else None

    def _stand_in(self, name: str, is_source: bool) -> Task:
        del name, is_source
        stand_in = self.rehearsal()
        if stand_in is None:
            return _Nothing()
        if stand_in is not self:
            stand_in.reset()
        return stand_in


class _Nothing(Task):
    def run(self, *frames: Any) -> None:
        del frames


class FunctionTask(Task):
    """A function as a task; made by :func:`task`. It can still be called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._lens = function, options.pop("lens")
        self._rehearsal: Callable[..., Any] | None = options.pop("rehearsal")
        for key, value in options.items():
            setattr(self, key, value)
        self.__name__ = getattr(function, "__name__", "task")
        self.__doc__ = function.__doc__
        if self.name is None:
            self.name = self.__name__
        self.run = function  # type: ignore[method-assign]

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def lens(self, *shapes: tuple[int, ...]) -> Sequence[Shape] | Shape | None:
        """The shapes of the outputs."""
        made: Sequence[Shape] | Shape | None = None if self._lens is None else self._lens(*shapes)
        return made

    def rehearsal(self) -> Task | None:
        """What stands in for the function: what was given, else the function itself; nothing for one without outputs."""
        if self._rehearsal is None:
            return self if outputs_of(self) else None
        stand_in = copy.copy(self)
        stand_in.run = self._rehearsal  # type: ignore[method-assign]
        return stand_in

    def _stand_in(self, name: str, is_source: bool) -> Task:
        if self._rehearsal is None and is_source:
            raise Error(
                f"`{name}` is a source made of a function: measuring would use up what it reads; give "
                "task(rehearsal=…), or make it a class, which is copied",
                kind="build",
            )
        return super()._stand_in(name, is_source)


@overload
def task(
    function: Callable[..., Any],
    *,
    out: Out | Sequence[Out] = ...,
    inplace: bool | Sequence[int] = ...,
    lens: Callable[..., Any] | None = ...,
    batches: bool = ...,
    replicable: bool = ...,
    name: str | None = ...,
    rehearsal: Callable[..., Any] | None = ...,
) -> FunctionTask: ...


@overload
def task(
    function: None = None,
    *,
    out: Out | Sequence[Out] = ...,
    inplace: bool | Sequence[int] = ...,
    lens: Callable[..., Any] | None = ...,
    batches: bool = ...,
    replicable: bool = ...,
    name: str | None = ...,
    rehearsal: Callable[..., Any] | None = ...,
) -> Callable[[Callable[..., Any]], FunctionTask]: ...


def task(
    function: Callable[..., Any] | None = None,
    *,
    out: Out | Sequence[Out] = (),
    inplace: bool | Sequence[int] = False,
    lens: Callable[..., Any] | None = None,
    batches: bool = False,
    replicable: bool = False,
    name: str | None = None,
    rehearsal: Callable[..., Any] | None = None,
) -> FunctionTask | Callable[[Callable[..., Any]], FunctionTask]:
    """Makes a task of a function, which gets an array for each input and each output: see :class:`Task`.

    Parameters
    ----------
    out
        What it makes: a dtype (frames as long as those of the first input), ``(dtype, shape)``, a :class:`variable`, or a list
        of them.
    inplace
        The inputs that it rewrites, by number; True for the first.
    lens
        Says the shapes of the outputs from those of the inputs: ``lambda n: n[0] // 2``.
    batches
        One call for each batch: arrays of shape ``(frames, …)``. Far cheaper for short frames.
    replicable
        Several cores may run it at once, as it remembers nothing. Python code shares the interpreter's lock; NumPy releases it
        in long operations.
    name
        Its name in profiles, reports and errors.
    rehearsal
        What is called in its place while a chain is measured.

    >>> @bief.task(out=np.complex64, batches=True, replicable=True)
    ... def gain(x, y):
    ...     np.multiply(x, 2, out=y)
    >>> chain = bief.Chain(batch=16)
    >>> x = chain.source(np.ones((64, 8), np.complex64))
    >>> y = chain.collect(chain.add(gain, x))
    >>> report = chain.run()
    >>> complex(y.take()[63, 7])
    (2+0j)
    """
    options = {
        "out": out,
        "inplace": inplace,
        "lens": lens,
        "batches": batches,
        "replicable": replicable,
        "name": name,
        "rehearsal": rehearsal,
    }
    if function is None:
        return lambda function: FunctionTask(function, dict(options))
    return FunctionTask(function, options)


def outputs_of(task: Task) -> list[Out]:
    """Its outputs, one by one."""
    out = task.out
    if isinstance(out, list):
        return out
    if isinstance(out, tuple) and (len(out) == 0 or not _is_one(out)):
        return list(out)
    return [out]  # type: ignore[list-item]


def _is_one(out: tuple[Any, ...]) -> bool:
    """Whether a tuple is a dtype and a shape, and not two outputs."""
    if len(out) != 2:
        return False
    shape = out[1]
    return isinstance(shape, (int, np.integer)) or (
        isinstance(shape, tuple) and all(isinstance(dim, (int, np.integer)) for dim in shape)
    )


def described(task: Task, name: str, shapes: list[tuple[int, ...]]) -> list[tuple[np.dtype[Any], list[int], bool]]:
    """Dtype, shape, and whether frames vary, of each output."""
    outputs = outputs_of(task)
    told = task.lens(*shapes)
    given: list[Shape] | None = None
    if told is not None:
        given = [told] if isinstance(told, (int, np.integer, tuple)) and len(outputs) == 1 else list(told)  # type: ignore[arg-type]
        if len(given) != len(outputs):
            raise Error(f"task `{name}`: lens says {len(given)} shapes for {len(outputs)} outputs", kind="build")
    made: list[tuple[np.dtype[Any], list[int], bool]] = []
    for number, output in enumerate(outputs):
        if isinstance(output, variable):
            if task.batches or len(outputs) > 1:
                raise Error(
                    f"task `{name}`: frames that vary in length come one by one, from a task of this output alone", kind="build"
                )
            made.append((output.dtype, [output.most], True))
            continue
        shape: Shape | None = None if given is None else given[number]
        dtype: Any = output
        if isinstance(output, tuple) and _is_one(output):
            dtype, usual = output
            shape = usual if shape is None else shape
        if shape is None:
            if not shapes:
                raise Error(
                    f"task `{name}`: output {number} has no length: give out=({np.dtype(dtype).name!r}, LENGTH)", kind="build"
                )
            shape = shapes[0]
        dims = [int(shape)] if isinstance(shape, (int, np.integer)) else [int(dim) for dim in shape]
        if any(dim < 0 for dim in dims):
            raise Error(f"task `{name}`: output {number} has the shape {dims}: give numbers from 0 on", kind="build")
        made.append((np.dtype(dtype), dims, False))
    return made


def rewritten(task: Task, name: str, inputs: int) -> list[bool]:
    """Of each input, whether it is rewritten."""
    numbers = [0] if task.inplace is True else [] if task.inplace is False else list(task.inplace)
    wrong = [number for number in numbers if not 0 <= number < inputs]
    if wrong:
        raise Error(f"task `{name}`: inplace names input {wrong[0]}, but there are {inputs}", kind="build")
    return [number in numbers for number in range(inputs)]


def parameters_of(task: Task, name: str, inputs: int, outputs: int) -> list[str]:
    """The names of the parameters for inputs, then outputs, as far as they are known."""
    try:
        signature = inspect.signature(task.run)
    except (TypeError, ValueError):
        return []
    try:
        signature.bind(*range(inputs + outputs))
    except TypeError:
        raise Error(
            f"task `{name}`: it gets {inputs} inputs and {outputs} outputs, but is called as run{signature}", kind="build"
        ) from None
    positional = [
        one.name for one in signature.parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return positional[: inputs + outputs]
