"""The same flows in two worlds: with the same seed they arrive at the same moments and are as large, and only
what was changed is different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

MARGIN = 1.05
"""A flow is faster or slower when its response time differs by more than this factor."""


@dataclass(frozen=True)
class Pairs:
    """Response times (s) of the flows that finished in both worlds, flow by flow, and their sizes (bytes)."""

    before: np.ndarray
    after: np.ndarray
    size: np.ndarray

    @property
    def ratio(self) -> np.ndarray:
        """Response time after the change over that before."""
        return self.after / self.before

    @property
    def faster(self) -> float:
        """Share of the flows that the change makes faster."""
        return float((self.ratio < 1 / MARGIN).mean())

    @property
    def slower(self) -> float:
        """Share of the flows that the change makes slower."""
        return float((self.ratio > MARGIN).mean())

    @property
    def mean_ratio(self) -> float:
        """Mean response time after over that before."""
        return float(self.after.mean() / self.before.mean())


def pairs(before: Sequence[pa.Table], after: Sequence[pa.Table]) -> Pairs:
    """Pairs flows of runs with the same seeds, by number; flows that only one of the worlds has are left out,
    such as those of another stack.

    Raises ValueError where flows of one number are not the same.
    """
    parts = []
    for a, b in zip(before, after, strict=True):
        left, right = (t.column("flow").to_numpy() for t in (a, b))
        _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
        for column in ("start", "size"):
            if not np.array_equal(a.column(column).to_numpy()[i], b.column(column).to_numpy()[j]):
                raise ValueError(
                    f"flows of the same number differ in {column}: the two worlds do not have the same flows"
                )
        x, y = a.column("response_time").to_numpy()[i], b.column("response_time").to_numpy()[j]
        both = np.isfinite(x) & np.isfinite(y)
        parts.append((x[both], y[both], a.column("size").to_numpy()[i][both]))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
