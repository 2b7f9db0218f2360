from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import dead_packets
from ackclock.reproduce.item import Outcome, Setting, item, six_digits

LOSSES = ((0.01, 0.01), (0.05, 0.05), (0.01, 0.05))


@item("B-E7", kind="CF", title="Share of dead packets at the first of two bottlenecks")
def reproduce(setting: Setting) -> Outcome:
    """Three pairs of loss ratios at three shares of the load."""
    p1, p2 = np.array(LOSSES).T
    known = {
        0.05: [0.000495, 0.002375, 0.002475],
        0.25: [0.002475, 0.011875, 0.012375],
        1.0: [0.0099, 0.0475, 0.0495],
    }
    checks = [
        six_digits(f"alpha at a share of {share:g}", dead_packets(share, p1, p2), alphas)
        for share, alphas in known.items()
    ]
    share = np.repeat(np.linspace(0, 1, 101), len(LOSSES))
    p1, p2 = np.tile(p1, 101), np.tile(p2, 101)
    return Outcome(
        checks,
        {"curves": pa.table({"share": share, "p1": p1, "p2": p2, "alpha": dead_packets(share, p1, p2)})},
    )
