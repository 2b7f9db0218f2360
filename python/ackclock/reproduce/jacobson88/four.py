"""The four conversations of J-F7 with old and with new TCPs: what J-F8 to J-F12 look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.testbed import KB
from ackclock.results import Run
from ackclock.scenario import Scenario

DELAYS = (10, 20, 30, 40, 50, 60, 70, 80)
"""One-way delays (ms) of the register's set for J-F8."""
SHOWN = 30
"""The one-way delay (ms) of the figures."""
PLOTTED = 170.0
"""Seconds of J-F8."""
CHOICES = {
    "path": "40 bytes of headers, 30 ms one way in the figures, Ethernets that lose nothing",
    "rates": "normalised to the data that the link carries with these headers, 26.1 KB/s of 1024 bytes "
    "(the paper's 25 KBps)",
}
SUBTITLE = (
    "230.4 kbit/s, queue 50 packets, window 16 KiB, 30 ms one way, starts 3 s apart; dashed: a fair share"
)
MIX = ("4.3BSD", "4.3+BSD", "4.3BSD", "4.3+BSD")
"""Receivers of connections one to four; the paper does not say which had which."""


def receivers(**changes: object) -> dict[str, object]:
    """New TCPs with both receivers (J-A13)."""
    return {
        "4.3BSD": testbed.new_tcp(ack=testbed.old_acks(), **changes),
        "4.3+BSD": testbed.new_tcp(**changes),
    }


RECEIVER_CHOICE = {
    "old receivers": "connections one and three; a free-running 200 ms clock, for which segments out of "
    "order wait as well, as in 4.3BSD",
}


def old(one_way: int = SHOWN, seconds: float = PLOTTED, trace: bool = True, **changes: object) -> Scenario:
    """Four old TCPs."""
    path = testbed.four_conversations(f"{one_way}ms")
    return testbed.conversations(
        path, {"old": testbed.old_tcp(**changes)}, ["old"] * 4, seconds=seconds, trace=trace
    )


def old_run(one_way: int = SHOWN, **options: object) -> Run:
    """The run of four old TCPs."""
    return old(one_way, **options).simulate()


def new(one_way: int = SHOWN, trace: bool = True, **changes: object) -> Scenario:
    """Four new TCPs, two with old receivers."""
    return testbed.conversations(
        testbed.four_conversations(f"{one_way}ms"), receivers(**changes), MIX, trace=trace
    )


def new_run(one_way: int = SHOWN, **options: object) -> Run:
    """The run of four new TCPs."""
    return new(one_way, **options).simulate()


@dataclass(frozen=True)
class Totals:
    """What four conversations came to. Rates are KB/s of 1024 bytes, from each one's start to its end."""

    sent: int
    resent: int
    delivered: float
    rates: list[float]
    finished: int
    seconds: float

    @staticmethod
    def of(run: Run, until: float) -> Totals:
        """Reads the table of flows of a run that was observed until `until` (s)."""
        return Totals.of_rows(run.flows.to_pylist(), until)

    @staticmethod
    def of_rows(rows: Sequence[Mapping[str, Any]], until: float) -> Totals:
        """The same from the rows."""
        ends = [until if r["end"] is None else r["end"] for r in rows]
        rates = [r["bytes_delivered"] / KB / (end - r["start"]) for r, end in zip(rows, ends, strict=True)]
        sent, resent = (
            sum(r[name] for r in rows) for name in ("data_segments_sent", "retransmitted_segments")
        )
        finished = sum(r["outcome"] == "finished" for r in rows)
        return Totals(
            sent, resent, sum(r["bytes_delivered"] for r in rows) / KB / max(ends), rates, finished, max(ends)
        )

    @property
    def share(self) -> float:
        """Retransmissions among the packets sent."""
        return self.resent / self.sent

    @property
    def spread(self) -> float:
        """The fastest conversation's rate over the slowest one's."""
        return max(self.rates) / max(min(self.rates), 1e-9)


def listed(values: list[float], digits: int = 1) -> str:
    """Numbers as text."""
    return ", ".join(f"{v:.{digits}f}" for v in values)


def mean_from(series: np.ndarray, width: float, start: float, until: float) -> float:
    """The mean of the whole bins between two moments."""
    first, last = int(np.ceil(start / width)), int(np.floor(until / width))
    return float(series[first:last].mean())
