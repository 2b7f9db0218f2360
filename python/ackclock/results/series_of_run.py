"""Which runs, flows and links figures over time are about."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ackclock._core import InputError
from ackclock.quantities import seconds
from ackclock.results.over_time import BINS, FlowsOverTime, LinkOverTime, nice
from ackclock.results.recorded import Recorded

MOST_PANELS = 6
"""Runs that one figure shows."""


class SeriesOfRun:
    """Looks up what a figure draws in the tables over time of a run."""

    def __init__(self, run: Recorded) -> None:
        self._run = run

    def _about(self, subtitle: str | None, width: float | None) -> str:
        if subtitle is not None:
            return subtitle
        about = self._run.about
        words = [str(about.get("title") or about.get("scenario", ""))]
        labels = self._run.series_labels
        if len(labels) > MOST_PANELS:
            words.append(f"{MOST_PANELS} of {len(labels)} runs")
        if width is not None:
            words.append(f"bins of {seconds(width)}")
        return "; ".join(filter(None, words))

    def _labels(self, run: str | None) -> list[str]:
        """The runs to draw: the one asked for, or the first few."""
        labels = self._run.series_labels
        if not labels:
            raise InputError(
                'the run holds no tables over time: give the scenario `series = "100ms"`, or `ackclock run` '
                "a `--plot`"
            )
        if run is None:
            return labels[:MOST_PANELS]
        if run not in labels:
            raise InputError(f"`{run}` is not a run; expected one of {', '.join(labels[:20])}")
        return [run]

    def _width(self, width: float | None, trips: int = 0) -> float:
        """The width of bins (s), the same for all runs of a figure: by default a hundredth of the longest
        run, but at least so many round trips of the paths without queues, since a window leaves in a burst.
        """
        table = self._run.traces.get("link_series")
        if width is not None or table is None or not table.num_rows:
            return 1.0 if width is None else width
        least = trips * (pc.max(self._run.flows["path_rtt"]).as_py() or 0.0) if trips else 0.0
        last = float(pc.max(table["time"]).as_py())
        return nice(max(last / BINS, min(least, last)))

    def _flows(self, run: str | None) -> dict[str, FlowsOverTime]:
        found = {label: self._run.over_time(label) for label in self._labels(run)}
        found = {label: flows for label, flows in found.items() if flows.series.num_rows}
        if not found:
            raise InputError("no flow was active in the run")
        return found

    def _bottleneck(self, label: str) -> str:
        return next(
            (str(r["bottleneck"]) for r in self._run.stacks if r["run"] == label and r["bottleneck"]), ""
        )

    def _row(self, label: str, name: str) -> dict[str, Any]:
        links = self._run.links
        found = links.filter(
            pc.and_(pc.equal(links["run"], label), pc.equal(links["name"], name))
        ).to_pylist()
        if not found:
            known = links.filter(pc.equal(links["run"], label))["name"].to_pylist()
            raise InputError(f"`{name}` is not a link; expected one of {', '.join(known[:20])}")
        return dict(found[0])

    def _link(self, label: str, name: str) -> LinkOverTime:
        self._row(label, name)
        table: pa.Table = self._run.traces["link_series"]
        return LinkOverTime(
            table.filter(pc.and_(pc.equal(table["run"], label), pc.equal(table["name"], name)))
        )
