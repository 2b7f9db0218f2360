"""Traces that do not fit in memory: nameless files on disk, from which the tables are read as they are
used.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from ackclock._core import InputError

TABLES = ("samples", "segments", "state")
"""The tables that are written as they are made. Episodes are few."""
FIRST_DATAGRAM = 1 << 31
"""The number by which the parts of a trace call the first source of datagrams."""
LIMIT = 16 << 30
"""Bytes that traces may take on disk."""


class Spill:
    """Takes the parts of traces as they are made, and gives their tables.

    Its files have no name and are gone with the last table that reads them, or with the process, however that
    ends.
    """

    def __init__(self, folder: Path | None = None, limit: int = LIMIT) -> None:
        """folder: on whose disk the files lie; that for large temporary files by default. limit: bytes that
        they may take.
        """
        self._folder = folder or temporary()
        self._limit = limit
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._taken: dict[int, tuple[int, int]] = {}
        self._total = 0
        self._datagrams: set[int] = set()

    def take(self, job: int, attempt: int, label: str, tables: tuple[Any, Any, Any]) -> None:
        """Takes a part of the trace of run number `job`: its rows of `TABLES`. Rows of an earlier attempt at
        that run are dropped.
        """
        with self._lock:
            for name, given in zip(TABLES, tables, strict=True):
                table = pa.table(given)
                if table.num_rows:
                    self._write(
                        name,
                        job,
                        attempt,
                        table.add_column(0, pa.field("run", pa.string()), pa.repeat(label, table.num_rows)),
                    )

    def _write(self, name: str, job: int, attempt: int, table: pa.Table) -> None:
        if name == "segments" and pa.compute.max(table["connection"]).as_py() >= FIRST_DATAGRAM:
            self._datagrams.add(job)
        latest, size = self._taken.get(job, (attempt, 0))
        self._taken[job] = (attempt, table.nbytes + (size if latest == attempt else 0))
        self._total += self._taken[job][1] - size
        if self._total > self._limit:
            raise InputError(
                f"the trace takes more than {self._limit / 2**30:.3g} GiB on disk: trace fewer groups "
                "of events (`trace`), make `duration` shorter, or allow more (`--trace-limit`, or "
                "`trace_limit` in Python)"
            )
        try:
            if name not in self._files:
                self._files[name] = _File(self._folder, table.schema)
            self._files[name].write((job, attempt), table)
        except OSError as e:
            raise InputError(
                f"the trace cannot be written to `{self._folder}` ({e.strerror or e}): trace less, or "
                "give another folder"
            ) from None

    def table(self, name: str, job: int, attempt: int, first_datagram: int) -> pa.Table | None:
        """One of `TABLES` of a run; None where it has no rows. Nothing is taken after the first call."""
        file = self._files.get(name)
        if file is None or (job, attempt) not in file.places:
            return None
        if name == "segments" and job in self._datagrams:
            # Their numbers follow those of all flows, whose count is known only now.
            renumbered = _File(self._folder, file.schema)
            for batch in file.batches((job, attempt)):
                renumbered.write((job, attempt), _renumbered(pa.table(batch), first_datagram))
            file = renumbered
        return pa.Table.from_batches(list(file.batches((job, attempt))), file.schema)


class _File:
    """A nameless file of Arrow batches."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self.places: dict[tuple[int, int], list[int]] = {}
        self._count = 0
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open as long as the trace is)
        self._writer: Any = pa.ipc.new_file(self._file, schema)
        self._reader: Any = None

    def write(self, key: tuple[int, int], table: pa.Table) -> None:
        for batch in table.combine_chunks().to_batches():
            self._writer.write_batch(batch)
            self.places.setdefault(key, []).append(self._count)
            self._count += 1

    def batches(self, key: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        """The batches of one attempt, in order. They are read from disk where they are used."""
        if self._reader is None:
            self._writer.close()
            self._file.flush()
            self._reader = pa.ipc.open_file(
                pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
            )
            self._file.close()
        return (self._reader.get_batch(place) for place in self.places[key])


def _renumbered(table: pa.Table, first_datagram: int) -> pa.Table:
    import numpy as np

    place = table.schema.get_field_index("connection")
    connection = table["connection"].to_numpy()
    right = np.where(
        connection >= FIRST_DATAGRAM,
        connection - np.uint32(FIRST_DATAGRAM) + np.uint32(first_datagram),
        connection,
    )
    table = table.set_column(place, table.schema.field(place), pa.array(right, pa.uint32()))
    place = table.schema.get_field_index("flow")
    return table.set_column(place, table.schema.field(place), pa.array(right // 2, pa.uint32()))


def temporary() -> Path:
    """The folder for large temporary files: `TMPDIR`, or `/var/tmp`, since `/tmp` is in memory on some
    systems.
    """
    large = Path("/var/tmp")
    return (
        Path(tempfile.gettempdir())
        if "TMPDIR" in os.environ or not os.access(large, os.W_OK | os.X_OK)
        else large
    )
