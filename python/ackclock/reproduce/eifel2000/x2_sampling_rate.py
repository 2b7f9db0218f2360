from __future__ import annotations

import matplotlib as mpl
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.models import eifel2000 as e
from ackclock.models.eifel2000 import SAMPLINGS, RowModel, exact
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, exactly, item, six_digits

LOADS = range(4, 41, 2)
WITHOUT = {18: 3, 20: 5, 22: 8, 24: 9, 26: 10, 30: 13, 34: 15, 40: 18}
SMALL = 12
"""The largest load of the notes: above, the bound on the gain does not act."""
NAMES = {"every": "rate 1", "delayed": "rate 1/2", "once": "one per RTT"}


@item(
    "E-X2",
    kind="MODEL",
    title="How often round-trip times are sampled matters much to the Lite timer",
    choices={
        **model.CHOICES,
        "loads": "4, 6, ... 40",
        "Eifel's gain": "at most 1/3, and 1/3 where fewer than three samples come in two round trips; the "
        "notes "
        "have the paper's own equation (E-E7), which has no bound, beside it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Rows of a cycle without margin, for each timer, sampling and load. Delayed acks count at both of their
    phases.
    """
    rows = [
        {"timer": t, "sampling": s, "load": n, "without": without(t, n, s)}
        for t in ("lite", "eifel")
        for s in SAMPLINGS
        for n in LOADS
    ]

    def found(timer: str, sampling: str) -> dict[int, int]:
        return {r["load"]: r["without"] for r in rows if (r["timer"], r["sampling"]) == (timer, sampling)}

    every, delayed = found("lite", "every"), found("lite", "delayed")
    ends = [model.steady("lite", n) for n in (10, 20, 30, 40)]
    least = [
        float(model.steady(t, 40, "delayed").sampled(r).min())
        for t in ("lite", "eifel")
        for r in [model.steady(t, 40, "delayed").ratio]
    ]
    checks = [
        exactly(
            "Lite at rate 1: rows without margin up to load 16", sum(every[n] for n in LOADS if n <= 16), 0
        ),
        exactly(
            f"Lite at rate 1: rows without margin at loads {', '.join(map(str, WITHOUT))}",
            [every[n] for n in WITHOUT],
            list(WITHOUT.values()),
        ),
        exactly(
            "Lite at rate 1/2: loads with rows without margin",
            [n for n in LOADS if delayed[n]],
            [30, 32, 34, 36, 38, 40],
        ),
        exactly("Lite at one sample per RTT: rows without margin", sum(found("lite", "once").values()), 0),
        exactly(
            "Eifel, all samplings and loads: rows without margin",
            sum(sum(found("eifel", s).values()) for s in SAMPLINGS),
            0,
        ),
        six_digits("least ratio at rate 1/2, load 40: Lite, Eifel", least, [0.972029, 1.19469]),
        six_digits(
            "Lite at rate 1: RTO - RTT at the cycle's end, loads 10, 20, 30, 40",
            [float(r.rto[-1] - r.rtt[-1]) for r in ends],
            [2.05234, 0.501173, 0.128738, 0.0336332],
        ),
    ]
    own = {n: uncapped(n) for n in LOADS if n <= SMALL}
    ours = found("eifel", "delayed")
    notes = [
        "E-E7 as printed, rate 1/2: its gain 2/FLIGHT is above 1/3 up to load 8. Rows of two cycles "
        "without margin, "
        "and the least ratio: "
        + "; ".join(f"load {n}: {late} and {least:.3f}" for n, (late, least) in own.items())
        + ". With the bound: "
        + "; ".join(f"load {n}: {ours[n]} and {bounded(n):.3f}" for n in own)
        + "."
    ]
    return Outcome(
        checks,
        {"rows": pa.Table.from_pylist(rows)},
        {"rows_without_margin": figure({s: found("lite", s) for s in SAMPLINGS})},
        notes,
    )


def uncapped(load: int) -> tuple[int, float]:
    """The Eifel timer by its printed equations (E-E5 to E-E12) at rate 1/2: rows of the last two cycles
    without margin, and their least ratio.
    """
    rows = RowModel(load, model.CYCLES + 1, sampling="delayed")
    s = rows.series()
    srtt, rttvar = float(s["rtt"][0]), float(s["rtt"][0]) / 2
    rto, ratios = float("nan"), []
    for rtt, sampled, cwnd, ssthresh in zip(s["rtt"], s["sampled"], s["cwnd"], s["ssthresh"], strict=True):
        if not sampled:
            continue
        ratios.append(rto / float(rtt))
        gain = e.eifel_gain(e.eifel_flight(ssthresh, cwnd), 0.5)
        shock = e.eifel_shock_gain(rtt, srtt, rttvar, gain)
        rttvar = e.eifel_rttvar(rttvar, srtt, rtt, shock)
        srtt = e.eifel_srtt(srtt, rtt, gain)
        rto = float(e.eifel_rto(srtt, rttvar, gain, rtt))
    last = ratios[-rows.cycle_rows :]
    return sum(r <= 1 for r in last), min(last)


def bounded(load: int) -> float:
    """The least ratio of this project's timer over the same two cycles."""
    rows = RowModel(load, model.CYCLES + 1, sampling="delayed").run(exact("eifel"))
    return min(float(r.sampled(r.ratio).min()) for r in (rows.cycle(-2), rows.cycle(-1)))


def without(timer: str, load: int, sampling: str) -> int:
    """Rows without margin of a cycle in steady state; at rate 1/2 those of two cycles that together sample
    every row, halved.
    """
    rows = RowModel(load, model.CYCLES + 1, sampling=sampling).run(exact(timer))
    last = [rows.cycle(n) for n in (-2, -1)]
    counts = [int((r.sampled(r.margin) <= 0).sum()) for r in last]
    return counts[1] if sampling != "delayed" else -(-sum(counts) // 2)


def figure(counts: dict[str, dict[int, int]]) -> Figure:
    """The Lite timer's rows without margin against the load."""
    fig, axes = style.figure(
        "Rows whose timeout comes before the ack",
        "Lite timer, step-by-step model: rows of a cycle with RTO(i-1) <= RTT(i)",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (sampling, of) in enumerate(counts.items()):
            axes.plot(
                list(of), list(of.values()), marker="o", markersize=4, label=NAMES[sampling], **style.line(i)
            )
        axes.set(xlabel="largest load (segments)", ylabel="rows per cycle", xlim=(3, 41), ylim=(-0.5, None))
        axes.grid(True)
        axes.legend(title="samples")
    return fig
