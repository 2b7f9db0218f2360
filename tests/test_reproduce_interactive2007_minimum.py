"""I-X4: the minimum RTO at which approach I is as fast as others, by the formulas and simulated."""

import numpy as np
import pytest

from ackclock.models import interactive2007 as models
from ackclock.reproduce.interactive2007 import latency, testbed
from ackclock.reproduce.interactive2007 import x4_minimum_rto as x4


@pytest.mark.parametrize("kind", list(x4.Q))
def test_at_equality_the_two_equations_agree(kind):
    p = np.array([0.01, 0.05, 0.1])
    q = x4.Q[kind](p, 1.0)
    floor = x4.equality(p, q, testbed.RTT)
    assert models.interactive_latency(p, testbed.RTT, floor) == pytest.approx(
        models.backlogged_latency(p, q, testbed.RTT, testbed.RTO)
    )
    assert (floor < testbed.RTO).all()


def test_each_flow_of_a_point_has_the_same_loss():
    found = {name: s.simulate() for name, s in x4.runs(0.1, 1, False).items() if name in ("0.05", "1")}
    losses = {name: latency.loss(run) for name, run in found.items()}
    assert losses == {name: pytest.approx(0.1, abs=0.02) for name in found}
    assert latency.mean(found["0.05"]) < latency.mean(found["1"])


def test_the_minimum_is_that_of_few_packets_in_flight():
    resolved = x4.runs(0.02, 1, False)["0.05"].resolve()
    assert "50ms" in resolved
    assert f'min_rto = "{testbed.RTO:g}s"' in resolved
