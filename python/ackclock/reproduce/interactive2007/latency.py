"""What is read off runs of interactive flows: response times of packets, losses, and where a curve crosses a
level.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.results import Run


def mean(run: Run, group: str | None = None) -> float:
    """Mean response time (s) of all packets of the interactive flows, perhaps of one workload alone; NaN
    where none was acknowledged.
    """
    flows = of(run, group)
    flows = flows.filter(pc.greater(flows["responses"], 0))
    return (
        float(np.average(flows["response_time"].to_numpy(), weights=flows["responses"].to_numpy()))
        if flows.num_rows
        else float("nan")
    )


def loss(run: Run, group: str | None = None) -> float:
    """Share of the data packets of the interactive flows that were lost: a
    retransmission counts as a loss unless it is spurious.
    """
    sent, resent, spurious = (
        total(run, c, group)
        for c in ("data_segments_sent", "retransmitted_segments", "unneeded_retransmissions")
    )
    return (resent - spurious) / sent if sent else float("nan")


def total(run: Run, column: str, group: str | None = None) -> float:
    """Sum of a column over the interactive flows."""
    return float(pc.sum(of(run, group)[column]).as_py() or 0)


def of(run: Run, group: str | None = None) -> pa.Table:
    """The flows of a workload; without one those that have response times of packets, which have no size."""
    flows = run.flows
    keep = (
        pc.equal(flows["group"], group)
        if group
        else pc.and_(pc.is_null(flows["size"]), pc.greater(flows["responses"], 0))
    )
    return flows.filter(keep)


def crossing(x: np.ndarray, values: np.ndarray, level: float) -> float:
    """Where the line through points first rises above a level: infinite where it does not, the first place
    where it begins above.
    """
    above = np.flatnonzero(values > level)
    if not above.size:
        return float("inf")
    k = int(above[0])
    return (
        float(x[k])
        if k == 0
        else float(x[k - 1] + (x[k] - x[k - 1]) * (level - values[k - 1]) / (values[k] - values[k - 1]))
    )
