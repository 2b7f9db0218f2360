"""The formulas of backoff2008 at the register's points, to six significant digits."""

import numpy as np
import pytest

from ackclock.models import FORMULAS
from ackclock.models import backoff2008 as b

FOUR = [0.2, 0.5, 1.0, 3.0]


def six_digits(got, expected):
    np.testing.assert_allclose(got, expected, rtol=5e-6, atol=0)


@pytest.mark.parametrize(("flows", "p"), [(100, 0.5), (120, 0.583333)])
def test_e1_loss_ratio(flows, p):
    six_digits(b.retransmission_loss(np.ones(flows), 50), p)


def test_e1_is_zero_without_congestion():
    assert b.retransmission_loss([1.0, 1.0], 50) == 0


def test_e2_response_time():
    six_digits(b.response_time(10, 1, 0.5), 20)


def test_e3_response_time_without_backoff():
    six_digits(b.retransmission_loss(FOUR, 5), 0.4)
    six_digits(b.response_time_without_backoff([10] * 4, FOUR, 5), [3.33333, 8.33333, 16.6667, 50.0])
    six_digits(b.response_time_without_backoff([10] * 4, FOUR, 5), b.response_time(10, FOUR, 0.4))


@pytest.mark.parametrize(("k", "load"), [(0, 8.33333), (0.736966, 5.0), (1, 4.16667)])
def test_e4_load_after_backoff(k, load):
    six_digits(b.backed_off_load(FOUR, k), load)


def test_e5_exponent():
    six_digits(b.required_exponent(FOUR, 5), 0.736966)
    six_digits(b.required_exponent(np.ones(120), 50), 1.26303)


def test_e6_response_time_with_backoff():
    six_digits(b.response_time_with_backoff([10] * 4, FOUR, 1), [4, 10, 20, 60])
    six_digits(b.response_time_with_backoff(10, 1, 2), 40)
    six_digits(b.response_time_without_backoff(np.full(120, 10), np.ones(120), 50)[0], 24)


def test_theorem_2_1_backoff_never_shortens_a_response():
    rng = np.random.default_rng(2008)
    for _ in range(10_000):
        flows = int(rng.integers(1, 40))
        rto = rng.uniform(0.05, 10, flows)
        packets = rng.integers(1, 2000, flows)
        capacity = (1 / rto).sum() * rng.uniform(0.01, 0.999)
        without = b.response_time_without_backoff(packets, rto, capacity)
        k = b.required_exponent(rto, capacity)
        np.testing.assert_allclose(b.response_time_with_backoff(packets, rto, k), without, rtol=1e-12)
        assert (b.response_time_with_backoff(packets, rto, np.ceil(k)) >= without * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("share", "alphas"),
    [
        (0.05, [0.000495, 0.002375, 0.002475]),
        (0.25, [0.002475, 0.011875, 0.012375]),
        (1, [0.0099, 0.0475, 0.0495]),
    ],
)
def test_e7_dead_packets(share, alphas):
    six_digits(b.dead_packets(share, [0.01, 0.05, 0.01], [0.01, 0.05, 0.05]), alphas)


@pytest.mark.parametrize(
    ("p", "three", "five"),
    [(0.1, 0.001, 1e-5), (0.25, 0.015625, 0.000976562), (0.45, 0.091125, 0.0184528), (0.5, 0.125, 0.03125)],
)
def test_e8_syn_rejection(p, three, five):
    six_digits(b.syn_rejection(p, [3, 5]), [three, five])


def test_formulas_broadcast_over_leading_axes():
    rto = np.array([FOUR, [1.0] * 4])
    assert b.retransmission_loss(rto, [5, 2]).shape == (2,)
    assert b.response_time_without_backoff(np.full((2, 4), 10), rto, [5, 2]).shape == (2, 4)


def test_each_formula_declares_every_argument():
    import inspect

    assert sum(f.paper == "backoff2008" for f in FORMULAS.values()) == 9
    for f in FORMULAS.values():
        assert list(inspect.signature(f.function).parameters) == list(f.inputs)
        assert f.function.__doc__.partition("Source:")[2].strip()
        assert f.paper != "backoff2008" or "Mondal & Kuzmanovic 2008" in f.function.__doc__


def test_e9_a_survey_counts_connections_that_see_backoff():
    # B-E9
    assert b.survey_backoff() == pytest.approx(0.0416)
    assert b.survey_backoff([0.08, 0.5], 1.0) == pytest.approx([0.08, 0.5])
