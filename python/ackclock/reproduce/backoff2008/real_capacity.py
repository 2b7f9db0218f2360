"""Real form of B-F3: linear timeouts at two capacities."""

from __future__ import annotations

import numpy as np

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import capacity, testbed
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.real_traces import (
    CHOICES,
    REST,
    both,
    described,
    kept,
    quantile,
    scenario,
    times,
)
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, between
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

SECONDS, FULL = 10.0, 60.0


@real_form(
    "B-F3",
    title="The same load at 10 and at 50 Mbit/s on the kernel, Trace-I",
    choices={
        **{key: text for key, text in CHOICES.items() if key != "seeds"},
        "minRTO": "0.2 s",
        "load": f"payload of {capacity.LOAD:g} times the capacity at either",
        "duration": f"arrivals for {SECONDS:g} s ({FULL:g} s with --full; the paper's form has 120 s with "
        "what "
        f"follows), {REST:g} s at most after them; one seed (3 with --full)",
    },
)
def capacities(setting: Setting) -> Outcome:
    """TCP and linear timeouts at two capacities."""
    seconds = FULL if setting.full else SECONDS
    wanted = {
        mbit: scenario(
            testbed.dumbbell(mbit), ac.Web(trace="I", load=capacity.LOAD), "200ms", seconds, setting
        )
        for mbit in capacity.MBIT
    }
    pairs = together(wanted, setting, "B-F3 real", at_once=1)
    tails = {
        (mbit, world): [quantile(times(run, stack), 0.99) for stack in (TCP, NONE)]
        for mbit, pair in pairs.items()
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin))
    }
    gains = {key: tcp / none for key, (tcp, none) in tails.items()}
    few, many = capacity.MBIT
    checks = [
        *(
            ratio(f"{mbit} Mbit/s: P99 of TCP over TCP*(inf)", *tails[mbit, KERNEL], least=1.5)
            for mbit in capacity.MBIT
        ),
        between("ratio at 50 over ratio at 10 Mbit/s", gains[many, KERNEL] / gains[few, KERNEL], 0.5, 2.0),
    ]
    notes = [
        "simulated: P99 of TCP over TCP*(inf) "
        + ", ".join(f"{gains[mbit, TWIN]:.3g} at {mbit} Mbit/s" for mbit in capacity.MBIT)
    ]
    series: dict[str, list[np.ndarray]] = {}
    for mbit, pair in pairs.items():
        notes += [f"{mbit} Mbit/s: {line}" for line in described(pair) + pair.notes("testbed")]
        series |= {f"{name}, {mbit} Mbit/s": v for name, v in both(pair).items()}
    figure = ccdf_bands(
        series,
        title="Response times at two capacities, on the kernel and simulated",
        subtitle="RED, RTT 10-200 ms, web flows of Trace-I, load 1.2 of either capacity, minimum RTO 0.2 s",
        by="stack, world, capacity",
    )
    tables = {f"{name}_{mbit}": t for mbit, pair in pairs.items() for name, t in kept(pair).items()}
    return Outcome(checks, tables, {"ccdf": figure}, notes)
