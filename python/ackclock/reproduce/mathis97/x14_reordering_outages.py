from __future__ import annotations

from typing import Any

import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, exactly, item
from ackclock.reproduce.mathis97 import captured

SECONDS = 60.0
PROBE = "1s"
# Bursts of whole-window loss: longer than a window takes to pass (some 20 ms), shorter than the probe's
# interval; none while the path opens.
BURSTS = [(5.3 + 6.7 * i, 0.3) for i in range(8)]


@item(
    "M-X14",
    kind="CAP, SIM",
    title="Reordering and outages are visible only at TCP rates",
    choices={
        **captured.CHOICES,
        "path": "10 Mbit/s, 60 ms, ample queue",
        "massive reordering": "one packet in ten is overtaken by six that follow back to back",
        "whole-window bursts": f"all packets lost for 0.3 s, {len(BURSTS)} times in {SECONDS:g} s, 6.7 s "
        "apart",
        "probe": "one packet of 100 bytes a second over the same path (telnet with exponential pauses of 1 "
        "s on average), seen by the same instrument",
    },
    tests=[
        "tests/test_capture.py::test_reordering_is_seen_as_such",
        "tests/test_capture.py::test_an_outage_is_seen_as_one",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """The trace instruments flag both on a bulk transfer, and neither on a probe of the same path."""
    checks: list[Check] = []
    rows: list[dict[str, Any]] = []
    for path, link in {"reordering": reordering(), "outages": outages()}.items():
        for traffic, workload in {"bulk": ac.Bulk(), "probe": ac.Telnet(think=PROBE, bytes="100B")}.items():
            found = captured.sender(captured.capture(captured.transfer(link, "60ms", SECONDS, workload)))
            called = [r for r in found["retransmissions"] if r["kind"].endswith("retransmit")]
            rows.append(
                {
                    "path": path,
                    "traffic": traffic,
                    "packets": found["data_packets"],
                    "retransmitted": found["retransmitted_packets"],
                    "triggered_by_acks": len(called),
                    "spurious": sum(r["needed"] is False for r in called),
                    "massive_reordering": found["massive_reordering"],
                    "whole_windows_lost": sum(e["outage"] for e in found["episodes"]),
                }
            )
    bulk_reordered, probe_reordered, bulk_out, probe_out = rows
    checks.append(
        exactly("reordering: flagged on the bulk transfer", bulk_reordered["massive_reordering"], True)
    )
    checks.append(
        at_least(
            "reordering: spurious share of its retransmissions",
            bulk_reordered["spurious"] / max(bulk_reordered["triggered_by_acks"], 1),
            0.5,
            "most",
        )
    )
    checks.append(exactly("reordering: flagged on the probe", probe_reordered["massive_reordering"], False))
    checks.append(
        at_least(
            "outages: whole windows lost, on the bulk transfer", bulk_out["whole_windows_lost"], 1, "any"
        )
    )
    checks.append(exactly("outages: whole windows lost, on the probe", probe_out["whole_windows_lost"], 0))
    notes = [
        (
            f"{r['path']}, {r['traffic']}: {r['retransmitted']} of {r['packets']} packets retransmitted, "
            f"{r['spurious']} spurious."
        )
        for r in rows
    ]
    return Outcome(checks, {"flags": pa.Table.from_pylist(rows)}, {}, notes)


def reordering() -> ac.Link:
    """A link on which packets overtake each other."""
    return ac.Link(
        "10Mbit/s",
        queue=ac.queue.DropTail(limit="1000packets"),
        faults=ac.fault.Reorder(p=0.1, distance=6, of="data"),
    )


def outages() -> ac.Link:
    """A link that loses everything now and then."""
    faults = [
        ac.fault.Outage(from_=f"{begin:.3f}s", until=f"{begin + length:.3f}s") for begin, length in BURSTS
    ]
    return ac.Link("10Mbit/s", queue=ac.queue.DropTail(limit="1000packets"), faults=faults)
