"""What the simulated items of jacobson88 read from traces: the gateway's queue, its drops, cycles and
recoveries.
"""

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.reproduce.jacobson88 import n6_drop_rate as n6
from ackclock.reproduce.jacobson88 import n7_pause as n7
from ackclock.reproduce.jacobson88 import n8_two_pairs as n8
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88.gateway import Gateway, delivered


def test_packets_are_matched_in_order():
    came = np.arange(1.0, 5.0)
    assert delivered(np.array([1, 2, 3, 2, 4]), came, {1.0: 1, 2.0: 3, 3.0: 2, 4.0: 4}).tolist() == [
        True,
        False,
        True,
        True,
        True,
    ]
    # The third that came was there already: it is the repeated 1, and 2 was lost.
    assert delivered(np.array([1, 2, 3, 1, 2]), came, {1.0: 1, 2.0: 3, 4.0: 2}).tolist() == [
        True,
        False,
        True,
        True,
        True,
    ]
    # What was sent after the last one that came may be under way.
    assert delivered(np.array([1, 2, 3]), came[:1], {1.0: 1}).tolist() == [True, True, True]


def test_the_queue_counts_the_packet_being_sent():
    g = Gateway(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), np.array([0.5]), np.array([0]))
    assert g.queue(np.array([0.0, 0.5, 1.0, 2.5, 3.0])).tolist() == [2, 2, 2, 1, 0]
    mean, variance, idle = g.statistics(0.0, 4.0)
    assert (mean, variance, idle) == pytest.approx((5 / 4, (4 + 4 + 1) / 4 - (5 / 4) ** 2, 0.25))


def test_the_gateway_agrees_with_the_books_of_the_link():
    path = ac.Single(senders.line(56_000, 0.05, 7))
    r = ac.simulate(path, ac.Bulk(flows=2), {"new": senders.new(8)}, duration="60s", trace=["packets"])
    g, link = Gateway.of(r.traces["segments"], "new", 0.05), r.links.to_pylist()[0]
    assert len(g.dropped) == link["dropped_queue"] > 0
    # What leaves in the last 50 ms has not reached the receiver by the end, and is not seen to leave.
    t = g.moments(0, 59.9)
    assert (g.queue(t) >= 0).all()
    # One packet more than the link's queue, which does not count the one being sent.
    assert g.queue(t).max() == link["queue_max_packets"] + 1
    assert 1 - g.statistics(0, 60)[2] == pytest.approx(link["utilisation"], abs=0.02)


def test_the_peak_and_the_mean_of_a_saw_tooth():
    cwnd = np.tile([4.0, 5.0, 6.0, 7.0], 10) * senders.DATA
    samples = pa.table({"time": np.arange(40.0), "cwnd": cwnd.astype(int)})
    episodes = pa.table({"begin": np.arange(4.0, 40.0, 4.0)})
    made = n6.measured(samples, episodes, {"dropped_queue": 1, "packets_offered": 50, "utilisation": 1.0})
    assert made == {"peak": 7.0, "mean": 5.5, "p": 0.02, "cycles": 6.0, "utilisation": 1.0}


def test_a_recovery_with_two_drops_does_not_count():
    g = Gateway(np.array([0.0, 40.0]), np.array([1.0, 41.0]), np.array([31.0, 41.0, 41.5]), np.zeros(3, int))
    episodes = pa.table({"begin": [32.0, 42.0], "end": [33.0, 43.0]})
    sent = np.arange(0.0, 50.0)
    assert [r["drop (s)"] for r in n7.recoveries(g, episodes, sent, 30.0)] == [31.0]


def test_losses_are_counted_by_connection_and_cycle():
    g = Gateway(np.array([]), np.array([]), np.array([31.0, 32.0, 41.0, 42.0]), np.array([0, 1, 0, 0]))
    episodes = pa.table({"run": ["x"] * 4, "connection": [0, 0, 2, 2], "begin": [35.0, 45.0, 35.0, 45.0]})
    assert sorted(n8.losses(g, episodes, "x")) == [1, 1, 2]
