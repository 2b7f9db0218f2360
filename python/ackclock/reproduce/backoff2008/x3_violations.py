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
        **testbed.CHOICES,
        "violations": "retransmissions whose original was not lost, whatever sent them: the simulator knows which copies it dropped (B-A4)",
        "duration": x2_goodput.DURATION,
        "flash crowd": "one crowd of datagrams as in B-F6a, whole run",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The share of retransmissions that were not needed, in figure 2 and in a flash crowd."""
    rows = []
    for i, trace in enumerate(x2_goodput.SECONDS):
        found = x2_goodput.both(trace, setting, "B-X3", (0.25 * i, 0.25 * (i + 1)))
        rows += [_row(f"Trace-{trace}", stack, *flash.violations(found, stack)) for stack in (TCP, NONE)]
    crowd = flash.onset("udp", setting, "B-X3", share=(0.75, 1.0))
    rows += [_row("flash crowd", stack, *flash.violations(crowd, stack)) for stack in (TCP, NONE)]
    percent = {(row["where"], row["stack"]): row["percent"] for row in rows}
    largest = max(percent[f"Trace-{t}", NONE] for t in x2_goodput.SECONDS)
    checks = [at_most(f"Trace-{t}: violations of TCP*(inf) (%)", percent[f"Trace-{t}", NONE], 1.0, "below") for t in x2_goodput.SECONDS]
    checks.append(at_least("flash crowd: violations of TCP*(inf) (%)", percent["flash crowd", NONE], largest, "more than in figure 2"))
    notes = [f"{r['where']}, {r['stack']}: {r['violations']} of {r['retransmissions']} retransmissions, {r['percent']:.3g} %" for r in rows]
    return Outcome(checks, {"violations": pa.Table.from_pylist(rows)}, notes=notes)


def _row(where: str, stack: str, unneeded: int, again: int) -> dict[str, object]:
    return {"where": where, "stack": stack, "violations": unneeded, "retransmissions": again, "percent": 100 * unneeded / max(again, 1)}
