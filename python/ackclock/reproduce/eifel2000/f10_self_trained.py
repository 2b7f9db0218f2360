from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.models.eifel2000 import RowModel, Rows, exact
from ackclock.plot import style
from ackclock.plot.timers import frame, legend
from ackclock.reproduce.item import Outcome, Setting, between, exactly, item, six_digits, within

LOAD, CYCLES, SHOWN = 26, 400, 24


@item(
    "E-F10",
    kind="MODEL",
    title="The self-trained timeout creeps down until a timeout is spurious",
    choices={
        "start of AGG": "1",
        "order within a row": "the spurious timeout first, then the decay (E-A7)",
        "MAXCWND": "26, known from the start",
        "service time": "1 s, no ticks; the paper's tick of 1 ms is a thousandth of that",
        "length": f"{CYCLES} cycles",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Two values of k over many cycles; the figure shows the first cycles with the smaller one."""
    slow, fast = run("0.05"), run("0.1")
    at, agg = spurious(slow), slow.made["agg"]
    first = int(at[0])
    # The factor before the row, its decay undone and the rise taken back: what the timeout that proved
    # spurious was made with.
    before, decay = agg[first - 1], 1 - 0.05 / (0.375 * LOAD**2)
    checks = [
        six_digits("first spurious timeout, cycle", first / slow.model.cycle_rows, 7.80385),
        exactly("its load", int(slow.series["load"][first]), 25),
        six_digits("AGG before and after it", [before, agg[first] / decay], [0.670161, 0.835081]),
        exactly(f"spurious timeouts in {CYCLES} cycles", at.size, 94),
        within("mean distance, cycles", CYCLES / at.size, 4.26, 0.005),
        between("AGG from then on", agg[first:], 0.658, 0.843),
    ]
    at = spurious(fast)
    checks += [
        within("first spurious timeout with k = 0.1, cycle", at[0] / fast.model.cycle_rows, 3.9, 0.05),
        exactly(f"spurious timeouts with k = 0.1 in {CYCLES} cycles", at.size, 183),
        within("mean distance with k = 0.1, cycles", CYCLES / at.size, 2.19, 0.005),
    ]
    columns = {
        "row": slow.series["row"],
        "rtt": slow.rtt,
        "rto": slow.rto,
        "agg": agg,
        "spurious": slow.made["spurious"],
    }
    return Outcome(checks, {"rows": pa.table(columns)}, {"agg": figure(slow)})


def run(k: str) -> Rows:
    """The timer's way through all cycles."""
    return RowModel(LOAD, CYCLES).run(exact("eifel-agg", k=k, max_cwnd=str(LOAD)))


def spurious(rows: Rows) -> np.ndarray:
    """The rows that show a spurious timeout."""
    return np.flatnonzero(rows.made["spurious"])


def figure(rows: Rows) -> Figure:
    """RTT and timeout above, the factor below."""
    n = SHOWN * rows.model.cycle_rows
    time = rows.series["time"][:n]
    fig, (above, below) = frame(
        "A timeout that trains itself",
        f"Step-by-step model, largest load {LOAD}, k = 0.05; triangles mark spurious timeouts",
        2,
    )
    with mpl.rc_context(style.SETTINGS):
        above.step(time, rows.rtt[:n], where="post", color="#555555", linewidth=0.9, label="RTT")
        above.plot(time, rows.rto[:n], label="RTO_AGG (self-trained)", **{**style.line(0), "linewidth": 1.1})
        marks = np.flatnonzero(rows.made["spurious"][:n])
        for axes, y in ((above, rows.rtt), (below, rows.made["agg"])):
            axes.plot(
                time[marks],
                y[marks],
                "v",
                color=style.COLOURS[1],
                markersize=6,
                label="spurious timeout",
                zorder=4,
            )
            axes.grid(True)
            axes.set_xlim(0, time[-1])
        below.plot(time, rows.made["agg"][:n], **style.line(0))
        above.set(ylabel="time (service times)", ylim=(0, 60))
        below.set(xlabel="time (service times)", ylabel="AGG (aggressiveness)", ylim=(0.6, 1.02))
        legend(above, 3)
    return fig
