from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import jacobson88 as j
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, six_digits, within
from ackclock.reproduce.jacobson88 import senders

WINDOWS = (8, 16)
RATES = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05)
ROUND_TRIP = 0.5
"""Seconds; long beside the time that eight packets take, so that the window is the limit."""
COUNTDOWNS = {"restart-on-ack": "restarted by each ack", "precise": "from sending"}


def lost_share(setting: Setting, window: int, timer: str) -> list[float]:
    """Share of the throughput of a loss-free sender that damage costs, at each of `RATES`."""
    seconds = 30_000 if setting.full else 3000
    stack = senders.old(window, estimator=ac.Rfc793(min_rto="0s"), timer=timer, ack="every")

    def scenario(p: float) -> ac.Scenario:
        path = ac.Single(
            ac.Link(
                "10Mbit/s", f"{ROUND_TRIP / 2}s", faults=[ac.fault.Corrupt(p=p, of="data")] if p else None
            )
        )
        return ac.Scenario.of(path, ac.Bulk(flows=4), {"old": stack}, duration=f"{seconds}s")

    runs = setting.run_all([scenario(p) for p in (0.0, *RATES)], "J-N4")
    whole, *delivered = (float(np.mean(run.flows["bytes_delivered"].to_numpy())) for run in runs)
    return [1 - d / whole for d in delivered]


@item(
    "J-N4",
    kind="CF, SIM",
    title="What damaged packets cost a sender with RFC 793's timer",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "old TCP (J-A16)")},
        "acks": "one for each packet, so that the window is never short of acks",
        "timer": "no floor, so that a timeout is two round trips; restarted by each ack (from sending in "
        "the table)",
        "path": f"10 Mbit/s and a round-trip time of {ROUND_TRIP:g} s: the window is the limit; data "
        "packets are damaged independently",
        "duration": "4 connections for 3000 s (30,000 s with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """J-E8 and J-E9 at the paper's points, and the sender itself."""
    found = {(w, t): lost_share(setting, w, t) for t in COUNTDOWNS for w in WINDOWS}
    one = RATES.index(0.01)
    checks = [
        six_digits(
            "share lost at w = 8, p = 1 % and 5 %",
            1 - j.damage_goodput([0.01, 0.05], 8),
            [0.137931, 0.444444],
        ),
        six_digits("loss threshold at w = 8", j.loss_threshold(8), 0.046875),
        within(
            "share lost by the simulated sender at w = 8, p = 1 % (%)",
            100 * found[8, "restart-on-ack"][one],
            14,
            5,
        ),
    ]
    fig, axes = style.figure(
        "What damaged packets cost",
        "Lines: 1 - 1/(1 + 2pw); marks: simulated senders with RFC 793's timer and no congestion window",
    )
    p = np.linspace(0, 0.055, 100)
    for i, w in enumerate(WINDOWS):
        axes.plot(100 * p, 100 * (1 - j.damage_goodput(p, w)), label=f"{w} packets", **style.line(i))
        for marker, (t, words) in zip("ox", COUNTDOWNS.items(), strict=True):
            marks = {
                "color": style.COLOURS[i],
                "markersize": 6,
                "fillstyle": "none",
                "label": f"{w} packets, timeout {words}",
            }
            axes.plot(100 * np.array(RATES), 100 * np.array(found[w, t]), marker, **marks)
    axes.set(xlabel="packets damaged (%)", ylabel="throughput lost (%)", xlim=(0, None), ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right", fontsize=9)
    rows = [
        {"window": w, "countdown": t, "p": q, "lost": x, "J-E8": float(1 - j.damage_goodput(q, w))}
        for (w, t), shares in found.items()
        for q, x in zip(RATES, shares, strict=True)
    ]
    notes = [
        f"w = {w}, timeout {COUNTDOWNS[t]}: "
        + ", ".join(f"p = {100 * q:g} %: {100 * x:.1f} %" for q, x in zip(RATES, shares, strict=True))
        for (w, t), shares in found.items()
    ]
    return Outcome(checks, {"shares": pa.Table.from_pylist(rows)}, {"lost": fig}, notes)
