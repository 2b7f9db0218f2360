"""The topology of Floyd and Jacobson's phase effects with its instruments (M-A13, M-F7), which several items
share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import steady, stock

PACKET, ACK = 1000, 40
"""Bytes on the wire."""
RATE, ACCESS = 800e3, 8e6
"""bit/s of L and of the lines from the sources."""
NEAR, L = 5.0, 100.0
"""Delays of the first source's line and of L, ms."""
DELTA = 9.9
"""Delay of the second source's line in tables 2 and 3, ms."""
SERVICE = 8 * PACKET / RATE * 1e3
"""Time of a packet at L, ms."""
SECONDS, WARM = 500, 100
C = 0.8
"""Of the models in tables 2 and 3 (M-X9)."""
QUEUES = ("drop-tail", "RED")
NAMES = ("TCP1", "TCP2")

CHOICES = {
    **stock.CHOICES,
    "access lines": "8 Mbit/s (derived from the paper's round-trip times); all lines both ways alike, acks "
    "are not dropped",
    "acks": "delayed: at once for every second packet, otherwise within 100 ms; C = 0.8 of the paper's "
    "models is that of delayed acks",
    "RED": "as in Floyd and Jacobson 1993, ns of the time: thresholds of 5 and 15 packets, max_p 1/50, w_q "
    "0.002, not gentle",
    "start": "at random within the first second, seed 1; other seeds are shown, since which connection "
    "gains depends on it",
    "duration": f"{SECONDS} s, after {WARM} s with the initial slow-start that do not count: no packet is "
    "lost to it in the paper's table 3",
}


def minimum(delta: float) -> float:
    """Least round-trip time of a packet and its ack from a source `delta` ms away, ms (M-F7: 2d + 200 +
    11.44).
    """
    data, ack = (8e3 * size * (1 / RATE + 1 / ACCESS) for size in (PACKET, ACK))
    return 2 * (delta + L) + data + ack


def red(limit: int, **changes: Any) -> Any:
    """RED with a queue of so many packets."""
    return ac.Red(
        **{"limit": f"{limit}packets", "max_p": 0.02, "gentle": False, "mean_packet": f"{PACKET}B", **changes}
    )


def queue(kind: str, limit: int) -> Any:
    """The queue at L."""
    return red(limit) if kind == "RED" else ac.DropTail(limit=f"{limit}packets")


def path(delta: float, queue: Any) -> ac.Graph:
    """Two sources, the router, and the sink behind L; delta in ms."""
    wide = ac.DropTail(limit="1000packets")
    access = [
        ac.Edge(
            f"S{i}", "R", ac.Link(f"{ACCESS:.0f}bit/s", f"{1e3 * d:.0f}us", queue=wide), name=f"access {i}"
        )
        for i, d in ((1, NEAR), (2, delta))
    ]
    slow = {"rate": f"{RATE:.0f}bit/s", "delay": f"{L:g}ms"}
    return ac.Graph(
        [
            *access,
            ac.Edge("R", "K1", ac.Link(**slow, queue=queue), name="L", back=ac.Link(**slow, queue=wide)),
        ]
    )


def tcp(preset: str = "sack", **changes: Any) -> ac.Stack:
    """The TCP of both sources."""
    return stock.tcp(preset, PACKET, **changes)


def flows() -> list[Any]:
    """A transfer from each source, both beginning at random within the first second."""
    return [
        ac.Bulk(name=name, client=f"S{i}", server="K1", spread="1s") for i, name in enumerate(NAMES, start=1)
    ]


def scenario(
    queue: Any, delta: float = DELTA, stack: ac.Stack | None = None, seed: int = 1, **options: Any
) -> ac.Scenario:
    """Both transfers over the topology."""
    return ac.Scenario.of(path(delta, queue), flows(), {"tcp": stack or tcp()}, seed=seed, **options)


@dataclass(frozen=True)
class Column:
    """One queue's part of the table: the link and both connections, and the models."""

    line: steady.Line
    tcp: list[steady.Connection]
    delta: float

    @staticmethod
    def of(span: steady.Span, delta: float = DELTA) -> Column:
        """From what a run gave."""
        return Column(span.lines["tcp", "L"], span.of("tcp"), delta)

    @property
    def bandwidth(self) -> float:
        """Of L, bit/s of packets."""
        return 8 * self.line.bytes / self.line.seconds

    @property
    def bandwidths(self) -> list[float]:
        """Of the connections, bit/s of acknowledged packets."""
        return [8 * PACKET * c.rate for c in self.tcp]

    @property
    def ratio(self) -> float:
        """TCP2 over TCP1."""
        return self.bandwidths[1] / self.bandwidths[0]

    @property
    def estimates(self) -> list[float]:
        """Round-trip times that the link gives: its mean queue and the path's least, seconds (M-U2)."""
        return [self.line.delay + minimum(d) / 1e3 for d in (NEAR, self.delta)]

    @property
    def link_models(self) -> list[float]:
        """Equation (3) with the link's p and round-trip times, bit/s."""
        return [
            float(m.bandwidth(self.line.p, rtt, PACKET, C)) if self.line.dropped else float("inf")
            for rtt in self.estimates
        ]

    @property
    def tcp_models(self) -> list[float]:
        """Equation (3) with the connections' own, bit/s."""
        return [float(m.bandwidth(c.p, c.rtt, PACKET, C)) if c.ca else float("inf") for c in self.tcp]

    def errors(self, models: list[float]) -> list[float]:
        """Relative to the measured bandwidth, as in the paper."""
        return [abs(model / got - 1) for model, got in zip(models, self.bandwidths, strict=True)]

    def cells(self) -> dict[str, list[str]]:
        """The table's rows as the paper prints them: link, TCP1, TCP2."""

        def model(values: list[float]) -> list[str]:
            return [
                "",
                *(
                    f"{v / 1e3:.0f} ({100 * e:.0f} %)"
                    for v, e in zip(values, self.errors(values), strict=True)
                ),
            ]

        return {
            "bandwidth kbit/s": [f"{self.bandwidth / 1e3:.0f}", *(f"{b / 1e3:.0f}" for b in self.bandwidths)],
            "losses CA+timeouts+other": [
                f"{self.line.dropped}",
                *(f"{c.ca}+{c.timeouts}+{c.other}" for c in self.tcp),
            ],
            "packets": [f"{self.line.packets}", *(f"{c.segments}" for c in self.tcp)],
            "p": [f"{self.line.p:.4f}", *(f"{c.p:.4f}" for c in self.tcp)],
            "TCP RTT ms": ["", *(f"{1e3 * c.rtt:.0f}" for c in self.tcp)],
            "link delay ms": [f"{1e3 * self.line.delay:.2f}", "", ""],
            "RTT estimate ms": ["", *(f"{1e3 * r:.0f}" for r in self.estimates)],
            "link model kbit/s (error)": model(self.link_models),
            "TCP model kbit/s (error)": model(self.tcp_models),
        }


def columns(
    setting: Setting, jobs: dict[Any, ac.Scenario], label: str, seconds: float = SECONDS, delta: float = DELTA
) -> dict[Any, Column]:
    """Runs them side by side."""
    spans = steady.each(setting, {key: (s, WARM, seconds) for key, s in jobs.items()}, label)
    return {key: Column.of(span, delta) for key, span in spans.items()}


def table(found: dict[str, Column]) -> dict[str, list[str]]:
    """Tables 2 and 3 as columns of text: the row's name, then link and connections for each queue."""
    cells = {kind: column.cells() for kind, column in found.items()}
    rows = list(next(iter(cells.values())))
    out = {"row": rows}
    for kind in found:
        for i, part in enumerate(("Link", *NAMES)):
            out[f"{kind} {part}"] = [cells[kind][row][i] for row in rows]
    return out


def lines(found: dict[str, Column]) -> list[str]:
    """The table as notes."""
    t = table(found)
    heads = [h for h in t if h != "row"]
    return [
        f"{row}: " + "; ".join(f"{h} {t[h][i]}" for h in heads if t[h][i]) for i, row in enumerate(t["row"])
    ]
