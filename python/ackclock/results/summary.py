"""The numbers of a run in one row per stack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DROPS = ("dropped_queue", "dropped_early", "dropped_loss")


def by_stack(flows: pa.Table, links: pa.Table) -> list[dict[str, Any]]:
    """One row for each stack of the run, in the run's order.

    flows: flows begun. finished, failed: of these, how they ended. mean, median, p99: of the response times (s) of all flows that have one; the
    percentiles interpolate linearly. loss: share of the packets offered to the congested link that it dropped, of whatever cause. goodput: payload
    put on that link, repeated bytes not counted, per second (bit/s, B-U2). timeouts: expiries of both ends' retransmission timers. spurious:
    retransmissions whose original had arrived or was still to arrive (B-A4). Numbers that have no meaning (no flow finished) are None.
    """
    congested = congested_link(links)
    return [_row(stack, flows.filter(pc.equal(flows["stack"], stack)), _at(links, stack, congested)) for stack in stacks(flows, links)]


def stacks(flows: pa.Table, links: pa.Table) -> list[str]:
    """The labels of the stacks, in the order in which they first appear."""
    return list(dict.fromkeys(flows["stack"].unique().to_pylist() + links["stack"].unique().to_pylist()))


def congested_link(links: pa.Table) -> str | None:
    """The name of the link that dropped most, over all stacks; of the busiest one where none dropped; None without links that have a rate."""
    served = links.filter(pc.is_valid(links["rate"]))
    if not served.num_rows:
        return None
    drops = sum(served[column].to_numpy().astype(float) for column in DROPS)
    busy = np.nan_to_num(pc.fill_null(served["utilisation"], 0.0).to_numpy())
    names = np.array(served["name"].to_pylist())
    labels = list(dict.fromkeys(names.tolist()))
    return max(labels, key=lambda name: (drops[names == name].sum(), busy[names == name].sum()))


def _at(links: pa.Table, stack: str, name: str | None) -> pa.Table:
    return links.filter(pc.and_(pc.equal(links["stack"], stack), pc.equal(links["name"], name))) if name else links.slice(0, 0)


def _row(stack: str, flows: pa.Table, link: pa.Table) -> dict[str, Any]:
    times = response_times(flows)
    offered, observed = _sum(link, "packets_offered"), _sum(link, "observed")
    return {
        "stack": stack,
        "flows": flows.num_rows,
        "finished": _count(flows, "finished"),
        "failed": _count(flows, "failed"),
        "mean": float(times.mean()) if times.size else None,
        "median": float(np.percentile(times, 50)) if times.size else None,
        "p99": float(np.percentile(times, 99)) if times.size else None,
        "max": float(times.max()) if times.size else None,
        "loss": sum(_sum(link, column) for column in DROPS) / offered if offered else None,
        "goodput": 8.0 * _sum(link, "unique_bytes") / observed if observed else None,
        "timeouts": int(_sum(flows, "timeouts") + _sum(flows, "peer_timeouts")),
        "retransmissions": int(_sum(flows, "retransmitted_segments")),
        "spurious": int(_sum(flows, "unneeded_retransmissions")),
    }


def response_times(flows: pa.Table) -> np.ndarray:
    """The response times (s) of the flows that have one."""
    return flows["response_time"].drop_null().to_numpy()


def _count(flows: pa.Table, outcome: str) -> int:
    return pc.sum(pc.equal(flows["outcome"], outcome)).as_py() or 0


def _sum(table: pa.Table, column: str) -> float:
    return pc.sum(table[column]).as_py() or 0
