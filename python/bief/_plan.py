"""Plans: from a profile and cores to stages, and what can be said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bief import _bief
from bief._documents import Cores, Document, Profile, cores_text, html_table, loaded, platform_text, whole


class Plan:
    """A schedule: which tasks share a stage, on how many cores of which kind; made by :func:`plan`.

    In a notebook it shows itself as a picture; ``print`` gives the table of the command.
    """

    __slots__ = ("_document", "_goal", "_platform", "_profile", "_text")

    def __init__(self, schedule: str, platform: str, profile: str, goal: str | None) -> None:
        self._text, self._platform, self._profile, self._goal = schedule, platform, profile, goal
        self._document = loaded(schedule)

    @property
    def strategy(self) -> str:
        """The strategy that made it."""
        return str(self._document["strategy"])

    @property
    def period_ns(self) -> float:
        """The planned time from one execution to the next, in nanoseconds."""
        return float(self._document["period_ns"])

    @property
    def cores(self) -> dict[str, int]:
        """The cores that it uses, by kind."""
        return dict(self._document["cores"])

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages in the order of the chain: ``tasks`` (a number), ``cores`` and ``kind``."""
        return list(self._document["stages"])

    @property
    def front(self) -> list[dict[str, Any]]:
        """Choices of cores that reach the same period, each with its stages; empty for strategies other than ``exact``."""
        return list(self._document.get("front", []))

    @property
    def watts(self) -> float | None:
        """What it draws at its period, where the platform says what cores draw."""
        watts = self._document.get("watts")
        return None if watts is None else float(watts)

    @property
    def profile(self) -> Profile:
        """The profile that it is for: with the clocks and the busy cores of the plan."""
        return Profile(loaded(self._profile))

    @property
    def platform(self) -> dict[str, Any]:
        """The cores that it was made for."""
        return loaded(self._platform)

    def to_dict(self) -> dict[str, Any]:
        """What ``bief plan --json`` writes."""
        return loaded(self._text)

    def to_json(self) -> str:
        """The same as text."""
        return self._text

    def power(self, period_ns: float | None = None) -> dict[str, float | None] | None:
        """Watts, and joules for each execution, frame and bit.

        Parameters
        ----------
        period_ns
            The time from one execution to the next, in nanoseconds, at which it runs; its own unless given.

        Returns
        -------
        None where the platform does not say what cores draw.
        """
        text = _bief.power(self._profile, self._platform, self._text, period_ns)
        return None if text is None else loaded(text)

    def simulate(
        self,
        executions: int = 1000,
        *,
        seed: int = 1,
        depth: int | None = None,
        period_ns: float | None = None,
        spread: float | None = None,
        mean_ns: float | None = None,
        speeds: Mapping[str, float] | None = None,
    ) -> dict[str, Any]:
        """Plays the schedule execution by execution.

        Parameters
        ----------
        executions
            How many.
        seed
            Of the random times.
        depth
            Executions that may wait between two stages.
        period_ns
            The source makes no execution sooner than this after the one before; as fast as it can unless given.
        spread
            Times are uniform in the profile's ± this share of it, 0 to 1.
        mean_ns
            Times have an exponential part of this mean, in nanoseconds, on top.
        speeds
            How fast a kind of core is beside the profile: ``{"big": 0.8}``.

        >>> plan = bief.plan("mac_studio", cores={"big": 4})
        >>> report = plan.simulate(2000)
        >>> abs(report["period_ns"] / plan.period_ns - 1) < 0.01
        True
        """
        told = list((speeds or {}).items())
        count, room = whole(executions, "executions", 0), None if depth is None else whole(depth, "depth", 0)
        start = whole(seed, "seed", 0)
        return loaded(_bief.simulate(self._profile, self._text, count, start, room, period_ns, spread, mean_ns, told))

    def svg(self) -> str:
        """The stages as a picture, an SVG document."""
        return self._shown()[1]

    def _shown(self) -> tuple[str, str]:
        return _bief.shown(self._profile, self._platform, self._text, self._goal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._document == other._document

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._shown()[0]

    def __repr__(self) -> str:
        used = ", ".join(f"{count} {kind}" for kind, count in self.cores.items() if count)
        return f"<Plan by {self.strategy}: {len(self.stages)} stages on {used}, period {self.period_ns / 1000:.1f} us>"

    def _repr_svg_(self) -> str:
        return self.svg()


class Front(list[dict[str, Any]]):
    """The choices of cores that reach the shortest period, or the demanded one: a list of dicts; made by :func:`front`."""

    plan: Plan

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.front)
        self.plan = plan

    def to_dict(self) -> dict[str, Any]:
        """The period in nanoseconds, and the rows."""
        return {"period_ns": self.plan.period_ns, "front": list(self)}

    def rows(self) -> list[dict[str, int]]:
        """For each choice the cores of each kind, and the stages: a table for pandas."""
        kinds = [kind["name"] for kind in self.plan.platform["kinds"]]
        return [{**{kind: row["cores"].get(kind, 0) for kind in kinds}, "stages": len(row["stages"])} for row in self]

    def _repr_html_(self) -> str:
        rows = self.rows()
        heads = list(rows[0]) if rows else []
        return html_table(heads, [[str(row[head]) for head in heads] for row in rows])

    def _repr_svg_(self) -> str:
        return self.plan.svg()


class Comparison(list[dict[str, Any]]):
    """What every strategy makes of a profile: a list of dicts; made by :func:`compare`."""

    def __init__(self, text: str, table: str) -> None:
        super().__init__(json.loads(text))
        self._table = table

    def rows(self) -> list[dict[str, Any]]:
        """Strategy, period, cores, watts, and why there is no schedule: a table for pandas."""
        rows = []
        for row in self:
            schedule = row.get("schedule") or {}
            cores = schedule.get("cores") or {}
            rows.append(
                {
                    "strategy": row["strategy"],
                    "kinds": ",".join(row["kinds"]),
                    "period_ns": schedule.get("period_ns"),
                    "cores": sum(cores.values()) if schedule else None,
                    "stages": len(schedule["stages"]) if schedule else None,
                    "watts": row.get("watts"),
                    "error": row.get("error"),
                }
            )
        return rows

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        rows = self.rows()
        heads = list(rows[0]) if rows else []
        return html_table(heads, [["" if row[head] is None else str(row[head]) for head in heads] for row in rows])


def _given(profile: Document | Profile, cores: Cores | None, platform: Document | None) -> tuple[str, str | None, str | None]:
    known = profile if isinstance(profile, Profile) else Profile(profile)
    own = platform_text(platform) if platform is not None else known._platform
    return known._text, cores_text(cores), own


def plan(
    profile: Document | Profile,
    *,
    cores: Cores | None = None,
    platform: Document | None = None,
    goal: str | None = None,
    strategy: str = "exact",
) -> Plan:
    """The best pipeline for a profile.

    Parameters
    ----------
    profile
        A :class:`Profile`, its dict, the path of its file, or the name of a machine that ships.
    cores
        The cores to use: ``4``, ``{"big": 4, "little": 8}`` or ``"big=4,little=8"``.
    platform
        A platform: the cores in place of ``cores``, or what they draw beside it. Of a machine that ships its own.
    goal
        What to optimise, and within which limits: one of ``max-throughput``, ``fewest-big``, ``fewest-cores`` and
        ``least-power``, then any of ``,rate=30Mb/s``, ``,period=1ms``, ``,power=20W`` and ``,latency=5ms``.
    strategy
        How the chain is cut into stages: a name of :func:`strategies`.

    >>> plan = bief.plan("mac_studio", cores={"big": 4, "little": 2})
    >>> plan
    <Plan by exact: ... stages on ..., period ... us>
    >>> sum(stage["tasks"] for stage in plan.stages)
    23
    """
    text, counted, own = _given(profile, cores, platform)
    schedule, used, read = _bief.plan(text, counted, own, goal, strategy)
    return Plan(schedule, used, read, goal)


def front(
    profile: Document | Profile,
    *,
    cores: Cores | None = None,
    platform: Document | None = None,
    goal: str | None = None,
) -> Front:
    """Every choice of cores that reaches the shortest period, or the one that the goal demands; parameters as of :func:`plan`.

    Empty for a profile that tells of busy cores, with which each number of cores has times of its own.

    >>> profile = bief.Profile.of([36], replicable=[True])
    >>> bief.front(profile, cores=4).rows()
    [{'cpu': 4, 'stages': 1}]
    """
    return Front(plan(profile, cores=cores, platform=platform, goal=goal))


def compare(
    profile: Document | Profile,
    *,
    cores: Cores | None = None,
    platform: Document | None = None,
    goal: str | None = None,
) -> Comparison:
    """What every strategy makes of a profile, as ``bief plan --strategy all``; parameters as of :func:`plan`.

    >>> print(bief.compare("ai370", cores={"big": 2, "little": 2}))
    23 tasks on 2 big and 2 little cores ...
    """
    text, counted, own = _given(profile, cores, platform)
    rows, table, _, _ = _bief.compare(text, counted, own, goal)
    return Comparison(rows, table)


def strategies() -> list[dict[str, Any]]:
    """The strategies: ``name``, ``summary``, the most kinds of cores that each uses (``max_kinds``), and whether it serves
    ``goals``.

    >>> [row["name"] for row in bief.strategies()][:2]
    ['exact', 'exact:one-kind']
    """
    names = ("name", "summary", "max_kinds", "goals")
    return [dict(zip(names, row)) for row in _bief.strategies()]


def machine() -> dict[str, Any]:
    """This machine: ``name`` in words, and its cores as a ``platform``."""
    name, platform = _bief.machine()
    return {"name": name, "platform": loaded(platform)}
