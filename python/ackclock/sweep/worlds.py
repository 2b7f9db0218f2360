"""Whose TCP makes a run: the simulator's, or that of this machine's kernel on the testbed."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ackclock._core import InputError
from ackclock.scenario.scenario import cores
from ackclock.sweep.work import KERNEL, SIMULATED, Done, Job, Stopped, engine, key, one

KEY = "world"
"""The key of a sweep that says it. It is none of a scenario, which knows nothing of worlds."""
WORLDS = (SIMULATED, KERNEL)
TICK = 0.2
"""Seconds between two looks for an interruption."""


def world(named: Any) -> str:
    """The world of that name."""
    if named not in WORLDS:
        raise InputError(f"`{KEY}` is `{named}`; expected {' or '.join(WORLDS)}")
    return str(named)


def at_once() -> int:
    """Runs on the testbed that one machine makes side by side by default: one for two cores, since each has
    an emulator that must keep time beside the senders and receivers.
    """
    return max(1, cores() // 2)


def kernel() -> str:
    """Names this machine's kernel and its build, whose runs are kept under that name."""
    return f"{platform.system()} {platform.release()} {platform.version()}"


def job(text: str, name: str, world: str = SIMULATED) -> Job:
    """The run of a resolved scenario in a world."""
    made_by = f"{engine()}\n{kernel()}" if world == KERNEL else engine()
    return Job(key(text, made_by), text, name, world)


def make_for_real(
    jobs: Sequence[Job],
    take: Callable[[Done], object],
    *,
    workers: int | None = None,
    encoded: bool = False,
    watch: Callable[[float, str], object] | None = None,
) -> None:
    """Makes runs on this machine's testbed, and hands each result over in this thread. workers: runs side by
    side, `at_once` by default. watch: is told how far the last one is that said so.
    """
    stopped = threading.Event()

    def told(share: float, label: str) -> None:
        if stopped.is_set():
            raise Stopped
        if watch:
            watch(share, label)

    with ThreadPoolExecutor(min(workers or at_once(), len(jobs))) as pool:
        try:
            for done in _as_completed([pool.submit(one, job, 1, told, encoded) for job in jobs]):
                take(done)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _as_completed(futures: Iterable[Future[Done]]) -> Iterable[Done]:
    """The results as they come. An interruption is not noticed while a lock is waited for without a limit."""
    waiting = set(futures)
    while waiting:
        finished, waiting = wait(waiting, TICK, FIRST_COMPLETED)
        for future in finished:
            yield future.result()
