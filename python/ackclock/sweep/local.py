"""Dask's local cluster without its web servers: a sweep opens no port that it does not need."""

from __future__ import annotations

from typing import Any

import distributed


class Silent:
    """Mixin without the web server."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Starts none."""


class SilentScheduler(Silent, distributed.Scheduler):
    """A scheduler without a web server."""


class SilentWorker(Silent, distributed.Worker):
    """A worker without a web server."""


class SilentNanny(distributed.Nanny):
    """The keeper of a worker process, without a web server."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "worker_class": SilentWorker})


class LocalCluster(distributed.LocalCluster):
    """The cluster of this machine. With threads it opens no port; with processes, ports of the loopback
    interface, for clients with its `security`.
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
