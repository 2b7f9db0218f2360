from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import offered
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item

TWICE = (1.5, 2.5)


@item("B-F12b", kind="SIM", title="TCP*(inf) beside TCP, Trace-II", choices=offered.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The slowdown of TCP when most other flows do not back off, over the load."""
    found = offered.measure(TCP, NONE, setting, "B-F12b")
    notes = [found.note()]
    for mbit, m in found.mixes.items():
        notes += [f"{mbit:g} Mbit/s: {note}" for note in m.notes()]
    figure = offered.picture([found], "What TCP*(inf) costs the TCP flows beside it")
    return Outcome(
        [found.check(*TWICE)], {"stacks": pa.Table.from_pylist(found.rows())}, {"slowdown": figure}, notes
    )
