from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock._core import rate_intervals
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import senders

RATE, DELAY, QUEUE = 56_000, 0.05, 10
PACKET_TIME = 8 * senders.PACKET / RATE
ALPHA = 10.0
"""Packets for each packet per second (J-E15)."""
STEP = PACKET_TIME**2 / ALPHA
"""The decrement (s) that changes the interval of the path's own rate as much as footnote 13's rule does."""
START, FLOOR = 2 * PACKET_TIME, 0.005
"""Interval to begin with, half of the path's rate, and the shortest one, fifteen times it."""
WARM, END, LOOK = 60, 200, 2
"""Seconds: of the start, of the run, and between looks."""
QUEUES, STEPS = (5, 10, 50), (0.5, 1.0, 2.0)
CLIMB = 60
"""Seconds of growth without loss."""


def additive(start: float, floor: float = FLOOR) -> Any:
    """Footnote 13's rule."""
    return ac.rate.Additive(alpha=f"{ALPHA}s", interval=f"{start:.9f}s", min_interval=f"{floor:.9f}s")


def decrement(step: float) -> Any:
    """The wrong rule."""
    return ac.rate.ConstantDecrement(step=f"{step:.9f}s", interval=f"{START:.9f}s", min_interval=f"{FLOOR}s")


def sent(setting: Setting, control: Any, link: ac.Link, times: np.ndarray) -> tuple[np.ndarray, int]:
    """Packets sent until each of `times`, and those dropped until the last.

    It is the same run, cut off there each time: no table records when a datagram was sent.
    """
    source = ac.UdpRate(bytes=f"{senders.PACKET}B", control=control)
    runs = setting.run_all(
        [ac.Scenario.of(ac.Single(link), source, {"none": "sack"}, duration=f"{t:.6f}s") for t in times],
        "J-X3",
    )
    books = [run.links.to_pylist()[0] for run in runs]
    return np.array([b["packets_offered"] for b in books]), books[-1]["dropped_queue"]


def variation(
    setting: Setting, control: Any, queue: int, look: float = LOOK
) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Mean, coefficient of variation and share of drops of the rate after the start; and the rate at its
    times.
    """
    times = np.arange(WARM, END + look / 2, look)
    counts, dropped = sent(setting, control, senders.line(RATE, DELAY, queue), times)
    rate = np.diff(counts) / look
    return (
        {
            "mean": float(rate.mean()),
            "variation": float(rate.std() / rate.mean()),
            "dropped": dropped / int(counts[-1]),
        },
        times[1:],
        rate,
    )


def fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and R^2 of a straight line."""
    slope, base = np.polyfit(x, y, 1)
    return float(slope), float(1 - ((y - base - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


@item(
    "J-X3",
    kind="CF, SIM",
    title="Rate-based congestion avoidance",
    choices={
        "alpha": f"{ALPHA:g} packets for each packet per second (J-E15)",
        "loss signal": "the receiver reports each gap in the numbers of the datagrams at once, which "
        "counts once for all under way (J-A15)",
        "linear": "in packets sent, as the rule is applied to each; in time the rate grows exponentially, "
        "as each packet comes sooner than the last",
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way, a queue of {QUEUE} packets of "
        f"{senders.PACKET} bytes; 10 Mbit/s without loss",
        "constant decrement": f"{1e3 * STEP:.2g} ms, which at the path's own rate is what footnote 13's "
        "rule does; half and twice in the table",
        "rate": f"packets sent in {LOOK} s, from {WARM} s to {END} s; both start at half the path's rate; "
        f"at least {1e3 * FLOOR:g} ms apart",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Growth without loss, and both rules against the same queue."""
    rule = 1e9 / np.array(
        rate_intervals("additive", [("alpha", f"{ALPHA}s"), ("interval", "1s")], 500), float
    )
    slope, r2 = fit(np.arange(rule.size), rule)
    times = np.arange(2.0, CLIMB + 1)
    counts, lost = sent(setting, additive(1.0, floor=1e-6), senders.line(10e6, DELAY, 1000), times)
    grown_slope, grown_r2 = fit((counts[1:] + counts[:-1]) / 2, np.diff(counts))
    rows = []
    for i, queue in enumerate(QUEUES):
        rows.append(
            {
                "queue": queue,
                "rule": "additive",
                "step over matched": None,
                **variation(setting, additive(START), queue)[0],
            }
        )
        rows += [
            {
                "queue": queue,
                "rule": "constant decrement",
                "step over matched": k,
                **variation(setting, decrement(k * STEP), queue)[0],
            }
            for k in STEPS
        ]
        setting.progress((i + 1) / (len(QUEUES) + 1), "J-X3")
    good, bad = (
        next(r for r in rows if r["queue"] == QUEUE and r["step over matched"] == k) for k in (None, 1.0)
    )
    checks = [
        stated(
            "rule: rate over packets sent",
            f"slope {slope:.6g}, R^2 {r2:.6f}",
            abs(slope - 1 / ALPHA) < 1e-6 and r2 > 0.999,
            "R^2 > 0.999",
        ),
        stated(
            "source without loss: the same",
            f"slope {grown_slope:.4g}, R^2 {grown_r2:.6f}",
            lost == 0 and grown_r2 > 0.999,
            "R^2 > 0.999",
        ),
        stated(
            "variation of the rate is smaller than with a constant decrement",
            f"{good['variation']:.3f} and {bad['variation']:.3f}",
            good["variation"] < bad["variation"],
        ),
    ]
    notes = [
        f"queue of {r['queue']}, {r['rule']}"
        + (f" of {1e3 * STEP * r['step over matched']:.2g} ms" if r["step over matched"] else "")
        + (
            f": {r['mean']:.1f} packets/s, coefficient of variation {r['variation']:.3f}, "
            f"{100 * r['dropped']:.1f} % dropped"
        )
        for r in rows
    ]
    notes.append(
        "Where a report comes late (a long queue) or the decrement is large, it runs away to its "
        "shortest interval and stays, at 93 % of loss"
    )
    return Outcome(checks, {"variation": pa.Table.from_pylist(rows)}, {"rate": picture(setting)}, notes)


def picture(setting: Setting) -> Figure:
    """The rate of both rules over time."""
    fig, axes = style.figure(
        "Two rules for a source without a window",
        f"{RATE / 1e3:g} kbit/s, queue of {QUEUE} packets; packets sent in each second",
    )
    for i, (name, control) in enumerate(
        {
            "rate grows linearly (footnote 13)": additive(START),
            "interval shrinks by a constant": decrement(STEP),
        }.items()
    ):
        _, times, rate = variation(setting, control, QUEUE, look=1)
        axes.step(times - 1, rate, where="post", label=name, **style.line(i))
    axes.axhline(
        1 / PACKET_TIME, color="#999999", linewidth=1, linestyle=(0, (2, 2)), label="rate of the path"
    )
    axes.set(xlabel="time (s)", ylabel="packets per second", xlim=(WARM, END), ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right", fontsize=9)
    return fig
