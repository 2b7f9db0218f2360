from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ackclock.plot import Measured, measured
from ackclock.reproduce.backoff2008 import chain, comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.results.confidence import half_width

REST = 60.0
"""Seconds that the last flows have after the arrivals."""
MARGIN = 0.05
"""A ratio of means within this of 1 counts for neither side."""


@dataclass(frozen=True)
class Cell:
    """One point of the map."""

    trace: str
    seconds: int
    load: float
    bottlenecks: int

    def __str__(self) -> str:
        return f"Trace-{self.trace}, {self.seconds} s, load {self.load:g}, {self.bottlenecks} in sequence"


LOADS, FULL_LOADS = (0.8, 1.2, 2.0), (0.8, 1.0, 1.2, 1.6, 2.0, 3.0)
QUICK = (
    *(Cell("I", 20, load, n) for load in LOADS for n in (1, 2, 3)),
    *(Cell("I", 60, load, 1) for load in (0.8, 1.2)),
    *(Cell(t, s, load, 1) for t, s in (("II", 40), ("III", 60)) for load in LOADS),
)
FULL = (
    *(Cell("I", s, load, n) for s in (20, 60) for load in FULL_LOADS for n in (1, 2, 3)),
    *(Cell("I", 180, load, n) for load in (0.8, 1.2, 2.0) for n in (1, 2)),
    *(Cell("I", s, load, 1) for s in (600, 1800) for load in (0.8, 1.2)),
    *(
        Cell(t, s, load, n)
        for t in ("II", "III")
        for s in (60, 300)
        for load in (0.8, 1.2, 2.0)
        for n in (1, 2, 3)
    ),
    *(Cell(t, 1800, 1.2, 1) for t in ("II", "III")),
)
SEEDS, FULL_SEEDS = 2, 3
"""Runs of a cell; those of ten minutes and more have one."""
LONG = 600


@dataclass(frozen=True)
class Point:
    """What one cell gave, by stack: an entry for each seed."""

    cell: Cell
    numbers: dict[str, dict[str, np.ndarray]]

    def ratio(self, key: str) -> np.ndarray:
        """TCP*(inf) over TCP, by seed."""
        return self.numbers[NONE][key] / self.numbers[TCP][key]

    @property
    def side(self) -> int:
        """1 where the mean is longer without backoff, -1 where it is shorter, 0 within the margin or the
        interval of the seeds.
        """
        r = self.ratio("mean")
        off = float(r.mean()) - 1
        width = half_width(r) if r.size > 1 else 0.0
        return 0 if abs(off) <= max(MARGIN, width) else int(np.sign(off))

    def row(self) -> dict[str, Any]:
        """Its numbers, means over the seeds."""
        found: dict[str, Any] = {
            "trace": self.cell.trace,
            "seconds": self.cell.seconds,
            "load": self.cell.load,
            "bottlenecks": self.cell.bottlenecks,
            "side": self.side,
        }
        for stack, name in ((TCP, "tcp"), (NONE, "none")):
            found |= {f"{name}_{key}": float(v.mean()) for key, v in self.numbers[stack].items()}
        return found


def read(cell: Cell, found: Comparison) -> Point:
    """The numbers of both stacks. A flow that was not done counts with the time that it had had."""
    return Point(cell, {stack: _of(found, stack, cell.seconds + REST) for stack in (TCP, NONE)})


def _of(found: Comparison, stack: str, end: float) -> dict[str, np.ndarray]:
    rows: dict[str, list[float]] = {}
    for flows in found.of(stack):
        times = flows["response_time"].to_numpy(zero_copy_only=False)
        times = np.where(np.isfinite(times), times, end - flows["start"].to_numpy())
        done = flows.num_rows - flows["response_time"].null_count
        again = float(pc.sum(flows["retransmitted_segments"]).as_py() or 0)
        numbers = {
            "mean": float(times.mean()),
            "p99": float(np.percentile(times, 99)),
            "unfinished": 1 - done / flows.num_rows,
            "violations": float(pc.sum(flows["spurious_timeouts"]).as_py() or 0) / max(again, 1),
        }
        for key, value in numbers.items():
            rows.setdefault(key, []).append(value)
    return {key: np.array(v) for key, v in rows.items()} | {
        key: found.number(stack, key) for key in ("goodput", "loss")
    }


def measure(cells: Sequence[Cell], setting: Setting) -> list[Point]:
    """A point for each cell, a few cells at a time: each has many flows."""
    made: list[Point] = []
    ordered = sorted(cells, key=lambda c: c.seconds * c.load * c.bottlenecks)
    for i, cell in enumerate(ordered):
        seeds = 1 if cell.seconds >= LONG else FULL_SEEDS if setting.full else SEEDS
        part = (i / len(ordered), (i + 1) / len(ordered))
        s = chain.scenario(cell.trace, cell.load, cell.bottlenecks, cell.seconds, REST, repeat=seeds)
        made.append(read(cell, comparison.run(s, setting, "B-X16", share=part)))
    order = {c: n for n, c in enumerate(cells)}
    return sorted(made, key=lambda p: order[p.cell])


@item(
    "B-X16",
    kind="SIM",
    title="Does removal harm under an overload that lasts, or over several bottlenecks?",
    choices={
        **testbed.CHOICES,
        **testbed.FREEBSD,
        "map": "arrivals for 20 to 60 s, loads of 0.8 to 2 of each bottleneck's "
        "capacity, 1 to 3 bottlenecks of 10 Mbit/s in sequence for Trace-I, one for the others; with "
        "--full up to 30 min and a load of 3, but no overload above 1.2 for longer than ten minutes",
        "several bottlenecks": "a quarter of each one's load crosses all, as in B-F9; all flows count",
        "not done": f"{REST:g} s after the last arrival a run ends; a flow that is not done then counts "
        "with the time that it had had, which is too short for the slower stack",
        "harm": f"the mean response time is longer without backoff by more than {100 * MARGIN:g} % and by "
        "more than the 95 % interval of the seeds",
        "violations": "timeouts of segments that were not lost over all retransmissions (B-A4)",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full; one of {LONG} s and more)",
    },
    tests=["tests/test_reproduce_backoff2008_questions.py::test_a_side_is_beyond_margin_and_interval"],
)
def reproduce(setting: Setting) -> Outcome:
    """Both stacks over the map."""
    points = measure(FULL if setting.full else QUICK, setting)
    notes = [note(p) for p in points]
    figures = {f"map-{n}": picture(points, n) for n in sorted({p.cell.bottlenecks for p in points})}
    return Outcome(
        [], {"map": pa.Table.from_pylist([p.row() for p in points])}, figures, notes, answer=answer(points)
    )


def note(p: Point) -> str:
    """One cell in a line."""
    r = {key: p.ratio(key) for key in ("mean", "p99", "goodput")}
    tcp, none = p.numbers[TCP], p.numbers[NONE]
    width = f" +/- {half_width(r['mean']):.2g}" if r["mean"].size > 1 else ""
    return (
        f"{p.cell}: TCP*(inf) over TCP: mean {r['mean'].mean():.3g}{width}, P99 {r['p99'].mean():.3g}, "
        f"goodput {r['goodput'].mean():.3g}; not done {100 * none['unfinished'].mean():.2g} and "
        f"{100 * tcp['unfinished'].mean():.2g} %, loss {100 * none['loss'].mean():.3g} and "
        f"{100 * tcp['loss'].mean():.3g} %, violations {100 * none['violations'].mean():.2g} and "
        f"{100 * tcp['violations'].mean():.2g} % of the retransmissions"
    )


def answer(points: Sequence[Point]) -> str:
    """The answer that the numbers give."""
    below, above = ([p for p in points if (p.cell.load > 1) == over] for over in (False, True))
    parts = []
    for some, words in ((below, "up to the capacity"), (above, "beyond it")):
        if some:
            harm, help_ = sum(p.side > 0 for p in some), sum(p.side < 0 for p in some)
            parts.append(
                f"{words} means are longer without backoff in {harm} of {len(some)} cells and shorter in "
                f"{help_}"
            )
    sentences = ["In the mean, " + "; ".join(parts) + "."]
    for n in sorted({p.cell.bottlenecks for p in above}):
        harmed = [p for p in above if p.cell.bottlenecks == n and p.side > 0]
        of = sum(p.cell.bottlenecks == n for p in above)
        worst = max((p for p in above if p.cell.bottlenecks == n), key=lambda p: p.ratio("mean").mean())
        sentences.append(
            f"Over {n} in sequence overload harms in {len(harmed)} of {of} cells, at worst "
            f"{worst.ratio('mean').mean():.2f} times ({worst.cell})."
        )
    least = min(points, key=lambda p: p.ratio("goodput").mean())
    most = max(float(p.numbers[NONE]["violations"].mean()) for p in points)
    sentences.append(
        f"Goodput falls to {100 * least.ratio('goodput').mean():.0f} % of TCP's at worst ({least.cell}), and "
        f"of the retransmissions without backoff at most {100 * most:.2g} % violate packet conservation."
    )
    longest = max(p.cell.seconds for p in points)
    sentences.append(
        f"Sure for these RED queues and loads up to {longest} s: sides are beyond {100 * MARGIN:g} % and the "
        "interval of the seeds; not tried: overloads that last longer, other queues, users who give up."
    )
    return " ".join(sentences)


def picture(points: Sequence[Point], bottlenecks: int) -> Figure:
    """The ratio of means against the load."""
    mine = [p for p in points if p.cell.bottlenecks == bottlenecks]
    series = []
    for trace, seconds in dict.fromkeys((p.cell.trace, p.cell.seconds) for p in mine):
        some = [p for p in mine if (p.cell.trace, p.cell.seconds) == (trace, seconds)]
        x, ratios = np.array([p.cell.load for p in some]), [p.ratio("mean") for p in some]
        halves = np.array([half_width(r) if r.size > 1 else np.inf for r in ratios])
        series.append(
            Measured(f"Trace-{trace}, {seconds} s", x, np.array([r.mean() for r in ratios]), halves)
        )
    where = "one bottleneck" if bottlenecks == 1 else f"{bottlenecks} bottlenecks in sequence"
    return measured(
        series,
        title=f"What removing backoff does to the mean, {where}",
        subtitle="Mean response time of TCP*(inf) over that of TCP: above 1 it harms; RED, RTT 10-200 ms; "
        "95 % bands; lines end at the largest load that was run",
        xlabel="payload offered over the capacity",
        ylabel="TCP*(inf) over TCP",
        log="y",
    )
