"""The TCPs of the simulations with queues, as implementations of 1997 were, and what they have in common."""

from __future__ import annotations

from typing import Any

import ackclock as ac

HEADERS = 52
"""Bytes of headers: 40, and 12 for timestamps, from which round-trip times come (RTTM, M-U1)."""
TICK = "100ms"

CHOICES = {
    "packets": f"sizes are those on the wire, {HEADERS} bytes of headers included",
    "timer": f"ns version 1's published defaults: BSD's integer estimator (J-A6), samples in ticks of "
    f"{TICK}, SRTT + 4 RTTVAR and two ticks "
    "at least, 3 s before the first sample, no coarse countdown; a fast retransmission restarts it",
    "delayed acks": "within 100 ms, ns's default",
    "window": "one segment to begin with, growth by acks, slow-start without bound; halves are whole "
    "segments, rounded down (M-A1); receiver's window 16 MB",
    "recovery": "no limited transmit, which came in 2001, but in FACK-RH, whose first duplicate acks "
    "release a segment (M-A8)",
    "round-trip times": "from timestamps, a sample for each ack of new data",
}


def tcp(preset: str, packet: int, **changes: Any) -> ac.Stack:
    """The stack of a preset with packets of so many bytes and delayed acks."""
    stack = ac.Stack(
        preset if preset == "fack-rh" else f"{preset}+no-limited-transmit",
        mss=f"{packet - HEADERS}B",
        estimator=ac.Jacobson88Ticks(tick=TICK, initial_rto="3s"),
        timer=ac.timer.RestartOnAck(fast_retransmit=True),
        window=window(),
        ack=ac.Delayed(ack_delay="100ms"),
        timestamps=True,
        rcv_buf="16MiB",
        snd_buf="16MiB",
    )
    return stack.but(**changes)


def window(**params: Any) -> Any:
    """Slow-start from one segment and congestion avoidance."""
    return ac.window.Reno(
        **{
            "initial_window": "segments",
            "initial_segs": 1,
            "whole_segs_left": True,
            "byte_counting": False,
            **params,
        }
    )
