"""Chains of Python tasks: no copies, order, faults, kept views, stops, plans."""

from __future__ import annotations

import gc
import resource
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bief

Array = np.ndarray[Any, Any]


def numbers(frames: int, length: int = 4, dtype: Any = np.float32) -> Array:
    """Frames that all differ."""
    return np.arange(frames * length).astype(dtype).reshape(frames, length)


@given(
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(1, 7),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([np.uint8, np.int16, np.int64, np.float32, np.float64, np.complex64, np.complex128]),
)
@settings(max_examples=60, deadline=None)
def test_frames_come_out_as_numpy_makes_them(
    frames: int, length: int, batch: int, threads: int, batches: bool, dtype: Any
) -> None:
    x = numbers(frames, length, dtype)
    chain = bief.Chain(batch=batch)
    wire = chain.source(x)
    if threads:
        chain.stage("work", threads=threads)

    def both(x: Array, y: Array, z: Array) -> None:
        np.add(x, x, out=y)
        z[...] = x.sum(axis=-1, keepdims=True)

    task = bief.task(both, out=[dtype, (dtype, 1)], batches=batches, replicable=True)
    doubled, total = chain.add(task, wire)
    if threads:
        chain.stage("out")
    first, second = chain.collect(doubled), chain.collect(total)
    report = chain.run()
    assert report.frames == frames
    np.testing.assert_array_equal(first.take(), x + x)
    np.testing.assert_array_equal(second.take(), x.sum(axis=1, keepdims=True, dtype=dtype))


def test_views_lie_in_the_frames_and_are_not_copied() -> None:
    seen: list[tuple[int, int, bool, bool]] = []
    made: list[int] = []

    def first(x: Array, y: Array) -> None:
        y[:] = x
        made.append(y.__array_interface__["data"][0])

    def second(x: Array) -> None:
        address = x.__array_interface__["data"][0]
        seen.append((address, address % 64, x.flags.writeable, x.flags.owndata))
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1

    chain = bief.Chain()
    x = chain.source(numbers(100, 16))
    chain.stage("first")
    y = chain.add(bief.task(first, out=np.float32), x)
    chain.stage("second")
    chain.add(second, y)
    chain.run()
    assert [address for address, *_ in seen] == made, "what one stage writes, the next reads at the same place"
    assert {(offset, writes, owns) for _, offset, writes, owns in seen} == {(0, False, False)}
    assert len(set(made)) < 20, "places are used again"


def test_a_task_rewrites_in_place_and_has_shapes() -> None:
    pictures = numbers(5, 12).reshape(5, 3, 4)

    @bief.task(inplace=True)
    def negate(x: Array) -> None:
        assert x.shape == (3, 4)
        np.negative(x, out=x)

    @bief.task(out=(np.float32, (4, 3)), batches=True)
    def turn(x: Array, y: Array) -> None:
        y[...] = x.transpose(0, 2, 1)

    chain = bief.Chain(batch=2)
    x = chain.source(pictures)
    chain.add(negate, x)
    y = chain.add(turn, x)
    assert y.shape == (4, 3)
    got = chain.collect(y)
    chain.run()
    np.testing.assert_array_equal(got.take(), -pictures.transpose(0, 2, 1))


def test_frames_are_skipped_stopped_and_vary() -> None:
    @bief.task(out=bief.variable(np.float32, 4))
    def front(x: Array, y: Array) -> Any:
        if x[0] % 3 == 1:
            return bief.Flow.SKIP
        if x[0] > 60:
            return bief.Flow.STOP
        count = int(x[0]) % 5
        y[:count] = x[:count]
        return count

    lengths: list[int] = []
    chain = bief.Chain(batch=3)
    y = chain.add(front, chain.source(numbers(30)))
    assert y.is_variable
    chain.add(lambda y: lengths.append(len(y)), y)
    got = chain.collect(y)
    chain.run()
    expected = [x[: int(x[0]) % 5] for x in numbers(30) if x[0] % 3 != 1 and x[0] <= 60]
    taken = got.take()
    assert lengths == [len(x) for x in expected]
    assert all(np.array_equal(a, b) for a, b in zip(taken, expected, strict=True))


@pytest.mark.parametrize("batch", [1, 4])
def test_a_source_of_python_makes_batches_and_ends_within_one(batch: int) -> None:
    class Count(bief.Task):
        out = (np.int64, 2)
        batches = True

        def __init__(self) -> None:
            self.next = 0

        def run(self, x: Array) -> int | None:
            x[...] = self.next + np.arange(len(x))[:, np.newaxis]
            self.next += len(x)
            return None if self.next <= 10 else len(x) - (self.next - 10)

        def reset(self) -> None:
            self.next = 0

    chain = bief.Chain(batch=batch)
    got = chain.collect(chain.add(Count()))
    for _ in range(2):
        assert chain.run().frames == 10
        assert got.take()[:, 1].tolist() == list(range(10))
    assert chain.plan(cores=1, executions=20).profile.tasks == ["Count", "collect"]
    assert chain.run().frames == 10


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("batches", [False, True])
def test_an_exception_names_task_and_frame_and_is_the_cause(threads: int, batches: bool) -> None:
    def fail(x: Array, y: Array) -> None:
        y[...] = x
        if 20 in x:
            raise ZeroDivisionError("of mine")

    chain = bief.Chain(batch=1 if batches else 2)
    wire = chain.source(numbers(10))
    if threads:
        chain.stage("work", threads=threads)
    y = chain.add(bief.task(fail, out=np.float32, replicable=True, batches=batches), wire)
    if threads:
        chain.stage("out")
    got = chain.collect(y)
    with pytest.raises(bief.Error, match=r"task `fail`.*frame 5.*of mine") as raised:
        chain.run()
    error = raised.value
    assert (error.task, error.frame, error.kind) == ("fail", 5, "task")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None
    np.testing.assert_array_equal(got.take(), numbers(10)[:5], "frames before it are delivered")
    frame = error.__cause__.__traceback__.tb_frame
    chain = None  # type: ignore[assignment]
    gc.collect()
    assert float(frame.f_locals["x"].flat[0]) >= 0, "what an exception still shows is there"


@pytest.mark.parametrize("what", ["x", "x[2:5]", "memoryview(x)", "x.T", "iter(x)", "y"])
@pytest.mark.parametrize("threads", [0, 1])
def test_kept_views_are_refused_and_stay_valid(what: str, threads: int) -> None:
    kept: list[Any] = []

    def keeper(x: Array, y: Array) -> None:
        y[:] = x
        if x[0] == 32:
            kept.append(eval(what, {"x": x, "y": y, "memoryview": memoryview, "iter": iter}))

    chain = bief.Chain(batch=2)
    wire = chain.source(numbers(10, 8))
    if threads:
        chain.stage("work")
    chain.add(bief.task(keeper, out=np.float32), wire)
    name = "y" if what == "y" else "x"
    with pytest.raises(bief.Error, match=rf"task `keeper`.*frame 4\): it kept `{name}`.*{name}\.copy\(\)"):
        chain.run()
    del chain, wire
    gc.collect()
    # The memory is not given back: it is not anybody else's.
    others = [np.full(8, 7, np.float32) for _ in range(1000)]
    values = np.fromiter(kept[0], np.float32) if what == "iter(x)" else np.array(kept[0])
    assert not np.isin(values, 7.0).any()
    assert len(others) == 1000


def test_copies_and_changed_views_are_no_fault() -> None:
    kept: list[Array] = []

    def copier(x: Array, y: Array) -> None:
        y[:] = x
        kept.append(x.copy())
        x.shape = (2, 2)

    chain = bief.Chain(batch=2)
    got = chain.collect(chain.add(bief.task(copier, out=np.float32), chain.source(numbers(50))))
    chain.run()
    np.testing.assert_array_equal(got.take(), numbers(50))
    np.testing.assert_array_equal(np.array(kept), numbers(50))


def test_a_million_frames_take_no_more_memory_than_a_few() -> None:
    frames = np.ones((1, 16), np.complex64)

    class Enough(bief.Task):
        def __init__(self, left: int) -> None:
            self.left = left

        def run(self, y: Array) -> Any:
            del y
            self.left -= 1
            return bief.Flow.STOP if self.left < 0 else None

    def run(count: int) -> None:
        chain = bief.Chain(batch=16)
        y = chain.add(bief.task(lambda x, y: None, out=np.complex64, name="empty"), chain.source(frames, repeat=True))
        chain.stage("out")
        chain.add(Enough(count), y)
        assert chain.run().frames == count

    run(100_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(1_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048, "KiB"


def test_replicas_of_objects_are_theirs_to_make() -> None:
    class Own(bief.Task):
        out = np.float32
        replicable = True
        made = 0

        def replica(self) -> bief.Task:
            Own.made += 1
            return Own()

        def run(self, x: Array, y: Array) -> None:
            y[:] = x

    class Broken(Own):
        def replica(self) -> bief.Task:
            raise LookupError("no more")

    for kind, fails in [(Own, False), (Broken, True)]:
        chain = bief.Chain()
        x = chain.source(numbers(20))
        chain.stage("work", threads=2)
        y = chain.add(kind(), x)
        chain.stage("out")
        got = chain.collect(y)
        if fails:
            with pytest.raises(bief.Error, match="no more"):
                chain.run()
        else:
            chain.run()
            np.testing.assert_array_equal(got.take(), numbers(20))
            assert Own.made > 0


def test_a_chain_is_planned_without_using_anything_up() -> None:
    written: list[float] = []

    @bief.task(out=np.float32, batches=True, replicable=True)
    def square(x: Array, y: Array) -> None:
        np.multiply(x, x, out=y)

    chain = bief.Chain(batch=8)
    y = chain.add(square, chain.source(numbers(64, 256)))
    chain.add(lambda y: written.append(float(y[0])), y, name="write")
    plan = chain.plan(cores=2, executions=20)
    assert plan.profile.tasks == ["array", "square", "write"]
    assert written == []
    for report in (chain.run(plan), chain.run(cores=1, executions=20), chain.run(stages=[(1, 1), (2, 1)], observe=True)):
        assert report.frames == 64
        assert len(report.tasks) == 3
        assert str(report)
    assert len(written) == 3 * 64
    assert "digraph" in chain.dot()
    assert chain.profile(executions=10).kinds == plan.profile.kinds


def test_kinds_that_ship_join_with_python() -> None:
    noise = np.random.default_rng(1).standard_normal((64, 1000)).astype(np.float32).view(np.complex64)
    chain = bief.Chain()
    x = chain.source(noise)
    was = chain.collect(chain.add("radio.agc", x, target=0.5))
    got = chain.collect(x)
    chain.run()
    assert np.sqrt(np.mean(np.abs(got.take()[-8:]) ** 2)) == pytest.approx(0.5, rel=0.1)
    assert was.take().shape == (64, 1)
    with pytest.raises(bief.Error, match="agk"):
        chain.add("radio.agk", x)
    with pytest.raises(bief.Error, match="target"):
        chain.add("radio.agc", x, target=-1.0)
    with pytest.raises(TypeError, match="target"):
        chain.add("radio.agc", x, target=object())


def test_chain_files_run(tmp_path: Any) -> None:
    tone = np.exp(2j * np.pi * 0.01 * np.arange(40_000)).astype(np.complex64)
    (tmp_path / "in.cf32").write_bytes(tone.tobytes())
    path = tmp_path / "chain.toml"
    path.write_text(
        """
[[task]]
name = "read"
kind = "radio.read"
out = ["iq"]
path = "in.cf32"
frame = 1000

[[task]]
name = "quantise"
kind = "radio.quantise"
in = ["iq"]
out = ["bytes"]

[[task]]
name = "write"
kind = "file.write"
in = ["bytes"]
path = "out.ci16"
"""
    )
    report = bief.ChainFile(path).run()
    assert report.frames >= 40
    assert (tmp_path / "out.ci16").stat().st_size >= 4 * len(tone)
    assert bief.ChainFile(path).run(cores=1, executions=5).plan is not None


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda chain, x: chain.source(np.zeros(10), frame=3), "whole number of frames"),
        (lambda chain, x: chain.source(np.zeros(10)), "frame=LENGTH"),
        (lambda chain, x: chain.source(np.zeros((2, 3), np.float16)), "float16"),
        (lambda chain, x: chain.source(np.zeros((2, 3), object)), "dtype"),
        (lambda chain, x: chain.source(np.zeros((0, 3)), repeat=True), "repeated"),
        (lambda chain, x: chain.add(bief.task(lambda x, y: None, out=np.float16), x), "float16"),
        (lambda chain, x: chain.add(bief.task(lambda x, y: None, out=np.float32), x, x), "2 inputs and 1 outputs"),
        (lambda chain, x: chain.add(bief.task(lambda x: None, inplace=[1]), x), "inplace names input 1"),
        (lambda chain, x: chain.add(bief.task(lambda y: None, out=np.float32)), "has no length"),
        (lambda chain, x: chain.add(bief.Task, x), "is a class"),
        (lambda chain, x: chain.add(3, x), "is no task"),
        (lambda chain, x: chain.add(bief.Chain().add, bief.Chain().source(np.zeros((1, 1)))), "another chain"),
        (lambda chain, x: chain.add(lambda x: None, x, gain=2), "no parameter `gain`"),
        (lambda chain, x: chain.stage("s", threads=0), "threads must be at least 1"),
        (lambda chain, x: chain.run(chain.plan(executions=2), cores=1), "leave out"),
        (lambda chain, x: chain.run(stages=[(5, 1)]), "5"),
        (lambda chain, x: chain.run(cores=1, stages=[(1, 1)]), "either"),
        (lambda chain, x: bief.Chain(batch=0), "batch must be at least 1"),
        (lambda chain, x: bief.Chain(depth=10**30), "depth must be at most"),
        (lambda chain, x: chain.run(executions=0), "executions must be at least 1"),
        (lambda chain, x: bief.Chain(waiting="lazy"), "lazy"),
        (lambda chain, x: bief.ChainFile("nowhere.toml"), "nowhere"),
        (lambda chain, x: bief.Chain().run(), "no tasks"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(act: Any, said: str) -> None:
    chain = bief.Chain()
    x = chain.source(numbers(10))
    chain.add(lambda x: None, x)
    with pytest.raises(bief.Error, match=said):
        act(chain, x)
    assert chain.run().frames == 10, "the chain is as it was"


@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (0, 0)])
def test_frames_without_elements_and_no_frames_end(shape: tuple[int, int]) -> None:
    chain = bief.Chain(batch=2)
    x = chain.source(np.zeros(shape, np.float32))
    got = chain.collect(chain.add(bief.task(lambda x, y: None, out=np.float32), x))
    assert chain.run().frames == shape[0]
    assert got.take().shape == shape


def test_functions_of_numpy_are_tasks() -> None:
    chain = bief.Chain()
    got = chain.collect(chain.add(bief.task(np.negative, out=np.float32), chain.source(numbers(5))))
    chain.run()
    np.testing.assert_array_equal(got.take(), -numbers(5))


def test_what_a_task_returns_is_checked() -> None:
    for value, said in [(7, "returned a number"), ("x", "returned a value"), (-1, "returned a value")]:
        chain = bief.Chain()
        chain.add(lambda x, value=value: value, chain.source(numbers(3)))
        with pytest.raises(bief.Error, match=said):
            chain.run()
    chain = bief.Chain(batch=2)
    chain.add(bief.task(lambda x: 3, batches=True), chain.source(numbers(4)))
    with pytest.raises(bief.Error, match="got 2 frames"):
        chain.run()


def test_a_function_as_source_is_not_used_up_by_measuring() -> None:
    rest = iter(range(5))

    @bief.task(out=(np.int64, 1))
    def count(x: Array) -> Any:
        x[0] = next(rest, -1)
        return bief.Flow.STOP if x[0] < 0 else None

    chain = bief.Chain()
    got = chain.collect(chain.add(count))
    with pytest.raises(bief.Error, match="use up what it reads"):
        chain.plan(cores=1)
    chain.run()
    assert got.take().ravel().tolist() == [0, 1, 2, 3, 4]


def test_progress_is_told_and_what_it_raises_stops_the_run() -> None:
    told: list[dict[str, Any]] = []

    def look(status: dict[str, Any]) -> None:
        told.append(status)
        if len(told) == 3:
            raise LookupError("enough")

    chain = bief.Chain()
    chain.add(lambda x: None, chain.source(np.zeros((1, 4)), repeat=True))
    with pytest.raises(LookupError, match="enough"):
        chain.run(progress=look)
    assert told[-1]["frames"] > told[0]["frames"] >= 0


def test_two_chains_run_at_once() -> None:
    results: list[bool] = []

    def work(seed: int) -> None:
        chain = bief.Chain(batch=4)
        x = numbers(500) + seed
        got = chain.collect(chain.add(bief.task(lambda x, y: np.add(x, seed, out=y), out=np.float32), chain.source(x)))
        chain.run()
        results.append(bool((got.take() == x + seed).all()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def add_one(x: Any) -> None:
    x += 1


@pytest.mark.parametrize("batch", [1, 4])
def test_loops_hold_switches_and_leave(batch: int) -> None:
    """Collatz: so many steps until a number is 1."""

    @bief.task(out=[(np.uint8, 1), (np.uint8, 1)], replicable=True)
    def look(x: Any, is_one: Any, is_odd: Any) -> None:
        is_one[0], is_odd[0] = x[0] == 1, x[0] % 2

    @bief.task(inplace=True, replicable=True)
    def halve(x: Any) -> None:
        x //= 2

    @bief.task(inplace=True, replicable=True)
    def triple(x: Any) -> None:
        x[:] = 3 * x + 1

    start = np.array([1, 7, 27, 64], np.uint32)
    chain = bief.Chain(batch=batch)
    x = chain.source(np.stack([start, np.zeros(4, np.uint32)], axis=1))

    @bief.task(out=[(np.uint32, 1), (np.uint32, 1)], replicable=True)
    def split(pair: Any, number: Any, count: Any) -> None:
        number[0], count[0] = pair

    number, count = chain.add(split, x)
    with chain.repeat(1000) as loop:
        is_one, is_odd = chain.add(look, number)
        loop.leave_if(is_one)
        chain.add(bief.task(add_one, inplace=True, replicable=True), count)
        with chain.select(is_odd) as paths:
            with paths.path():
                chain.add(halve, number)
            with paths.path():
                chain.add(triple, number)
    got = chain.collect(count)
    for _ in range(2):
        chain.run()
        assert got.take().ravel().tolist() == [0, 16, 111, 6]
    chain.plan(executions=2)


def test_what_is_blank_is_filled_by_paths() -> None:
    chain = bief.Chain(batch=3)
    choice = chain.source(np.array([2, 0, 1, 2], np.uint32), frame=1)
    value = chain.blank(np.int16, (2, 2))
    assert value.shape == (2, 2)
    assert value.dtype == np.dtype(np.int16)
    with chain.select(choice) as paths:
        for number in range(3):
            with paths.path():

                def fill(x: Any, number: int = number) -> None:
                    x += 10 + number

                chain.add(bief.task(fill, inplace=True, name=f"fill {number}"), value)
    got = chain.collect(value)
    chain.run()
    assert got.take()[:, 1, 1].tolist() == [12, 10, 11, 12]


def test_feedback_begins_anew_with_each_run() -> None:
    chain = bief.Chain(batch=2)
    x = chain.source(np.array([1, 2, 3], np.complex64), frame=1)
    with chain.feedback(np.array([1j], np.complex64)) as last:
        kept = chain.add(bief.task(lambda x, last, y: np.add(x, last, out=y), out=np.complex64), x, last.previous)
        last.keep(kept)
    got = chain.collect(kept)
    for _ in range(2):
        chain.run()
        assert got.take().ravel().tolist() == [1 + 1j, 3 + 1j, 6 + 1j]


def loop_of(act: Any) -> Any:
    def write(chain: Any, x: Any) -> None:
        with chain.repeat(2) as loop:
            act(chain, x, loop)

    return write


def select_of(act: Any) -> Any:
    def write(chain: Any, x: Any) -> None:
        choice = chain.blank(np.uint8)
        with chain.select(choice) as paths:
            act(chain, x, paths)

    return write


def feedback_of(act: Any, initial: Any = (0.0,)) -> Any:
    def write(chain: Any, x: Any) -> None:
        with chain.feedback(np.array(initial)) as last:
            act(chain, x, last)

    return write


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (loop_of(lambda chain, x, loop: None), "has no tasks"),
        (loop_of(lambda chain, x, loop: loop.leave_if(chain.blank(np.float32))), "f32"),
        (loop_of(lambda chain, x, loop: loop.leave_if(x)), "one element"),
        (loop_of(lambda chain, x, loop: loop.leave_if(chain.blank(np.uint8, 2))), "one element"),
        (loop_of(lambda chain, x, loop: 1 / 0), None),
        (lambda chain, x: bief.Chain().repeat(2).leave_if(x), "another chain"),
        (lambda chain, x: chain.repeat(2).leave_if(chain.blank(np.uint8)), "stands in no loop"),
        (lambda chain, x: chain.repeat(-1), "bound must be at least 0"),
        (select_of(lambda chain, x, paths: None), "no paths"),
        (select_of(lambda chain, x, paths: chain.add(lambda x: None, x)), "holds paths alone"),
        (lambda chain, x: chain.select(chain.blank(np.uint8)).path().__enter__(), "stands in no `select`"),
        (lambda chain, x: chain.select(x).__enter__(), "f32"),
        (feedback_of(lambda chain, x, last: None), "keeps nothing"),
        (feedback_of(lambda chain, x, last: last.keep(chain.blank(np.float64, 2))), "2 elements"),
        (feedback_of(lambda chain, x, last: last.keep(chain.blank(np.float32))), "f32"),
        (feedback_of(lambda chain, x, last: None, "text"), "dtype"),
    ],
)
def test_regions_that_do_not_fit_are_taken_out_again(act: Any, said: str | None) -> None:
    chain = bief.Chain()
    x = chain.source(numbers(10))
    chain.add(lambda x: None, x)
    if said is None:
        with pytest.raises(ZeroDivisionError):
            act(chain, x)
    else:
        with pytest.raises(bief.Error, match=said) as raised:
            act(chain, x)
        assert raised.value.kind == "build"
    assert chain.run().frames == 10


def test_a_wire_of_a_region_is_not_used_outside() -> None:
    chain = bief.Chain()
    x = chain.source(numbers(10))
    with chain.repeat(2):
        inner = chain.add(bief.task(lambda x, y: None, out=np.float32), x)
    with pytest.raises(bief.Error, match="inside a `repeat`"):
        chain.collect(inner)
