"""A transfer over a path that loses chosen packets: what its sender sent, when, and with which window. Rules
of the papers are checked on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.results import Run

MSS = 1000
"""Bytes of a segment, so that numbers of segments can be read off sequence numbers."""
RTT = 0.1
"""Seconds there and back; the link takes no time to send a packet."""


@dataclass(frozen=True)
class Sent:
    """A segment of data as it leaves."""

    time: float
    """Seconds after the first segment of data."""
    number: int
    """Its place in the stream, from 0."""
    again: bool
    """Whether it was sent before."""


@dataclass(frozen=True)
class Driven:
    """What a sender did."""

    sent: list[Sent]
    windows: list[tuple[float, float, float | None]]
    """Time (as of `Sent`), congestion window and slow-start threshold in segments, at each change."""
    acks: list[tuple[float, int]]
    """Time at which an ack arrives, and the segments that it covers."""
    flow: dict[str, Any]
    """Its row of the table `flows`."""
    rto: list[tuple[float, float]]
    """Time and timeout (s) at each sample of the round-trip time."""
    link: dict[str, Any]
    """The row of the link there in the table `links`."""

    @property
    def again(self) -> list[int]:
        """The segments that were sent again, in order."""
        return [s.number for s in self.sent if s.again]

    def duplicates(self, before: float, of: int) -> int:
        """The duplicates of the ack that covers `of` segments, which arrived until that time."""
        return sum(a == of for t, a in self.acks if t <= before + 1e-9) - 1

    def by_round(self) -> list[int]:
        """How many segments left in each round trip from the first on."""
        rounds = np.array([round(s.time / RTT) for s in self.sent])
        return np.bincount(rounds).tolist() if rounds.size else []

    def cut(self) -> tuple[float, float, float | None]:
        """The first cut: the segments that were outstanding, the window after it, and the threshold."""
        n = next(i for i in range(1, len(self.windows)) if self.windows[i][1] < self.windows[i - 1][1])
        time, window, threshold = self.windows[n]
        known = max((a for t, a in self.acks if t < time), default=0)
        return len({s.number for s in self.sent if s.time < time}) - known, window, threshold

    def growth(self) -> list[tuple[float, float]]:
        """Each window that grew, and by how much, segments."""
        values = [w for _, w, _ in self.windows]
        return [(a, b - a) for a, b in pairwise(values) if b > a]


def transfer(
    stack: ac.Stack,
    segments: int,
    lost: Sequence[int] = (),
    *,
    of: str = "data",
    faults: Sequence[Any] = (),
    seconds: float = 60.0,
    link: dict[str, Any] | None = None,
    back: dict[str, Any] | None = None,
    workload: Any = None,
    size: int = MSS,
) -> Driven:
    """A transfer of so many segments. lost: by number, counted from 1 among the packets `of` that kind, as
    they arrive at the place of the loss. faults: further ones. size: bytes of a segment.
    """
    # Each fault counts the packets that those before it have let pass.
    losses = [ac.fault.NthLoss(number=n - i, of=of) for i, n in enumerate(sorted(lost))]
    path = {
        "kind": "single",
        "link": {"rate": "100Gbit/s", "delay": f"{RTT / 2}s", "faults": [*losses, *faults], **(link or {})},
        "rtt": "links",
    }
    if back:
        path["back"] = {"rate": "100Gbit/s", "delay": f"{RTT / 2}s", **back}
    run = ac.simulate(
        path,
        workload or ac.Fixed(size=f"{segments * size}B"),
        {"tcp": stack.but(mss=f"{size}B")},
        duration=f"{seconds:g}s",
        trace=["packets", "samples"],
    )
    return of_run(run, size)


def of_run(run: Run, size: int = MSS) -> Driven:
    """What the sender of a run's only flow did."""
    rows = [r for r in run.traces["segments"].to_pylist() if r["connection"] in _pair(run)]
    data = [r for r in rows if r["sent"] and r["len"]]
    side, began = data[0]["side"], data[0]["time"]
    mine = [r for r in data if r["side"] == side]
    start = mine[0]["seq"]
    sent, highest = [], 0
    for r in mine:
        first = (r["seq"] - start) % 2**32
        sent.append(Sent(r["time"] - began, first // size, first < highest))
        highest = max(highest, first + r["len"])
    acks = [
        (r["time"] - began, ((r["ack"] - start) % 2**32) // size)
        for r in rows
        if not r["sent"] and r["side"] == side and r["time"] > began
    ]
    samples = [s for s in run.traces["samples"].to_pylist() if s["side"] == side]
    windows = [
        (s["time"] - began, s["cwnd"] / size, None if s["ssthresh"] is None else s["ssthresh"] / size)
        for s in samples
        if s["cwnd"] is not None
    ]
    rto = [(s["time"] - began, s["rto"]) for s in samples if s["rtt"] is not None]
    return Driven(sent, windows, acks, run.flows.to_pylist()[0], rto, run.links.to_pylist()[0])


def _pair(run: Run) -> set[int]:
    """The connections of the only flow: its two ends."""
    return set(run.traces["segments"]["connection"].unique().to_pylist())
