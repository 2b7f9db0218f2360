"""Dask's local cluster without its web servers: nobody looks at them, and a sweep opens no port that it does
not need.
"""

from __future__ import annotations

from typing import Any

import distributed


class Silent:
    """What takes the web server away."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Starts none."""


class SilentScheduler(Silent, distributed.Scheduler):
    """A scheduler without one."""


class SilentWorker(Silent, distributed.Worker):
    """A worker without one."""


class SilentNanny(distributed.Nanny):
    """What keeps a worker process alive, without one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "worker_class": SilentWorker})


class LocalCluster(distributed.LocalCluster):
    """The cluster of this machine. As threads it opens no port at all; as processes some of the loopback
    interface, for its own `security`.
    """

    def __init__(self, workers: int, *, processes: bool, **options: Any) -> None:
        shape = (
            {"n_workers": workers, "threads_per_worker": 1}
            if processes
            else {"n_workers": 1, "threads_per_worker": workers}
        )
        worker = SilentNanny if processes else SilentWorker
        super().__init__(
            **shape,
            processes=processes,
            worker_class=worker,
            dashboard_address=None,
            memory_limit=0,
            **options,
        )

    async def _start(self) -> None:
        self.scheduler_spec = {**self.scheduler_spec, "cls": SilentScheduler}
        await super()._start()
