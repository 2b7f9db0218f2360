"""The paper's path (J-F3, J-F7) and its two TCPs as scenarios, which its simulations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ackclock as ac
from ackclock.results import Run
from ackclock.results.transfer import Transfer, of_run

KB = 1024
"""Bytes: a window of 16 KB is 32 packets of 512 bytes (J-F3)."""
DATA, PACKET = 512, 552
"""Bytes of a packet without and with 40 bytes of headers (J-E19)."""
WINDOW = 16 * KB
LINK = 230_400
"""bit/s"""
LINK_DATA = LINK / 8 * DATA / PACKET
"""B/s of data that the link carries: the paper's 25 KBps."""
SHARE_DATA = 20 * KB
"""B/s that the paper calls available in figures 3 and 4."""
TRANSFER = 2048 * DATA
"""1 MB each, 2048 packets (J-F7)."""
QUEUE = 50
"""Packets at the bottleneck of the four conversations (J-F7)."""

OPTIONS = {"mss": f"{DATA}B", "rcv_buf": f"{WINDOW}B", "window_scaling": False, "sack": False}

OLD_CHOICES = {
    "old TCP's clock": "timeouts expire on ticks of a free-running 500 ms clock; the shortest is two "
    "ticks, the longest 30 s, as in 4.3BSD",
    "old TCP's samples and backoff": "as published in 4.3BSD (tcp_timer.c and tcp_input.c 7.1, June 1986): "
    "one segment timed at a time, in whole ticks, from one on; a timeout ends the timing under way, so that "
    "no copy gives a sample; the timer starts anew at every ack, and any new ack ends the backoff; its table "
    "of backoffs (1, 1, 2, 4, 6, 8, 10, 15, 20, 30 times the timeout). Unlike there the handshake gives a "
    "first sample",
    "old receiver": "a free-running 200 ms clock, for which segments out of order wait as well, as in 4.3BSD",
}
NEW_CHOICES = {
    "new TCP": "slow start and congestion avoidance from one segment, timer J-A6 in ticks of 500 ms, "
    "doubling backoff, Karn's rule; no fast retransmit, since the paper's figures show senders "
    "that stop until a timeout",
}


def old_tcp(**changes: object) -> ac.Stack:
    """4.3BSD before the seven changes (J-A16)."""
    timer = ac.timer.RestartOnAck(heartbeat="500ms")
    return ac.Stack(
        "rfc793",
        timer=timer,
        estimator=old_estimator(),
        backoff=ac.backoff.Bsd43Table(max_timeout="30s"),
        karn_samples=True,
        ack=old_acks(),
        **OPTIONS,
    ).but(**changes)


def old_estimator(**changes: object) -> object:
    """RFC 793's estimator with 4.3BSD's clock and limits (TCPTV_MIN, TCPTV_MAX)."""
    return ac.Rfc793(**{"min_rto": "1s", "max_rto": "30s", "tick": "500ms", **changes})


def new_tcp(**changes: object) -> ac.Stack:
    """The TCP after them (J-A6, J-A7, J-A10), whose receiver acknowledges every second packet."""
    return ac.Stack("tahoe+ticks(500ms)", recovery="timeout-only", ack=new_acks(), **OPTIONS).but(**changes)


def quicker_timer() -> object:
    """RFC 793's timer at the other ends of its ranges, alpha 0.8 and beta 1.3 (RFC 793 p. 41); J-A3 has 0.9
    and 2.
    """
    return ac.Rfc793(min_rto="500ms", alpha=0.8, beta=1.3)


def old_acks() -> object:
    """The receiver of 4.3BSD: waits for 35 % of the window or the 200 ms clock, with what is out of order as
    well (J-A13).
    """
    return ac.Bsd43(hold_out_of_order=True)


def new_acks() -> object:
    """The receiver of 4.3+BSD: waits for one packet more at most, or for the next tick of a free-running 200
    ms clock (J-A13).
    """
    return ac.Delayed(ack_delay="0s", heartbeat="200ms")


def ethernet(rate: str = "10Mbit/s") -> ac.Link:
    """An Ethernet that holds whatever its hosts send at once."""
    return ac.Link(rate, delay="0s", queue=ac.DropTail(limit="1000packets"))


def one_conversation(one_way: str = "100ms", *, queue: int = 30, rate: float = LINK) -> ac.Chain:
    """Six store-and-forward hops: two gateways on either side of the point-to-point link (J-F3)."""
    link = ac.Link(f"{rate:.0f}bit/s", delay=one_way, queue=ac.DropTail(limit=f"{queue}packets"))
    return ac.Chain(links=[ethernet(), ethernet(), link, ethernet(), ethernet(), ethernet()])


def four_conversations(
    one_way: str = "30ms", *, queue: int = QUEUE, senders: str = "10Mbit/s"
) -> ac.Dumbbell:
    """Senders on one Ethernet, receivers on another, the link between two routers (J-F7)."""
    link = ac.Link(f"{LINK}bit/s", delay=one_way, queue=ac.DropTail(limit=f"{queue}packets"))
    return ac.Dumbbell(bottleneck=link, access=ethernet(senders))


def conversations(
    path: ac.Dumbbell,
    stacks: dict[str, ac.Stack],
    order: Sequence[str],
    *,
    seconds: float = 400,
    stagger: float = 3.0,
    rtts: Sequence[str] | None = None,
    trace: bool = False,
) -> ac.Scenario:
    """Four transfers that start 3 s apart, each with the stack that `order` names, and the round trip of
    `rtts`, in one run.
    """
    workload = [
        ac.Fixed(
            name=f"connection {n}",
            size=f"{TRANSFER}B",
            start=f"{1e3 * stagger * (n - 1):.0f}ms",
            stack=label,
            rtt=rtts[n - 1] if rtts else None,
        )
        for n, label in enumerate(order, start=1)
    ]
    return ac.Scenario.of(
        path, workload, stacks, duration=f"{seconds:g}s", trace=["packets"] if trace else []
    )


def converse(path: ac.Dumbbell, stacks: dict[str, ac.Stack], order: Sequence[str], **options: Any) -> Run:
    """The run of such a scenario."""
    return conversations(path, stacks, order, **options).simulate()


def connections(run: Run, label: str | None = None) -> dict[str, Transfer]:
    """The transfers of a run as the paper numbers them."""
    return {f"connection {n}": t for n, t in enumerate(of_run(run.traces, label).values(), start=1)}


def only_transfer(run: Run, label: str) -> Transfer:
    """The transfer of a run with one, whatever datagrams it had beside it."""
    number = next(
        2 * f["flow"] for f in run.flows.to_pylist() if f["run"] == label and f["protocol"] == "tcp"
    )
    return of_run(run.traces, label)[number]
