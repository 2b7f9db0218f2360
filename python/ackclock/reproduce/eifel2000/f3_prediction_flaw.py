from __future__ import annotations

from ackclock.models.eifel2000 import RowModel
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated


@item(
    "E-F3",
    kind="MODEL",
    title="The Lite timer's timeout rises when the round-trip time falls",
    choices={**model.CHOICES, "service time": "100 ms"},
)
def reproduce(setting: Setting) -> Outcome:
    """Checks in exact arithmetic, with a service time of 1; the figure with a tick of 1 ms and a service time
    of 100 ms.
    """
    lite = model.steady("lite", 10)
    fig, rows = model.figure(
        RowModel(10, model.CYCLES, 0.1),
        [model.ticked("lite", "1ms")],
        "A timeout that rises as the round-trip time falls",
        "Step-by-step model, largest load 10, tick 1 ms, service time 100 ms",
    )
    return Outcome(checks(lite.rto, float(lite.before[0])), {"rows": rows}, {"rto": fig})


def checks(rto, end: float) -> list[Check]:
    """The register's statements about a cycle's timeouts and the last one before it, in service times."""
    rises = end < rto[0] < rto[1] < rto[2]
    return [
        stated(
            "RTO_L rises on the 3 rows after the drop",
            f"{end:.6g}, {rto[0]:.6g}, {rto[1]:.6g}, {rto[2]:.6g}",
            rises,
            "each above the last",
        ),
        stated(
            "largest RTO_L of the cycle above that at its end",
            f"{model.largest(rto)} against {rto[-1]:.6g}",
            rto.max() > rto[-1],
        ),
        six_digits(
            "largest RTO_L, and RTO_L at the cycle's end (service times)",
            [rto.max(), rto[-1]],
            [16.7465, 12.0523],
        ),
        six_digits(
            "RTO_L of the first rows of the cycle (service times)",
            rto[:8],
            [14.6313, 16.0541, 16.6735, 16.7465, 16.4586, 15.9428, 14.4186, 13.1865],
        ),
    ]
