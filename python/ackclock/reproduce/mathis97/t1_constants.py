from __future__ import annotations

import math
from typing import Any

from ackclock.models import mathis97 as m
from ackclock.models.mathis97 import fit
from ackclock.reproduce.item import Check, Outcome, Setting, between, item, six_digits, within
from ackclock.reproduce.mathis97 import lossy, scatter, window_alone

STACKS = ("FACK-RH", "SACK")
LOW, HIGH = 1e-4, 1e-3
"""Losses through which C is fitted, as M-T1c has them: there the windows are large, as the derivations take
them to be.
"""
CHOICES = {
    **lossy.CHOICES,
    "sizes": "1460 byte segments, 30 ms one way",
    "losses": "1e-4 to 1e-3 for loss by count too",
    "fitted C": "equation (3) through the runs of both stacks, FACK with rate-halving and SACK",
}


def simulated(
    setting: Setting, acks: str, periodic: bool, low: float, high: float, n: int
) -> list[dict[str, Any]]:
    """Runs of both stacks at some losses."""
    names = [name if acks == "every" else f"{name} DA" for name in STACKS]
    seeds = range(1, (4 if setting.full and not periodic else 1) + 1)
    cycles = lossy.CYCLES / 4 if periodic else lossy.CYCLES * (4 if setting.full else 2)
    cases = [
        lossy.Case(name, p, seed=seed, periodic=periodic, cycles=cycles)
        for name in names
        for p in lossy.grid(low, high, n)
        for seed in seeds
    ]
    return lossy.measure(setting, cases, "loss by count" if periodic else "random loss")


def constant(
    rows: list[dict[str, Any]], check: Check, expected: float, title: str, more: list[Check], notes: list[str]
) -> Outcome:
    """The fitted C beside the stated one."""
    fig, axes = scatter.figure(
        title,
        "1460-byte segments, 60 ms round trips; open markers: runs with timeouts",
        "p: packets lost over packets sent",
        ylabel="C = window x sqrt(p)",
    )
    axes.set_yscale("linear")
    for i, name in enumerate(dict.fromkeys(r["row"] for r in rows)):
        mine = [r for r in rows if r["row"] == name]
        scatter.points(
            axes,
            i,
            name.removesuffix(" DA"),
            [r["p"] for r in mine],
            [r["window"] * math.sqrt(r["p"]) for r in mine],
            [r["timeouts"] for r in mine],
        )
    axes.axhline(expected, color="#555555", linewidth=1.2, label=f"table 1: {expected:.4g}")
    axes.set_ylim(0.6 * expected, 1.25 * expected)
    axes.legend(loc="lower left", fontsize=9)
    queue = max(r["queue"] for r in rows)
    return Outcome(
        [*more, check],
        {"runs": lossy.table(rows)},
        {"constant": fig},
        [*notes, f"longest mean queue: {queue:.2g} packets"],
    )


def fitted(rows: list[dict[str, Any]]) -> m.Fit:
    """Equation (3) through the runs."""
    return fit(
        [r["p"] for r in rows], [r["window"] for r in rows], timeouts=[r["timeouts"] for r in rows], k=-0.5
    )


def by_count(setting: Setting, acks: str, expected: float, low: float, high: float) -> Outcome:
    """C for loss by count: the formula, and the fit to simulations."""
    rows = simulated(setting, acks, True, LOW, 1e-2, 13 if setting.full else 9)
    found, all_ = fitted([r for r in rows if r["loss"] <= HIGH]), fitted(rows)
    alone = window_alone.constant(1e-3, 1.0 if acks == "every" else 0.5, False)
    notes = [
        _said(found),
        "with the runs up to p = 0.01, where whole segments and the round trip of recovery cost more: "
        f"C = {all_.c:.4f}",
        f"the window by itself, without recovery and rounding, at p = 0.001: {alone:.4f}",
    ]
    title = f"Loss by count, {'an ack for each packet' if acks == 'every' else 'delayed acks'}"
    return constant(
        rows,
        between("fitted C of the simulations", found.c, low, high),
        expected,
        title,
        [six_digits("C", expected, _printed(acks))],
        notes,
    )


def _said(found: m.Fit) -> str:
    return f"C = {found.c:.4f} +/- {found.c_error:.4f}, {found.n} runs"


def _printed(acks: str) -> float:
    return 1.22474 if acks == "every" else 0.866025


def at_random(setting: Setting, acks: str, expected: float, tolerance: float) -> Outcome:
    """C for random loss: the fit to simulations."""
    rows = simulated(setting, acks, False, LOW, HIGH, 6 if setting.full else 4)
    found = fitted(rows)
    alone = window_alone.constant(1e-3, 1.0 if acks == "every" else 0.5, True)
    notes = [_said(found), f"the window by itself, without recovery and rounding, at p = 0.001: {alone:.4f}"]
    title = f"Random loss, {'an ack for each packet' if acks == 'every' else 'delayed acks'}"
    return constant(
        rows, within("fitted C of the simulations", found.c, expected, tolerance), expected, title, [], notes
    )


@item("M-T1a", kind="CF, SIM", title="C for periodic loss and an ack for each packet", choices=CHOICES)
def periodic_every(setting: Setting) -> Outcome:
    """The root of 3/2, and loss of every 1/p-th packet."""
    return by_count(setting, "every", math.sqrt(1.5), 1.15, 1.30)


@item("M-T1b", kind="CF, SIM", title="C for periodic loss and delayed acks", choices=CHOICES)
def periodic_delayed(setting: Setting) -> Outcome:
    """The root of 3/4, and loss of every 1/p-th packet."""
    return by_count(setting, "delayed", math.sqrt(0.75), 0.82, 0.92)


@item("M-T1c", kind="SIM", title="C for random loss and an ack for each packet", choices=CHOICES)
def random_every(setting: Setting) -> Outcome:
    """Independent losses, p from 1e-4 to 1e-3."""
    return at_random(setting, "every", 1.31, 0.08)


@item("M-T1d", kind="SIM", title="C for random loss and delayed acks", choices=CHOICES)
def random_delayed(setting: Setting) -> Outcome:
    """Independent losses, p from 1e-4 to 1e-3."""
    return at_random(setting, "delayed", 0.93, 0.06)
