"""The simulated items of interactive2007: what they share is what the register says, and what they measure is what they say."""

import pytest

from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.interactive2007.testbed import Mix


def test_the_testbed_is_that_of_the_register():
    path = testbed.dumbbell(loss=0.02)
    resolved = testbed.scenario(path, testbed.telnet(3), {"TCP": testbed.tcp()}, 10, mix=testbed.MIXES[2]).resolve()
    for words in ("5Mbit/s", "12ms", "40000B", 'kind = "red"', 'think = "1s"', 'min_rto = "1s"', 'initial_rto = "3s"', "p = 0.02", "flows = 4"):
        assert words in resolved, words
    assert 'limit = "40000B"' in testbed.scenario(testbed.dumbbell(testbed.DROP_TAIL_BYTES), testbed.telnet(), {"TCP": testbed.tcp()}, 10).resolve()
    packets = testbed.scenario(testbed.dumbbell(testbed.DROP_TAIL_PACKETS), testbed.telnet(), {"TCP": testbed.tcp()}, 10).resolve()
    assert 'limit = "74packets"' in packets
    with pytest.raises(ValueError, match="not a queue of the paper"):
        testbed.queue("droptail")


def test_cross_traffic_goes_the_way_of_the_measured_flows():
    run = testbed.scenario(testbed.dumbbell(), testbed.telnet(2), {"TCP": testbed.tcp()}, 10, mix=Mix(http=0.3)).simulate()
    there = next(link for link in run.links.to_pylist() if link["from"] == "left")
    assert there["utilisation"] == pytest.approx(0.3, abs=0.1)
    flows = run.flows.to_pylist()
    assert {f["sender"] for f in flows if f["group"] == "http"} == {"server"}
    assert {f["stack"] for f in flows} == {"TCP", testbed.BACKGROUND}


def test_more_cross_traffic_loses_more():
    def loss(mix):
        run = testbed.scenario(testbed.dumbbell(), testbed.telnet(), {"TCP": testbed.tcp()}, 10, mix=mix).simulate()
        there = next(link for link in run.links.to_pylist() if link["from"] == "left")
        return there["dropped_queue"] / there["packets_offered"]

    few, some, many = (loss(testbed.MIXES[i]) for i in (0, 3, 5))
    assert few < some < many
    assert str(testbed.MIXES[0]) == "1 FTP + HTTP 0.2 + UDP 0.5 Mbit/s"
    assert str(Mix()) == "nothing"
