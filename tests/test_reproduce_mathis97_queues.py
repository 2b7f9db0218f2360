"""What the items of mathis97 with queues rest on: counting after a warm-up, packets that a path dropped, the
chain of gateways, the modem.
"""

import math

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import bottleneck, drops, gateways, modem, steady, vegas, x12_tahoe
from ackclock.reproduce.mathis97 import f6_measured_rtt as f6
from ackclock.reproduce.mathis97 import f15_research_user as f15


def test_what_happened_after_the_warm_up_leaves_the_slow_start_out():
    scenario = ac.Scenario.of(bottleneck.path(1e6, 20), ac.Bulk(), {"Reno": bottleneck.reno()})
    found = steady.each(
        Setting(workers=1), {"late": (scenario, 30.0, 60.0), "whole": (scenario, 0.0, 90.0)}, "x"
    )
    late, whole = (found[key].of("Reno")[0] for key in ("late", "whole"))
    line = found["late"].lines["Reno", "link"]
    # The slow-start overflows the queue by far, and Reno needs a timeout for that.
    assert whole.timeouts >= 1
    assert late.timeouts == 0
    assert late.ca == pytest.approx(60 / bottleneck.cycle(1e6, 20), rel=0.35)
    assert late.other == 0
    assert line.dropped == late.ca
    # A line that is never idle: the window is what round trips hold, and packets cross at its rate.
    assert late.rate == pytest.approx(1e6 / 8 / bottleneck.PACKET, rel=0.02)
    assert late.rtt == pytest.approx(bottleneck.RTT + line.delay, rel=0.1)
    assert late.c == pytest.approx(late.window * math.sqrt(late.p))


def test_a_cycle_is_three_quarters_of_the_peak_window_squared():
    # 5 packets wait, 1 is in service, and 60 ms hold 73.24: M-E17's window of 79.24 packets.
    assert bottleneck.cycle(10e6, 5) == pytest.approx(0.75 * 79.2421875**2 * 1024 * 8 / 10e6)


def segments(rows):
    """Rows of time, connection, sent and sequence number."""
    time, connection, sent, seq = zip(*rows, strict=True)
    return pa.table(
        {"time": time, "connection": connection, "sent": sent, "seq": seq, "len": [100] * len(rows)}
    )


def test_the_transmission_that_had_the_time_is_the_one_that_arrived():
    rows = [
        (0.0, 0, True, 1),
        (0.1, 0, True, 2),
        (0.2, 0, True, 3),
        (1.0, 1, False, 1),
        (1.2, 1, False, 3),
        (1.5, 0, True, 2),
        (2.5, 1, False, 2),
    ]
    # 2 was dropped when it was first sent, 3 came; what is sent last may be under way.
    assert drops.dropped(segments([*rows, (2.6, 0, True, 4)]), 0, 1.0).tolist() == [0.1]
    # A second transmission of what had come is not a drop.
    assert drops.dropped(
        segments([*rows[:4], (1.2, 0, True, 1), (2.5, 1, False, 3), (1.3, 0, True, 3)]), 0, 1.0
    ).tolist() == [0.1, 0.2]


def test_drops_agree_with_the_books_of_the_link():
    scenario = ac.Scenario.of(
        bottleneck.path(1e6, 10),
        ac.Bulk(),
        {"Reno": bottleneck.reno()},
        duration="60s",
        trace=["packets", "episodes"],
    )
    run = scenario.simulate()
    lost = drops.dropped(run.traces["segments"], 0, bottleneck.RTT / 2)
    assert lost.size == run.links["dropped_queue"][0].as_py() > 10
    begins = run.traces["episodes"]["begin"].to_numpy()
    assert drops.per_cycle(lost[lost > 20], begins[begins > 20]).tolist() == [1] * int((begins > 20).sum())


def test_drops_belong_to_the_cycle_that_they_end():
    assert drops.per_cycle(np.array([1.0, 1.5, 3.0, 9.0]), np.array([2.0, 4.0, 6.0])).tolist() == [2, 1]


def test_the_power_law_is_fitted_to_runs_without_timeouts():
    rows = [{"p": p, "window": 0.8 * p**-0.52, "timeouts": 0} for p in (1e-4, 1e-3, 1e-2)]
    rows.append({"p": 0.1, "window": 1.0, "timeouts": 3})
    assert f6.fit(rows) == pytest.approx((0.8, -0.52))
    assert f6.over(rows[:3], 0.4, -0.52) == pytest.approx(2.0)


def test_packets_that_take_longer_than_an_ack_waits_are_acknowledged_one_by_one():
    rows = bottleneck.runs(
        Setting(workers=1), {"Reno": bottleneck.reno()}, [(40e3, 10), (100e3, 10)], "x", cycles=15
    )
    assert [bottleneck.slow(r) for r in rows] == [True, False]
    assert rows[0]["c"] > 1.15 * rows[1]["c"]


def test_vegas_loses_nothing_where_reno_does():
    stacks = {"Reno": bottleneck.reno(), "Vegas": vegas.stack()}
    rows = bottleneck.runs(Setting(workers=1), stacks, [(1e6, 10)], "x", cycles=10)
    reno, other = rows
    assert (reno["stack"], other["stack"]) == ("Reno", "Vegas")
    assert reno["ca"] > 0
    assert other["ca"] == other["non_ca"] == 0
    assert other["utilisation"] > 0.99
    # Between alpha and beta of its segments are in the queue, beside those on the way and the one in service.
    waiting = other["window"] - bottleneck.RTT / other["packet_time"] - 1
    assert 1 <= waiting <= 4


def test_the_readings_of_tahoe_differ_as_they_say():
    stacks = x12_tahoe.readings()
    assert list(stacks) == ["Reno", "Tahoe", "Tahoe, one hole per ack", "Tahoe, threshold kept"]
    rows = bottleneck.runs(Setting(workers=1), stacks, [(10e6, 5)], "x", cycles=8)
    used = {r["stack"]: r["utilisation"] for r in rows}
    assert used["Reno"] > used["Tahoe"] > used["Tahoe, one hole per ack"] > used["Tahoe, threshold kept"]


def test_every_second_line_of_the_chain_is_congested_and_has_its_local_connection():
    chain = gateways.Chain(3, 1e6, 10, ac.DropTail(limit="50packets"))
    run = chain.scenario(gateways.tcp()).but({"duration": "10s"}).simulate()
    lines = {x["name"]: x for x in run.links.to_pylist()}
    assert [lines[f"line {i}"]["rate"] for i in (1, 2, 3)] == [1e6] * 3
    assert [lines[f"between {i}"]["rate"] for i in (1, 2)] == [1e7] * 2
    rtt = {f["group"]: f["path_rtt"] for f in run.flows.to_pylist()}
    assert rtt == pytest.approx(
        {"connection 0": 0.1, "connection 1": 0.02, "connection 2": 0.02, "connection 3": 0.02}
    )
    # The lines between carry the long connection alone.
    measured = chain.measured(steady.span(run))
    assert lines["between 1"]["data_packets"] < lines["line 1"]["data_packets"]
    assert 0 < measured["share"] < 0.5
    assert measured["share"] == pytest.approx(measured["share_of_carried"] * measured["utilisation"], rel=0.1)


def test_the_modem_line_takes_what_the_register_says():
    assert modem.copying() == pytest.approx(288.889, abs=1e-3)
    run = modem.modem(0).but({"duration": "120s"}).simulate()
    line = next(x for x in run.links.to_pylist() if x["name"] == "modem")
    assert line["queue_max_packets"] == modem.QUEUE
    assert line["dropped_queue"] > 0
    assert run.flows["path_rtt"][0].as_py() == pytest.approx(
        (modem.UNLOADED - modem.copying()) / 1e3, abs=1e-5
    )


def test_only_data_is_lost_on_the_shared_link():
    run = modem.research(0.02, [536]).but({"duration": "30s"}).simulate()
    lines = {x["name"]: x for x in run.links.to_pylist()}
    assert lines["L"]["dropped_wire"] > 5
    assert lines["L.back"]["dropped_wire"] == 0


def test_a_crossing_lies_between_its_neighbours_on_logarithmic_axes():
    rows = [{"mss": 536, "loss": p, "bandwidth": 1e5 / math.sqrt(p)} for p in (1e-3, 4e-3, 1.6e-2, 6.4e-2)]
    assert f15.crossing(rows, 536) == pytest.approx(1e-2)
