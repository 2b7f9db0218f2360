"""Which packets a path dropped, as the segments at both ends show it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def dropped(segments: pa.Table, connection: int, delay: float) -> np.ndarray:
    """When the segments were sent, in seconds and in order, that a sender sent and the path dropped.

    segments: of one run. connection: number of the sending end; the receiving one has the next. delay: the
    least that a packet takes from one to the other, seconds; packets arrive in the order in which they were
    sent. What the receiver had already is not counted, nor what was sent after the last one that arrived: it
    may be under way.
    """
    number, is_sent = segments["connection"].to_numpy(), segments["sent"].to_numpy()
    data = segments["len"].to_numpy() > 0
    time, seq = segments["time"].to_numpy(), segments["seq"].to_numpy()
    sent, taken = data & is_sent & (number == connection), data & ~is_sent & (number == connection + 1)
    arrival = dict(zip(seq[taken].tolist(), time[taken].tolist(), strict=True))
    times, seqs = time[sent], seq[sent]
    # The transmission that arrived is the last one that had the time to.
    came: dict[int, int] = {}
    for i, (t, s) in enumerate(zip(times.tolist(), seqs.tolist(), strict=True)):
        if s in arrival and t <= arrival[s] - delay + 1e-9:
            came[s] = i
    last = max(came.values(), default=-1)
    lost = [i for i, s in enumerate(seqs.tolist()) if i < came.get(s, last)]
    return times[lost]


def per_cycle(drops: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Drops by cycle: between one loss episode's beginning and the next's. Cycles without a drop are left
    out.
    """
    counts = np.bincount(np.searchsorted(begins, drops, "left"), minlength=begins.size + 1)[: begins.size]
    return counts[counts > 0]


def of_run(table: pa.Table, run: str) -> pa.Table:
    """The rows of a run."""
    return table.filter(pc.equal(table["run"], run))
