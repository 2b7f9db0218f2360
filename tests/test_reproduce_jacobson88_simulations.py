"""The simulated items of jacobson88: what they measure is what they say, in small runs with known answers."""

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.reproduce import Setting
from ackclock.reproduce.jacobson88 import n1_first_collapse as n1
from ackclock.reproduce.jacobson88 import n2_burst as n2
from ackclock.reproduce.jacobson88 import n4_damage_loss as n4
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88 import x5_decrease as x5
from ackclock.reproduce.jacobson88 import x13_dynamic_range as x13


def test_one_transfer_has_all_of_the_link_before_and_after():
    assert all(g == pytest.approx(1, abs=0.02) for g in n1.goodput(Setting(), 500, 1).values())


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
        row = x13.run(Setting(), rate, 0.5)
        assert 0.9 <= row["utilisation"] <= 1.01
        assert row["spurious, later"] == 0
