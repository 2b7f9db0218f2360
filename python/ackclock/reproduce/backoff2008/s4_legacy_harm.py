from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.pairs import pairs
from ackclock.reproduce.backoff2008.testbed import NONE, STAR, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, item

STEPS = ((TCP, STAR), (STAR, NONE), (TCP, NONE))
"""Old and new stack: the first step, the second step, and both at once."""
MOST = {(TCP, STAR): 1.4, (STAR, NONE): 1.7}
"""Slowdown of the old stack beside 90 % of the new one that the register allows (B-X6)."""
SHARES = (0.1, 0.5, 0.9)
OFFERED = {"I": testbed.OFFERED_MBIT, "II": 15.0}
"""Payload, Mbit/s."""
SECONDS, SEEDS = {"I": 24, "II": 40}, 3
DOUBLED = 2.0
"""A flow that takes longer than this many times what it took counts as badly hurt."""


def scenarios(trace: str, setting: Setting) -> dict[tuple[str, ...], ac.Scenario]:
    """Each old stack alone, and each step at each share, by (old,) and (old, new, share)."""
    path, web = testbed.dumbbell(10), ac.Web(trace=trace, load=OFFERED[trace] / 10)
    seconds = (testbed.FULL if setting.full else SECONDS)[trace]
    found: dict[tuple[str, ...], ac.Scenario] = {
        (old,): testbed.scenario(path, web, testbed.stacks("200ms", old), seconds, repeat=SEEDS)
        for old in (TCP, STAR)
    }
    for old, new in STEPS:
        for share in SHARES:
            mix = {old: 1 - share, new: share}
            mixed = testbed.scenario(
                path, web, testbed.stacks("200ms", old, new), seconds, repeat=SEEDS, mix=mix
            )
            found[old, new, f"{share:g}"] = mixed
    return found


def measure(trace: str, setting: Setting, share_of_work: tuple[float, float]) -> list[dict[str, Any]]:
    """A row for each step and share: what becomes of the very flows that keep the old stack."""
    todo = scenarios(trace, setting)
    single = [one for s in todo.values() for one in comparison.seeds(s)]
    runs = setting.run_all(single, "B-S4", share_of_work)
    found: dict[tuple[str, ...], Comparison] = {
        name: comparison.gather(runs[i * SEEDS : (i + 1) * SEEDS]) for i, name in enumerate(todo)
    }
    rows = []
    for old, new in STEPS:
        for share in SHARES:
            mixed = found[old, new, f"{share:g}"]
            kept = pairs(found[old,].of(old), mixed.of(old))
            moved = pairs(found[old,].of(old), mixed.of(new))
            rows.append(
                {
                    **{"trace": trace, "old": old, "new": new, "share": share, "flows": kept.ratio.size},
                    **{
                        "slowdown": kept.mean_ratio,
                        "doubled": float((kept.ratio > DOUBLED).mean()),
                        "adopters": moved.mean_ratio,
                    },
                    "p99_ratio": float(np.percentile(kept.after, 99) / np.percentile(kept.before, 99)),
                }
            )
    return rows


@item(
    "B-S4",
    kind="SIM",
    title="How much does each step of deployment harm those who have not moved?",
    choices={
        **testbed.CHOICES,
        "arrivals": "Poisson, one connection for each transfer; 12 Mbit/s of payload offered in Trace-I, "
        "15 in Trace-II, the upper end of the paper's 10 to 15. Chosen after a first run: with "
        "12 Mbit/s of Trace-II no slowdown was farther from 1 than 5 %, either way",
        "steps": "TCP to TCP*(3), TCP*(3) to TCP*(inf), and TCP to TCP*(inf) at once; 10, 50 and 90 % of "
        "the flows have moved",
        "slowdown": "mean response time of the flows that keep the old stack, over that of the very same "
        "flows before anybody moved",
        "adopters": "the same for the flows that moved",
        "badly hurt": f"flows of the old stack that take more than {DOUBLED:g} times as long",
        "tolerances": "at each share, either step slows no more than both at once; at 90 % at most 1.4 and "
        "1.7, as in B-X6; those who move gain at each share of the step at once",
        "random numbers": f"seeds 1 to {SEEDS}",
        "duration": testbed.times(SECONDS)
        + "; Trace-II came down from 60 s after results had been seen, for cost",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Slowdown of the old stack's flows at each step and share."""
    rows = [
        row for i, trace in enumerate(SECONDS) for row in measure(trace, setting, (0.5 * i, 0.5 * (i + 1)))
    ]
    by = {(r["trace"], r["old"], r["new"], r["share"]): r for r in rows}
    checks: list[Check] = []
    for trace in SECONDS:
        for (old, new), most in MOST.items():
            checks += [
                at_most(
                    f"Trace-{trace}, {old} beside {100 * share:g} % {new}: slowdown",
                    by[trace, old, new, share]["slowdown"],
                    by[trace, TCP, NONE, share]["slowdown"],
                    "that of both steps at once",
                )
                for share in SHARES
            ]
            checks.append(
                at_most(
                    f"Trace-{trace}, {old} beside 90 % {new}: slowdown, largest allowed",
                    by[trace, old, new, 0.9]["slowdown"],
                    most,
                    "at most",
                )
            )
        gains = [1 / by[trace, TCP, NONE, share]["adopters"] for share in SHARES]
        checks.append(
            at_least(
                f"Trace-{trace}: least speed-up of those who move from TCP to TCP*(inf)",
                min(gains),
                1.0,
                "a gain",
            )
        )
    notes = [
        (
            f"Trace-{r['trace']}, {r['old']} beside {100 * r['share']:g} % {r['new']}: slowdown of the mean "
            f"{r['slowdown']:.3g}, of P99 {r['p99_ratio']:.3g}; {100 * r['doubled']:.3g} % of {r['flows']} "
            f"flows take more than {DOUBLED:g} times as long; adopters' mean times {r['adopters']:.3g}"
        )
        for r in rows
    ]
    return Outcome(checks, {"harm": pa.Table.from_pylist(rows)}, {"harm": picture(rows)}, notes, answer(by))


def answer(by: dict[tuple[str, str, str, float], dict[str, Any]]) -> str:
    """What the results say."""
    parts = []
    for trace in SECONDS:
        at_once, first, second = (
            by[(trace, *step, 0.9)] for step in ((TCP, NONE), (TCP, STAR), (STAR, NONE))
        )
        parts.append(
            f"In Trace-{trace} the last tenth that keeps TCP takes {at_once['slowdown']:.3g} times as "
            f"long when all others give up backoff at once, {first['slowdown']:.3g} times when they "
            f"take TCP*(3) first, and those who stay at TCP*(3) then {second['slowdown']:.3g} times; "
            f"while a tenth has moved it is {by[trace, TCP, NONE, 0.1]['slowdown']:.3g}, "
            f"{by[trace, TCP, STAR, 0.1]['slowdown']:.3g} and "
            f"{by[trace, STAR, NONE, 0.1]['slowdown']:.3g}."
        )
    grows = all(
        by[(t, *step, 0.9)]["slowdown"] >= by[(t, *step, 0.1)]["slowdown"] for t in SECONDS for step in STEPS
    )
    gain = all(r["adopters"] < 1 for r in by.values())
    parts.append(
        "Harm grows with the share that has moved"
        if grows
        else "Harm does not grow with the share at every step"
    )
    parts[-1] += (
        ", and those who move gain at every step."
        if gain
        else ", and those who move do not gain at every step."
    )
    return " ".join(parts)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Slowdown against the share that has moved."""
    fig, axes = style.figure(
        "Flows that keep the old stack, against themselves before",
        "10 Mbit/s RED, 12 Mbit/s of Trace-I or 15 of Trace-II offered, SACK, minimum RTO 0.2 s",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, trace in enumerate(SECONDS):
            for j, (old, new) in enumerate(STEPS):
                mine = [r for r in rows if (r["trace"], r["old"], r["new"]) == (trace, old, new)]
                look = {**style.line(j), "linestyle": style.DASHES[i]}
                x = [0.0, *(100 * r["share"] for r in mine)]
                axes.plot(
                    x,
                    [1.0, *(r["slowdown"] for r in mine)],
                    marker="os"[i],
                    markersize=4,
                    label=f"{old} beside {new}, Trace-{trace}",
                    **look,
                )
        axes.axhline(1.0, color="#777777", linewidth=0.8)
        axes.set(
            xlabel="flows that have moved (%)", ylabel="mean response time, times that before", xlim=(0, 100)
        )
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig
