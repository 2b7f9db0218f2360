"""The path without a queue that loses packets at random or by count (M-F2a), the ten TCPs of table 4 on it,
and what is measured of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import pftk98
from ackclock.reproduce.item import Setting
from ackclock.results import Run
from ackclock.sweep import run_all

ROWS = {
    "FACK-RH": ("fack-rh+per-ack", "every"),
    "SACK": ("sack+no-limited-transmit+per-ack", "every"),
    "Reno": ("reno+no-limited-transmit+per-ack", "every"),
    "NewReno": ("newreno+no-limited-transmit+per-ack", "every"),
    "Tahoe": ("tahoe+no-limited-transmit+per-ack", "every"),
    "FACK-RH DA": ("fack-rh+per-ack", "delayed"),
    "SACK DA": ("sack+no-limited-transmit+per-ack", "delayed"),
    "Reno DA": ("reno+no-limited-transmit+per-ack", "delayed"),
    "NewReno DA": ("newreno+no-limited-transmit+per-ack", "delayed"),
    "Tahoe DA": ("tahoe+no-limited-transmit+per-ack", "delayed"),
}
"""The rows of table 4: preset and acknowledgments."""
RATE = "100Gbit/s"
"""Thousands of times what the model predicts: a packet takes a tenth of a microsecond, and nothing queues for
longer than a burst lasts.
"""
CONSTANT = {"every": 1.31, "delayed": 0.93}
"""C for random loss (M-T1c, M-T1d), for the window to begin with and the time that a run takes."""
STAMPS = 12
"""Bytes that timestamps take of a segment."""
SIZES, DELAYS = (536, 1460, 4312), (0.003, 0.01, 0.03, 0.1, 0.3)
"""Segment sizes (bytes) and one-way delays (seconds) of M-F3; of the delays only the ends are stated."""
CYCLES, WARM = 60, 8
"""Mean intervals between losses in which a run is counted, and before. M-F3 asks for 50 cycles; their number
is a check where it matters.
"""
LEAST = 2000
"""Packets that a run counts at least: at a loss of 0.3 most of the signals are no CA events."""

CHOICES = {
    "loss": "each data packet by itself; acks are not lost",
    "queue": f"none: the link has {RATE}; that the mean queue is far below a packet is a check",
    "one-way delays": "3, 10, 30, 100 and 300 ms; the paper names the ends",
    "round-trip time": "mean of the timestamps' samples (RTTM), segments of the stated size plus 12 bytes "
    "of timestamps",
    "beginning": "slow-start up to the model's window, and 8 mean intervals between losses, are not "
    "counted (M-U1, M-E16)",
    "timer": "ns version 1's: BSD's integer estimator (J-A6), samples in ticks of 100 ms, SRTT + 4 RTTVAR "
    "and two ticks at least, 3 s before "
    "the first sample; a fast retransmission restarts it",
    "delayed acks": "within 100 ms, ns's default",
    "lost retransmissions": "sent again by FACK-RH without a further cut of the window (M-A10; a cut for "
    "each "
    "is the other reading)",
    "growth": "by acks, not by bytes acknowledged (M-A1)",
    "halving": "to whole segments, rounded down (M-A1); the window is held in the round trip of recovery",
    "recovery": "no limited transmit (RFC 3042 is of 2001) but in FACK-RH, whose first two duplicate acks "
    "release a segment (M-A8)",
    "receiver": "its window never limits",
    "p": "p_loss, data packets lost over data packets sent, as measured: losses are independent, and each "
    "counts (section 3.1)",
}


@dataclass(frozen=True)
class Case:
    """One transfer."""

    row: str
    """One of `ROWS`."""
    p: float
    """Loss of the link: each packet with this probability, or with `periodic` every 1/p-th."""
    one_way: float = 0.03
    """Delay, seconds."""
    mss: int = 1460
    seed: int = 1
    periodic: bool = False
    cycles: float = CYCLES
    changes: tuple[tuple[str, Any], ...] = ()
    """Of keys of the stack, such as `("window.whole_segs_left", "false")`."""

    def but(self, **changes: Any) -> Case:
        """The same with something else."""
        return replace(self, **changes)


def window(case: Case) -> float:
    """The window that the model has for a case, packets; at least 2."""
    return max(2.0, CONSTANT[ROWS[case.row][1]] / math.sqrt(case.p))


def seconds(case: Case, packets: float) -> float:
    """Time for so many packets, by the formula with timeouts, with a fifth to spare."""
    b, rtt = (1.0 if ROWS[case.row][1] == "every" else 2.0), 2 * case.one_way
    rate = float(pftk98.throughput(case.p, rtt, rto=max(0.4, 2 * rtt), mss=1.0, b=b)) / 8
    return 1.2 * packets / rate


def scenario(case: Case, workload: Any = None) -> ac.Scenario:
    """The transfer as a scenario. workload: what is sent; without one, as much as the window lets."""
    preset, acks = ROWS[case.row]
    payload = case.mss + STAMPS
    # A window of the receiver that sixteen times the mean does not reach.
    buffer = f"{int(16 * window(case) + 64) * payload}B"
    timer = ac.timer.RestartOnAck(fast_retransmit=True)
    ack = ac.Delayed(ack_delay="100ms") if acks == "delayed" else acks
    stack = ac.Stack(
        preset,
        ack=ack,
        estimator=ac.Jacobson88Ticks(tick="100ms", initial_rto="3s"),
        timer=timer,
        mss=f"{payload}B",
        timestamps=True,
        rcv_buf=buffer,
        snd_buf=buffer,
    )
    loss: Any = (
        {"kind": "periodic-loss", "every": round(1 / case.p)}
        if case.periodic
        else {"kind": "loss", "p": case.p}
    )
    link = ac.Link(RATE, f"{case.one_way * 1e9:.0f}ns", "drop-tail", [{**loss, "of": "data"}])
    counted = seconds(case, max(case.cycles / case.p, LEAST))
    warm = seconds(case, WARM / case.p)
    keys = {
        "window.initial_ssthresh": f"{int(window(case)) * case.mss}B",
        "window.whole_segs_left": "true",
        **dict(case.changes),
    }
    base = ac.Scenario.of(ac.Single(link, rtt="links"), workload or ac.Bulk(), {"tcp": stack}, seed=case.seed)
    times = {
        "duration": f"{warm + counted:.6f}s",
        "measure_from": f"{warm:.6f}s",
        "path.link.queue.limit": "1000000packets",
    }
    return base.but({**times, **{f"stacks.tcp.{key}": value for key, value in keys.items()}})


def measured(case: Case, run: Run) -> dict[str, Any]:
    """What equation (3) needs of a run, and how the losses were signalled (M-U1)."""
    (flow,), link = run.flows.to_pylist(), run.links.to_pylist()[0]
    segments, time = flow["segments_acked"], link["observed"]
    mean = segments / time * (flow["rtt_mean"] or math.nan)
    return {
        "row": case.row,
        "loss": case.p,
        "one_way": case.one_way,
        "mss": case.mss,
        "seed": case.seed,
        "seconds": time,
        "segments": segments,
        "bandwidth": segments * case.mss * 8 / time,
        "rtt": flow["rtt_mean"] or math.nan,
        "window": mean,
        "p": link["dropped_wire"] / link["packets"] if link["packets"] else math.nan,
        "p_ca": flow["ca_events"] / segments if segments else math.nan,
        "ca": flow["ca_events"],
        "non_ca": flow["non_ca_events"],
        "other": flow["other_losses"],
        "recoveries": flow["fast_recoveries"],
        "cuts": flow["window_cuts"],
        "timeouts": flow["timeouts"],
        "queue": link["queue_mean_packets"],
        "longest": link["queue_max_packets"],
    }


def measure(setting: Setting, cases: Sequence[Case], label: str) -> list[dict[str, Any]]:
    """Simulates the cases and measures each."""
    runs = run_all(
        [scenario(c) for c in cases],
        workers=setting.workers,
        progress=lambda share, _: setting.progress(share, label),
    )
    return [measured(c, run) for c, run in zip(cases, runs, strict=True)]


def grid(low: float, high: float, n: int) -> list[float]:
    """Loss ratios, spaced logarithmically, three digits each."""
    return [float(f"{p:.3g}") for p in np.geomspace(low, high, n)]


def table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Runs as a table."""
    return pa.Table.from_pylist([dict(r) for r in rows])
