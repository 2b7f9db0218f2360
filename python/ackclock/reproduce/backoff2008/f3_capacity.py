from __future__ import annotations

from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import capacity
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.item import Outcome, Setting, between, item


@item("B-F3", kind="SIM", title="The same load at 10 and at 50 Mbit/s, Trace-I", choices=capacity.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """TCP and TCP*(inf) at two capacities. B-S6 has other loads and rules."""
    found = capacity.compare("I", setting, "B-F3", (0.0, 1.0))
    gains = capacity.gains(found)
    checks = [
        ratio(
            "10 Mbit/s: P99 of TCP over TCP*(inf)",
            found.p99("TCP, 10"),
            found.p99("TCP*(inf), 10"),
            least=1.5,
        ),
        ratio(
            "50 Mbit/s: P99 of TCP over TCP*(inf)",
            found.p99("TCP, 50"),
            found.p99("TCP*(inf), 50"),
            least=1.5,
        ),
        between("ratio at 50 over ratio at 10 Mbit/s", gains[50] / gains[10], 0.5, 2.0),
    ]
    figure = ccdf_bands(
        {stack: found.times(stack) for stack in found.stacks},
        title="Response times at two capacities",
        subtitle="RED, RTT 10-200 ms, web flows of Trace-I, load 1.2 of either capacity, SACK, minimum RTO "
        "0.2 s",
        by="stack, Mbit/s",
    )
    return Outcome(checks, found.tables(), {"ccdf": figure}, found.notes())
