from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import interactive2007 as i
from ackclock.plot import style
from ackclock.reproduce.interactive2007 import latency, seen, testbed
from ackclock.reproduce.interactive2007.artificial import ROUND_TRIP
from ackclock.reproduce.interactive2007.seen import Seen
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width

LOSSES = (0.02, 0.05, 0.1)
FLOORS = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0])
"""minRTO', seconds (I-X4)."""
BACKLOGGED, DIVERSITY, ALWAYS = "backlogged", "III: diversity", "always"
"""Flows beside approach I; the last has the smaller minimum however much of its window it uses."""
FLOWS = 10
"""Interactive flows of a run: together they take 1 % of the link."""
DUMMY = testbed.PAYLOAD - 1
"""Bytes of a dummy."""
MARKS = 0.1
"""Mean time between the marked packets of the backlogged flow, seconds."""
SECONDS, SEEDS, FULL_SEEDS = 150.0, 4, 10
LONG = {0.02: 40.0, 0.05: 120.0, 0.1: 300.0}
"""Seconds of a run with a backlogged flow, by loss: the less is lost, the more packets it sends in a
second.
"""
Q = {"correlated": i.correlated_timeouts, "random": i.random_timeouts}


def equality(p: Any, q: Any, rtt: float) -> Any:
    """minRTO' (s) at which equation (3) gives the latency of a backlogged flow with a timeout of 1 s,
    equation (10).
    """
    p = np.asarray(p, float)
    return (i.backlogged_latency(p, q, rtt, testbed.RTO) - rtt) * (1 - 2 * p) / p


def runs(p: float, seed: int, full: bool) -> dict[str, ac.Scenario]:
    """The interactive flow with each minimum, the backlogged flow, and diversity, all with one loss ratio."""
    path, base = testbed.dumbbell(testbed.RED, loss=p), testbed.RENO
    seconds, long = (testbed.FULL, testbed.FULL) if full else (SECONDS, LONG[p])

    def one(flows: Any, label: str, stack: ac.Stack, time: float) -> ac.Scenario:
        return testbed.scenario(path, flows, {label: stack}, time, seed=seed, trace=["packets"])

    found = {
        f"{floor:g}": one(
            testbed.telnet(FLOWS), "I", testbed.tcp(f"{base}+thin-min-rto({1e3 * floor:g}ms)"), seconds
        )
        for floor in FLOORS
    }
    found |= {
        f"{floor:g} {ALWAYS}": one(testbed.telnet(FLOWS), ALWAYS, testbed.tcp(min_rto=float(floor)), seconds)
        for floor in FLOORS
    }
    # Dummies are a byte shorter than data, by which they are distinguished.
    dummies = {"bytes": f"{testbed.PAYLOAD}B", "dummy_bytes": f"{DUMMY}B"}
    found[BACKLOGGED] = one(
        ac.Backlogged(flows=1, think=f"{MARKS:g}s", **dummies, **testbed.measured()),
        BACKLOGGED,
        testbed.tcp(),
        long,
    )
    found[DIVERSITY] = one(testbed.telnet(FLOWS), DIVERSITY, testbed.tcp(f"{base}+diversity(2)"), seconds)
    return found


def measure(setting: Setting) -> list[dict[str, Any]]:
    """A row for each loss ratio, seed and flow."""
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    todo = {
        (p, seed, name): s
        for p in LOSSES
        for seed in seeds
        for name, s in runs(p, seed, setting.full).items()
    }

    def reader(key: tuple[float, int, str], run: Run) -> Seen:
        return seen.read(
            run, BACKLOGGED if key[-1] == BACKLOGGED else "telnet", larger=DUMMY, method=seen.TEXT
        )

    found = seen.each(setting, todo, reader, "I-X4")
    return [
        {
            "p": p,
            "seed": seed,
            "flow": name,
            "latency": s.mean,
            "cumulative": float(s.cumulative.mean()),
            "loss": s.loss,
            "packets": s.own.size,
        }
        for (p, seed, name), s in found.items()
    ]


def formulas() -> list[Check]:
    """What equation (3) says by itself."""
    p, rtt = np.linspace(0.005, 0.2, 40), ROUND_TRIP
    least = float(FLOORS[0])
    lower = [
        i.interactive_latency(p, rtt, least) < i.backlogged_latency(p, share(p, b), rtt)
        for share in Q.values()
        for b in (1.0, 2.0)
    ]
    same = i.interactive_latency(p[::13], rtt, p[::13] * testbed.RTO)
    return [
        stated(
            f"(3): with {1e3 * least:g} ms below backlogged, p = 0.005 to 0.2, either Q, b = 1, 2",
            f"in {sum(int(x.sum()) for x in lower)} of {4 * p.size} cases",
            all(x.all() for x in lower),
        ),
        six_digits(
            "(3) with minRTO' = p RTO over III, equation (14)",
            same / i.diversity_latency(p[::13], rtt, testbed.RTO),
            np.ones(same.size),
        ),
    ]


@item(
    "I-X4",
    kind="CF, SIM",
    title="How small a minimum RTO would have to be: approach I from 50 ms to 1 s",
    choices={
        **{key: text for key, text in testbed.CHOICES.items() if key != "cross traffic"},
        **seen.CHOICES,
        "loss": f"the artificial loss module on the way there, p = {', '.join(f'{p:g}' for p in LOSSES)}; "
        "RED at the router, as in I-F5b",
        "flows": f"{FLOWS} interactive flows at a time, which do not meet; one backlogged flow, whose "
        f"packets that count are marked {MARKS:g} s apart on average in place of 1 s (I-A3), so "
        "that there are as many in less time",
        "always": "the smaller minimum as that of the whole stack, whatever is outstanding",
        "equality": "where the line through the means over minRTO' crosses that of the backlogged flow",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full); bars and bands are 95 % "
        "confidence",
        "duration": f"{SECONDS:g} s, backlogged {', '.join(f'{s:g}' for s in LONG.values())} s "
        f"({testbed.FULL:g} s with --full)",
    },
    points_at=[
        "formula interactive-latency",
        "formula backlogged-latency",
        "formula diversity-latency",
        "application backlogged",
    ],
    tests=["tests/test_reproduce_interactive2007_minimum.py::test_at_equality_the_two_equations_agree"],
)
def reproduce(setting: Setting) -> Outcome:
    """Latency over the minimum RTO, against that of a backlogged flow and of diversity; where they are
    equal.
    """
    rows, checks, notes = measure(setting), formulas(), []
    for p in LOSSES:
        curve, always = (
            np.array([of(rows, p, f"{floor:g}{more}").mean() for floor in FLOORS])
            for more in ("", f" {ALWAYS}")
        )
        backlogged, copies = of(rows, p, BACKLOGGED), of(rows, p, DIVERSITY)
        checks += [
            stated(
                f"p = {p:g}: latency grows with minRTO'",
                ", ".join(f"{1e3 * v:.4g}" for v in curve) + " ms",
                bool((np.diff(curve) > 0).all()),
            ),
            stated(
                f"p = {p:g}: with {1e3 * FLOORS[0]:g} ms below backlogged",
                f"{1e3 * curve[0]:.4g} and {1e3 * backlogged.mean():.4g} +/- "
                f"{1e3 * half_width(backlogged):.2g} ms",
                bool(curve[0] < backlogged.mean()),
            ),
        ]
        formula = ", ".join(
            f"{1e3 * float(equality(p, share(p, 1.0), ROUND_TRIP)):.3g} ms with {kind} losses"
            for kind, share in Q.items()
        )
        notes.append(
            f"p = {p:g}: equal to backlogged at minRTO' = {equal(curve, backlogged)}, "
            f"{equal(always, backlogged)} where it holds always; by (3) and (10) {formula}"
        )
        notes.append(
            f"p = {p:g}: equal to III ({1e3 * copies.mean():.4g} +/- {1e3 * half_width(copies):.2g} "
            f"ms) at minRTO' = {equal(curve, copies)}, {equal(always, copies)} where it holds always; "
            f"by (3) and (14) {1e3 * p:.3g} ms"
        )
    notes.append(
        "approach I waits for the usual minimum again once a second packet is outstanding, half of the "
        "window of four; where the smaller "
        'minimum holds however many are ("always"), latency is (ms) '
        + "; ".join(
            f"p = {p:g}: "
            + ", ".join(f"{1e3 * of(rows, p, f'{floor:g} {ALWAYS}').mean():.4g}" for floor in FLOORS)
            for p in LOSSES
        )
    )
    return Outcome(checks, {"latency": pa.Table.from_pylist(rows)}, {"latency": picture(rows)}, notes)


def of(rows: list[dict[str, Any]], p: float, flow: str) -> np.ndarray:
    """Latencies (s) of a flow at a loss ratio, by seed."""
    return np.array([r["latency"] for r in rows if (r["p"], r["flow"]) == (p, flow)])


def equal(curve: np.ndarray, other: np.ndarray) -> str:
    """Where a curve over `FLOORS` reaches another flow's latency, in words."""
    if curve[0] > other.mean():
        return f"less than {1e3 * FLOORS[0]:g} ms"
    at = latency.crossing(FLOORS, curve, float(other.mean()))
    return f"{1e3 * at:.3g} ms" if np.isfinite(at) else f"more than {1e3 * FLOORS[-1]:g} ms"


TICKS = (10, 20, 50, 100, 200)
"""Milliseconds that the figure marks."""


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Latency over the minimum RTO: simulated with bars, by equation (3) dotted; the backlogged flow's and
    diversity's at the side.
    """
    fig, axes = style.figure(
        "What a smaller minimum RTO does for an interactive flow",
        f"Random loss, {1e3 * testbed.RTT:g} ms, simulated; dotted: equation (3); dashed across: the "
        "backlogged flow, minimum RTO 1 s",
    )
    with mpl.rc_context(style.SETTINGS):
        fine = np.geomspace(FLOORS[0], FLOORS[-1], 50)
        for k, p in enumerate(LOSSES):
            colour = style.COLOURS[k]
            each = [of(rows, p, f"{floor:g}") for floor in FLOORS]
            bars = [1e3 * half_width(v) for v in each]
            axes.errorbar(
                1e3 * FLOORS,
                [1e3 * v.mean() for v in each],
                yerr=bars,
                color=colour,
                marker="o",
                markersize=4,
                capsize=2.5,
                label=f"I, p = {p:g}",
            )
            axes.plot(
                1e3 * fine,
                1e3 * i.interactive_latency(p, ROUND_TRIP, fine),
                color=colour,
                linestyle=":",
                linewidth=1.2,
            )
            level = of(rows, p, BACKLOGGED)
            axes.axhline(1e3 * level.mean(), color=colour, linestyle=(0, (5, 3)), linewidth=1.2)
            axes.axhspan(
                1e3 * (level.mean() - half_width(level)),
                1e3 * (level.mean() + half_width(level)),
                color=colour,
                alpha=0.12,
                linewidth=0,
            )
        axes.set(
            xscale="log", yscale="log", xlabel="minimum RTO of approach I (ms)", ylabel="mean latency (ms)"
        )
        axes.set_xticks(1e3 * FLOORS, [f"{1e3 * f:g}" for f in FLOORS])
        axes.set_yticks(TICKS, [f"{t:g}" for t in TICKS])
        axes.minorticks_off()
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9)
    return fig
