"""Run folders: everything needed to repeat a run or to read its results."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ackclock._core import InputError
from ackclock.results import owned
from ackclock.results.target import PARTIAL, check_ours, check_writable, placed

SUMMARY = owned.SUMMARY
"""The file with a folder's numbers."""
PARQUET: dict[str, Any] = {"compression": "zstd", "use_dictionary": True, "write_statistics": True}
OLD = ".old"
"""Suffix of folders that are being replaced."""


def write(target: Path, fill: Callable[[Path], None], figures: Mapping[str, Any] | None = None) -> Path:
    """Has `fill` write files into a folder beside `target`, and puts it in place only when it is complete.

    An earlier run there is replaced, and partial folders of killed commands are removed. An interruption
    leaves `target` as it was. figures: by name, or functions that draw them. They are added once the folder
    is in place: one that fails is a `FigureWarning`.
    """
    check_writable(target)
    target = placed(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial = _beside(target)
    except OSError as e:
        raise InputError(f"{target}: {e.strerror}; expected a folder that can be written to") from None
    try:
        with owned.marked(partial) as mark:
            # mkdtemp makes folders that only their owner reads; a run is no secret.
            partial.chmod(0o777 & ~_umask())
            fill(partial)
            owned.finish(
                mark, partial, (f"{name}.{ending}" for name in figures or {} for ending in ("png", "svg"))
            )
            _replace(target, partial)
    finally:
        owned.remove(partial)
    _tidy(target)
    if figures:
        _draw(target, figures)
    return target


def _beside(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=PARTIAL, dir=target.parent))


def _draw(target: Path, figures: Mapping[str, Any]) -> None:
    """Draws figures beside a folder that is in place, and moves each there when it is whole."""
    from ackclock.plot import could_not_be_drawn, save

    for name, given in figures.items():
        partial = None
        try:
            about = os.stat(target)
            partial = _beside(target)
            with owned.marked(partial):
                written = save(given() if callable(given) else given, partial / name)
                # Another command may have replaced the folder: these figures do not belong to it.
                if os.path.samestat(about, os.stat(target)):
                    for file in written:
                        file.replace(target / file.name)
        except Exception as e:
            could_not_be_drawn(name, e)
        finally:
            if partial:
                owned.remove(partial)


def _replace(target: Path, partial: Path) -> None:
    """Puts a folder in the place of another one, if that is still ours."""
    if not target.exists():
        partial.rename(target)
        return
    old = partial.with_suffix(OLD)
    target.rename(old)
    try:
        check_ours(old, target)
        partial.rename(target)
    except BaseException:
        old.rename(target)
        raise
    owned.remove(old)


def _tidy(target: Path) -> None:
    """Removes what commands that were killed left behind beside a target that is in place."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}({re.escape(PARTIAL)}|{re.escape(OLD)})")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if name.fullmatch(entry.name) and owned.left_over(Path(entry.path)):
                owned.remove(Path(entry.path))


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a table as Parquet. The bytes depend on the table and on the version of pyarrow, on nothing
    else.
    """
    pq.write_table(table, path, **PARQUET)


def table_bytes(table: pa.Table) -> bytes:
    """The same as bytes."""
    out = pa.BufferOutputStream()
    pq.write_table(table, out, **PARQUET)
    return out.getvalue().to_pybytes()


def read_table(path: Path | pa.NativeFile) -> pa.Table:
    """Reads a table as it was when it was written. Parquet has a name of its own for what a list holds;
    Arrow's is `item`.
    """
    table = pq.read_table(path)
    for i, field in enumerate(table.schema):
        if pa.types.is_fixed_size_list(field.type) or pa.types.is_list(field.type):
            size = field.type.list_size if pa.types.is_fixed_size_list(field.type) else -1
            kind = pa.list_(field.type.value_field.with_name("item"), size)
            renamed = pa.chunked_array([_renamed(chunk, kind) for chunk in table.column(i).chunks], kind)
            table = table.set_column(i, field.with_type(kind), renamed)
    return table


def _renamed(lists: pa.Array, kind: pa.DataType) -> pa.Array:
    """The lists as another type that differs only in the name of what a list holds. A cast would not take
    missing lists of what is never missing.
    """
    if not lists.null_count:
        return lists.cast(kind)
    if not pa.types.is_fixed_size_list(kind):
        return pa.ListArray.from_arrays(lists.offsets, lists.values, type=kind, mask=lists.is_null())
    size = kind.list_size
    held = pc.fill_null(lists.values, pa.scalar(0, kind.value_type))
    held = held.slice(lists.offset * size, len(lists) * size)
    return pa.FixedSizeListArray.from_arrays(held, type=kind, mask=lists.is_null())


def write_json(value: Any, path: Path) -> None:
    """Writes `value` as JSON that a person can read."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
