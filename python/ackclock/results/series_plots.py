"""The figures of a run over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from ackclock._core import InputError
from ackclock.quantities import rate, seconds
from ackclock.results.columns import scaled
from ackclock.results.over_time import DELTA, FlowsOverTime, Lines
from ackclock.results.series_of_run import SeriesOfRun

if TYPE_CHECKING:
    from ackclock.plot.over_time import Band

MOST_LINES = 7
"""Lines of a panel that can be distinguished; more flows become a band."""
TRIPS = 2
"""Round trips that a bin of throughput is long, at least."""
FINE = 1000
"""Points of a line that shows every change, about."""


class SeriesPlots(SeriesOfRun):
    """Figures over time of a run whose scenario has `series`. Those of flows have a panel for each run.

    by: what a line is: `flow`, or all flows of a `stack` or `group` together; chosen by the number of flows
    if not given. More than seven flows are drawn as their median and the range between their 10th and 90th
    percentile. width: of the bins of time (s), a hundredth of the run by default, and for throughputs at
    least two round trips.
    """

    def throughput(
        self,
        run: str | None = None,
        by: str | None = None,
        *,
        width: float | None = None,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """Payload that arrived for the first time, per time, beside the rate of the bottleneck."""
        found, width = self._flows(run), self._width(width, TRIPS)
        lines = {
            label: flows.throughput(by or flows.usual(MOST_LINES), width) for label, flows in found.items()
        }
        few, named = {label: self._few(flows, by) for label, flows in found.items()}, self._named(found)
        levels = {label: self._capacity(label, len(x.names), few[label]) for label, x in lines.items()}
        scale, unit = scaled(
            "bit/s",
            max(
                [float(np.nanmax(x.values, initial=0.0)) for x in lines.values()]
                + [c for level in levels.values() for c in level.values()]
            ),
        )
        panels = [
            self._panel(
                named[label]
                if few[label]
                else f"{label}: together {rate(_mean(np.nansum(x.values, axis=0)))}",
                x,
                scale,
                f"throughput ({unit})",
                mean=lambda v: rate(_mean(v)),
                levels={words: c / scale for words, c in levels[label].items()},
                few=few[label],
                run=label,
            )
            for label, x in lines.items()
        ]
        return self._drawn(panels, lines, title or "Throughput of the flows", subtitle)

    def shares(
        self,
        run: str | None = None,
        by: str | None = None,
        *,
        width: float | None = None,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """The share of each flow, stack or group in the throughput of all flows."""
        found, width = self._flows(run), self._width(width, TRIPS)
        # Where stacks compete, their shares are what one asks for.
        by = by or ("stack" if any(flows.is_mixed["stack"] > 1 for flows in found.values()) else None)
        lines = {label: flows.shares(by or flows.usual(MOST_LINES), width) for label, flows in found.items()}
        panels = []
        for label, x in lines.items():
            each = len(set(x.flows.tolist())) == 1
            fair = (
                {f"equal shares ({100 / len(x.names):.3g} %)": 100 / len(x.names)}
                if each and len(x.names) > 1
                else {}
            )
            panels.append(
                self._panel(
                    self._named(found)[label],
                    x,
                    0.01,
                    "share of the throughput (%)",
                    mean=lambda v: f"{100 * _mean(v):.3g} %",
                    levels=fair,
                    few=self._few(found[label], by),
                    # Of many flows, each share is small.
                    ylim=None if x.flows.size > MOST_LINES else (0, 102),
                    run=label,
                )
            )
        return self._drawn(panels, lines, title or "Shares of the flows", subtitle)

    def cwnd(
        self,
        run: str | None = None,
        *,
        width: float | None = None,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """Congestion windows and round-trip times of all flows. width: as fine as the table by default."""
        found = self._flows(run)
        panels, lines = [], {}
        for label, flows in found.items():
            fine = width or float(flows.series["interval"][0].as_py()) * max(
                1, round(len(pc.unique(flows.series["time"])) / FINE)
            )
            windows, times = flows.mean("cwnd", fine), flows.mean("rtt", fine)
            lines[label] = windows
            scale, unit = scaled("B", float(np.nanmax(windows.values, initial=0.0)))
            few = len(windows.names) <= MOST_LINES
            panels.append(
                [
                    self._panel(
                        self._named(found)[label],
                        windows,
                        scale,
                        f"congestion window ({unit})",
                        few=few,
                        run=label,
                    ),
                    self._panel("", times, 1e-3, "round-trip time (ms)", few=few, run=label, joined=True),
                ]
            )
        return self._drawn(panels, lines, title or "Congestion windows and round-trip times", subtitle)

    def fairness(
        self,
        run: str | None = None,
        *,
        width: float | None = None,
        delta: float = DELTA,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """Jain's index of the throughputs of all flows over time, a line for each run, and for a single run
        when its flows were fair to each other after the last one began (`FlowsOverTime.convergence`).
        """
        from ackclock.plot.over_time import Panel, over_time

        found, width = self._flows(run), self._width(width, TRIPS)
        named, marks, bins = {}, [], None
        for label, flows in found.items():
            own, index = flows.jain(width)
            bins = own if bins is None or own.size > bins.size else bins
            known = index[np.isfinite(index)]
            words = f"mean {known.mean():.3f}" if known.size else "never two flows at a time"
            times = flows.convergence(width, delta)
            if times:
                last = times[-1]
                fair = (
                    f"{delta:g}-fair after {seconds(last.after)}" if last.after else f"never {delta:g}-fair"
                )
                words = f"{words}, {fair}"
                if len(found) == 1 and last.after is not None:
                    index_then = 1 / (1 + delta**2)
                    marks.append((last.begin + last.after, f"{delta:g}-fair: index {index_then:.3f} reached"))
                if len(found) == 1 and last.begin > 0:
                    marks.append((last.begin, f"{last.flows} flows active from here on"))
            named[f"{label} ({words})"] = index
        if bins is None or not any(np.isfinite(v).any() for v in named.values()):
            raise InputError("fairness needs two flows at a time, and the run never had them in a whole bin")
        panel = Panel(
            "Jain's index of the throughputs", bins.middles, _longest(named), marks=marks, ylim=(0, 1.02)
        )
        return over_time(
            [[panel]],
            title=title or "Fairness between the flows",
            subtitle=self._about(subtitle, bins.widths[0]),
            until=float(bins.edges[-1]),
        )

    def queue(
        self,
        run: str | None = None,
        link: str | None = None,
        *,
        width: float | None = None,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Any:
        """Queueing delay at a link over time, and what it dropped and marked, by cause where there is one
        run.

        link: its name; each run's bottleneck by default.
        """
        from ackclock.plot.over_time import Panel, over_time

        width = self._width(width)
        delays, totals, causes, names = {}, {}, {}, []
        bins, largest = None, np.empty(0)
        for label in self._labels(run):
            name = link or self._bottleneck(label)
            names.append(name)
            mine = self._link(label, name)
            own, mean, largest = mine.sojourn(width)
            # A run of which every flow ended may be shorter than the others.
            bins = own if bins is None or own.size > bins.size else bins
            delays[f"{label} ({self._waits(label, name)})"] = mean * 1e3
            causes = mine.signals(width)[1]
            totals[label] = sum(causes.values(), np.zeros(own.size))
        assert bins is not None, "there is a run"
        if len(totals) == 1:
            delays["largest of the bin"] = largest * 1e3
            nothing = "" if causes else "nothing dropped or marked"
            second = Panel("packets per second", bins.middles, stacked=causes, empty=nothing)
        else:
            second = Panel(
                "dropped or marked\n(packets per second)", bins.middles, _longest(totals), legend=False
            )
        where = f"the link `{names[0]}`" if len(set(names)) == 1 else "the bottleneck of each run"
        where = f"the {names[0]}" if names[0] in ("link", "bottleneck") and len(set(names)) == 1 else where
        return over_time(
            [[Panel("queueing delay (ms)", bins.middles, _longest(delays))], [second]],
            title=title or f"Queue at {where}",
            subtitle=self._about(subtitle, bins.widths[0]),
            until=float(bins.edges[-1]),
            heights=(1.35, 0.85),
        )

    def _waits(self, label: str, name: str) -> str:
        """The sojourn times of a link in a run, in words."""
        row = self._row(label, name)
        if row["rate"] is None:
            raise InputError(f"link `{name}` is a pure delay and never has a queue; give another `link`")
        if row["sojourn_mean"] is None:
            return "no packet"
        return f"mean {seconds(row['sojourn_mean'])}, 99th percentile {seconds(row['sojourn_p99'])}"

    def _named(self, found: dict[str, FlowsOverTime]) -> dict[str, str]:
        """The names of panels: the run of each, where there are several."""
        return {label: label if len(self._run.series_labels) > 1 else "" for label in found}

    def _panel(
        self,
        name: str,
        lines: Lines,
        scale: float,
        ylabel: str,
        *,
        few: bool,
        run: str,
        mean: Any = None,
        levels: Any = None,
        ylim: tuple[float, float] | None = None,
        joined: bool = False,
    ) -> Any:
        from ackclock.plot.over_time import Panel

        x, v = lines.bins.middles, lines.values / scale
        if not few:
            return Panel(ylabel, x, bands=[_band(v)], levels=levels or {}, name=name)
        stacks = self._stacks(run, lines)
        named = {}
        for i, line in enumerate(lines.names):
            many = f", {lines.flows[i]} of {lines.flows.sum()} flows" if lines.flows[i] > 1 else ""
            value = f" ({mean(lines.values[i])})" if mean else ""
            named[f"{stacks.get(line, line)}{many}{value}"] = v[i]
        return Panel(ylabel, x, named, levels=levels or {}, name=name, ylim=ylim, joined=joined)

    def _stacks(self, label: str, lines: Lines) -> dict[str, str]:
        """The names of flows with what distinguishes them: their stack where there are several, then their
        group.
        """
        if not lines.names or not lines.names[0].startswith("flow "):
            return {}
        flows = self._run.flows.filter(pc.equal(self._run.flows["run"], label))
        rows = flows.select(["flow", "stack", "group", "protocol"]).to_pylist()
        shown = [k for k in ("stack", "group") if len({r[k] for r in rows}) > 1]
        return {
            f"flow {r['flow']}": ", ".join(
                # A group may have the name of its stack.
                [f"flow {r['flow']}", *dict.fromkeys(r[k] or r["protocol"] for k in shown)]
            )
            for r in rows
        }

    def _few(self, flows: FlowsOverTime, by: str | None) -> bool:
        """Whether each name has a line of its own."""
        chosen = by or flows.usual(MOST_LINES)
        return (flows.flows.num_rows if chosen == "flow" else flows.is_mixed[chosen]) <= MOST_LINES

    def _drawn(self, panels: Sequence[Any], lines: dict[str, Lines], title: str, subtitle: str | None) -> Any:
        from ackclock.plot.over_time import over_time

        rows = [panel if isinstance(panel, list) else [panel] for panel in panels]
        width = next(iter(lines.values())).bins.widths[0]
        return over_time(
            rows,
            title=title,
            subtitle=self._about(subtitle, width),
            until=max(float(x.bins.edges[-1]) for x in lines.values()),
        )

    def _capacity(self, label: str, names: int, few: bool) -> dict[str, float]:
        """What throughputs are compared with: the rate of the bottleneck (bit/s), or, where the lines of many
        flows are one band, an equal share of it; nothing where it has no rate.
        """
        name = self._bottleneck(label)
        row = self._row(label, name) if name else {}
        capacity = row.get("rate")
        if not capacity:
            return {}
        # A link whose rate varies has no queue by its rate.
        steady = row.get("queue_mean_delay") is not None
        if few:
            return {f"{'' if steady else 'nominal '}rate of the bottleneck ({rate(capacity)})": capacity}
        return {f"equal share of the bottleneck ({rate(capacity / names)})": capacity / names}


def _mean(values: np.ndarray) -> float:
    """The mean of the known values, 0 without any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else 0.0


def _band(values: np.ndarray) -> Band:
    """Median and range of many lines; where none has a value, nothing."""
    from ackclock.plot.over_time import Band

    known = np.isfinite(values).any(axis=0)
    low, middle, high = (np.full(values.shape[1], np.nan) for _ in range(3))
    low[known], middle[known], high[known] = np.nanpercentile(values[:, known], [10, 50, 90], axis=0)
    return Band(f"median of {values.shape[0]} flows", "10th to 90th percentile", low, middle, high)


def _longest(series: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The series, each as long as the longest."""
    longest = max(v.size for v in series.values())
    return {name: np.append(v, np.full(longest - v.size, np.nan)) for name, v in series.items()}
