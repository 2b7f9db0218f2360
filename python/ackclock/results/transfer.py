from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock._core import InputError

COLUMNS = ("time", "sent", "seq", "len", "ack")
"""Columns of the table `segments` that say what a transfer did."""


@dataclass(frozen=True)
class Transfer:
    """One direction of one connection as its sender saw it: when which bytes were sent, and when acknowledged
    (J-U1, J-U2).

    Offsets count bytes of the stream, the first byte being 0. time (s), offset, size: one for each segment
    with payload sent, in order of sending. acked_at (s), acked: one for each acknowledgment that moved on,
    with the bytes acknowledged by then.
    """

    time: np.ndarray
    offset: np.ndarray
    size: np.ndarray
    acked_at: np.ndarray
    acked: np.ndarray

    @staticmethod
    def of(segments: pa.Table) -> Transfer:
        """Reads the rows of one connection in the table `segments`, whichever world filled it."""
        return Transfer.read(*(segments[name].to_numpy() for name in COLUMNS))

    @staticmethod
    def read(
        time: np.ndarray, sent: np.ndarray, seq: np.ndarray, size: np.ndarray, ack: np.ndarray
    ) -> Transfer:
        """The same from the columns."""
        data = sent & (size > 0)
        if not data.any():
            return Transfer(*(np.empty(0, kind) for kind in (float, np.int64, np.int64, float, np.int64)))
        first = int(seq[data][0])
        offset, size = unwrapped(seq[data], first), size[data].astype(np.int64)
        # A capture may begin in the middle, with a retransmission.
        offset -= offset.min()
        # Acks before the first byte belong to the handshake, such as a SYN's empty field.
        back = ~sent & (np.arange(sent.size) > data.argmax())
        acked = np.minimum(
            unwrapped(ack[back], first) + offset[0], (offset + size).max()
        )  # that of a FIN counts no byte
        progress = acked > highest_before(acked)
        return Transfer(time[data], offset, size, time[back][progress], acked[progress])

    @property
    def again(self) -> np.ndarray:
        """For each segment sent, whether it repeats a byte sent before."""
        return self.offset < highest_before(self.offset + self.size)

    @property
    def retransmissions(self) -> int:
        """Segments that repeat bytes sent before."""
        return int(self.again.sum())

    def times_sent(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each byte was sent: edges `e` and counts `c`, so that the bytes from e[i] up to e[i + 1]
        were sent c[i] times.
        """
        edges, place = np.unique(np.concatenate([self.offset, self.offset + self.size]), return_inverse=True)
        steps = np.zeros(edges.size, np.int64)
        n = self.offset.size
        np.add.at(steps, place[:n], 1)
        np.add.at(steps, place[n:], -1)
        return edges, np.cumsum(steps)[:-1]

    @property
    def acked_bytes(self) -> np.ndarray:
        """Bytes that each acknowledgment newly acknowledged."""
        return np.diff(self.acked, prepend=0)


def transfers(segments: pa.Table) -> dict[int, Transfer]:
    """The transfers of all connections that sent payload, by number of the connection, in the order in which
    they began.
    """
    connection = segments["connection"].to_numpy()
    # Rows of one connection together, each in the order of the trace.
    order = np.argsort(connection, kind="stable")
    numbers, first = np.unique(connection[order], return_index=True)
    columns = [segments[name].to_numpy()[order] for name in COLUMNS]
    ends = [*first[1:], connection.size]
    found = {
        int(n): Transfer.read(*(c[a:b] for c in columns))
        for n, a, b in zip(numbers, first, ends, strict=True)
    }
    return dict(sorted(((n, t) for n, t in found.items() if t.time.size), key=lambda item: item[1].time[0]))


def segments(traces: dict[str, pa.Table]) -> pa.Table:
    """The table `segments` of a run's traces."""
    if "segments" not in traces:
        raise InputError('the run holds no table `segments`: give the scenario `trace = ["packets"]`')
    return traces["segments"]


def of_run(traces: dict[str, pa.Table], run: str | None = None) -> dict[int, Transfer]:
    """The transfers of the run labelled `run`, or of the only one."""
    table = segments(traces)
    labels = pc.unique(table["run"]).to_pylist()
    if run is None and len(labels) > 1:
        raise InputError(f"there are several runs: give one of {', '.join(labels)}")
    if run is not None and run not in labels:
        raise InputError(f"`{run}` is not a run with a trace; expected one of {', '.join(labels)}")
    return transfers(table if run is None else table.filter(pc.equal(table["run"], run)))


def total_rate(found: Iterable[Transfer], width: float, until: float, *, acked: bool = False) -> np.ndarray:
    """Payload (B/s) that all transfers together sent, or had acknowledged, in each bin of `width` seconds."""
    found = list(found)
    time, amount = (
        ([t.acked_at for t in found], [t.acked_bytes for t in found])
        if acked
        else ([t.time for t in found], [t.size for t in found])
    )
    return binned(np.concatenate([[], *time]), np.concatenate([[], *amount]), width, until)


def binned(time: np.ndarray, amount: np.ndarray, width: float, until: float) -> np.ndarray:
    """The sum of `amount` in each bin of `width` seconds from 0 to the bin in which `until` lies, per
    second.
    """
    if not width > 0:
        raise InputError(f"the width of bins is {width:g} s; give one above 0")
    bins = math.floor(until / width) + 1
    if bins > MOST_BINS:
        raise InputError(f"bins of {width:g} s make {bins} until {until:g} s; expected at most {MOST_BINS}")
    place = np.floor(np.asarray(time) / width).astype(np.int64)
    inside = (place >= 0) & (place < bins)
    return np.bincount(place[inside], weights=np.asarray(amount)[inside], minlength=bins) / width


MOST_BINS = 1_000_000


def highest_before(values: np.ndarray) -> np.ndarray:
    """For each value the highest of those before it, 0 at least."""
    return np.maximum.accumulate(np.concatenate([[0], values]))[:-1]


def unwrapped(seq: np.ndarray, first: int) -> np.ndarray:
    """Sequence numbers, which wrap at 2^32, as signed distances from `first`; from one to the next it is less
    than 2^31.
    """
    if not seq.size:
        return np.empty(0, np.int64)
    near = (seq.astype(np.int64) - first + 2**31) % 2**32 - 2**31
    steps = (np.diff(near) + 2**31) % 2**32 - 2**31
    return np.cumsum(np.concatenate([near[:1], steps]))
