from __future__ import annotations

import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, exactly, item, within
from ackclock.reproduce.jacobson88 import four, testbed

PACKETS = testbed.WINDOW // testbed.DATA
"""Packets in a window: 32."""


def first_burst(conversations: int) -> dict[str, float]:
    """What the first windows of so many old TCPs that start at once do to the queue, before anything is
    retransmitted.
    """
    run = ac.simulate(
        four_path(),
        ac.Fixed(flows=conversations, size=f"{testbed.TRANSFER}B"),
        {"old": testbed.old_tcp()},
        duration="450ms",
    )
    link = next(row for row in run.links.to_pylist() if row["name"] == "bottleneck")
    return {
        "conversations": conversations,
        "queue_max": link["queue_max_packets"],
        "dropped": link["dropped_queue"],
    }


def four_path() -> ac.Dumbbell:
    """The set-up."""
    return testbed.four_conversations(f"{four.SHOWN}ms")


@item("J-F7", kind="SIM", title="The set-up of four conversations", choices=four.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The numbers of the set-up, read back from the network that was built."""
    run = testbed.converse(four_path(), {"old": testbed.old_tcp()}, ["old"] * 4, seconds=20)
    link = next(row for row in run.links.to_pylist() if row["name"] == "bottleneck")
    flows = run.flows.to_pylist()
    bursts = [first_burst(n) for n in (1, 2, 4)]
    checks = [
        exactly("bottleneck (bit/s)", int(link["rate"]), testbed.LINK),
        exactly("starts of the conversations (s)", [round(f["start"], 9) for f in flows], [0, 3, 6, 9]),
        exactly("packets of 512 bytes in a transfer", [f["size"] // testbed.DATA for f in flows], [2048] * 4),
        exactly("packets of two windows and of the queue", [2 * PACKETS, testbed.QUEUE], [64, 50]),
        within(
            "four windows over the queue (%)", 100 * (4 * PACKETS - testbed.QUEUE) / testbed.QUEUE, 156, 0.5
        ),
        exactly("longest queue of four bursts, packets", bursts[2]["queue_max"], testbed.QUEUE),
        at_most("packets that one conversation's first window loses", bursts[0]["dropped"], 0, "none"),
        at_least("packets that two lose", bursts[1]["dropped"], 1, "some"),
    ]
    return Outcome(checks, {"bursts": pa.Table.from_pylist(bursts), "links": run.links, "flows": run.flows})
