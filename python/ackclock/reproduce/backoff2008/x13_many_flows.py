from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import curves
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import ratio, shown
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item

BDP_PACKETS = round(testbed.bdp(10) / 1500)
"""Packets of 1500 bytes in the bandwidth-delay product: 88."""
TIMES = (0.5, 1, 2, 5)
SECONDS, FULL, SEEDS = 40, 600, 3


@item(
    "B-X13",
    kind="SIM",
    title="More flows than the bandwidth-delay product has packets",
    choices={
        **{
            key: testbed.ON_FREEBSD[key]
            for key in ("round-trip times", "queue", "RED", "packets", "backoff counter", "giving up")
        },
        "flows": f"endless transfers, {', '.join(f'{x:g}' for x in TIMES)} times the {BDP_PACKETS} packets "
        "of 1500 bytes, starting within 5 s",
        "goodput": "payload carried by the bottleneck for the first time, from 10 s on",
        "duration": f"{SECONDS} s ({FULL} s with --full), seeds 1 to {SEEDS}",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Goodput with and without backoff as flows become many."""
    flows = [round(x * BDP_PACKETS) for x in TIMES]
    scenarios = []
    for n in flows:
        stacks = {f"{label}, {n}": s for label, s in testbed.freebsd("200ms", TCP, NONE).items()}
        load = ac.Bulk(flows=n, spread="5s")
        seconds = FULL if setting.full else SECONDS
        scenarios.append(
            testbed.scenario(
                testbed.dumbbell(10), load, stacks, seconds, repeat=SEEDS, warmup="10s", drain="0s"
            )
        )
    found = comparison.run(scenarios, setting, "B-X13")
    goodput = {label: [found.number(f"{label}, {n}", "goodput") for n in flows] for label in (TCP, NONE)}
    pairs = zip(flows, goodput[NONE], goodput[TCP], strict=True)
    checks = [
        ratio(f"{n} flows: goodput of TCP*(inf) over TCP", top, bottom, least=0.95)
        for n, top, bottom in pairs
    ]
    notes = [
        (
            f"{n} flows, {label}: goodput {shown(g / 1e6)} Mbit/s, loss "
            f"{shown(100 * found.number(f'{label}, {n}', 'loss'))} %"
        )
        for label in (TCP, NONE)
        for n, g in zip(flows, goodput[label], strict=True)
    ]
    figure = curves(
        np.array(TIMES, float),
        [(label, np.array([g.mean() / 1e6 for g in goodput[label]])) for label in (TCP, NONE)],
        title="Goodput of many flows",
        subtitle="10 Mbit/s RED bottleneck, RTT 10-200 ms, endless transfers, SACK, minimum RTO 0.2 s",
        xlabel="flows over packets of the bandwidth-delay product",
        ylabel="goodput (Mbit/s)",
    )
    return Outcome(checks, {"stacks": pa.Table.from_pylist(found.rows)}, {"goodput": figure}, notes)
