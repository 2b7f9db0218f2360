"""The figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.quantities import seconds
from ackclock.results import columns, transfer
from ackclock.results.series_plots import SeriesPlots
from ackclock.results.summary import counted
from ackclock.results.trace import Trace

SHOWN = 6
"""Flows that a sequence plot shows by default: there are as many colours."""


class Plots(SeriesPlots):
    """The figures of a run. Each is a matplotlib figure, shown as it is in a notebook."""

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
        """When each segment was sent against its sequence number, for a run traced with `packets`.

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
                f"flow {unknown[0]} sent no data; expected one of {', '.join(map(str, list(found)[:20]))}"
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
        """Payload that all flows of each run sent, or had acknowledged, per bin of `width` seconds,
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
            series[label] = 8 * transfer.total_rate(found, width, until, acked=acked)
        largest = max((float(np.max(rate, initial=0.0)) for rate in series.values()), default=0.0)
        scale, unit = columns.scaled("bit/s", largest)
        what = "acknowledged" if acked else "sent"
        words = str(self._run.about.get("title", "")) if subtitle is None else subtitle
        return rates(
            {name: rate / scale for name, rate in series.items()},
            width,
            title=title or f"Payload {what}, bins of {seconds(width)}",
            subtitle=words,
            label=f"payload {what} ({unit})",
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
                f"flow {flow} sent no data; expected one of {', '.join(map(str, list(connections)[:20]))}"
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
