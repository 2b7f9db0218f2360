from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import jacobson88 as j
from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Timer
from ackclock.plot import timers as draw
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated
from ackclock.reproduce.jacobson88 import timers

WEIGHTS = (2, 4)
SAMPLINGS = {"every-segment": "every packet timed", "once-per-rtt": "one packet per round trip timed"}
COUNTDOWNS = {"precise": "from sending", "restart-on-ack": "again in full at each ack"}
PACKETS = 1024
ROUNDS = 22
"""Doublings after which the ratio has converged to seven digits; from a first of 1 ms, so that the last is
below an hour, the longest timeout.
"""


def weighted(weight: int) -> Timer:
    """J-A4 with so many deviations."""
    return Timer("jacobson88", (*timers.REAL.params, ("weight", str(weight))))


def idealised() -> list[Check]:
    """J-E17 from the estimator that connections run: the first sample sets a = 1, v = 0.5, and each round
    trip doubles.
    """

    def doubling(weight: int, first: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        rtt = first * 2.0 ** np.arange(rounds)
        return weighted(weight).rows({"time": np.cumsum(rtt), "rtt": rtt})["rto"], rtt

    rto, _ = doubling(4, 1.0, 5)
    ends = [doubling(w, 1e-3, ROUNDS - 1 if w == 4 else ROUNDS) for w in (4, 2)]
    return [
        six_digits("R + 4V and R + 2V over R, unfiltered", j.doubling_margin([4, 2]), [3, 2]),
        six_digits("a + 4v after rounds 0 to 4, filtered", rto, [3, 3.625, 6.23438, 12.377, 25.2712]),
        six_digits(
            "(a + 4v)/R and (a + 2v)/R in the end, filtered",
            [r[-1] / rtt[-1] for r, rtt in ends],
            [1.64444, 0.933333],
        ),
    ]


def line(setting: Setting) -> list[dict[str, Any]]:
    """A first connection over the slow line, by weight, sampling and countdown."""
    labels = {f"{w} {s} {c}": (w, s, c) for w, s, c in product(WEIGHTS, SAMPLINGS, COUNTDOWNS)}
    stacks = {
        label: ac.Stack(
            "tahoe+ack-every+no-sack",
            estimator=ac.estimator.Jacobson88(weight=w, min_rto="1s"),
            timer=c,
            rtt_sampling=s,
            mss="512B",
            rcv_buf="16384B",
            window_scaling=False,
        )
        for label, (w, s, c) in labels.items()
    }
    path = ac.Single(ac.Link("9600bit/s", "10ms", queue=ac.queue.DropTail(limit="100packets")))
    run = ac.simulate(path, ac.Bulk(flows=1), stacks, duration="120s", workers=setting.workers)
    names = ("spurious_timeouts", "timeouts", "retransmitted_segments", "data_segments_sent", "rtt_max")
    return [
        {
            **dict(zip(("weight", "sampling", "countdown"), labels[f["stack"]], strict=True)),
            **{n: f[n] for n in names},
        }
        for f in run.flows.to_pylist()
    ]


@item(
    "J-X2",
    kind="MODEL, SIM",
    title="R + 2V against R + 4V in slow-start on a slow line",
    choices={
        "sampling": "both readings: every packet timed, and one packet per round trip timed; each is checked",
        "countdown": "from when the oldest packet was sent, as the paper's argument has it (a round-trip "
        "time against the timeout); 4.3BSD's, which every ack restarts, is reported",
        "model": f"{PACKETS} packets of slow-start where only the bottleneck takes time; the first sample "
        "sets a = m, v = m/2; no floor",
        "line": "9600 bit/s, 10 ms, 552-byte packets, queue of 100 packets, window of 16 KB, an ack for "
        "every packet, 120 s",
        "timer on the line": "real arithmetic, at least 1 s, 3 s before the first sample, which the SYN "
        "brings",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Spurious timeouts of both weights in the model and on the line, for both samplings."""
    checks, rows = idealised(), []
    for s, label in SAMPLINGS.items():
        series = round_trips.slow_start(PACKETS, once=s == "once-per-rtt")
        counts = {w: timers.spurious(weighted(w), series) for w in WEIGHTS}
        rows += [
            {"weight": w, "sampling": s, "countdown": "model", "spurious_timeouts": n}
            for w, n in counts.items()
        ]
        checks.append(more(f"model, {label}: spurious timeouts with weights 2 and 4", counts))
    found = line(setting)
    for s, label in SAMPLINGS.items():
        counts = {
            r["weight"]: r["spurious_timeouts"]
            for r in found
            if r["sampling"] == s and r["countdown"] == "precise"
        }
        checks.append(more(f"9600 bit/s, {label}: spurious timeouts with weights 2 and 4", counts))
    notes = [
        (
            f"9600 bit/s, weight {r['weight']}, {SAMPLINGS[r['sampling']]}, timeout counted "
            f"{COUNTDOWNS[r['countdown']]}: {r['spurious_timeouts']} spurious timeouts, "
            f"{r['retransmitted_segments']} of {r['data_segments_sent']} packets resent"
        )
        for r in found
    ]
    notes.append(
        "An ack for each packet time restarts 4.3BSD's countdown before it can end: no weight has a "
        "spurious timeout then"
    )
    return Outcome(checks, {"counts": pa.Table.from_pylist(rows + found)}, {"rto": picture()}, notes)


def more(name: str, counts: dict[int, int]) -> Check:
    """At least one with weight 2, and more than with weight 4."""
    return stated(
        name,
        f"{counts[2]} and {counts[4]}",
        counts[2] >= 1 and counts[2] > counts[4],
        "at least 1, and more with 2",
    )


def picture() -> Figure:
    """The model's round-trip times and timeouts, every packet timed above and one per round trip below."""
    series = round_trips.slow_start(40)
    once = round_trips.slow_start(40, once=True)
    made = {f"mean + {w} deviations": timers.before(weighted(w).rows(series)) for w in WEIGHTS}
    fig = draw(
        series["time"],
        series["rtt"],
        made,
        title="Slow-start on a slow line: two deviations or four",
        subtitle="Above, every packet is timed; below, one per round trip",
        zoom=(1, 40),
        unit="packet times",
    )
    below = fig.axes[1]
    for curve, w in zip(below.lines[1:], WEIGHTS, strict=True):
        curve.set_ydata(timers.before(weighted(w).rows(once)))
        curve.set_drawstyle("steps-post")
    below.relim()
    below.autoscale(axis="y")
    for patch in list(fig.axes[0].patches):
        patch.remove()
    return fig
