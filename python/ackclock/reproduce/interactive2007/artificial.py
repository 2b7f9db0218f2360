"""Interactive and backlogged flows over a path whose loss is the artificial module's alone (I-F5b, I-X3):
what was measured, beside the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import ackclock as ac
from ackclock.models import interactive2007 as i
from ackclock.reproduce.interactive2007 import f4_gain, seen, testbed
from ackclock.reproduce.interactive2007.seen import Seen
from ackclock.reproduce.item import Setting
from ackclock.results import Run
from ackclock.results.confidence import half_width

INTERACTIVE, BACKLOGGED = "interactive", "backlogged"
SECONDS = {0.005: 40, 0.01: 60, 0.02: 100, 0.035: 200, 0.05: 200, 0.08: 300, 0.12: 400}
"""Seconds of a backlogged flow by loss: the more is lost, the fewer packets it sends in a second."""
FLOWS, INTERACTIVE_SECONDS = 150, 60
"""Telnet flows at once, and how long."""
SEEDS, FULL_SEEDS = 3, 5
WINDOW = 14
"""Packets of the receiver's window of the backlogged flow: what the path holds without a queue."""
ROUND_TRIP = testbed.RTT + 8 * (testbed.PAYLOAD + 2 * testbed.HEADERS) / (1e6 * testbed.RATE)
"""Seconds: propagation, and sending a packet and its ack."""

CHOICES = {
    **{key: text for key, text in testbed.CHOICES.items() if key != "cross traffic"},
    **seen.CHOICES,
    "loss": f"{', '.join(f'{100 * p:g}' for p in SECONDS)} % of data packets, each by itself; no cross "
    "traffic",
    "constant round trip": f"the receiver of the backlogged flow offers {WINDOW} packets, what the path "
    "holds without a queue: with more it filled the queue at small loss; chosen "
    "after a first run",
    "backlogged flow": "one endless transfer with marks (I-A3)",
    "interactive flows": f"{FLOWS} at a time, which fill an eighth of the link, for {INTERACTIVE_SECONDS} "
    f"s ({testbed.FULL:g} s with --full)",
    "model": f"equations (3) and (10), RTO 1 s, RTT {1e3 * ROUND_TRIP:.1f} ms, Q of random losses as I-F3",
    "duration": f"of the backlogged flow {', '.join(f'{s}' for s in SECONDS.values())} s by loss "
    f"({testbed.FULL:g} s with --full)",
    "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
}


@dataclass(frozen=True)
class Point:
    """What both kinds of flow experienced at a loss that was set: runs, one for each seed."""

    p: float
    interactive: list[Seen]
    backlogged: list[Seen]

    @property
    def latency(self) -> float:
        """Mean response time (s) of the interactive flows."""
        return float(np.mean([s.mean for s in self.interactive]))

    @property
    def backlogged_latency(self) -> float:
        """Mean response time (s) of the backlogged flow."""
        return float(np.mean([s.mean for s in self.backlogged]))

    @property
    def gain(self) -> float:
        """G: how many times longer the interactive flows wait."""
        return self.latency / self.backlogged_latency

    @property
    def half(self) -> float:
        """Half of the gain's 95 % confidence interval."""
        each = [
            half_width([s.mean for s in found]) / np.mean([s.mean for s in found])
            for found in (self.interactive, self.backlogged)
        ]
        return self.gain * float(np.hypot(*each))

    @property
    def every_gain(self) -> float:
        """G with all packets of the backlogged flow, marked or not, each to its cumulative ack."""
        return float(
            np.mean([s.cumulative.mean() for s in self.interactive])
            / np.mean([s.cumulative.mean() for s in self.backlogged])
        )

    @property
    def model(self) -> float:
        """G of equations (3) and (10)."""
        return float(model(np.array([self.p]))[0])

    @property
    def off(self) -> float:
        """By how much the gain differs from the model's, as a part of that."""
        return self.gain / self.model - 1

    def row(self) -> dict[str, float]:
        """Its numbers."""
        return {
            **{
                "p": self.p,
                "interactive": self.latency,
                "backlogged": self.backlogged_latency,
                "gain": self.gain,
                "half": self.half,
            },
            **{"model": self.model, "every_gain": self.every_gain},
            "timeout_share": float(
                sum(s.timeouts for s in self.backlogged)
                / max(sum(s.timeouts + s.recoveries for s in self.backlogged), 1)
            ),
            "model_timeout_share": float(i.random_timeouts(self.p, 1.0)),
            "packets": float(sum(s.counted.size for s in self.backlogged)),
        }


def model(p: np.ndarray) -> np.ndarray:
    """The gain that the model has."""
    return i.backlogged_gain(p, i.random_timeouts(p, 1.0), ROUND_TRIP, testbed.RTO)


def smooth_model(p: np.ndarray) -> np.ndarray:
    """The same without the steps that a largest window in whole packets gives it (I-F4), for figures."""
    return i.backlogged_gain(p, f4_gain.unrounded(p), ROUND_TRIP, testbed.RTO)


def measure(
    setting: Setting,
    label: str,
    losses: Iterable[float] = tuple(SECONDS),
    stack: ac.Stack | None = None,
    *,
    method: str = seen.TEXT,
    share: tuple[float, float] = (0.0, 1.0),
) -> list[Point]:
    """Simulates both kinds of flow at each loss. stack: of both, by default that of the method: the paper's
    TCP, or with `OWN` one with SACK. share: the part of the item's work that this is.
    """
    tcp = stack or testbed.tcp(testbed.RENO if method == seen.TEXT else testbed.SACK)
    window = tcp.but(rcv_buf=f"{WINDOW * testbed.PAYLOAD}B")
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    jobs = {}
    for p in losses:
        for seed in seeds:
            traced = {"seed": seed, "trace": ["packets"]}
            alone, long = (testbed.FULL,) * 2 if setting.full else (INTERACTIVE_SECONDS, SECONDS[p])
            path, bulk = testbed.dumbbell(loss=p), ac.Bulk(name=BACKLOGGED, **testbed.measured())
            jobs[INTERACTIVE, p, seed] = testbed.scenario(
                path, testbed.telnet(FLOWS, name=INTERACTIVE), {"TCP": tcp}, alone, **traced
            )
            jobs[BACKLOGGED, p, seed] = testbed.scenario(path, bulk, {"TCP": window}, long, **traced)

    def reader(key: tuple[str, float, int], run: Run) -> Seen:
        marks = testbed.THINK if key[0] == BACKLOGGED else 0.0
        return seen.read(run, key[0], marks=marks, method=method)

    found = seen.each(setting, jobs, reader, label, share=share)
    return [
        Point(p, *([found[kind, p, seed] for seed in seeds] for kind in (INTERACTIVE, BACKLOGGED)))
        for p in losses
    ]
