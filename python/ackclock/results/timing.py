from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.models.timer import Timer
from ackclock.results.transfer import Transfer, highest_before

SAMPLINGS = ("every", "once")
"""Which segments are timed (E-A3): each one, or one after the other, a new one when the last is
acknowledged.
"""
UNBOUNDED = np.iinfo(np.uint64).max
"""A slow-start threshold before the first congestion."""


@dataclass(frozen=True)
class Timing:
    """Round-trip times and timers, derived from the packets of one direction (E-U1): a row for each
    acknowledgment that moved on.

    time (s): when it came. rtt (s): its sample, by Karn's rule; NaN for none. flight (B):
    outstanding when it came. oldest (s): when the oldest segment outstanding after it was sent last; NaN for
    none. ssthresh (B): half of the flight at the first retransmission of the last loss, `UNBOUNDED` before.
    segments: how many it acknowledged. The first row is the handshake's where the trace has one.
    """

    time: np.ndarray
    rtt: np.ndarray
    flight: np.ndarray
    oldest: np.ndarray
    ssthresh: np.ndarray
    segments: np.ndarray
    smss: int
    sampling: str

    @staticmethod
    def of(segments: pa.Table, sampling: str = "every") -> Timing:
        """Reads the rows of one connection in the table `segments`, whichever world filled it. `sampling` is
        one of `SAMPLINGS`.
        """
        if sampling not in SAMPLINGS:
            raise InputError(f"`{sampling}` is not a sampling; expected one of {', '.join(SAMPLINGS)}")
        t = Transfer.of(segments)
        if not t.time.size:
            raise InputError("the connection sent no data, so there is nothing to time")
        board = _Board(t)
        smss = int(t.size.max())
        columns = {
            "time": t.acked_at,
            "rtt": board.every() if sampling == "every" else board.once(),
            "flight": board.flight(t.acked_at, board.before),
            "oldest": board.oldest(),
            "ssthresh": board.ssthresh(smss),
            "segments": board.after - board.first,
        }
        opened = _handshake(segments)
        if opened:
            at = {
                "time": opened[0],
                "rtt": opened[1],
                "flight": 0,
                "oldest": np.nan,
                "ssthresh": UNBOUNDED,
                "segments": 0,
            }
            columns = {
                name: np.concatenate([np.asarray([at[name]], v.dtype), v]) for name, v in columns.items()
            }
        return Timing(**columns, smss=smss, sampling=sampling)

    @property
    def sampled(self) -> np.ndarray:
        """The rows that brought a sample."""
        return ~np.isnan(self.rtt)

    @property
    def rate(self) -> np.ndarray:
        """Samples for each segment outstanding: one in each flight where segments are timed one after the
        other, else one for each ack.
        """
        if self.sampling == "once":
            return np.where(self.flight > 0, 1.0 / np.maximum(self.flight // self.smss, 1), 1.0)
        acks = self.segments[self.segments > 0]
        return np.full(self.time.size, 1.0 / max(float(np.median(acks)) if acks.size else 1.0, 1.0))

    def replay(self, timer: Timer) -> dict[str, np.ndarray]:
        """Replays a registered timer over the rows. Returns `srtt`, `rttvar`, `rto` (s) and its private
        numbers, as `Timer.rows`, and the time (s) to which each row's ack sets the countdown: `restart`, the
        full timeout, and `precise`, less the age of the oldest segment (E-E13). A trace has no window: the
        flight takes its place.
        """
        columns = {
            "time": self.time,
            "rtt": np.where(self.sampled, self.rtt, 0.0),
            "flight_size": self.flight,
            "cwnd": self.flight,
            "ssthresh": self.ssthresh,
            "sampling_rate": self.rate,
        }
        made = timer.rows(columns, self.smss)
        running = ~np.isnan(self.oldest)
        age = self.time - self.oldest
        return made | {
            "restart": np.where(running, made["rto"], np.nan),
            "precise": np.where(running, np.maximum(made["rto"] - age, 0.0), np.nan),
        }


class _Board:
    """Segments in the order of the stream, and what each acknowledgment did to them."""

    def __init__(self, t: Transfer) -> None:
        self.t = t
        new = ~t.again
        self.end, self.sent = (t.offset + t.size)[new], t.time[new]
        self.resent = [
            (float(t.time[i]), int(t.offset[i]), int(t.offset[i] + t.size[i]))
            for i in np.flatnonzero(t.again)
        ]
        self.before = highest_before(t.acked)
        # Segments first..after-1 are those that the ack acknowledges; `after` is then the oldest outstanding
        # one.
        self.first = np.searchsorted(self.end, self.before, "right")
        self.after = np.searchsorted(self.end, t.acked, "right")

    def every(self) -> np.ndarray:
        """The sample of each ack: the age of the oldest segment that it acknowledges, unless one of them was
        retransmitted.
        """
        twice = np.zeros(self.end.size + 1, np.int64)
        for _, offset, end in self.resent:
            twice[np.searchsorted(self.end, offset, "right") : np.searchsorted(self.end, end, "left") + 1] = 1
        count = np.concatenate([[0], np.cumsum(twice)])
        valid = (count[self.after] == count[self.first]) & (self.after > self.first)
        return np.where(
            valid, self.t.acked_at - self.sent[np.minimum(self.first, self.sent.size - 1)], np.nan
        )

    def once(self) -> np.ndarray:
        """The sample of each ack where one segment after the other is timed; a retransmission cancels the
        measurement.
        """
        rtt = np.full(self.t.acked.size, np.nan)
        again = np.asarray([at for at, _, _ in self.resent])
        timed = 0
        while timed < self.sent.size:
            began = self.sent[timed]
            ack = int(np.searchsorted(self.t.acked, self.end[timed], "left"))
            cut = int(np.searchsorted(again, began, "right"))
            done = self.t.acked_at[ack] if ack < rtt.size else np.inf
            if cut < again.size and again[cut] < done:
                done = again[cut]
            elif ack < rtt.size:
                rtt[ack] = done - began
            timed = max(int(np.searchsorted(self.sent, done, "left")), timed + 1)
        return rtt

    def flight(self, at: np.ndarray, acked: np.ndarray) -> np.ndarray:
        """Bytes outstanding just before the times `at`, when so many were acknowledged."""
        known = np.concatenate([[0], self.end])
        return np.maximum(known[np.searchsorted(self.sent, at, "left")] - acked, 0)

    def oldest(self) -> np.ndarray:
        """When the oldest segment outstanding after each ack was sent last."""
        at = self.t.acked_at
        running = self.after < np.searchsorted(self.sent, at, "left")
        oldest = np.where(running, self.sent[np.minimum(self.after, self.sent.size - 1)], np.nan)
        for time, offset, _ in self.resent:
            k = np.searchsorted(self.end, offset, "right")
            rows = slice(*(int(np.searchsorted(self.after, k, side)) for side in ("left", "right")))
            oldest[rows] = np.where((at[rows] >= time) & running[rows], time, oldest[rows])
        return oldest

    def ssthresh(self, smss: int) -> np.ndarray:
        """Half of what was outstanding at the first retransmission of the last loss, two segments at least
        (RFC 5681 3.1).
        """
        moments, values, recovery = [], [], 0
        acked = np.concatenate([[0], self.t.acked])
        for time, _, end in self.resent:
            if end <= recovery:
                continue
            una = int(acked[np.searchsorted(self.t.acked_at, time, "right")])
            flight = int(self.flight(np.asarray([time]), np.asarray([una]))[0])
            moments.append(time)
            values.append(max(flight // 2, 2 * smss))
            recovery = una + flight
        place = np.searchsorted(moments, self.t.acked_at, "left")
        return np.concatenate([[UNBOUNDED], np.asarray(values, np.uint64)]).astype(np.uint64)[place]


HEAD = 64
"""Rows in which a handshake is looked for."""


def _handshake(segments: pa.Table) -> tuple[float, float] | None:
    """When the reply to the SYN arrived, and how long it took; none where the trace has no SYN, or more than
    one.
    """
    sent, kind, time = (segments[name].slice(0, HEAD).to_pylist() for name in ("sent", "kind", "time"))
    syns = [t for s, k, t in zip(sent, kind, time, strict=True) if s and k == "syn"]
    replies = [t for s, t in zip(sent, time, strict=True) if not s]
    return (
        (replies[0], replies[0] - syns[0]) if len(syns) == 1 and replies and replies[0] >= syns[0] else None
    )
