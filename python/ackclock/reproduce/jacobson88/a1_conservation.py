"""J-A1: a sender in equilibrium sends when, and only when, an ack reports that a packet has left."""

from __future__ import annotations

import numpy as np

import ackclock as ac
from ackclock.reproduce.item import Check, between, rule, within
from ackclock.results import transfer

WINDOW, PIPE = 22, 16
SIZE, HEADERS, RATE = 1000, 40, 800_000
SERVICE = (SIZE + HEADERS) * 8 / RATE
ACK = HEADERS * 8 / RATE


def equilibrium() -> list[Check]:
    """A transfer that the receiver's window limits, over a path that holds fewer packets."""
    delay = PIPE * SERVICE - SERVICE - ACK
    path = {
        "kind": "single",
        "rtt": f"{delay * 1e6:.0f}us",
        "link": {"rate": f"{RATE}bit/s", "queue": {"kind": "drop-tail", "limit": "100packets"}},
    }
    stack = ac.Stack("tahoe", mss=f"{SIZE}B", rcv_buf=f"{WINDOW * SIZE}B", ack="every", window_scaling=False)
    run = ac.simulate(path, {"kind": "bulk"}, {"tcp": stack}, duration="60s", trace=["packets", "samples"])
    (sent,) = transfer.of_run(run.traces, None).values()
    settled = sent.acked_at > 20
    # What was sent by the moment after an ack, less what that ack and those before it took away.
    out = np.searchsorted(sent.time, sent.acked_at[settled], side="right") * SIZE - sent.acked[settled]
    samples = run.traces["samples"]
    late = samples["time"].to_numpy() > 20
    rtt = samples["rtt"].to_numpy()[late]
    rtt = rtt[~np.isnan(rtt)]
    return [
        between("packets outstanding after each ack of the last 40 s", out / SIZE, WINDOW, WINDOW),
        between(
            "gaps between packets sent then, in packet times of the bottleneck",
            np.diff(sent.time[sent.time > 20]) / SERVICE,
            0.99,
            1.01,
        ),
        between("gaps between acks", np.diff(sent.acked_at[settled]) / SERVICE, 0.99, 1.01),
        within(
            "standing queue (J-E20), from the round-trip times, packets",
            float(rtt.mean() / SERVICE) - PIPE,
            WINDOW - PIPE,
            0.1,
        ),
    ]


rule(
    "J-A1",
    "Packet conservation and self-clocking",
    "formula standing-queue",
    "formula packet-spacing",
    tests=[
        "crates/ackclock-sim/src/tests/conservation.rs::a_packet_that_vanishes_is_detected",
        "crates/ackclock-sim/src/tests/conservation.rs::bytes_that_never_arrived_are_detected",
        "tests/test_register.py::test_conservation_is_checked_on_a_transfer_in_equilibrium",
    ],
    points=equilibrium,
    choices={
        "path": "800 kbit/s, packets of 1000 + 40 bytes, a pipe of 16 packets, a window of 22 that the "
        "receiver sets; an ack for each packet"
    },
)
