from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models.eifel2000 import RowModel, exact
from ackclock.models.timer import Timer
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import model, real_series, testbed
from ackclock.reproduce.item import Outcome, Setting, item

LOADS = (10, 26, 40)
RULES = {
    "lower-bound": "E-E6",
    "load": "actual load",
    "least-load": "least load of a round trip",
    "smoothed-load": "smoothed load",
    "half-window": "CWND/2",
    "ssthresh": "SSTHRESH",
}
SECONDS = 15_000


@item(
    "E-X15",
    kind="MODEL, CAP, SIM",
    title="Which definition of FLIGHT is best?",
    choices={
        **model.CHOICES,
        "definitions": "E-E6; the load; its least over the last round trip (this one and the one before); "
        "the "
        "load smoothed by 1/8; CWND/2; SSTHRESH",
        "captures": real_series.CHOICE + "; the window is what is in flight, there is no SSTHRESH",
        "application limits": "simulated: an application that sends for 10 s and is silent for 10 s on "
        "average, 1 Mbit/s, 200 ms, a queue of 20 packets, delayed acks",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Six definitions in the step-by-step model, over captures, in the testbed with losses, and with an
    application that pauses.
    """
    series = real_series.series()
    measured, paused = simulated(testbed_run()), simulated(pausing())
    rows = []
    for rule, words in RULES.items():
        row = {"flight": words}
        for sampling in ("every", "delayed"):
            of = {
                n: RowModel(n, model.CYCLES + 1, sampling=sampling).run(exact("eifel", flight=rule))
                for n in LOADS
            }
            cycles = [rows_.cycle() for rows_ in of.values()]
            row[f"least_{sampling}"] = min(float(r.sampled(r.ratio).min()) for r in cycles)
            row[f"mean_{sampling}"] = float(np.mean([r.sampled(r.ratio).mean() for r in cycles]))
            row[f"late_{sampling}"] = sum(int((r.sampled(r.margin) <= 0).sum()) for r in cycles)
        row["spikes"] = sum(
            int(
                (
                    np.diff(RowModel(n, model.CYCLES).run(exact("eifel", flight=rule)).rto)[
                        -RowModel(n).cycle_rows :
                    ]
                    > 1
                ).sum()
            )
            for n in LOADS
        )
        ratios = [s.ratios(timer(rule)) for s in series]
        row["captures_late"] = 1000 * float(np.mean([(r < 1).mean() for r in ratios])) if ratios else None
        row["captures_mean"] = float(np.mean([np.median(r) for r in ratios])) if ratios else None
        for name, found in (("line", measured), ("pausing", paused)):
            r = found[rule]
            row[f"{name}_late"], row[f"{name}_mean"] = 1000 * float((r < 1).mean()), float(np.median(r))
        rows.append(row)
    fig = figure(rows, bool(series))
    notes = [described(r) for r in rows]
    if not series:
        notes.append("Captures are part of a checkout only, and were left out here.")
    return Outcome([], {"definitions": pa.Table.from_pylist(rows)}, {"definitions": fig}, notes, answer(rows))


def timer(rule: str) -> Timer:
    """The timer over captures: ticks of 100 us, no further floor."""
    return Timer("eifel", (("flight", rule),)).but(tick="100us", min_rto="0s", max_rto="1h")


def stack(rule: str, tick: str, **options: object) -> ac.Stack:
    """A host of the testbed with that definition."""
    estimator = ac.estimator.Eifel(tick=tick, rounded=True, max_rto="1h", flight=rule)
    return testbed.sender(estimator, ac.timer.Precise(heartbeat=tick), timestamps=True, **options)


def testbed_run() -> ac.results.Run:
    """The testbed's line, with losses and recoveries."""
    return testbed.transfer(testbed.line(), {r: stack(r, "500ms") for r in RULES}, SECONDS)


def pausing() -> ac.results.Run:
    """An application that pauses, with delayed acks."""
    path = ac.Single(ac.Link("1Mbit/s", queue=ac.DropTail(limit="20packets")), rtt="200ms")
    work = ac.OnOff(rate="2Mbit/s", on="10s", off="10s", periods="exponential")
    stacks = {r: stack(r, "10ms").but(ack="delayed") for r in RULES}
    return ac.Scenario.of(path, work, stacks, duration="600s", trace=["samples"]).simulate()


def simulated(run: ac.results.Run) -> dict[str, np.ndarray]:
    """RTO(i-1)/RTT(i) of each sample after the first ones, by definition."""
    return {r: testbed.Log.of(run, r).ratio[50:] for r in RULES}


def described(r: dict[str, float]) -> str:
    """A row in words."""
    words = (
        f"{r['flight']}: step-by-step model, least ratio {r['least_every']:.3f} ({r['least_delayed']:.3f} "
        f"with delayed "
        f"acks), mean {r['mean_every']:.2f}, {r['late_every']} ({r['late_delayed']}) rows late, "
        f"{r['spikes']} "
        f"spikes in a cycle of each load; testbed {r['line_late']:.2f} of 1000 samples late, median ratio "
        f"{r['line_mean']:.2f}; pausing application {r['pausing_late']:.2f}, {r['pausing_mean']:.2f}"
    )
    if r["captures_late"] is not None:
        words += f"; captures {r['captures_late']:.2f} of 1000 late, median ratio {r['captures_mean']:.2f}"
    return words


def answer(rows: list[dict[str, float]]) -> str:
    """Which has the lowest timeouts among those that are hardly ever late."""
    safe = [
        r
        for r in rows
        if not r["late_every"] and not r["late_delayed"] and max(r["line_late"], r["pausing_late"]) < 1
    ]
    steady = [r["flight"] for r in safe if not r["spikes"]]
    best = min(safe, key=lambda r: r["mean_every"])
    paper = next(r for r in rows if r["flight"] == "E-E6")
    late = ", ".join(r["flight"] for r in rows if r not in safe)
    return (
        f"Of the six, {len(safe)} are never late in the step-by-step model and late for less than one of "
        f"1000 samples in "
        f"both simulations ({late or 'none'} are not); of these {', '.join(steady)} make no spikes, and the "
        f"lowest timeout on average is that of {best['flight']} ({best['mean_every']:.2f} round-trip "
        f"times; E-E6 "
        f"has {paper['mean_every']:.2f}). Sure for the step-by-step model and for two simulated paths; "
        "captures of emulated paths hardly tell the definitions apart."
    )


WORLDS = [
    ("line", "testbed's line", "o"),
    ("pausing", "pausing application", "s"),
    ("captures", "captures", "^"),
]
"""Keys of rows, names and marks of what each definition was tried on."""
LEGEND = {"E-E6": "the paper's lower bound"}
"""Names that the figure has in place of an equation's."""


def figure(rows: list[dict[str, float]], captures: bool) -> mpl.figure.Figure:
    """Late samples against how long the timeout is, in each world."""
    fig, axes = style.figure(
        "Definitions of FLIGHT: how late a timeout is against how long",
        "Right: longer timeouts. Up: more samples above the timeout. "
        + ", ".join(
            f"{m}: {w}" for (_, w, _), m in zip(WORLDS, ("Circle", "square", "triangle"), strict=True)
        ),
    )
    worlds = WORLDS if captures else WORLDS[:2]
    with mpl.rc_context(style.SETTINGS):
        for i, r in enumerate(rows):
            for key, _, marker in worlds:
                axes.plot(
                    [r[f"{key}_mean"]],
                    [r[f"{key}_late"]],
                    marker,
                    color=style.COLOURS[i % len(style.COLOURS)],
                    markersize=7,
                    label=LEGEND.get(r["flight"], r["flight"]) if key == "line" else None,
                )
        axes.set(xlabel="median RTO(i-1)/RTT(i)", ylabel="samples above the timeout, of 1000")
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig
