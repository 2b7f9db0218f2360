from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, exactly, item, stated
from ackclock.reproduce.jacobson88 import senders, testbed
from ackclock.results import Run

RATE, DELAY = 32_000, 0.01
"""The path between LBL and Berkeley, and a choice for 400 yards and two IMPs."""
WINDOW = 32
BUFFERS = (50, 200, 500)
FLOWS = (1, 2, 4, 8, 16, 24, 32, 48)
OLD, DOUBLES, STAYS, NEW = "old TCP", "old TCP that doubles", "old TCP whose timeout stays", "new TCP"
LEGEND = {
    OLD: "old TCP, backoff of 4.3BSD",
    DOUBLES: "old TCP, timeout doubles",
    STAYS: "old TCP, constant timeout",
    NEW: "new TCP",
}
COLLAPSED, HEALTHY = 0.05, 0.8


def scenario(buffer: int, flows: int, seconds: int) -> ac.Scenario:
    """So many transfers with each of the senders."""
    stacks = {
        OLD: senders.old(
            WINDOW,
            backoff=ac.backoff.Bsd43Table(max_timeout="30s"),
            estimator=testbed.old_estimator(),
            karn_samples=True,
            timer=ac.timer.RestartOnAck(heartbeat="500ms"),
        ),
        DOUBLES: senders.old(WINDOW, karn_samples=True),
        STAYS: senders.old(WINDOW, backoff="none", karn_samples=True),
        NEW: senders.new(WINDOW),
    }
    path = ac.Single(senders.line(RATE, DELAY, buffer))
    return ac.Scenario.of(path, ac.Bulk(flows=flows, spread="5s"), stacks, duration=f"{seconds}s")


def goodput(run: Run, seconds: int) -> dict[str, float]:
    """Share of the link's capacity that arrives as data which was not there before, by sender."""
    most = RATE / 8 * senders.DATA / senders.PACKET * seconds
    delivered = {
        name: run.flows.filter(pa.compute.equal(run.flows["stack"], name))["bytes_delivered"]
        for name in (OLD, DOUBLES, STAYS, NEW)
    }
    return {name: float(np.sum(d.to_numpy())) / most for name, d in delivered.items()}


@item(
    "J-N1",
    kind="SIM",
    title="The first collapse: a demonstrator",
    choices={
        **senders.CHOICES,
        "old TCP here": "as in J-F8, which decides: samples in ticks of 500 ms, none of copies, timeouts "
        "of 1 to "
        "30 s, and the table of backoffs of 4.3BSD; beside it one that doubles, up to 64 times, and one "
        "that does "
        "not back off, so that its timeout stays what it was before the queue grew",
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way, one queue that all share; "
        f"{', '.join(map(str, BUFFERS))} packets, which all decide",
        "load": f"1 to {FLOWS[-1]} transfers without end, windows of {WINDOW} packets (16 KB), begun "
        "within 5 s; 1200 s (6000 s with --full)",
        "goodput": "data that arrives for the first time, over what the link can carry without headers",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Goodput over the number of transfers, for each buffer."""
    rows: list[dict[str, Any]] = []
    seconds = 6000 if setting.full else 1200
    points = [(buffer, flows) for buffer in BUFFERS for flows in FLOWS]
    for (buffer, flows), run in zip(
        points, setting.run_all([scenario(*point, seconds) for point in points], "J-N1"), strict=True
    ):
        rows += [
            {"buffer": buffer, "flows": flows, "stack": name, "goodput": g}
            for name, g in goodput(run, seconds).items()
        ]
    at = {(r["buffer"], r["flows"], r["stack"]): r["goodput"] for r in rows}
    both = [p for p in points if at[(*p, OLD)] < COLLAPSED and at[(*p, NEW)] > HEALTHY]
    least = min(points, key=lambda p: at[(*p, OLD)])
    shown = (
        f"at {', '.join(f'{n} transfers and {b} packets' for b, n in both) or 'no load'}; least at "
        f"{least[1]} "
        f"transfers and {least[0]} packets: {at[(*least, OLD)]:.4f} and {at[(*least, NEW)]:.3f}"
    )
    checks = [
        exactly("fall of 32 kb/s to 40 b/s", RATE / 40, 800.0),
        stated(
            "goodput of old TCP below 0.05 of the capacity while that of new TCP is above 0.8",
            shown,
            bool(both),
            "for some load and buffer",
        ),
    ]
    notes = [
        f"buffer {b}, {name}: "
        + ", ".join(
            f"{r['flows']}: {r['goodput']:.3f}" for r in rows if r["buffer"] == b and r["stack"] == name
        )
        for b in BUFFERS
        for name in (OLD, DOUBLES, STAYS, NEW)
    ]
    notes.append(
        "Once a full queue takes longer than the timeout, every packet is retransmitted before its ack, "
        "and copies fill the queue: the collapse is complete where the timeout neither learns of the "
        "queue nor backs off"
    )
    return Outcome(checks, {"goodput": pa.Table.from_pylist(rows)}, {"goodput": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Goodput over the load on a logarithmic axis."""
    fig, axes = style.figure(
        "Goodput by load, old and new TCP",
        f"32 kbit/s, windows of {WINDOW} packets, a buffer of {BUFFERS[-1]} packets; dotted: "
        f"{100 * COLLAPSED:g} % of the capacity",
    )
    for i, name in enumerate((NEW, STAYS, DOUBLES, OLD)):
        mine = [r for r in rows if r["stack"] == name and r["buffer"] == BUFFERS[-1]]
        axes.plot(
            [r["flows"] for r in mine],
            [r["goodput"] for r in mine],
            marker="o",
            markersize=5,
            label=LEGEND[name],
            **style.line(i),
        )
    axes.axhline(COLLAPSED, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xlabel="transfers", ylabel="goodput over capacity", xscale="log", yscale="log")
    axes.set_xticks(FLOWS, [str(n) for n in FLOWS])
    axes.minorticks_off()
    axes.grid(True)
    axes.legend(loc="lower left", fontsize=9)
    return fig
