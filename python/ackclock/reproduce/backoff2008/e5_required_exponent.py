from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import required_exponent
from ackclock.reproduce.backoff2008.e3_without_backoff import RTO
from ackclock.reproduce.item import Outcome, Setting, item, six_digits


@item("B-E5", kind="CF", title="Backoff exponent that ends the congestion")
def reproduce(setting: Setting) -> Outcome:
    """The four flows of B-E3, and 120 flows at 50 packets/s."""
    k = [float(required_exponent(RTO, 5.0)), float(required_exponent(np.ones(120), 50.0))]
    return Outcome(
        [six_digits("k of 4 and 120 flows", k, [0.736966, 1.26303])],
        {"points": pa.table({"flows": [4, 120], "k": k})},
    )
