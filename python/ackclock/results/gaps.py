"""Timeouts of a sender, inferred by its receiver from gaps between arrivals (B-U1): without knowledge of the
sender's timer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ackclock._core import InputError, gap_timeouts

LEAST = 0.2
"""Seconds. A gap must be longer than this to count: longer than any minimum timeout in use (B-U1)."""
ROUND_TRIPS = 1.2
"""A gap must also be longer than this many round trips (B-U1)."""
RATIO = 1.5
"""A further gap this much longer than the previous one shows backoff: it would double (the ratio is our
choice, B-U1).
"""


@dataclass(frozen=True)
class Gaps:
    """Gaps that show timeouts: when each began (s), how long it was (s), and whether it is a consecutive
    timeout, backed off.
    """

    start: np.ndarray
    length: np.ndarray
    consecutive: np.ndarray

    @property
    def timed_out(self) -> bool:
        """Whether there was a timeout at all."""
        return self.start.size > 0

    @property
    def backed_off(self) -> bool:
        """Whether there was a consecutive one."""
        return bool(self.consecutive.any())


def infer(
    arrivals: np.ndarray,
    rtt: float,
    *,
    least: float = LEAST,
    round_trips: float = ROUND_TRIPS,
    ratio: float = RATIO,
) -> Gaps:
    """The timeouts that the arrivals at a receiver show.

    arrivals: times (s) in order of the request's last transmission and then of every packet that came from
    the sender. rtt: the handshake's (s). A gap is a timeout if it exceeds both `least` and `round_trips`
    times `rtt`. It is a consecutive one if the gap right before it was a timeout too, only the packet that
    ended that one lies between them, and it is at least `ratio` times as long. Raises InputError for times
    out of order or a round-trip time that is none.
    """
    times = np.asarray(arrivals, float)
    if not (np.isfinite(rtt) and rtt > 0):
        raise InputError(f"the round-trip time is {rtt} s; give that of the handshake, above 0")
    lengths = np.diff(times)
    if not np.isfinite(times).all() or (lengths < 0).any():
        raise InputError("arrivals are not in order of time")
    found = gap_timeouts(times.tolist(), rtt, least, round_trips, ratio)
    start, length, consecutive = (np.array([gap[i] for gap in found]) for i in range(3))
    return Gaps(start.astype(float), length.astype(float), consecutive.astype(bool))


def handshake(segments: pa.Table) -> tuple[np.ndarray, float] | None:
    """What `infer` needs, from a client's rows of the table `segments` of one connection; None where nothing
    came back.

    The round-trip time is that of the last SYN; arrivals begin with the last time that the client sent data
    or, without data, its ACK.
    """
    rows = {name: segments[name].to_numpy(zero_copy_only=False) for name in ("time", "sent", "kind", "len")}
    mine, theirs = rows["sent"], ~rows["sent"]
    syns = rows["time"][mine & (rows["kind"] == "syn")]
    came = rows["time"][theirs]
    if not syns.size or not came.size:
        return None
    answered = came[0]
    rtt = answered - syns[syns < answered][-1] if (syns < answered).any() else np.nan
    asked = rows["time"][mine & (rows["len"] > 0)]
    begins = asked[-1] if asked.size else answered
    return np.concatenate([[begins], came[came > begins]]), float(rtt)
