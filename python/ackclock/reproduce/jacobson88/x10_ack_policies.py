from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Outcome, Setting, between, item, stated
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.receivers import burst, packets_per_ack, resent

POLICIES = {
    "every packet": "every",
    "every second packet": testbed.new_acks(),
    "35 % or 200 ms": testbed.old_acks(),
}
OTHERS = {"every fourth": ac.Delayed(ack_every_segs=4), "every eighth": ac.Delayed(ack_every_segs=8)}
OTHERS["35 % or 200 ms each"] = ac.Bsd43(free_running=False, hold_out_of_order=True)
"""Receivers beside those of the paper; the last one has a timer for each connection."""
DELAYS, FULL_DELAYS = (10, 20, 30, 40, 50), tuple(range(5, 81, 5))
STEPS = {"initial_window": "segments", "initial_segs": 1}
GROWTH = {
    "per acked packet": ac.window.Reno(**STEPS, byte_counting=True, limit_segs=1000),
    "avoidance per acked packet": ac.window.Reno(**STEPS, byte_counting=True, limit_segs=1),
    "per ack": ac.window.Reno(**STEPS, byte_counting=False),
}
RECOVERIES = {
    "timeouts only": "timeout-only",
    "fast retransmit": ac.recovery.Tahoe(limited_transmit=False, go_back_n=False),
}


def measured(delays: tuple[int, ...], workers: int | None = None, **changes: Any) -> dict[str, float]:
    """Four conversations with the same receivers over each delay: share of packets dropped and retransmitted,
    packets per ack and burst, on average.
    """
    stacks = {"tcp": testbed.new_tcp(**changes)}
    wanted = [
        testbed.conversations(testbed.four_conversations(f"{delay}ms"), stacks, ["tcp"] * 4, trace=True)
        for delay in delays
    ]
    loss, again, per_ack, bursts = [], [], [], []
    for run in ac.sweep.run_all(wanted, workers=workers):
        link = next(row for row in run.links.to_pylist() if row["name"] == "bottleneck")
        loss.append(link["dropped_queue"] / link["packets_offered"])
        again.append(resent(run.flows.to_pylist()))
        per_ack += [packets_per_ack(run, n) for n in range(4)]
        bursts += [burst(t) for t in testbed.connections(run).values()]
    return {
        "loss": float(np.mean(loss)),
        "resent": float(np.mean(again)),
        "packets_per_ack": float(np.mean(per_ack)),
        "burst": float(np.mean(bursts)),
    }


@item(
    "J-X10",
    kind="SIM",
    title="What the receiver's ack policy does to loss",
    choices={
        **four.CHOICES,
        **testbed.NEW_CHOICES,
        "growth per acked packet": "slow start and avoidance by bytes acknowledged, without a limit per ack",
        "old receiver": "a free-running 200 ms clock, for which segments out of order wait as well, as in "
        "4.3BSD",
        "delays": "loss is the share of packets that the bottleneck drops, the mean over one-way delays of "
        "10 to 50 ms (5 to 80 ms with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Three receivers, growth of the window by acks and by packets, with and without fast retransmit."""
    rows = []
    receivers = {**POLICIES, **OTHERS}
    cases = [(r, g, p) for r in RECOVERIES for g in GROWTH for p in receivers]
    for i, (recovery, growth, policy) in enumerate(cases):
        setting.progress(i / len(cases), "J-X10")
        changes = {"recovery": RECOVERIES[recovery], "window": GROWTH[growth], "ack": receivers[policy]}
        values = measured(FULL_DELAYS if setting.full else DELAYS, setting.workers, **changes)
        rows.append({"recovery": recovery, "growth": growth, "receiver": policy, **values})

    def losses(recovery: str, growth: str) -> list[float]:
        return [
            r["loss"]
            for r in rows
            if (r["recovery"], r["growth"]) == (recovery, growth) and r["receiver"] in POLICIES
        ]

    by_packet = losses("timeouts only", "per acked packet")
    old = [r["packets_per_ack"] for r in rows if r["receiver"] == "35 % or 200 ms"]
    checks = [
        stated(
            "loss (%) by packets per ack, growth per acked packet",
            ", ".join(f"{100 * v:.2f}" for v in by_packet),
            bool((np.diff(by_packet) >= 0).all()),
            "non-decreasing",
        ),
        between("packets per ack of the old receiver", old, 4, 8),
    ]
    notes = []
    for recovery in RECOVERIES:
        for growth in GROWTH:
            values = losses(recovery, growth)
            steps = np.diff(values)
            way = (
                "rises"
                if (steps > 0).all()
                else "falls"
                if (steps < 0).all()
                else "neither rises nor falls all the way"
            )
            notes.append(
                f"{recovery}, growth {growth}: loss {', '.join(f'{100 * v:.2f}' for v in values)} %: "
                f"it {way} with packets per ack."
            )
    for r in rows:
        if r["receiver"] in OTHERS and (r["recovery"], r["growth"]) == ("timeouts only", "per acked packet"):
            notes.append(
                f"Acks of {r['receiver']}, growth per acked packet: {r['packets_per_ack']:.1f} packets "
                f"per ack, loss {100 * r['loss']:.2f} %."
            )
    notes.append(
        "Receivers: "
        + ", ".join(POLICIES)
        + f"; packets per ack of the last {min(old):.1f} to {max(old):.1f} (paper: 5-7)."
    )
    return Outcome(checks, {"cases": pa.Table.from_pylist(rows)}, {}, notes)
