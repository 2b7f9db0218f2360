"""The simulated items of interactive2007: what they share is what the register says, and what they measure is
what they say.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ackclock as ac
from ackclock.reproduce.interactive2007 import (
    algorithms,
    approaches,
    artificial,
    f5a_cross_traffic,
    f5b_artificial_loss,
    seen,
    testbed,
    x1_always_timeout,
)
from ackclock.reproduce.interactive2007.approaches import Curve
from ackclock.reproduce.interactive2007.artificial import Point
from ackclock.reproduce.interactive2007.seen import Seen
from ackclock.reproduce.interactive2007.testbed import Mix
from ackclock.results.responses import Responses


def test_the_testbed_is_that_of_the_register():
    path = testbed.dumbbell(loss=0.02)
    resolved = testbed.scenario(
        path, testbed.telnet(3), {"TCP": testbed.tcp()}, 10, mix=testbed.MIXES[2]
    ).resolve()
    for words in (
        "5Mbit/s",
        "12ms",
        "40000B",
        'kind = "red"',
        'think = "1s"',
        'min_rto = "1s"',
        'initial_rto = "3s"',
        "p = 0.02",
        "flows = 4",
    ):
        assert words in resolved, words
    assert (
        'limit = "40000B"'
        in testbed.scenario(
            testbed.dumbbell(testbed.DROP_TAIL_BYTES), testbed.telnet(), {"TCP": testbed.tcp()}, 10
        ).resolve()
    )
    packets = testbed.scenario(
        testbed.dumbbell(testbed.DROP_TAIL_PACKETS), testbed.telnet(), {"TCP": testbed.tcp()}, 10
    ).resolve()
    assert 'limit = "74packets"' in packets
    with pytest.raises(ValueError, match="not a queue of the paper"):
        testbed.queue("droptail")


def test_cross_traffic_goes_the_way_of_the_measured_flows():
    run = testbed.scenario(
        testbed.dumbbell(), testbed.telnet(2), {"TCP": testbed.tcp()}, 10, mix=Mix(http=0.3)
    ).simulate()
    there = next(link for link in run.links.to_pylist() if link["from"] == "left")
    assert there["utilisation"] == pytest.approx(0.3, abs=0.1)
    flows = run.flows.to_pylist()
    assert {f["sender"] for f in flows if f["group"] == "http"} == {"server"}
    assert {f["stack"] for f in flows} == {"TCP", testbed.BACKGROUND}


def test_more_cross_traffic_loses_more():
    def loss(mix):
        run = testbed.scenario(
            testbed.dumbbell(), testbed.telnet(), {"TCP": testbed.tcp()}, 10, mix=mix
        ).simulate()
        there = next(link for link in run.links.to_pylist() if link["from"] == "left")
        return there["dropped_queue"] / there["packets_offered"]

    few, some, many = (loss(testbed.MIXES[i]) for i in (0, 3, 5))
    assert few < some < many
    assert str(testbed.MIXES[0]) == "1 FTP + HTTP 0.2 + UDP 0.5 Mbit/s"
    assert str(Mix()) == "nothing"


@pytest.mark.parametrize("preset", ["reno", "newreno", "sack", "fack"])
def test_a_lost_retransmission_is_a_timeout_whatever_the_recovery(preset):
    """I-A4."""

    def flow(times):
        fault = ac.fault.SegmentLoss(offset="20000B", flow=0, times=times)
        path = ac.Single(ac.Link("5Mbit/s", queue=ac.DropTail(limit="1000packets"), faults=fault), rtt="12ms")
        run = ac.simulate(
            path,
            ac.Fixed(size="100000B"),
            testbed.tcp(f"{preset}+no-limited-transmit"),
            duration="20s",
            trace=["packets"],
        )
        kinds = run.traces["segments"]
        kinds = kinds.filter(pc.and_(kinds["sent"], pc.greater(kinds["len"], 0)))["kind"].to_pylist()
        return run.flows.to_pylist()[0]["timeouts"], kinds.count("fast-retransmit") > 0

    assert flow(1) == (0, True)
    assert flow(2) == (1, True)
    assert flow(3) == (2, True)


def test_marks_favour_the_packets_after_a_silence():
    sent = np.concatenate([np.arange(0, 10, 0.01), np.arange(20, 30, 0.01)])
    zero = np.zeros(sent.size)
    after = np.isclose(sent, 20.0)
    found = Responses(sent, zero, after.astype(float), zero, zero, sent.size, 0)
    shares = [found.marked(m).own.mean() for m in seen.poisson(0.0, 30.0, 1.0)]
    assert found.own.mean() == 1 / sent.size
    assert np.mean(shares) == pytest.approx(1 / 21, rel=0.3), (
        "one of the marks, of which 20 are made while something is sent"
    )


def test_marks_are_poisson():
    gaps = np.concatenate([np.diff(m) for m in seen.poisson(5.0, 505.0, 1.0)])
    assert gaps.mean() == pytest.approx(1.0, abs=4 / np.sqrt(gaps.size))
    assert gaps.std() == pytest.approx(1.0, abs=0.05)
    assert seen.poisson(5.0, 505.0, 1.0)[0].min() > 5.0


def runs(loss, mean, n=2):
    """What some runs experienced, each with so many packets whose response times are `mean`."""
    own, cumulative, marked, counted = (
        np.full(100, mean),
        np.full(100, 2 * mean),
        np.empty(0),
        np.full(100, mean),
    )
    return [Seen(own, cumulative, marked, counted, 1000, int(1000 * loss), 3, 1, 1e6) for _ in range(n)]


def test_the_method_says_which_packets_count():
    scenario = testbed.scenario(
        testbed.dumbbell(loss=0.05),
        ac.Bulk(name="bulk", **testbed.measured()),
        {"TCP": testbed.tcp()},
        20,
        trace=["packets"],
    )
    run = scenario.simulate()
    own, text = (seen.read(run, "bulk", marks=1.0, method=m) for m in (seen.OWN, seen.TEXT))
    assert own.counted.size == own.own.size
    assert own.mean == own.own.mean()
    assert text.counted.size < 40 * seen.MARKED, "marks, one a second on average"
    assert seen.read(run, "bulk", method=seen.TEXT).mean == own.cumulative.mean(), "without marks all packets"


def test_checks_of_the_artificial_loss_can_fall_short():
    def holds(gains):
        points = [Point(p, runs(p, g * 0.01), runs(p, 0.01)) for p, g in gains.items()]
        return [c.holds for c in f5b_artificial_loss.checks(points)]

    model = {p: float(artificial.model(np.array([p]))[0]) for p in (0.01, 0.035, 0.05, 0.08)}
    good = {p: g * (1.1 if p < 0.05 else 0.8) for p, g in model.items()}
    assert holds(good) == [True] * 3
    assert holds({**good, 0.035: 1.16 * model[0.035]}) == [False, True, True]
    assert holds({**good, 0.05: 1.01 * model[0.05]}) == [True, False, True]
    assert holds({**good, 0.08: 0.9}) == [True, True, False]


def test_checks_of_the_cross_traffic_can_fall_short():
    def holds(red, tail, lows=(0.01, 0.02, 0.03)):
        tables = [pa.table({"low": lows[: len(g)], "loss": lows[: len(g)], "gain": g}) for g in (red, tail)]
        return [
            c.holds
            for c in f5a_cross_traffic.checks(dict(zip(f5a_cross_traffic.QUEUES, tables, strict=True)))
        ]

    assert holds([1.5, 2.0, 1.5], [1.1, 1.3, 1.2]) == [True] * 5
    assert holds([1.5, 2.0, 0.9], [1.1, 1.3, 1.2]) == [False, True, True, True, True]
    assert holds([1.5, 2.0, 2.1], [1.1, 1.0, 0.9]) == [True, False, True, False, False]
    assert holds([1.1, 1.2, 1.1], [1.2, 1.4, 1.2]) == [True, True, False, True, True]
    assert holds([], []) == [False] * 5, "nothing is nothing"


def test_curves_are_compared_at_the_losses_that_both_reach():
    slow = Curve("slow", testbed.MIXES[:3], [runs(p, 1 + p) for p in (0.01, 0.05, 0.09)])
    fast = Curve("fast", testbed.MIXES[:3], [runs(p, 1.0) for p in (0.03, 0.015, 0.07)])
    losses = approaches.common([slow, fast], 0.02, 0.1)
    assert losses == pytest.approx([0.02, 0.03, 0.04, 0.05, 0.06, 0.07])
    assert slow.at(0.03) == pytest.approx(1.03)
    assert approaches.no_slower("x", fast, slow, losses, tie=1.0).holds
    assert not approaches.no_slower("x", slow, fast, losses, tie=1.0).holds
    assert approaches.no_slower("x", slow, fast, losses).holds, "a tie"
    assert not approaches.no_slower("x", fast, slow, np.empty(0)).holds, "nothing is compared"


def test_the_waits_of_the_model_are_those_of_the_backoff():
    assert all(c.holds for c in algorithms.waits())


def test_a_packet_with_others_close_behind_is_no_lone_packet():
    def run(times):
        rows = [(t, seq, "new") for seq, t in enumerate(times)] + [(9.0, 0, "fast-retransmit")]
        columns = {
            "time": [t for t, _, _ in rows],
            "seq": [seq for _, seq, _ in rows],
            "kind": [kind for _, _, kind in rows],
            "sent": [True] * len(rows),
            "len": [500] * len(rows),
            "connection": [0] * len(rows),
        }
        return type("Run", (), {"traces": {"segments": pa.table(columns)}})()

    assert x1_always_timeout.close_together(run([0.0, 0.01, 0.02, 0.03])) == 1
    assert x1_always_timeout.close_together(run([0.0, 0.4, 0.8, 1.2])) == 0
