"""Transfers read from traces of segments, and the figures made of them (J-U1, J-U2)."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ackclock as ac
from ackclock.plot import rates, save, sequence
from ackclock.results.transfer import Transfer, binned, of_run, total_rate, transfers

SCENARIO = """\
duration = "3s"
path.kind = "single"
path.rtt = "50ms"
path.link = { rate = "1Mbit/s", queue = { kind = "drop-tail", limit = "5packets" } }
workload = { kind = "fixed", size = "100kB", flows = 2, stagger = "500ms" }
stacks = { a = "reno", b = "tahoe" }
"""


def rows(*segments: tuple[float, str, int, int], start: int = 1000, connection: int = 4) -> pa.Table:
    """Segments by time: `("sent", offset, size)` or `("received", acked, 0)`, with sequence numbers from
    `start` on.
    """
    return pa.table(
        {
            "time": [t for t, *_ in segments],
            "connection": pa.array([connection] * len(segments), pa.uint32()),
            "sent": [what == "sent" for _, what, *_ in segments],
            "seq": pa.array(
                [(start + offset) % 2**32 if what == "sent" else 7 for _, what, offset, _ in segments],
                pa.uint32(),
            ),
            "len": pa.array([size for *_, size in segments], pa.uint32()),
            "ack": pa.array(
                [(start + offset) % 2**32 if what == "received" else 7 for _, what, offset, _ in segments],
                pa.uint32(),
            ),
        }
    )


LOSSY = (
    (0.0, "sent", 0, 100),
    (0.0, "sent", 100, 100),
    (0.0, "sent", 200, 100),
    (0.5, "received", 100, 0),
    (0.6, "received", 100, 0),
    (1.5, "sent", 100, 100),
    (1.5, "sent", 200, 100),
    (2.5, "sent", 100, 100),
    (3.0, "received", 300, 0),
    (3.0, "sent", 300, 50),
    (4.0, "received", 351, 0),
)


def test_retransmissions_and_times_sent_are_counted_by_byte():
    t = Transfer.of(rows(*LOSSY))
    assert t.again.tolist() == [False, False, False, True, True, True, False]
    assert t.retransmissions == 3
    edges, counts = t.times_sent()
    assert edges.tolist() == [0, 100, 200, 300, 350]
    assert counts.tolist() == [1, 3, 2, 1]
    assert (counts * np.diff(edges)).sum() == t.size.sum()


def test_a_partial_retransmission_counts_for_its_bytes_alone():
    t = Transfer.of(rows((0, "sent", 0, 100), (1, "sent", 50, 100), (2, "sent", 60, 10)))
    edges, counts = t.times_sent()
    assert dict(zip(edges.tolist(), counts.tolist(), strict=False)) == {0: 1, 50: 2, 60: 3, 70: 2, 100: 1}
    assert t.again.tolist() == [False, True, True]


def test_acknowledgments_are_those_that_move_on_and_a_fin_is_no_byte():
    t = Transfer.of(rows(*LOSSY))
    assert t.acked_at.tolist() == [0.5, 3.0, 4.0]
    assert t.acked.tolist() == [100, 300, 350]
    assert t.acked_bytes.tolist() == [100, 200, 50]


@pytest.mark.parametrize("start", [2**32 - 150, 2**31 - 150, 0])
def test_sequence_numbers_may_wrap(start):
    t = Transfer.of(rows(*LOSSY, start=start))
    assert (t.offset.tolist(), t.acked.tolist()) == (
        Transfer.of(rows(*LOSSY)).offset.tolist(),
        [100, 300, 350],
    )


def test_more_than_a_whole_round_of_sequence_numbers_is_followed():
    size = 2**30
    t = Transfer.of(rows(*((float(i), "sent", i * size, size) for i in range(9)), start=12345))
    assert t.offset.tolist() == [i * size for i in range(9)]
    assert t.retransmissions == 0


def test_the_empty_field_of_a_syn_is_no_acknowledgment():
    table = rows((0.0, "received", 2**31 + 5, 0), *((t + 1, *rest) for t, *rest in LOSSY))
    assert Transfer.of(table).acked.tolist() == [100, 300, 350]


def test_a_trace_that_begins_in_the_middle_counts_from_its_lowest_byte():
    t = Transfer.of(rows((0, "sent", 500, 100), (1, "sent", 400, 100), (2, "received", 600, 0)))
    assert t.offset.tolist() == [100, 0]
    assert t.acked.tolist() == [200]


def test_bins_hold_all_that_was_sent_and_acknowledged():
    t = Transfer.of(rows(*LOSSY))
    assert binned(t.time, t.size, 1.0, 4.0).tolist() == [300, 200, 100, 50, 0]
    assert total_rate([t, t], 2.0, 4.0).tolist() == [500, 150, 0]
    assert total_rate([t], 2.0, 4.0, acked=True).tolist() == [50, 100, 25]
    assert total_rate([], 2.0, 3.0).tolist() == [0, 0]
    with pytest.raises(ac.InputError, match="give one above 0"):
        binned(t.time, t.size, 0.0, 4.0)
    with pytest.raises(ac.InputError, match="expected at most"):
        binned(t.time, t.size, 1e-9, 4.0)


def test_connections_that_sent_nothing_are_left_out():
    nothing = rows((0.0, "sent", 0, 0), (1.0, "received", 0, 0), connection=9)
    assert list(transfers(pa.concat_tables([nothing, rows(*LOSSY)]))) == [4]
    assert Transfer.of(nothing).time.size == 0


def test_a_run_must_have_been_traced_and_named_when_there_are_several():
    with pytest.raises(ac.InputError, match=r'trace = \["packets"\]'):
        of_run({})
    labelled = [rows(*LOSSY).add_column(0, "run", pa.array([label] * len(LOSSY))) for label in ("a", "b")]
    traces = {"segments": pa.concat_tables(labelled)}
    with pytest.raises(ac.InputError, match="give one of a, b"):
        of_run(traces)
    with pytest.raises(ac.InputError, match="expected one of a, b"):
        of_run(traces, "c")
    assert list(of_run(traces, "b")) == [4]


def test_the_figures_draw_every_segment_and_the_same_each_time(tmp_path):
    t = Transfer.of(rows(*LOSSY))
    fig = sequence({"old": t}, title="x", available=100.0)
    lines = fig.axes[0].get_lines()
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() == "o") == 4
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() == "x") == 3
    both = sequence({"a": t, "b": t}, title="x", acks=True, until=2.0)
    assert both.axes[0].get_xlim() == (0, 2)
    assert sequence({}, title="nothing").axes
    for name in ("1", "2"):
        save(sequence({"old": t}, title="x"), tmp_path / name)
        save(
            rates({"old": binned(t.time, t.size, 1.0, 4.0)}, 1.0, title="x", level=100.0),
            tmp_path / f"rates{name}",
        )
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    assert (tmp_path / "rates1.png").read_bytes() == (tmp_path / "rates2.png").read_bytes()


def test_a_simulated_transfer_is_what_the_flows_table_says():
    run = ac.Scenario(SCENARIO).but({"trace": '["packets"]'}).simulate()
    for label in ("a", "b"):
        flows = run.flows.filter(pc.equal(run.flows["run"], label)).to_pylist()
        found = of_run(run.traces, label)
        assert len(found) == len(flows) == 2
        for flow, t in zip(flows, found.values(), strict=True):
            assert (t.time.size, t.retransmissions) == (
                flow["data_segments_sent"],
                flow["retransmitted_segments"],
            )
            assert (t.size.sum(), t.acked[-1]) == (flow["bytes_sent"], flow["bytes_acked"])
    assert run.plot.sequence("a", flows=[1]).axes[0].get_legend_handles_labels()
    with pytest.raises(ac.InputError, match="flow 5 sent no data; expected one of 0, 1"):
        run.plot.sequence("a", flows=[5])
    assert len(run.plot.rates(1.0).axes[0].get_lines()) == 2


def test_the_command_line_draws_them_and_adds_the_trace(ackclock, tmp_path):
    file = tmp_path / "two.toml"
    file.write_text('trace = ["samples"]\n' + SCENARIO)
    done = ackclock("run", file, "--plot", "sequence", "--plot", "rates", "--out", tmp_path / "out")
    assert done.code == 0, done
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"sequence-1.png", "sequence-2.svg", "rates.png", "segments.parquet", "samples.parquet"} <= names
    assert 'trace = ["packets", "samples"]' in (tmp_path / "out" / "scenario.toml").read_text()
    again = ac.load(tmp_path / "out").plot.sequence("b", title="later", until=1.0)
    assert again.axes[0].get_title(loc="left") == "later"
