"""The receivers on arrays and files: every packet of every recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, shared

import bief

SHIPPED = ROOT / "data" / "dvbs2_qpsk_8-9_short.sigmf-meta"


def packets(count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Packets of a transport stream."""
    made = np.random.default_rng(seed).integers(0, 256, (count, 188), dtype=np.uint8)
    made[:, :4] = [0x47, 0x01, 0x00, 0x10]
    return made


@pytest.mark.parametrize("dtype", ["complex64", "int16", "int8", "uint8"])
def test_what_is_transmitted_is_received(dtype: str) -> None:
    sent = packets(100)
    form = {"complex64": "cf32", "int16": "ci16", "int8": "ci8", "uint8": "cu8"}[dtype]
    samples = bief.dvbs2.transmit(sent, modcod="8psk-3/5", frame="short", pilots=True, format=form)
    assert samples.dtype.name == dtype
    got = bief.dvbs2.receive(samples, samples_per_symbol=2, keep_symbols=True, cores=1)
    lines = {row.tobytes() for row in got.packets[:, 4:]}
    # A signal that begins and ends at once loses the frames at its ends.
    assert sum(row.tobytes() in lines for row in sent[:, 4:]) >= 80
    assert got.figures["frame_errors"] == 0
    (points,) = got.constellation.values()
    assert points.dtype == np.complex64
    assert abs(np.mean(np.abs(points) ** 2) - 1) < 0.1
    assert got.megabits_per_second > 0
    json.dumps(got.to_dict())


def test_streams_share_a_carrier(tmp_path: Path) -> None:
    first, second = packets(200, 1), packets(200, 2)
    samples = bief.dvbs2.transmit([first, second.tobytes()], vcm="qpsk-3/4:short,8psk-2/3:short,dummy", isi=[3, 7])
    got = bief.dvbs2.receive(samples, samples_per_symbol=2, cores=1)
    assert [stream.isi for stream in got.streams] == [3, 7]
    with pytest.raises(bief.Error, match="2 streams"):
        _ = got.packets
    one = bief.dvbs2.receive(samples, samples_per_symbol=2, isi=7, cores=1)
    assert {row.tobytes() for row in one.packets[:, 4:]} <= {row.tobytes() for row in second[:, 4:]}
    written = bief.dvbs2.receive(samples, samples_per_symbol=2, output=tmp_path / "out.ts", cores=1)
    assert written.streams == []
    assert (tmp_path / "out.isi7.ts").read_bytes() == one.streams[0].data.tobytes()


def test_files_in_and_out(tmp_path: Path) -> None:
    path = tmp_path / "in.ts"
    path.write_bytes(packets(60).tobytes())
    meta = tmp_path / "out.sigmf-meta"
    nothing = bief.dvbs2.transmit(path, modcod="qpsk-8/9", frame="short", output=meta)
    assert len(nothing) == 0
    before = meta.with_suffix(".sigmf-data").read_bytes()
    with pytest.raises(bief.Error, match="input"):
        bief.dvbs2.receive(meta, output=meta.with_suffix(".sigmf-data"))
    assert meta.with_suffix(".sigmf-data").read_bytes() == before, "an output never replaces its input"
    assert len(bief.dvbs2.receive(meta, cores=1).packets) > 40
    with pytest.raises(bief.Error, match=r"space|full"):
        bief.dvbs2.receive(meta, output="/dev/full", cores=1)


def test_the_recordings_come_whole(tmp_path: Path) -> None:
    tool = shared("tools/check_ts.py")
    metas = sorted(tool.parents[1].glob("iq/dvbs2_*.sigmf-meta"))
    assert len(metas) >= 15
    for number, meta in enumerate(metas):
        described = json.loads(meta.read_text())["global"]
        dtype: Any = {"ci16_le": np.int16, "ci8": np.int8}[described["core:datatype"]]
        samples = np.fromfile(meta.with_suffix(".sigmf-data"), dtype).reshape(-1, 2)
        # Once as a file, else as an array: complex numbers or as they are.
        source: Any = meta
        given: dict[str, Any] = {}
        if number % 3 > 0:
            source, given = samples, {"samples_per_symbol": described["core:sample_rate"]}
        if number % 3 == 2:
            scale = 32768 if dtype is np.int16 else 128
            source = (samples.astype(np.float32) / scale).view(np.complex64).ravel()
        got = bief.dvbs2.receive(source, cores=None if number == 0 else 1, **given)
        out = tmp_path / "out.ts"
        out.write_bytes(got.packets.tobytes())
        checked = subprocess.run([sys.executable, str(tool), str(out), str(meta)], capture_output=True, text=True)
        assert checked.returncode == 0, (meta.name, checked.stdout)


def test_narrowband_fm_is_heard(tmp_path: Path) -> None:
    meta = shared("iq/nbfm_tones_576k_clean.sigmf-meta")
    tool = shared("tools/check_wav.py")
    assert tool.exists()
    described = json.loads(meta.read_text())["global"]
    heard = bief.nbfm.receive(meta)
    assert heard.audio_rate == 48_000
    data = meta.with_suffix(".sigmf-data")
    dtype: Any = {"ci16_le": np.int16, "ci8": np.int8}[described["core:datatype"]]
    again = bief.nbfm.receive(np.fromfile(data, dtype).reshape(-1, 2), sample_rate=described["core:sample_rate"])
    np.testing.assert_array_equal(heard.audio, again.audio)
    wav = tmp_path / "out.wav"
    bief.nbfm.receive(meta, output=wav, cores=None)
    expected = meta.with_name(meta.name.replace(".sigmf-meta", ".expected.wav"))
    checked = subprocess.run([sys.executable, str(tool), str(wav), str(expected)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_recording_that_ships_is_received() -> None:
    got = bief.dvbs2.receive(SHIPPED, cores=1)
    assert got.figures["packet_errors"] == 0
    assert len(got.packets) == got.figures["packets"] > 0


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: bief.dvbs2.receive("nowhere.sigmf-meta"), "nowhere"),
        (lambda: bief.dvbs2.receive(np.zeros((3, 3))), "is no recording"),
        (lambda: bief.dvbs2.receive(np.zeros(9)), "is no recording"),
        (lambda: bief.dvbs2.receive(np.zeros(9, np.complex64), format="cf32"), "leave out format"),
        (lambda: bief.dvbs2.receive(np.zeros(0, np.complex64), samples_per_symbol=2), "no DVB-S2 signal|no symbol clock"),
        (lambda: bief.dvbs2.receive(np.full(5000, np.nan, np.complex64)), "no symbol clock|no DVB-S2 signal"),
        (lambda: bief.dvbs2.receive(np.zeros(9, np.complex64), samples_per_symbol=99), "1.5 to 8"),
        (lambda: bief.dvbs2.receive(np.zeros(9, np.complex64), symbol_rate=1e6), "sample_rate"),
        (lambda: bief.dvbs2.receive(np.zeros(9, np.complex64), modcods=["qpsk-9/8"]), "qpsk-9/8"),
        (lambda: bief.dvbs2.receive(np.zeros(9, np.complex64), gold_code=10**6), "262141"),
        (lambda: bief.dvbs2.transmit(b""), "modcod"),
        (lambda: bief.dvbs2.transmit(b"", modcod="qpsk-1/2", frame="long"), "long"),
        (lambda: bief.dvbs2.transmit([b"", b""], modcod="qpsk-1/2", frame="short"), "isi"),
        (lambda: bief.dvbs2.transmit(b"x" * 376, modcod="qpsk-1/2", frame="short"), "0x47|sync|packet"),
        (lambda: bief.dvbs2.transmit(b"", modcod="qpsk-1/2", frame="short", output="a.iq"), "sigmf-meta"),
        (lambda: bief.dvbs2.transmit(np.zeros(3), modcod="qpsk-1/2", frame="short"), "uint8"),
        (lambda: bief.nbfm.receive(np.zeros(9, np.complex64)), "sample_rate"),
        (lambda: bief.nbfm.receive(np.zeros(9, np.complex64), sample_rate=576e3, fixed=True), "carrier"),
        (lambda: bief.nbfm.receive(np.zeros(600_000, np.complex64), sample_rate=576e3), "carrier"),
    ],
)
def test_what_cannot_be_received_is_refused_in_words(act: Any, said: str) -> None:
    with pytest.raises(bief.Error, match=said):
        act()
