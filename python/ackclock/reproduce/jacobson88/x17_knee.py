from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, between, item
from ackclock.reproduce.jacobson88 import senders

RATE, DELAY = 56_000, 0.16
"""A link of the Arpanet and the delay that makes a pipe of 5 packets with it (J-N6)."""
INCREMENTS = (1.0, 0.5, 0.25)
GATEWAYS = {"knee, 1 packet": 1, "knee, 2 packets": 2, "drop-tail, 8 packets": 8}
"""Packets that wait at most: a gateway that drops at the knee drops what would make its queue longer."""
KNEE = "knee, 2 packets"
LEGEND = {
    "knee, 1 packet": "drops at the knee: 1 packet waits",
    "knee, 2 packets": "drops at the knee: 2 packets wait",
    "drop-tail, 8 packets": "drop-tail: 8 packets wait",
}
PAPER = {1.0: 10.6667, 0.25: 2.66667}
"""Drops (%) by 8u/(3w^2) at w = 5."""


def scenario(room: int, u: float, recovery: str, seconds: int) -> ac.Scenario:
    """A transfer with that increment."""
    stack = senders.new(64, recovery=recovery, window=senders.slow_start(increase_segs=u))
    return ac.Scenario.of(
        ac.Single(senders.line(RATE, DELAY, room)),
        ac.Bulk(flows=1),
        {"tcp": stack},
        duration=f"{seconds + 100}s",
        measure_from="100s",
        trace=["samples"],
    )


def read(run: Any) -> dict[str, float]:
    """Drops, the mean window over time (packets), and the queue."""
    link = run.links.to_pylist()[0]
    samples = run.traces["samples"].to_pylist()
    mine = [(s["time"], s["cwnd"]) for s in samples if s["connection"] == 0 and s["cwnd"] and s["time"] > 100]
    time, cwnd = np.array(mine, float).T
    span = np.diff(time)
    return {
        "drops": link["dropped_queue"] / link["packets_offered"],
        "window": float((cwnd[:-1] * span).sum() / span.sum()) / senders.DATA,
        "utilisation": link["utilisation"],
        "queue": link["queue_mean_packets"],
    }


@item(
    "J-X17",
    kind="SIM",
    title="The increment for a gateway that drops at the knee",
    choices={
        "packets": senders.CHOICES["packets"],
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way: a pipe of 5 packets",
        "gateway": "drops what would make its queue longer than 2 packets (1 in the table), the one being "
        "sent "
        "not counted; drop-tail of 8 packets beside it",
        "senders": "J-A17 with d = 0.5 and u = 1, 1/2, 1/4, slow-start up to the threshold; fast recovery "
        "(timeouts alone in the table), an ack for each packet",
        "duration": "4000 s (40,000 s with --full) after 100 s; nothing is drawn, so that there is one run",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Drops, windows, utilisation and queue for each increment and gateway."""
    seconds = 40_000 if setting.full else 4000
    cases = [(g, u, r) for g in GATEWAYS for u in INCREMENTS for r in ("newreno", "timeout-only")]
    runs = setting.run_all([scenario(GATEWAYS[g], u, r, seconds) for g, u, r in cases], "J-X17")
    rows = [
        {"gateway": g, "u": u, "recovery": r, **read(run)} for (g, u, r), run in zip(cases, runs, strict=True)
    ]
    of = {(r["gateway"], r["u"]): r for r in rows if r["recovery"] == "newreno"}
    one, quarter = of[KNEE, 1.0], of[KNEE, 0.25]
    checks = [
        between(
            "knee: drops per packet at u = 1 over those at u = 1/4", one["drops"] / quarter["drops"], 2.5, 6
        ),
        between(
            "knee: mean window at u = 1/4 over that at u = 1", quarter["window"] / one["window"], 0.8, 1.2
        ),
        at_least(
            "knee: utilisation at u = 1/4",
            quarter["utilisation"],
            one["utilisation"] - 0.05,
            "that at u = 1 less 0.05",
        ),
        at_most(
            "knee: mean queue (packets) at u = 1/4", quarter["queue"], one["queue"], "no longer than at u = 1"
        ),
    ]
    notes = [
        f"{r['gateway']}, u = {r['u']:g}, {r['recovery']}: {100 * r['drops']:.2f} % dropped, mean window "
        f"{r['window']:.2f}, utilisation {r['utilisation']:.3f}, mean queue {r['queue']:.2f}"
        for r in rows
    ]
    notes.append("By 8u/(3w^2) a window of 5 packets goes with 10.67 % at u = 1 and 2.67 % at u = 1/4.")
    fig, axes = style.figure(
        "Drops by window increment",
        "One transfer, a pipe of 5 packets, halving, fast recovery; dashed: 8u/(3w²) at w = 5",
    )
    for i, g in enumerate(GATEWAYS):
        axes.plot(
            INCREMENTS,
            [100 * of[g, u]["drops"] for u in INCREMENTS],
            marker="o",
            label=LEGEND[g],
            **style.line(i),
        )
    axes.plot(
        INCREMENTS,
        [100 * 8 * u / 75 for u in INCREMENTS],
        color="#999999",
        linewidth=1,
        linestyle=(0, (4, 2)),
    )
    axes.set(xlabel="increment u (packets per round trip)", ylabel="packets dropped (%)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="upper left", fontsize=9)
    return Outcome(checks, {"drops": pa.Table.from_pylist(rows)}, {"drops": fig}, notes)
