"""What a column of the flows is, for a figure of its values: which columns have values to draw, their unit,
and how one is written.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.quantities import seconds
from ackclock.results.quantity import RESPONSE_TIME, Quantity

SCALES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}
"""Units for large values, the largest first."""
NOTHING = {None: "-", "": "none"}
"""What the legend calls flows without a value of the column that makes the lines; sources of datagrams have
no stack.
"""
MOST_LINES = 28
"""The most lines that a column other than `stack` may make: the number of distinct looks."""


def numbers(table: pa.Table) -> list[str]:
    """The columns that hold a number for each row."""
    return [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]


def values(table: pa.Table, column: str, by: str) -> dict[str, np.ndarray]:
    """The values of `column` that are known, for each value of the column `by`."""
    _check(table, column, "numbers to draw", numbers(table))
    groups = [f.name for f in table.schema if not pa.types.is_nested(f.type)]
    _check(table, by, "values to draw a line for each of", groups)
    labels = table[by].unique().to_pylist()
    if len(labels) > MOST_LINES and by != "stack":
        raise InputError(
            f"`by` is `{by}`, which has {len(labels)} values, a line each; expected at most "
            f"{MOST_LINES}, as of `stack` or `group`"
        )
    found = {}
    for label in labels:
        mine = pa.compute.is_null(table[by]) if label is None else pa.compute.equal(table[by], label)
        found[NOTHING.get(label, str(label))] = (
            table.filter(mine)[column].drop_null().cast(pa.float64()).to_numpy()
        )
    if not any(v.size for v in found.values()):
        some = [name for name in numbers(table) if table[name].null_count < table.num_rows]
        raise InputError(
            f"no flow that counts has a `{column}`; {f'they have {_listed(some)}' if some else 'none counts'}"
        )
    return found


def quantity(table: pa.Table, column: str, series: dict[str, np.ndarray]) -> tuple[Quantity, float]:
    """What those values are, and the unit of the axis in the column's own."""
    if column == "response_time":
        return RESPONSE_TIME, 1.0
    words = column.replace("_", " ")
    unit = (table.schema.field(column).metadata or {}).get(b"unit", b"").decode()
    scale, unit = scaled(unit, max(float(np.max(v, initial=0.0)) for v in series.values()))
    text: Callable[[float], str] = seconds if unit == "s" else lambda x: f"{x:.4g} {unit}".rstrip()
    label = f"{words} ({unit})" if unit else words
    return Quantity(label, "share of flows at this value or above", f"no {words}", text), scale


def scaled(unit: str, top: float) -> tuple[float, str]:
    """The unit, and its size, in which to show values of the unit `unit` up to `top`."""
    return next((s for s in SCALES.get(unit, ()) if top >= s[0]), (1.0, unit))


def _check(table: pa.Table, name: str, what: str, known: list[str]) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean `{near[0]}`?)" if near else ""
    if name in table.column_names:
        raise InputError(
            f"`{name}` is a column of the flows without {what}; expected one of {_listed(known)}"
        )
    raise InputError(f"`{name}` is not a column of the flows{hint}; expected one of {_listed(known)}")


def _listed(names: list[str]) -> str:
    return ", ".join(names)
