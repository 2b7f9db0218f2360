import re

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock._core import InputError
from ackclock.models.backoff2008 import Retransmitters, response_time_without_backoff, retransmission_loss
from ackclock.reproduce.backoff2008 import (
    algorithms,
    clients_captures,
    comparison,
    crossing,
    deployment,
    f4_bursts,
    f8_dead_packets,
    flash,
    t1_theorem,
    tails,
    testbed,
    two_bottlenecks,
    x7_admission,
    x8_survey,
)
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio


def found(**times):
    """A comparison of stacks whose response times are given, one list for each run."""
    rows = [
        (stack, f"{stack} #{i}", t)
        for stack, runs in times.items()
        for i, run in enumerate(runs)
        for t in run
    ]
    columns = {
        "stack": [r[0] for r in rows],
        "run": [r[1] for r in rows],
        "group": ["web"] * len(rows),
        "outcome": ["failed" if np.isnan(r[2]) else "finished" for r in rows],
        "response_time": [float(r[2]) for r in rows],
    }
    return Comparison(
        pa.table(columns),
        pa.table({}),
        [{"stack": stack, "seed": i} for stack, runs in times.items() for i in range(len(runs))],
    )


def test_the_checks_of_the_first_figure_can_fall_short():
    base = [np.arange(1, 101.0), np.arange(1, 101.0)]
    fast = [np.full(100, 0.5)] * 2

    def holds(tcp=base, star=base, none=base, wide=fast):
        given = {"TCP": tcp, "TCP*(3)": star, "TCP*(inf)": none, tails.UNCONGESTED: wide}
        return [c.holds for c in tails.lowest_tail(found(**given))]

    assert holds() == [True] * 4
    assert holds(none=[v * 1.06 for v in base]) == [False, True, False, True]
    assert holds(star=[v * 1.06 for v in base]) == [True, False, True, True]
    assert holds(wide=[v * 3 for v in fast]) == [True, True, True, False]
    assert holds(none=[np.array([0.5]), np.array([np.nan])]) == [False]


def test_a_ratio_is_one_of_means_and_shows_its_spread():
    check = ratio("x", [2.0, 4.0], [2.0, 2.0], most=1.4)
    assert not check.holds
    assert check.got.startswith("1.5 +/- ")
    assert check.expected == "at most 1.4"
    assert ratio("x", [2.0, 4.0], [2.0, 2.0], least=1.0, most=1.5).holds
    assert not ratio("x", [np.nan], [1.0], most=9).holds
    assert comparison.shown([3.0]) == "3"


def test_the_testbed_is_that_of_the_register():
    resolved = testbed.scenario(
        testbed.dumbbell(10), testbed.web("I", 10), testbed.stacks("200ms"), 10
    ).resolve()
    assert "uniform" in resolved
    for words in ("10ms", "200ms", "10Mbit/s", "262500B", "karn_backoff = false", "sack = true"):
        assert words in resolved, words
    wide = testbed.scenario(
        testbed.dumbbell(50, "drop-tail"), testbed.web("I", 50), testbed.stacks("1s"), 10
    ).resolve()
    rates = [float(re.search(r"That is ([\d.]+) flows", text)[1]) for text in (resolved, wide)]
    assert rates[0] == pytest.approx(rates[1]), "the same arrivals at either rate"
    assert rates[0] * 3351.19 * 8 == pytest.approx(testbed.OFFERED_MBIT * 1e6, rel=1e-5)
    assert "1312500B" in wide


def test_what_the_paper_measured_runs_freebsds_defaults():
    for found in (testbed.freebsd("1s"), testbed.freebsd("200ms", preset="tahoe")):
        resolved = testbed.scenario(testbed.dumbbell(10), testbed.web("I", 10), found, 10).resolve()
        for words in ("timestamps = true", 'mss = "1448B"', 'ack_delay = "100ms"', "karn_backoff = false"):
            assert resolved.count(words) == len(found), words


def test_the_backoff_of_the_testbed_is_that_of_its_labels():
    resolved = testbed.scenario(
        testbed.dumbbell(10), testbed.web("I", 10), testbed.stacks("1s"), 10
    ).resolve()
    assert [m in resolved for m in ('kind = "exponential"', 'kind = "sub-exponential"', 'kind = "none"')] == [
        True
    ] * 3
    assert all(c.holds for c in algorithms.multipliers() + algorithms.ethernet() + algorithms.traces())


def test_the_model_of_the_theorem_agrees_with_the_closed_forms():
    rto, packets = (0.2, 0.5, 1.0, 3.0), (10, 10, 10, 10)
    response, loss = Retransmitters(rto, packets, 5.0).run(20_000)
    assert loss == pytest.approx(float(retransmission_loss(rto, 5.0)), abs=0.01)
    assert response == pytest.approx(response_time_without_backoff(packets, rto, 5.0), rel=0.05)
    # Backed off once, nothing is lost, and a file takes as many doubled timeouts as it has packets.
    response, loss = Retransmitters(rto, packets, 5.0).run(20_000, 1.0)
    assert loss < 0.01
    assert response == pytest.approx([4, 10, 20, 60], rel=0.05)


@pytest.mark.parametrize("wrong", [((), ()), ((1.0,), (1, 2)), ((0.0,), (1,)), ((1.0,), (0,))])
def test_a_model_of_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        Retransmitters(*wrong, 1.0)


def test_a_model_of_too_many_packets_is_refused():
    with pytest.raises(InputError, match="at most"):
        Retransmitters((1e-6,), (1,), 1.0).run(1e6)


def test_the_property_fails_where_backoff_is_too_small(monkeypatch):
    assert t1_theorem.property_holds(200)[0].holds
    monkeypatch.setattr(t1_theorem, "required_exponent", lambda rto, capacity: 0.5)
    assert not t1_theorem.property_holds(200)[0].holds


def test_seeds_shared_out_give_what_one_scenario_gives():
    from ackclock.reproduce.item import Setting

    scenario = testbed.scenario(
        testbed.dumbbell(10), testbed.web("I", 10), testbed.stacks("1s", "TCP"), 1, repeat=2
    )
    together = comparison.run(scenario, Setting(), "x")
    apart = comparison.run(
        [
            scenario,
            testbed.scenario(testbed.dumbbell(50), testbed.web("I", 50), {"wide": "sack"}, 1, repeat=2),
        ],
        Setting(),
        "x",
    )
    assert apart.stacks == ["TCP", "wide"]
    for a, b in zip(together.times("TCP"), apart.times("TCP"), strict=True):
        assert (a == b).all()
    assert [row["run"] for row in apart.rows] == ["TCP #1", "TCP #2", "wide #1", "wide #2"]


def test_a_mean_that_falls_with_the_share_is_no_trend():
    def mixes(*means):
        return deployment.Mixes(
            "TCP", "TCP*(inf)", {i / 10: found(TCP=[np.array([m])]) for i, m in enumerate(means)}
        )

    assert deployment.trend(mixes(1.0, 1.0, 2.0)).holds
    assert not deployment.trend(mixes(1.0, 0.9, 2.0)).holds
    assert mixes(1.0, 1.5).slowdown(0.1) == pytest.approx(1.5)


def test_rising_means_may_fall_by_a_tenth():
    values = [np.array([x]) for x in (1.0, 2.0, 1.9, 3.0)]
    assert f4_bursts.rising("x", values).holds
    assert not f4_bursts.rising("x", [*values, np.array([2.6])]).holds


def test_precision_and_recall_of_a_detector():
    assert x8_survey.precision_and_recall([True, True, False, False], [True, False, True, False]) == (
        0.5,
        0.5,
    )
    assert x8_survey.precision_and_recall([False], [False]) == (0.0, 0.0)


def test_a_queue_of_bytes_must_reject_a_tenth_at_most():
    def row(queue, rejected):
        return {"queue": queue, "N": 3, "offered_loss": 0.5, "rejected": rejected}

    rows = [row("RED, packets", 0.1), row("RED, bytes", 0.009)]
    assert x7_admission.small(rows[1], rows).holds
    assert not x7_admission.small(row("RED, bytes", 0.011), rows).holds


def test_dead_packets_are_counted_at_the_second_link():
    def alpha(*case):
        return f8_dead_packets.simulated(f8_dead_packets.scenario(*case).simulate())

    assert alpha(0.5, 0.01, 0.05, 2000, 7) == pytest.approx(0.5 * 0.99 * 0.05, rel=0.08)
    assert alpha(1.0, 0.0, 0.05, 2000, 8) == pytest.approx(0.05, rel=0.08)


def test_the_share_done_in_time_counts_flows_that_never_finished():
    comparison_of = found(TCP=[np.array([1.0, 5.0, np.nan, 200.0])])
    assert crossing.finished_within(comparison_of, "TCP", "web", 100.0) == pytest.approx([0.5])


def test_violations_are_those_of_flows_that_began_in_time():
    columns = {
        **{"stack": ["TCP"] * 3, "run": ["TCP #1"] * 3, "start": [1.0, 5.0, 9.0]},
        **{
            "spurious_timeouts": [1, 2, 4],
            "unneeded_retransmissions": [3, 5, 7],
            "retransmitted_segments": [10, 20, 30],
        },
    }
    c = Comparison(pa.table(columns), pa.table({}), [{"stack": "TCP"}])
    assert flash.violations(c, "TCP") == flash.Violations(7, 15, 60)
    assert flash.violations(c, "TCP", 4.0, 6.0).percent == pytest.approx(10.0)


def test_loads_of_the_two_bottlenecks_add_up():
    rates = [w.given["arrival_rate"] for w in two_bottlenecks.workloads("I")]
    assert rates[0] + rates[1] == pytest.approx(rates[0] + rates[2])
    assert rates[0] / (rates[0] + rates[1]) == pytest.approx(0.25)
    assert (rates[0] + rates[1]) * 3351.19 * 8 == pytest.approx(12e6)


def test_a_clients_capture_has_what_it_saw(tmp_path):
    # The last segment of the first file is lost twice: a timeout of 1 s, then one of 2 s, in a single
    # silence.
    fault = ac.fault.SegmentLoss(offset="9000B", flow=0, times=2)
    path = ac.Single(ac.Link("10Mbit/s", delay="20ms", faults=fault), rtt="60ms")
    web = ac.Web(sizes=ac.sizes.Fixed(bytes="10000B"), arrival_rate=4)
    tcp = ac.Stack("sack", timer=ac.Rfc6298(min_rto="1s"), karn_backoff=False)
    run = ac.simulate(path, web, tcp, duration="2s", drain="20s", trace="packets")
    flows = run.flows["flow"].to_pylist()
    (tmp_path / "clients.pcap").write_bytes(clients_captures.capture(run.traces["segments"], flows))
    found = ac.results.read_capture(tmp_path / "clients.pcap", samples=False)
    rows = run.traces["segments"].to_pylist()
    for flow, c in zip(flows, found.connections, strict=True):
        client, server = ([row for row in rows if row["connection"] == 2 * flow + end] for end in (0, 1))
        there, back = c["directions"]
        assert (there["packets"], back["packets"]) == tuple(
            sum(row["sent"] is sent for row in client) for sent in (True, False)
        )
        assert (back["bytes"], back["unique_bytes"]) == (
            sum(row["len"] for row in client if not row["sent"]),
            10_000,
        )
        sent = [row for row in server if row["sent"]]
        places = clients_captures.numbered([row for row in client if not row["sent"]], sent)
        assert len(sent) - len(places) == (2 if flow == 0 else 0) + sum(
            row["kind"] == "ack" for row in sent[-1:]
        )
    rounds = clients_captures.silences(run.traces["segments"], flows)
    assert rounds == [[1]] + [[]] * (len(flows) - 1), "both timeouts are one silence for the client"


def test_of_two_copies_the_one_that_can_have_come_is_taken():
    def sent(*rows):
        return [{"time": t, "seq": seq, "len": n, "kind": "new"} for t, seq, n in rows]

    def came(*rows):
        return [{"time": t, "seq": seq, "len": n} for t, seq, n in rows]

    server = sent((0.0, 0, 0), (0.1, 1, 9), (0.1, 1, 9), (0.3, 1, 9))
    assert clients_captures.numbered(came((0.05, 0, 0), (0.16, 1, 9)), server) == [0, 2]
    assert clients_captures.numbered(came((0.05, 0, 0), (0.16, 1, 9), (0.17, 1, 9)), server) == [0, 1, 2]
    assert clients_captures.numbered(came((0.05, 0, 0), (0.36, 1, 9)), server) == [0, 3]
