"""The series of jacobson88 and the items that replay timers over them: what the checks rest on, and that they
can fall short.
"""

import numpy as np
import pytest

from ackclock import InputError
from ackclock.models.jacobson88 import round_trips as series
from ackclock.models.timer import Timer
from ackclock.reproduce.jacobson88 import f6_mean_and_deviation as f6
from ackclock.reproduce.jacobson88 import n9_twelve_packets as n9
from ackclock.reproduce.jacobson88 import timers, x2_weight, x8_asymmetry


def test_the_arpanet_series_has_the_paper_s_shape():
    s = series.arpanet(jitter=0.0)
    rtt = s["rtt"]
    assert rtt.shape == s["time"].shape == (110,)
    assert (np.diff(s["time"]) >= 0).all()
    np.testing.assert_allclose(rtt[:9], 2.5)
    np.testing.assert_allclose(rtt[9:17], rtt[17:25])
    assert rtt[9:49].max() == pytest.approx(3.5)
    assert rtt[57:66] == pytest.approx(10.0)
    np.testing.assert_allclose(rtt[73:], 2.5)
    assert not np.array_equal(series.arpanet(1)["rtt"], series.arpanet(2)["rtt"])
    np.testing.assert_array_equal(series.arpanet(3)["rtt"], series.arpanet(3)["rtt"])
    with pytest.raises(InputError, match="at least 80 packets"):
        series.arpanet(packets=60)


def test_slow_start_on_a_line_doubles_the_round_trip_time_of_the_packets_that_are_timed_one_by_one():
    assert series.slow_start(8)["rtt"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    once = series.slow_start(16, once=True)["rtt"]
    assert once[once > 0].tolist() == [1, 1, 2, 4, 8]


def test_a_climb_has_a_round_trip_time_for_each_packet_of_the_window():
    s = series.climb(2, 4)
    assert s["rtt"].tolist() == [2, 2, 3, 3, 3, 4, 4, 4, 4]
    assert (np.diff(s["time"]) == 1).all()
    assert series.climb(2, 4, once=True)["rtt"].tolist() == [2, 0, 3, 0, 0, 4, 0, 0, 0]
    with pytest.raises(InputError):
        series.climb(4, 2)


def test_the_queue_has_the_mean_of_a_queue_with_random_arrivals():
    rtt = series.queueing(0.5, 200_000, 1.0, 0.25)["rtt"]
    assert rtt.mean() == pytest.approx(1 + 0.25 / 0.5, rel=0.02)
    with pytest.raises(InputError):
        series.queueing(1.0, 10, 1.0, 0.25)


def test_packets_are_sent_at_random_phase():
    s = series.phased(np.full(50_000, 5.3))
    ticks = np.floor(s["time"]) - np.floor(s["time"] - s["rtt"])
    assert set(ticks) == {5.0, 6.0}
    assert ticks.mean() == pytest.approx(5.3, abs=0.01)


def test_the_given_start_is_the_golden_rows():
    assert x8_asymmetry.golden(16, 10, 2) == ["(24 8 11)", "(31 13 16)"]


def test_times_to_rise_and_fall_are_derived_from_a_timeout():
    rto = np.full(110, 2.0)
    # Highest at packet 60, ten after the last quiet one; packet 70 is the last with half of the excess, the
    # fifth from the 66th on.
    rto[50:60] = np.linspace(2.8, 10, 10)
    rto[60:80] = np.linspace(9.6, 2, 20)
    assert f6.rise_and_fall(rto) == (10, 5)


def test_a_weight_of_two_falls_behind_where_increments_are_close():
    assert n9.smallest(Timer("jacobson88", (*timers.REAL.params, ("weight", "2"))), series.climb(1, 20)) == 2
    assert n9.smallest(timers.REAL, series.climb(1, 12)) is None


def test_a_check_of_the_weights_can_fall_short():
    assert x2_weight.more("x", {2: 3, 4: 0}).holds
    assert not x2_weight.more("x", {2: 0, 4: 0}).holds
    assert not x2_weight.more("x", {2: 3, 4: 3}).holds


@pytest.mark.parametrize(
    "made",
    [
        lambda: series.arpanet(packets=10**9),
        lambda: series.slow_start(0),
        lambda: series.climb(1, 10**6),
        lambda: series.step(1, 2, 3, 10**9),
        lambda: series.queueing(0.5, 10**6, 1.0, 0.25, every=100),
        lambda: series.queueing(1 - 1e-6, 10, 1.0, 0.25),
    ],
)
def test_a_series_has_a_largest_size(made):
    with pytest.raises(InputError, match="are possible"):
        made()
