from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.eifel2000 import Rows
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, exactly, item, six_digits

LOADS = (4, 6, 8, 10, 26, 40)
ALL = range(4, 41, 2)
WITHOUT, WITH = "none", "gain-squared"
LEAST = {
    WITHOUT: [1.08912, 0.999311, 0.966637, 1.16890, 1.18972, 1.18533],
    WITH: [1.20261, 1.17536, 1.25497, 1.36096, 1.45810, 1.47150],
}
LABELS = {WITH: "RTO_E (Eifel)", WITHOUT: "RTO_E without shock absorber"}
SMALL = 4
"""A load whose cycle is so short that the start takes more cycles to be forgotten."""


@item(
    "E-X11",
    kind="MODEL",
    title="What the shock absorber of the Eifel timer is for",
    choices={
        **model.CHOICES,
        "without": "GAINBAR = GAIN throughout, so that the deviation shrinks as fast as it grows",
        "second half of a flight": "from its middle row to its last one",
        "load 4": "converges slowly: cycle 60 is checked",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Cycles with and without the shock absorber, loads from 4 to 40."""
    timers = {
        WITHOUT: lambda n: steady("eifel", n, shock=WITHOUT),
        WITH: lambda n: steady("eifel", n),
        "lite": lambda n: steady("lite", n),
    }
    found = {name: {n: of(n) for n in ALL} for name, of in timers.items()}
    ten = {name: rows[10] for name, rows in found.items()}
    checks = [
        six_digits(
            f"{words}: fall of RTO over the second half of flights 8 and 10, load 10",
            [fall(ten[name], load) for load in (8, 10)],
            expected,
        )
        for name, words, expected in (
            (WITHOUT, "without", [0.498013, 0.903213]),
            (WITH, "with", [0.0860125, 0.143136]),
            ("lite", "Lite", [0.397933, 0.742167]),
        )
    ]
    checks.append(
        exactly(
            "without: row of flights 8 and 10 at which RTO peaks",
            [int(flight(ten[WITHOUT], load).argmax()) + 1 for load in (8, 10)],
            [4, 4],
        )
    )
    for name, words in ((WITHOUT, "without"), (WITH, "with")):
        least = [float(found[name][n].ratio.min()) for n in LOADS]
        lines = {n: int((found[name][n].margin <= 0).sum()) for n in ALL}
        checks += [
            six_digits(f"{words}: smallest RTO(i-1)/RTT(i), loads {listed(LOADS)}", least, LEAST[name]),
            exactly(
                f"{words}: loads with rows without margin, and how many",
                [f"{n}: {k}" for n, k in lines.items() if k],
                ["6: 1", "8: 1"] if name == WITHOUT else [],
            ),
        ]
    rows = [
        {"shock": name, "load": n, "least": float(r.ratio.min()), "without": int((r.margin <= 0).sum())}
        for name in (WITHOUT, WITH)
        for n, r in found[name].items()
    ]
    first = ten[WITH]
    fig = draw(
        first.series["time"] - first.series["time"][0],
        first.rtt,
        {LABELS[name]: ten[name].rto for name in (WITH, WITHOUT)},
        title="The timeout with and without the shock absorber",
        subtitle="Step-by-step model, one cycle of a largest load of 10, service time 1 s",
    )
    return Outcome(checks, {"ratios": pa.Table.from_pylist(rows)}, {"rto": fig})


def steady(name: str, load: int, **params: str) -> Rows:
    """A cycle long after the start."""
    return model.steady(name, load, cycles=60 if load == SMALL else model.CYCLES, **params)


def flight(rows: Rows, load: int) -> np.ndarray:
    """The timeouts of a flight."""
    return rows.rto[rows.series["load"] == load]


def fall(rows: Rows, load: int) -> float:
    """By how much the timeout changes over the second half of a flight."""
    of = flight(rows, load)
    return abs(float(of[-1] - of[of.size // 2]))


def listed(values: tuple[int, ...]) -> str:
    """Numbers as text."""
    return ", ".join(map(str, values))
