"""Plans are those of the command, on every chain that an oracle knows."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, shared
from hypothesis import given, settings
from hypothesis import strategies as st

import bief


def profile_of(case: dict[str, Any]) -> bief.Profile:
    """A profile of a case of the oracle."""
    return bief.Profile.of(np.transpose([case["wB"], case["wL"]]), replicable=case["rep"])


def command() -> str | None:
    """The command, if it is built or installed."""
    built = [ROOT / "target" / kind / "bief" for kind in ("release", "debug")]
    found = [str(path) for path in built if path.exists()]
    return found[0] if found else shutil.which("bief")


def test_periods_and_fronts_are_those_of_the_oracle() -> None:
    cases = json.loads(shared("data/oracle_chains.json").read_text())["cases"]
    assert len(cases) == 300
    for case in cases:
        profile, cores = profile_of(case), {"big": case["b"], "little": case["l"]}
        plan = bief.plan(profile, cores=cores, platform=None)
        # Stages may use cores of several kinds: never slower than those of one kind, which the oracle has.
        optimum = float(Fraction(*case["period"]))
        assert plan.period_ns <= optimum * (1 + 1e-12), case
        assert all(count <= cores[kind] for kind, count in plan.cores.items())
        found = bief.front(profile, cores=cores)
        assert found.plan == plan
        if not uses_mixed(plan):
            assert plan.period_ns == pytest.approx(optimum, rel=1e-12)
            front = sorted([row["big"], row["little"]] for row in found.rows())
            assert front == sorted(case["front"]), case


def uses_mixed(plan: bief.Plan) -> bool:
    """Whether a stage has cores of several kinds."""
    choices = [plan.stages, *(row["stages"] for row in plan.front)]
    return any(not isinstance(stage.get("kind"), str) for stages in choices for stage in stages)


def test_the_dict_is_what_the_command_writes(tmp_path: Path) -> None:
    program = command()
    if program is None:
        pytest.skip("no `bief` is built: cargo build --release")
    cases = json.loads(shared("data/oracle_chains.json").read_text())["cases"]
    for number in range(0, len(cases), 30):
        case = cases[number]
        path = tmp_path / "profile.json"
        profile = profile_of(case)
        path.write_text(profile.to_json())
        cores = f"big={case['b']},little={case['l']}"
        written = subprocess.run(
            [program, "plan", str(path), "--cores", cores, "--json"], capture_output=True, check=True, text=True
        )
        plan = bief.plan(profile, cores=cores)
        assert plan.to_dict() == json.loads(written.stdout)
        assert bief.plan(path, cores={"big": case["b"], "little": case["l"]}) == plan
        table = subprocess.run([program, "plan", str(path), "--cores", cores], capture_output=True, check=True, text=True)
        assert table.stdout.rstrip("\n") == str(plan)


@given(
    st.lists(st.tuples(st.integers(1000, 4000), st.integers(1000, 4000), st.booleans()), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(0, 6),
)
@settings(max_examples=60, deadline=None)
def test_a_plan_is_made_of_whole_stages_and_is_as_slow_as_its_slowest(
    tasks: list[tuple[int, int, bool]], big: int, little: int
) -> None:
    profile = bief.Profile.of([task[:2] for task in tasks], replicable=[task[2] for task in tasks])
    plan = bief.plan(profile, cores={"big": big, "little": little})
    assert sum(stage["tasks"] for stage in plan.stages) == len(tasks)
    assert plan.cores.get("big", 0) <= big
    assert plan.cores.get("little", 0) <= little
    assert plan.period_ns >= max(min(task[:2]) / (big + little if task[2] else 1) for task in tasks) * 0.999
    # Frames stay in order: where replicas of two kinds differ much more than here, rings hold back the fast ones.
    assert -0.02 < plan.simulate(30_000)["period_ns"] / plan.period_ns - 1 < 0.05
    assert plan.svg().startswith("<svg")
    assert plan.svg().endswith("</svg>")


def test_machines_that_ship_have_power_goals_and_every_strategy() -> None:
    plan = bief.plan("ai370", goal="least-power,rate=30Mb/s")
    assert plan.watts is not None
    slow = plan.power(2 * plan.period_ns)
    fast = plan.power()
    assert slow is not None
    assert fast is not None
    assert slow["watts"] is not None
    assert fast["watts"] is not None
    assert slow["watts"] < fast["watts"]
    rows = bief.compare("ai370", cores={"big": 2, "little": 4}).rows()
    assert {row["strategy"] for row in rows} == {row["name"] for row in bief.strategies()}
    for strategy in bief.strategies():
        if strategy["max_kinds"] >= 2:
            assert bief.plan("ai370", strategy=strategy["name"]).strategy.startswith(strategy["name"][:4])


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: bief.plan("nowhere.json", cores=2), "nowhere.json"),
        (lambda: bief.plan({"format": 2}, cores=2), "format"),
        (lambda: bief.plan(bief.Profile.of([1], replicable=[True])), "no cores"),
        (lambda: bief.plan("ai370", cores={"middle": 1}), "middle"),
        (lambda: bief.plan("ai370", cores=-1), "-1"),
        (lambda: bief.plan("ai370", goal="cheap"), "cheap"),
        (lambda: bief.plan("ai370", strategy="exakt"), "exact"),
        (lambda: bief.plan(3, cores=1), "no profile"),  # type: ignore[arg-type]
        (lambda: bief.Profile.of([[1, 2]], replicable=[True, False]), "shape"),
        (lambda: bief.Profile.of([float("inf")], replicable=[True]), "infinite"),
        (lambda: bief.Profile.of([1], replicable=[True], names=["a", "b"]), "2 names"),
        (lambda: bief.Profile.of([1e30], replicable=[True]), "profile"),
        (lambda: bief.Profile.of([], replicable=[]), "task"),
        (lambda: bief.Profile({"format": 1, "kinds": ["cpu"], "tasks": 3}), "profile"),
        (lambda: bief.plan({"x": object()}, cores=1), "no JSON"),
        (lambda: bief.realtime.study({"format": 1}), "cores"),
        (lambda: bief.power.fit([[1.0]], [1.0, 2.0], kinds=["a"]), "shape"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(act: Any, said: str) -> None:
    with pytest.raises(bief.Error, match=said) as raised:
        act()
    assert raised.value.kind == "build"


def test_a_graph_has_bounds_and_plans() -> None:
    graph = ROOT / "data" / "graphs" / "nbfm.json"
    study = bief.realtime.study(graph, latency="20ms", simulate=1000)
    document = study.to_dict()
    assert study.plan is not None
    assert study.plan["bounds"]["latency_ns"] <= 20e6
    assert document["simulated"]["span_ns"] > 0
    assert "<svg" in study.svg()
    assert bief.realtime.study(graph, latency=0.02).plan == bief.realtime.study(graph, latency="20ms").plan
    with pytest.raises(bief.Error, match="no plan"):
        bief.realtime.study(graph, latency=1e-6)
