from __future__ import annotations

import pyarrow as pa

from ackclock.models.eifel2000 import RowModel
from ackclock.models.timer import Timer
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, exactly, item

LOADS, TICK = (10, 26, 40), 0.001


@item(
    "E-X6",
    kind="MODEL",
    title="The floor of the Eifel timer never acts when its prediction is good",
    choices={**model.CHOICES, "tick": "1 ms at a service time of 1 s"},
)
def reproduce(setting: Setting) -> Outcome:
    """Rows of all cycles in which the timeout is the latest sample and two ticks."""
    rows = []
    for load in LOADS:
        made = RowModel(load, model.CYCLES).run(Timer("eifel").but(tick="1ms", min_rto="0s", max_rto="1h"))
        rows.append(
            {
                "load": load,
                "rows": made.rto.size,
                "floor": int((made.rto <= made.rtt + 2 * TICK + 1e-9).sum()),
            }
        )
    checks = [exactly("rows where the floor wins, loads 10, 26, 40", [r["floor"] for r in rows], [0, 0, 0])]
    return Outcome(checks, {"rows": pa.Table.from_pylist(rows)})
