"""The gateway of a path of one link, as the segments at both ends show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Gateway:
    """Data packets on their way into the link and out of it.

    arrived: when each packet that was not dropped came to the gateway; left: when its last bit was sent;
    dropped: when a packet was dropped. Seconds, rising. by: whose each dropped packet was, the connections
    being counted in the order in which they began.
    """

    arrived: np.ndarray
    left: np.ndarray
    dropped: np.ndarray
    by: np.ndarray

    @staticmethod
    def of(segments: pa.Table, run: str, delay: float) -> Gateway:
        """Reads them from the table `segments` of a run.

        The senders are at the gateway, the receivers `delay` seconds behind the link. They acknowledge
        every packet, also one that is there already, which the table does not show.
        """
        rows = segments.filter(pc.equal(segments["run"], run))
        time, sent, seq, size = (rows[name].to_numpy() for name in ("time", "sent", "seq", "len"))
        acks = (
            sent & (size == 0) & pc.equal(rows["kind"], "ack").fill_null(False).to_numpy(zero_copy_only=False)
        )
        # The two ends of a connection have neighbouring numbers, that of the client, which sends, first.
        connection = rows["connection"].to_numpy()
        arrived, left, dropped, by = [], [], [], []
        for client in np.unique(connection[sent & (size > 0)]).tolist():
            out, taken = (
                sent & (size > 0) & (connection == client),
                ~sent & (size > 0) & (connection == client + 1),
            )
            came = time[acks & (connection == client + 1)]
            kept = delivered(
                seq[out], came, dict(zip(time[taken].tolist(), seq[taken].tolist(), strict=True))
            )
            arrived.append(time[out][kept])
            dropped.append(time[out][~kept])
            by.append(np.full((~kept).sum(), client // 2))
            left.append(came)
        lost = np.concatenate(dropped)
        order = np.argsort(lost, kind="stable")
        return Gateway(
            np.sort(np.concatenate(arrived)),
            np.sort(np.concatenate(left)) - delay,
            lost[order],
            np.concatenate(by)[order],
        )

    def queue(self, at: np.ndarray) -> np.ndarray:
        """Packets in the gateway, the one being sent included, just after the times `at`."""
        return np.searchsorted(self.arrived, at, "right") - np.searchsorted(self.left, at, "right")

    def moments(self, since: float, until: float) -> np.ndarray:
        """The times between two at which the number of packets changes, and both ends."""
        inside = np.concatenate([x[(x > since) & (x < until)] for x in (self.arrived, self.left)])
        return np.unique(np.concatenate([[since], inside, [until]]))

    def statistics(self, since: float, until: float) -> tuple[float, float, float]:
        """Mean and variance of the number of packets over time, and the share of the time in which there was
        none.
        """
        t = self.moments(since, until)
        n, span = self.queue(t[:-1]).astype(float), np.diff(t)
        mean = float((n * span).sum() / span.sum())
        return (
            mean,
            float(((n - mean) ** 2 * span).sum() / span.sum()),
            float(span[n <= 0].sum() / span.sum()),
        )


def delivered(sent: np.ndarray, came: np.ndarray, taken: dict[float, int]) -> np.ndarray:
    """Which of the packets sent, by sequence number and in order, came through.

    came: when packets arrived, in order; taken: the sequence numbers of those that the receiver did not have
    yet, by time. One that it had repeats a number taken before. Packets sent after the last one that came may
    be under way and count as delivered.
    """
    kept = np.zeros(sent.size, bool)
    had: set[int] = set()
    next_ = 0
    for i, seq in enumerate(sent.tolist()):
        if next_ == came.size:
            kept[i:] = True
            break
        new = taken.get(float(came[next_]))
        if seq == new or (new is None and seq in had):
            kept[i] = True
            had.add(seq)
            next_ += 1
    return kept
