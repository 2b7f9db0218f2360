"""CUBIC's response function against the tables of RFC 9438, and against the curve itself."""

import numpy as np
import pytest

from ackclock.models import rfc9438 as r

LOSS = 10.0 ** -np.arange(2, 9)
# Average windows with C = 0.04, 0.4, 4, by rows of loss from 1e-2 to 1e-8.
TABLE_1 = [
    [12, 12, 12],
    [38, 38, 59],
    [120, 187, 333],
    [593, 1054, 1874],
    [3332, 5926, 10538],
    [18740, 33325, 59261],
    [105383, 187400, 333250],
]
TABLE_2 = [
    [12, 12, 12],
    [38, 38, 38],
    [120, 120, 120],
    [379, 379, 379],
    [1200, 1200, 1874],
    [3795, 5926, 10538],
    [18740, 33325, 59261],
]


@pytest.mark.parametrize(("rtt", "table"), [(0.1, TABLE_1), (0.01, TABLE_2)])
def test_tables_1_and_2(rtt, table):
    np.testing.assert_array_equal(np.rint(r.average_window(LOSS[:, None], rtt, [0.04, 0.4, 4])), table)


def test_table_3():
    """1500 bytes, 0.1 s, 1 Mbit/s to 10 Gbit/s: printed with two digits, some of them cut off and not
    rounded.
    """
    rate = 10.0 ** np.arange(6, 11)
    np.testing.assert_allclose(
        r.loss_for_window(rate * 0.1 / 12_000, 0.1), [2.0e-2, 2.9e-4, 1.4e-5, 6.3e-7, 2.9e-8], rtol=0.04
    )


def test_the_constant():
    """1.054 (RTT/p)^(3/4) with C = 0.4 and beta = 0.7."""
    assert r.window_alone(1, 1) == pytest.approx(1.054, abs=5e-4)


@pytest.mark.parametrize(("c", "beta"), [(0.4, 0.7), (0.04, 0.7), (4, 0.5)])
def test_the_mean_of_the_curve_between_losses(c, beta):
    """C (t - K)^3 + Wmax over t = 0 to K, where it is back at Wmax: its mean window, and one loss in the
    packets that it carries.
    """
    top, rtt = 5000.0, 0.1
    k = (top * (1 - beta) / c) ** (1 / 3)
    t = (np.arange(1_000_000) + 0.5) / 1_000_000 * k
    mean = (c * (t - k) ** 3 + top).mean()
    assert mean == pytest.approx(top * (3 + beta) / 4)
    assert r.window_alone(rtt / (mean * k), rtt, c, beta) == pytest.approx(mean)


def test_the_loss_for_a_window_gives_that_window():
    w = np.geomspace(3, 1e6, 50)
    for rtt in (0.01, 0.1, 1.0):
        np.testing.assert_allclose(r.average_window(r.loss_for_window(w, rtt), rtt), w)


def test_the_bandwidth_is_a_window_a_round_trip():
    assert r.bandwidth(1e-6, 0.1, 1500) == pytest.approx(8 * 1500 / 0.1 * r.average_window(1e-6, 0.1))
