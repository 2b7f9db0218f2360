"""Run folders: all that anyone needs to repeat or to read a run."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ackclock._core import InputError

SUMMARY = "summary.json"
"""The file by which a run folder is known."""
PARQUET: dict[str, Any] = {"compression": "zstd", "use_dictionary": True, "write_statistics": True}


def check_writable(target: Path) -> None:
    """Refuses, before any work is done, a target that `write` would refuse."""
    if target.exists() and not target.is_dir():
        raise InputError(f"`{target}` is a file; give a folder that is new, empty or an earlier run")
    if target.is_dir() and any(target.iterdir()) and not (target / SUMMARY).exists():
        raise InputError(f"`{target}` holds other files; give a folder that is new, empty or an earlier run")
    parent = next(p for p in [target.absolute(), *target.absolute().parents] if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"`{parent}` cannot be written to; give another folder")


def write(target: Path, fill: Callable[[Path], None]) -> Path:
    """Has `fill` write into a folder beside `target`, and puts it in place only when it is complete.

    An earlier run there is replaced. Whatever interrupts this leaves `target` as it was.
    """
    check_writable(target)
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except OSError as e:
        raise InputError(f"{target}: {e.strerror}; a folder that can be written to would do") from None
    try:
        # mkdtemp makes folders that only their owner reads; a run is no secret.
        partial.chmod(0o777 & ~_umask())
        fill(partial)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
            target.rename(old / target.name)
            partial.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a table as Parquet. The bytes depend on the table and on the version of pyarrow, on nothing else."""
    pq.write_table(table, path, **PARQUET)


def table_bytes(table: pa.Table) -> bytes:
    """The same as bytes."""
    out = pa.BufferOutputStream()
    pq.write_table(table, out, **PARQUET)
    return out.getvalue().to_pybytes()


def read_table(path: Path | pa.NativeFile) -> pa.Table:
    """Reads a table as it was when it was written. Parquet has a name of its own for what a list holds; Arrow's is `item`."""
    table = pq.read_table(path)
    for i, field in enumerate(table.schema):
        if pa.types.is_fixed_size_list(field.type):
            kind = pa.list_(field.type.value_field.with_name("item"), field.type.list_size)
            table = table.set_column(i, field.with_type(kind), table.column(i).cast(kind))
    return table


def write_json(value: Any, path: Path) -> None:
    """Writes `value` as JSON that a person can read."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
