"""The work of a Dask worker, which may be a thread of this process, another process, or another machine."""

from __future__ import annotations

import functools
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ackclock import _core
from ackclock._core import AckclockError, DriveError, InputError, MissingRightError, VoidRunError
from ackclock.results import Run
from ackclock.results.encoded import encode
from ackclock.scenario import Scenario

SIMULATED, KERNEL = "simulated", "kernel"
"""The worlds: simulated, or this machine's kernel on the testbed."""
TRIES = 3
"""Tries of a run on the testbed while the machine is too busy to keep time."""
TRACE_LIMIT = 2 << 30
"""Most bytes of the trace of a run on disk: it is sent as a whole."""
STOPPED: dict[str, threading.Event] = {}
"""Sweeps whose workers are threads of this process, and how to stop them."""


@dataclass(frozen=True)
class Job:
    """A resolved scenario to be run."""

    key: str
    """The key under which its result is kept."""
    text: str
    name: str = "scenario"
    """Its name in messages."""
    world: str = SIMULATED
    """Whose TCP makes it."""


@dataclass(frozen=True)
class Failure:
    """Why there is no result."""

    reason: str
    """One sentence, without the place in a file."""
    bad_input: bool = False
    """Whether the scenario is at fault, not ackclock or a machine."""
    place: str = ""
    """Where the scenario is at fault, such as `file.toml:3`; empty if that is not known."""
    kind: str = ""
    """The name of the exception, for what is neither the scenario's fault nor ackclock's."""

    @property
    def sentence(self) -> str:
        """The reason, with the place in front of it."""
        return f"{self.place}: {self.reason}" if self.place else self.reason


@dataclass(frozen=True)
class Done:
    """The result of a job: the run, or the files of its folder, or why there is neither."""

    key: str
    seconds: float
    outcome: Run | dict[str, bytes] | Failure


@functools.lru_cache(maxsize=1)
def engine() -> str:
    """The version of the engine that runs are made with: that of ackclock, and a digest of the compiled part,
    which holds the whole engine.

    A build that differs in a byte is another engine, whose kept runs are not used.
    """
    digest = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.version}+{digest[:16]}"


def key(text: str, engine: str) -> str:
    """The key under which the run of a resolved scenario, which includes its seed, is kept. engine: that and,
    for a run on the testbed, the kernel's name.
    """
    return hashlib.sha256(f"{engine}\n{text}".encode()).hexdigest()[:40]


class Stopped(Exception):
    """The sweep was interrupted."""


def batch(
    sweep: str, jobs: Sequence[Job], budget: float, threads: int, expected: str, encoded: bool
) -> list[Done]:
    """Runs jobs one after the other until `budget` seconds are used up, and returns the results of those that
    were run, at least one. expected: the engine of the sweep. encoded: whether to return the files of run
    folders in place of runs.
    """
    if engine() != expected:
        raise InputError(
            f"a worker runs the engine {engine()}, the others {expected}: install the same ackclock on "
            "all of them"
        )
    stopped = STOPPED.get(sweep)

    def watch(share: float, label: str) -> None:
        if stopped and stopped.is_set():
            raise Stopped

    began, done = time.monotonic(), []
    for job in jobs:
        done.append(one(job, threads, watch if stopped else None, encoded))
        if time.monotonic() - began >= budget:
            break
    return done


def one(job: Job, threads: int, progress: Callable[[float, str], None] | None, encoded: bool) -> Done:
    """Runs one job."""
    began = time.monotonic()
    outcome: Run | dict[str, bytes] | Failure
    try:
        scenario = Scenario(job.text, job.name)
        if job.world == KERNEL:
            run = for_real(scenario, progress)
        else:
            run = scenario.simulate(workers=threads, progress=progress, trace_limit=TRACE_LIMIT)
        outcome = encode(run) if encoded else run
    except AckclockError as e:
        kind = type(e).__name__ if isinstance(e, DriveError | MissingRightError) else ""
        outcome = Failure(" ".join(str(e).split()), isinstance(e, InputError), kind=kind)
    return Done(job.key, time.monotonic() - began, outcome)


def for_real(
    scenario: Scenario,
    progress: Callable[[float, str], object] | None = None,
    capture: str | PathLike[str] | None = None,
) -> Run:
    """Runs it on the testbed, again if the machine was too busy."""
    for _ in range(TRIES - 1):
        try:
            return scenario.testbed(progress=progress, capture=capture)
        except VoidRunError:
            continue
    return scenario.testbed(progress=progress, capture=capture)
