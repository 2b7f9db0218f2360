"""The step-by-step model of the Eifel paper (E-A10): a bulk transfer that only the network limits, one row
for each acknowledgment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.models.eifel2000.rows import Rows, side_by_side
from ackclock.models.timer import Array, Timer

SAMPLINGS = ("every", "delayed", "once")
"""Which acknowledgments give a sample (E-A3): all, every second one, the first of each flight."""

LARGEST = 5_000_000
"""Most rows of a model."""


@dataclass(frozen=True)
class RowModel:
    """A sawtooth of loads, from half of the largest and one more up to the largest: a flight of load n is n
    rows whose RTT is n service times.

    Timers start with the first sample as SRTT and half of it as RTTVAR.
    """

    load: int = 40
    """The largest load, Wmax, segments."""
    cycles: int = 30
    service_time: float = 1.0
    """Seconds that the bottleneck takes for a segment; time advances by one at each row."""
    sampling: str = "every"
    from_half: bool = False
    """Whether a cycle starts at half of the largest load, so that the round-trip time doubles exactly; by
    default at one segment more, as in E-A6.
    """

    def __post_init__(self) -> None:
        if self.load < 2 or self.cycles < 1 or not 0 < self.service_time < float("inf"):
            raise InputError(
                "the step-by-step model needs a load of at least 2 segments, at least 1 cycle and a service "
                "time above zero"
            )
        if self.sampling not in SAMPLINGS:
            raise InputError(f"`{self.sampling}` is not a sampling; expected one of {', '.join(SAMPLINGS)}")
        if self.cycles * self.cycle_rows > LARGEST:
            raise InputError(
                f"that would make a model of {self.cycles * self.cycle_rows} rows; at most {LARGEST} "
                "are possible"
            )

    @property
    def loads(self) -> range:
        """The loads of a cycle."""
        return range(max(self.load // 2 + (not self.from_half), 1), self.load + 1)

    @property
    def cycle_rows(self) -> int:
        """Rows of a cycle."""
        return sum(self.loads)

    def series(self) -> dict[str, Array]:
        """The columns that no timer changes, each of shape (cycles * cycle_rows,).

        `row` and `cycle` count from 0; `place` is the row's number within its flight; `load`, `cwnd`,
        `ssthresh` are segments; `time` and `rtt` seconds; `sampled` says whether the ack carries a sample,
        `sampling_rate` how many there are for each outstanding segment. `age` (s) is that of the oldest
        segment outstanding after the ack, whose own ack the next row is.
        """
        loads = np.asarray(self.loads)
        load = np.tile(np.repeat(loads, loads), self.cycles)
        place = np.tile(np.concatenate([np.arange(n) for n in loads]), self.cycles)
        row = np.arange(load.size)
        sampled = {"every": np.ones(load.size, bool), "delayed": row % 2 == 1, "once": place == 0}[
            self.sampling
        ]
        rate = {"every": np.ones(load.size), "delayed": np.full(load.size, 0.5), "once": 1.0 / load}[
            self.sampling
        ]
        rtt = load * self.service_time
        return {
            "row": row,
            "cycle": row // self.cycle_rows,
            "place": place,
            "load": load,
            "cwnd": load,
            "ssthresh": np.full(load.size, self.load // 2),
            "time": (row + 1) * self.service_time,
            "rtt": rtt,
            "sampled": sampled,
            "sampling_rate": rate,
            "age": np.append(rtt[1:], rtt[0]) - self.service_time,
        }

    def run(self, timer: Timer) -> Rows:
        """Drives a timer over the series."""
        s = self.series()
        given = {"time": s["time"], "rtt": np.where(s["sampled"], s["rtt"], 0.0), "flight_size": s["load"]}
        given |= {name: s[name] for name in ("cwnd", "ssthresh", "sampling_rate")}
        return Rows(self, timer, s, timer.rows(given))

    def table(self, timers: Sequence[Timer]) -> pa.Table:
        """Every column of the series and, for each timer, its own under the timer's name: `lite.rto`,
        `eifel.gain`.
        """
        return side_by_side(self, timers)


def exact(name: str, **params: str) -> Timer:
    """A timer without ticks, floors or ceilings that the model would meet, as the reference rows have it
    (E-E18).
    """
    return Timer(name, tuple(params.items())).but(tick="0s", min_rto="0s", max_rto="1h")
