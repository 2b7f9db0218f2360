"""Real form of B-X6: deployment in two steps, with TCP*(3) by a program of the kernel's."""

from __future__ import annotations

from typing import Any

import numpy as np

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008.real_traces import (
    AT_ONCE,
    CHOICES,
    FULL,
    REST,
    SECONDS,
    described,
    mean,
    scenario,
    stacks,
    times,
)
from ackclock.reproduce.backoff2008.rto_program import MARK, sub_exponential
from ackclock.reproduce.backoff2008.testbed import NONE, STAR, TCP
from ackclock.reproduce.backoff2008.x6_two_steps import STEPS
from ackclock.reproduce.item import Outcome, Setting, at_most, between
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, real_form, together

SHARE = 0.9
"""Of the new stack."""
ROUNDS = 3
"""Expiries in a row that TCP*(3) does not back off."""
WAYS = (*((old, new) for old, new, *_ in STEPS), (TCP, NONE))


def three() -> dict[str, ac.Stack]:
    """TCP, TCP*(3) and TCP*(6). The program finds its sockets by TCP_NODELAY."""
    found = stacks("200ms")
    kernel: dict[str, Any] = found[NONE].given["kernel"]
    marked = {**kernel, "options": {MARK: 1}}
    backoff = ac.backoff.ThinLinear(retries=ROUNDS, max_timeout="120s")
    return {**found, STAR: found[NONE].but(backoff=backoff, nagle=False, kernel=marked)}


@real_form(
    "B-X6",
    title="Deployment in two steps on the kernel, Trace-II",
    choices={
        **{key: text for key, text in CHOICES.items() if key != "seeds"},
        "TCP*(3)": "a BPF program on the callback of an expiry (BPF_SOCK_OPS_RTO_CB) switches "
        "TCP_THIN_LINEAR_TIMEOUTS on for the first three expiries in a row and off after them, for sockets "
        f"with {MARK}, by which it knows them. It needs root and control groups of version 2; no compiler. "
        "It does not change SYNs, streams with four packets in flight or more, nor states after ESTABLISHED",
        "minRTO": "0.2 s",
        "load": f"{testbed.OFFERED_MBIT:g} Mbit/s of payload alone, {100 * SHARE:g} % of the new stack and "
        "none of it",
        "duration": f"arrivals for {SECONDS['II']:g} s ({FULL['II']:g} s with --full), {REST:g} s at most "
        "after "
        "them; one seed (3 with --full)",
    },
)
def steps(setting: Setting) -> Outcome:
    """The old stack alone and beside the new one, for both steps and for one."""
    seconds = (FULL if setting.full else SECONDS)["II"]
    kernels, path, load = three(), testbed.dumbbell(10), testbed.web("II", 10)

    def wanted(mix: dict[str, float]) -> ac.Scenario:
        own = {name: kernels[name] for name in mix}
        more = {"mix": mix} if len(mix) > 1 else {}
        return scenario(path, load, "200ms", seconds, setting, stacks=own, **more)

    mixes = {(old, ""): wanted({old: 1.0}) for old in dict.fromkeys(old for old, _ in WAYS)}
    mixes |= {(old, new): wanted({old: 1 - SHARE, new: SHARE}) for old, new in WAYS}
    with sub_exponential(ROUNDS):
        pairs = together(mixes, setting, "B-X6 real", at_once=AT_ONCE)
    end = seconds + REST
    slower = {(way, world): slowdown(pairs, way, world, end) for way in WAYS for world in (KERNEL, TWIN)}
    checks = [
        between(f"slowdown of {old} beside {100 * SHARE:g} % {new}", slower[(old, new), KERNEL], low, high)
        for old, new, low, high in STEPS
    ]
    single = slower[WAYS[-1], KERNEL]
    checks += [
        at_most(
            f"{old}, {new}: below that of a single step", slower[(old, new), KERNEL], single, "one step's"
        )
        for old, new, *_ in STEPS
    ]
    notes = [
        f"{old} beside {100 * SHARE:g} % {new}: {slower[(old, new), KERNEL]:.3g} times slower on the kernel, "
        f"{slower[(old, new), TWIN]:.3g} simulated"
        for old, new in WAYS
    ]
    series = {}
    for (old, new), pair in pairs.items():
        name = f"{old} beside {new}" if new else f"{old} alone"
        notes += [f"{name}: {line}" for line in described(pair, (old,)) + pair.notes("testbed")]
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            t = times(run, old)
            series[f"{name}, {world}"] = [t[np.isfinite(t)]]
    shown = [
        f"{a}, {world}"
        for a in (f"{TCP} alone", f"{TCP} beside {STAR}", f"{TCP} beside {NONE}")
        for world in (KERNEL, TWIN)
    ]
    figure = ccdf_bands(
        {name: series[name] for name in shown},
        title="What TCP loses by each step, on the kernel and simulated",
        subtitle="10 Mbit/s RED bottleneck, RTT 10-200 ms, web flows of Trace-II, minimum RTO 0.2 s",
        by="stack, world",
    )
    tables = {f"{old}_{new or 'alone'}": p.kernel.flows for (old, new), p in pairs.items()}
    return Outcome(checks, tables, {"ccdf": figure}, notes)


def slowdown(pairs: dict[tuple[str, str], Pair], way: tuple[str, str], world: str, end: float) -> float:
    """Mean of the old stack beside the new one over its mean alone."""
    old, new = way
    beside, alone = (pairs[old, other] for other in (new, ""))
    runs = (beside.kernel, alone.kernel) if world == KERNEL else (beside.twin, alone.twin)
    mixed, plain = (mean(times(run, old), end) for run in runs)
    return mixed / plain
