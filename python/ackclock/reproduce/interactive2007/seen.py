"""What the flows of one workload experienced in a traced run: response times of their packets, losses, and
how they found them (I-U1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.reproduce.item import Setting
from ackclock.results import Run
from ackclock.results.gain import Experience
from ackclock.results.responses import Responses
from ackclock.results.transfer import segments
from ackclock.scenario import variation

Key = TypeVar("Key")
Found = TypeVar("Found")
TEXT, OWN = "text", "own"
"""The paper's method, and ours beside it: which packets of a flow count, and until which ack."""
CHOICES = {
    "response time": "of each packet from when it is first sent to the first cumulative ack that covers it; "
    "of a backlogged flow those packets count that marks fall on, at exponential intervals with a mean of "
    "1 s (I-A3). Beside it, in the notes, our own choice: a SACK sender, every packet, each to its own "
    "ack, cumulative or selective, so that what arrives behind a lost packet does not wait for it; the "
    "equations know nothing of such waiting",
    "loss ratio": "data packets of the measured flows that did not arrive over those sent",
}
"""How response times and losses are counted where traces are read."""
MARKED = 20
"""Processes of marks over one flow: each is one that the paper would have made, and their mean varies
less.
"""
BATCH = 4
"""Traced runs that are held at a time: with the paper's own sizes each takes some hundred megabytes."""


@dataclass(frozen=True)
class Seen:
    """The packets of some flows of one run together. own, cumulative: response time of each (s), to its own
    ack and to the first cumulative ack that covers it. marked: those to their own ack of the packets that
    marks fall on. counted: those that the method counts. segments, lost: data segments sent, and those of
    them that did not arrive. timeouts, recoveries: how losses were found. goodput: of all these flows, bit/s.
    """

    own: np.ndarray
    cumulative: np.ndarray
    marked: np.ndarray
    counted: np.ndarray
    segments: int
    lost: int
    timeouts: int
    recoveries: int
    goodput: float

    @property
    def loss(self) -> float:
        """Loss ratio."""
        return self.lost / self.segments if self.segments else float("nan")

    @property
    def mean(self) -> float:
        """Mean response time (s) by the method."""
        return float(self.counted.mean()) if self.counted.size else float("nan")

    @property
    def share(self) -> float:
        """Share of the loss indications that were timeouts, Q."""
        found = self.timeouts + self.recoveries
        return self.timeouts / found if found else float("nan")


def responses(run: Run, group: str, larger: int = 0) -> list[Responses]:
    """Those of each flow of a workload that sent data, in the order of starting. larger: packets with no more
    payload than this do not count, which leaves out dummies."""
    table = rows(run, group)
    found = Responses.every(table.filter(pc.or_(pc.equal(table["len"], 0), pc.greater(table["len"], larger))))
    return [r for n, r in sorted(found.items()) if n % 2 == 0 and r.segments]


def rows(run: Run, group: str) -> pa.Table:
    """The rows of a workload's flows, both ends, in the table `segments`."""
    flows = run.flows.filter(pc.equal(run.flows["group"], group))["flow"].to_pylist()
    table = segments(run.traces)
    return table.filter(
        pc.is_in(
            table["connection"],
            pa.array([2 * n + end for n in flows for end in (0, 1)], table["connection"].type),
        )
    )


def by_acks(run: Run, group: str) -> tuple[int, int]:
    """Data segments that a workload's flows sent, and those of them that did not arrive, whatever was sent
    several times: each one that arrives is acknowledged at once."""
    table = rows(run, group)
    sent = pc.sum(pc.and_(table["sent"], pc.greater(table["len"], 0))).as_py() or 0
    acks = table.filter(pc.equal(pc.bit_wise_and(table["connection"], 1), 1))
    return sent, sent - (pc.sum(pc.equal(acks["kind"], "ack")).as_py() or 0)


def read(run: Run, group: str, *, larger: int = 0, marks: float = 0.0, method: str = OWN) -> Seen:
    """Those of a workload. larger: packets with no more payload than this do not count. marks: mean time (s)
    between the marks of each of `MARKED` independent processes (I-A3); none for 0. method: `TEXT` counts
    until the cumulative ack, of marked packets where there are marks; `OWN` every packet to its own ack.
    """
    flows = run.flows.filter(pc.equal(run.flows["group"], group))
    found = responses(run, group, larger)
    copied = pc.any(pc.equal(rows(run, group)["kind"], "copy")).as_py()
    sent, lost = (
        by_acks(run, group) if copied else (sum(r.segments for r in found), sum(r.lost for r in found))
    )
    marked = [r.marked(m) for r in found for m in poisson(r.sent[0], r.sent[-1], marks)] if marks else []
    own = finite(r.own for r in found)
    counted = own if method == OWN else finite(r.time for r in (marked if marks else found))
    sums = {name: int(pc.sum(flows[name]).as_py() or 0) for name in ("timeouts", "fast_recoveries")}
    return Seen(
        own=own,
        cumulative=finite(r.time for r in found),
        marked=finite(r.own for r in marked),
        counted=counted,
        segments=sent,
        lost=lost,
        timeouts=sums["timeouts"],
        recoveries=sums["fast_recoveries"],
        goodput=float(pc.sum(flows["goodput"]).as_py() or 0.0),
    )


def poisson(begin: float, end: float, mean: float, seed: int = 1) -> list[np.ndarray]:
    """Marks between two moments (s): `MARKED` processes of exponential intervals with a mean of so many
    seconds (I-A3, I-X7).
    """
    rng = np.random.default_rng(variation.seed(seed))
    times = [
        begin + np.cumsum(rng.exponential(mean, int(2 * (end - begin) / mean) + 100)) for _ in range(MARKED)
    ]
    return [t[t < end] for t in times]


def finite(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The numbers among them, one after the other."""
    every = np.concatenate([np.empty(0), *parts])
    return every[np.isfinite(every)]


def together(found: Iterable[Seen]) -> Experience:
    """An entry for each run."""
    rows = list(found)
    return Experience.of([s.loss for s in rows], [s.mean for s in rows], [s.counted.size for s in rows])


def each(
    setting: Setting,
    jobs: Mapping[Key, ac.Scenario],
    reader: Callable[[Key, Run], Found],
    label: str,
    *,
    share: tuple[float, float] = (0.0, 1.0),
) -> dict[Key, Found]:
    """Simulates traced scenarios and reads each run, a few at a time; by key what was read of it. share: the
    part of the item's work that this is.
    """
    keys = list(jobs)
    found: dict[Key, Found] = {}
    for begin in range(0, len(keys), BATCH):
        some = keys[begin : begin + BATCH]
        part = tuple(share[0] + (share[1] - share[0]) * n / len(keys) for n in (begin, begin + len(some)))
        runs = setting.run_all([jobs[k] for k in some], label, share=(part[0], part[1]))
        for key, run in zip(some, runs, strict=True):
            found[key] = reader(key, run)
    return found
