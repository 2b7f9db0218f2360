"""The window of congestion avoidance by itself, without a TCP around it (M-E3): what its constant is for a
pattern of loss.
"""

from __future__ import annotations

import numpy as np

from ackclock.scenario import variation

SENDERS = 1000
"""Windows that are followed side by side, each with loss of its own."""
WARM, COUNTED = 3, 3
"""Mean intervals between losses before counting, and the least while counting."""
LEAST = 12_000
"""Packets of each window to count, where the intervals are shorter."""


def constant(p: float, increase: float, random: bool, seed: int = 1997) -> float:
    """C: the mean window over time, times the root of the signals per packet.

    p: signals per packet, each packet losing by itself (`random`) or every 1/p-th; increase: packets that a
    window's acks add, 1, or 0.5 with delayed acks. Each packet takes RTT/W; a loss halves.
    """
    rng = np.random.default_rng(variation.seed(seed))
    interval = round(1 / p)
    w = np.sqrt(1.5 / p) * rng.uniform(0.7, 1.3, SENDERS if random else 1)
    time, signals = 0.0, 0
    warm, counted = WARM * interval, max(COUNTED * interval, LEAST)
    for packet in range(warm + counted):
        lost = rng.random(SENDERS) < p if random else np.array([packet % interval == 0])
        if packet >= warm:
            time += float((1.0 / w).sum())
            signals += int(lost.sum())
        w = np.where(lost, np.maximum(w / 2.0, 1.0), w + increase / w)
    packets = counted * w.size
    return packets / time * np.sqrt(signals / packets)
