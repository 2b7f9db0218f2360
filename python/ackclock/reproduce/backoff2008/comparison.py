"""The same load on several stacks, with several seeds: response times by stack and seed, and checks of their
ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.reproduce import chance
from ackclock.reproduce.item import Check, Setting
from ackclock.results import Run
from ackclock.results.confidence import half_width
from ackclock.results.joined import numbered_table
from ackclock.results.summary import response_times

KEPT = [
    *(
        "run",
        "stack",
        "group",
        "flow",
        "start",
        "size",
        "outcome",
        "reason",
        "response_time",
        "timeouts",
        "timeouts_by_round",
        "data_segments_sent",
    ),
    *("retransmitted_segments", "unneeded_retransmissions", "spurious_timeouts", "bytes_delivered"),
]
"""Columns of the flows that are kept: there are many flows."""


@dataclass
class Comparison:
    """What the runs of one or several scenarios gave, by the label of the stack, with an entry for each
    seed.
    """

    flows: pa.Table
    links: pa.Table
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The simulator's summary of each run."""

    @property
    def stacks(self) -> list[str]:
        """Labels in the scenario's order."""
        return list(dict.fromkeys(row["stack"] for row in self.rows))

    def of(
        self,
        stack: str,
        *,
        group: str | None = None,
        keep: Callable[[pa.Table], pa.ChunkedArray] | None = None,
    ) -> list[pa.Table]:
        """The flows of a stack, a table for each run; perhaps those of one workload alone, or those for which
        `keep` is true.
        """
        flows = self.flows.filter(pc.equal(self.flows["stack"], stack))
        if group is not None:
            flows = flows.filter(pc.equal(flows["group"], group))
        if keep is not None:
            flows = flows.filter(keep(flows))
        runs = pc.unique(self.flows.filter(pc.equal(self.flows["stack"], stack))["run"]).to_pylist()
        return [flows.filter(pc.equal(flows["run"], run)) for run in runs]

    def times(self, stack: str, *, group: str | None = None) -> list[np.ndarray]:
        """Response times (s) of the flows that finished, an array for each run."""
        return [response_times(flows) for flows in self.of(stack, group=group)]

    def mean(self, stack: str, *, group: str | None = None) -> np.ndarray:
        """Mean response time (s) of each run."""
        return np.array([t.mean() if t.size else np.nan for t in self.times(stack, group=group)])

    def p99(self, stack: str, *, group: str | None = None) -> np.ndarray:
        """99th percentile of the response times (s) of each run."""
        return np.array([np.percentile(t, 99) if t.size else np.nan for t in self.times(stack, group=group)])

    def number(self, stack: str, key: str) -> np.ndarray:
        """A number of the simulator's summary for each run, such as `goodput` or `loss`."""
        return np.array(
            [row[key] if row[key] is not None else np.nan for row in self.rows if row["stack"] == stack],
            float,
        )

    def notes(self) -> list[str]:
        """Each stack's numbers in a line: means over the runs, with the half width of their confidence
        intervals.
        """
        return [self._note(stack) for stack in self.stacks]

    def _note(self, stack: str) -> str:
        rows = [row for row in self.rows if row["stack"] == stack]
        finished, flows = sum(row["finished"] for row in rows), sum(row["flows"] for row in rows)
        return (
            f"{stack}: {finished} of {flows} flows finished, mean {shown(self.mean(stack))} s, P99 "
            f"{shown(self.p99(stack))} s, loss {shown(100 * self.number(stack, 'loss'))} %, goodput "
            f"{shown(self.number(stack, 'goodput') / 1e6)} Mbit/s, realised load "
            f"{shown(self.number(stack, 'load'))}"
        )

    def tables(self) -> dict[str, pa.Table]:
        """What an item keeps: a row for each run and the links; the response time of each flow."""
        return {"flows": self.flows, "links": self.links, "stacks": pa.Table.from_pylist(self.rows)}


def run(
    scenarios: ac.Scenario | Iterable[ac.Scenario],
    setting: Setting,
    label: str,
    *,
    share: tuple[float, float] = (0.0, 1.0),
) -> Comparison:
    """Runs scenarios whose stacks have different labels, each with its seeds. share: the part of the item's
    work that this is.
    """

    def report(part: float, _: str) -> None:
        setting.progress(share[0] + part * (share[1] - share[0]), label)

    todo = [scenarios] if isinstance(scenarios, ac.Scenario) else list(scenarios)
    if len(todo) == 1:
        return gather([todo[0].simulate(workers=setting.workers, progress=report)])
    return gather(setting.run_all([one for s in todo for one in seeds(s)], label, share))


def seeds(scenario: ac.Scenario) -> list[ac.Scenario]:
    """The scenario once for each of its seeds, so that a sweep can share them out."""
    return [scenario.but({"seed": seed, "repeat": 1}) for seed in scenario.resolve_tree()["seeds"]]


def gather(runs: Iterable[Run]) -> Comparison:
    """Runs with one seed or several as one comparison."""
    flows, links, rows = [], [], []
    for r in runs:
        seed = r.about["seeds"][0]
        single = len(r.about["seeds"]) == 1
        tables = [r.flows.select(KEPT), r.links]
        flows_links = [numbered_table(t, seed) if single else t for t in tables]
        flows.append(flows_links[0])
        links.append(flows_links[1])
        rows += [{**row, "run": f"{row['run']} #{seed}"} if single else row for row in r.stacks]
    return Comparison(pa.concat_tables(flows), pa.concat_tables(links), rows)


def shown(values: Any, digits: int = 4) -> str:
    """A mean over runs, with the half width of its confidence interval where there are several."""
    v = np.atleast_1d(np.asarray(values, float))
    return f"{v.mean():.{digits}g}" if v.size < 2 else f"{v.mean():.{digits}g} +/- {half_width(v):.2g}"


def ratio(
    name: str, top: Any, bottom: Any, *, most: float | None = None, least: float | None = None
) -> Check:
    """Holds when the mean over the runs of `top` over that of `bottom` lies between the bounds; from
    `chance.ENOUGH` runs on the interval decides, and it may be open.

    Runs with the same seed are pairs, for the interval.
    """
    a, b = np.atleast_1d(np.asarray(top, float)), np.atleast_1d(np.asarray(bottom, float))
    got = float(a.mean() / b.mean())
    if least is not None and most is not None:
        wanted = f"{least:g} to {most:g}"
    else:
        wanted = f"at most {most:g}" if most is not None else f"at least {least:g}"
    low, high = -np.inf if least is None else least, np.inf if most is None else most
    return chance.over_seeds(name, wanted, got, a / b if a.size == b.size else [], low, high)
