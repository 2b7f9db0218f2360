"""A timer driven over the rows of a model, one for each acknowledgment: for the step-by-step model and for a
series of round-trip times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from ackclock.models.timer import Array, Timer


class Model(Protocol):
    """A model that timers are driven over: `RowModel`, whose `cycles` have `cycle_rows` each, or
    `SeriesModel`, whose rows cut their own cycle.
    """

    def series(self) -> dict[str, Array]:
        """The columns that no timer changes."""

    def run(self, timer: Timer) -> Rows:
        """Drives a timer over the series."""


@dataclass(frozen=True)
class Rows:
    """The results of a timer over the step-by-step model. Numbers are in seconds; `unit` divides them into
    service times.
    """

    model: Model
    timer: Timer
    series: dict[str, Array]
    made: dict[str, Array]

    @property
    def rtt(self) -> Array:
        """RTT(i)."""
        return self.series["rtt"]

    @property
    def rto(self) -> Array:
        """RTO(i)."""
        return self.made["rto"]

    @property
    def before(self) -> Array:
        """RTO(i-1), which is compared with RTT(i); NaN at the first row."""
        return np.append(np.nan, self.rto[:-1])

    @property
    def margin(self) -> Array:
        """RTO(i-1) - RTT(i)."""
        return self.before - self.rtt

    @property
    def ratio(self) -> Array:
        """RTO(i-1) / RTT(i)."""
        return self.before / self.rtt

    def columns(self) -> dict[str, Array]:
        """The estimates of the timer, its error DELTA, its margin, and the time from the ack until a loss
        would be repaired, with either countdown.

        `precise` takes the age of the oldest segment off (E-E13), `restart` starts again in full (E-A1):
        counted from when that segment was sent.
        """
        delta = self.rtt - np.append(np.nan, self.made["srtt"][:-1])
        age = self.series["age"]
        own = {"delta": np.where(self.series["sampled"], delta, np.nan), "margin": self.margin}
        return own | self.made | {"precise": np.maximum(self.rto, age), "restart": self.rto + age}

    def cycle(self, number: int = -1) -> Rows:
        """One cycle's rows, by default the last one's, as margins and ratios saw them: `before` of its first
        row is the row's before it.
        """
        n = self.model.cycle_rows
        at = number % self.model.cycles * n
        part = slice(at, at + n)
        return Part(
            self.model,
            self.timer,
            {k: v[part] for k, v in self.series.items()},
            {k: v[part] for k, v in self.made.items()},
            self.before[part],
        )

    def sampled(self, values: Array) -> Array:
        """Those of `values` that lie at rows with a sample."""
        return values[self.series["sampled"]]


@dataclass(frozen=True)
class Part(Rows):
    """Some rows of a model, with the timeout of the row before each."""

    previous: Array

    @property
    def before(self) -> Array:
        """RTO(i-1)."""
        return self.previous


def side_by_side(model: Model, timers: Sequence[Timer]) -> pa.Table:
    """The columns of a model's series, and those of each timer with its name in front."""
    columns = dict(model.series())
    for timer in timers:
        columns |= {f"{timer}.{name}": values for name, values in model.run(timer).columns().items()}
    return pa.table(columns)
