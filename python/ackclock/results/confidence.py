"""Confidence intervals of means over runs, by Student's distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEVEL = 0.95
"""Confidence level of intervals and bands."""


def student(runs: int) -> float:
    """Standard errors on either side of a mean over so many runs that make its confidence interval; infinite
    for one run.
    """
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, runs - 1)) if runs > 1 else float("inf")


def half_width(values: Sequence[float] | np.ndarray) -> float:
    """Half of the confidence interval of the mean of `values`, one for each run; infinite for one run."""
    v = np.asarray(values, float)
    return float(student(v.size) * v.std(ddof=1) / np.sqrt(v.size)) if v.size > 1 else float("inf")
