from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Array
from ackclock.plot import style
from ackclock.plot import timers as draw
from ackclock.reproduce.item import Outcome, Setting, at_least, item, stated
from ackclock.reproduce.jacobson88 import timers
from ackclock.scenario import variation

FLAT = slice(90, None)
"""The packets of the flat part: two windows after the fall, so that both timers are on their way back."""
SEED = 1988
"""Of random numbers."""
SEEDS = 100

CHOICES = {
    **timers.CHOICES,
    "series": "synthetic, `ackclock.models.jacobson88.round_trips.arpanet`: 110 packets, seed 1988, a full "
    "window of 8 packets, 2.5 s when flat, up to 1 s more within each window between packets 10 "
    "and 50, a rise to 10 s from packet 50 to 58, a fall from 66 to 74, noise of +/- 2 %",
    "flat": "the packets after the 90th, two windows after the end of the fall; from which packet on "
    "matters for J-F6",
}


def compare() -> tuple[dict[str, Array], dict[str, dict[str, Array]]]:
    """The series, and what both timers make of it."""
    series = round_trips.arpanet(variation.seed(SEED))
    return series, {"RFC 793": timers.OLD.rows(series), "mean + 4 deviations": timers.NEW.rows(series)}


def picture(series: dict[str, Array], rto: dict[str, Array], title: str) -> Figure:
    """Timeouts over packets, as the paper draws them: the timeout against which each packet's round-trip time
    is held.
    """
    n = np.arange(1, series["rtt"].size + 1)
    clock = "; integers in ticks of 500 ms" if len(rto) > 1 else ""
    fig = draw(
        n,
        series["rtt"],
        rto,
        title=title,
        subtitle=f"Synthetic series of the paper's shape, a window of 8 packets{clock}",
    )
    axes = fig.axes[0]
    axes.set(xlabel="packet", ylabel="round-trip time and timeout (s)")
    axes.plot(n, series["rtt"], ".", color="#222222", markersize=4)
    late = np.any([series["rtt"] > t for t in rto.values()], axis=0)
    axes.plot(
        n[late], series["rtt"][late], "v", color=style.COLOURS[1], markersize=7, label="above the timeout"
    )
    axes.legend(loc="upper left", fontsize=9)
    return fig


def table(series: dict[str, Array], rows: dict[str, dict[str, Array]]) -> pa.Table:
    """Both timers packet by packet."""
    columns = {"packet": np.arange(1, series["rtt"].size + 1), **series}
    for name, made in rows.items():
        columns |= {f"{name}: RTO": timers.before(made), f"{name}: spurious": made["spurious"]}
    return pa.table(columns)


def sweep() -> tuple[pa.Table, str]:
    """Spurious timeouts of both timers over heights of the rise and seeds of the noise: a row for each
    height.
    """
    rows = []
    for peak in (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0):
        made = [round_trips.arpanet(variation.seed(seed), peak=peak) for seed in range(SEEDS)]
        counts = np.array([[timers.spurious(t, s) for t in (timers.OLD, timers.NEW)] for s in made])
        old, new = counts.T
        rows.append(
            {
                "peak (s)": peak,
                "RFC 793": old.mean(),
                "J-A6": new.mean(),
                "RFC 793 more often": float((old > new).mean()),
            }
        )
    shown = ", ".join(
        (
            f"{r['peak (s)']:g} s: {100 * r['RFC 793 more often']:.0f} % ({r['RFC 793']:.2f} against "
            f"{r['J-A6']:.2f})"
        )
        for r in rows
    )
    return (
        pa.Table.from_pylist(rows),
        f"Share of {SEEDS} seeds in which RFC 793 under-runs more often, by height of the rise (mean "
        f"counts): {shown}",
    )


@item("J-F5", kind="MODEL", title="RFC 793's timer on a series of round-trip times", choices=CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The timer falls short while the round-trip time rises, and is twice too long while nothing happens."""
    series, rows = compare()
    old, new = (int(r["spurious"].sum()) for r in rows.values())
    ratio = (timers.before(rows["RFC 793"]) / series["rtt"])[FLAT]
    over, note = sweep()
    checks = [
        stated(
            "RFC 793's timeout is below the round-trip time more often than that of J-A6",
            f"{old} and {new} packets",
            old > new,
        ),
        at_least("least RTO/RTT of RFC 793 over the flat part", float(ratio.min()), 1.9, "more than"),
    ]
    fig = picture(series, {"RFC 793": timers.before(rows["RFC 793"])}, "RFC 793's timer")
    return Outcome(checks, {"packets": table(series, rows), "sweep": over}, {"rto": fig}, [note])
