from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.models.timer import Timer
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import model, real_series
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.results.confidence import half_width

KS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MAXIMA = (0, 10, 40)
"""MAXCWND, segments; 0 learns it."""
TICK = "100us"


def timers() -> dict[str, Timer]:
    """All that are compared, without floors of their own."""
    plain = {"tick": TICK, "min_rto": "0s", "max_rto": "1h"}
    found = {"Eifel": Timer("eifel").but(**plain)}
    found |= {
        "RFC 6298, no floor": Timer("rfc6298", (("clock_granularity", TICK),)).but(min_rto="0s"),
        "RFC 6298": Timer("rfc6298"),
        "Linux": Timer("linux"),
        "Lite": Timer("lite").but(**plain),
    }
    for most in MAXIMA:
        for k in KS:
            name = f"k = {k:g}" + (f", MAXCWND {most}" if most else "")
            found[name] = trained(k, most).but(**plain)
    return found


def trained(k: float, most: int) -> Timer:
    """The timer that trains itself."""
    return Timer("eifel-agg", (("k", f"{k:g}"), ("max_cwnd", str(most))))


def scored(timer: Timer, series: list[real_series.Series]) -> dict[str, Any]:
    """Samples above the timeout, of 1000, and the median of timeouts over round-trip times: means over the
    captures with their intervals.
    """
    ratios = [s.ratios(timer) for s in series]
    late = [1000 * float((r < 1).mean()) for r in ratios]
    mean = [float(np.median(r)) for r in ratios]
    return {
        "late": float(np.mean(late)),
        "late_half": half_width(late),
        "mean": float(np.mean(mean)),
        "mean_half": half_width(mean),
        "by_capture": late,
    }


@item(
    "E-X13",
    kind="CAP, MODEL",
    title="Which k makes the self-training timeout best?",
    choices={
        "captures": real_series.CHOICE,
        "spurious": "a sample above the timeout before it, which is also what the timer learns from",
        "MAXCWND": "learnt from what is in flight; 10 and 40 segments beside it",
        "timers": f"ticks of {TICK}, no floor of their own; RFC 6298 also as it stands (1 s at least), and "
        "Linux's (200 ms)",
        "intervals": "95 %, over captures",
        "step-by-step model": "load 26, 400 cycles, service time 1 s",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """k from 0.005 to 0.5 over real round-trip times, beside the timers without training."""
    series = real_series.series()
    if not series:
        return Outcome([], notes=["Captures are part of a checkout only."], skipped="no captures here")
    found = {name: scored(t, series) for name, t in timers().items()}
    rows = [
        {"timer": name, **{key: r[key] for key in ("late", "late_half", "mean", "mean_half")}}
        for name, r in found.items()
    ]
    rows_of_model = in_model()
    notes = [
        f"{r['timer']}: {r['late']:.1f} +/- {r['late_half']:.1f} of 1000 samples late, median RTO/RTT "
        f"{r['mean']:.2f} +/- {r['mean_half']:.2f}"
        for r in rows
    ]
    notes += [
        f"step-by-step model, k = {r['k']:g}: {r['late']:.2f} of 1000 samples late, mean RTO/RTT "
        f"{r['mean']:.2f}"
        for r in rows_of_model
    ]
    fig, axes = style.figure(
        "Late samples against how long the timeout is",
        f"{len(series)} captures of Linux over emulated paths; means over them; lines: k from 0.005 to 0.5",
    )
    for i, most in enumerate(MAXIMA):
        of = [found[f"k = {k:g}" + (f", MAXCWND {most}" if most else "")] for k in KS]
        axes.plot(
            [r["mean"] for r in of],
            [r["late"] for r in of],
            marker="o",
            markersize=4,
            label=f"MAXCWND {most}" if most else "MAXCWND learnt",
            **style.line(i),
        )
    for i, name in enumerate(("Eifel", "RFC 6298, no floor", "Linux", "Lite")):
        axes.plot([found[name]["mean"]], [found[name]["late"]], "sD^v"[i], color="#000000", label=name)
    axes.set(xscale="log", xlabel="median RTO(i-1)/RTT(i)", ylabel="samples above the timeout, of 1000")
    axes.grid(True)
    axes.legend(loc="upper right", fontsize=9)
    tables = {"timers": pa.Table.from_pylist(rows), "row_model": pa.Table.from_pylist(rows_of_model)}
    return Outcome([], tables, {"frontier": fig}, notes, answer(found))


def answer(found: dict[str, dict[str, Any]]) -> str:
    """What k gains and costs, and how sure that is."""
    eifel, low, high = found["Eifel"], found[f"k = {KS[0]:g}"], found[f"k = {KS[-1]:g}"]
    plain = found["RFC 6298, no floor"]
    least = min(KS, key=lambda k: found[f"k = {k:g}"]["late"])
    return (
        f"No k is best by itself: from {KS[0]:g} to {KS[-1]:g} the median timeout falls from "
        f"{low['mean']:.2f} to "
        f"{high['mean']:.2f} round-trip times and late samples go from {low['late']:.1f} to "
        f"{high['late']:.1f} "
        f"of 1000 (Eifel without training: {eifel['mean']:.2f} and {eifel['late']:.1f}; RFC 6298 without its "
        f"floor: {plain['mean']:.2f} and {plain['late']:.1f}); fewest late samples at k = {least:g}. Not "
        f"sure "
        f"for the Internet: {len(eifel['by_capture'])} short captures of emulated paths, and at k = 0.05 "
        f"the interval over them is "
        f"+/- {found['k = 0.05']['late_half']:.1f} late samples of 1000."
    )


def in_model() -> list[dict[str, float]]:
    """The same in the step-by-step model, where the paper looked."""
    rows = []
    for k in KS:
        made = model.RowModel(26, 400).run(model.exact("eifel-agg", k=f"{k:g}", max_cwnd="26"))
        ratio = made.ratio[model.RowModel(26).cycle_rows :]
        rows.append({"k": k, "late": 1000 * float((ratio < 1).mean()), "mean": float(ratio.mean())})
    return rows
