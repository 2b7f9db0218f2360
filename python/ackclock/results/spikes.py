"""Windows read from the spikes that a loss leaves in a series of acknowledged data (J-U2, figure 12 of
Jacobson & Karels).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PHASES = 6
"""Positions of the bins that are tried: a border in the middle of a spike hides a part of it."""


@dataclass(frozen=True)
class Spike:
    """A fall in the data acknowledged, and the rise that makes up for it. at: border between the two (s).
    fall, rise: what they miss and add.
    """

    at: float
    fall: float
    rise: float

    @property
    def height(self) -> float:
        """What could not be acknowledged meanwhile: the sender's window less the packet that was lost.
        Neither fall nor rise shows more of it.
        """
        return max(self.fall, self.rise)


def spikes(
    time: np.ndarray, amount: np.ndarray, width: float, level: float, least: float, until: float
) -> list[Spike]:
    """Finds the pairs of a fall and a rise below and above `level` per second in bins of `width` (s), each at
    least `least` high, up to `until` (s).

    While a lost packet is missing, the packets that follow it arrive and cannot be acknowledged; once it is
    retransmitted, after a timeout, all of them are acknowledged at once. With bins as long as the timeout
    that is one bin too low and the next one too high.
    """
    found: list[Spike] = []
    for phase in range(PHASES):
        start = width * phase / PHASES
        bins = int((until - start) / width)
        if bins < 2:
            continue
        place = np.floor((time - start) / width).astype(np.int64)
        inside = (place >= 0) & (place < bins)
        deviation = np.bincount(place[inside], weights=amount[inside], minlength=bins) - level * width
        for i in np.flatnonzero((deviation[:-1] <= -least) & (deviation[1:] >= least)):
            found.append(Spike(start + width * (i + 1), float(-deviation[i]), float(deviation[i + 1])))
    # The same event is seen in several positions: the one that shows most of both counts.
    chosen: list[Spike] = []
    for s in sorted(found, key=lambda s: -min(s.fall, s.rise)):
        if all(abs(s.at - c.at) >= 2 * width for c in chosen):
            chosen.append(s)
    return sorted(chosen, key=lambda s: s.at)


def decay(at: np.ndarray, height: np.ndarray) -> tuple[float, float]:
    """The exponential through heights: its value at time 0, and its time constant (s; infinite or negative
    where they do not fall).

    A straight line through the logarithms, by least squares.
    """
    constant, slope = np.polynomial.Polynomial.fit(np.asarray(at, float), np.log(height), 1).convert().coef
    return float(np.exp(constant)), float(-1.0 / slope) if slope else float("inf")
