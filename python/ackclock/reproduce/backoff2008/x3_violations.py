from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import flash, testbed, x2_goodput
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item

CROWDS = {"udp": "flash crowd of datagrams", "tcp": "flash crowd of TCP connections"}


@item(
    "B-X3",
    kind="SIM",
    title="How often the implicit packet conservation principle is violated",
    choices={
        **testbed.ON_FREEBSD,
        "violations": (
            "retransmissions whose original had arrived or was still to arrive, by any cause, over all "
            "(B-A4); timeouts below the round-trip time alone are in the notes"
        ),
        "duration": x2_goodput.DURATION,
        "flash crowds": "one of datagrams as in B-F6a and one of TCP connections as in B-F6b, whole runs",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The share of retransmissions that were spurious, in figure 2 and in a flash crowd."""
    found = {}
    for i, trace in enumerate(x2_goodput.SECONDS):
        runs = x2_goodput.both(trace, setting, "B-X3", (0.2 * i, 0.2 * (i + 1)))
        found |= {(f"Trace-{trace}", stack): flash.violations(runs, stack) for stack in (TCP, NONE)}
    for i, kind in enumerate(CROWDS):
        crowd = flash.onset(kind, setting, "B-X3", share=(0.6 + 0.2 * i, 0.8 + 0.2 * i))
        found |= {(CROWDS[kind], stack): flash.violations(crowd, stack) for stack in (TCP, NONE)}
    percent = {where: v.percent_by_any_cause for (where, stack), v in found.items() if stack == NONE}
    traces = [f"Trace-{t}" for t in x2_goodput.SECONDS]
    largest = max(percent[t] for t in traces)
    checks = [at_most(f"{t}: violations of TCP*(inf) (%)", percent[t], 1.0, "below") for t in traces]
    checks += [
        at_least(f"{where}: violations of TCP*(inf) (%)", percent[where], largest, "more than in figure 2")
        for where in CROWDS.values()
    ]
    rows = [
        {"where": where, "stack": stack, **vars(v), "percent": v.percent_by_any_cause}
        for (where, stack), v in found.items()
    ]
    return Outcome(
        checks,
        {"violations": pa.Table.from_pylist(rows)},
        notes=[f"{where}, {stack}: {v}" for (where, stack), v in found.items()],
    )
