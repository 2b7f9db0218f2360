"""The TCPs that the simulated items compare, and what they have in common."""

from __future__ import annotations

from typing import Any

import ackclock as ac

DATA, HEADERS = 512, 40
"""Bytes of a data packet, as in the paper's tests (J-F7), and of its headers (unstated there)."""
PACKET = DATA + HEADERS

CHOICES = {
    "packets": f"{DATA} bytes of data and {HEADERS} of headers",
    "old TCP (J-A16)": "no congestion window, RFC 793's timer (alpha 0.9, beta 2), everything outstanding "
    "is retransmitted at a timeout, 4.3BSD's acks",
    "new TCP": "slow-start and avoidance (J-A10) from one packet, the integer timer in ticks of 500 ms "
    "(J-A6), doubling (J-A7), one packet per round trip timed, only timeouts detect a loss "
    "(J-A14 is only named)",
}


def old(packets: int, /, **changes: Any) -> ac.Stack:
    """J-A16 with a window of so many packets."""
    return ac.Stack("rfc793", mss=f"{DATA}B", rcv_buf=f"{DATA * packets}B").but(**changes)


def new(packets: int, /, **changes: Any) -> ac.Stack:
    """J-A10 with J-A6 and J-A7 and a window of so many packets."""
    stack = ac.Stack(
        "tahoe",
        estimator=ac.Jacobson88Ticks(),
        recovery="timeout-only",
        window=slow_start(),
        ack="every",
        rtt_sampling="once-per-rtt",
        mss=f"{DATA}B",
        rcv_buf=f"{DATA * packets}B",
        window_scaling=False,
    )
    return stack.but(**changes)


def slow_start(**params: Any) -> Any:
    """J-A10 as in the paper: from one packet, one more for each ack, also where the window is not what
    limits.
    """
    return ac.window.Reno(
        **{
            "initial_window": "segments",
            "initial_segs": 1,
            "byte_counting": False,
            "validate": False,
            **params,
        }
    )


def line(rate: float, delay: float, queue: int, faults: Any = None) -> ac.Link:
    """A link of so many bit/s and seconds one way, with a queue of so many packets."""
    return ac.Link(
        f"{rate:.10g}bit/s", f"{delay:.9f}s", queue=ac.queue.DropTail(limit=f"{queue}packets"), faults=faults
    )
