"""What workloads have come to whose connections carry many exchanges, in a sentence for each class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.quantities import count, percent, rate, seconds

TABLES = ("exchanges", "rounds", "playback")
"""The tables that such workloads fill."""


def filled(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Those of the tables that have rows."""
    return {name: table for name, table in tables.items() if table.num_rows}


def numbers(tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """A row for each run, stack and class of the workloads: percentiles of its response times (s), of its
    rounds, and the means of its videos. Numbers of tables that it does not fill are missing.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for name, of in (("exchanges", _exchanges), ("rounds", _rounds), ("playback", _videos)):
        for key, part in _classes(tables.get(name)):
            row = rows.setdefault(key, dict(zip(("run", "stack", "group"), key, strict=True)))
            row.update(of(part))
    return list(rows.values())


def sentences(rows: list[dict[str, Any]], flows: pa.Table) -> list[str]:
    """A sentence for each class: what its rounds took, how its videos played, or how long responses took. It
    names the class where the flows are of several.
    """
    several = len(flows["group"].unique()) > 1
    return [f"{_named(row, several)}: {_outcome(row)}." for row in rows]


def _named(row: dict[str, Any], several: bool) -> str:
    where = row["stack"] if row["run"] in (row["stack"], "all") else f"{row['run']}, {row['stack']}"
    return f"{row['group']} ({where})" if several else str(where)


def _outcome(row: dict[str, Any]) -> str:
    if rounds := row.get("rounds"):
        return (
            f"{_many(rounds, 'round')} of the fan-in took {seconds(row['completion_median'])} at the median "
            f"and {seconds(row['completion_p99'])} at the 99th percentile, {rate(row['goodput'])} of goodput"
        )
    if videos := row.get("videos"):
        delay = row["startup_delay"]
        each = "the video" if videos == 1 else f"{count(videos)} videos, on average,"
        if delay is None:
            return f"{each} did not begin to play"
        stalls = (
            f"stalled {_times(row['stalls'])} for {seconds(row['stalled'])} "
            f"({percent(row['rebuffering'])} of the time since)"
            if row["stalls"]
            else "did not stall"
        )
        bitrate = rate(row["bitrate"])
        return f"{each} began to play after {seconds(delay)}, {stalls}, and had a mean bitrate of {bitrate}"
    return (
        f"{_many(row['responses'], 'response')} took {seconds(row['response_median'])} at the median, "
        f"{seconds(row['response_p90'])} at the 90th and {seconds(row['response_p99'])} at the 99th "
        "percentile"
    )


def _many(n: int, what: str) -> str:
    return f"{count(n)} {what}{'' if n == 1 else 's'}"


def _times(n: float) -> str:
    return "once" if n == 1 else f"{n:.3g} times"


def _classes(table: pa.Table | None) -> Iterator[tuple[tuple[str, str, str], pa.Table]]:
    """The parts of a table by run, stack and class, in the order of their first rows."""
    if table is None or not table.num_rows:
        return
    columns = ("run", "stack", "group")
    codes = [np.asarray(table[c].combine_chunks().dictionary_encode().indices) for c in columns]
    keys = np.stack(codes, axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for n in np.argsort(first, kind="stable"):
        at = int(first[n])
        yield tuple(table[c][at].as_py() for c in columns), table.filter(pa.array(which == n))  # type: ignore[misc]


def _column(table: pa.Table, name: str) -> np.ndarray:
    return table[name].drop_null().to_numpy()


def _quantile(values: np.ndarray, q: float) -> float:
    """The smallest value that at least a share `q` does not exceed, as in the summaries of flows."""
    return float(np.quantile(values, q, method="inverted_cdf"))


def _exchanges(table: pa.Table) -> dict[str, Any]:
    times = _column(table, "response_time")
    return {
        "responses": int(times.size),
        "response_mean": float(times.mean()),
        "response_median": _quantile(times, 0.5),
        "response_p90": _quantile(times, 0.9),
        "response_p99": _quantile(times, 0.99),
        "response_max": float(times.max()),
    }


def _rounds(table: pa.Table) -> dict[str, Any]:
    times, sizes = _column(table, "completion_time"), _column(table, "bytes")
    return {
        "rounds": int(times.size),
        "completion_mean": float(times.mean()),
        "completion_median": _quantile(times, 0.5),
        "completion_p99": _quantile(times, 0.99),
        "completion_max": float(times.max()),
        # Pauses between rounds do not count.
        "goodput": float(sizes.sum() * 8 / times.sum()) if times.sum() else None,
    }


def _videos(table: pa.Table) -> dict[str, Any]:
    stalled, played = _column(table, "stalled").sum(), _column(table, "played").sum()
    delays, bitrates = _column(table, "startup_delay"), _column(table, "bitrate")
    return {
        "videos": table.num_rows,
        "startup_delay": float(delays.mean()) if delays.size else None,
        "stalls": float(_column(table, "stalls").mean()),
        "stalled": float(_column(table, "stalled").mean()),
        "rebuffering": float(stalled / (stalled + played)) if stalled + played else None,
        "bitrate": float(bitrates.mean()) if bitrates.size else None,
    }
