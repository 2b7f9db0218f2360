"""The result of a sweep: a table of its runs, and each table of the runs combined."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.results import Run
from ackclock.results.run import MORE, TRACES
from ackclock.sweep.axis import Axis, shown
from ackclock.sweep.runs import Made
from ackclock.sweep.work import Failure, Job

UNITS = {"mean": "s", "median": "s", "p90": "s", "p99": "s", "max": "s", "goodput": "bit/s", "mean_size": "B"}
WHOLE = {
    "flows": "flows begun after the warm-up, and those without a limit to their size",
    "finished": "those that finished",
    "failed": "those that failed",
    "unfinished": "those under way at the end",
    "timeouts": "expiries of the data sender's retransmission timer",
    "spurious_timeouts": "those whose original segment had arrived",
    "segments": "segments with payload sent, retransmissions included",
    "retransmissions": "segments retransmitted",
    "spurious_retransmissions": "those whose original had arrived or was still to arrive",
}
REAL = {
    "mean": "response time of the flows that finished, mean",
    "median": "the same, median",
    "p90": "the same, 90th percentile",
    "p99": "the same, 99th percentile",
    "max": "the same, longest",
    "loss": "share of the packets offered to the congested link that it dropped",
    "goodput": "payload put on that link, repeated bytes not counted",
    "utilisation": "share of the time in which that link was sending",
    "mean_size": "mean size of the flows",
    "load": "payload over the rate of the bottleneck, for workloads with a load",
}
MEANINGS = {**WHOLE, **REAL}
"""The numbers of a run's summary."""
NUMBERS = tuple(MEANINGS)


@dataclass(frozen=True)
class Case:
    """One run that is wanted, or one combination of values of which no scenario can be made."""

    values: dict[str, Any]
    seed: int | None
    job: Job | None
    failure: Failure | None = None

    def named(self, axes: Iterable[Axis]) -> str:
        """Its values, in words."""
        seed = [] if self.seed is None else [f"seed {self.seed}"]
        return ", ".join([f"{a.name} = {shown(self.values[a.name], a.unit)}" for a in axes] + seed)


class SweepResult:
    """The runs of a sweep.

    In every table the axes' values and the seed come first, and rows are in the order of the plan, whichever
    worker made them.
    """

    def __init__(self, axes: Sequence[Axis], cases: Sequence[Case], made: Made) -> None:
        self.axes = list(axes)
        self._made = made
        self._cases = [c for c in cases if c.job and c.job.key in made]
        self.failures = [
            (c, f) for c in cases if (f := c.failure or (c.job and made.failures.get(c.job.key)))
        ]
        """What failed, and why."""
        self.found, self.fresh, self.tasks = made.found, made.fresh, made.tasks
        self.wanted = len(cases)

    def __len__(self) -> int:
        return len(self._cases)

    def runs(self) -> Iterable[tuple[dict[str, Any], Run]]:
        """Each run, with the values of its axes and its `seed`."""
        for case in self._cases:
            assert case.job, "only cases with a job have a run"
            yield {**case.values, "seed": case.seed}, self._made.run(case.job.key)

    @functools.cached_property
    def table(self) -> pa.Table:
        """A row for each run and stack: the values of the axes, the seed, the stack, and the numbers of a
        run's summary.
        """
        rows: list[tuple[Case, dict[str, Any]]] = []
        for case in self._cases:
            assert case.job, "only cases with a job have a run"
            rows += [(case, row) for row in self._made.summary(case.job.key)["stacks"]]
        fields = [*self._fields(), pa.field("run", pa.string()), pa.field("stack", pa.string())]
        fields += [pa.field(n, pa.uint64()) for n in WHOLE] + [
            pa.field(n, pa.float64(), metadata=_unit(UNITS.get(n, ""))) for n in REAL
        ]
        columns = [
            *self._columns([case for case, _ in rows]),
            *([row[n] for _, row in rows] for n in ("run", "stack", *NUMBERS)),
        ]
        arrays = [
            pa.array([_plain(v) for v in column], field.type)
            for column, field in zip(columns, fields, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    @functools.cached_property
    def flows(self) -> pa.Table:
        """The flows of all runs."""
        return self._joined(lambda run: run.flows)

    @functools.cached_property
    def links(self) -> pa.Table:
        """The links of all runs."""
        return self._joined(lambda run: run.links)

    @functools.cached_property
    def samples(self) -> pa.Table:
        """The samples of all runs, where the scenario's `trace` asked for them."""
        return self.traced("samples")

    @functools.cached_property
    def episodes(self) -> pa.Table:
        """The episodes of all runs, where the scenario's `trace` asked for them."""
        return self.traced("episodes")

    @functools.cached_property
    def segments(self) -> pa.Table:
        """The segments of all runs, where the scenario's `trace` asked for them."""
        return self.traced("segments")

    @functools.cached_property
    def exchanges(self) -> pa.Table:
        """The requests and responses of all runs, of workloads that make many on a connection."""
        return self.traced("exchanges")

    @functools.cached_property
    def rounds(self) -> pa.Table:
        """The rounds of all runs, of workloads of kind `fan-in`."""
        return self.traced("rounds")

    @functools.cached_property
    def playback(self) -> pa.Table:
        """The videos of all runs."""
        return self.traced("playback")

    def traced(self, name: str) -> pa.Table:
        """A table that not every run has."""
        if name not in self.traces():
            if name not in TRACES:
                raise InputError(f"the runs hold no table `{name}`: no workload of theirs fills it")
            groups = {"segments": "packets"}
            raise InputError(
                f'the runs hold no table `{name}`: give the scenario `trace = ["{groups.get(name, name)}"]`'
            )
        return self._joined(lambda run: run.traces.get(name))

    @functools.cache  # noqa: B019
    def traces(self) -> tuple[str, ...]:
        """The names of the tables that there are beside flows and links."""
        found = {name for _, run in self.runs() for name in run.traces}
        return tuple(name for name in MORE if name in found)

    def _joined(self, of: Callable[[Run], pa.Table | None]) -> pa.Table:
        tables = []
        for case, (_, run) in zip(self._cases, self.runs(), strict=True):
            table = of(run)
            if table is None:
                continue
            front = [
                (field, pa.repeat(pa.scalar(column[0], field.type), table.num_rows))
                for field, column in zip(self._fields(), self._columns([case]), strict=True)
            ]
            schema = pa.schema([field for field, _ in front] + list(table.schema))
            tables.append(pa.Table.from_arrays([array for _, array in front] + table.columns, schema=schema))
        if not tables:
            raise InputError("the sweep has no runs that came to an end, and so no tables")
        # What a simulation always has, a kernel may not tell.
        return pa.concat_tables(tables, promote_options="default").combine_chunks()

    def _fields(self) -> list[pa.Field]:
        found = []
        for axis in self.axes:
            values = [v.shown for v in axis.values]
            kind = next(t for k, t in KINDS.items() if all(type(v) is k for v in values) or k is str)
            found.append(pa.field(axis.name, kind, metadata=_unit(axis.unit)))
        return [*found, pa.field("seed", pa.uint64())]

    def _columns(self, cases: Sequence[Case]) -> list[list[Any]]:
        return [[case.values[axis.name] for case in cases] for axis in self.axes] + [
            [case.seed for case in cases]
        ]

    def over_seeds(self, numbers: Sequence[str] = NUMBERS) -> list[dict[str, Any]]:
        """A row for each combination of values and stack: for each of the numbers the mean over the seeds,
        and how far they spread.
        """
        names = [a.name for a in self.axes]
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self.table.to_pylist():
            # With several seeds a scenario labels its runs with them; one seed is one run here, whose label
            # is that of the stacks that share it.
            groups.setdefault((*(row[n] for n in names), row["run"], row["stack"]), []).append(row)
        rows_out = []
        for found, rows in groups.items():
            rows_out.append({**dict(zip((*names, "run", "stack"), found, strict=True)), "runs": len(rows)})
            rows_out[-1].update({n: spread([row[n] for row in rows]) for n in numbers})
        return rows_out


KINDS = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def spread(values: Iterable[float | None]) -> dict[str, float | None]:
    """Mean, standard deviation (of a sample; none of a single value), smallest and largest."""
    known = [float(v) for v in values if v is not None]
    if not known:
        return {"mean": None, "sd": None, "min": None, "max": None}
    mean = math.fsum(known) / len(known)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in known) / (len(known) - 1)) if len(known) > 1 else None
    return {"mean": mean, "sd": sd, "min": min(known), "max": max(known)}


def _unit(unit: str) -> dict[str, str] | None:
    return {"unit": unit} if unit else None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
