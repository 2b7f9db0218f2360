"""The gain of a strategy by the loss that flows experience (I-U2): the ratio of mean response times, in bins
of the loss ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.results.confidence import half_width


@dataclass(frozen=True)
class Experience:
    """What flows experienced: for each of them, or for each run of several alike, its loss ratio, its mean
    response time (s), and of how many packets that is the mean."""

    loss: np.ndarray
    response: np.ndarray
    packets: np.ndarray

    @staticmethod
    def of(
        loss: Sequence[float], response: Sequence[float], packets: Sequence[float] | None = None
    ) -> Experience:
        """Reads the columns; without packets each entry counts the same. Raises InputError where they do not
        fit together.
        """
        columns = [
            np.asarray(c, float) for c in (loss, response, np.ones(len(loss)) if packets is None else packets)
        ]
        if len({c.shape for c in columns}) > 1 or columns[0].ndim != 1:
            raise InputError(
                f"columns of {', '.join(str(c.size) for c in columns)} entries do not fit together; "
                "give as many of each"
            )
        x, y, n = columns
        if ((x < 0) | (x > 1)).any() or (y < 0).any() or (n < 0).any():
            raise InputError(
                "a loss ratio lies between 0 and 1, and neither a response time nor a number of "
                "packets is negative"
            )
        return Experience(x, y, n)

    def bins(self, edges: Sequence[float] | np.ndarray) -> list[Bin]:
        """The entries by loss ratio, a bin from each edge up to the next, which is not part of it but for the
        last.

        Entries without packets, or without a response time or a loss ratio, count nowhere. Raises InputError
        for edges that do not rise.
        """
        e = np.asarray(edges, float)
        if e.ndim != 1 or e.size < 2 or not (np.diff(e) > 0).all():
            raise InputError("edges of bins must rise, and there must be two at least")
        place = np.where(self.loss == e[-1], e.size - 2, np.searchsorted(e, self.loss, "right") - 1)
        known = np.isfinite(self.loss) & np.isfinite(self.response) & (self.packets > 0)
        return [Bin.of(float(e[i]), float(e[i + 1]), self, known & (place == i)) for i in range(e.size - 1)]


@dataclass(frozen=True)
class Bin:
    """The entries of one bin: their loss ratio and response time (s), means by packets; half of the 95 %
    confidence interval of the response time (s), from the spread between entries, infinite below two; and how
    many entries and packets there are. NaN where there are none."""

    low: float
    high: float
    loss: float
    response: float
    half: float
    entries: int
    packets: float

    @staticmethod
    def of(low: float, high: float, e: Experience, inside: np.ndarray) -> Bin:
        """The entries that are `inside`."""
        x, y, n = e.loss[inside], e.response[inside], e.packets[inside]
        if not x.size:
            return Bin(low, high, np.nan, np.nan, np.nan, 0, 0.0)
        # The interval of the mean over entries, from deviations weighted by packets.
        mean = float(np.average(y, weights=n))
        half = half_width(mean + (y - mean) * n / n.mean())
        return Bin(low, high, float(np.average(x, weights=n)), mean, half, int(x.size), float(n.sum()))


def drawn(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loss, gain and half interval of the bins of `gain` for a line, with a NaN where bins in between are
    empty, so that it does not go on over them.
    """
    low, high, loss, value, half = (
        table[name].to_numpy() for name in ("low", "high", "loss", "gain", "half")
    )
    after = np.flatnonzero(low[1:] > high[:-1] * (1 + 1e-9)) + 1
    return (
        np.insert(loss, after, high[after - 1]),
        np.insert(value, after, np.nan),
        np.insert(half, after, 0.0),
    )


def gain(interactive: Experience, backlogged: Experience, edges: Sequence[float] | np.ndarray) -> pa.Table:
    """The ratio of the mean response times of interactive and backlogged flows at the same experienced loss:
    a row for each bin that both have.

    Columns: `low`, `high` (edges of the bin), `loss` (mean of both sides' mean loss ratios), `interactive`,
    `backlogged` (mean response times, s), `gain` (their ratio), `half` (half of its 95 % confidence
    interval), `interactive_entries`, `backlogged_entries`. Source: I-U2, I-F5; Mondal & Kuzmanovic 2007.
    """
    rows = []
    for a, b in zip(interactive.bins(edges), backlogged.bins(edges), strict=True):
        if not a.entries or not b.entries or not b.response > 0:
            continue
        ratio = a.response / b.response
        spread = float(np.hypot(a.half / a.response, b.half / b.response)) if a.response > 0 else np.inf
        rows.append(
            (
                a.low,
                a.high,
                (a.loss + b.loss) / 2,
                a.response,
                b.response,
                ratio,
                ratio * spread,
                a.entries,
                b.entries,
            )
        )
    names = (
        "low",
        "high",
        "loss",
        "interactive",
        "backlogged",
        "gain",
        "half",
        "interactive_entries",
        "backlogged_entries",
    )
    kinds = (pa.float64(),) * 7 + (pa.int64(),) * 2
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
        }
    )
