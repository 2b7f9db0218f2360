"""Runs of one seed each as one run of all seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ackclock.results.run import Run


def joined(scenario: str, runs: Sequence[Run]) -> Run:
    """The runs of a scenario, resolved with all of its seeds: the order of rows and the labels of runs are
    those of one run of that scenario.
    """
    parts = [numbered(run) for run in runs] if len(runs) > 1 else list(runs)
    tables = [part.tables() for part in parts]
    names = dict.fromkeys(name for found in tables for name in found)
    stacks = list(dict.fromkeys(row["run"].partition(" #")[0] for row in parts[0].stacks))
    whole = {
        name: by_stack(pa.concat_tables([t[name] for t in tables if name in t]), stacks) for name in names
    }
    rows = sorted(
        (row for part in parts for row in part.stacks),
        key=lambda row: stacks.index(row["run"].partition(" #")[0]),
    )
    return Run(scenario, whole.pop("flows"), whole.pop("links"), rows, _about(parts), whole)


def numbered(run: Run) -> Run:
    """With the seed in the labels, as a run with several seeds has them."""
    seed = run.about["seeds"][0]
    rows = [{**row, "run": f"{row['run']} #{seed}"} for row in run.stacks]
    about = run.about
    if "testbed" in about:
        bed = about["testbed"]
        labelled = [{**found, "run": f"{found['run']} #{seed}"} for found in bed["runs"]]
        about = {**about, "testbed": {**bed, "runs": labelled}}
    tables = {name: numbered_table(table, seed) for name, table in run.tables().items()}
    return Run(run.scenario, tables.pop("flows"), tables.pop("links"), rows, about, tables)


def numbered_table(table: pa.Table, seed: int) -> pa.Table:
    """With the seed in the label of the run."""
    at = table.column_names.index("run")
    labels = pc.binary_join_element_wise(table["run"].cast(pa.string()), pa.scalar(str(seed)), " #")
    return table.set_column(at, table.schema.field(at).with_type(pa.string()), labels)


def by_stack(table: pa.Table, stacks: Sequence[str]) -> pa.Table:
    """The rows stack after stack, as the runs of one scenario come, and otherwise in their order."""
    of = pc.split_pattern(table["run"].cast(pa.string()), " #", max_splits=1)
    places = pc.index_in(pc.list_element(of, 0), pa.array(list(stacks), pa.string()))
    order = pc.sort_indices(pa.table({"place": places, "row": range(table.num_rows)}), _BY_PLACE)
    return table.take(order)


_BY_PLACE = [("place", "ascending"), ("row", "ascending")]


def _about(parts: Sequence[Run]) -> dict[str, Any]:
    first = parts[0].about
    about = {
        **first,
        "seeds": [seed for part in parts for seed in part.about["seeds"]],
        "events": sum(part.about["events"] for part in parts),
        "seconds": round(sum(part.about["seconds"] for part in parts), 3),
    }
    if "testbed" in first:
        runs = [run for part in parts for run in part.about["testbed"]["runs"]]
        about["testbed"] = {**first["testbed"], "runs": runs}
    return about
