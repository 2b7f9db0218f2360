from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import approaches, seen, testbed
from ackclock.reproduce.interactive2007.approaches import BACKLOGGED, INTERACTIVE, Curve
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, item, stated
from ackclock.results.gain import drawn, gain

EDGES = np.array([0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.055, 0.075, 0.1, 0.15])
QUEUES = (testbed.RED, testbed.DROP_TAIL_BYTES)
SLACK = 0.1
"""By which the gain with RED may be below that with drop-tail."""


@item(
    "I-F5a",
    kind="SIM",
    title="Gain of a backlogged flow against loss that cross traffic makes, RED and drop-tail",
    choices={
        **{key: text for key, text in approaches.CHOICES.items() if key not in ("padding", "quick form")},
        "drop-tail": "counts bytes",
        "bins": f"of the experienced loss, from {', '.join(f'{100 * e:g}' for e in EDGES)} %; runs with "
        "less loss count nowhere (I-U2)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Gains in bins of the loss that both kinds of flow experienced."""
    found, tables, notes = {}, {}, []
    for n, queue in enumerate(QUEUES):
        both, own = approaches.both_methods(
            setting,
            "I-F5a",
            queue,
            (n / 2, (n + 1) / 2),
            names=(INTERACTIVE, BACKLOGGED),
            quick=testbed.MIXES,
        )
        found[queue] = gains(both)
        tables[queue] = approaches.table(both.values())
        notes += [f"{queue}, {line}" for line in approaches.notes(both.values())] + [growth(queue, both)]
        notes.append(
            f"{queue}, SACK, every packet to its own ack: gains of "
            + ", ".join(
                f"{g:.3g} at {100 * x:.2g} %"
                for g, x in zip(*(gains(own)[c].to_pylist() for c in ("gain", "loss")), strict=True)
            )
        )
    kept = {**{f"{q}-runs": t for q, t in tables.items()}, **{f"{q}-gain": found[q] for q in QUEUES}}
    return Outcome(checks(found), kept, {"gain": picture(found)}, notes)


def gains(both: dict[str, Curve]) -> pa.Table:
    """The gain in each bin of the loss."""
    pairs = (seen.together(s for runs in both[name].runs for s in runs) for name in (INTERACTIVE, BACKLOGGED))
    return gain(*pairs, EDGES)


def checks(found: dict[str, pa.Table]) -> list[Check]:
    """Those of the register, from the gains by queue."""
    gains, lows = ({q: found[q][name].to_numpy() for q in QUEUES} for name in ("gain", "low"))
    shared = np.intersect1d(*lows.values())
    red, tail = (
        float(np.mean(gains[q][np.isin(lows[q], shared)])) if shared.size else np.nan for q in QUEUES
    )
    return [
        *(
            stated(
                f"{q}: gain above 1 in each bin",
                ", ".join(f"{x:.3g}" for x in g),
                g.size > 0 and bool((g > 1).all()),
            )
            for q, g in gains.items()
        ),
        at_least(
            f"mean gain with RED over {shared.size} bins that both have",
            red,
            tail - SLACK,
            "drop-tail's less 0.1",
        ),
        *(_peak(q, found[q]) for q in QUEUES),
    ]


def _peak(queue: str, table: pa.Table) -> Check:
    gains, losses = table["gain"].to_numpy(), table["loss"].to_numpy()
    if not gains.size:
        return stated(f"{queue}: peak inside", "no bin that both have", False)
    top = int(gains.argmax())
    shown = f"{gains[top]:.3g} at {100 * losses[top]:.2g} %, bin {top + 1} of {gains.size}"
    return stated(
        f"{queue}: peak inside", shown, 0 < top < gains.size - 1, "neither the first bin nor the last"
    )


def growth(queue: str, both: dict[str, Curve]) -> str:
    """How the time without a loss grows with cross traffic."""
    least = [np.mean([np.median(s.own) for s in runs]) for runs in both[INTERACTIVE].runs]
    return (
        f"{queue}: the median response time of the interactive flows grows from {1e3 * least[0]:.1f} to "
        f"{1e3 * least[-1]:.1f} ms"
    )


def picture(found: dict[str, pa.Table]) -> Figure:
    """Gains against loss."""
    return measured(
        [Measured(q, *drawn(t)) for q, t in found.items()],
        title="How much faster a backlogged flow is, loss by cross traffic",
        subtitle=f"{testbed.RATE:g} Mbit/s, {1e3 * testbed.RTT:g} ms; a point for each bin of the "
        "experienced loss, 95 % bands",
        xlabel="loss ratio",
        ylabel="gain",
    )
