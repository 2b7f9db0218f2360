"""Which flows count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def counted(flows: pa.Table, warmup: float = 0.0) -> pa.Table:
    """The flows that summaries and figures are about: those that began after the warm-up (s), and those
    without a limit to their size, whenever they began."""
    return (
        flows.filter(pc.or_(pc.greater_equal(flows["start"], warmup), pc.is_null(flows["size"])))
        if warmup
        else flows
    )


def response_times(flows: pa.Table) -> np.ndarray:
    """The response times (s) of the flows that have one: those that finished, and the means of those that
    have no end.
    """
    return flows.filter(pc.not_equal(flows["outcome"], "failed"))["response_time"].drop_null().to_numpy()
