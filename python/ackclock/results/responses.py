"""How long each packet of data waited for its ack, and what a flow lost (I-U1): of simulated flows and of
captured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock._core import InputError
from ackclock.results.trace import Trace
from ackclock.results.transfer import COLUMNS, Transfer, highest_before, unwrapped


@dataclass(frozen=True)
class Responses:
    """The packets of one direction of a connection, in the order in which they were first sent.

    sent: when each was sent first (s). time: from then to the first cumulative ack that covers all of it (s),
    NaN where none came. A packet behind a lost one waits for its repair too. own: from then to its own ack
    (s), the first one, cumulative or selective, that covers it; equal to `time` where that is unknown.
    offset: its first byte. size: its payload (B). segments: data segments sent in all, those sent again
    included. lost: how many of these were lost, as far as is known.
    """

    sent: np.ndarray
    time: np.ndarray
    own: np.ndarray
    offset: np.ndarray
    size: np.ndarray
    segments: int
    lost: int

    @staticmethod
    def of(transfer: Transfer) -> Responses:
        """Reads a transfer as its sender saw it. Every retransmission counts as a loss."""
        first = transfer.offset >= highest_before(transfer.offset + transfer.size)
        sent, offset, size = (values[first] for values in (transfer.time, transfer.offset, transfer.size))
        time = np.append(transfer.acked_at, np.nan)[np.searchsorted(transfer.acked, offset + size)] - sent
        return Responses(sent, time, time, offset, size, first.size, int((~first).sum()))

    @staticmethod
    def of_segments(segments: pa.Table, connection: int) -> Responses:
        """Reads one connection of the table `segments` of a run traced with `packets`, as `every` does: 2 n
        is the client of flow n, 2 n + 1 its server. Raises InputError for a connection that has no row."""
        ends = pa.array([connection, connection ^ 1], segments["connection"].type)
        found = Responses.every(segments.filter(pc.is_in(segments["connection"], ends)))
        if connection not in found:
            raise InputError(
                f"connection {connection} has no row in the table; expected one of {_some(segments)}"
            )
        return found[connection]

    @staticmethod
    def every(segments: pa.Table) -> dict[int, Responses]:
        """Reads all connections of the table `segments` of one run, by number.

        Where both ends were traced, the own ack of a packet is that of its arrival, as a receiver sends it
        that acknowledges each segment at once and selectively. That ack is assumed to take the least time
        that any ack took. The copies of a packet that were sent before it arrived count as lost, except the
        last of them; the fate of spurious retransmissions is unknown.
        """
        connection = segments["connection"].to_numpy()
        order = np.argsort(connection, kind="stable")
        numbers, first = np.unique(connection[order], return_index=True)
        columns = [segments[name].to_numpy()[order] for name in COLUMNS]
        ends = [*first[1:], connection.size][: numbers.size]
        rows = {
            int(n): Rows(*(c[a:b] for c in columns)) for n, a, b in zip(numbers, first, ends, strict=True)
        }
        found = {n: Responses.of(Transfer.read(*mine)) for n, mine in rows.items()}
        both = {n: r for n, r in found.items() if r.segments and n ^ 1 in rows}
        return {**found, **{n: r._arrived(rows[n], rows[n ^ 1]) for n, r in both.items()}}

    @staticmethod
    def of_packets(packets: pa.Table, direction: int) -> Responses:
        """Reads one direction of the table `packets` of a capture that was read with `packets=True`. Near the
        receiver times are too short by what lies between the sender and the capture. Raises InputError for a
        direction that has no packet."""
        if not pc.any(pc.equal(packets["connection"], direction)).as_py():
            raise InputError(
                f"direction {direction} has no packet in the table; expected one of {_some(packets)}"
            )
        trace = Trace.of_packets(packets, direction)
        found = Responses.of(trace)
        own = found.time.copy()
        for at, start, end in zip(trace.sack_at, trace.sack_from, trace.sack_to, strict=True):
            inside = slice(*np.searchsorted(found.offset, [start, end]))
            covered = found.offset[inside] + found.size[inside] <= end
            own[inside] = np.where(covered, np.fmin(own[inside], at - found.sent[inside]), own[inside])
        return replace(found, own=own)

    def _arrived(self, mine: Rows, peer: Rows) -> Responses:
        """Adds the arrivals that the peer's trace shows."""
        data, here = mine.sent & (mine.len > 0), ~peer.sent & (peer.len > 0)
        begin = int(mine.seq[data.argmax()])
        came = _whole(
            self.offset,
            self.offset + self.size,
            unwrapped(peer.seq[here], begin),
            peer.len[here],
            peer.time[here],
        )
        # A copy is what repeats a packet's first byte; one of a packet that never arrived came too early for
        # ever.
        row, packet = _covered(self.offset, unwrapped(mine.seq[data], begin), mine.len[data])
        before = mine.time[data][row] < np.nan_to_num(came, nan=np.inf)[packet]
        return replace(
            self,
            own=came - self.sent + _way_back(mine, peer),
            lost=int(before.sum() - np.isfinite(came).sum()),
        )

    @property
    def loss(self) -> float:
        """Loss ratio: `lost` over `segments`; NaN without any."""
        return self.lost / self.segments if self.segments else float("nan")

    def marked(self, marks: Sequence[float] | np.ndarray) -> Responses:
        """The packets that marks fall on (I-A3): each mark, a moment (s), falls on the packet that is sent
        first from then on.

        A packet is marked once, however many marks fall on it; a mark after the last packet falls on none.
        `segments` and `lost` stay those of the whole flow.
        """
        place = np.unique(np.searchsorted(self.sent, np.asarray(marks, float)))
        place = place[place < self.sent.size]
        return replace(
            self, **{name: getattr(self, name)[place] for name in ("sent", "time", "own", "offset", "size")}
        )


def mean(times: np.ndarray) -> float:
    """Mean (s) of the times that are known; NaN without any."""
    known = times[np.isfinite(times)]
    return float(known.mean()) if known.size else float("nan")


class Rows(NamedTuple):
    """The rows of one connection in the table `segments`."""

    time: np.ndarray
    sent: np.ndarray
    seq: np.ndarray
    len: np.ndarray
    ack: np.ndarray


def _covered(places: np.ndarray, start: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the rising `places` each range covers: numbers of the range and of the place, pair by pair."""
    low, high = np.searchsorted(places, start), np.searchsorted(places, start + size)
    counts = high - low
    row = np.repeat(np.arange(start.size), counts)
    return row, np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)


def _whole(
    start: np.ndarray, end: np.ndarray, offset: np.ndarray, size: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """When all bytes of each of the rising ranges had come (s), from segments with their times; NaN where
    some did not.
    """
    edges = np.unique(np.concatenate([start, end, offset, offset + size]))
    row, part = _covered(edges, offset, size)
    came = np.full(edges.size, np.inf)
    np.minimum.at(came, part, at[row])
    if not start.size:
        return np.empty(0)
    # The last part of a range begins below its end; ranges follow one another, perhaps with gaps.
    bounds = np.stack([np.searchsorted(edges, start), np.searchsorted(edges, end)], 1).ravel()
    last = np.maximum.reduceat(np.append(came, 0.0), bounds)[::2]
    return np.where(np.isfinite(last), last, np.nan)


def _way_back(mine: Rows, peer: Rows) -> float:
    """The least time (s) that an ack took from the peer."""
    came, at = np.unique(mine.ack[~mine.sent], return_index=True)
    left, since = np.unique(peer.ack[peer.sent], return_index=True)
    known, i, j = np.intersect1d(came, left, assume_unique=True, return_indices=True)
    if not known.size:
        return float("nan")
    return float((mine.time[~mine.sent][at[i]] - peer.time[peer.sent][since[j]]).min())


def _some(table: pa.Table) -> str:
    found = sorted(pc.unique(table["connection"]).to_pylist())
    return ", ".join(map(str, found[:20])) or "none"
