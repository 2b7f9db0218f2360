from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import artificial, seen
from ackclock.reproduce.interactive2007.artificial import Point
from ackclock.reproduce.item import Check, Outcome, Setting, item, stated

AGREE, ABOVE = (0.005, 0.035), 0.05
"""Losses between which the model agrees, and from which it is too high."""
TOLERANCE = 0.15
METHODS = {"Reno, marked packets, cumulative acks": 0, "SACK, every packet, its own ack": 1}
"""The paper's method, which decides, and ours."""


@item(
    "I-F5b",
    kind="SIM",
    title="Gain of a backlogged flow against artificial random loss, beside the model",
    choices=artificial.CHOICES,
)
def reproduce(setting: Setting) -> Outcome:
    """The gain that simulated flows have, and the model's."""
    points = artificial.measure(setting, "I-F5b", share=(0.0, 0.5))
    own = artificial.measure(setting, "I-F5b", method=seen.OWN, share=(0.5, 1.0))
    rows = [p.row() for p in points]
    notes = [
        *(
            (
                f"loss {100 * p.p:g} %: gain {p.gain:.3g} +/- {p.half:.2g} (model {p.model:.3g}); "
                f"interactive {1e3 * p.latency:.1f} ms, backlogged {1e3 * p.backlogged_latency:.1f} "
                f"ms; timeouts {100 * row['timeout_share']:.3g} % of the loss indications (model "
                f"{100 * row['model_timeout_share']:.3g} %)"
            )
            for p, row in zip(points, rows, strict=True)
        ),
        "a mark that is made while the flow waits for its timer falls on the first packet that is sent "
        "afterwards, with a small window: where timeouts fill much of the time, marked packets are mostly "
        "those; and what arrives behind a lost packet waits for its repair. The model has neither",
        "all packets of the flow, marked or not: gains of "
        + ", ".join(f"{p.every_gain:.3g}" for p in points),
        "SACK, every packet to its own ack: gains of "
        + ", ".join(f"{p.gain:.3g} ({100 * p.off:+.0f} %) at {100 * p.p:g} %" for p in own),
    ]
    rows = [{"method": name, **p.row()} for name, found in METHODS.items() for p in (points, own)[found]]
    tables, figure = {"points": pa.Table.from_pylist(rows)}, picture(points, own)
    return Outcome(checks(points), tables, {"gain": figure}, notes)


def checks(points: list[Point]) -> list[Check]:
    """Those of the register."""
    near = [p for p in points if AGREE[0] <= p.p <= AGREE[1]]
    high = [p for p in points if p.p >= ABOVE]
    return [
        stated(
            "difference from the model, p = 0.5 to 3.5 %",
            ", ".join(f"{100 * p.off:+.1f} % at {100 * p.p:g} %" for p in near),
            all(abs(p.off) <= TOLERANCE for p in near),
            f"at most {100 * TOLERANCE:g} %",
        ),
        stated(
            "gain below the model's, p from 5 % on",
            ", ".join(f"{p.gain:.3g} < {p.model:.3g} at {100 * p.p:g} %" for p in high),
            all(p.gain < p.model for p in high),
        ),
        stated("gain above 1", ", ".join(f"{p.gain:.3g}" for p in points), all(p.gain > 1 for p in points)),
    ]


def picture(points: list[Point], own: list[Point]) -> Figure:
    """Gains against loss."""
    p = np.array([x.p for x in points])
    fine = np.geomspace(p.min(), p.max(), 300)
    return measured(
        [
            Measured(name, p, np.array([x.gain for x in some]), np.array([x.half for x in some]))
            for name, some in zip(METHODS, (points, own), strict=True)
        ],
        [("model", fine, artificial.smooth_model(fine))],
        title="How much faster a backlogged flow is, artificial random loss",
        subtitle="5 Mbit/s, 12 ms, RED; mean response time of telnet packets over that of an endless "
        "transfer's; 95 % bands",
        xlabel="loss ratio",
        ylabel="gain",
    )
