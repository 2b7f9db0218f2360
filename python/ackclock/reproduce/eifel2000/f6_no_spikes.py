from __future__ import annotations

import numpy as np

from ackclock.models.eifel2000 import RowModel, Rows
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, between, item, six_digits, stated


@item(
    "E-F6",
    kind="MODEL",
    title="The Eifel timer's timeout does not rise when the round-trip time falls",
    choices={**model.CHOICES, "service time": "100 ms"},
)
def reproduce(setting: Setting) -> Outcome:
    """Checks in exact arithmetic, with a service time of 1; the figure with a tick of 1 ms and a service time
    of 100 ms.
    """
    fig, rows = model.figure(
        RowModel(10, model.CYCLES, 0.1),
        [model.ticked("lite", "1ms"), model.ticked("eifel", "1ms")],
        "The Eifel timer against the Lite timer",
        "Step-by-step model, largest load 10, tick 1 ms, service time 100 ms",
    )
    return Outcome(checks(model.steady("lite", 10), model.steady("eifel", 10)), {"rows": rows}, {"rto": fig})


def flight(rows: Rows, load: int) -> np.ndarray:
    """The timeouts of one flight of a cycle."""
    return rows.rto[rows.series["load"] == load]


def checks(lite: Rows, eifel: Rows) -> list[Check]:
    """The register's statements about a cycle of both."""
    first_l, first_e = flight(lite, 6), flight(eifel, 6)
    found = [
        at_most(
            "largest RTO_E of the first flight (service times)",
            float(first_e.max()),
            float(eifel.before[0]),
            "below that at the end of the cycle before",
        ),
        stated(
            "RTO_L rises above its own",
            f"{first_l.max():.6g} against {lite.before[0]:.6g}",
            first_l.max() > lite.before[0],
        ),
        six_digits(
            "those four numbers (service times)",
            [first_e.max(), eifel.before[0], first_l.max(), lite.before[0]],
            [14.0787, 14.7122, 16.7465, 12.0523],
        ),
    ]
    change = {}
    for load in (7, 8, 9, 10):
        # From the row half a flight after its first one to its last.
        change[load] = [abs(float(f[-1] - f[load // 2])) for f in (flight(eifel, load), flight(lite, load))]
        e, rto_l = change[load]
        found.append(
            at_most(
                f"change of RTO_E over the second half of flight {load}",
                e,
                0.35 * rto_l,
                "below 0.35 times that of RTO_L",
            )
        )
    found.append(
        six_digits(
            "changes of both in flights 8 and 10",
            change[8] + change[10],
            [0.0860125, 0.397933, 0.143136, 0.742167],
        )
    )
    at = [[int(flight(rows, load).argmax()) / load for load in (8, 9, 10)] for rows in (lite, eifel)]
    found.append(between("where RTO_L peaks in flights 8 to 10", at[0], 0.0, 0.5))
    found.append(between("where RTO_E peaks in flights 8 to 10", at[1], 0.4, 0.6))
    return found
