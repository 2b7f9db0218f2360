from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.results.overview import SENT_AGAIN
from ackclock.results.transfer import Transfer, highest_before

SAME = 1e-6
"""Times that differ by no more than this are the same (s)."""
NO_TIMES = np.empty(0)
NO_BYTES = np.empty(0, np.int64)
PLAIN = ("", "syn", "new", "ack", "reset", "late", "duplicate", "stray")
"""Kinds of packets that are no retransmissions."""
NOT_DRAWN = pa.array(["duplicate", "stray"])
"""Kinds of packets that no figure shows."""


@dataclass(frozen=True)
class Wait:
    """A timer that expired: at `time` (s), after waiting `rto` (s; NaN where unknown), for the byte at
    `offset`; `round` is 1 for the first. silence: it is inferred from a silence near the receiver.
    """

    time: float
    rto: float
    offset: int
    round: int
    spurious: bool | None = None
    silence: bool = False


@dataclass(frozen=True)
class Trace(Transfer):
    """One direction of a connection with everything that figures of it show, from a capture or from a
    simulated run.

    Beside a `Transfer`: kind, why each segment was sent ("" for new data); marked, whether it is a
    retransmission; needed, false if it was spurious. edge_at (s), edge (B): the right edge of the receiver's
    window, wherever it moved. sack_at (s), sack_from, sack_to (B): what SACK blocks covered. window_at (s),
    window (B): the congestion window, as sampled or inferred. waits: expiries of the timer. origin: what was
    subtracted from every time (s).
    """

    kind: np.ndarray = field(default_factory=lambda: np.empty(0, object))
    marked: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    needed: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    edge_at: np.ndarray = field(default_factory=lambda: NO_TIMES)
    edge: np.ndarray = field(default_factory=lambda: NO_BYTES)
    sack_at: np.ndarray = field(default_factory=lambda: NO_TIMES)
    sack_from: np.ndarray = field(default_factory=lambda: NO_BYTES)
    sack_to: np.ndarray = field(default_factory=lambda: NO_BYTES)
    window_at: np.ndarray = field(default_factory=lambda: NO_TIMES)
    window: np.ndarray = field(default_factory=lambda: NO_BYTES)
    waits: tuple[Wait, ...] = ()
    origin: float = 0.0

    @property
    def again(self) -> np.ndarray:
        """For each segment sent, whether it is a retransmission."""
        return self.marked

    @property
    def end(self) -> float:
        """The last moment of it (s)."""
        return max((float(t[-1]) for t in (self.time, self.acked_at, self.edge_at) if t.size), default=0.0)

    def moved(self, origin: float) -> Trace:
        """The same with another origin of its times."""
        by = self.origin - origin
        times = {
            name: getattr(self, name) + by for name in ("time", "acked_at", "edge_at", "sack_at", "window_at")
        }
        return replace(
            self, **times, waits=tuple(replace(w, time=w.time + by) for w in self.waits), origin=origin
        )

    def kinds(self) -> Iterator[tuple[str, np.ndarray]]:
        """Every kind of retransmission, the most frequent first, with the indices of its segments."""
        names, number = np.unique(self.kind[self.marked].astype(str), return_counts=True)
        for name in names[np.argsort(-number, kind="stable")]:
            yield str(name), np.flatnonzero(self.marked & (self.kind == name))

    def flight(self) -> tuple[np.ndarray, np.ndarray]:
        """Bytes outstanding after each segment and each acknowledgment: times, and what was sent and not
        acknowledged.
        """
        sent = np.maximum.accumulate(self.offset + self.size) if self.time.size else NO_BYTES
        # At one moment acknowledgments come first: what is sent then is sent because of them.
        time = np.concatenate([self.acked_at, self.time])
        order = np.argsort(time, kind="stable")
        first = (np.arange(time.size) >= self.acked_at.size)[order]
        upto, back = np.cumsum(first), np.cumsum(~first)
        high = np.concatenate([[0], sent])[upto]
        acked = np.concatenate([[0], self.acked])[back]
        return time[order], np.maximum(high - acked, 0)

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """The receiver's window: from what is acknowledged to its right edge."""
        acked = np.concatenate([[0], self.acked])[np.searchsorted(self.acked_at, self.edge_at, "right")]
        return self.edge_at, np.maximum(self.edge - acked, 0)

    @staticmethod
    def of_packets(
        packets: pa.Table,
        direction: int,
        retransmissions: pa.Table | None = None,
        timeouts: pa.Table | None = None,
        samples: pa.Table | None = None,
    ) -> Trace:
        """Reads one direction of the table `packets` of a capture; the other tables, where they are given,
        add what they know.
        """
        origin = _origin(packets, direction)
        own, back = (packets.filter(pc.equal(packets["connection"], n)) for n in (direction, direction ^ 1))
        # A retransmitted SYN or FIN is shown too, although it carries no data.
        shown = pc.or_(pc.greater(own["len"], 0), own["again"])
        data = own.filter(
            pc.and_(shown, pc.invert(pc.is_in(pc.fill_null(own["kind"], ""), value_set=NOT_DRAWN)))
        )
        time, offset, size = (
            _numbers(data[name], kind)
            for name, kind in (("time", float), ("offset", np.int64), ("len", np.int64))
        )
        marked = _numbers(data["again"], bool)
        kind = np.where(marked, np.asarray(pc.fill_null(data["kind"], "unlisted").to_pylist(), object), "")
        back = back.filter(
            pc.and_(pc.is_valid(back["acked"]), pc.not_equal(pc.fill_null(back["kind"], ""), "reset"))
        )
        at, acked = _numbers(back["time"], float) - origin, _numbers(back["acked"], np.int64)
        known = _numbers(pc.is_valid(back["window"]), bool)
        edge = (acked + _numbers(pc.fill_null(back["window"], 0), np.int64))[known]
        # That of a FIN counts no byte.
        acked = np.minimum(acked, (offset + size).max(initial=0)) if size.size else acked
        progress = acked > highest_before(acked)
        moved = np.concatenate([[True], np.diff(edge) != 0])[: edge.size]
        found = Trace(
            time - origin,
            offset,
            size,
            at[progress],
            acked[progress],
            kind=kind,
            marked=marked,
            needed=_needed(data, marked, direction, retransmissions),
            edge_at=at[known][moved],
            edge=edge[moved],
            **_sacks(back["sack"], at, acked),
            **_window(samples, direction, origin),
            waits=_waits(timeouts, direction, origin, packets),
            origin=origin,
        )
        return found

    @staticmethod
    def of_segments(segments: pa.Table, connection: int, samples: pa.Table | None = None) -> Trace:
        """Reads one connection of the table `segments` of a simulated run, which knows neither windows of
        receivers nor SACK.
        """
        rows = segments.filter(pc.equal(segments["connection"], connection))
        t = Transfer.of(rows)
        data = rows.filter(pc.and_(rows["sent"], pc.greater(rows["len"], 0)))
        again = t.again
        kind = np.where(again, np.asarray(pc.fill_null(data["kind"], "").to_pylist(), object), "")
        return Trace(
            t.time,
            t.offset,
            t.size,
            t.acked_at,
            t.acked,
            kind=kind,
            marked=again,
            needed=np.ones(again.size, bool),
            **_window(samples, connection, 0.0),
        )


def _origin(packets: pa.Table, direction: int) -> float:
    rows = packets.filter(
        pc.or_(pc.equal(packets["connection"], direction), pc.equal(packets["connection"], direction ^ 1))
    )
    return float(rows["time"][0].as_py()) if rows.num_rows else 0.0


def _numbers(column: pa.ChunkedArray, kind: type) -> np.ndarray:
    return column.to_numpy().astype(kind)


def _needed(
    data: pa.Table, marked: np.ndarray, direction: int, retransmissions: pa.Table | None
) -> np.ndarray:
    """False where a retransmission was spurious. Both tables have one direction's retransmissions in the
    order of time.
    """
    needed = np.ones(marked.size, bool)
    if retransmissions is None:
        return needed
    rows = retransmissions.filter(
        pc.and_(
            pc.equal(retransmissions["connection"], direction),
            pc.equal(pc.fill_null(retransmissions["needed"], True), False),
        )
    )
    spurious = set(zip(rows["time"].to_pylist(), rows["seq"].to_pylist(), strict=True))
    if spurious:
        both = zip(data["time"].to_pylist(), data["seq"].to_pylist(), strict=True)
        needed &= ~(np.fromiter((pair in spurious for pair in both), bool, marked.size) & marked)
    return needed


def _sacks(blocks: pa.ChunkedArray, at: np.ndarray, acked: np.ndarray) -> dict[str, np.ndarray]:
    blocks = blocks.combine_chunks()
    flat = pc.list_flatten(blocks).to_numpy().astype(np.int64).reshape(-1, 2)
    row = pc.list_parent_indices(blocks).to_numpy()[::2]
    # Blocks below the acknowledgment are duplicate SACKs (RFC 2883); an unchanged block reports nothing new.
    ahead = flat[:, 1] > acked[row]
    flat, row = flat[ahead], row[ahead]
    _, first = np.unique(flat, axis=0, return_index=True)
    first.sort()
    return {"sack_at": at[row[first]], "sack_from": flat[first, 0], "sack_to": flat[first, 1]}


def _window(samples: pa.Table | None, direction: int, origin: float) -> dict[str, np.ndarray]:
    if samples is None:
        return {}
    rows = samples.filter(pc.and_(pc.equal(samples["connection"], direction), pc.is_valid(samples["cwnd"])))
    return {"window_at": _numbers(rows["time"], float) - origin, "window": _numbers(rows["cwnd"], np.int64)}


def _waits(timeouts: pa.Table | None, direction: int, origin: float, packets: pa.Table) -> tuple[Wait, ...]:
    if timeouts is None:
        return ()
    rows = timeouts.filter(pc.and_(pc.equal(timeouts["connection"], direction), timeouts["counts"]))
    found = rows.select(["time", "seq", "round", "rto", "eifel_spurious", "rule"]).to_pylist()
    if not found:
        return ()
    own = packets.filter(pc.and_(pc.equal(packets["connection"], direction), pc.greater(packets["len"], 0)))
    own = pa.concat_tables(
        [own, packets.filter(pc.and_(pc.equal(packets["connection"], direction), packets["again"]))]
    )
    places: dict[int, list[tuple[float, int]]] = {}
    for time, seq, offset in zip(*(own[name].to_pylist() for name in ("time", "seq", "offset")), strict=True):
        places.setdefault(seq, []).append((time, offset))

    def place(w: dict[str, Any]) -> int:
        """The index of the packet that the timer sent, or that ended the silence. It may have been delayed
        since.
        """
        there = places.get(w["seq"], ())
        return min((p for p in there if p[0] >= w["time"] - SAME), default=max(there, default=(0.0, 0)))[1]

    return tuple(
        Wait(w["time"] - origin, w["rto"], place(w), w["round"], w["eifel_spurious"], w["rule"] != SENT_AGAIN)
        for w in found
    )
