import numpy as np
import pyarrow.compute as pc
import pytest

import ackclock as ac
from ackclock._core import InputError
from ackclock.results import gaps


def test_a_gap_must_exceed_200_ms_and_1_2_round_trips():
    arrivals = [0.0, 0.1, 0.31, 0.52]
    assert gaps.infer(arrivals, 0.1).length == pytest.approx([0.21, 0.21])
    assert not gaps.infer(arrivals, 0.18).timed_out, "0.21 s is below 1.2 x 0.18 s"
    assert not gaps.infer([0.0, 0.19, 0.38], 0.01).timed_out


def test_a_further_gap_of_about_twice_the_length_is_backoff():
    assert gaps.infer([0.0, 0.3, 0.9], 0.1).consecutive.tolist() == [False, True]
    assert gaps.infer([0.0, 0.3, 0.6], 0.1).consecutive.tolist() == [False, False], "no longer than the first"
    # Something arrived in good time between the two.
    assert gaps.infer([0.0, 0.3, 0.4, 1.0], 0.1).consecutive.tolist() == [False, False]
    assert gaps.infer([0.0, 0.3, 0.9, 2.1], 0.1).consecutive.tolist() == [False, True, True]


def test_nothing_is_no_timeout():
    assert not gaps.infer([], 0.1).timed_out
    assert not gaps.infer([1.0], 0.1).backed_off


@pytest.mark.parametrize(
    ("arrivals", "rtt"), [([0.0, 1.0], 0.0), ([0.0, 1.0], np.nan), ([1.0, 0.5], 0.1), ([0.0, np.nan], 0.1)]
)
def test_what_makes_no_sense_is_refused(arrivals, rtt):
    with pytest.raises(InputError):
        gaps.infer(arrivals, rtt)


def client(run, flow):
    rows = run.traces["segments"]
    return rows.filter(pc.equal(rows["connection"], 2 * flow))


def test_a_simulated_client_sees_the_servers_timeout_and_its_length():
    # The last segment of the file is lost twice: a timeout of 1 s, then one of 2 s, in a single gap.
    fault = ac.fault.SegmentLoss(offset="9000B", flow=0, times=2)
    path = ac.Single(ac.Link("10Mbit/s", delay="20ms", faults=fault), rtt="60ms")
    web = ac.Web(sizes=ac.sizes.Fixed(bytes="10000B"), arrival_rate=4)
    tcp = ac.Stack("sack", timer=ac.Rfc6298(min_rto="1s"), karn_backoff=False)
    run = ac.simulate(path, web, tcp, duration="2s", drain="20s", trace="packets")
    assert run.flows["timeouts"].to_pylist()[0] == 2
    arrivals, rtt = gaps.handshake(client(run, 0))
    assert rtt == pytest.approx(0.06, abs=0.005)
    found = gaps.infer(arrivals, rtt)
    assert found.length == pytest.approx([3.0], abs=0.1)
    for flow in range(1, run.flows.num_rows):
        assert not gaps.infer(*gaps.handshake(client(run, flow))).timed_out
