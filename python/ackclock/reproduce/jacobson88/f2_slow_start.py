from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, exactly, item, stated, within
from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.testbed import DATA, LINK, PACKET

WINDOW, ROUNDS = 32, 6
"""The window that is opened to (packets), and rounds of slow start until then: 2^0 to 2^5."""
ONE_WAY = 0.5
"""Seconds: a window takes 0.6 s at the bottleneck, so that the rounds stay apart."""


def scenario(
    link: int = LINK,
    *,
    one_way: float = ONE_WAY,
    window: int = WINDOW,
    local: str = "10Mbit/s",
    seconds: float = 15,
) -> ac.Scenario:
    """One sender behind a fast local net, a slow long-haul link with ample buffers, an ack for each
    packet.
    """
    slow = ac.Link(f"{link}bit/s", delay=f"{one_way * 1e6:.0f}us", queue=ac.DropTail(limit="1000packets"))
    stack = testbed.new_tcp(
        rcv_buf=f"{window * DATA}B", ack="every", estimator="rfc6298", timer=ac.timer.RestartOnAck()
    )
    path = ac.Chain(links=[testbed.ethernet(local), slow])
    return ac.Scenario.of(path, ac.Bulk(), {"tcp": stack}, duration=f"{seconds:g}s", trace=["packets"])


@item(
    "J-F2",
    kind="SIM",
    title="Chronology of a slow start",
    choices={
        "path": "Ethernet, then 230.4 kbit/s with 500 ms one way and room for 1000 packets",
        "sender": "one segment to begin with, window of 32 packets, an ack for each packet",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Packets per round, pairs, the queue's peak and the time to open the window."""
    run = scenario().simulate()
    t = testbed.only_transfer(run, "tcp")
    trip = t.acked_at[0] - t.time[0]
    rounds = np.floor((t.time - t.time[0]) / trip + 1e-9).astype(int)
    sent = np.bincount(rounds)[:ROUNDS]
    opening = t.time[int(sent.sum()) - 1] - t.time[0]
    link = next(row for row in run.links.to_pylist() if row["name"] == "hop2")
    _, together = np.unique(t.time[1 : int(sent.sum())], return_counts=True)
    checks = [
        exactly("packets sent in rounds 0 to 5", sent.tolist(), [2**k for k in range(ROUNDS)]),
        stated(
            "packets that an ack releases",
            f"{together.min()} to {together.max()}",
            bool((together == 2).all()),
            "2: pairs",
        ),
        within("peak of the queue, packets", link["queue_max_packets"], WINDOW / 2, 1),
        within("time to open the window, round trips", opening / trip, np.log2(WINDOW), 1),
    ]
    figure = sequence(
        {"slow start": t},
        title="The chronology of a slow start",
        subtitle="Fast local net, 230.4 kbit/s long-haul link, round trip 1 s, an ack for each packet, "
        "window up to 32 packets",
        available=testbed.LINK_DATA,
        until=9.0,
    )
    return Outcome(
        checks, {"rounds": pa.table({"round": range(ROUNDS), "packets": sent})}, {"sequence": figure}
    )


def carried(link: int, seconds: np.ndarray) -> np.ndarray:
    """Packets that the bottleneck can carry in some times, the one at whose end a time begins included."""
    return np.floor(seconds * link / (8 * PACKET)) + 1
