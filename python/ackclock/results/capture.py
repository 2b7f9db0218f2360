"""An analysed capture: its report, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock._core import Captured
from ackclock._core import follow_capture as _follow
from ackclock._core import read_capture as _read
from ackclock.results.answer import answer, whole
from ackclock.results.capture_plots import CapturePlots
from ackclock.results.captured import summary
from ackclock.results.predicted import predicted
from ackclock.results.trace import Trace

TABLES = ("directions", "retransmissions", "timeouts", "episodes", "samples", "packets", "what_if", "stalls")
"""The tables of a capture, by the name of their file."""


@dataclass(frozen=True)
class Capture:
    """An analysed capture. Tables have the columns of simulated runs where these have them; `connection`
    numbers directions, two to a connection.
    """

    report: dict[str, Any]
    """All results, as `ackclock capture --json` prints them."""
    directions: pa.Table
    """A row for each direction of each connection."""
    retransmissions: pa.Table
    """A row for each retransmitted segment, with kind and evidence."""
    timeouts: pa.Table
    """A row for each expiry of a retransmission timer."""
    episodes: pa.Table
    """A row for each loss episode."""
    samples: pa.Table
    """A row for each ack that moved forward, where they were asked for: round-trip time, what was in flight,
    and the window that this shows.
    """
    packets: pa.Table
    """A row for each packet, where they were asked for."""
    what_if: pa.Table
    """A row for each direction and each timer of the what-if, the sender as it ran first."""
    stalls: pa.Table
    """A row for each of its stalls with each of these timers."""
    traces: dict[int, Trace] = field(default_factory=dict, repr=False, compare=False)
    """Traces of the directions that were drawn last, by the number of the direction."""

    @property
    def connections(self) -> list[dict[str, Any]]:
        """The connections as the report has them."""
        return self.report["connections"]

    @property
    def plot(self) -> CapturePlots:
        """The figures of this capture, for one that was read with `packets=True`."""
        return CapturePlots(
            self.connections, self.packets, self.retransmissions, self.timeouts, self.samples, self.traces
        )

    def summary(self) -> list[str]:
        """What happened, in plain words."""
        return self.report["summary"]


def read_capture(
    path: str | Path,
    flow: str | None = None,
    samples: bool = True,
    progress: Callable[[int], object] | None = None,
    packets: bool = False,
    what_if: str | Sequence[str] | None = None,
    by_stack: bool = False,
) -> Capture:
    """Analyses the pcap or pcapng file at `path`, plain, gzip or zstd; `-` is standard input.

    `flow` chooses connections: a number, a port (`:443`), an address or both, with commas between. `samples`
    keeps a row for every ack that moves forward. `packets` keeps a row for every packet of these connections,
    about a million of them at most, which figures need. `what_if` names timers in place of the senders'
    (`"rfc6298+no-backoff,eifel"`, a list, or `"all"`). `progress` gets the bytes read.
    With `by_stack`, the stacks of ackclock follow each sender that was captured at its own end, and the one
    that fits names the causes of its retransmissions; that takes seconds.
    """
    timers = what_if if what_if is None or isinstance(what_if, str) else ",".join(what_if)
    return _described(_read(Path(path), flow, samples, progress, packets, timers, by_stack))


def follow_capture(
    path: str | Path,
    show: Callable[[dict[str, Any]], object],
    interval: float = 1.0,
    flow: str | None = None,
) -> Capture:
    """Analyses a capture while it is written, such as the output of `tcpdump -U -w -` on standard input
    (`-`), until it ends or Ctrl-C is pressed. `show` is called every `interval` seconds with `connections`
    (how many) and `shown`: those of which packets came last.
    """
    return _described(_follow(Path(path), lambda text: show(json.loads(text)), interval, flow=flow))


def _described(found: Captured) -> Capture:
    """The results with what is derived from them: models and sentences."""
    report = json.loads(found.json)
    for c in report["connections"]:
        there, back = c["directions"]
        there["models"], back["models"] = (
            predicted(there, back, c["duration"]),
            predicted(back, there, c["duration"]),
        )
        c["summary"] = summary([c])
        c["answer"] = answer(c)
    report["summary"] = summary(report["connections"])
    report["answer"] = whole(report["connections"]) if report["connections"] else None
    return Capture(report, **{name: pa.table(getattr(found, name)) for name in TABLES})
