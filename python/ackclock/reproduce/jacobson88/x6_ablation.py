from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.receivers import resent

WHOLE = testbed.WINDOW // testbed.DATA
"""Packets that a sender without slow start begins with: the receiver's window."""
SEGMENTS = {"initial_window": "segments", "byte_counting": False}
WINDOWS = {
    (False, False): "receiver-only",
    (True, False): ac.window.Reno(phases="slow-start", initial_segs=1, **SEGMENTS),
    (False, True): ac.window.Reno(phases="avoidance", initial_segs=WHOLE, **SEGMENTS),
    (True, True): ac.window.Reno(initial_segs=1, **SEGMENTS),
}
"""Windows by slow start and avoidance (J-A2, J-A9, J-A10)."""
NAMES = {
    (False, False): "neither",
    (True, False): "slow start",
    (False, True): "avoidance",
    (True, True): "both",
}
TIMERS = {"J-A6": {}, "J-A3": {"estimator": ac.Rfc793(min_rto="500ms")}}
ACKS = {"4.3+BSD": testbed.new_acks(), "4.3BSD": testbed.old_acks()}
DELAYS = (10, 30, 50)


@item(
    "J-X6",
    kind="SIM",
    title="Slow start and congestion avoidance are separate",
    choices={
        **four.CHOICES,
        "grid": "slow start, avoidance, timer (J-A6 in ticks of 500 ms or J-A3) and receiver, each on or "
        "off by a switch of its own; Karn's rule and doubling backoff throughout, no fast "
        "retransmit; means over 10, 30 and 50 ms one way, 170 s",
        "without slow start": "the window of the receiver to begin with; with avoidance alone half of it "
        "after a timeout",
        "gate": "the ordering with timer J-A6, mean of both receivers; the other cells are reported",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The share of retransmissions in each cell of the grid."""

    def scenario(timer: str, acks: str, switches: tuple[bool, bool], delay: int) -> ac.Scenario:
        stack = testbed.new_tcp(window=WINDOWS[switches], ack=ACKS[acks], **TIMERS[timer])
        return testbed.conversations(
            testbed.four_conversations(f"{delay}ms"), {"tcp": stack}, ["tcp"] * 4, seconds=four.PLOTTED
        )

    rows = []
    cells = list(itertools.product(TIMERS, ACKS, WINDOWS))
    runs = iter(setting.run_all([scenario(*cell, delay) for cell in cells for delay in DELAYS], "J-X6"))
    for timer, acks, switches in cells:
        of_cell = [next(runs) for _ in DELAYS]
        shares = [resent(run.flows.to_pylist()) for run in of_cell]
        delivered = [four.Totals.of(run, four.PLOTTED).delivered for run in of_cell]
        row = {"timer": timer, "receiver": acks, "slow_start": switches[0], "avoidance": switches[1]}
        rows.append(
            {
                **row,
                "window": NAMES[switches],
                "share": float(np.mean(shares)),
                "KBps": float(np.mean(delivered)),
            }
        )

    def share(name: str, timer: str, receivers: list[str]) -> float:
        return float(
            np.mean(
                [
                    r["share"]
                    for r in rows
                    if (r["window"], r["timer"]) == (name, timer) and r["receiver"] in receivers
                ]
            )
        )

    def ordered(values: dict[str, float]) -> bool:
        one = [values["slow start"], values["avoidance"]]
        return values["neither"] > max(one) and min(one) > values["both"]

    gate = {name: share(name, "J-A6", list(ACKS)) for name in NAMES.values()}
    got = ", ".join(f"{name} {100 * v:.1f} %" for name, v in gate.items())
    checks = [
        stated("stacks from independent switches", f"{len(rows)} cells ran", len(rows) == 16, "16 cells"),
        stated("share of retransmissions", got, ordered(gate), "neither > either one > both"),
    ]
    notes = []
    for timer, acks in itertools.product(TIMERS, ACKS):
        values = {name: share(name, timer, [acks]) for name in NAMES.values()}
        text = ", ".join(f"{name} {100 * v:.1f} %" for name, v in values.items())
        notes.append(
            f"Timer {timer}, receiver {acks}: {text}: the ordering "
            f"{'holds' if ordered(values) else 'does not hold'}."
        )
    return Outcome(checks, {"cells": pa.Table.from_pylist(rows)}, {}, notes)
