"""What connections and links did after the beginning of a run, the initial slow-start left out (M-U1)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import ackclock as ac
from ackclock.reproduce.item import Setting
from ackclock.results import Run
from ackclock.sweep import run_all

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Connection:
    """One connection over a span of time: M-U1's counts, and what equation (3) needs."""

    run: str
    name: str
    seconds: float
    segments: int
    """Acknowledged."""
    bytes: int
    """Acknowledged, payload."""
    ca: int
    timeouts: int
    non_ca: int
    other: int
    resent: int
    rtt: float
    """Mean of the samples, seconds."""

    @property
    def p(self) -> float:
        """CA events per acknowledged segment."""
        return self.ca / self.segments if self.segments else float("nan")

    @property
    def rate(self) -> float:
        """Segments acknowledged per second."""
        return self.segments / self.seconds

    @property
    def window(self) -> float:
        """BW RTT/MSS: mean window, segments."""
        return self.rate * self.rtt

    @property
    def c(self) -> float:
        """Window times the root of p: the constant that equation (3) would need."""
        return self.window * self.p**0.5


@dataclass(frozen=True)
class Line:
    """One link in one direction over a span of time (M-U2)."""

    run: str
    name: str
    seconds: float
    packets: int
    bytes: int
    dropped: int
    delay: float
    """Of the queue, mean over time, seconds."""
    utilisation: float

    @property
    def p(self) -> float:
        """Drops per packet sent."""
        return self.dropped / self.packets if self.packets else float("nan")


@dataclass(frozen=True)
class Span:
    """Everything over a span of time, by run and name."""

    connections: dict[tuple[str, str], Connection]
    lines: dict[tuple[str, str], Line]

    def of(self, run: str) -> list[Connection]:
        """The connections of a run."""
        return [c for (r, _), c in self.connections.items() if r == run]


def span(begin: Run | None, end: Run, warm: float) -> Span:
    """What happened between the ends of two runs that are alike but for their lengths: the longer one repeats the shorter one.

    begin: the shorter one, `warm` seconds long; None to count from the beginning.
    """
    early = {(f["run"], f["flow"]): f for f in begin.flows.to_pylist()} if begin else {}
    links = {(x["run"], x["link"]): x for x in begin.links.to_pylist()} if begin else {}
    flows = [(f, early.get((f["run"], f["flow"]), {})) for f in end.flows.to_pylist()]
    lines = [(x, links.get((x["run"], x["link"]), {})) for x in end.links.to_pylist()]
    return Span(
        {(f["run"], f["group"]): _connection(f, was, warm if begin else f["start"], end) for f, was in flows},
        {(x["run"], x["name"]): _line(x, was) for x, was in lines},
    )


def _connection(f: dict[str, Any], was: dict[str, Any], since: float, end: Run) -> Connection:
    def more(key: str) -> int:
        return (f[key] or 0) - (was.get(key) or 0)

    until = end.links["observed"][0].as_py()
    total = (f["rtt_mean"] or 0.0) * f["rtt_samples"] - (was.get("rtt_mean") or 0.0) * (was.get("rtt_samples") or 0)
    samples = more("rtt_samples")
    return Connection(
        run=f["run"],
        name=f["group"],
        seconds=until - since,
        segments=more("segments_acked"),
        bytes=more("bytes_acked"),
        ca=more("ca_events"),
        timeouts=more("timeouts"),
        non_ca=more("non_ca_events"),
        other=more("other_losses"),
        resent=more("retransmitted_segments"),
        rtt=total / samples if samples else float("nan"),
    )


def _line(x: dict[str, Any], was: dict[str, Any]) -> Line:
    seconds = x["observed"] - was.get("observed", 0.0)

    def mean(key: str) -> float:
        return ((x[key] or 0.0) * x["observed"] - (was.get(key) or 0.0) * was.get("observed", 0.0)) / seconds

    return Line(
        run=x["run"],
        name=x["name"],
        seconds=seconds,
        packets=x["packets"] - was.get("packets", 0),
        bytes=x["bytes"] - was.get("bytes", 0),
        dropped=x["dropped_queue"] - was.get("dropped_queue", 0),
        delay=mean("queue_mean_delay"),
        utilisation=mean("utilisation"),
    )


def each(setting: Setting, jobs: Mapping[Key, tuple[ac.Scenario, float, float]], label: str) -> dict[Key, Span]:
    """Simulates many: scenarios with the seconds that do not count and those that do, by key."""
    ends = [s.but({"duration": f"{warm + seconds:.6f}s"}) for s, warm, seconds in jobs.values()]
    begins = [s.but({"duration": f"{warm:.6f}s"}) for s, warm, _ in jobs.values()]
    runs = run_all([*begins, *ends], workers=setting.workers, progress=lambda share, _: setting.progress(share, label))
    return {key: span(runs[i], runs[len(jobs) + i], warm) for i, (key, (_, warm, _)) in enumerate(jobs.items())}
