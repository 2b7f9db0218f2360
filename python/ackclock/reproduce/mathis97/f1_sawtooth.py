from __future__ import annotations

import itertools
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, item, six_digits
from ackclock.reproduce.mathis97 import lossy
from ackclock.results import Run
from ackclock.sweep import run_all

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
DRAWN = 1e-3
ROW = "FACK-RH"
UNHINDERED = (
    ("window.whole_segs_left", "false"),
    ("recovery.whole_segs", "false"),
    ("window.repair_segs", "1"),
)
"""As the derivation has it: half is half, and the window grows in every round trip."""
CHOICES = {
    **lossy.CHOICES,
    "TCP": "FACK with rate-halving, an ack for each packet",
    "loss": "every 1/p-th data packet of the link, so that a cycle is 1/p packets long",
    "peak": "the largest window of a cycle, mean over the cycles",
    "period": "from one CA event to the next, in round trips",
}


def teeth(case: lossy.Case, run: Run) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Peaks and periods of a run, and its window over time in round trips."""
    episodes, samples = run.traces["episodes"].to_pylist(), run.traces["samples"]
    rtt = 2 * case.one_way
    (flow,) = run.flows.to_pylist()
    sender = 2 * flow["flow"] + (flow["sender"] == "server")
    time, cwnd = (
        np.array(samples["time"]),
        np.array(samples["cwnd"].to_numpy(zero_copy_only=False), float) / case.mss,
    )
    mine = np.array(samples["connection"]) == sender
    time, cwnd = time[mine], cwnd[mine]
    begun = [
        e["begin"]
        for e in episodes
        if e["connection"] == sender and e["begin"] >= (flow["measured_from"] or 0.0)
    ]
    peaks = [np.nanmax(cwnd[(time >= a) & (time < b)]) for a, b in itertools.pairwise(begun)]
    period = float(np.mean(np.diff(begun))) / rtt
    expected = float(m.peak_window(case.p))
    row = {
        "p": case.p,
        "cycles": len(peaks),
        "peak": float(np.mean(peaks)),
        "M-E1": expected,
        "period": period,
        "half_of_M-E1": expected / 2,
    }
    return row, time / rtt, cwnd


@item("M-F1", kind="CF, SIM", title="The sawtooth of periodic loss", choices=CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Every 1/p-th packet is lost: peak and period of the window."""
    cases = [lossy.Case(ROW, p, periodic=True, cycles=20 if p > 2e-4 else 6) for p in LOSSES]
    plain = [c.but(changes=UNHINDERED) for c in cases if c.p >= 1e-3]
    scenarios = [lossy.scenario(c).but({"trace": '["samples", "episodes"]'}) for c in [*cases, *plain]]
    runs = run_all(
        scenarios, workers=setting.workers, progress=lambda share, _: setting.progress(share, "loss by count")
    )
    found = [teeth(case, run) for case, run in zip(cases, runs[: len(cases)], strict=True)]
    rows = [row for row, _, _ in found]
    w = float(m.peak_window(1e-3))
    checks = [six_digits("packets of a cycle, 3/8 W^2, at p = 0.001", 0.375 * w * w, 1000)]
    for row in rows:
        checks.append(
            at_most(
                f"p = {row['p']:g}: difference of the measured peak from M-E1 (%)",
                100 * abs(row["peak"] / row["M-E1"] - 1),
                5,
                "at most",
            )
        )
        checks.append(
            at_most(
                f"p = {row['p']:g}: difference of the period from W/2 (round trips)",
                abs(row["period"] - row["half_of_M-E1"]),
                1,
                "at most",
            )
        )
    ideal = [teeth(case, run)[0] for case, run in zip(plain, runs[len(cases) :], strict=True)]
    _, time, cwnd = found[LOSSES.index(DRAWN)]
    start = int(np.argmax(time > time[-1] - 4.2 * w / 2))
    fig, axes = style.figure(
        "The sawtooth of periodic loss",
        f"FACK-RH, an ack for each packet, every {1 / DRAWN:.0f}th packet lost; W = {w:.1f} packets",
    )
    with mpl.rc_context(style.SETTINGS):
        axes.plot(time[start:] - time[start], cwnd[start:], **style.line(0))
        for level, name in ((w, "W"), (w / 2, "W/2")):
            axes.axhline(level, color="#555555", linewidth=1, linestyle=(0, (4, 2)))
            axes.annotate(
                name,
                (1, level),
                (4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
            )
        axes.set(
            xlim=(0, 4 * w / 2),
            ylim=(0, 1.2 * w),
            xlabel="time (round trips)",
            ylabel="congestion window (packets)",
        )
        axes.grid(True, which="major")
    notes = [
        (
            f"p = {r['p']:g}: peak {r['peak']:.2f} of {r['M-E1']:.2f}, period {r['period']:.2f} of "
            f"{r['half_of_M-E1']:.2f}, {r['cycles']} cycles"
        )
        for r in rows
    ]
    notes += [
        (
            f"p = {r['p']:g}, window neither rounded nor held in recovery: peak {r['peak']:.2f}, period "
            f"{r['period']:.2f}"
        )
        for r in ideal
    ]
    return Outcome(checks, {"cycles": pa.Table.from_pylist(rows)}, {"sawtooth": fig}, notes)
