from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.results import Run

AFTER = 30.0
"""Seconds of a run."""
CASES = {
    "the first packet": ({"syns": 1}, 3.0),
    "the first packet twice": ({"syns": 2}, 9.0),
    "the first packet three times": ({"syns": 3}, 21.0),
    "the first data packet": ({"data": 1}, 1.0),
    "the first data packet twice": ({"data": 2}, 3.0),
    "the first packet, and the first data packet": ({"syns": 1, "data": 1}, 6.0),
}
"""How many copies are lost, of the SYN and of the first data packet, and what timeouts that costs together
(s).
"""


def scenario(lost: dict[str, int]) -> ac.Scenario:
    """One packet over a path that loses some."""
    # Each fault takes the first packet that those before it have let pass.
    faults = [ac.fault.NthLoss(number=1, of=of) for of, copies in lost.items() for _ in range(copies)]
    path = ac.Dumbbell(
        bottleneck=ac.Link(f"{testbed.RATE:g}Mbit/s", queue=testbed.queue(testbed.RED), faults=faults),
        rtt=f"{1e3 * testbed.RTT:g}ms",
    )
    typed = ac.Telnet(packets=1, think="1ms", bytes=f"{testbed.PAYLOAD}B")
    return ac.Scenario.of(path, typed, {"TCP": testbed.tcp()}, duration=f"{AFTER:g}s", trace=["packets"])


def waited(run: Run) -> float:
    """Seconds between the copies of what was retransmitted, all together."""
    rows = run.traces["segments"]
    own = rows.filter(pc.and_(pc.equal(rows["connection"], 0), rows["sent"]))
    syns, data = (
        own.filter(keep)["time"].to_numpy()
        for keep in (pc.equal(own["kind"], "syn"), pc.greater(own["len"], 0))
    )
    return float(syns[-1] - syns[0] + data[-1] - data[0])


@item(
    "I-X2",
    kind="SIM",
    title="What the loss of a connection's first packet costs",
    choices={
        "timer": testbed.CHOICES["timer"],
        "the first packet": "the SYN; a connection's first data packet has a sample of the handshake, "
        "unless that was itself sent twice: then the first timeout is 3 s again (RFC "
        "6298 5.7)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The timeouts that precede the copy that arrives."""
    runs = setting.run_all([scenario(lost) for lost, _ in CASES.values()], "I-X2")
    rows = [
        {
            "lost": name,
            "expected": expected,
            "waited": waited(run),
            "response": run.flows["response_time"][0].as_py(),
        }
        for (name, (_, expected)), run in zip(CASES.items(), runs, strict=True)
    ]
    checks = [
        within(f"timeouts when {r['lost']} is lost (s)", r["waited"], r["expected"], 1e-9) for r in rows
    ]
    return Outcome(checks, {"first": pa.Table.from_pylist(rows)})
