"""The workers that make the runs of a sweep: threads or processes of this machine, or those of an existing
cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock._core import InputError
from ackclock.results import owned
from ackclock.scenario.scenario import cores
from ackclock.sweep.remote import Scheduler

WORKERS_WITHIN = 30.0
"""Seconds to wait for workers of a cluster."""
CONNECTED_WITHIN = 10.0
SCRATCH = "ackclock-sweep-"
"""Prefix of the temporary folders to which workers spill data."""
MUTE = logging.CRITICAL + 1
LOGGERS = ("distributed", "tornado", "asyncio", "bokeh")
SETTINGS = {
    # Runs do not block the event loop, but the machine may be busy: warnings of a slow loop are of no use.
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.worker.profile.enabled": False,
}


@dataclass
class Pool:
    """Workers."""

    client: Any
    """Dask's."""
    threads: bool = False
    """Whether they are threads of this process."""
    address: str | None = None
    """The address of the scheduler, if the cluster is not ours."""

    def slots(self) -> int:
        """Tasks that can run at the same moment."""
        return sum(self.client.nthreads().values())


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Lets the sweeps within it share their threads, for callers that run many small ones."""
    if _HELD:
        yield
        return
    with contextlib.ExitStack() as ending:
        _HELD.append((ending, {}))
        try:
            yield
        finally:
            _HELD.clear()


_HELD: list[tuple[contextlib.ExitStack, dict[int, Pool]]] = []
"""The function that ends the shared threads, and the pools of them by number of workers."""


@contextlib.contextmanager
def pool(
    workers: int | None, scheduler: str | Scheduler | None, processes: bool, jobs: int
) -> Iterator[Pool]:
    """Workers for a sweep with so many jobs. Those that it starts end with it."""
    with contextlib.ExitStack() as ending:
        if scheduler is not None:
            yield ending.enter_context(_connect(Scheduler.of(scheduler)))
            return
        count = workers or cores()
        if processes or not _HELD:
            yield ending.enter_context(_local(min(count, jobs), processes))
            return
        shared, pools = _HELD[0]
        if count not in pools:
            pools[count] = shared.enter_context(_local(count, processes))
        yield pools[count]


@contextlib.contextmanager
def _local(count: int, processes: bool) -> Iterator[Pool]:
    """Workers of this machine. Processes listen on the loopback interface, where clients without a key of
    this sweep are refused.
    """
    with _quiet(), contextlib.ExitStack() as ending:
        import dask
        import distributed

        from ackclock.sweep.local import LocalCluster

        scratch = ending.enter_context(_scratch())
        preload = ["ackclock.sweep.deaf"] if processes else []
        ending.enter_context(
            dask.config.set(
                {**SETTINGS, "temporary-directory": scratch, "distributed.worker.preload": preload}
            )
        )
        with _ignoring_interrupts(), _unwarned():
            security = distributed.Security.temporary() if processes else None
            cluster = LocalCluster(count, processes=processes, security=security, silence_logs=MUTE)
        ending.callback(_close, cluster, 10)
        yield Pool(ending.enter_context(_client(cluster)), threads=not processes)


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    """A folder to which workers spill data. Those of killed sweeps are removed."""
    root = Path(tempfile.gettempdir())
    for left in root.glob(f"{SCRATCH}*"):
        if re.fullmatch(rf"{SCRATCH}[a-z0-9_]{{8}}", left.name) and owned.abandoned(left):
            shutil.rmtree(left, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as directory,
        owned.marked(Path(directory)),
    ):
        yield directory


@contextlib.contextmanager
def _client(of: Any, security: Any = None) -> Iterator[Any]:
    import distributed

    with _unwarned():
        client = distributed.Client(of, timeout=CONNECTED_WITHIN, security=security, set_as_default=False)
    try:
        yield client
    finally:
        _close(client, 5)


def _close(what: Any, timeout: int) -> None:
    with _unwarned():
        what.close(timeout=timeout)


@contextlib.contextmanager
def _connect(scheduler: Scheduler) -> Iterator[Pool]:
    """The cluster at that address, once it has workers."""
    address = scheduler.address
    with _quiet(), contextlib.ExitStack() as ending:
        try:
            client = ending.enter_context(_client(scheduler.reached(), scheduler.security()))
        except (OSError, ValueError, TypeError) as e:
            would_do = "give the address that `dask scheduler` prints, such as `tcp://host:8786`"
            raise InputError(f"there is no scheduler at `{address}` ({_first_line(e)}); {would_do}") from None
        scheduler.warn()
        try:
            client.wait_for_workers(1, timeout=WORKERS_WITHIN)
        except (TimeoutError, asyncio.TimeoutError):
            raise InputError(
                f"the scheduler at `{address}` has no workers; start some with `dask worker {address}`"
            ) from None
        yield Pool(client, address=address)


@contextlib.contextmanager
def _unwarned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences Dask's logs: the sweep reports errors itself. If something else uses Dask in this process, its
    logs are restored afterwards; otherwise they stay silent, as Dask may log until the process ends.
    """
    known = "distributed" in sys.modules
    importlib.import_module("distributed")
    loggers = [
        logging.getLogger(name)
        for name in [*LOGGERS, *logging.root.manager.loggerDict]
        if name.split(".")[0] in LOGGERS
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(MUTE)
    try:
        yield
    finally:
        if known:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile ignore Ctrl-C while they start. An interrupt of this process is
    delivered afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _first_line(e: BaseException) -> str:
    lines = str(e).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(e).__name__
