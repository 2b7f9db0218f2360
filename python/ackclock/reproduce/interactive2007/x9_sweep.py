from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import Measured, measured_panels
from ackclock.reproduce.interactive2007 import latency, seen, testbed
from ackclock.reproduce.interactive2007.testbed import Mix
from ackclock.reproduce.item import Check, Outcome, Setting, item, stated
from ackclock.results.confidence import half_width

RTTS = (0.01, 0.03, 0.1)
"""Round-trip times, seconds."""
RATES = (1.5, 5.0, 10.0)
"""Mbit/s of the bottleneck."""
QUEUES = (testbed.RED, testbed.DROP_TAIL_BYTES)
SHARES, FULL_SHARES = (14, 8, 4.0), (16, 11, 7.5, 5.0, 3.5)
"""Packets of the path for each FTP flow of the cross traffic: the fewer, the more is lost."""
LOSSES = np.array([0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1])
"""Loss ratios at which gains are read."""
INTERACTIVE, BACKLOGGED = "interactive", "backlogged"
SECONDS, SEEDS, FULL_SEEDS = 30.0, 3, 4
EVERY = "1ms"
"""Mean time between marks so short that every packet of a backlogged flow is marked."""
SLACK, CELLS = 0.1, 8
"""By which RED's gain may be below drop-tail's, and in how many of the nine pairs of cells at least."""


@dataclass(frozen=True)
class Cell:
    """One path: rate (Mbit/s), round-trip time (s), queue."""

    rate: float
    rtt: float
    queue: str

    def mixes(self, shares: Sequence[float] = SHARES) -> list[Mix]:
        """Cross traffic by rising loss."""
        packet = testbed.PAYLOAD + testbed.HEADERS
        pipe = self.rate * 1e6 * self.rtt / 8 / packet + 20
        flows = dict.fromkeys(max(1, round(pipe / share)) for share in shares)
        return [Mix(ftp=n, http=0.2, udp=0.1 * self.rate) for n in flows]

    def scenario(self, kind: str, mix: Mix, seed: int, seconds: float, method: str) -> ac.Scenario:
        """Flows of one kind beside a mix. method: `seen.TEXT` or `seen.OWN`."""
        text = method == seen.TEXT
        own = {"think": f"{testbed.THINK:g}s", "bytes": f"{testbed.PAYLOAD}B", **testbed.measured()}
        own["until"] = "acked" if text else "arrived"
        if kind == BACKLOGGED:
            dummies = {"flows": max(1, mix.ftp // 4), "dummy_bytes": f"{testbed.PAYLOAD}B"}
            load = ac.Backlogged(name=kind, **{**own, **dummies, **({} if text else {"think": EVERY})})
        else:
            load = ac.Telnet(name=kind, flows=round(20 * self.rate), **own)
        path = testbed.dumbbell(self.queue, mbit=self.rate, rtt=self.rtt)
        stack = testbed.tcp(testbed.RENO if text else testbed.SACK)
        return testbed.scenario(path, load, {kind: stack}, seconds, mix=mix, seed=seed)

    def __str__(self) -> str:
        return f"{self.rate:g} Mbit/s, {1e3 * self.rtt:g} ms, {self.queue}"


@dataclass(frozen=True)
class Gains:
    """The gain in one cell: a row for each seed, a column for each of `LOSSES`; NaN where one kind of flow
    never lost so much or so little.
    """

    cell: Cell
    values: np.ndarray

    @property
    def by_seed(self) -> np.ndarray:
        """The mean over the losses that are reached, for each seed that reaches some."""
        return np.array([np.nanmean(row) for row in self.values if np.isfinite(row).any()])

    @property
    def mean(self) -> float:
        """Over seeds and losses."""
        return float(self.by_seed.mean()) if self.by_seed.size else float("nan")

    @property
    def error(self) -> float:
        """One standard error of it."""
        return (
            float(self.by_seed.std(ddof=1) / np.sqrt(self.by_seed.size))
            if self.by_seed.size > 1
            else float("nan")
        )

    @property
    def by_loss(self) -> np.ndarray:
        """The mean over the seeds at each loss that any reaches."""
        reached = np.isfinite(self.values)
        sums = np.where(reached, self.values, 0.0).sum(axis=0)
        return np.where(reached.any(axis=0), sums / np.maximum(reached.sum(axis=0), 1), np.nan)


def measure(setting: Setting, method: str, share: tuple[float, float]) -> tuple[dict[Cell, Gains], pa.Table]:
    """All cells, and a row for each run. method: how responses are counted, and of which sender."""
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    seconds = testbed.FULL if setting.full else SECONDS
    shares = FULL_SHARES if setting.full else SHARES
    cells = [Cell(rate, rtt, queue) for queue in QUEUES for rate in RATES for rtt in RTTS]
    jobs = {
        (cell, kind, seed, n): cell.scenario(kind, mix, seed, seconds, method)
        for cell in cells
        for n, mix in enumerate(cell.mixes(shares))
        for kind in (INTERACTIVE, BACKLOGGED)
        for seed in seeds
    }
    runs = dict(zip(jobs, setting.run_all(list(jobs.values()), "I-X9", share), strict=True))
    rows = [
        {
            "rate": cell.rate,
            "rtt": cell.rtt,
            "discipline": cell.queue,
            "flow": kind,
            "seed": seed,
            "mix": n,
            "loss": latency.loss(run, kind),
            "response": latency.mean(run, kind),
        }
        for (cell, kind, seed, n), run in runs.items()
    ]
    by: dict[tuple[Cell, int], dict[str, list[tuple[float, float]]]] = {}
    for (cell, kind, seed, _), row in zip(runs, rows, strict=True):
        by.setdefault((cell, seed), {}).setdefault(kind, []).append((row["loss"], row["response"]))
    found = {
        cell: Gains(
            cell, np.array([at_losses(by[cell, s][INTERACTIVE], by[cell, s][BACKLOGGED]) for s in seeds])
        )
        for cell in cells
    }
    return found, pa.Table.from_pylist(rows)


def at_losses(
    interactive: Sequence[tuple[float, float]], backlogged: Sequence[tuple[float, float]]
) -> np.ndarray:
    """The ratio of two curves of response time over loss at `LOSSES`; NaN outside of either."""
    a, b = (
        np.array(sorted(p for p in points if np.isfinite(p).all())) for points in (interactive, backlogged)
    )
    if not a.size or not b.size:
        return np.full(LOSSES.size, np.nan)
    top, bottom = (np.interp(LOSSES, c[:, 0], c[:, 1], left=np.nan, right=np.nan) for c in (a, b))
    return top / bottom


def shared(a: Gains, b: Gains) -> tuple[float, float]:
    """The mean gains of two cells over the losses that both reach."""
    both = np.isfinite(a.by_loss) & np.isfinite(b.by_loss)
    return (float(a.by_loss[both].mean()), float(b.by_loss[both].mean())) if both.any() else (np.nan, np.nan)


def checks(found: dict[Cell, Gains]) -> list[Check]:
    """Those of the register."""
    made: list[Check] = []
    for queue in QUEUES:
        mine = [g for g in found.values() if g.cell.queue == queue]
        low = [g.mean - g.error for g in mine]
        made.append(
            stated(
                f"{queue}: gain above 1 in every cell, less a standard error",
                "; ".join(
                    f"{g.mean:.3g} +/- {g.error:.2g} ({g.cell.rate:g} Mbit/s, {1e3 * g.cell.rtt:g} ms)"
                    for g in mine
                ),
                all(x > 1 for x in low),
            )
        )
        falls = [
            shared(found[Cell(rate, RTTS[0], queue)], found[Cell(rate, RTTS[-1], queue)]) for rate in RATES
        ]
        made.append(
            stated(
                f"{queue}: at equal loss the gain falls from {1e3 * RTTS[0]:g} to {1e3 * RTTS[-1]:g} ms",
                "; ".join(
                    f"{a:.3g} to {b:.3g} at {rate:g} Mbit/s"
                    for rate, (a, b) in zip(RATES, falls, strict=True)
                ),
                all(b < a for a, b in falls),
                "at each rate",
            )
        )
    pairs = {
        (rate, rtt): shared(*(found[Cell(rate, rtt, queue)] for queue in QUEUES))
        for rate in RATES
        for rtt in RTTS
    }
    above = sum(red >= tail - SLACK for red, tail in pairs.values())
    made.append(
        stated(
            f"RED's gain is no less than drop-tail's less {SLACK:g}, at equal loss",
            f"in {above} of {len(pairs)} cells: "
            + "; ".join(
                f"{red:.3g} and {tail:.3g} ({rate:g} Mbit/s, {1e3 * rtt:g} ms)"
                for (rate, rtt), (red, tail) in pairs.items()
            ),
            above >= CELLS,
            f"in at least {CELLS} of {len(pairs)}",
        )
    )
    return made


@item(
    "I-X9",
    kind="SIM",
    title="The gain over the paper's sweep of round-trip time, rate and queue",
    choices={
        **{k: v for k, v in testbed.CHOICES.items() if k not in ("path", "cross traffic", "response time")},
        "sweep": f"round trips of {', '.join(f'{1e3 * r:g}' for r in RTTS)} ms, bottlenecks of "
        f"{', '.join(f'{r:g}' for r in RATES)} Mbit/s, {testbed.BUFFER / 1e3:g} kB, RED and drop-tail that "
        "counts bytes",
        "cross traffic": "FTP flows, one for each "
        + ", ".join(f"{s:g}" for s in SHARES)
        + " ("
        + ", ".join(f"{s:g}" for s in FULL_SHARES)
        + " with --full)"
        + " packets that the path holds (20 in the queue), HTTP for a fifth of the link, datagrams for a "
        "tenth",
        "backlogged flow": "keeps its window full; packets at exponential intervals with a mean of 1 s take "
        "the place of marks (I-A3, I-X7): a quarter as many flows as FTP flows, at least one",
        "response time": "from when a packet is sent to the first cumulative ack that covers it; beside "
        "it, with --full, our own choice: SACK, and every packet to its own ack",
        "gain in a cell": "the mean over losses of 0.5 to 10 %, those that both kinds of flow reach "
        "beside some mix, between the nearest mixes; the standard error is that between seeds",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
        "duration": f"{SECONDS:g} s ({testbed.FULL:g} s with --full) after {testbed.WARM:g} s of cross "
        "traffic",
    },
    tests=["tests/test_reproduce_interactive2007_sweep.py::test_gains_are_read_where_both_curves_reach"],
)
def reproduce(setting: Setting) -> Outcome:
    """The gain in each of 18 cells."""
    found, table = measure(setting, seen.TEXT, (0.0, 0.5 if setting.full else 1.0))
    tables, notes = {"runs": table}, []
    if setting.full:
        own, tables["own_method"] = measure(setting, seen.OWN, (0.5, 1.0))
        notes.append(
            "SACK, every packet to its own ack: "
            + "; ".join(f"{g.mean:.3g} +/- {g.error:.2g} ({g.cell})" for g in own.values())
        )
    notes += [
        f"{g.cell}: "
        + ", ".join(f"{x:.2f} at {100 * p:g} %" for p, x in zip(LOSSES, g.by_loss, strict=True) if x > 0)
        for g in found.values()
    ]
    return Outcome(checks(found), tables, {"gain": picture(found)}, notes)


def picture(found: dict[Cell, Gains]) -> Figure:
    """The mean gain of each cell at each round-trip time."""
    panels: dict[str, list[Measured]] = {}
    for queue in QUEUES:
        for rate in RATES:
            mine = [found[Cell(rate, rtt, queue)] for rtt in RTTS]
            means, halves = (
                np.array(v) for v in zip(*((g.mean, half_width(g.by_seed)) for g in mine), strict=True)
            )
            place = 1e3 * np.array(RTTS)
            panels.setdefault(queue, []).append(Measured(f"{rate:g} Mbit/s", place, means, halves))
    return measured_panels(
        panels,
        title="How much faster a backlogged flow is, over the paper's sweep",
        subtitle="Over losses of 0.5 to 10 %; whiskers: 95 % over seeds; above the line the backlogged flow "
        "is faster",
        xlabel="round-trip time (ms)",
        ylabel="response time, telnet over backlogged",
        even=1.0,
    )
