from __future__ import annotations

import numpy as np

from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import approaches, seen, testbed
from ackclock.reproduce.interactive2007.approaches import BACKLOGGED, INTERACTIVE, Curve
from ackclock.reproduce.item import Outcome, Setting, at_least, item, stated
from ackclock.results.gain import gain

EDGES = np.array([0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.055, 0.075, 0.1, 0.15])
QUEUES = (testbed.RED, testbed.DROP_TAIL_BYTES)
SLACK = 0.1
"""By which the gain with RED may be below that with drop-tail."""


@item(
    "I-F5a",
    kind="SIM",
    title="Gain of a backlogged flow against loss that cross traffic makes, RED and drop-tail",
    choices={
        **{key: text for key, text in approaches.CHOICES.items() if key != "padding"},
        "drop-tail": "counts bytes",
        "bins": f"of the experienced loss, from {', '.join(f'{100 * e:g}' for e in EDGES)} %; runs with less loss count nowhere (I-U2)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Gains in bins of the loss that both kinds of flow experienced."""
    found, tables, notes = {}, {}, []
    for n, queue in enumerate(QUEUES):
        both = approaches.curves(setting, "I-F5a", queue, (INTERACTIVE, BACKLOGGED), share=(n / 2, (n + 1) / 2))
        found[queue] = gain(*(seen.together(s for runs in both[name].runs for s in runs) for name in (INTERACTIVE, BACKLOGGED)), EDGES)
        tables[queue] = approaches.table(both.values())
        notes += [f"{queue}, {line}" for line in approaches.notes(both.values())] + [growth(queue, both)]
    red, tail = (found[q]["gain"].to_numpy() for q in QUEUES)
    shared = np.intersect1d(*(found[q]["low"].to_numpy() for q in QUEUES))
    means = [
        float(np.mean([g for g, low in zip(found[q]["gain"].to_pylist(), found[q]["low"].to_pylist(), strict=True) if low in shared])) for q in QUEUES
    ]
    checks = [
        *(
            stated(f"{q}: gain above 1 in each bin", ", ".join(f"{g:.3g}" for g in gains), bool(gains.size) and bool((gains > 1).all()))
            for q, gains in zip(QUEUES, (red, tail), strict=True)
        ),
        at_least(f"mean gain with RED over {shared.size} bins that both have", means[0], means[1] - SLACK, "drop-tail's less 0.1"),
        *(
            stated(
                f"{q}: peak inside",
                f"{gains.max():.3g} at {100 * found[q]['loss'][int(gains.argmax())].as_py():.2g} %, bin {gains.argmax() + 1} of {gains.size}",
                0 < gains.argmax() < gains.size - 1,
                "neither the first bin nor the last",
            )
            for q, gains in zip(QUEUES, (red, tail), strict=True)
        ),
    ]
    return Outcome(
        checks, {**{f"{q}-runs": t for q, t in tables.items()}, **{f"{q}-gain": found[q] for q in QUEUES}}, {"gain": picture(found)}, notes
    )


def growth(queue: str, both: dict[str, Curve]) -> str:
    """How the time without a loss grows with cross traffic."""
    least = [np.mean([np.median(s.own) for s in runs]) for runs in both[INTERACTIVE].runs]
    return f"{queue}: the median response time of the interactive flows grows from {1e3 * least[0]:.1f} to {1e3 * least[-1]:.1f} ms"


def picture(found: dict[str, object]) -> object:
    """Gains against loss."""
    return measured(
        [Measured(q, t["loss"].to_numpy(), t["gain"].to_numpy(), t["half"].to_numpy()) for q, t in found.items()],
        title="How much faster a backlogged flow is, loss by cross traffic",
        subtitle=f"{testbed.RATE:g} Mbit/s, {1e3 * testbed.RTT:g} ms; a point for each bin of the experienced loss, 95 % bands",
        xlabel="loss ratio",
        ylabel="gain",
    )
