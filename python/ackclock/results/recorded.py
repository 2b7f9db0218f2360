"""What figures and numbers read of a run."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from ackclock.results.over_time import FlowsOverTime


class Recorded(Protocol):
    """The tables and numbers of a run (`ackclock.results.run.Run` has them)."""

    flows: pa.Table
    links: pa.Table
    stacks: list[dict[str, Any]]
    about: dict[str, Any]
    traces: dict[str, pa.Table]

    @property
    def series_labels(self) -> list[str]:
        """The runs that have tables over time, by label."""
        ...

    def over_time(self, run: str | None = None) -> FlowsOverTime:
        """The flows of the run of that label, or of the only one, over time."""
        ...
