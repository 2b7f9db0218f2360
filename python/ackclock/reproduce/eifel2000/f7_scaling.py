from __future__ import annotations

from ackclock.models.eifel2000 import RowModel
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, between, item, six_digits

LOADS = (10, 26, 40)


@item(
    "E-F7",
    kind="MODEL",
    title="The Eifel timer's timeout scales with the load",
    choices={
        **model.CHOICES,
        "smaller loads": "10 and 26 besides 40",
        "service time": "6.25 s, that of the testbed (E-E17), in the figure",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Checks in exact arithmetic; the figure with a tick of 500 ms at load 40."""
    checks, deviations, after, whole = [], [], [], []
    for load in LOADS:
        rows = model.steady("eifel", load)
        ratio = rows.ratio[rows.series["load"] > rows.series["load"][0]]
        checks.append(between(f"RTO_E/RTT after the first flight, load {load}", ratio, 1.3, 2.2))
        deviations.append(float(ratio.std() / ratio.mean()))
        after.append(float(ratio.mean()))
        whole.append(float(rows.ratio.mean()))
    checks += [
        between("coefficients of variation", deviations, 0.0, 0.10),
        six_digits(
            "coefficients of variation, loads 10, 26, 40", deviations, [0.0670347, 0.0743865, 0.0782282]
        ),
        six_digits("mean ratios after the first flight", after, [1.54290, 1.64351, 1.67691]),
        six_digits("mean ratios of the whole cycle", whole, [1.64745, 1.68740, 1.70569]),
    ]
    fig, rows = model.figure(
        RowModel(40, model.CYCLES, 6.25),
        [model.ticked("eifel", "500ms")],
        "A timeout that scales with the load",
        "Step-by-step model, largest load 40, tick 500 ms, service time 6.25 s",
    )
    return Outcome(checks, {"rows": rows}, {"rto": fig})
