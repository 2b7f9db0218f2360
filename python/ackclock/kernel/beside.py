"""The kernel's TCP and its simulated twins side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from ackclock import _core, quantities
from ackclock.console import print_table
from ackclock.results import endless
from ackclock.results.confidence import student

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.results import Run

CLOSE = 0.05
"""The difference that counts as none, as a share of the kernel's number."""
FEW = 5.0
"""A mean of a counter below this is compared by the difference, not by its share."""
TOUCH = 10e-6
"""Times closer than this are the same, s: packets on the testbed are late by some microseconds."""


@dataclass(frozen=True)
class Quantity:
    """A number of a stack: its heading, how it is shown, and how it is read off a run's row of numbers."""

    name: str
    shown: Callable[[float], str]
    of: Callable[[Run, dict[str, Any]], float | None]
    counter: bool = False
    least: float = 0.0
    """A smaller difference is none, whatever its share."""


def _row(key: str) -> Callable[[Run, dict[str, Any]], float | None]:
    return lambda run, row: row[key]


def _number(key: str) -> Callable[[Run, dict[str, Any]], float | None]:
    return lambda run, row: endless.numbers(run, row)[key]


def _goodput(run: Run, row: dict[str, Any]) -> float | None:
    """The payload that the stack's connections delivered in the time that counts, over that time: what
    follows in `drain` is left out. The row's own `goodput` is what one link carried.
    """
    return _rate(run, row.get("delivered"))


def _datagrams(run: Run, row: dict[str, Any]) -> float | None:
    """The same of the datagrams of its run, which have no stack; headers included. A drain has none."""
    mine = pc.and_(pc.equal(run.flows["run"], row["run"]), pc.equal(run.flows["protocol"], "udp"))
    return _rate(run, pc.sum(run.flows.filter(mine)["bytes_delivered"]).as_py())


def _rate(run: Run, delivered: int | None) -> float | None:
    seconds = _core.quantity("time", run.keys["duration"]) - run.about.get("warmup", 0.0)
    return None if delivered is None or seconds <= 0 else 8.0 * delivered / seconds


def _srtt(run: Run, row: dict[str, Any]) -> float | None:
    """The mean of the senders' smoothed round-trip times while data is in flight, at the moments of `series`.
    A kernel tells no samples, whose mean would be another number.
    """
    table = run.traces.get("flow_series")
    if table is None:
        return None
    mine = pc.and_(pc.equal(table["run"], row["run"]), pc.equal(table["stack"], row["stack"]))
    counted = pc.and_(pc.greater(table["pipe"], 0), pc.greater(table["time"], run.about.get("warmup", 0.0)))
    mean = pc.mean(table.filter(pc.and_(mine, counted))["srtt"]).as_py()
    return None if mean is None else float(mean)


QUANTITIES = (
    Quantity("goodput", quantities.rate, _goodput),
    Quantity("datagrams delivered", quantities.rate, _datagrams),
    Quantity("mean response time", quantities.seconds, _row("mean")),
    Quantity("median response time", quantities.seconds, _row("median")),
    Quantity("response time, 90 %", quantities.seconds, _row("p90")),
    Quantity("response time, 99 %", quantities.seconds, _row("p99")),
    Quantity("retransmitted", quantities.percent, _number("retransmitted")),
    Quantity("loss at the bottleneck", quantities.percent, _row("loss")),
    Quantity("timeouts", lambda x: f"{x:.1f}", _row("timeouts"), counter=True),
    Quantity("smoothed round-trip time", quantities.seconds, _srtt, least=TOUCH),
    Quantity("queueing delay", quantities.seconds, _number("queue_delay"), least=TOUCH),
)


@dataclass(frozen=True)
class Compared:
    """One number of one stack in both worlds, over the seeds."""

    stack: str
    quantity: Quantity
    kernel: np.ndarray
    simulated: np.ndarray

    @property
    def means(self) -> tuple[float, float]:
        """The kernel's and the simulator's."""
        return float(self.kernel.mean()), float(self.simulated.mean())

    @property
    def difference(self) -> float | None:
        """Simulated less kernel, as a share of the kernel's number; None where that is too small."""
        kernel, simulated = self.means
        if abs(kernel - simulated) <= self.quantity.least:
            return 0.0
        if not kernel or (self.quantity.counter and max(kernel, simulated) < FEW):
            return None
        return simulated / kernel - 1

    @property
    def half(self) -> float:
        """Half of the 95 % confidence interval of the difference, by Welch's test; infinite for one seed."""
        variances = [v.var(ddof=1) / v.size if v.size > 1 else np.inf for v in (self.kernel, self.simulated)]
        total = float(sum(variances))
        if not np.isfinite(total):
            return float("inf")
        if total == 0:
            return 0.0
        # Welch and Satterthwaite's degrees of freedom.
        n = self.kernel.size
        degrees = total**2 / sum(v**2 / (n - 1) for v in variances)
        half = student(max(int(degrees), 1) + 1) * np.sqrt(total)
        return float(half)

    @property
    def verdict(self) -> str:
        """Whether the two agree: within 5 %, else within the noise of the seeds, else not."""
        kernel, simulated = self.means
        if self.difference is not None and abs(self.difference) <= CLOSE:
            return "within 5 %"
        if not np.isfinite(self.half):
            return "one seed"
        return "within noise" if abs(simulated - kernel) <= self.half else "differs"


@dataclass(frozen=True)
class Beside:
    """All numbers of all stacks in both worlds."""

    compared: Sequence[Compared]
    seeds: int

    @staticmethod
    def of(kernel: Run, simulated: Run) -> Beside:
        """Compares a run on the testbed with the simulation of the same scenario and seeds."""
        compared = []
        stacks = list(dict.fromkeys(row["stack"] for row in kernel.stacks))
        for stack in stacks:
            rows = [[(run, r) for r in run.stacks if r["stack"] == stack] for run in (kernel, simulated)]
            for quantity in QUANTITIES:
                values = [[quantity.of(run, r) for run, r in world] for world in rows]
                if any(v is None for world in values for v in world) or not all(values):
                    continue
                found = Compared(stack, quantity, *(np.array(world, float) for world in values))
                if any(found.means):
                    compared.append(found)
        return Beside(compared, len({row["seed"] for row in kernel.stacks}))

    def sentence(self) -> str:
        """What came out, in one sentence."""
        agree = [c for c in self.compared if c.verdict.startswith("within")]
        apart = [c for c in self.compared if c.verdict == "differs"]
        begin = f"{len(agree)} of {len(self.compared)} simulated numbers are within 5 % of the kernel's"
        if self.seeds < 2:
            return f"{begin}; one seed shows no noise: --seeds 8."
        begin += " or within the noise between seeds"
        if not apart:
            return f"{begin}."
        worst = max(apart, key=lambda c: abs(c.difference) if c.difference is not None else 0.0)
        return f"{begin}; furthest apart: {worst.quantity.name} of `{worst.stack}`, {_difference(worst)}."

    def show(self) -> None:
        """Prints the table."""
        columns = ["stack", "number", "kernel", "simulated", "difference", ""]
        rows = []
        for c in self.compared:
            kernel, simulated = (c.quantity.shown(x) for x in c.means)
            rows.append([c.stack, c.quantity.name, kernel, simulated, _difference(c), c.verdict])
        print_table(
            [(name, "right" if name in columns[2:5] else "left") for name in columns],
            rows,
            names=("stack", "number"),
        )

    def described(self) -> list[dict[str, Any]]:
        """The rows as data."""
        return [
            {
                "stack": c.stack,
                "number": c.quantity.name,
                "kernel": c.means[0],
                "simulated": c.means[1],
                "difference": c.difference,
                "half_width": c.half if np.isfinite(c.half) else None,
                "verdict": c.verdict,
                "seeds": self.seeds,
            }
            for c in self.compared
        ]

    def figure(self) -> Figure:
        """Draws the differences, with their confidence intervals."""
        from ackclock.plot import style

        shown = [c for c in self.compared if c.difference is not None]
        height = 1.8 + 0.28 * len(shown)
        subtitle = f"simulated less kernel, {self.seeds} seed{'s' if self.seeds > 1 else ''}; bars: 95 %"
        fig, axes = style.figure("The kernel's TCP and its simulated twins", subtitle, (7.2, height))
        stacks = list(dict.fromkeys(c.stack for c in shown))
        for place, c in enumerate(shown):
            bar = 100 * c.half / c.means[0] if np.isfinite(c.half) and c.means[0] else 0.0
            colour = style.COLOURS[stacks.index(c.stack) % len(style.COLOURS)]
            assert c.difference is not None
            axes.errorbar(
                100 * c.difference, place, xerr=bar, color=colour, marker="o", markersize=5, capsize=3
            )
        axes.axvspan(-100 * CLOSE, 100 * CLOSE, color="0.9", zorder=0)
        axes.axvline(0, color="0.4", linewidth=0.8)
        many = len(stacks) > 1
        axes.set_yticks(
            range(len(shown)), [f"{c.stack}: {c.quantity.name}" if many else c.quantity.name for c in shown]
        )
        axes.invert_yaxis()
        axes.set_xlabel("difference (%); shaded: within 5 %")
        return fig


def _difference(c: Compared) -> str:
    if c.difference is None:
        return f"{c.means[1] - c.means[0]:+.3g}"
    return f"{100 * c.difference:+.1f} %"
