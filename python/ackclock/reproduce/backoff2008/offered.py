"""What a new stack costs the old one, over the load that the paper leaves open (B-F12b, B-X6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ackclock.plot import Measured, measured
from ackclock.reproduce.backoff2008 import deployment, testbed
from ackclock.reproduce.backoff2008.deployment import Mixes
from ackclock.reproduce.item import Check, Setting, between
from ackclock.results.confidence import half_width

MBIT = (10.0, 12.0, 13.5, 15.0)
"""Payload offered, Mbit/s: the paper has 10 to 15 at 50 Mbit/s (B-A7)."""
SHARE = 0.9
SECONDS, FULL = {"II": 120}, {"II": 240}
"""Time of arrivals in the quick form and in the full one."""
SEEDS = 3
"""Of the quick form."""

CHOICES = {
    **deployment.CHOICES,
    "shares": f"{100 * SHARE:g} % of the new stack, and none of it",
    "arrivals": f"Poisson, one connection for each transfer; {', '.join(f'{x:g}' for x in MBIT)} Mbit/s "
    "of payload, of which the paper leaves open what it was. The geometric mean over these loads decides",
    "random numbers": f"seeds 1 to {SEEDS} (1 to {deployment.FULL_SEEDS} with --full)",
    "duration": testbed.times(SECONDS, FULL),
}


@dataclass(frozen=True)
class Slowdowns:
    """Mean response time of the old stack beside the new one over that alone, by load: an entry for each
    seed.
    """

    old: str
    new: str
    mixes: dict[float, Mixes]

    def by_seed(self, mbit: float) -> np.ndarray:
        """Seeds with the same number are pairs."""
        m = self.mixes[mbit]
        return m.mean(m.old, SHARE) / m.mean(m.old, 0.0)

    def at(self, mbit: float) -> float:
        """At one load: of the means over the seeds."""
        return self.mixes[mbit].slowdown(SHARE)

    @property
    def middle(self) -> float:
        """The geometric mean over the loads."""
        return float(np.exp(np.mean([np.log(self.at(x)) for x in self.mixes])))

    def check(self, low: float, high: float) -> Check:
        """Whether the geometric mean lies between two."""
        return between(
            f"slowdown of {self.old} beside {100 * SHARE:g} % {self.new}, geometric mean over the loads",
            self.middle,
            low,
            high,
        )

    def note(self) -> str:
        """Each load in a line."""
        return f"{self.old} beside {100 * SHARE:g} % {self.new}: " + ", ".join(
            f"{self.at(x):.3g} (by seed {self.by_seed(x).mean():.3g} +/- {half_width(self.by_seed(x)):.2g}) "
            f"at {x:g} Mbit/s"
            for x in self.mixes
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each run."""
        return [
            {"old": self.old, "new": self.new, "offered": x, **row}
            for x, m in self.mixes.items()
            for row in m.rows()
        ]


def measure(
    old: str, new: str, setting: Setting, label: str, share: tuple[float, float] = (0.0, 1.0)
) -> Slowdowns:
    """The old stack alone and beside the new one, Trace-II, at each load. share: the part of the item's work
    that this is.
    """
    found = {}
    for i, mbit in enumerate(MBIT):

        def report(x: float, label: str, i: int = i) -> None:
            setting.progress(share[0] + (i + x) / len(MBIT) * (share[1] - share[0]), label)

        part = Setting(setting.full, setting.workers, report)
        found[mbit] = deployment.mixes(
            "II",
            old,
            new,
            part,
            label,
            shares=(SHARE,),
            seconds=FULL if setting.full else SECONDS,
            quick_seeds=SEEDS,
            mbit=mbit,
        )
    return Slowdowns(old, new, found)


def picture(found: list[Slowdowns], title: str) -> Figure:
    """Slowdowns against the load."""
    x = np.array(MBIT)
    return measured(
        [
            Measured(
                f"{s.old} beside {100 * SHARE:g} % {s.new}",
                x,
                np.array([s.at(v) for v in MBIT]),
                np.array([half_width(s.by_seed(v)) for v in MBIT]),
            )
            for s in found
        ],
        title=title,
        subtitle=f"{deployment.subtitle('II')}; 95 % bands",
        xlabel="payload offered (Mbit/s)",
        ylabel="mean response time over that without the new stack",
    )
