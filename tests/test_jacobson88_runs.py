"""What the simulations of Jacobson & Karels rest on: spikes and their decay, the four conversations, and
stacks that workloads name.
"""

import itertools

import numpy as np
import pytest

import ackclock as ac
from ackclock.reproduce.jacobson88 import f3_without_slow_start as f3
from ackclock.reproduce.jacobson88 import f9_with_avoidance as f9
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.receivers import Effect, burst, packets_per_ack
from ackclock.reproduce.jacobson88.u2_rates import held_back, windows_read
from ackclock.results.spikes import Spike, decay, spikes


def test_spikes_show_the_window_wherever_the_bins_lie():
    got, wanted = windows_read()
    assert got.size == wanted.size == 60
    assert np.abs(got - wanted).max() <= 1


def test_a_fall_without_a_rise_is_no_spike_and_low_ones_do_not_count():
    time, amount = held_back([32], [30.0])
    lasting = np.where((time > 60) & (time < 70), 0, amount)
    assert [round(s.height) for s in spikes(time, lasting, 3.0, 50, 5, 100)] == [31]
    assert spikes(time, amount, 3.0, 50, 40, 100) == []
    assert spikes(np.array([]), np.array([]), 3.0, 0.0, 5, 100) == []
    assert spikes(time, amount, 3.0, 50, 5, 4.0) == []


def test_the_higher_side_of_a_spike_is_its_height():
    assert Spike(3.0, 20.0, 31.0).height == 31.0


def test_a_decay_is_fitted_and_a_growth_has_a_negative_constant():
    at = np.array([15.0, 33.0, 57.0])
    assert decay(at, 40 * np.exp(-at / 28)) == pytest.approx((40, 28))
    assert decay(at, 40 * np.exp(at / 28))[1] == pytest.approx(-28)


def test_old_and_new_tcp_differ_in_what_the_paper_changed():
    old, new = (
        ac.simulate(testbed.one_conversation(), ac.Bulk(), {"x": s}, duration="5s").scenario
        for s in (testbed.old_tcp(), testbed.new_tcp())
    )
    for line in (
        'kind = "receiver-only"',
        # 4.3BSD ended the timing at a timeout, but any new ack ended the backoff.
        "karn_samples = true",
        "karn_backoff = false",
        'kind = "bsd43-table", release = "4.3BSD"',
        'kind = "none"',
        'rcv_buf = "16384B"',
        'mss = "512B"',
    ):
        assert line in old, line
    for line in (
        'kind = "reno"',
        "karn_samples = true",
        "karn_backoff = true",
        'kind = "exponential"',
        'kind = "jacobson88-ticks"',
        'rcv_buf = "16384B"',
    ):
        assert line in new, line


def test_a_start_is_the_same_each_time_and_depends_on_the_clock_of_the_host():
    first, second = (
        f3.starts(testbed.old_tcp(), testbed.one_conversation("100ms"), testbed.LINK_DATA, phases=4)
        for _ in range(2)
    )
    assert [s.used for s in first] == [s.used for s in second]
    assert len({s.used for s in first}) > 1
    assert all(f3.shifted(s).time[0] < 1.0 for s in first)


def test_the_four_conversations_deliver_all_of_their_data_and_keep_their_stacks():
    run = four.new_run(20)
    totals = four.Totals.of(run, 400)
    assert (totals.finished, totals.sent - totals.resent) == (4, 4 * 2048)
    assert [f["stack"] for f in run.flows.to_pylist()] == list(four.MIX)
    assert [f["start"] for f in run.flows.to_pylist()] == [0, 3, 6, 9]
    old, new = (packets_per_ack(run, n) for n in (0, 1))
    assert new <= 2 < old
    # Acks clock the packets: many of them together go where acks are few.
    transfers = list(testbed.connections(run).values())
    assert burst(transfers[0]) > 2 * burst(transfers[1])


def test_effects_are_measured_over_all_orders_of_the_receivers():
    assert len(f9.ORDERS) == 6
    assert {tuple(sorted(order)) for order in f9.ORDERS} == {tuple(sorted(four.MIX))}
    found = f9.effects(delays=(10,))
    row = Effect.summary(found)
    assert row["runs"] == 6
    assert row["speed_min"] <= row["speed"] <= row["speed_max"]
    assert {"reading", *row} >= {"share", "loss_ratio"}
    assert Effect.line({"reading": "x", **row}).startswith("x: ")


def test_every_reading_of_the_unstated_changes_what_runs():
    texts = {
        name: repr((stack, path, rate, load)) for name, (stack, path, rate, load) in f3.readings().items()
    }
    assert len(set(texts.values())) == len(texts)
    changes = list(f9.readings(True).values())
    assert len(changes) == 4 * 3 * 3 * 3 + len(f9.OTHERS)
    assert all(a != b for a, b in itertools.combinations(map(repr, changes), 2))
    assert set(f9.readings(False)) < set(f9.readings(True))
    assert f9.readings(False)["as chosen"] == {}
