from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock._core import AckclockError, InputError, ScenarioError
from ackclock.results.run import MORE
from ackclock.scenario import Scenario
from ackclock.scenario.scenario import BEFORE_RUNS, Progress, to_run
from ackclock.sweep import worlds
from ackclock.sweep.axis import Axis
from ackclock.sweep.remote import Scheduler
from ackclock.sweep.result import NUMBERS, Case, SweepResult
from ackclock.sweep.runs import error, make
from ackclock.sweep.where import Where
from ackclock.sweep.work import SIMULATED, Failure

MOST = 10_000
"""Most runs of a sweep by default."""
MOST_POINTS = 1_000_000
"""Most combinations of values, on which a filter is evaluated."""
MOST_SEEDS = 100_000


@dataclass(frozen=True)
class Point:
    """One value for each axis."""

    values: dict[str, Any]
    """The values in the columns."""
    overrides: dict[str, str]
    """The values as text for the scenario."""
    world: str
    """Whose TCP makes its runs."""


class Sweep:
    """A scenario run at every combination of the values of some of its keys, with several seeds::

        loss = {"key": "path.link.faults.0.p", "range": "0.001..0.1", "points": 7, "spacing": "log"}
        axes = {"random loss": loss, "path.rtt": ["20ms", "80ms"]}
        sweep = ac.Sweep("scenarios/lossy-link.toml", axes=axes, seeds=5)
        found = sweep.run()
        found.table      # a row for each run and stack: axes, seed, and the numbers of a run's summary
        found.flows      # the flows of all runs, with the same columns in front
        found.links      # so are these; found.samples and others, where traced, too

    scenario: a `Scenario`, or the path of its file. axes: by name, which is the key itself, or any name if
    the axis names its key; see `ac.Axis`. Names in a tuple with values in tuples make axes that go together:
    `{("path.rtt", "duration"): [("10ms", "10s"), ("1s", 500s")]}`. seeds: how many, or a list, or a range
    such as `10..14`; by default those of the scenario. where: which combinations are wanted, an expression
    such as `round_trip < "50ms" or mss > 536`, or a function of a dictionary. fixed: values of further keys
    for all runs. most: runs that there may be.

    The key `world` is none of the scenario: it says whether the simulator makes a run, `simulated`, or this
    machine's kernel on the testbed, `kernel`. `{"world": ["simulated", "kernel"]}` is both, side by side.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        axes: Mapping[str | tuple[str, ...], Any],
        *,
        seeds: int | str | Sequence[int] | None = None,
        where: str | Callable[[Mapping[str, Any]], bool] | None = None,
        fixed: Mapping[str, Any] | None = None,
        most: int = MOST,
    ) -> None:
        fixed = fixed or {}
        self.world = worlds.world(fixed.get(worlds.KEY, SIMULATED))
        self.scenario = (scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)).but(
            {key: value for key, value in fixed.items() if key != worlds.KEY}
        )
        self.groups = [_group(name, given) for name, given in axes.items()]
        self.axes = [axis for group in self.groups for axis in group]
        self._check_names(fixed)
        self.seeds = _seeds(seeds)
        self.where = Where(where, [*(a.name for a in self.axes), "seed"]) if isinstance(where, str) else where
        self.most = most

    def _check_names(self, fixed: Mapping[str, Any]) -> None:
        taken = columns()
        for i, axis in enumerate(self.axes):
            if axis.name in taken:
                raise InputError(
                    f"axis `{axis.name}` has the name of a column of the tables; call it otherwise, "
                    f"such as `{axis.name}_set`"
                )
            if any(axis.name == other.name for other in self.axes[:i]):
                raise InputError(f"there are two axes `{axis.name}`; call one otherwise")
            for key_ in axis.keys:
                twice = next((other.name for other in self.axes[:i] if key_ in other.keys), None)
                if key_ in fixed:
                    raise InputError(
                        f"`{key_}` is set to `{fixed[key_]}` for all runs, and varied by the axis "
                        f"`{axis.name}`; leave out either"
                    )
                if twice is not None:
                    raise InputError(
                        f"the axes `{twice}` and `{axis.name}` both set `{key_}`; leave it to one of them"
                    )

    def points(self) -> Iterator[Point]:
        """Every combination of values, the last axis running fastest; filters not yet applied."""
        sizes = [len(group[0].values) for group in self.groups]
        for places in itertools.product(*map(range, sizes)):
            values, overrides = {}, {}
            for group, place in zip(self.groups, places, strict=True):
                for axis in group:
                    values[axis.name] = axis.values[place].shown
                    overrides.update(dict.fromkeys(axis.keys, axis.values[place].text))
            yield Point(values, overrides, worlds.world(overrides.pop(worlds.KEY, self.world)))

    def cases(self) -> list[Case]:
        """Every run that is wanted, in the order of the tables. A combination of which no scenario can be
        made is a case with a failure.
        """
        combinations = math.prod(len(group[0].values) for group in self.groups)
        made_of = " x ".join(f"{len(g[0].values)} of `{'`, `'.join(a.name for a in g)}`" for g in self.groups)
        if combinations > MOST_POINTS:
            raise InputError(
                f"the sweep has {combinations:,} combinations of values ({made_of}); expected "
                f"at most {MOST_POINTS:,}"
            )
        wanted = [(point, seed) for point in self.points() for seed in self._seeds_of(point)]
        if len(wanted) > self.most:
            raise InputError(
                f"the sweep has {len(wanted):,} runs ({made_of}, and seeds); expected at most "
                f"{self.most:,}, or set `most = {len(wanted)}`"
            )
        if not wanted:
            raise InputError(
                f"the sweep has no runs: its filter leaves none of {combinations:,} combinations"
            )
        cases: list[Case] = []
        for _, of_point in itertools.groupby(wanted, key=lambda w: id(w[0])):
            pairs = list(of_point)
            cases += self._of_point(pairs[0][0], [seed for _, seed in pairs])
        return cases

    def _seeds_of(self, point: Point) -> list[int | None]:
        """The seeds that the filter leaves; None means those of the scenario, which are not known yet."""
        seeds: Sequence[int | None] = self.seeds or [None]
        if self.where is None:
            return list(seeds)
        return [s for s in seeds if self.where({**point.values, "seed": s})]

    def _of_point(self, point: Point, seeds: list[int | None]) -> list[Case]:
        wanted = None if seeds == [None] else [s for s in seeds if s is not None]
        made = self.scenario.but(point.overrides)
        try:
            resolved = made.resolve_seeds(wanted)
            # A variation changes each run; in the tables it keeps the seed that the sweep has for it.
            if BEFORE_RUNS.get():
                each = to_run([replace(made, text=text, overrides=()) for text in resolved.values()])
                resolved = dict(zip(resolved, (s.resolve() for s in each), strict=True))
        except InputError as e:
            return [Case(point.values, None, None, _failure(e))]
        return [
            Case(point.values, seed, worlds.job(text, self.scenario.name, point.world))
            for seed, text in resolved.items()
        ]

    def run(
        self,
        *,
        workers: int | None = None,
        scheduler: str | Scheduler | None = None,
        processes: bool = False,
        keep: str | Path | None = None,
        progress: Progress | None = None,
        strict: bool = True,
        cases: Sequence[Case] | None = None,
    ) -> SweepResult:
        """Runs what is not yet kept, and returns the tables of everything.

        workers: runs at the same moment, one per core by default; results do not depend on it. scheduler: a
        Dask cluster in place of workers here, its address or a `Scheduler`. processes: whether workers here
        are processes; threads start faster, and the simulator needs no more. keep: a folder in which finished
        runs are kept and looked up, by the hash of resolved scenario, seed and engine. progress: called with
        the share of the runs done, and a label. strict: whether the first run that fails is an error;
        otherwise it is among the `failures` of the result. cases: the result of `cases`, if it was called
        before.
        """
        cases = self.cases() if cases is None else cases
        if strict and any(c.failure for c in cases):
            raise self.error([(c, c.failure) for c in cases if c.failure])
        made = make(
            [c.job for c in cases if c.job],
            workers=workers,
            scheduler=scheduler,
            processes=processes,
            keep=keep,
            progress=progress,
        )
        if strict and made.failures:
            raise self.error(
                [(c, made.failures[c.job.key]) for c in cases if c.job and c.job.key in made.failures]
            )
        return SweepResult(self.axes, cases, made)

    def error(self, failures: Sequence[tuple[Case, Failure]]) -> AckclockError:
        """The exception of the first failure, with the values of its run."""
        case, failure = failures[0]
        named = case.named(self.axes)
        return error(replace(failure, reason=f"{named}: {failure.sentence}", place="") if named else failure)


def _failure(e: InputError) -> Failure:
    """Why no scenario could be made of a case. The values of a case are named beside it, so a wrong override
    needs no place.
    """
    if isinstance(e, ScenarioError) and e.reason is not None:
        return Failure(e.reason, bad_input=True, place=(e.place or "") if e.key is None else "")
    return Failure(str(e), bad_input=True)


def _group(name: str | tuple[str, ...], given: Any) -> list[Axis]:
    """One axis, or several that go together."""
    if isinstance(name, str):
        return [Axis.of(name, given)]
    if isinstance(given, Sequence) and given and all(isinstance(v, Axis) for v in given):
        return list(given)
    if (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(v, Sequence) and len(v) == len(name) for v in given)
    ):
        return zipped({n: [v[i] for v in given] for i, n in enumerate(name)})
    raise InputError(
        f"the axes `{'`, `'.join(name)}` go together; give a list of tuples with {len(name)} values each"
    )


def zipped(given: Mapping[str, Any]) -> list[Axis]:
    """Axes that go together: the first values, the second values, and so on."""
    axes = [Axis.of(n, v, twice=True) for n, v in given.items()]
    if not axes:
        raise InputError("axes that go together are a table of axes, which is empty; leave it out")
    for axis in axes:
        if len(axis.values) != len(axes[0].values):
            raise InputError(
                f"the axes `{axes[0].name}` and `{axis.name}` go together, and have "
                f"{len(axes[0].values)} and {len(axis.values)} values; give as many"
            )
    return axes


def _seeds(given: int | str | Sequence[int] | None) -> list[int | None]:
    """The seeds as a list; empty for those of the scenario."""
    wanted = "give a number of seeds such as 5, a list such as [1, 2, 7], or a range such as `10..14`"
    if given is None:
        return []
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d{1,18})\s*\.\.\s*(\d{1,18})\s*", given)
        if not found or not 0 <= int(found[2]) - int(found[1]) < MOST_SEEDS:
            raise InputError(f"`seeds` is `{given}`; {wanted}")
        return list(range(int(found[1]), int(found[2]) + 1))
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= MOST_SEEDS:
            raise InputError(f"`seeds` is {given}; expected 1 to {MOST_SEEDS}, for the seeds 1, 2 and so on")
        return list(range(1, given + 1))
    if not isinstance(given, Sequence) or not given:
        raise InputError(f"`seeds` is `{given}`; {wanted}")
    for seed in given:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise InputError(f"`seeds` has `{seed}`, which is not a whole number of at least 0; {wanted}")
    if len(set(given)) != len(given):
        raise InputError("`seeds` has the same seed twice, which would give the same run twice")
    return list(given)


def columns() -> set[str]:
    """The names that columns of the tables have, which no axis may have."""
    of_runs = [table for table in json.loads(_core.tables()) if table["name"] in ("flows", "links", *MORE)]
    return {"seed", "run", *NUMBERS, *(column["name"] for table in of_runs for column in table["columns"])}
