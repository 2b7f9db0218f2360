"""Tables of a run folder come back as they were written."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ackclock.results import folder


@pytest.mark.parametrize("size", [-1, 3])
@pytest.mark.parametrize("lists", [[[1, 2, 3], None, [4, 5, 6], None], [None, None], [[1, 2, 3]], []])
def test_lists_of_which_some_are_missing(tmp_path, size, lists):
    kind = pa.list_(pa.field("item", pa.uint64(), nullable=False), size)
    table = pa.table({"a": pa.array(lists, kind)})
    folder.write_table(table, tmp_path / "t.parquet")
    read = folder.read_table(tmp_path / "t.parquet")
    read.validate(full=True)
    assert read.schema == table.schema and read["a"].to_pylist() == lists
