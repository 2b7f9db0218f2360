"""What connections and links did after the beginning of a run, the initial slow-start left out (M-U1)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import ackclock as ac
from ackclock._core import MissingRightError
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
    ca: int
    timeouts: int
    non_ca: int
    other: int
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


def span(run: Run) -> Span:
    """What was counted in a run, from its `measure_from` on."""
    flows, links = run.flows.to_pylist(), run.links.to_pylist()
    seconds = links[0]["observed"]
    return Span(
        {(f["run"], f["group"]): _connection(f, seconds) for f in flows},
        {(x["run"], x["name"]): _line(x) for x in links},
    )


def _connection(f: dict[str, Any], seconds: float) -> Connection:
    return Connection(
        run=f["run"],
        name=f["group"],
        seconds=seconds,
        segments=f["segments_acked"],
        ca=f["ca_events"],
        timeouts=f["timeouts"],
        non_ca=f["non_ca_events"],
        other=f["other_losses"],
        rtt=f["rtt_mean"] or float("nan"),
    )


def of_kernel(run: Run, payload: int) -> Span:
    """The same of a run on the kernel, whose segments have so many bytes: a CA event is an entry into
    recovery, another congestion event a timeout, and other losses are packets dropped beyond one for each of
    them. Raises `MissingRightError` where entries into recovery cannot be counted.
    """
    links = run.links.to_pylist()
    seconds = links[0]["observed"]
    connections = {}
    for f in run.flows.to_pylist():
        if f["protocol"] != "tcp":
            continue
        if f["fast_recoveries"] is None:
            raise MissingRightError(
                "entries into recovery were not counted on the kernel, which needs root outside of a user "
                "namespace"
            )
        signals = f["fast_recoveries"] + f["timeouts"]
        connections[f["run"], f["group"]] = Connection(
            run=f["run"],
            name=f["group"],
            seconds=seconds,
            segments=f["bytes_acked"] // payload,
            ca=f["fast_recoveries"],
            timeouts=f["timeouts"],
            non_ca=f["timeouts"],
            other=max(f["dropped_packets"] - signals, 0),
            rtt=f["rtt_mean"] or float("nan"),
        )
    return Span(connections, {(x["run"], x["name"]): _line(x) for x in links})


def _line(x: dict[str, Any]) -> Line:
    return Line(
        run=x["run"],
        name=x["name"],
        seconds=x["observed"],
        packets=x["packets"],
        bytes=x["bytes"],
        dropped=x["dropped_queue"],
        delay=x["queue_mean_delay"] or 0.0,
        utilisation=x["utilisation"] or 0.0,
    )


def each(
    setting: Setting, jobs: Mapping[Key, tuple[ac.Scenario, float, float]], label: str
) -> dict[Key, Span]:
    """Simulates many: scenarios with the seconds that do not count and those that do, by key."""
    scenarios = [
        s.but({"measure_from": f"{warm:.6f}s", "duration": f"{warm + seconds:.6f}s"})
        for s, warm, seconds in jobs.values()
    ]
    runs = run_all(
        scenarios, workers=setting.workers, progress=lambda share, _: setting.progress(share, label)
    )
    return {key: span(run) for key, run in zip(jobs, runs, strict=True)}
