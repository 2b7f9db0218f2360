"""I-F11 and I-F12: what is counted of Smart Framing, and that its checks can fall short."""

import numpy as np
import pytest

from ackclock.reproduce.interactive2007 import f11_framing_states as f11
from ackclock.reproduce.interactive2007 import f12a_framing_drop_tail as f12a
from ackclock.reproduce.interactive2007 import f12b_framing_red as f12b
from ackclock.reproduce.interactive2007 import framing, testbed


def test_whole_packets_have_no_fast_recovery():
    """Plain TCP has no duplicate acks: every loss is TO, and the frequencies are not those of Smart
    Framing.
    """
    scenario = f11.scenario(0.1, 1, 3000)
    found = f11.transitions(scenario.but({"stacks.TCP-SF.preset": "sack+no-limited-transmit"}).simulate())
    assert found["S to FR"].value < 0.005
    assert found["S to TO"].value == pytest.approx(0.1, abs=0.02)
    assert not all(c.holds for c in f11.judged(0.1, found))


def test_every_packet_is_counted_once():
    found = f11.transitions(f11.scenario(0.05, 2, 3000).simulate())
    assert sum(found[name].count for name in ("S to S", "S to FR", "S to TO")) == 3000
    assert found["FR to TO"].of == found["S to FR"].count


def test_a_frequency_three_sigma_away_is_reported():
    ps = 0.1
    exact = {name: f11.Share(round(10_000 * float(form(ps))), 10_000) for name, form in f11.FORM.items()}
    assert all(c.holds for c in f11.judged(ps, exact))
    away = {**exact, "S to FR": f11.Share(exact["S to FR"].count + 100, 10_000)}
    assert [c.name for c in f11.judged(ps, away) if not c.holds] == ["ps = 0.1: S to FR"]


def point(loss, small, ratio):
    times = np.array([0.1, 0.11])
    return framing.Point(
        8,
        {framing.TCP: times, framing.FRAMED: ratio * times},
        {framing.TCP: np.array([loss, loss]), framing.FRAMED: np.array([small, small])},
        {framing.TCP: loss, framing.FRAMED: 3 * small},
    )


def test_points_outside_the_range_are_not_compared():
    points = [point(0.01, 0.01, 9.0), point(0.05, 0.02, 1.2), point(0.2, 0.1, 9.0)]
    assert [p.ratio for p in framing.compared(points)] == pytest.approx([1.2])
    assert "5 % and 2 %" in str(points[1])


def test_framing_that_is_not_slower_is_reported():
    def found(in_bytes, in_packets):
        return {
            testbed.DROP_TAIL_BYTES: [point(0.05, 0.05, in_bytes)],
            testbed.DROP_TAIL_PACKETS: [point(0.05, 0.05, in_packets)],
        }

    assert [c.holds for c in f12a.judged(found(1.2, 1.5))] == [True, True]
    assert [c.holds for c in f12a.judged(found(1.05, 1.01))] == [False, False]


def test_framing_that_is_much_faster_is_reported_as_well():
    def found(in_bytes, in_packets):
        return {
            testbed.RED_BYTES: [point(0.05, 0.02, in_bytes)],
            testbed.RED: [point(0.05, 0.05, in_packets)],
        }

    assert [c.holds for c in f12b.judged(found(0.95, 1.2))] == [True, True]
    assert [c.holds for c in f12b.judged(found(0.5, 0.9))] == [False, False]
    assert [c.holds for c in f12b.judged(found(1.1, 1.0))] == [False, True]


def test_small_segments_time_out_less_by_their_size_alone():
    ratios = [framing._by_size(p) for p in (0.02, 0.05, 0.1)]
    assert ratios == pytest.approx([0.911076, 0.902733, 0.888943], abs=1e-6)
