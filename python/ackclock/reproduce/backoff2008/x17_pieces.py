from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.backoff2008 import comparison, flash, testbed
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.results.confidence import half_width

ALL = "nothing taken away"
WHOLE = 44
"""Segments of an initial window that is all of a receiver's 64 kB."""
SLOWER, COLLAPSED = 1.1, 0.5
"""Times the mean response time from which a piece is missed, and the part of the goodput below which the
network has collapsed.
"""
SEEDS, FULL_SEEDS = 1, 5
SECONDS = {"I": 12, "II": 25, "III": 60, "crowd": 40, "two": 8}
FULL = {"I": 60, "II": 200, "III": 400, "crowd": 120, "two": 40}
BENCHES = {
    "I": "B-F2a, Trace-I",
    "II": "B-F2b, Trace-II",
    "III": "B-F2c, Trace-III",
    "crowd": "B-F6a, UDP crowds",
    "two": "B-F9a, two bottlenecks",
}


def pieces(backoff: str) -> dict[str, ac.Stack]:
    """The stack of that backoff, whole and with one piece of 1986 taken away. What a backoff's ceiling is has
    no meaning without one.
    """
    base = testbed.freebsd("1s", backoff)[backoff]

    def floor(least: str, initial: str = "3s") -> ac.Stack:
        return base.but(timer=ac.Rfc6298(min_rto=least, initial_rto=initial))

    window = {"initial_window": "rfc3390", "byte_counting": False}
    found = {
        ALL: base,
        "minRTO 0.2 s": floor("200ms"),
        "minRTO 0.05 s": floor("50ms"),
        "no minRTO": floor("0s"),
        "initRTO 1 s": floor("1s", "1s"),
        "half the window after a timeout": base.but(
            window=ac.window.Reno(**window, after_timeout="threshold")
        ),
        "no slow start at the start": base.but(
            window=ac.window.Reno(initial_window="segments", initial_segs=WHOLE, byte_counting=False)
        ),
    }
    if backoff != TCP:
        return found
    caps = {"no ceiling of the backoff": 32, "ceiling 8 RTO": 3, "ceiling 4 RTO": 2}
    return found | {
        name: base.but(
            backoff=ac.backoff.Exponential(
                max_doublings=n, max_timeout="24h" if n > 6 else "240s", r2_retries="inf"
            )
        )
        for name, n in caps.items()
    }


def stacks() -> dict[str, ac.Stack]:
    """All of them, by a label that says both."""
    return {f"{b}: {name}": s for b in (TCP, NONE) for name, s in pieces(b).items()}


def scenario(bench: str, seconds: float, seeds: int) -> ac.Scenario:
    """One bench with all stacks."""
    if bench == "crowd":
        path: Any = testbed.dumbbell(10, "drop-tail")
        load: Any = [flash.base(), flash.crowds("udp")]
    elif bench == "two":
        path, load = two.path(), two.workloads("I")
    else:
        path, load = testbed.dumbbell(10), testbed.web(bench, 10)
    return testbed.scenario(path, load, stacks(), seconds, repeat=seeds)


@dataclass(frozen=True, eq=False)
class Piece:
    """What one stack gave on one bench, an entry for each seed."""

    bench: str
    backoff: str
    name: str
    mean: np.ndarray
    p99: np.ndarray
    goodput: np.ndarray
    spurious: np.ndarray
    """Retransmissions of what had arrived or was still to arrive, over all retransmissions."""

    def over(self, base: Piece, key: str) -> np.ndarray:
        """A number over that of the stack with nothing taken away, by seed."""
        return getattr(self, key) / getattr(base, key)

    def row(self) -> dict[str, Any]:
        """Its numbers, means over the seeds."""
        numbers = {k: float(getattr(self, k).mean()) for k in ("mean", "p99", "goodput", "spurious")}
        return {"bench": self.bench, "backoff": self.backoff, "piece": self.name, **numbers}


def read(bench: str, found: Comparison) -> list[Piece]:
    """Each stack on a bench."""
    made = []
    for stack in found.stacks:
        backoff, _, name = stack.partition(": ")
        spurious = []
        for flows in found.of(stack):
            again, vain = (
                float(pc.sum(flows[c]).as_py() or 0)
                for c in ("retransmitted_segments", "unneeded_retransmissions")
            )
            spurious.append(vain / max(again, 1))
        made.append(
            Piece(
                bench,
                backoff,
                name,
                found.mean(stack),
                found.p99(stack),
                found.number(stack, "goodput"),
                np.array(spurious),
            )
        )
    return made


def base_of(p: Piece, every: Sequence[Piece]) -> Piece:
    """The stack of the same backoff and bench with nothing taken away."""
    return next(b for b in every if (b.bench, b.backoff, b.name) == (p.bench, p.backoff, ALL))


@item(
    "B-X17",
    kind="SIM",
    title="Which of the other pieces of 1986 are still needed?",
    choices={
        **testbed.CHOICES,
        **testbed.FREEBSD,
        "benches": ", ".join(BENCHES.values()) + "; minRTO 1 s and initRTO 3 s where nothing is taken away",
        "pieces": "a smaller minRTO, none (a timeout is then SRTT + 4 RTTVAR, at least the clock's 1 ms "
        "more); initRTO 1 s; another ceiling of the backoff than 64 RTO; after a timeout half of the "
        f"window in place of one segment and slow start; a first window of {WHOLE} segments, all of a "
        "receiver's 64 kB, in place of slow start. One at a time, from TCP and from TCP*(inf)",
        "missed": f"the mean response time is more than {100 * (SLOWER - 1):.0f} % longer without it on "
        "some bench; the network has collapsed where less than half of the goodput is left",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
        "duration": "arrivals for "
        + ", ".join(f"{SECONDS[b]} ({FULL[b]}) s of {name}" for b, name in BENCHES.items())
        + ", with --full those in brackets",
    },
    points_at=["window reno(after_timeout=threshold)", "window reno(initial_window=segments)"],
    tests=["tests/test_reproduce_backoff2008_questions.py::test_each_stack_lacks_one_piece"],
)
def reproduce(setting: Setting) -> Outcome:
    """Each piece taken away from TCP and from TCP*(inf), on five benches."""
    every: list[Piece] = []
    for i, bench in enumerate(BENCHES):
        seconds, seeds = (FULL[bench], FULL_SEEDS) if setting.full else (SECONDS[bench], SEEDS)
        part = (i / len(BENCHES), (i + 1) / len(BENCHES))
        every += read(bench, comparison.run(scenario(bench, seconds, seeds), setting, "B-X17", share=part))
    notes = [note(p, every) for p in every if p.name != ALL]
    figures = {f"pieces-{'tcp' if b == TCP else 'none'}": picture(every, b) for b in (TCP, NONE)}
    return Outcome(
        [], {"pieces": pa.Table.from_pylist([p.row() for p in every])}, figures, notes, answer=answer(every)
    )


def note(p: Piece, every: Sequence[Piece]) -> str:
    """One stack on one bench in a line."""
    base = base_of(p, every)
    mean, p99, goodput = (p.over(base, k) for k in ("mean", "p99", "goodput"))
    width = f" +/- {half_width(mean):.2g}" if mean.size > 1 else ""
    return (
        f"{BENCHES[p.bench]}, {p.backoff}, {p.name}: mean {mean.mean():.3g}{width} times, P99 "
        f"{p99.mean():.3g} times, goodput {goodput.mean():.3g} times, spurious {100 * p.spurious.mean():.2g} "
        f"% of the retransmissions ({100 * base.spurious.mean():.2g} % before)"
    )


def worst(name: str, backoff: str, every: Sequence[Piece]) -> tuple[float, str]:
    """The largest ratio of means without a piece, and on which bench."""
    mine = [p for p in every if (p.name, p.backoff) == (name, backoff)]
    ratios = {p.bench: float(p.over(base_of(p, every), "mean").mean()) for p in mine}
    bench = max(ratios, key=lambda b: ratios[b])
    return ratios[bench], bench


def answer(every: Sequence[Piece]) -> str:
    """The answer that the numbers give."""
    sentences = []
    for backoff in (TCP, NONE):
        names = list(dict.fromkeys(p.name for p in every if p.backoff == backoff and p.name != ALL))
        found = {n: worst(n, backoff, every) for n in names}
        missed = {n: w for n, w in found.items() if w[0] > SLOWER}
        spared = [n for n in names if n not in missed]
        sentences.append(
            f"Taken from {backoff}, "
            + (
                "; ".join(
                    f"`{n}` costs up to {w:.2f} times the mean ({BENCHES[b]})" for n, (w, b) in missed.items()
                )
                or "nothing is missed"
            )
            + (
                f"; {', '.join(f'`{n}`' for n in spared)} cost{'s' if len(spared) == 1 else ''} no more than "
                f"{100 * (SLOWER - 1):.0f} % anywhere"
                if spared
                else ""
            )
            + "."
        )
    ratios = {p: float(p.over(base_of(p, every), "goodput").mean()) for p in every if p.name != ALL}
    collapsed = [p for p, r in ratios.items() if r < COLLAPSED]
    least = min(ratios, key=lambda p: ratios[p])
    vain = max(every, key=lambda p: p.spurious.mean())
    sentences.append(
        f"Nothing taken away collapses the network: goodput is at least {100 * ratios[least]:.0f} % of what "
        f"it was ({least.backoff}, {least.name})"
        if not collapsed
        else f"The network collapses in {len(collapsed)} cases, with {100 * ratios[least]:.0f} % of the "
        f"goodput at worst ({BENCHES[least.bench]}, {least.backoff}, {least.name})"
    )
    sentences[-1] += (
        f"; most spurious retransmissions come with {vain.name} and {vain.backoff}, "
        f"{100 * vain.spurious.mean():.0f} % of all ({BENCHES[vain.bench]})."
    )
    seeds = every[0].mean.size
    sentences.append(
        f"Sure for one piece at a time on these five benches, from {seeds} seed{'s' if seeds > 1 else ''}; "
        "two pieces together, and paths whose round-trip times vary by themselves, were not tried."
    )
    return " ".join(sentences)


def picture(every: Sequence[Piece], backoff: str) -> Figure:
    """Mean response times without each piece, over the benches."""
    mine = [p for p in every if p.backoff == backoff]
    names = [n for n in dict.fromkeys(p.name for p in mine) if n != ALL]
    x = np.arange(1, len(BENCHES) + 1, dtype=float)
    fig = measured(
        [
            Measured(
                n, x, np.array([float(p.over(base_of(p, every), "mean").mean()) for p in mine if p.name == n])
            )
            for n in names
        ],
        title=f"What each part of TCP from 1986 is worth to {backoff}",
        subtitle="Mean response time with the change, relative to that without: above 1 the part is missed",
        xlabel="load",
        ylabel="relative mean response time",
        log="y",
    )
    fig.axes[0].set_xticks(x, [name.partition(", ")[2].replace(" ", "\n", 1) for name in BENCHES.values()])
    return fig
