from __future__ import annotations

from typing import Any

import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, exactly, item, within
from ackclock.reproduce.mathis97 import lossy
from ackclock.sweep import run_all

LIMIT = 20
"""Packets of the queues of (b) and (c)."""
P = 0.01
DELAY = "30ms"
SECONDS = 120


def paths() -> dict[str, ac.Single]:
    """The three links between S and K."""
    red = ac.Red(limit=f"{LIMIT}packets", min_th="5packets", max_th="15packets", max_p=0.1)
    return {
        "random loss": ac.Single(
            ac.Link(lossy.RATE, DELAY, faults=[{"kind": "loss", "p": P, "of": "data"}]), rtt="links"
        ),
        "drop-tail": ac.Single(
            ac.Link("1500kbit/s", DELAY, ac.DropTail(limit=f"{LIMIT}packets")), rtt="links"
        ),
        "RED": ac.Single(ac.Link("1500kbit/s", DELAY, red), rtt="links"),
    }


@item(
    "M-F2",
    kind="SIM",
    title="The three links of the simulations: random loss, drop-tail, RED",
    choices={
        "numbers": f"the figure names none: 30 ms one way; loss of {P:g}; 1.5 Mbit/s with queues of "
        f"{LIMIT} packets, RED's thresholds at 5 and 15",
        "TCP": "FACK with rate-halving, an ack for each packet, so that the receiver adds no time",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """One transfer over each, and what the link says of its losses."""
    tcp = ac.Stack("fack-rh+per-ack", ack="every", timestamps=True, rcv_buf="4MiB", snd_buf="4MiB")
    options = {"duration": f"{SECONDS}s", "measure_from": "20s"}
    runs = run_all(
        [ac.Scenario.of(path, ac.Bulk(), {"tcp": tcp}, **options) for path in paths().values()],
        workers=setting.workers,
    )
    rows: dict[str, dict[str, Any]] = {}
    for name, run in zip(paths(), runs, strict=True):
        (flow,), link = run.flows.to_pylist(), run.links.to_pylist()[0]
        rows[name] = {
            "link": name,
            "packets": link["packets"],
            "dropped_wire": link["dropped_wire"],
            "dropped_queue": link["dropped_queue"],
            "dropped_early": link["dropped_early"],
            "queue_mean": link["queue_mean_packets"],
            "queue_max": link["queue_max_packets"],
            "rtt_min": flow["rtt_min"],
            "rtt_mean": flow["rtt_mean"],
            "rtt_max": flow["rtt_max"],
            "utilisation": link["utilisation"],
        }
    a, b, c = rows.values()
    checks = [
        within(
            "(a) share of the packets lost on the wire",
            a["dropped_wire"] / a["packets"],
            P,
            4 * (P / a["packets"]) ** 0.5,
        ),
        at_most(
            "(a) mean round-trip time above the smallest (ms)",
            1e3 * (a["rtt_mean"] - a["rtt_min"]),
            1,
            "constant: at most",
        ),
        at_most("(a) mean queue (packets)", a["queue_mean"], 0.01, "none"),
        exactly("(b) losses on the wire", b["dropped_wire"], 0),
        exactly("(b) longest queue (packets)", b["queue_max"], LIMIT),
        at_least("(b) drops of the full queue", b["dropped_queue"], 1, "some"),
        exactly("(b) drops before it is full", b["dropped_early"], 0),
        at_least("(c) drops before it is full", c["dropped_early"], 1, "some"),
        at_most("(c) mean queue (packets)", c["queue_mean"], b["queue_mean"], "below that of (b)"),
    ]
    return Outcome(checks, {"links": pa.Table.from_pylist(list(rows.values()))})
