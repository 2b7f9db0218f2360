"""Many scenarios run, kept, and read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock._core import AckclockError, InputError, SimulationError
from ackclock.results import Run
from ackclock.results.encoded import decode
from ackclock.scenario import Scenario
from ackclock.scenario.scenario import Progress, cores, to_run
from ackclock.scenario.variation import applied
from ackclock.sweep import worlds
from ackclock.sweep.cluster import pool
from ackclock.sweep.remote import Scheduler
from ackclock.sweep.schedule import Schedule
from ackclock.sweep.store import Store
from ackclock.sweep.work import KERNEL, Done, Failure, Job, engine, one

ALONE = 0.6
"""Seconds of work done in this thread before workers are started: many sweeps need no more, and Dask takes as
long to load.
"""


class Made:
    """The results of a list of jobs: a run or a failure for each key."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._runs: dict[str, Run] = {}
        self._summaries: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, Failure] = {}
        self.found = 0
        """Runs that had been kept before."""
        self.fresh = 0
        """Runs that were made now."""
        self.tasks: list[tuple[int, float]] = []
        """Runs and seconds of each task."""

    def take(self, done: Done) -> None:
        """Stores a result."""
        if isinstance(done.outcome, Failure):
            self.failures[done.key] = done.outcome
            return
        self.fresh += 1
        if isinstance(done.outcome, Run):
            self._runs[done.key] = done.outcome
        elif self._store:
            self._store.write(done.key, done.outcome)
            self.remember(done.key)
        else:
            self._runs[done.key] = decode(done.outcome)

    def remember(self, key: str) -> None:
        """Records that a run is in the store."""
        assert self._store, "nothing to remember without a store"
        self._summaries[key] = self._store.summary(key)

    def summary(self, key: str) -> Mapping[str, Any]:
        """The summary of a run."""
        return self._summaries[key] if key in self._summaries else self._runs[key].summary

    def run(self, key: str) -> Run:
        """A run. Those in the store are read each time: all together may be more than the memory holds."""
        if key in self._runs:
            return self._runs[key]
        assert self._store, "every run is in memory or in the store"
        return self._store.read(key)

    def __contains__(self, key: str) -> bool:
        return key in self._runs or key in self._summaries


def make(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    scheduler: str | Scheduler | None = None,
    processes: bool = False,
    keep: str | Path | None = None,
    progress: Progress | None = None,
) -> Made:
    """Runs jobs, those left out that are kept in the folder `keep`. Jobs with the same key are run once.
    Those of the testbed are run by this machine once all others are done, whoever makes the others.
    """
    # A variation has changed the scenarios of jobs already.
    with applied(None):
        return _make(jobs, workers, scheduler, processes, keep, progress)


def _make(
    jobs: Sequence[Job],
    workers: int | None,
    scheduler: str | Scheduler | None,
    processes: bool,
    keep: str | Path | None,
    progress: Progress | None,
) -> Made:
    store = Store(Path(keep)) if keep is not None else None
    made = Made(store)
    missing = {}
    for job in jobs:
        if store and job.key not in made and store.has(job.key):
            made.remember(job.key)
        elif job.key not in made:
            missing[job.key] = job
    made.found = len({job.key for job in jobs}) - len(missing)
    report = _reporter(progress, made, len(missing))
    real = [missing.pop(job.key) for job in list(missing.values()) if job.world == KERNEL]
    if scheduler is None and (not processes or len(missing) == 1):
        began, watched = time.monotonic(), progress if len(missing) == 1 else None
        while missing and (len(missing) == 1 or time.monotonic() - began < ALONE):
            job = missing.pop(next(iter(missing)))
            made.take(one(job, workers or cores(), watched, store is not None))
            report()
    if missing:
        with pool(workers, scheduler, processes, len(missing)) as p:
            schedule = Schedule(
                p, list(missing.values()), engine=engine(), encoded=store is not None or not p.threads
            )
            schedule.run(lambda done: (made.take(done), report())[0])
            made.tasks = schedule.tasks
    if real:
        watched = progress if len(real) == 1 and not made.fresh else None
        worlds.make_for_real(
            real,
            lambda done: (made.take(done), report())[0],
            workers=workers,
            encoded=store is not None,
            watch=watched,
        )
    return made


def _reporter(progress: Progress | None, made: Made, of: int) -> Callable[[], None]:
    def report() -> None:
        if progress:
            done = made.fresh + len(made.failures)
            progress(done / of, f"{done} of {of} runs")

    return report


def run_all(
    scenarios: Sequence[Scenario],
    *,
    workers: int | None = None,
    scheduler: str | Scheduler | None = None,
    processes: bool = False,
    keep: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Runs scenarios side by side, and returns their runs in the same order: for scenarios that are no
    product of axes.

        runs = ac.sweep.run_all([scenario(flows) for flows in (8, 32, 128)])

    workers: runs at the same moment, one per core by default; results do not depend on it. scheduler: a Dask
    cluster in place of workers here, its address or a `Scheduler`. processes: whether workers here are
    processes; threads start faster, and the simulator needs no more.
    keep: a folder in which finished runs are kept and looked up. progress: called with the share of the runs
    that are done, and a label.

    Raises the error of the first scenario that is invalid or fails.
    """
    jobs = [worlds.job(scenario.resolve(), scenario.name) for scenario in to_run(scenarios)]
    made = make(jobs, workers=workers, scheduler=scheduler, processes=processes, keep=keep, progress=progress)
    for job in jobs:
        if job.key in made.failures:
            raise error(made.failures[job.key])
    return [made.run(job.key) for job in jobs]


def error(failure: Failure) -> AckclockError:
    """The exception of a failure."""
    if failure.kind:
        return getattr(_core, failure.kind)(failure.sentence)
    return (InputError if failure.bad_input else SimulationError)(failure.sentence)
