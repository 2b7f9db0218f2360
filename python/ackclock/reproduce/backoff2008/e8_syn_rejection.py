from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import syn_rejection
from ackclock.reproduce.item import Outcome, Setting, item, six_digits


@item("B-E8", kind="CF", title="Connections rejected because their SYNs were lost")
def reproduce(setting: Setting) -> Outcome:
    """Three and five SYNs at four loss ratios."""
    p = np.array([0.1, 0.25, 0.45, 0.5])
    three, five = syn_rejection(p, 3), syn_rejection(p, 5)
    checks = [
        six_digits(
            "rejected after 3 SYNs, p = 0.1, 0.25, 0.45, 0.5", three, [0.001, 0.015625, 0.091125, 0.125]
        ),
        six_digits(
            "rejected after 5 SYNs, p = 0.1, 0.25, 0.45, 0.5", five, [1e-5, 0.000976562, 0.0184528, 0.03125]
        ),
    ]
    return Outcome(checks, {"points": pa.table({"p": p, "three": three, "five": five})})
