"""Real forms of B-F5: the kernel with SACK and without, each with doubled and with linear timeouts."""

from __future__ import annotations

from typing import Any

import numpy as np

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.real_traces import (
    AT_ONCE,
    CHOICES,
    REST,
    described,
    mean,
    quantile,
    scenario,
    stacks,
    times,
)
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_most
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

SACK, RENO = "SACK", "Reno"
SECONDS, FULL = 20.0, 60.0
SPREAD = 25
"""By which the means of the variants may differ, %."""


def variants() -> dict[tuple[str, str], ac.Stack]:
    """The kernel's stacks by variant and backoff."""
    found = {}
    for backoff, stack in stacks("200ms").items():
        kernel: dict[str, Any] = stack.given["kernel"]
        plain = {**kernel, "sysctl": {"net.ipv4.tcp_sack": "0"}}
        found[SACK, backoff] = stack
        found[RENO, backoff] = stack.but(sack=False, recovery="newreno", kernel=plain)
    return found


def experiment(queue: str, setting: Setting, label: str) -> Outcome:
    """All four stacks over one kind of queue, side by side."""
    seconds = FULL if setting.full else SECONDS
    path, load = testbed.dumbbell(10, queue), testbed.web("I", 10)
    wanted = {
        key: scenario(path, load, "200ms", seconds, setting, stacks={key[1]: stack})
        for key, stack in variants().items()
    }
    pairs = together(wanted, setting, label, at_once=AT_ONCE)
    found = {key: times(pair.kernel, key[1]) for key, pair in pairs.items()}
    end = seconds + REST
    checks = [
        ratio(
            f"{name}: P99 without over with backoff",
            quantile(found[name, NONE], 0.99),
            quantile(found[name, TCP], 0.99),
            most=1.0,
        )
        for name in (SACK, RENO)
    ]
    for backoff in (TCP, NONE):
        means = [mean(found[name, backoff], end) for name in (SACK, RENO)]
        name = f"{backoff}: spread of means over the variants (%)"
        checks.append(at_most(name, 100 * (max(means) / min(means) - 1), SPREAD, "at most"))
    notes, series = [], {}
    for (name, backoff), pair in pairs.items():
        notes += [f"{name}: {line}" for line in described(pair, (backoff,)) + pair.notes("testbed")]
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            t = times(run, backoff)
            series[f"{name}, {backoff}, {world}"] = [t[np.isfinite(t)]]
    figure = ccdf_bands(
        series,
        title="Response times of the kernel's variants, on the kernel and simulated",
        subtitle=f"10 Mbit/s {'RED' if queue == 'red' else 'drop-tail'} bottleneck, RTT 10-200 ms, web flows "
        "of Trace-I, minimum RTO 0.2 s",
        by="variant, stack, world",
    )
    tables = {f"{name}_{backoff}": p.kernel.flows for (name, backoff), p in pairs.items()}
    return Outcome(checks, tables, {"ccdf": figure}, notes)


for _queue, _id in (("red", "B-F5a"), ("drop-tail", "B-F5b")):

    @real_form(
        _id,
        title=f"The kernel with SACK and without, with and without backoff, "
        f"{'RED' if _queue == 'red' else 'drop-tail'}",
        choices={
            **{key: text for key, text in CHOICES.items() if key != "seeds"},
            "minRTO": "0.2 s",
            "variants": "SACK and, by tcp_sack 0, NewReno's recovery; the kernel has no Tahoe, and no Reno "
            "that leaves recovery at the first new ack",
            "duration": f"arrivals for {SECONDS:g} s ({FULL:g} s with --full), {REST:g} s at most after "
            "them; "
            "one seed (3 with --full)",
        },
    )
    def _variants(setting: Setting, queue: str = _queue, id: str = _id) -> Outcome:
        return experiment(queue, setting, f"{id} real")
