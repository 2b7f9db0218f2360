"""Vegas beside Reno on one drop-tail bottleneck (M-A14), which two items share."""

from __future__ import annotations

import math
from typing import Any

import ackclock as ac
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import bottleneck

RULE = {"kind": "vegas", "alpha_segs": 1, "beta_segs": 3, "gamma_segs": 1, "initial_window": "segments"}
"""ns's published defaults (M-A14)."""
PLACES = ((500e3, 5), (500e3, 10), (1e6, 10), (1e6, 20), (1e6, 30), (2e6, 20), (2e6, 30))
"""Bandwidth (bit/s) and queue (packets) of M-F5, where the queue is at least the bandwidth-delay product."""
C = math.sqrt(0.75)
"""Periodic loss, delayed acks (M-E3, M-F5): the queue fills and drops once a cycle."""
CHOICES = {
    "Vegas": "alpha = 1, beta = 3, gamma = 1 segments, ns's published defaults; losses as in Reno (M-A14)",
    "bottleneck of Vegas": "0.5, 1 and 2 Mbit/s with those drop-tail queues of M-F5 that are at least the "
    "bandwidth-delay product, 60 ms; delayed acks, C = 0.866",
    "a run without a loss": "p is below one CA event in all segments acknowledged: that bound is taken",
}


def stack() -> ac.Stack:
    """Stock Reno with Vegas's window."""
    return bottleneck.reno(window=RULE)


def runs(setting: Setting, label: str) -> list[dict[str, Any]]:
    """A row for each place and TCP: `model` is the mean window of equation (3) at its own p, `over` what it
    has of that.
    """
    cycles = 200 if setting.full else 30
    rows = bottleneck.runs(setting, {"Reno": bottleneck.reno(), "Vegas": stack()}, PLACES, label, cycles)
    for r in rows:
        p = max(r["ca"], 1) / r["segments"]
        r["model"] = C / math.sqrt(p)
        r["over"] = r["window"] / r["model"]
    return rows
