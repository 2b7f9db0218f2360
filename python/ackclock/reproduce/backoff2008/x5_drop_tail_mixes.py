from __future__ import annotations

import pyarrow as pa

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item


@item(
    "B-X5",
    kind="SIM",
    title="TCP*(inf) beside TCP over drop-tail",
    choices={
        **deployment.CHOICES,
        "queue": "drop-tail of 2 bandwidth-delay products of the mean round-trip time, both ways",
        "same signs": "TCP beside 90 % is no faster than alone, for each trace, and slower than TCP*(inf) "
        "beside it for Trace-I. The 95 % interval over the seeds decides; where it contains 1 the check is "
        "open",
        "shares": "90 % of the new stack, and none of it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The three traces at 90 %."""
    checks: list[Check] = []
    notes, rows = [], []
    for i, trace in enumerate(deployment.SECONDS):
        part = Setting(
            setting.full, setting.workers, lambda share, label, i=i: setting.progress((i + share) / 3, label)
        )
        m = deployment.mixes(trace, TCP, NONE, part, "B-X5", queue="drop-tail", shares=(0.9,))
        checks.append(
            ratio(
                f"Trace-{trace}: mean of TCP beside 90 % over alone",
                m.mean(TCP, 0.9),
                m.mean(TCP, 0.0),
                least=1.0,
            )
        )
        if trace == "I":
            checks.append(
                ratio(
                    "Trace-I: mean of TCP over TCP*(inf) at 90 %",
                    m.mean(TCP, 0.9),
                    m.mean(NONE, 0.9),
                    least=1.0,
                )
            )
        notes += [f"Trace-{trace}: {note}" for note in m.notes()]
        rows += [{"trace": trace, **row} for row in m.rows()]
    return Outcome(checks, {"stacks": pa.Table.from_pylist(rows)}, notes=notes)
