"""The phase topology of mathis97 (M-A13) and its instruments: round-trip times, what link and connections
count, the models of tables 2 and 3.
"""

from pathlib import Path

import pytest

import ackclock as ac
from ackclock.reproduce.mathis97 import f7_phase_topology as f7
from ackclock.reproduce.mathis97 import phase
from ackclock.reproduce.mathis97 import t2_phase_effects as t2
from ackclock.reproduce.mathis97 import t3_long_queue as t3
from ackclock.reproduce.mathis97.steady import Connection, Line


def connection(name, ca, segments, rtt, kbit):
    """A connection whose bandwidth is so many kbit/s."""
    return Connection("tcp", name, segments * 8 / kbit, segments, ca, 0, 0, 0, rtt)


def test_round_trip_times_are_those_that_the_tables_imply():
    # Table 2: estimates less the link's delay are 221.5 and 231.5 ms.
    assert [phase.minimum(d) for d in (phase.NEAR, phase.DELTA)] == pytest.approx([221.44, 231.24])
    assert all(c.holds for c in f7.minima())


def test_the_models_of_the_printed_inputs_are_the_registers():
    line = Line("tcp", "L", 500, 48795, 48_795_000, 259, 0.08349, 0.98)
    found = phase.Column(
        line,
        [connection("TCP1", 103, 8287, 0.325, 133), connection("TCP2", 41, 40508, 0.315, 648)],
        phase.DELTA,
    )
    assert [1e3 * r for r in found.estimates] == pytest.approx([305, 315], abs=0.5)
    assert [m / 1e3 for m in found.tcp_models] == pytest.approx([176.635, 638.628], rel=1e-4)
    assert [m / 1e3 for m in found.link_models] == pytest.approx([288.017, 278.873], rel=2e-3)
    assert found.errors(found.tcp_models) == pytest.approx([0.34, 0.02], abs=0.02)
    assert found.cells()["p"] == ["0.0053", "0.0124", "0.0010"]


def test_link_and_connections_count_the_same_losses():
    run = phase.scenario(phase.queue("drop-tail", 15), duration="60s").simulate()
    (line,) = (x for x in run.links.to_pylist() if x["name"] == "L")
    flows = run.flows.to_pylist()
    assert [f["group"] for f in flows] == list(phase.NAMES) or [f["group"] for f in flows] == list(
        phase.NAMES[::-1]
    )
    # What is resent beyond the drops had arrived after all, or is still to be repaired.
    resent, unneeded = (
        sum(f[name] for f in flows) for name in ("retransmitted_segments", "unneeded_retransmissions")
    )
    assert resent - unneeded <= line["dropped_queue"] <= resent + 15
    assert all(f["ca_events"] + f["non_ca_events"] > 0 for f in flows)


def test_the_scenario_file_is_the_topology():
    run = (
        ac.Scenario.read(Path(__file__).parents[1] / "scenarios" / "phase-effects.toml")
        .but({"duration": "20s"})
        .simulate()
    )
    like = phase.scenario(phase.queue("drop-tail", 15), duration="20s").simulate()
    names = ("ca_events", "timeouts", "segments_acked", "rtt_mean")
    assert [[f[n] for n in names] for f in run.flows.to_pylist()] == [
        [f[n] for n in names] for f in like.flows.to_pylist()
    ]


def test_the_shortest_queue_is_what_is_above_the_least_round_trip_time():
    rtts = [([0, 1], [0.32144, 0.42144]), ([0, 1], [0.30124, 0.5])]
    import numpy as np

    assert t3.least_queue([(np.array(t), np.array(r)) for t, r in rtts]) == pytest.approx(7.0)


def test_how_far_apart_does_not_ask_who_gains():
    rows = [{"queue": "RED", "delta": 1.0, "ratio": r} for r in (0.5, 2.0)] + [
        {"queue": "RED", "delta": 0.5, "ratio": 3.0}
    ]
    deltas, ratios = f7.means(rows, "RED")
    assert deltas.tolist() == [0.5, 1.0]
    assert ratios.tolist() == pytest.approx([3.0, 2.0])


def column(bandwidths, ca, timeouts):
    """A run of table 2 whose link says nothing of either connection."""
    line = Line("tcp", "L", 500, 48795, 48_795_000, 259, 0.08349, 0.98)
    tcp = [
        Connection("tcp", name, 500, int(500 * b * 1e3 / 8e3), a, t, t, 0, r)
        for name, b, a, t, r in zip(phase.NAMES, bandwidths, ca, timeouts, (0.325, 0.315), strict=True)
    ]
    return phase.Column(line, tcp, phase.DELTA)


def test_the_counts_of_table_2_are_those_of_the_paper_within_three_errors():
    paper, red = column((133, 648), (103, 41), (37, 0)), column((430, 368), (64, 73), (0, 0))
    assert t2.like_the_paper(paper, 1) and not t2.like_the_paper(paper, 0)
    drop_tail = [c for c in t2.checks([paper] * 3, [red] * 3) if c.name.startswith("drop-tail")]
    assert [c.name for c in drop_tail if not c.holds] == []
    few = t2.checks([column((198, 601), (96, 44), (15, 4))] * 3, [red] * 3)
    assert [c.name for c in few if not c.holds][:2] == [
        "drop-tail: bandwidth of TCP2 over TCP1",
        "drop-tail: p of TCP1 over TCP2",
    ]
    assert {"drop-tail: timeouts of TCP1", "drop-tail: timeouts of TCP2"} <= {
        c.name for c in few if not c.holds
    }


def test_the_ratio_of_signals_has_no_bound_where_one_connection_has_none():
    assert t2.p_ratio(column((133, 648), (103, 0), (37, 0))) == float("inf")
