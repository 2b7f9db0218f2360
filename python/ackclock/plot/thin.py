from __future__ import annotations

import numpy as np

FINE = 4000
"""Distinguishable positions along an axis, with a margin: figures are 1152 pixels wide."""


def visible(
    x: np.ndarray, y: np.ndarray, limits: tuple[float, float, float, float], fine: int = FINE
) -> np.ndarray:
    """Which points to draw: one of those that coincide in the figure. Their order is kept.

    limits: the axes, x from and to, y from and to.
    """
    if x.size <= fine:
        return np.arange(x.size)
    left, right, low, high = limits
    column = ((x - left) / max(right - left, 1e-12) * fine).astype(np.int64)
    row = ((y - low) / max(high - low, 1e-12) * fine).astype(np.int64)
    _, first = np.unique(column * (2 * fine) + row, return_index=True)
    return np.sort(first)


def outline(x: np.ndarray, y: np.ndarray, bins: int = FINE // 2) -> np.ndarray:
    """Which points of a line to draw: of each of `bins` stretches of `x` the first, least, largest and last
    one: no peak is lost.
    """
    if x.size <= 4 * bins:
        return np.arange(x.size)
    place = np.minimum(((x - x[0]) / max(x[-1] - x[0], 1e-12) * bins).astype(np.int64), bins - 1)
    edges = np.flatnonzero(np.diff(place)) + 1
    first = np.concatenate([[0], edges])
    last = np.concatenate([edges - 1, [x.size - 1]])
    # Sorted by stretch, then by value: the ends of each stretch are its least and its largest.
    order = np.lexsort((y, place))
    return np.unique(np.concatenate([first, last, order[first], order[last]]))
