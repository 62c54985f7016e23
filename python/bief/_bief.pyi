from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Chain",
    "Collected",
    "Flow",
    "Outcome",
    "Wire",
    "__version__",
    "compare",
    "dvbs2_receive",
    "dvbs2_transmit",
    "fit_power",
    "kinds",
    "machine",
    "nbfm_receive",
    "plan",
    "power",
    "profile",
    "run_file",
    "shipped",
    "shown",
    "simulate",
    "strategies",
    "study",
]

__version__: str
_Progress = Callable[[str], object] | None

@final
class Flow:
    NEXT: ClassVar[Flow]
    SKIP: ClassVar[Flow]
    STOP: ClassVar[Flow]
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __int__(self, /) -> int: ...

@final
class Wire:
    @property
    def dtype(self) -> np.dtype[Any] | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def is_variable(self) -> bool: ...

@final
class Collected:
    def take(self) -> tuple[npt.NDArray[np.uint8], int, list[int]]: ...

@final
class Outcome:
    @property
    def report(self) -> str | None: ...
    @property
    def table(self) -> str | None: ...
    @property
    def profile(self) -> str | None: ...
    @property
    def schedule(self) -> str | None: ...
    @property
    def platform(self) -> str | None: ...
    @property
    def notes(self) -> list[str]: ...

@final
class Chain:
    def __new__(cls, batch: int, depth: int | None, waiting: str) -> Chain: ...
    def array(self, name: str, array: npt.NDArray[Any], repeats: bool) -> list[Wire]: ...
    def task(
        self,
        name: str,
        task: Any,
        parameters: Sequence[str],
        wires: Sequence[Wire],
        in_place: Sequence[bool],
        outputs: Sequence[tuple[np.dtype[Any], Sequence[int], bool]],
        batches: bool,
        replicable: bool,
    ) -> list[Wire]: ...
    def kind(self, name: str, kind: str, parameters: dict[str, Any], wires: Sequence[Wire]) -> list[Wire]: ...
    def collect(self, name: str, wire: Wire) -> Collected: ...
    def stage(self, name: str, threads: int) -> None: ...
    def run(self, how: str, progress: _Progress) -> Outcome: ...
    def plan(self, how: str) -> Outcome: ...
    def dot(self) -> str: ...

def profile(text: str) -> str: ...
def plan(profile: str, cores: str | None, platform: str | None, goal: str | None, strategy: str) -> tuple[str, str, str]: ...
def compare(profile: str, cores: str | None, platform: str | None, goal: str | None) -> tuple[str, str, str, str]: ...
def shown(profile: str, platform: str, schedule: str, goal: str | None) -> tuple[str, str]: ...
def simulate(
    profile: str,
    schedule: str,
    executions: int,
    seed: int,
    depth: int | None,
    period_ns: float | None,
    spread: float | None,
    mean_ns: float | None,
    speeds: Sequence[tuple[str, float]],
) -> str: ...
def power(profile: str, platform: str, schedule: str, period_ns: float | None) -> str | None: ...
def fit_power(
    kinds: Sequence[str],
    rows: Sequence[tuple[Sequence[float], float]],
    saturate: str | None,
    platform: str | None,
) -> tuple[str, str | None]: ...
def study(graph: str, title: str, options: Sequence[str]) -> tuple[str, str, str]: ...
def shipped(name: str) -> tuple[str, str] | None: ...
def strategies() -> list[tuple[str, str, int, bool]]: ...
def machine() -> tuple[str, str]: ...
def kinds() -> str: ...
def run_file(path: str, text: str | None, how: str, progress: _Progress) -> Outcome: ...
def dvbs2_receive(
    source: str | npt.NDArray[Any], settings: str, how: str, progress: _Progress
) -> tuple[list[tuple[str, npt.NDArray[np.uint8]]], str, list[tuple[str, npt.NDArray[np.complex64]]], Outcome]: ...
def dvbs2_transmit(
    sources: Sequence[str | npt.NDArray[np.uint8]], settings: str, progress: _Progress
) -> tuple[npt.NDArray[np.uint8], Outcome]: ...
def nbfm_receive(
    source: str | npt.NDArray[Any], settings: str, how: str, progress: _Progress
) -> tuple[npt.NDArray[np.uint8], str, Outcome]: ...
