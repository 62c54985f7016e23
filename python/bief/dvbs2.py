"""DVB-S2: receive and transmit, on arrays and files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from bief import _bief
from bief._chain import Progress, Report, Shown, how_of
from bief._documents import Cores, Document, Profile, loaded, settings_text, whole
from bief._error import Error
from bief._samples import Samples, opened

Bytes = Union[str, os.PathLike[str], bytes, npt.NDArray[Any]]
"""Input to transmit: the path of a file, bytes, or an array of uint8 (packets of shape ``(n, 188)``)."""


class Stream:
    """An input stream that was received."""

    __slots__ = ("data", "isi", "kind")

    isi: int | None
    """Input stream identifier; None on a carrier of one stream."""
    kind: str
    """What it is: ``transport stream``, most often."""
    data: npt.NDArray[np.uint8]
    """Its bytes, shape ``(n,)``."""

    def __init__(self, isi: int | None, kind: str, data: npt.NDArray[np.uint8]) -> None:
        self.isi, self.kind, self.data = isi, kind, data

    @property
    def packets(self) -> npt.NDArray[np.uint8]:
        """The packets of a transport stream, shape ``(n, 188)``."""
        if len(self.data) % 188:
            raise Error(f"a {self.kind} of {len(self.data)} bytes has no packets of 188: take data")
        return self.data.reshape(-1, 188)

    def __repr__(self) -> str:
        of = "" if self.isi is None else f" of ISI {self.isi}"
        return f"<Stream: {self.kind}{of}, {len(self.data)} bytes>"


class Reception:
    """What was received; made by :func:`receive`."""

    __slots__ = ("constellation", "figures", "report", "samples_per_symbol", "streams", "symbol_rate")

    streams: list[Stream]
    """The input streams; empty where they went to files."""
    figures: dict[str, Any]
    """Frames, errors, Es/N0, carrier, clock and more, as ``figures`` of ``bief rx --json``."""
    samples_per_symbol: float
    """Samples per symbol: what was given, or found."""
    symbol_rate: float | None
    """Symbols per second, where the sample rate is known."""
    constellation: dict[str, npt.NDArray[np.complex64]]
    """Received symbols by kind of frame, shape ``(n,)``, 4096 at most; empty unless asked for."""
    report: Report
    """The run."""

    def __init__(
        self,
        streams: list[Stream],
        told: dict[str, Any],
        constellation: dict[str, npt.NDArray[np.complex64]],
        report: Report,
    ) -> None:
        self.streams, self.constellation, self.report = streams, constellation, report
        self.figures = told["figures"]
        self.samples_per_symbol = told["samples_per_symbol"]
        self.symbol_rate = told["symbol_rate"]

    @property
    def packets(self) -> npt.NDArray[np.uint8]:
        """The packets of the only stream, shape ``(n, 188)``."""
        if len(self.streams) != 1:
            raise Error(f"the carrier gave {len(self.streams)} streams: take one of streams")
        return self.streams[0].packets

    @property
    def megabits_per_second(self) -> float:
        """Information received in a second of the run, in Mb/s."""
        return float(self.figures["bits"] / self.report.seconds / 1e6)

    def to_dict(self) -> dict[str, Any]:
        """The figures, and the report of the run."""
        return {
            "figures": self.figures,
            "samples_per_symbol": self.samples_per_symbol,
            "symbol_rate": self.symbol_rate,
            "report": self.report.to_dict(),
        }

    def __repr__(self) -> str:
        figures = self.figures
        return f"<Reception of {figures['frames']} frames, {figures['frame_errors']} with errors, {figures['packets']} packets>"


def receive(
    samples: Samples,
    *,
    sample_rate: float | None = None,
    samples_per_symbol: float | None = None,
    symbol_rate: float | None = None,
    format: str | None = None,
    modcods: Sequence[str] | None = None,
    gold_code: int = 0,
    isi: int | None = None,
    keep_symbols: bool = False,
    output: str | os.PathLike[str] | None = None,
    cores: Cores | None = None,
    goal: str | None = None,
    strategy: str | None = None,
    refine: int = 0,
    profile: Document | Profile | None = None,
    place: str | None = None,
    progress: Progress = False,
) -> Reception:
    """Receives DVB-S2: any of its 28 MODCODs, frame sizes and mixes; what is not given is found from the signal.

    Parameters
    ----------
    samples
        A recording: a path, or an array of complex64, shape ``(n,)``, or of int16, int8 or uint8, shape ``(n, 2)``. An array
        is read where it lies.
    sample_rate
        Samples per second, for figures in Hz; below 64 it means samples per symbol, as in recordings.
    samples_per_symbol, symbol_rate
        How fast symbols come: 1.5 to 8 samples each, or symbols per second beside ``sample_rate``.
    format
        Of a raw file: ``cf32``, ``ci16``, ``ci8`` or ``cu8``.
    modcods
        What is delivered, such as ``["qpsk-8/9"]``; everything unless given.
    gold_code
        Of the scrambling, 0 to 262141.
    isi
        The only input stream that is wanted.
    keep_symbols
        Keep symbols, for a picture of the constellation.
    output
        A file for the packets, in place of memory; each of several streams has its ISI in its name.
    cores, goal, strategy, refine, profile, place
        As of :meth:`bief.Chain.run`. The tasks are measured and planned, as ``bief rx`` does; with ``cores=1`` nothing is
        measured, and all runs on one core.
    progress
        Show the progress, or tell a function.

    >>> packets = np.zeros((20, 188), np.uint8)
    >>> packets[:, 0] = 0x47
    >>> sent = bief.dvbs2.transmit(packets, modcod="qpsk-8/9", frame="short", pilots=True)
    >>> got = bief.dvbs2.receive(sent, samples_per_symbol=2, cores=1)
    >>> got
    <Reception of ... frames, 0 with errors, ... packets>
    """
    source, form = opened(samples, format)
    plans = cores != 1 or any(option is not None for option in (goal, strategy, profile, place)) or bool(refine)
    settings = {
        "format": form,
        "sample_rate": sample_rate,
        "samples_per_symbol": samples_per_symbol,
        "symbol_rate": symbol_rate,
        "gold_code": whole(gold_code, "gold_code", 0, 262_141),
        "modcods": None if modcods is None else list(modcods),
        "isi": None if isi is None else whole(isi, "isi", 0, 255),
        "keep_symbols": keep_symbols,
        "output": None if output is None else os.fspath(output),
    }
    how = how_of(plans, cores, goal, strategy, refine, profile, None, place, None, None, False)
    with Shown(progress) as shown:
        streams, figures, symbols, outcome = _bief.dvbs2_receive(source, settings_text(settings), how, shown)
    received = [Stream(**json.loads(told), data=data) for told, data in streams]
    return Reception(received, loaded(figures), dict(symbols), Report(outcome, goal))


def transmit(
    data: Bytes | Sequence[Bytes],
    *,
    modcod: str | None = None,
    frame: str | None = None,
    pilots: bool = False,
    vcm: str | None = None,
    gold_code: int = 0,
    roll_off: float = 0.2,
    samples_per_symbol: float = 2.0,
    level: float = 0.35,
    format: str | None = None,
    isi: Sequence[int] = (),
    generic: bool | int = False,
    delete_nulls: bool = False,
    output: str | os.PathLike[str] | None = None,
    symbol_rate: float | None = None,
    progress: Progress = False,
) -> npt.NDArray[Any]:
    """Transmits DVB-S2.

    Parameters
    ----------
    data
        A transport stream of 188-byte packets, or a list of several: paths, bytes, or arrays of uint8.
    modcod, frame, pilots
        Such as ``"qpsk-8/9"``, ``"short"`` or ``"normal"``, and whether there are pilots.
    vcm
        In their place, PLFRAMEs in turn: ``"qpsk-1/2:normal:pilots,8psk-3/5:short,dummy"``.
    gold_code
        Of the scrambling, 0 to 262141.
    roll_off
        0.35, 0.25 or 0.2.
    samples_per_symbol
        At least 1.
    level
        Share of full scale that a sample of magnitude 1 (the root mean square) gets.
    format
        ``cf32``, ``ci16``, ``ci8`` or ``cu8``; cf32 for an array, ci16 for a file, unless given.
    isi
        Input stream identifier of each input, 0 to 255; needed for several.
    generic
        True: inputs are any bytes; a number: packets of so many bytes.
    delete_nulls
        Leave out null packets, which a receiver restores.
    output
        A ``.sigmf-meta`` file to write beside its samples, in place of memory.
    symbol_rate
        Symbols per second, for that file.

    Returns
    -------
    The samples: complex64 of shape ``(n,)``, or int16, int8 or uint8 of shape ``(n, 2)`` by ``format``; none where they went
    to a file.
    """
    form = format or ("cf32" if output is None else "ci16")
    several = data if isinstance(data, (list, tuple)) else [data]
    sources = [_bytes(one) for one in several]
    settings = {
        "vcm": vcm,
        "modcod": modcod,
        "frame": frame,
        "pilots": pilots,
        "gold_code": whole(gold_code, "gold_code", 0, 262_141),
        "roll_off": roll_off,
        "samples_per_symbol": samples_per_symbol,
        "level": level,
        "format": form,
        "isi": [whole(one, "isi", 0, 255) for one in isi],
        "packet": None if generic is False else 0 if generic is True else whole(generic, "generic", 2, 8191),
        "delete_nulls": delete_nulls,
        "output": None if output is None else os.fspath(output),
        "symbol_rate": symbol_rate,
    }
    with Shown(progress) as shown:
        samples, _ = _bief.dvbs2_transmit(sources, settings_text(settings), shown)
    if form == "cf32":
        return samples.view(np.complex64)
    return samples.view({"ci16": np.int16, "ci8": np.int8, "cu8": np.uint8}[form]).reshape(-1, 2)


def _bytes(data: Any) -> str | npt.NDArray[np.uint8]:
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return np.frombuffer(data, dtype=np.uint8)
    array = np.asarray(data)
    if array.dtype != np.uint8:
        raise Error(f"an array of {array.dtype} is no input: give uint8", kind="build")
    return np.ascontiguousarray(array)
