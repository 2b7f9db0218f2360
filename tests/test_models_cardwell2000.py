"""Cardwell's latency of short transfers: each part against the sum or the growth that it is derived from."""

import numpy as np
import pytest

from ackclock.models import cardwell2000 as c
from ackclock.models import pftk98 as f


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("d", [1, 2, 10, 100])
def test_slow_start_sends_up_to_the_first_loss(d, p):
    """Segment k is sent if the k - 1 before it arrive. As printed the lost one counts even where none is
    lost, with a chance of (1-p)^d.
    """
    assert c.slow_start_data(d, p) == pytest.approx(sum((1 - p) ** (k - 1) for k in range(1, d + 1)))
    before = sum((1 - p) ** k * p * k for k in range(d)) + (1 - p) ** d * d
    assert c.slow_start_data_printed(d, p) == pytest.approx(before + 1)
    assert c.slow_start_data_printed(d, p) - c.slow_start_data(d, p) == pytest.approx((1 - p) ** d)


def test_without_loss_everything_is_slow_start():
    d = np.array([1, 10, 1000])
    assert (c.slow_start_data(d, 0) == d).all()
    assert (c.slow_start_data_printed(d, 0) == d + 1).all()
    np.testing.assert_allclose(c.slow_start_data(d, 1e-12), d)
    np.testing.assert_allclose(c.transfer_latency(d, 0, 0.1), c.slow_start_latency(d, 0.1))


@pytest.mark.parametrize(("b", "w1"), [(1, 1), (1, 10), (2, 2), (2, 10)])
def test_whole_round_trips_of_growth_take_whole_round_trips(b, w1):
    """Windows w1, g w1, g^2 w1, ... each take a round trip."""
    windows = [w1 * (1 + 1 / b) ** i for i in range(8)]
    for n in range(1, 8):
        d = sum(windows[:n])
        assert c.slow_start_latency(d, 0.1, w1, b) == pytest.approx(0.1 * n)
        assert c.slow_start_window(d, w1, b) == pytest.approx(windows[n - 1])
        # At a limit of the fourth window, later ones are as large as that.
        limit = windows[3]
        assert c.slow_start_latency(
            sum(min(w, limit) for w in windows[:n]), 0.1, w1, b, limit
        ) == pytest.approx(0.1 * n)


def test_an_initial_window_above_the_limit_is_cut():
    assert c.slow_start_latency(40, 0.1, 10, 2, 4) == pytest.approx(1.0)


@pytest.mark.parametrize(("p", "back"), [(0.0, 0.0), (0.1, 0.0), (0.05, 0.2), (0.3, 0.3)])
def test_the_handshake_is_its_sum(p, back):
    """i SYN-ACKs and j SYNs are lost first, with chances of back^i (1-back) and p^j (1-p); each run of n
    losses costs (2^n - 1) Ts.
    """
    waits = [sum(q**n * (1 - q) * (2**n - 1) for n in range(200)) for q in (p, back)]
    assert c.handshake_time(p, 0.1, back, 3) == pytest.approx(0.1 + 3 * sum(waits))


def test_a_handshake_that_loses_half_has_no_mean(ackclock):
    assert np.isinf(c.handshake_time(0.5, 0.1))
    done = ackclock("model", "handshake-time", "--p", "0.5", "--rtt", "100ms")
    assert done.code == 2
    assert done.is_one_sentence()
    assert "below 0.5" in done.err


def test_the_first_loss_costs_timeouts_or_a_round_trip():
    d, p, rtt, rto = 30, 0.02, 0.1, 1.0
    q = float(f.timeout_share(p, c.slow_start_window(c.slow_start_data(d, p))))
    timeouts = rto * float(f.backoff_factor(p)) / (1 - p)
    assert c.loss_latency(d, p, rtt, rto) == pytest.approx(
        (1 - (1 - p) ** d) * (q * timeouts + (1 - q) * rtt)
    )


def test_long_transfers_take_what_the_rate_says():
    p, rtt, d = 0.01, 0.1, 10_000_000
    assert c.transfer_latency(d, p, rtt) == pytest.approx(8 * 1460 * d / f.throughput(p, rtt), rel=1e-4)


def test_the_delayed_ack_holds_up_a_first_window_of_one():
    lone, pair = (
        c.transfer_latency(1, 0, 0.1, 1, w1, 2, np.inf, 0.1) - c.slow_start_latency(1, 0.1, w1)
        for w1 in (1, 2)
    )
    assert (lone, pair) == (pytest.approx(0.1), pytest.approx(0.0))


def test_latency_grows_with_size_loss_and_round_trip_time():
    d = np.geomspace(1, 1e5, 60)
    assert (np.diff(c.transfer_latency(d, 0.01, 0.1)) > 0).all()
    assert (np.diff(c.transfer_latency(100, np.geomspace(1e-4, 0.3, 60), 0.1)) > 0).all()
    assert (np.diff(c.transfer_latency(100, 0.01, np.linspace(0.01, 1, 60))) > 0).all()
