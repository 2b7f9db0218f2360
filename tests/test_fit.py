"""The slope fitter M-U6, on points whose line is known."""

import numpy as np
import pytest

from ackclock import InputError
from ackclock.models.mathis97 import fit, power_law_window

P = np.geomspace(1e-4, 1e-2, 12)


def test_points_on_a_line_give_that_line():
    found = fit(P, power_law_window(P, 0.783, -0.519))
    assert found.c == pytest.approx(0.783, rel=1e-7)
    assert found.k == pytest.approx(-0.519, rel=1e-7)
    assert (found.n, found.excluded) == (12, 0)
    assert max(found.c_error, found.k_error, found.spread) < 1e-6
    assert found.window(0.01) == pytest.approx(0.783 * 0.01**-0.519)


def test_the_constant_alone_is_a_geometric_mean():
    window = power_law_window(P, 0.9, -0.5) * np.where(np.arange(12) % 2, 1.1, 1 / 1.1)
    found = fit(P, window, k=-0.5)
    assert found.c == pytest.approx(0.9, rel=1e-7)
    assert (found.k, found.k_error) == (-0.5, 0.0)
    # Deviations of log 1.1 about the mean, 11 of them free; the error of the mean is that over the root of
    # 12.
    spread = np.log(1.1) * np.sqrt(12 / 11)
    assert found.spread == pytest.approx(spread)
    assert found.c_error == pytest.approx(0.9 * spread / np.sqrt(12), rel=1e-6)


def test_errors_are_those_of_linear_regression():
    scipy = pytest.importorskip("scipy.stats")
    window = power_law_window(P, 1.2, -0.51) * np.exp(np.random.default_rng(1997).normal(0, 0.05, P.size))
    found, line = fit(P, window), scipy.linregress(np.log(P), np.log(window))
    assert found.k == pytest.approx(line.slope, rel=1e-6)
    assert found.k_error == pytest.approx(line.stderr, rel=1e-5)
    assert found.c == pytest.approx(np.exp(line.intercept), rel=1e-6)
    assert found.c_error == pytest.approx(np.exp(line.intercept) * line.intercept_stderr, rel=1e-5)
    assert abs(found.k + 0.51) < 3 * found.k_error
    assert abs(found.c - 1.2) < 3 * found.c_error


def test_runs_with_timeouts_are_left_out():
    window = power_law_window(P, 1.0, -0.5)
    window[8:] /= 3
    timeouts = np.where(np.arange(12) >= 8, 5, 0)
    found = fit(P, window, timeouts=timeouts)
    assert (found.n, found.excluded) == (8, 4)
    assert found.k == pytest.approx(-0.5)
    # A run without a signal has no place on the axes.
    assert fit(np.append(P, 0.0), np.append(window, 50.0), timeouts=np.append(timeouts, 0)).n == 8


@pytest.mark.parametrize(
    ("p", "window", "says"),
    [
        ([0.01, 0.02], [10, 7], "2 points without timeouts, and 2 numbers to find; give at least 3"),
        ([0.01, 0.01, 0.01], [10, 7, 8], "give at least 3 points"),
        ([0.01, 0.02, 0.03], [10, 0, 5], "not above zero"),
        ([0.01, 0.02, 0.03], [10, np.nan, 5], "not above zero"),
    ],
)
def test_what_cannot_be_fitted_is_refused(p, window, says):
    with pytest.raises(InputError, match=says):
        fit(p, window)


def test_an_option_is_not_broken_behind_its_dashes():
    from ackclock.fitting import folded

    assert folded("logarithmically; without --full the", 26) == "logarithmically; without\n--full the"
    assert folded("rfc6298+no-backoff", 11) == "rfc6298+no-\nbackoff"
