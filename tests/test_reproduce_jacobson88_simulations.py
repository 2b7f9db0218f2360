"""The simulated items of jacobson88: their measurements, in small runs with known results."""

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.models.jacobson88.shared_medium import Bench
from ackclock.reproduce import Setting
from ackclock.reproduce.jacobson88 import f9_with_avoidance as f9
from ackclock.reproduce.jacobson88 import n1_first_collapse as n1
from ackclock.reproduce.jacobson88 import n2_burst as n2
from ackclock.reproduce.jacobson88 import n4_damage_loss as n4
from ackclock.reproduce.jacobson88 import senders, testbed
from ackclock.reproduce.jacobson88 import x1_idle_restart as x1
from ackclock.reproduce.jacobson88 import x3_rate_based as x3
from ackclock.reproduce.jacobson88 import x4_multiplicative_increase as x4
from ackclock.reproduce.jacobson88 import x5_decrease as x5
from ackclock.reproduce.jacobson88 import x9_backoff as x9
from ackclock.reproduce.jacobson88 import x13_dynamic_range as x13
from ackclock.reproduce.jacobson88.receivers import Effect


def test_one_transfer_has_all_of_the_link_before_and_after():
    assert all(
        g == pytest.approx(1, abs=0.02)
        for g in n1.goodput(n1.scenario(500, 1, 1200).simulate(), 1200).values()
    )


def test_a_window_is_sent_at_once_only_without_slow_start():
    path = ac.Single(senders.line(n2.ETHERNET, 1e-6, 50))
    old, _, _ = n2.arrivals(Setting(), path, senders.old(8))
    new, _, _ = n2.arrivals(Setting(), path, senders.new(8))
    assert (old == old[0]).sum() == 8
    assert (new == new[0]).sum() == 1


def test_damage_costs_a_larger_window_more():
    small, large = (n4.lost_share(Setting(), w, "restart-on-ack") for w in n4.WINDOWS)
    assert all(a < b for a, b in zip(small, large, strict=True))
    assert all(np.diff(small) > 0)


def test_the_share_is_that_of_the_windows():
    rows = {"connection": [0, 0, 2, 2], "time": [1.0, 70.0, 60.0, 100.0], "cwnd": [3000, None, 1000, 3000]}
    t, share = x5.share(pa.table(rows), 60.0)
    assert share[t < 39] == pytest.approx(0.25)
    assert share[t > 46] == pytest.approx(0.5)


def test_the_fastest_and_the_slowest_line():
    for rate in (x13.RATES[0], x13.RATES[3]):
        row = x13.row(rate, 0.5, ac.sweep.run_all(x13.scenarios(rate, 0.5)))
        assert 0.9 <= row["utilisation"] <= 1.01
        assert row["spurious, later"] == 0


def test_the_bulk_phase_begins_with_one_packet_only_after_an_idle_restart():
    found, _ = x1.phases(Setting(), 9600, 512, "restart-on-ack", "every-segment")
    assert (found[x1.WITH]["burst"], found[x1.WITHOUT]["burst"]) == (1, 9)
    assert all(n["spurious"] == n["spurious before"] == 0 for n in found.values())


def test_multiplicative_increase_leaves_the_link_idle():
    case = (1, x4.BUFFER, 0.5, "newreno", 150)
    rows, _ = x4.read(x4.scenario(*case).simulate(), *case)
    additive, multiplicative = rows
    assert additive["increase"] == x4.ADDITIVE
    assert additive["idle"] < 0.05 < multiplicative["idle"]


def test_a_throughput_goes_to_nothing_or_does_not():
    falls = {n: 1 / n for n in x9.SOURCES}
    assert x9.goes_to_nothing(falls)
    assert not x9.goes_to_nothing({**falls, 256: 1.0})
    assert not x9.goes_to_nothing({n: 0.4 - n / 10_000 for n in x9.SOURCES})


def test_one_source_never_fails_and_two_with_a_slot_to_choose_collide_for_ever():
    assert Bench(1, "exponential", slots=2000).run("collision").mean() == pytest.approx(1 / 4.5, rel=0.1)
    assert Bench(2, "none", timeout=1, slots=100).run("collision").sum() == 0
    assert Bench(2, "none", timeout=1, slots=100).run("drop-tail").mean() > 0.98
    assert Bench(4, "linear").waits()[:4].tolist() == [8, 8, 16, 24]
    with pytest.raises(ac.InputError, match="not a medium"):
        Bench(2, "none").run("ether")


def test_a_line_is_fitted_and_a_source_counted():
    slope, r2 = x3.fit(np.arange(10.0), 3 + 2 * np.arange(10.0))
    assert (slope, r2) == pytest.approx((2, 1))
    counts, dropped = x3.sent(Setting(), x3.additive(0.1), senders.line(10e6, 0.01, 10), np.array([1.0, 2.0]))
    assert dropped == 0
    # From 10 a second on the rate grows by a tenth of a packet per second with each packet.
    assert 9 <= counts[0] <= 11
    assert 11 <= np.diff(counts)[0] <= 13


def test_the_receivers_effect_is_the_median_over_the_delays():
    def at(speed, old, new):
        return [Effect(speed, old, new, 0.01)] * len(f9.ORDERS)

    found = at(1.0, 0.01, 0.01) + at(1.8, 0.018, 0.005) + at(2.5, 0.05, 0.005)
    assert f9.over_delays(found) == pytest.approx((1.8, 3.6))


def test_the_old_tcp_is_that_of_4_3bsd():
    stack = ac.Scenario.of(
        ac.Single(ac.Link("1Mbit/s"), rtt="1s"), ac.Bulk(), {"old": testbed.old_tcp()}
    ).resolve_tree()["stacks"]["old"]
    assert stack["backoff"]["kind"] == "bsd43-table" and stack["backoff"]["release"] == "4.3BSD"
    assert (stack["estimator"]["min_rto"], stack["estimator"]["max_rto"]) == ("1s", "30s")
    assert stack["karn_samples"] and not stack["karn_backoff"]
