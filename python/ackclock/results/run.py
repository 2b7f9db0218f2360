from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from ackclock import _core, files
from ackclock._core import InputError
from ackclock.results import columns, folder, transfer, workloads
from ackclock.results.spill import Spill
from ackclock.results.summary import counted
from ackclock.results.trace import Trace

SHOWN = 6
"""Flows that a sequence plot shows by default: there are as many colours."""
TRACES = ("samples", "episodes", "segments", "state")
"""The tables of a trace."""
MORE = (*TRACES, *workloads.TABLES)
"""The tables that not every run has."""


class Run:
    """A finished run: its resolved scenario, its tables and its numbers.

    flows, links: Arrow tables, whose columns carry their unit and meaning in the fields' metadata. scenario:
    resolved, TOML. stacks: a row of numbers for each stack, which `docs/usage.md` explains. about: title,
    seeds, version, host and time taken. traces: the tables `samples`, `episodes`, `segments` and `state` by
    name, where the scenario's `trace` asked for them, and `exchanges`, `rounds` and `playback` where
    workloads fill them.
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
        """What `summary.json` holds: `about`, and the numbers of each stack."""
        classes = workloads.numbers(self.traces)
        return {**self.about, **({"classes": classes} if classes else {}), "stacks": self.stacks}

    @property
    def window(self) -> str:
        """A sentence on the time that the numbers cover; empty if they cover the whole run."""
        keys = tomllib.loads(self.scenario)
        if after := keys.get("measure_after"):
            return (
                f"Numbers of a flow count from the end of its loss episode {after} on; those of links, "
                "which have no such moment, are missing."
            )
        begin = self.about.get("warmup", 0.0)
        if not begin:
            return ""
        drain = keys.get("drain", "0s")
        followed = (
            ""
            if drain == "0s"
            else f"; flows that began then are followed to their end, for at most {drain} more"
        )
        return f"Every number counts from {begin:g}s on, to {keys['duration']}{followed}."

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
        usual = (
            {"response_time": lambda: self.plot.ccdf("response_time", by="stack")}
            if any(row["mean"] for row in self.stacks)
            else {}
        )
        return folder.write(Path(directory), self._fill, {**usual, **(figures or {})})

    def _fill(self, directory: Path) -> None:
        (directory / "scenario.toml").write_text(self.scenario, encoding="utf-8")
        for name, table in self.tables().items():
            folder.write_table(table, directory / f"{name}.parquet")
        folder.write_json(self.summary, directory / folder.SUMMARY)

    def __repr__(self) -> str:
        return f"<ackclock run: {self.flows.num_rows} flows, {len(self.stacks)} stacks>"


class Plots:
    """The figures of a run. Each is a matplotlib figure, shown as it is in a notebook."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def ccdf(
        self,
        column: str = "response_time",
        by: str = "stack",
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """The share of flows whose `column` is at least x, one line for each value of the column `by`.

        column: any that holds numbers, in its own unit. The axes are logarithmic; that of x is linear where
        the values lie close together.
        """
        from ackclock.plot import ccdf

        flows = counted(self._run.flows, self._run.about.get("warmup", 0.0))
        series = columns.values(flows, column, by)
        what, scale = columns.quantity(flows, column, series)
        words = column.replace("_", " ")
        title = title or f"{words[:1].upper()}{words[1:]} of the flows"
        subtitle = subtitle or str(self._run.about.get("title", ""))
        return ccdf(
            {name: v / scale for name, v in series.items()},
            title=title,
            subtitle=subtitle,
            quantity=what,
            by=by,
        )

    def sequence(
        self,
        run: str | None = None,
        flows: Sequence[int] | None = None,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        available: float | None = None,
        until: float | None = None,
        details: bool = False,
    ) -> Any:
        """When each segment was sent against its sequence number (J-U1), for a run traced with `packets`.

        run: its label, where there are several. flows: their numbers; by default the first six that sent
        data. available: rate for data (B/s) to compare with. until: the last moment shown (s). details: of
        one flow, as captures are drawn: segments with their length, and retransmissions by their kind.
        """
        from ackclock import plot
        from ackclock.plot import sequence

        found = self._transfers(run)
        wanted = list(flows) if flows is not None else list(found)[:SHOWN]
        unknown = [n for n in wanted if n not in found]
        if unknown:
            raise InputError(
                f"flow {unknown[0]} sent no data; those that did are {', '.join(map(str, list(found)[:20]))}"
            )
        if details:
            n = self._one(wanted, found)
            return plot.details(
                self.trace(n, run),
                until=until,
                title=title or f"Flow {n}: segments over time",
                subtitle=self._words(run, subtitle),
            )
        left = f", {len(wanted)} of {len(found)} flows" if len(wanted) < len(found) else ""
        words = str(self._run.about.get("title", "")) if subtitle is None else subtitle
        named = {f"flow {n}": found[n] for n in wanted}
        return sequence(
            named,
            title=title or f"Segments sent{f', {run}' if run else ''}{left}",
            subtitle=words,
            available=available,
            until=until,
        )

    def rates(
        self,
        width: float = 5.0,
        *,
        acked: bool = False,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """Payload that all flows of each run sent, or had acknowledged, per bin of `width` seconds (J-U2),
        for a run traced with `packets`.
        """
        from ackclock.plot import rates

        labels = pa.compute.unique(transfer.segments(self._run.traces)["run"]).to_pylist()
        series = {}
        for label in labels:
            found = self._transfers(label).values()
            until = max(
                (float(np.max(t.acked_at if acked else t.time, initial=0.0)) for t in found), default=0.0
            )
            series[label] = transfer.total_rate(found, width, until, acked=acked) / 1024
        what = "acknowledged" if acked else "sent"
        words = str(self._run.about.get("title", "")) if subtitle is None else subtitle
        return rates(
            series,
            width,
            title=title or f"Payload {what}, bins of {width:g} s",
            subtitle=words,
            label=f"payload {what} (KB/s)",
        )

    def rtt(
        self,
        flow: int | None = None,
        run: str | None = None,
        timers: Sequence[str] | None = None,
        *,
        until: float | None = None,
    ) -> Any:
        """Samples of the round-trip time of a flow, and the timeouts that `timers` would have set, for a run
        traced with `packets` and `samples`.
        """
        from ackclock import plot
        from ackclock.results.capture_plots import TIMERS, replayed

        n = self._one([] if flow is None else [flow], self._transfers(run))
        t = self.trace(n, run)
        table = self._samples(run)
        if table is None:
            raise InputError(
                'the run holds no table `samples`: give the scenario `trace = ["packets", "samples"]`'
            )
        time, rtt, rto = replayed(table, self._connections(run)[n], timers or TIMERS, 0.0, int(t.size.max()))
        title = f"Flow {n}: round-trip times and timeouts"
        return plot.round_trips(
            time,
            rtt,
            rto,
            title=title,
            subtitle=self._words(run, None),
            until=t.end if until is None else until,
        )

    def flight(self, flow: int | None = None, run: str | None = None, *, until: float | None = None) -> Any:
        """Bytes of a flow in flight, for a run traced with `packets`; with its congestion window where
        `samples` were traced.
        """
        from ackclock import plot

        n = self._one([] if flow is None else [flow], self._transfers(run))
        return plot.flight(
            self.trace(n, run),
            title=f"Flow {n}: bytes in flight",
            subtitle=self._words(run, None),
            until=until,
        )

    def trace(self, flow: int, run: str | None = None) -> Trace:
        """The trace that figures of one flow draw: the direction that carries more payload."""
        connections = self._connections(run)
        if flow not in connections:
            raise InputError(
                f"flow {flow} sent no data; those that did are {', '.join(map(str, list(connections)[:20]))}"
            )
        return Trace.of_segments(
            _of_run(transfer.segments(self._run.traces), run), connections[flow], self._samples(run)
        )

    def _samples(self, run: str | None) -> pa.Table | None:
        table = self._run.traces.get("samples")
        return None if table is None else _of_run(table, run)

    def _words(self, run: str | None, subtitle: str | None) -> str:
        return (
            ", ".join(filter(None, (str(self._run.about.get("title", "")), run)))
            if subtitle is None
            else subtitle
        )

    @staticmethod
    def _one(wanted: list[int], found: Mapping[int, Any]) -> int:
        wanted = wanted or list(found)
        if len(wanted) != 1:
            raise InputError(
                f"this figure shows one flow of {len(wanted)}: give its number; some are "
                f"{', '.join(map(str, wanted[:20]))}"
            )
        return wanted[0]

    def _connections(self, run: str | None) -> dict[int, int]:
        """The connection of each flow whose end sent more."""
        return _ends(transfer.of_run(self._run.traces, run))

    def _transfers(self, run: str | None) -> dict[int, transfer.Transfer]:
        """Transfers by number of the flow; that of the end that sent more where both sent data."""
        every = transfer.of_run(self._run.traces, run)
        return {flow: every[connection] for flow, connection in _ends(every).items()}


def _ends(every: Mapping[int, transfer.Transfer]) -> dict[int, int]:
    """The connection of each flow whose end sent more: 2n is the client of flow n, 2n + 1 its server."""
    best: dict[int, int] = {}
    for connection, t in every.items():
        flow = connection // 2
        if flow not in best or t.size.sum() > every[best[flow]].size.sum():
            best[flow] = connection
    return best


def _of_run(table: pa.Table, run: str | None) -> pa.Table:
    return table if run is None else table.filter(pa.compute.equal(table["run"], run))


def load(directory: str | Path) -> Run:
    """Reads a run folder."""
    directory = Path(directory)
    if not (directory / folder.SUMMARY).is_file():
        raise InputError(f"`{directory}` is not a run folder: it holds no {folder.SUMMARY}")
    about = json.loads(files.read(directory / folder.SUMMARY, files.SUMMARY, "give a run folder"))
    stacks = about.pop("stacks")
    about.pop("classes", None)
    flows, links = (folder.read_table(directory / f"{name}.parquet") for name in ("flows", "links"))
    traces = {
        name: folder.read_table(directory / f"{name}.parquet")
        for name in MORE
        if (directory / f"{name}.parquet").exists()
    }
    scenario = files.text(directory / "scenario.toml", files.EDGES, "give a run folder")
    return Run(scenario, flows, links, stacks, about, traces)


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
    for i, name in enumerate(TRACES, start=1):
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


def host() -> dict[str, Any]:
    """The machine, without anything that names it or its user."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "ackclock": _core.version,
    }
