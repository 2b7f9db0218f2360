"""A capture taken apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock._core import read_capture as _read

TABLES = ("directions", "retransmissions", "timeouts", "episodes", "samples")
"""The tables of a capture, by the name of their file."""


@dataclass(frozen=True)
class Capture:
    """What a capture holds. Tables have the columns of simulated runs where these have them; `connection` numbers directions, two to a connection."""

    report: dict[str, Any]
    """Everything that was found, as `ackclock capture --json` prints it."""
    directions: pa.Table
    """A row for each direction of each connection."""
    retransmissions: pa.Table
    """A row for each segment sent again, with kind and evidence."""
    timeouts: pa.Table
    """A row for each expiry of a retransmission timer."""
    episodes: pa.Table
    """A row for each loss episode."""
    samples: pa.Table
    """A row for each round-trip time, where they were asked for: with what was in flight, and the window that this shows."""

    @property
    def connections(self) -> list[dict[str, Any]]:
        """The connections as the report has them."""
        return self.report["connections"]

    def summary(self) -> list[str]:
        """What happened, in plain words."""
        return summary(self.connections)


def read_capture(path: str | Path, flow: str | None = None, samples: bool = True, progress: Callable[[int], object] | None = None) -> Capture:
    """Takes apart the pcap or pcapng file at `path`, plain, gzip or zstd; `-` is standard input.

    `flow` chooses connections: a number, a port (`:443`), an address or both, with commas between. `samples` keeps a row for every round-trip time.
    `progress` gets the bytes read so far.
    """
    found = _read(Path(path), flow, samples, progress)
    return Capture(json.loads(found.json), **{name: pa.table(getattr(found, name)) for name in TABLES})


def summary(connections: Iterable[dict[str, Any]]) -> list[str]:
    """What happened to some connections, in plain words: a sentence on what stood still, one on what was sent again."""
    connections = list(connections)
    directions = [d for c in connections for d in c["directions"]]
    timeouts = [t for d in directions for t in d["timeouts"]]
    again = [r for d in directions for r in d["retransmissions"]]
    lasted = sum(c["duration"] for c in connections)
    said = []
    if timeouts:
        waited = sum(t["rto"] for t in timeouts)
        backed_off = [t["rto"] for t in timeouts if t["round"] > 1]
        more = f" ({len(backed_off)} with backoff, up to {max(backed_off):.1f} s)" if backed_off else ""
        said.append(f"Stalled {waited:.1f} s of {lasted:.1f} s in {_many(len(timeouts), 'timeout')}{more}; {_of_timeouts(timeouts)}.")
    else:
        said.append(f"No timeout in {lasted:.1f} s.")
    packets = sum(d["retransmitted_packets"] for d in directions)
    sent = sum(d["packets"] for d in directions)
    if packets:
        kinds: dict[str, int] = {}
        for r in again:
            kinds[r["kind"]] = kinds.get(r["kind"], 0) + max(r["packets"], 1)
        words = ", ".join(f"{n} {kind.replace('-', ' ')}" for kind, n in sorted(kinds.items(), key=lambda k: (-k[1], k[0])))
        vain = sum(d["unneeded_packets"] for d in directions)
        said.append(f"{packets:,} of {sent:,} packets were sent again ({words}), {vain or 'none'} of them in vain as far as can be told.")
    else:
        said.append(f"None of {sent:,} packets was sent again.")
    if any(d["massive_reordering"] for d in directions):
        said.append("Most retransmissions that acks called forth were in vain: packets overtake each other on the way.")
    return said


def _of_timeouts(timeouts: list[dict[str, Any]]) -> str:
    outages = sum(t["outage"] for t in timeouts)
    spurious = sum(t["eifel_spurious"] is True for t in timeouts)
    opening = sum(t["of"] == "syn" for t in timeouts)
    parts = [
        f"{n} {what}"
        for n, what in [
            (opening, "while opening"),
            (outages, "after a whole window was lost"),
            (spurious, "that a longer timer would have avoided"),
        ]
        if n
    ]
    return ", ".join(parts) or "each after a loss that no ack told of in time"


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
