"""The slope fitter M-U6: equations (3) and (5) through measured windows."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock._core import InputError

SQUARE_ROOT = -0.5
"""k of equation (3)."""


@dataclass(frozen=True)
class Fit:
    """A line through points on log-log axes: window = C p^k."""

    n: int
    """Points that it goes through."""
    excluded: int
    """Points left out: runs with timeouts, or without a congestion signal."""
    c: float
    c_error: float
    """Standard error of C."""
    k: float
    k_error: float
    """Standard error of k; 0 where k was given."""
    spread: float
    """Standard deviation of the points about the line, as a share of the window."""

    def window(self, p: Any) -> np.ndarray:
        """The window at `p`."""
        return self.c * np.asarray(p, float) ** self.k


def fit(p: Any, window: Any, *, timeouts: Any = 0, k: float | None = None) -> Fit:
    """Least mean squares on log-log axes (M-U6): C and k of equation (5), or C alone with a given `k`, which
    is -1/2 in equation (3).

    p: congestion signals per acknowledged packet, of each run; window: BW RTT/MSS, packets; timeouts: of each
    run, which is left out where there were any. Raises InputError with fewer points than numbers to find and
    one more, or with points that cannot be drawn on such axes.
    """
    from scipy.optimize import curve_fit

    p, window, timeouts = np.broadcast_arrays(
        np.asarray(p, float), np.asarray(window, float), np.asarray(timeouts)
    )
    taken = (timeouts == 0) & (p > 0)
    x, y = p[taken], window[taken]
    if not (np.isfinite(x) & np.isfinite(y) & (y > 0)).all():
        raise InputError("a fit on log-log axes has a window that is not above zero; give windows in packets")
    unknown = 2 if k is None else 1
    if x.size <= unknown or (k is None and np.unique(x).size < 2):
        raise InputError(
            f"a fit has {x.size} points without timeouts, and {unknown} numbers to find; give at least "
            f"{unknown + 1} points"
        )
    x, y = np.log(x), np.log(y)
    with warnings.catch_warnings():
        # Points exactly on one line leave no residuals: the errors are 0.
        warnings.simplefilter("ignore")
        if k is None:
            (a, slope), cov = curve_fit(lambda x, a, k: a + k * x, x, y, p0=(0.0, SQUARE_ROOT))
            errors = np.sqrt(np.diag(cov))
        else:
            (a,), cov = curve_fit(lambda x, a: a + k * x, x, y, p0=(0.0,))
            slope, errors = k, np.array([math.sqrt(cov[0, 0]), 0.0])
    rest = y - a - slope * x
    c = math.exp(a)
    # A small error of log C is that share of C.
    spread = math.sqrt(float((rest**2).sum()) / (x.size - unknown))
    return Fit(
        int(x.size), int((~taken).sum()), c, c * float(errors[0]), float(slope), float(errors[1]), spread
    )
