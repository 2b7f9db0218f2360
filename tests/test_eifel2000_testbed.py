"""What the measurements of the Eifel paper are read with, and that their checks can fail."""

import numpy as np
import pytest

import ackclock as ac
from ackclock.reproduce.eifel2000 import f5_restart, testbed
from ackclock.reproduce.eifel2000.f8_precise_restart import Reading
from ackclock.reproduce.eifel2000.f9_zoom import expiries


def log(*flights, gap=0.0):
    """Samples of so many service times each, `(rtt, count)`, a unit apart; `gap` before each drop."""
    time, rtt, now = [], [], 0.0
    for n, (value, count) in enumerate(flights):
        now += gap if n and value < flights[n - 1][0] else 0.0
        for _ in range(count):
            now += 1.0
            time.append(now)
            rtt.append(float(value))
    return testbed.Log(np.array(time), np.array(rtt), 2 * np.array(rtt))


def test_cycles_begin_at_drops_and_end_at_silences():
    rise = [(10, 10), (15, 15), (20, 20)]
    for gap in (0.0, 45.0):
        found = log(*rise, *rise, *rise, gap=gap).cycles()
        # The first cycle may still be the start, and the last one is not over.
        assert found == [slice(45, 90)]
    # A single sample between two silences belongs to neither cycle.
    late = log(*rise, *rise, (19, 1), *rise, gap=45.0)
    assert late.cycles() == [slice(45, 90)]


def test_lines_break_where_no_samples_came():
    found = log((10, 3), (5, 2), gap=20.0)
    time, rtt = testbed.with_gaps(found, found.rtt)
    assert time.size == 6
    assert np.flatnonzero(np.isnan(rtt)).tolist() == [3]


def test_the_two_countdowns_differ_by_the_age():
    old, new = (f5_restart.cut(host, 5) for host in f5_restart.HOSTS)
    assert old.age == pytest.approx(4 * testbed.SERVICE)
    assert old.effective - new.effective == pytest.approx(old.age, abs=2 * testbed.TICK)
    # Judged by the other's rule, each falls short.
    assert abs(old.effective - old.rto) > testbed.TICK
    assert abs(new.effective - new.rto - new.age) > testbed.TICK


def outcome(reading):
    return reading.gain(reading.scenario().simulate())


def test_what_moves_the_gain_of_a_precise_countdown():
    def gain(*reading, **more):
        return outcome(Reading(8, "slow start at ssthresh", *reading, seconds=1200, **more))["gain"]

    # With timestamps the arithmetic does not matter; with Karn's rule ticks that are rounded up keep a little
    # of the gain, real numbers lose it; where duplicate acks repair, a countdown has nothing to gain.
    assert gain("integer ticks") > 25
    assert gain("real, exact samples") > 25
    assert (
        gain("real, exact samples", "every segment, Karn") < 5 < gain("integer ticks", "every segment, Karn")
    )
    assert abs(gain("integer ticks", room=3)) < 2


def test_a_fourth_segment_lets_duplicate_acks_repair():
    assert outcome(Reading(seconds=600))["fast_recoveries_L"] == 0
    assert outcome(Reading(room=3, seconds=600))["fast_recoveries_L"] > 10


def test_expiries_come_with_their_duplicate_acks():
    run = Reading(seconds=300).scenario(["packets"]).simulate()
    found = expiries(testbed.rows(run, "segments", "REXMT_E"))
    assert len(found) > 10
    assert {e.duplicates.size for e in found} == {2}
    assert all(e.acked < e.at < e.third for e in found)


def test_a_fast_retransmission_that_leaves_the_countdown_alone_lets_a_collapsed_timeout_expire():
    stacks = {
        "as Lite had it": testbed.lite(),
        "standard": testbed.lite().but(timer=ac.timer.RestartOnAck(heartbeat="500ms")),
    }
    run = testbed.transfer(testbed.line(), stacks, 12_000)
    timeouts = dict(zip(run.flows["stack"].to_pylist(), run.flows["timeouts"].to_pylist(), strict=True))
    assert timeouts["standard"] > timeouts["as Lite had it"]
