"""A DVB-S2 signal is made, damaged and received; then a chain of Python tasks is measured, planned and run."""

from __future__ import annotations

import numpy as np

import bief

# 500 packets of a transport stream become samples, with noise 10 dB below the symbols and a carrier offset.
rng = np.random.default_rng(1)
packets = rng.integers(0, 256, (500, 188), dtype=np.uint8)
packets[:, 0] = 0x47
signal = bief.dvbs2.transmit(packets, modcod="qpsk-8/9", frame="short", pilots=True)
power = float(np.mean(np.abs(signal) ** 2))
noise = rng.standard_normal((len(signal), 2), np.float32).view(np.complex64).ravel()
turned = signal * np.exp(2j * np.pi * 0.003 * np.arange(len(signal)))
got = bief.dvbs2.receive((turned + noise * np.sqrt(power / 10)).astype(np.complex64), cores=1)
print(f"{len(got.packets)} packets, {got.figures['frame_errors']} frame errors, Es/N0 {got.figures['es_n0_db']:.1f} dB")


# Power spectra of the signal: the first task may run on several cores, since it remembers nothing.
@bief.task(out=(np.float32, 1024), batches=True, replicable=True)
def spectrum(x: np.ndarray, y: np.ndarray) -> None:
    """Squared magnitudes of the transform, of a whole batch at once."""
    np.square(np.abs(np.fft.fft(x, axis=-1)), out=y)


class Mean(bief.Task):
    """The mean of all spectra."""

    batches = True

    def __init__(self) -> None:
        self.sum, self.count = np.zeros(1024), 0

    def run(self, y: np.ndarray) -> None:
        """Adds a batch."""
        self.sum += y.sum(axis=0)
        self.count += len(y)


mean = Mean()
chain = bief.Chain(batch=16)
spectra = chain.add(spectrum, chain.source(signal[: len(signal) // 1024 * 1024], frame=1024))
chain.add(mean, spectra)
plan = chain.plan()
print(plan)
print(chain.run(plan))
occupied = np.mean(mean.sum > 0.01 * mean.sum.max())
print(f"{mean.count} spectra: the signal takes {100 * occupied:.0f} % of the band")
