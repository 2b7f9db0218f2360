"""Two stacks that share a bottleneck in parts (B-F12, B-X5, B-X6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, shown
from ackclock.reproduce.chance import ENOUGH, side
from ackclock.reproduce.item import FALLS_SHORT, HOLDS, OPEN, Check, Setting
from ackclock.results.confidence import half_width

SHARES = (0.1, 0.5, 0.9)
"""Of the new stack, in the quick form."""
FULL_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
SECONDS = {"I": 20, "II": 120, "III": 400}
SEEDS, FULL_SEEDS = 10, 10


def _percent(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * share:g}" for share in shares) + " %"


CHOICES = {
    **testbed.ON_FREEBSD,
    "shares": f"each flow draws its stack; {_percent(SHARES)} of the new one ({_percent(FULL_SHARES)} with "
    "--full), and none of it for comparison",
    "random numbers": f"seeds 1 to {SEEDS}",
    "duration": testbed.times(SECONDS),
    "non-decreasing": "the mean at each share is no less than at the share before: of each step the 95 % "
    "interval over the seeds, whose runs with the same number are pairs, decides. Below 0 it falls short, "
    "and where it contains 0 it is open",
}


@dataclass
class Mixes:
    """What mixes of an old and a new stack gave, by share of the new one; 0 is the old one alone."""

    old: str
    new: str
    found: dict[float, Comparison]

    def mean(self, stack: str, share: float) -> np.ndarray:
        """Mean response time (s) of one stack's flows in each run."""
        return self.found[share].mean(stack)

    def slowdown(self, share: float) -> float:
        """Mean of the old stack's flows at that share over its mean alone."""
        return float(self.mean(self.old, share).mean() / self.mean(self.old, 0.0).mean())

    def notes(self) -> list[str]:
        """A line for each share and stack."""
        return [
            (
                f"{100 * share:g} % {self.new}: {stack}: mean {shown(c.mean(stack))} s, P99 "
                f"{shown(c.p99(stack))} s, loss {shown(100 * c.number(stack, 'loss'))} %"
            )
            for share, c in self.found.items()
            for stack in c.stacks
        ]

    def rows(self) -> list[dict[str, Any]]:
        """The simulator's summaries with the share."""
        return [{"share": share, **row} for share, c in self.found.items() for row in c.rows]

    def table(self) -> dict[str, pa.Table]:
        """What an item keeps."""
        return {"stacks": pa.Table.from_pylist(self.rows())}


def mixes(
    trace: str,
    old: str,
    new: str,
    setting: Setting,
    label: str,
    *,
    queue: str = "red",
    shares: tuple[float, ...] = (),
    seconds: dict[str, int] | None = None,
    quick_seeds: int = SEEDS,
    mbit: float = testbed.OFFERED_MBIT,
    stacks: Callable[..., dict[str, ac.Stack]] = testbed.freebsd,
) -> Mixes:
    """Runs the old stack alone and mixes of both. seconds: of arrivals, by trace. mbit: payload
    offered, Mbit/s. stacks: which ones, of a minimum timeout and labels.
    """
    time = (seconds or (testbed.FULL if setting.full else SECONDS))[trace]
    seeds = FULL_SEEDS if setting.full else quick_seeds
    wanted = shares or (FULL_SHARES if setting.full else SHARES)
    path, web = testbed.dumbbell(10, queue), ac.Web(trace=trace, load=mbit / 10)
    scenarios = [testbed.scenario(path, web, stacks("200ms", old), time, repeat=seeds)]
    scenarios += [
        testbed.scenario(path, web, stacks("200ms", old, new), time, repeat=seeds, mix={old: 1 - s, new: s})
        for s in wanted
    ]
    one_by_one = [one for s in scenarios for one in comparison.seeds(s)]
    runs = setting.run_all(one_by_one, label)
    parts = [comparison.gather(runs[i : i + seeds]) for i in range(0, len(runs), seeds)]
    return Mixes(old, new, dict(zip((0.0, *wanted), parts, strict=True)))


def trend(m: Mixes, words: str = "") -> Check:
    """The old stack's mean does not fall as the new one's share grows: no step down, whose runs with the same
    seed are pairs. From `ENOUGH` seeds on the interval of each step decides: the check falls short where one
    lies below 0, and is open where one contains it.
    """
    means = [m.mean(m.old, share) for share in m.found]
    steps = [b - a for a, b in pairwise(means)]
    widths = [half_width(step) if step.size >= ENOUGH else 0.0 for step in steps]
    verdicts = {side(s.mean() - w, s.mean() + w, 0.0, np.inf) for s, w in zip(steps, widths, strict=True)}
    open_ = OPEN in verdicts and FALLS_SHORT not in verdicts
    values = ", ".join(f"{100 * share:g} %: {x.mean():.4g}" for share, x in zip(m.found, means, strict=True))
    if any(widths):
        values += f"; steps {', '.join(shown(step, 2) for step in steps)}"
    return Check(
        f"{words}mean (s) of {m.old} does not fall with the share of {m.new}",
        "non-decreasing",
        values,
        verdicts == {HOLDS},
        open=open_,
    )


def picture(m: Mixes, title: str, subtitle: str) -> Figure:
    """Response times of the old stack at each share, and of the new one at the largest."""
    series = {f"{m.old} beside {100 * share:g} %": c.times(m.old) for share, c in m.found.items()}
    last = max(m.found)
    series[f"{m.new}, {100 * last:g} %"] = m.found[last].times(m.new)
    return ccdf_bands(series, title=title, subtitle=subtitle, by=f"stack beside {m.new}")


def subtitle(trace: str, queue: str = "RED") -> str:
    """What a figure says below its title."""
    return f"10 Mbit/s {queue} bottleneck, RTT 10-200 ms, web flows of Trace-{trace}, SACK, minimum RTO 0.2 s"
