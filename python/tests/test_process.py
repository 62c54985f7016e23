"""What takes a process of its own: Ctrl-C, fork, the end of the interpreter."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

# Where no folder `bief` lies: what is installed counts.
HERE = Path(__file__).parent

ENDLESS = """
import numpy as np, bief
frames = 0
def count(x):
    global frames
    frames += 1
chain = bief.Chain()
chain.add(count, chain.source(np.zeros((1, 4)), repeat=True))
print("begun", flush=True)
try:
    chain.run()
except KeyboardInterrupt:
    print("interrupted", frames > 0, flush=True)
"""


def test_ctrl_c_ends_a_run_in_order() -> None:
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, cwd=HERE)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=20)
    assert (said, child.returncode) == ("interrupted True\n", 0)


def run(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, cwd=HERE)


def test_a_process_forks_after_a_run() -> None:
    ended = run(
        """
import os, numpy as np, bief
def once():
    chain = bief.Chain()
    x = chain.source(np.ones((5, 4)))
    chain.stage("out")
    got = chain.collect(chain.add(bief.task(lambda x, y: np.add(x, x, out=y), out=float), x))
    chain.run()
    return got.take().sum()
assert once() == 40
child = os.fork()
if child == 0:
    os._exit(0 if once() == 40 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_interpreter_ends_while_chains_and_errors_are_held() -> None:
    ended = run(
        """
import numpy as np, bief
kept = []
chain = bief.Chain()
chain.add(bief.task(lambda x, y: kept.append(x), out=float, name="keeper"), chain.source(np.ones((5, 4))))
try:
    chain.run()
except bief.Error as error:
    held = error
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_error_travels_between_processes() -> None:
    ended = run(
        """
import pickle, bief
error = pickle.loads(pickle.dumps(bief.Error("no", task="t", frame=3)))
assert (str(error), error.task, error.frame) == ("no", "t", 3)
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_terminal_does_not_stop_a_run() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDLESS.replace("repeat=True", "repeat=False").replace("run()", "run(progress=True)")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=HERE,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0
