"""Real forms of B-F6: flash crowds of datagrams and of connections over kernels."""

from __future__ import annotations

import numpy as np

from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, flash, testbed
from ackclock.reproduce.backoff2008.comparison import ratio, shown
from ackclock.reproduce.backoff2008.real_traces import (
    AT_ONCE,
    CHOICES,
    REST,
    both,
    described,
    kept,
    mean,
    quantile,
    scenario,
    stacks,
    times,
)
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, between
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

SECONDS, FULL = {"udp": 30.0, "tcp": 60.0}, 240.0
"""Of arrivals. A crowd of datagrams leaves so many connections open that in more time they would be more than
a process may have descriptors.
"""
LOSS = {"udp": (40, 50), "tcp": (20, 30)}
"""Between which the register has the loss (%) of TCP while a crowd is on."""
SIDE_BY_SIDE = {"udp": 1, "tcp": AT_ONCE}
"""Runs at the same time, for the same reason."""
ONCE, CROWDS = "one crowd", "crowds"


def experiment(kind: str, setting: Setting, label: str) -> Outcome:
    """One crowd for loss and violations, many for response times, each stack by itself, side by side."""
    seconds = FULL if setting.full else SECONDS[kind]
    path = testbed.dumbbell(10, "drop-tail")
    wanted = {}
    for name, stack in stacks("200ms").items():
        one = {name: stack}
        loads = {ONCE: flash.one_crowd(kind), CROWDS: flash.crowds(kind)}
        for what, crowd in loads.items():
            length = flash.UNTIL if what == ONCE else seconds
            warm = {"warmup": f"{flash.ONSET}s"} if what == ONCE else {}
            load = [flash.base(), crowd]
            wanted[what, name] = scenario(path, load, "200ms", length, setting, stacks=one, **warm)
    pairs = together(wanted, setting, label, at_once=SIDE_BY_SIDE[kind])
    crowds = {name: pairs[CROWDS, name] for name in (TCP, NONE)}
    tcp, none = (times(pair.kernel, name) for name, pair in crowds.items())
    once = comparison.gather([pairs[ONCE, name].kernel for name in (TCP, NONE)])
    loss = {name: once.number(name, "loss") for name in (TCP, NONE)}
    near = flash.violations(once, NONE, flash.ONSET - flash.NEAR, flash.ONSET + flash.NEAR)
    checks = [
        ratio("P99 of TCP*(inf) over TCP", quantile(none, 0.99), quantile(tcp, 0.99), most=1.0),
        between("loss of TCP in ON (%)", 100 * float(loss[TCP].mean()), *LOSS[kind]),
    ]
    if kind == "udp":
        checks.append(at_least("timeouts below RTT near the onset", near.timeouts, 1, "some"))
    end = seconds + REST
    notes = [
        f"loss in ON: TCP {shown(100 * loss[TCP])} %, TCP*(inf) {shown(100 * loss[NONE])} %",
        f"near the onset, TCP*(inf): {near}",
        f"mean of TCP*(inf) over TCP: {mean(none, end) / mean(tcp, end):.3f}",
    ]
    series: dict[str, list[np.ndarray]] = {}
    for name, pair in crowds.items():
        notes += described(pair, (name,)) + pair.notes(f"{name}, crowds")
        series |= both(pair, (name,))
    series = {name: series[name] for world in (KERNEL, TWIN) for name in series if name.endswith(world)}
    figure = ccdf_bands(
        series,
        title=f"Flash crowds of {'datagrams' if kind == 'udp' else 'connections'}, on the kernel and "
        "simulated",
        subtitle="10 Mbit/s drop-tail, 80 % load of Trace-I, minimum RTO 0.2 s; crowds of 16 s, 8 s apart",
        by="stack, world",
    )
    tables = {f"{name}_{what}": t for name, pair in crowds.items() for what, t in kept(pair).items()}
    return Outcome(checks, tables, {"ccdf": figure}, notes)


for _kind, _id in (("udp", "B-F6a"), ("tcp", "B-F6b")):

    @real_form(
        _id,
        title=f"Flash crowds of {'datagrams' if _kind == 'udp' else 'TCP connections'} over kernels",
        choices={
            **{key: text for key, text in CHOICES.items() if key != "seeds"},
            **{
                key: flash.CHOICES[key]
                for key in (
                    "load",
                    "queue",
                    "crowds",
                    f"{_kind.upper()} crowd",
                    "loss in ON",
                    "near the onset",
                )
            },
            "minRTO": "0.2 s",
            "duration": f"arrivals for {SECONDS[_kind]:g} s ({FULL:g} s, ten periods, with --full), "
            f"{REST:g} s at most after them; one seed (3 with --full)",
        },
    )
    def _crowds(setting: Setting, kind: str = _kind, id: str = _id) -> Outcome:
        return experiment(kind, setting, f"{id} real")
