"""I-F9: where a latency has departed, how steeply it rises from there, and that the checks can fall short."""

import numpy as np
import pytest

from ackclock.reproduce.interactive2007 import latency, sustained, testbed
from ackclock.reproduce.interactive2007.sustained import APPROACHES, Approach, Curve


def curve(approach: Approach, full: float, steep: float) -> Curve:
    """Flat up to a number of flows, a straight line from there, for two seeds."""
    n = np.array(approach.flows, float)
    means = 0.1 + np.maximum(n - full, 0) * steep
    return Curve(approach, np.stack([means, means], axis=1))


def test_a_departure_is_where_the_line_crosses():
    n = np.array([10.0, 20.0, 30.0])
    assert latency.crossing(n, np.array([1.0, 1.0, 3.0]), 2.0) == 25.0
    assert latency.crossing(n, np.array([3.0, 1.0, 3.0]), 2.0) == 10.0
    assert latency.crossing(n, np.array([1.0, 1.0, 1.0]), 2.0) == float("inf")
    interactive = APPROACHES[0]
    assert curve(interactive, 340, 0.01).departure == pytest.approx(345)


def test_a_departure_elsewhere_is_reported():
    good = [curve(a, {540: 340, 720: 255, 1080: 170, 0: 15}[a.bytes], 0.01) for a in APPROACHES]
    assert all(c.holds for c in sustained.departures(good))
    late = [curve(a, 460, 0.01) for a in APPROACHES]
    assert not any(c.holds for c in sustained.departures(late))


def test_the_slope_is_that_beyond_the_departure():
    c = curve(
        sustained.of([curve(a, 170, 0.004) for a in APPROACHES], sustained.DIVERSITY).approach, 170, 0.004
    )
    assert c.slope() == pytest.approx(0.004)
    assert np.isnan(curve(c.approach, 490, 0.1).slope())


def test_diversity_that_is_slower_at_many_flows_is_reported():
    fast = [curve(a, 170, 0.001) for a in APPROACHES]
    assert sustained.beyond(fast).holds
    slow = [curve(a, 170, 0.01 if a.name == sustained.DIVERSITY else 0.001) for a in APPROACHES]
    assert not sustained.beyond(slow).holds


def test_each_approach_offers_what_the_closed_form_has():
    for a in APPROACHES:
        if not a.bytes or a.name == sustained.DIVERSITY:
            continue
        run = sustained.scenario(a, 60, testbed.DROP_TAIL_BYTES, 1, 60.0, sustained.RTT).simulate()
        link = run.links.to_pylist()[0]
        # Bytes on the way there for each packet of data: those of I-E16.
        assert link["bytes"] / latency.total(run, "responses") == pytest.approx(a.bytes, rel=0.02), a.name


def test_response_times_are_averaged_over_packets():
    a = APPROACHES[0]
    run = sustained.scenario(a, 5, testbed.RED, 1, 20.0, sustained.RTT).simulate()
    rows = [r for r in run.flows.to_pylist() if r["responses"]]
    assert latency.mean(run) == pytest.approx(
        sum(r["responses"] * r["response_time"] for r in rows) / sum(r["responses"] for r in rows)
    )
    assert latency.loss(run) == 0.0
    assert np.isnan(latency.mean(run, "nothing"))
