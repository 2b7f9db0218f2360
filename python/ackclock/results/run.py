from __future__ import annotations

import functools
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from ackclock import _core, files
from ackclock._core import InputError
from ackclock.quantities import seconds
from ackclock.results import comparison, endless, folder, workloads
from ackclock.results.over_time import FlowsOverTime
from ackclock.results.plots import Plots
from ackclock.results.spill import Spill

EVENTS = ("samples", "episodes", "segments", "state")
"""The tables of a trace."""
SERIES = ("flow_series", "link_series")
"""The tables over time."""
TRACES = (*EVENTS, *SERIES)
"""The tables that a run holds only where its scenario asks for them."""
MORE = (*TRACES, *workloads.TABLES)
"""The tables that not every run has."""


class Run:
    """A finished run: its resolved scenario, its tables and its numbers.

    flows, links: Arrow tables, whose columns carry their unit and meaning in the fields' metadata. scenario:
    resolved, TOML. stacks: a row of numbers for each stack, which `docs/usage.md` explains. about: title,
    seeds, version, host and time taken. traces: the tables `samples`, `episodes`, `segments` and `state` by
    name, where the scenario's `trace` asked for them, `flow_series` and `link_series`, where it has `series`,
    and `exchanges`, `rounds` and `playback` where workloads fill them.
    """

    def __init__(
        self,
        scenario: str,
        flows: pa.Table,
        links: pa.Table,
        stacks: list[dict[str, Any]],
        about: dict[str, Any],
        traces: dict[str, pa.Table] | None = None,
    ) -> None:
        self.scenario = scenario
        self.flows = flows
        self.links = links
        self.stacks = stacks
        self.about = about
        self.traces = traces or {}

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds: `about`, the answer, and the numbers of each stack."""
        classes = workloads.numbers(self.traces)
        return {
            **self.about,
            "answer": self.answer,
            **({"classes": classes} if classes else {}),
            "stacks": endless.described(self),
        }

    @property
    def answer(self) -> list[str]:
        """What the run has shown, in sentences: which stack was fastest or delivered most, what was dropped,
        and how many timeouts fired.
        """
        return comparison.answer(self)

    @functools.cached_property
    def keys(self) -> dict[str, Any]:
        """The resolved scenario."""
        return tomllib.loads(self.scenario)

    @property
    def window(self) -> str:
        """A sentence on the time that the numbers cover."""
        keys = self.keys
        if after := keys.get("measure_after"):
            return (
                f"Numbers of a flow count from the end of its loss episode {after} on; those of links, "
                "which have no such moment, are missing."
            )
        begin, drain, end = (
            _core.quantity("time", keys.get(k, "0s")) for k in ("warmup", "drain", "duration")
        )
        begin = self.about.get("warmup", begin)
        followed = f" are followed to their end, for at most {seconds(drain)} more" if drain else ""
        if not begin:
            flows = followed and f"; flows{followed}"
            return f"Every number covers the whole run, {seconds(end)}{flows}."
        flows = followed and f"; flows that began then{followed}"
        return f"Every number counts from {seconds(begin)} on, to {seconds(end)}{flows}."

    @property
    def series_labels(self) -> list[str]:
        """The runs that have tables over time, by label."""
        table = self.traces.get("link_series")
        return [] if table is None else table["run"].unique().to_pylist()

    def over_time(self, run: str | None = None) -> FlowsOverTime:
        """The flows of the run of that label, or of the only one, over time: rates, shares, fairness,
        convergence. For a scenario with `series`.
        """
        labels = self.series_labels
        if run is None and len(labels) > 1:
            raise InputError(f"there are several runs: give one of {', '.join(labels[:20])}")
        if not labels or (run is not None and run not in labels):
            known = (
                f"expected one of {', '.join(labels[:20])}"
                if labels
                else 'give the scenario `series = "100ms"`'
            )
            raise InputError(f"the run holds no tables over time{f' of `{run}`' if run else ''}; {known}")
        label = run or labels[0]
        return FlowsOverTime(
            *(t.filter(pc.equal(t["run"], label)) for t in (self.traces["flow_series"], self.flows))
        )

    def tables(self) -> dict[str, pa.Table]:
        """Every table of it, by name."""
        return {"flows": self.flows, "links": self.links, **self.traces}

    @property
    def plot(self) -> Plots:
        """The figures of this run."""
        return Plots(self)

    def save(self, directory: str | Path, figures: Mapping[str, Any] | None = None) -> Path:
        """Writes the run folder, with further figures by name, and returns its path. An earlier run there is
        replaced; other files are not.

        figures: drawn, or functions that draw them, which are called once all else is in place.
        """
        usual: dict[str, Any] = {}
        if any(row["mean"] for row in self.stacks):
            usual["response_time"] = lambda: self.plot.ccdf("response_time", by="stack")
        if "flow_series" in self.traces and endless.rows(self):
            usual["throughput"] = self.plot.throughput
        return folder.write(Path(directory), self.fill, {**usual, **(figures or {})})

    def fill(self, directory: Path) -> None:
        """Writes its files into an empty folder."""
        (directory / "scenario.toml").write_text(self.scenario, encoding="utf-8")
        for name, table in self.tables().items():
            folder.write_table(table, directory / f"{name}.parquet")
        folder.write_json(self.summary, directory / folder.SUMMARY)

    def __repr__(self) -> str:
        return f"<ackclock run: {self.flows.num_rows} flows, {len(self.stacks)} stacks>"


def load(directory: str | Path) -> Run:
    """Reads a run folder."""
    directory = Path(directory)
    if not (directory / folder.SUMMARY).is_file():
        raise InputError(f"`{directory}` is not a run folder: it holds no {folder.SUMMARY}")
    about = json.loads(files.read(directory / folder.SUMMARY, files.SUMMARY, "give a run folder"))
    stacks = numbers(about)
    flows, links = (folder.read_table(directory / f"{name}.parquet") for name in ("flows", "links"))
    traces = {
        name: folder.read_table(directory / f"{name}.parquet")
        for name in MORE
        if (directory / f"{name}.parquet").exists()
    }
    scenario = files.text(directory / "scenario.toml", files.EDGES, "give a run folder")
    return Run(scenario, flows, links, stacks, about, traces)


def numbers(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Takes the rows of numbers out of a summary, and leaves what a run has in `about`."""
    summary.pop("classes", None)
    summary.pop("answer", None)
    # The answer and the numbers of endless flows are derived from the tables.
    return [{k: v for k, v in row.items() if k != "endless"} for row in summary.pop("stacks")]


def traced(
    traces: list[tuple[str, Any, Any, Any, Any]],
    handed_on: Sequence[tuple[int, int, int, int]] = (),
    spill: Spill | None = None,
) -> dict[str, pa.Table]:
    """The tables of the traces of several runs, one after the other, with the run's label in front of each
    row.

    handed_on: those that the engine gave to `spill`.
    """
    joined = {}
    for i, name in enumerate(EVENTS, start=1):
        tables = [pa.table(t[i]) for t in traces]
        labelled = [
            t.add_column(0, "run", pa.array([run[0]] * t.num_rows, pa.string()))
            for run, t in zip(traces, tables, strict=True)
        ]
        for place, *which in handed_on:
            found = spill.table(name, *which) if spill else None
            labelled[place] = labelled[place] if found is None else found
        if any(t.num_rows for t in labelled):
            joined[name] = pa.concat_tables(labelled)
    return joined


def of_result(result: _core.Result, about: dict[str, Any], spill: Spill | None = None) -> Run:
    """The run whose results the core has returned, with what is known about it. spill: what holds the traces
    that did not fit in memory.
    """
    return Run(
        result.scenario,
        pa.table(result.flows),
        pa.table(result.links),
        json.loads(result.summaries),
        about,
        {
            **traced(result.traces, result.handed_on, spill),
            **over_time(result),
            **workloads.filled({name: pa.table(getattr(result, name)) for name in workloads.TABLES}),
        },
    )


def over_time(result: _core.Result) -> dict[str, pa.Table]:
    """The tables over time of a finished simulation, if its scenario asks for them."""
    found = {name: getattr(result, name) for name in SERIES}
    return {name: pa.table(given) for name, given in found.items() if given is not None}


def host() -> dict[str, Any]:
    """The machine, without anything that names it or its user."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "ackclock": _core.version,
    }
