"""A run as the files of its folder, in memory: how runs pass between processes, and what is kept of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ackclock.results import folder
from ackclock.results.run import Run, numbers

DIGESTS = "sha256"
"""The key of a kept run's summary with the digests of its files. The digest of the summary itself is taken
without this key.
"""


def encode(run: Run) -> dict[str, bytes]:
    """The files of its run folder, without figures; the summary comes last, and has the digests of all.

    Runs are sent between processes in this form too: pickled Arrow tables lose which of their lists may hold
    nulls.
    """
    files = {
        "scenario.toml": run.scenario.encode(),
        **{f"{name}.parquet": folder.table_bytes(table) for name, table in run.tables().items()},
    }
    digests = {
        **{name: digest(data) for name, data in files.items()},
        folder.SUMMARY: digest(summary_text(run.summary)),
    }
    return {**files, folder.SUMMARY: summary_text({**run.summary, DIGESTS: digests})}


def decode(files: Mapping[str, bytes]) -> Run:
    """The run of such files."""
    about = json.loads(files[folder.SUMMARY])
    del about[DIGESTS]
    tables = {
        n.removesuffix(".parquet"): folder.read_table(pa.BufferReader(data))
        for n, data in files.items()
        if n.endswith(".parquet")
    }
    stacks = numbers(about)
    return Run(
        files["scenario.toml"].decode(), tables.pop("flows"), tables.pop("links"), stacks, about, tables
    )


def digest(data: bytes) -> str:
    """The digest of a file."""
    return hashlib.sha256(data).hexdigest()


def summary_text(summary: dict[str, Any]) -> bytes:
    """The text of a summary file."""
    return (json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
