"""Numbers of runs whose flows have no end: rate, share, fairness, round-trip time, queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.results.over_time import jain, nice
from ackclock.results.recorded import Recorded

MOMENTS = 300
"""Moments that the tables over time have if nothing else is asked for, at most."""
FEWEST = 50
MOST_ROWS = 500_000
"""Rows that they may have without having been asked for."""
KIND = "bulk"
"""The kind of workload whose flows are unlimited in size."""


def rows(run: Recorded) -> set[tuple[str, str]]:
    """The runs and stacks all of whose flows are unlimited in size."""
    if not run.flows.num_rows or not {"run", "stack", "size"} <= set(run.flows.column_names):
        return set()
    sizes = run.flows.group_by(["run", "stack"]).aggregate([("size", "count")]).to_pylist()
    return {(found["run"], found["stack"]) for found in sizes if not found["size_count"]}


def described(run: Recorded) -> list[dict[str, Any]]:
    """The rows of `run.stacks`; those of which no flow has an end have their numbers as `endless`."""
    without = rows(run)
    if not without:
        return run.stacks
    return [
        {**row, "endless": numbers(run, row)} if (row["run"], row["stack"]) in without else row
        for row in run.stacks
    ]


def numbers(run: Recorded, row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of one stack in one run, in the window that `run.window` names; None where one is missing.

    goodput: payload delivered by its flows, bit/s. share: that over what all flows of the run delivered.
    fairness: Jain's index of the goodputs of its flows, from two on. rtt: mean of the samples, s.
    retransmitted: share of its segments with payload. loss: share of its senders' packets that their path
    dropped. queue_delay, queue_delay_max: how long its senders' packets waited in queues, and the longest
    wait, s; without `series` the mean queue of the bottleneck over its rate. queue_delay_p99: at the
    bottleneck, of the packets of all stacks of the run, s.
    """
    flows = run.flows.filter(pc.equal(run.flows["run"], row["run"]))
    mine = flows.filter(pc.and_(pc.equal(flows["stack"], row["stack"]), pc.equal(flows["protocol"], "tcp")))
    goodput, every = _known(mine, "goodput"), _known(flows, "goodput")
    samples = _known(mine, "rtt_samples")
    sent = float(_known(mine, "data_segments_sent").sum())
    links = run.links.filter(
        pc.and_(pc.equal(run.links["run"], row["run"]), pc.equal(run.links["name"], row["bottleneck"]))
    )
    link = links.to_pylist()[0] if links.num_rows else {}
    measured = row["loss"] is not None
    packets = _known(mine, "segments_sent")
    delay = _first(link, "sojourn_mean", "queue_mean_delay")
    waited = _weighted(mine, "queue_delay_mean", packets)
    fairness = jain(goodput[:, None], np.array([goodput.size]))[0]
    return {
        "goodput": float(goodput.sum()) if goodput.size else None,
        "share": float(goodput.sum() / every.sum()) if every.sum() else None,
        "fairness": float(fairness) if np.isfinite(fairness) else None,
        "rtt": _rtt(mine, samples),
        "retransmitted": float(_known(mine, "retransmitted_segments").sum() / sent) if sent else None,
        "loss": _loss(mine, packets, row),
        "queue_delay": waited if waited is not None else delay if measured else None,
        "queue_delay_max": _most(mine, "queue_delay_max"),
        "queue_delay_p99": _first(link, "sojourn_p99") if measured else None,
    }


def _rtt(mine: pa.Table, samples: np.ndarray) -> float | None:
    """The mean round-trip time, of samples where their number is known, else of flows."""
    means = _known(mine, "rtt_mean")
    if not _told(mine, "rtt_samples"):
        return float(means[means > 0].mean()) if (means > 0).any() else None
    return float((means * samples).sum() / samples.sum()) if samples.sum() else None


def _loss(mine: pa.Table, packets: np.ndarray, row: dict[str, Any]) -> float | None:
    """The share of its packets that were dropped; that of the bottleneck where a flow's own are not known."""
    if not _told(mine, "dropped_packets"):
        alone = str(row["run"]).partition(" #")[0] == row["stack"]
        return row["loss"] if alone else None
    return float(_known(mine, "dropped_packets").sum() / packets.sum()) if packets.sum() else None


def _first(link: dict[str, Any], *columns: str) -> float | None:
    return next((float(link[c]) for c in columns if link.get(c) is not None), None)


def _weighted(flows: pa.Table, column: str, weights: np.ndarray) -> float | None:
    """The mean of a column over the flows that have it; None without any."""
    if column not in flows.column_names:
        return None
    values = flows[column].to_numpy(zero_copy_only=False).astype(float)
    weights = np.where(np.isnan(values), 0.0, weights)
    return float(np.nansum(values * weights) / weights.sum()) if weights.sum() else None


def _most(flows: pa.Table, column: str) -> float | None:
    return pc.max(flows[column]).as_py() if column in flows.column_names else None


def _told(flows: pa.Table, column: str) -> bool:
    """Whether a column has any value. A kernel does not tell all of them."""
    return column in flows.column_names and flows[column].null_count < flows.num_rows


def _known(flows: pa.Table, column: str) -> np.ndarray:
    """A column; 0 where it is missing."""
    if column not in flows.column_names:
        return np.zeros(flows.num_rows)
    return np.nan_to_num(flows[column].to_numpy(zero_copy_only=False).astype(float))


def interval(tree: dict[str, Any], *, wanted: bool) -> str | None:
    """The interval of tables over time for a resolved scenario without one; None where they would have more
    rows than is good without having been asked for (`wanted`).
    """
    from ackclock._core import quantity

    last = sum(float(quantity("time", tree[key])) for key in ("duration", "drain"))
    runs = len(tree["seeds"]) * (1 if "mix" in tree else max(len(tree["stacks"]), 1))
    flows = runs * sum(int(w.get("flows") or 1) for w in tree["workload"])
    moments = max(min(MOMENTS, MOST_ROWS // max(flows, 1)), FEWEST)
    if not wanted and moments * flows > MOST_ROWS:
        return None
    return _written(nice(max(last / moments, 1e-9)))


def _written(time: float) -> str:
    """A time (s) of whole nanoseconds, as a scenario has it."""
    scale, unit = next(
        u for u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")) if time >= 0.999 * u[0]
    )
    return f"{time / scale:.0f}{unit}"


def is_endless(tree: dict[str, Any]) -> bool:
    """Whether a resolved scenario has flows of unlimited size only, beside datagrams."""
    kinds = [w["kind"] for w in tree["workload"] if not w["kind"].startswith("udp")]
    return bool(kinds) and all(kind == KIND for kind in kinds)
