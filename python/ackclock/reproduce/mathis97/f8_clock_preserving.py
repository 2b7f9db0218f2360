from __future__ import annotations

import itertools
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, stated
from ackclock.reproduce.mathis97 import lossy, ten
from ackclock.sweep import run_all

WINDOWS = range(1, 9)
"""Windows of the single-loss test, segments."""
LOST = 20
"""The segment that it loses, from 1."""
SLACK = 0.03
"""By which a share may lie above the one at the next smaller loss: three standard errors of 1200 episodes."""
FOOTNOTE = 5
"""The smallest window that footnote 14 has for the others."""


def single_loss(row: str, window: int) -> ac.Scenario:
    """A transfer of 40 segments through a constant window, one of which is lost."""
    preset, acks = lossy.ROWS[row]
    size = 1460
    stack = ac.Stack(preset, ack=acks, mss=f"{size}B")
    keys = {
        "window.initial_window": "segments",
        "window.initial_segs": window,
        "window.initial_ssthresh": f"{window * size}B",
        "window.increase_segs": 0,
    }
    link = ac.Link(lossy.RATE, "30ms", faults=[{"kind": "segment-loss", "offset": f"{(LOST - 1) * size}B"}])
    base = ac.Scenario.of(
        ac.Single(link, rtt="links"), ac.Fixed(size=f"{2 * LOST * size}B"), {"tcp": stack}, duration="60s"
    )
    return base.but({f"stacks.tcp.{key}": value for key, value in keys.items()})


def smallest(setting: Setting) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """For each TCP the smallest window from which on a single loss needs no timeout, and all the runs."""
    cases = [(row, window) for row in lossy.ROWS for window in WINDOWS]
    runs = run_all([single_loss(*case) for case in cases], workers=setting.workers)
    rows = [
        {"row": row, "window": w, "timeouts": run.flows.to_pylist()[0]["timeouts"]}
        for (row, w), run in zip(cases, runs, strict=True)
    ]
    return {
        name: 1 + max(r["window"] for r in rows if r["row"] == name and r["timeouts"]) for name in lossy.ROWS
    }, rows


def half_way(losses: list[float], shares: list[float]) -> float:
    """The loss at which the share comes below one half, between two points by the logarithm."""
    for (p, s), (q, t) in zip(
        zip(losses, shares, strict=True), zip(losses[1:], shares[1:], strict=True), strict=False
    ):
        if s >= 0.5 > t:
            return float(np.exp(np.interp(0.5, [t, s], [np.log(q), np.log(p)])))
    return float("inf") if shares[-1] >= 0.5 else losses[0]


def checks(curves: dict[str, list[float]], losses: list[float], windows: dict[str, int]) -> list[Check]:
    """The register's statements."""
    rises = {row: max(b - a for a, b in itertools.pairwise(s)) for row, s in curves.items()}
    worst = max(rises, key=lambda row: rises[row])
    found = [
        stated(
            "every share falls as loss rises",
            f"largest rise {rises[worst]:.3f} ({worst})",
            rises[worst] <= SLACK,
            f"no rise above {SLACK:g} by chance",
        )
    ]
    for block, word in ((ten.PLAIN, "an ack for each packet"), (ten.DELAYED, "delayed acks")):
        at = {row: half_way(losses, curves[row]) for row in block}
        ranked = sorted(at, key=lambda row: -at[row])
        got = ", ".join(f"{row} {at[row]:.3f}" for row in ranked)
        found.append(
            stated(
                f"loss at which half of the adjustments are halvings, {word}",
                got,
                ranked[0].startswith("FACK"),
                "FACK-RH last",
            )
        )
    for row in lossy.ROWS:
        if row.startswith("FACK"):
            found.append(
                exactly(f"{row}: a single loss in a window of 3 needs no timeout", windows[row] <= 3, True)
            )
        else:
            found.append(exactly(f"{row}: smallest window that survives a single loss", windows[row], 4))
    return found


@item(
    "M-F8",
    kind="SIM",
    title="Share of clock-preserving adjustments against loss, ten TCPs",
    choices={
        **ten.CHOICES,
        "losses": "0.001 to 0.3 in steps, and the three of table 4",
        "single-loss test": "a constant window, one segment in the middle of a transfer lost; a window "
        "suffices when no larger one times out either",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """All ten at losses up to 0.3; and the smallest windows that recover."""
    losses = sorted({*lossy.grid(1e-3, 0.3, 12 if setting.full else 7), *ten.PLACES})
    cycles = 2000 if setting.full else 400
    cases = [
        lossy.Case(row, p, cycles=cycles if p > 5e-3 else cycles / 2) for row in lossy.ROWS for p in losses
    ]
    rows = lossy.measure(setting, cases, "ten TCPs")
    curves = {row: [ten.share(r) for r in rows if r["row"] == row] for row in lossy.ROWS}
    windows, tests = smallest(setting)
    fig = figure(losses, curves)
    found = ", ".join(f"{row} {w}" for row, w in windows.items())
    notes = [
        f"Smallest window that survives a single loss: {found}.",
        f"By footnote 14 the others need {FOOTNOTE}: its lost packet goes out on the fifth ack. With "
        "the usual third duplicate ack they need 4.",
    ]
    tables = {
        "shares": pa.Table.from_pylist([ten.counted(r) for r in rows]),
        "single_loss": pa.Table.from_pylist(tests),
    }
    return Outcome(checks(curves, losses, windows), tables, {"shares": fig}, notes)


def figure(losses: list[float], shares: dict[str, list[float]]) -> Figure:
    """The shares over the loss, TCPs with delayed acks apart from those without."""
    panels = {"an ack for each packet": ten.PLAIN, "delayed acks": ten.DELAYED}
    with mpl.rc_context(style.SETTINGS):
        fig, both = style.side_by_side(
            list(panels),
            4.6,
            4.9,
            "Downward adjustments that keep the clock",
            "Random loss, no queue; loss episodes in which the acks go on to clock the sender",
        )
        for axes, rows in zip(both, panels.values(), strict=True):
            for i, row in enumerate(rows):
                look = {**style.line(i), "marker": "osD^v"[i], "markersize": 4}
                axes.plot(losses, shares[row], label=row.removesuffix(" DA"), **look)
            axes.set(xscale="log", ylim=(0, 1.02), xlabel="loss of the link")
            axes.grid(True, which="major")
        both[0].set_ylabel("share of loss episodes")
        both[0].legend(fontsize=9, loc="lower left")
    return fig
