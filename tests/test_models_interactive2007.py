"""The formulas of interactive2007 against what they are means and chances of; the register's points are
in `ackclock reproduce`.
"""

import numpy as np
import pytest

from ackclock.models import interactive2007 as i
from ackclock.models import pftk98

P = np.array([0.001, 0.01, 0.05, 0.1, 0.2])
COUNTS = np.arange(200)[:, None]
RTT = 0.1


def test_chances_add_up_to_one():
    np.testing.assert_allclose(i.failures(P, COUNTS).sum(0), 1, rtol=1e-12)
    for copies in (1, 2, 3):
        np.testing.assert_allclose(i.diversity_failures(P, COUNTS, copies).sum(0), 1, rtol=1e-12)


def test_means_are_those_of_their_distributions():
    np.testing.assert_allclose(
        (i.failures(P, COUNTS) * i.failed_latency(COUNTS, RTT)).sum(0),
        i.interactive_latency(P, RTT),
        rtol=1e-9,
    )
    for q in (0.0, 0.3, 1.0):
        mean = (i.failures(P, COUNTS) * i.backlogged_failed_latency(COUNTS, q, RTT)).sum(0)
        np.testing.assert_allclose(mean, i.backlogged_latency(P, q, RTT), rtol=1e-9)
    padded = (i.failures(P, COUNTS) * i.backlogged_failed_latency(COUNTS, i.padded_timeouts(P), RTT)).sum(0)
    np.testing.assert_allclose(padded, i.padded_latency(P, RTT), rtol=1e-9)
    for copies in (1, 2, 3):
        mean = (i.diversity_failures(P, COUNTS, copies) * i.failed_latency(COUNTS, RTT)).sum(0)
        np.testing.assert_allclose(mean, i.diversity_latency(P, RTT, 1.0, copies), rtol=1e-9)


@pytest.mark.parametrize("latency", [i.interactive_latency, i.padded_latency, i.diversity_latency])
def test_doubled_timeouts_have_no_mean_from_one_half_on(latency):
    assert np.isfinite(latency(0.499, RTT))
    assert np.isinf(latency([0.5, 0.7], RTT)).all()
    assert np.isinf(i.backlogged_latency(0.5, 0.0, RTT))


def test_the_mean_window_is_pftks():
    b, p = 1.0, 0.02
    half = (2 + b) / (3 * b)
    np.testing.assert_allclose(
        pftk98.expected_window(p, b), half + np.sqrt(8 * (1 - p) / (3 * b * p) + half**2)
    )


def test_the_exact_share_is_that_of_drawn_losses():
    rng = np.random.default_rng(7)
    for p, w in ((0.05, 4), (0.1, 6), (0.3, 8)):
        arrived = (rng.random((200_000, w - 1)) >= p).sum(1)
        share = (arrived <= 2).mean()
        expected = i.random_timeouts_at(p, w)
        assert abs(share - expected) < 5 * np.sqrt(expected / 200_000)


def test_shares_lie_between_none_and_all():
    p = np.geomspace(1e-5, 0.6, 200)
    for b in (1, 2):
        for share in (i.correlated_timeouts(p, b), i.random_timeouts(p, b)):
            assert ((share > 0) & (share <= 1)).all()
    for power in (0, 1):
        bound = i.random_timeouts_bound(p[:, None], np.arange(1, 40), power)
        assert ((bound >= 0) & (bound <= 1)).all()
        assert (bound[:, :3] == 1).all()


def test_a_mean_over_windows_is_one():
    for p in (0.01, 0.1, 0.4):
        largest = round(2 * float(pftk98.expected_window(p, 1)))
        mean = np.mean([float(i.random_timeouts_at(p, w)) for w in range(1, largest + 1)])
        assert i.random_timeouts(p) == pytest.approx(mean, rel=1e-12)


def test_equation_8_bounds_the_exact_share():
    p = np.geomspace(0.001, 0.3, 100)
    largest = np.round(2 * pftk98.expected_window(p, 1))
    assert (i.random_timeouts_loose(p, largest) >= i.random_timeouts(p)).all()


def test_three_dummies_are_a_window_of_four():
    np.testing.assert_allclose(i.padded_timeouts(P, 4), i.random_timeouts_at(P, 4))
    np.testing.assert_allclose(i.padded_timeouts(P, 4), 1 - (1 - P) ** 3)
    assert (i.padded_timeouts(P, [[1], [2], [3]]) == 1).all()


def test_framed_packets_succeed_recover_or_time_out():
    np.testing.assert_allclose(i.framed_success(P) + i.framed_recovery(P) + i.framed_timeout(P), 1)
    np.testing.assert_allclose(i.framed_timeout(i.break_even_loss(P)), P)


def test_flows_fill_the_link():
    flows = i.flows_sustained(1.5e6, 720, 2.0)
    assert flows * 720 * 8 / 2.0 == pytest.approx(1.5e6)
