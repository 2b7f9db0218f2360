from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, exactly, item, six_digits, within
from ackclock.reproduce.jacobson88 import senders

ETHERNET, ARPANET, WINDOW = 10e6, 56e3, 8
DELAY = 0.1
"""Seconds one way on the long haul."""


def arrivals(
    setting: Setting, path: ac.Single | ac.Chain, stack: ac.Stack
) -> tuple[np.ndarray, np.ndarray, list[dict[str, object]]]:
    """When the first window was sent, when it arrived, and the links' numbers."""
    run = ac.simulate(
        path,
        ac.Fixed(size=f"{senders.DATA * WINDOW}B"),
        {"tcp": stack},
        duration="30s",
        trace=["packets"],
        workers=setting.workers,
    )
    rows = run.traces["segments"]
    data = rows.filter(pc.greater(rows["len"], 0))
    sent = data["sent"].to_numpy()
    return data["time"].to_numpy()[sent], data["time"].to_numpy()[~sent], run.links.to_pylist()


@item(
    "J-N2",
    kind="CF, SIM",
    title="A burst without slow-start",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "old TCP (J-A16)")},
        "path": f"an Ethernet of 10 Mbit/s, a gateway, 56 kbit/s and {1e3 * DELAY:g} ms one way; the "
        "receiver behind it",
        "first hop": "the Ethernet alone, where the gateway's place is the receiver's, so that arrivals at "
        "the gateway are seen",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Eight packets at once."""
    hop = senders.line(ETHERNET, 1e-6, 50)
    long = ac.Chain(links=[hop, senders.line(ARPANET, DELAY, 50)])
    sent, gateway, _ = arrivals(setting, ac.Single(hop), senders.old(WINDOW))
    at_once, far, links = arrivals(setting, long, senders.old(WINDOW))
    slow, slow_far, slow_links = arrivals(setting, long, senders.new(WINDOW))
    spacing = 8 * senders.PACKET / ETHERNET
    rate = 8 * senders.PACKET / np.diff(gateway[:WINDOW]).mean()
    bottleneck, with_slow_start = (
        max(int(x["queue_max_packets"]) for x in found if x["rate"] == ARPANET)
        for found in (links, slow_links)
    )
    checks = [
        six_digits("10 Mbit/s over 56 kbit/s", ETHERNET / ARPANET, 178.571),
        exactly("packets sent at the same instant", int((sent == sent[0]).sum()), WINDOW),
        six_digits(
            "gaps at the gateway over an Ethernet packet's time",
            np.diff(gateway[:WINDOW]) / spacing,
            np.ones(WINDOW - 1),
        ),
        within(
            "rate of the burst at the gateway over that of the path", rate / ARPANET, 178.571, 0.01 * 178.571
        ),
    ]
    notes = [
        f"Queue at the gateway: {bottleneck} packets without slow-start, {with_slow_start} with it, "
        "the one being sent not counted",
        f"Gaps behind the gateway: {1e3 * np.diff(far[:WINDOW]).mean():.4g} ms, 56 kbit/s for a packet "
        f"of {senders.PACKET} bytes",
    ]
    fig, axes = style.figure(
        "Eight packets at once, and with slow-start", "Ethernet of 10 Mbit/s into 56 kbit/s, 100 ms one way"
    )
    times = {
        "sent without slow-start": at_once,
        "arrived": far,
        "sent with slow-start": slow,
        "arrived, with slow-start": slow_far,
    }
    for i, (name, t) in enumerate(times.items()):
        look = {
            "color": style.COLOURS[i // 2],
            "marker": "os"[i % 2],
            "fillstyle": "none" if i % 2 else "full",
            "linestyle": "none",
        }
        axes.plot(
            t - times["sent without slow-start" if i < 2 else "sent with slow-start"][0],
            np.arange(1, t.size + 1),
            label=name,
            **look,
        )
    axes.set(xlabel="time since the first packet was sent (s)", ylabel="packet")
    axes.grid(True)
    axes.legend(loc="lower right")
    table = pa.table(
        {
            "packet": np.arange(1, WINDOW + 1),
            "sent": sent[:WINDOW],
            "at the gateway": gateway[:WINDOW],
            "arrived": far[:WINDOW],
        }
    )
    return Outcome(checks, {"burst": table}, {"burst": fig}, notes)
