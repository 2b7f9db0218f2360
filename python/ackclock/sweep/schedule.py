"""The loop of a sweep: gives jobs to workers in batches, takes results, and repeats lost jobs."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ackclock._core import InputError
from ackclock.sweep import work
from ackclock.sweep.cluster import Pool
from ackclock.sweep.work import Done, Failure, Job

TASK = 0.2
"""The least work of a task in seconds, while there is enough: Dask spends about 3 ms on each task."""
BUDGET = 0.3
"""Seconds of work after which a task begins no further run."""
FIRST = 4
"""Jobs of a task while their duration is unknown."""
RECENT, SPARE = 8, 8
"""Number of the last tasks from which the duration of the next runs is estimated, since neighbours in a plan
are alike; and the factor by which a task gets more jobs than it should need, since some are short.
"""
MOST = 256
"""Most jobs of a task."""
LOST = ("lost", "pending")
"""Status of a task whose worker died before its result was fetched: Dask runs it again elsewhere, and the
schedule waits for it again.
"""


class Schedule:
    """Gives jobs to workers until all are done.

    A task gets more jobs than it should need, judging by the last tasks; its worker stops after `BUDGET`
    seconds and returns the jobs that it did not start. So tasks are long enough whatever their jobs take, and
    none is much longer than one job. Towards the end the remaining jobs are divided evenly, into tasks of at
    least `TASK` seconds.
    """

    def __init__(self, pool: Pool, jobs: Sequence[Job], *, engine: str, encoded: bool) -> None:
        self._pool = pool
        self._waiting = deque(jobs)
        self._engine, self._encoded = engine, encoded
        self._id = uuid.uuid4().hex
        self._running: dict[Any, list[Job]] = {}
        self._alone: set[str] = set()
        """Jobs that were in a task of several when its worker died."""
        self.tasks: list[tuple[int, float]] = []
        """Runs and seconds of each task that is done."""

    def run(self, take: Callable[[Done], None]) -> None:
        """Runs everything; `take` is called with each result, in the order in which they come."""
        import distributed

        stop = None
        if self._pool.threads:
            stop = work.STOPPED[self._id] = work.threading.Event()
        finished = distributed.as_completed(loop=self._pool.client.loop)
        try:
            while self._waiting or self._running:
                self._fill_workers(finished)
                future = next(finished)
                status = future.status
                if status in LOST:
                    finished.add(future)
                    continue
                for done in self._results(future, status, self._running.pop(future)):
                    take(done)
        finally:
            if stop:
                stop.set()
            for future in self._running:
                future.cancel()
            work.STOPPED.pop(self._id, None)

    def _fill_workers(self, finished: Any) -> None:
        """Keeps every worker busy, with one more task queued for each."""
        try:
            slots = max(self._pool.slots(), 1)
        except (OSError, TimeoutError):
            raise self._lost() from None
        threads = (
            max(1, slots // max(len(self._waiting) + len(self._running), 1)) if self._pool.threads else 1
        )
        while self._waiting and len(self._running) < 2 * slots:
            jobs = [self._waiting.popleft() for _ in range(min(self._size(slots), len(self._waiting)))]
            future = self._pool.client.submit(
                work.batch,
                self._id,
                jobs,
                BUDGET,
                threads,
                self._engine,
                self._encoded,
                key=f"ackclock-{self._id}-{uuid.uuid4().hex}",
                pure=False,
            )
            self._running[future] = jobs
            finished.add(future)

    def _size(self, slots: int) -> int:
        """The number of jobs of the next task."""
        if self._waiting[0].key in self._alone:
            return 1
        fair = math.ceil(len(self._waiting) / (2 * slots))
        if not self.tasks:
            return max(1, min(fair, FIRST))
        recent = self.tasks[-RECENT:]
        each = max(sum(spent for _, spent in recent) / sum(runs for runs, _ in recent), 1e-6)
        # A share with less work than a task should have does not get a task.
        return max(1, min(max(fair, math.ceil(TASK / each)), math.ceil(SPARE * BUDGET / each), MOST))

    def _results(self, future: Any, status: str, jobs: list[Job]) -> Iterable[Done]:
        """The results of a task. Jobs that it did not start wait again."""
        import distributed

        problem = future.exception() if status == "error" else None
        if status == "finished":
            try:
                results: list[Done] = future.result()
            except (OSError, TimeoutError, asyncio.CancelledError):
                raise self._lost() from None
            self.tasks.append((len(results), sum(d.seconds for d in results)))
            self._waiting.extendleft(reversed(jobs[len(results) :]))
            return results
        if isinstance(problem, distributed.KilledWorker):
            if len(jobs) == 1:
                return [
                    Done(jobs[0].key, 0.0, Failure("its workers died, one after the other (out of memory?)"))
                ]
            # One of them may have killed the worker: each gets its own task.
            self._alone.update(job.key for job in jobs)
            self._waiting.extendleft(reversed(jobs))
            return []
        if isinstance(problem, InputError):
            raise problem
        if problem is None:
            raise self._lost()
        raise InputError(
            f"a worker cannot run the sweep ({type(problem).__name__}: "
            f"{' '.join(str(problem).split())}); install ackclock on all of them"
        )

    def _lost(self) -> InputError:
        at = f"the scheduler at `{self._pool.address}`" if self._pool.address else "the scheduler"
        return InputError(f"{at} went away; what was finished is kept, and the same sweep goes on from there")
