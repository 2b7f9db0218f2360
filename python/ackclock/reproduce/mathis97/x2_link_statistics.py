from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.reproduce.mathis97 import phase
from ackclock.reproduce.mathis97 import t2_phase_effects as t2


@item(
    "M-X2",
    kind="SIM",
    title="Link statistics predict bandwidths only where loss is randomised",
    choices={
        **phase.CHOICES,
        "error": "of both link models, relative to the measured bandwidth, mean of the two",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The runs of table 2."""
    found = phase.columns(
        setting, {kind: phase.scenario(phase.queue(kind, t2.LIMIT)) for kind in phase.QUEUES}, "M-X2"
    )
    errors = {kind: float(np.mean(c.errors(c.link_models))) for kind, c in found.items()}
    checks = [
        at_least(
            "mean error of the link models, drop-tail",
            errors["drop-tail"],
            5 * errors["RED"],
            "above 5 times that with RED",
        )
    ]
    rows = [
        {
            "queue": kind,
            "connection": phase.NAMES[i],
            "measured": c.bandwidths[i],
            "link_model": c.link_models[i],
            "error": c.errors(c.link_models)[i],
        }
        for kind, c in found.items()
        for i in range(2)
    ]
    notes = [f"{kind}: mean error of the link models {100 * e:.1f} %" for kind, e in errors.items()]
    return Outcome(checks, {"models": pa.Table.from_pylist(rows)}, notes=notes)
