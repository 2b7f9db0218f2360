"""The loop of a sweep: jobs in batches to workers, results back, what is lost once more."""

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
"""Seconds of work that a task has at least, as long as there is enough of it: Dask spends about 3 ms on
each.
"""
BUDGET = 0.3
"""Seconds of work after which a task begins no further run."""
FIRST = 4
"""Jobs that go along with a task as long as nobody knows how long they take."""
RECENT, SPARE = 8, 8
"""Tasks by which the length of the next runs is judged, since neighbours in a plan are alike; and how many
times the jobs that it should need a task takes along, since some are short."""
MOST = 256
"""Jobs that go along with one task."""
LOST = ("lost", "pending")
"""A task that was done when its worker died, before anybody fetched its result: Dask runs it again elsewhere,
and it is waited for again.
"""


class Schedule:
    """Hands jobs out until all are done.

    A task takes more jobs along than it will need by the time that the last ones took; its worker stops after
    `BUDGET` seconds and gives back what it did not come to. So tasks are long enough whatever their jobs
    take, and none is much longer than one job. Towards the end what is left is shared out evenly, in tasks of
    `TASK` seconds at least.
    """

    def __init__(self, pool: Pool, jobs: Sequence[Job], *, engine: str, encoded: bool) -> None:
        self._pool = pool
        self._waiting = deque(jobs)
        self._engine, self._encoded = engine, encoded
        self._id = uuid.uuid4().hex
        self._running: dict[Any, list[Job]] = {}
        self._alone: set[str] = set()
        """Jobs whose worker died when they were with others."""
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
                self._hand_out(finished)
                future = next(finished)
                status = future.status
                if status in LOST:
                    finished.add(future)
                    continue
                for done in self._answer(future, status, self._running.pop(future)):
                    take(done)
        finally:
            if stop:
                stop.set()
            for future in self._running:
                future.cancel()
            work.STOPPED.pop(self._id, None)

    def _hand_out(self, finished: Any) -> None:
        """Keeps every worker busy, with one more task at hand for each."""
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
        """How many jobs the next task takes along."""
        if self._waiting[0].key in self._alone:
            return 1
        fair = math.ceil(len(self._waiting) / (2 * slots))
        if not self.tasks:
            return max(1, min(fair, FIRST))
        recent = self.tasks[-RECENT:]
        each = max(sum(spent for _, spent in recent) / sum(runs for runs, _ in recent), 1e-6)
        # A share that is no task's worth of work is not worth a task.
        return max(1, min(max(fair, math.ceil(TASK / each)), math.ceil(SPARE * BUDGET / each), MOST))

    def _answer(self, future: Any, status: str, jobs: list[Job]) -> Iterable[Done]:
        """What a task came to. Jobs that it did not come to wait again."""
        import distributed

        problem = future.exception() if status == "error" else None
        if status == "finished":
            try:
                answers: list[Done] = future.result()
            except (OSError, TimeoutError, asyncio.CancelledError):
                raise self._lost() from None
            self.tasks.append((len(answers), sum(d.seconds for d in answers)))
            self._waiting.extendleft(reversed(jobs[len(answers) :]))
            return answers
        if isinstance(problem, distributed.KilledWorker):
            if len(jobs) == 1:
                return [
                    Done(jobs[0].key, 0.0, Failure("its workers died, one after the other (out of memory?)"))
                ]
            # One of them may be to blame: each gets a task of its own.
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
