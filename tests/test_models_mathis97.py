"""The formulas of mathis97 against what they are made of; the register's points are checked by the items
M-E1 to M-E17.
"""

import numpy as np
import pytest

from ackclock.models import mathis97 as m
from ackclock.reproduce.mathis97.window_alone import constant

P = np.geomspace(1e-5, 0.1, 50)


def test_a_cycle_carries_one_loss():
    w = m.peak_window(P)
    # The window climbs from W/2 to W in W/2 round trips: its mean is 3/4 W.
    np.testing.assert_allclose(0.75 * w * w / 2, 1 / P)
    np.testing.assert_allclose(m.periodic_bandwidth(P, 0.1, 1000) * 0.1 / 8000, 0.75 * w)


@pytest.mark.parametrize(("increase", "c"), [(1.0, np.sqrt(1.5)), (0.5, np.sqrt(0.75))])
def test_the_constants_are_those_of_a_window_by_itself(increase, c):
    """M-T1a and M-T1b without a TCP: C does not depend on p; loss at random instead leaves larger windows
    (M-T1c and M-T1d).
    """
    assert constant(1e-3, increase, random=False) == pytest.approx(c, rel=2e-3)
    assert constant(4e-3, increase, random=False) == pytest.approx(c, rel=4e-3)
    assert constant(1e-2, increase, random=True) > 1.04 * c
    assert constant(1e-2, increase, random=True) == constant(1e-2, increase, random=True)


def test_bandwidths_scale():
    one = m.bandwidth(P, 0.1, 1460, 0.9)
    np.testing.assert_allclose(m.bandwidth(P, 0.2, 1460, 0.9), one / 2)
    np.testing.assert_allclose(m.bandwidth(P, 0.1, 4380, 0.9), one * 3)
    np.testing.assert_allclose(m.bandwidth(4 * P, 0.1, 1460, 0.9), one / 2)
    np.testing.assert_allclose(m.power_law(P, 0.1, 1460, 0.9, -0.5), one)
    np.testing.assert_allclose(m.bandwidth_bound(P, 0.1, 1460), one / 0.9)


def test_losses_of_gateways_add_up():
    assert m.path_loss(1, 0.25) == pytest.approx(0.25)
    assert m.path_loss(2, 0.25) == pytest.approx(1 - 0.75**2)
    # A small loss keeps its digits.
    assert m.path_loss(3, 1e-12) == pytest.approx(3e-12, rel=1e-9)
    assert m.path_loss(2, 1.0) == 1.0
    assert m.gateway_ratio(1, 1) == 1.0


def test_long_queues_favour_long_paths():
    n = np.arange(1, 50)
    short, long = m.short_queue_share(n), m.long_queue_share(n)
    assert short[0] == long[0] == 0.5
    assert (short[1:] < long[1:]).all()


def test_the_loss_for_a_rate_gives_that_rate():
    rate = np.array([1e5, 1e6, 1e7])
    np.testing.assert_allclose(m.bandwidth_bound(m.loss_for_rate(rate, 0.1, 1460), 0.1, 1460), rate)


def test_rate_halving_never_leaves_more_than_half():
    cwnd, loss = np.meshgrid(np.arange(2, 200), np.arange(1, 10))
    left = m.rate_halving_window(cwnd, loss)
    assert (left <= cwnd / 2).all()
    # One packet for each two acks.
    assert (left * 2 <= cwnd - loss).all()
    assert (left * 2 + 1 >= cwnd - loss).all()


def test_each_signal_halves_the_overshoot():
    np.testing.assert_allclose(2.0 ** -m.overshoot_signals(P) / P, m.average_window(P, 1))
    np.testing.assert_allclose(m.overshoot_packets(P), m.overshoot_signals(P) / P)


def test_a_filled_path_without_queue_is_the_bandwidth_delay_product():
    # 28.8 kbit/s for 400 ms are 1440 bytes; the queue's five packets come on top.
    assert m.filled_window(5, 0.4, 8000 / 28_800) == pytest.approx(6.44)
