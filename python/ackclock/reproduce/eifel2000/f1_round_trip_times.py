from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.eifel2000 import RowModel
from ackclock.plot import timers as draw
from ackclock.reproduce.item import Outcome, Setting, exactly, item, within

LOAD = 10


@item(
    "E-F1",
    kind="MODEL",
    title="Round-trip times of a bulk transfer in steady state",
    choices={
        "largest load": "10 segments",
        "service time": "1 s",
        "start of a cycle": "half of the largest load, so that the round-trip time doubles; the other items start one segment above",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The series that drives the timers: a flight at each load, one service time longer than the one before."""
    model = RowModel(LOAD, 3, from_half=True)
    s = model.series()
    loads, counts = np.unique(s["load"][: model.cycle_rows], return_counts=True)
    step = np.diff(s["rtt"][: model.cycle_rows])
    above = RowModel(LOAD, 1).series()["rtt"]
    checks = [
        exactly("steps of the RTT within a cycle, in service times", sorted(set(step[step != 0].tolist())), [1.0]),
        exactly("rows of each flight less its load", sorted(set((counts - loads).tolist())), [0]),
        within("largest over smallest RTT", float(s["rtt"].max() / s["rtt"].min()), 2.0, 1 / LOAD),
    ]
    fig = draw(s["time"], s["rtt"], {}, title="Round-trip times in steady state", subtitle=f"One sender, largest load {LOAD}, service time 1 s")
    return Outcome(
        checks, {"rows": pa.table(s)}, {"rtt": fig}, [f"A cycle that starts one segment above half has a ratio of {above.max() / above.min():.6g}."]
    )
