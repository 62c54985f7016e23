"""What is shown runs: docstrings, the README, the book's chapter, examples, the tutorial."""

from __future__ import annotations

import doctest
import importlib
import runpy
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import bief

HERE = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ["", "._documents", "._plan", "._task", "._chain", ".dvbs2", ".nbfm", ".power", ".realtime"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_say_the_truth(name: str) -> None:
    module = importlib.import_module(f"bief{name}")
    failed, tried = doctest.testmod(module, extraglobs={"bief": bief, "np": np}, optionflags=FLAGS)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("path", [HERE / "README.md", ROOT / "book" / "src" / "python.md"])
def test_pages_say_the_truth(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert tried > 0
    assert failed == 0


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(HERE / "examples" / "receive.py"), run_name="__main__")
    assert "packets" in capsys.readouterr().out


def test_the_tutorial_runs() -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.read(HERE / "notebooks" / "tutorial.ipynb", as_version=4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(HERE / "notebooks")}}).execute()
    pictures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/svg+xml" in output.get("data", {})
    ]
    assert pictures, "a plan shows itself as a picture"
