"""Bief: chains of streaming tasks on all cores of a processor, planned and run from Python.

>>> profile = bief.Profile.of([[100, 300], [4000, 9000], [50, 90]], replicable=[False, True, False])
>>> plan = bief.plan(profile, cores={"big": 2, "little": 4})
>>> plan.period_ns <= 2000
True
"""

from bief import dvbs2, nbfm, power, realtime
from bief._bief import Flow, Wire, __version__
from bief._chain import Chain, ChainFile, Collected, Kinds, Report, kinds
from bief._documents import Profile
from bief._error import Error
from bief._plan import Comparison, Front, Plan, compare, front, machine, plan, strategies
from bief._region import Feedback, Loop, Path, Paths
from bief._task import FunctionTask, Task, task, variable

__all__ = [
    "Chain",
    "ChainFile",
    "Collected",
    "Comparison",
    "Error",
    "Feedback",
    "Flow",
    "Front",
    "FunctionTask",
    "Kinds",
    "Loop",
    "Path",
    "Paths",
    "Plan",
    "Profile",
    "Report",
    "Task",
    "Wire",
    "__version__",
    "compare",
    "dvbs2",
    "front",
    "kinds",
    "machine",
    "nbfm",
    "plan",
    "power",
    "realtime",
    "strategies",
    "task",
    "variable",
]
