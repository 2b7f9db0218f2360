"""Series of round-trip times in files, read in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from ackclock._core import InputError
from ackclock.models.timer import Array

LATEST, LONGEST, LARGEST_FLIGHT = 1e10, 1e6, 2.0**30
"""Bounds of times (s), round-trip times (s) and flights (segments)."""
ROWS = 1 << 16
SEGMENTS = {"flight": "flight_size", "cwnd": "cwnd", "ssthresh": "ssthresh"}
"""Columns in segments, and what a replay calls them."""


def read(path: Path) -> Iterator[dict[str, Array]]:
    """The series in `path`, CSV with a header or Parquet, in pieces that a replay takes.

    Columns: `time` (s) when the ack arrived, never falling; `rtt` (s), empty or 0 where there is no valid
    sample; optionally `flight`, `cwnd` and `ssthresh` (segments), and `lost` (true where the segment was
    lost: `rtt` is then the time since it was sent). Other columns are ignored. Raises `InputError`, naming
    the row.
    """
    if not path.is_file():
        raise InputError(
            f"`{path}` is not a file; give a series as CSV or Parquet with the columns time and rtt"
        )
    row, last = 0, 0.0
    try:
        for batch in _batches(path):
            for name in ("time", "rtt"):
                if name not in batch.schema.names:
                    raise InputError(
                        f"`{path}` has no column `{name}`; it has {', '.join(batch.schema.names)}"
                    )
            piece = _piece(path, batch, row, last)
            row += batch.num_rows
            last = float(piece["time"][-1]) if batch.num_rows else last
            yield piece
    except pa.ArrowException as e:
        # After the numbers of columns the message has the whole row, which an error should not show.
        why = re.sub(r"(Expected \d+ columns, got \d+):.*", r"\1", " ".join(str(e).split()))[:300].rstrip(".")
        raise InputError(
            f"`{path}` cannot be read as a series ({why}); give CSV or Parquet with seconds in the "
            "columns time and rtt"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"`{path}` is neither Parquet nor CSV in UTF-8") from None
    if row == 0:
        raise InputError(f"`{path}` has no rows")


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with path.open("rb") as f:
        parquet = f.read(4) == b"PAR1"
    if parquet:
        file = pq.ParquetFile(path)
        wanted = [n for n in ("time", "rtt", *SEGMENTS, "lost") if n in file.schema_arrow.names]
        missing = [n for n in ("time", "rtt") if n not in wanted]
        if missing:
            raise InputError(
                f"`{path}` has no column `{missing[0]}`; it has {', '.join(file.schema_arrow.names)}"
            )
        yield from file.iter_batches(ROWS, columns=wanted)
        return
    types = {**dict.fromkeys(("time", "rtt", *SEGMENTS), pa.float64()), "lost": pa.bool_()}
    yield from pa.csv.open_csv(path, convert_options=pa.csv.ConvertOptions(column_types=types))


def _piece(path: Path, batch: pa.RecordBatch, before: int, last: float) -> dict[str, Array]:
    def numbers(name: str, missing: float) -> Array:
        try:
            column = batch.column(name).cast(pa.float64()).fill_null(missing)
        except pa.ArrowException:
            raise InputError(
                f"`{path}`: column `{name}` is of type {batch.schema.field(name).type}; give numbers"
            ) from None
        return column.to_numpy(zero_copy_only=False)

    def check(name: str, values: Array, holds: Array, wanted: str) -> None:
        if not holds.all():
            at = int(np.argmin(holds))
            raise InputError(f"`{path}`, row {before + at + 1}: `{name}` is {values[at]:g}; give {wanted}")

    time, rtt = numbers("time", np.nan), numbers("rtt", 0.0)
    check("time", time, (time >= 0) & (time <= LATEST), f"seconds between 0 and {LATEST:g}")
    check("time", time, np.diff(time, prepend=last) >= 0, "times that never fall")
    check("rtt", rtt, (rtt >= 0) & (rtt <= LONGEST), f"seconds between 0 and {LONGEST:g}")
    piece = {"time": time, "rtt": rtt}
    for name, known in SEGMENTS.items():
        if name in batch.schema.names:
            segments = numbers(name, 1.0)
            check(
                name,
                segments,
                (segments >= 0) & (segments <= LARGEST_FLIGHT),
                f"segments between 0 and {LARGEST_FLIGHT:g}",
            )
            piece[known] = np.rint(segments)
    if "lost" in batch.schema.names:
        piece["lost"] = numbers("lost", 0.0) != 0
    return piece
