"""What tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


def shared(name: str) -> Path:
    """A file of the shared data; the test is skipped aloud where it is absent."""
    path = Path(os.environ.get("BIEF_SHARED", SHARED)) / name
    if not path.exists():
        pytest.skip(f"{path} not found")
    return path
