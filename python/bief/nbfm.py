"""Narrowband FM: receive, on arrays and files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from bief import _bief
from bief._chain import Progress, Report, Shown, how_of
from bief._documents import Cores, loaded, settings_text, whole
from bief._samples import Samples, opened


class Audio:
    """What was heard; made by :func:`receive`."""

    __slots__ = ("audio", "audio_rate", "carrier", "figures", "report")

    audio: npt.NDArray[np.float32]
    """Samples of full scale 1.0, shape ``(n,)``; empty where they went to a file."""
    audio_rate: int
    """Samples per second."""
    carrier: float
    """Where the carrier was found, in Hz above the centre."""
    figures: dict[str, Any]
    """Whether there is a ``signal``, how far the carrier is off (``offset``, Hz), and ``seconds``."""
    report: Report
    """The run."""

    def __init__(self, audio: npt.NDArray[np.float32], told: dict[str, Any], report: Report) -> None:
        self.audio, self.report = audio, report
        self.audio_rate, self.carrier, self.figures = told["audio_rate"], told["carrier"], told["figures"]

    def __repr__(self) -> str:
        return f"<Audio of {self.figures['seconds']:.2f} s at {self.audio_rate} Hz, carrier at {self.carrier:+.0f} Hz>"


def receive(
    samples: Samples,
    *,
    sample_rate: float | None = None,
    format: str | None = None,
    carrier: float | None = None,
    fixed: bool = False,
    deviation: float = 5000.0,
    audio_rate: int | None = None,
    de_emphasis: float | None = None,
    high_pass: float | None = None,
    block: int | None = None,
    output: str | os.PathLike[str] | None = None,
    cores: Cores | None = 1,
    progress: Progress = False,
) -> Audio:
    """Receives a narrowband FM channel.

    Parameters
    ----------
    samples
        A recording: a path, or an array of complex64, shape ``(n,)``, or of int16, int8 or uint8, shape ``(n, 2)``.
    sample_rate
        Samples per second; needed unless a file says it.
    format
        Of a raw file: ``cf32``, ``ci16``, ``ci8`` or ``cu8``.
    carrier
        Where the search begins, in Hz above the centre; the strongest carrier unless given.
    fixed
        Take ``carrier`` as exact: neither measure nor follow it.
    deviation
        Deviation at full scale of the audio, in Hz: 5000 or 2500, most often.
    audio_rate
        Samples per second of the audio, which divide ``sample_rate``; the one nearest to 48000 unless given.
    de_emphasis
        Time constant of the sender's pre-emphasis, in seconds.
    high_pass
        Remove DC and frequencies below this one, in Hz.
    block
        Samples per block; those of 10 ms unless given.
    output
        A WAV file to write, in place of memory.
    cores
        The most cores to use; on more than one the chain is measured and planned.
    progress
        Show the progress, or tell a function.

    >>> time = np.arange(576_000) / 576e3
    >>> phase = 2 * np.pi * 1200 * time + 5 * np.sin(2 * np.pi * 1000 * time)
    >>> heard = bief.nbfm.receive(np.exp(1j * phase).astype(np.complex64), sample_rate=576e3)
    >>> heard.audio_rate, heard.audio.dtype.name
    (48000, 'float32')
    >>> abs(heard.carrier - 1200) < 50
    True
    """
    source, form = opened(samples, format)
    settings = {
        "format": form,
        "sample_rate": sample_rate,
        "carrier": carrier,
        "fixed": fixed,
        "deviation": deviation,
        "audio_rate": None if audio_rate is None else whole(audio_rate, "audio_rate", 1, 2**32 - 1),
        "de_emphasis": de_emphasis,
        "high_pass": high_pass,
        "block": None if block is None else whole(block, "block", 1, 2**24),
        "output": None if output is None else os.fspath(output),
    }
    how = how_of(cores != 1, cores, None, None, 0, None, None, None, None, None, False)
    with Shown(progress) as shown:
        data, told, outcome = _bief.nbfm_receive(source, settings_text(settings), how, shown)
    return Audio(data.view(np.float32), loaded(told), Report(outcome))
