"""The step-by-step model driven by a given series of round-trip times, the next step that the paper announces
(E-A10, E-X8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ackclock._core import InputError
from ackclock.models import series as files
from ackclock.models.eifel2000.row_model import LARGEST
from ackclock.models.eifel2000.rows import Part, Rows, side_by_side
from ackclock.models.timer import Array, Timer


@dataclass(frozen=True)
class SeriesModel:
    """Rows with the round-trip times of a series: `time`, `rtt` (s; 0 for no valid sample) and, where known,
    `flight_size`, `cwnd`, `ssthresh`.
    """

    given: Mapping[str, Array]
    name: str = "series"
    """Its name in figures."""

    @classmethod
    def read(cls, path: Path) -> SeriesModel:
        """Reads CSV or Parquet, as `models.series` has it. Raises `InputError` for what is no series, and for
        more rows than a model can have.
        """
        pieces: list[dict[str, Array]] = []
        rows = 0
        for piece in files.read(path):
            rows += piece["time"].size
            if rows > LARGEST:
                raise InputError(
                    f"`{path}` has more than {LARGEST} rows; `ackclock timers` takes series of any length"
                )
            pieces.append(piece)
        model = cls({name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}, path.name)
        if (model.given["rtt"] > 0).sum() < 2:
            raise InputError(
                f"`{path}` has {(model.given['rtt'] > 0).sum()} valid samples; give at least two, with "
                "an rtt above zero"
            )
        return model

    def series(self) -> dict[str, Array]:
        """The columns that no timer changes: those given, the number of the `row`, whether it is `sampled`,
        and the `age` (s) of the segment that the next row acknowledges, by that row's sample (NaN where it
        has none).
        """
        time, rtt = self.given["time"], self.given["rtt"]
        sampled = rtt > 0
        age = np.full(time.size, np.nan)
        age[:-1] = np.where(sampled[1:], np.maximum(time[:-1] - (time[1:] - rtt[1:]), 0.0), np.nan)
        return {"row": np.arange(time.size), **self.given, "sampled": sampled, "age": age}

    def run(self, timer: Timer) -> SeriesRows:
        """Drives a timer over the series."""
        return SeriesRows(self, timer, self.series(), timer.rows(self.given))

    def table(self, timers: list[Timer]) -> pa.Table:
        """Every column of the series and of each timer, as `RowModel.table`."""
        return side_by_side(self, timers)


class SeriesRows(Rows):
    """The results of a timer over a series, all of which after the first sample is one cycle."""

    def cycle(self, number: int = -1) -> Rows:
        """The rows after the first sample: there is a timeout to compare with."""
        part = slice(int(np.argmax(self.series["sampled"])) + 1, None)
        made = {name: values[part] for name, values in self.made.items()}
        return Part(
            self.model,
            self.timer,
            {name: values[part] for name, values in self.series.items()},
            made,
            self.before[part],
        )
