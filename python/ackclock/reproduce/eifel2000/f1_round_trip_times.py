from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.eifel2000 import RowModel
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, within
from ackclock.results.timing import Timing

LOAD, LINE_LOAD = 10, testbed.PACKETS


@item(
    "E-F1",
    kind="MODEL, SIM",
    title="Round-trip times of a bulk transfer in steady state",
    choices={
        "largest load": f"10 segments in the step-by-step model; {LINE_LOAD} on the simulated line of the "
        "testbed",
        "service time": "1 s in the step-by-step model; 6.25 s on the line",
        "start of a cycle": "half of the largest load, so that the round-trip time doubles; the other "
        "items of the step-by-step model start one segment above",
        **{key: testbed.CHOICES[key] for key in ("line", "queue", "sender", "receiver", "steady state")},
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The series that drives the timers: a flight at each load, one service time longer than the one before;
    then that of a simulated transfer.
    """
    model = RowModel(LOAD, 3, from_half=True)
    s = model.series()
    loads, counts = np.unique(s["load"][: model.cycle_rows], return_counts=True)
    step = np.diff(s["rtt"][: model.cycle_rows])
    above = RowModel(LOAD, 1).series()["rtt"]
    checks = [
        exactly(
            "steps of the RTT within a cycle, in service times", sorted(set(step[step != 0].tolist())), [1.0]
        ),
        exactly("rows of each flight less its load", sorted(set((counts - loads).tolist())), [0]),
        within("largest over smallest RTT", float(s["rtt"].max() / s["rtt"].min()), 2.0, 1 / LOAD),
    ]
    measured, table, figure, note = simulated()
    fig = draw(
        s["time"],
        s["rtt"],
        {},
        title="Round-trip times in steady state",
        subtitle=f"One sender, largest load {LOAD}, service time 1 s",
    )
    notes = [
        f"A cycle that starts one segment above half has a ratio of {above.max() / above.min():.6g}.",
        note,
    ]
    return Outcome(
        [*checks, *measured], {"rows": pa.table(s), "line": table}, {"rtt": fig, "line": figure}, notes
    )


def simulated() -> tuple[list[Check], pa.Table, object, str]:
    """The same of a transfer over the line, whose losses are real: every round-trip time that its packets
    show.
    """
    run = testbed.transfer(testbed.line(), {"Lite": testbed.lite()}, 25_000)
    timing = Timing.of(testbed.rows(run, "segments", "Lite"))
    log = testbed.Log(timing.time[timing.sampled], timing.rtt[timing.sampled], timing.rtt[timing.sampled])
    cycles = log.cycles()
    of_service = [log.rtt[c] / testbed.SERVICE for c in cycles]
    steps = np.concatenate([np.diff(r) for r in of_service])
    flights = [np.unique(np.rint(r), return_counts=True) for r in of_service]
    extra = np.concatenate([counts[1:] - loads[1:] for loads, counts in flights]).astype(int)
    checks = [
        exactly(
            "simulated line: steps of the RTT within a cycle, in service times",
            sorted(set(np.round(steps[np.abs(steps) > 1e-6], 3).tolist())),
            [1.0],
        ),
        within(
            "simulated line: largest over smallest RTT",
            float(max(r.max() for r in of_service) / min(r.min() for r in of_service)),
            2.0,
            1 / LINE_LOAD,
        ),
    ]
    shown = log[cycles[0].start : cycles[2].stop]
    time, rtt = testbed.with_gaps(shown, shown.rtt)
    fig = draw(
        time,
        rtt,
        {},
        title="Round-trip times in steady state, simulated",
        subtitle=testbed.SUBTITLE,
    )
    note = (
        f"On the line a flight at load n has n + {extra.min()} to n + {extra.max()} samples after the "
        "first: the window is halved from 41 outstanding segments, one of them lost, to 20.5, and "
        "goes on in halves of a segment. The first flight of a cycle, while duplicate acks still "
        f"shape the sending, has {int(flights[0][1][0])} at load {int(flights[0][0][0])}."
    )
    return checks, pa.table({"time": log.time, "rtt": log.rtt}), fig, note
