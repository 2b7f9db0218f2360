from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, between, item
from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.testbed import DATA, LINK, PACKET
from ackclock.results import Run

PIPE, WINDOW, PACKETS = 16, 22, 400
"""Packets that the path holds both ways, in the window, and in the transfer (J-F1, J-E20)."""
PACKET_TIME = 8 * PACKET / LINK
"""Seconds: 19.1667 ms (J-E19)."""
FAST = 25 * LINK
"""bit/s of the links on either side."""


def simulated() -> Run:
    """A transfer at a constant window over a path in which a packet's round trip takes 16 packet times."""
    sending = (8 * PACKET + 8 * 40) * (1 / LINK + 2 / FAST)
    fast = ac.Link(f"{FAST}bit/s", delay="0s", queue=ac.DropTail(limit="100packets"))
    slow = ac.Link(
        f"{LINK}bit/s",
        delay=f"{(PIPE * PACKET_TIME - sending) / 2 * 1e9:.0f}ns",
        queue=ac.DropTail(limit="100packets"),
    )
    stack = testbed.new_tcp(
        rcv_buf=f"{WINDOW * DATA}B",
        window="receiver-only",
        ack="every",
        estimator="rfc6298",
        timer=ac.timer.RestartOnAck(),
    )
    path = ac.Chain(links=[fast, slow, fast])
    return ac.simulate(
        path,
        ac.Fixed(size=f"{PACKETS * DATA}B"),
        {"tcp": stack},
        duration="60s",
        trace=["packets", "samples"],
    )


@item(
    "J-F1",
    kind="SIM",
    title="Self-clocking through a bottleneck",
    choices={
        "path": "230.4 kbit/s between links 25 times as fast, packets of 552 bytes, acks of 40; delays "
        "make an empty round trip 16 packet times",
        "sender": "a constant window of 22 packets from the start, as in the figure; every packet "
        "acknowledged; 400 packets",
        "queue": "as each packet finds it: its round trip less the empty path's, in packet times",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Gaps between packets and between acks, and the standing queue."""
    run = simulated()
    t = testbed.only_transfer(run, "tcp")
    samples = run.traces["samples"]
    # The sender's, without those of its SYN and its FIN.
    rtt = samples.filter(pc.equal(samples["connection"], 0))["rtt"].drop_null().to_numpy()[1 : PACKETS + 1]
    queue = rtt / PACKET_TIME - PIPE
    later = slice(WINDOW, None)
    sends, acks = np.diff(t.time[later]), np.diff(t.acked_at[later])
    checks = [
        between(
            "gaps between packets sent after the first burst, packet times", sends / PACKET_TIME, 0.99, 1.01
        ),
        between("gaps between acks after the first burst, packet times", acks / PACKET_TIME, 0.99, 1.01),
        between(
            "queue at the bottleneck until the transfer's end, packets",
            queue[later],
            WINDOW - PIPE - 1,
            WINDOW - PIPE + 1,
        ),
    ]
    figure = sequence(
        {"window of 22 packets": t},
        title="Self-clocking: acks pace the packets",
        subtitle="Path of 16 packets, 230.4 kbit/s bottleneck; the first burst leaves a queue of 6 that "
        "stays",
        available=testbed.LINK_DATA,
        until=2.0,
    )
    table = pa.table(
        {"packet": np.arange(t.time.size), "sent": t.time, "acknowledged": t.acked_at, "queue": queue}
    )
    return Outcome(
        checks,
        {"packets": table},
        {"sequence": figure},
        [f"The queue stays at {np.median(queue[later]):.3f} packets, the window less the pipe."],
    )
