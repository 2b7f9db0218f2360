from __future__ import annotations

from ackclock.models.eifel2000 import RowModel
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, item, six_digits, stated, within


@item(
    "E-F4",
    kind="MODEL",
    title="The Lite timer's timeout collapses into the round-trip time",
    choices={
        **model.CHOICES,
        "service time": "6.25 s, that of the testbed (E-E17), in the figure; checks count in service times",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Checks in exact arithmetic; the figure with a tick of 500 ms."""
    lite = model.steady("lite", 40)
    flight = lite.margin[-40:]
    checks = [
        stated(
            "RTO_L - RTT at the cycle's end",
            f"{lite.rto[-1] - lite.rtt[-1]:.6g}",
            lite.rto[-1] - lite.rtt[-1] < 0.1,
            "below 0.1",
        ),
        within("rows of a cycle without margin", int((lite.margin <= 0).sum()), 18, 2),
        six_digits(
            "margins of the last flight: first, middle, last row (service times)",
            flight[[0, 20, 39]],
            [-0.961547, 0.461760, 0.0384226],
        ),
    ]
    fig, rows = model.figure(
        RowModel(40, model.CYCLES, 6.25),
        [model.ticked("lite", "500ms")],
        "A timeout that collapses into the round-trip time",
        "Step-by-step model, largest load 40, tick 500 ms, service time 6.25 s; below, the end of a cycle",
        zoom=True,
    )
    return Outcome(checks, {"rows": rows}, {"rto": fig})
