"""Response times of packets, and what a flow lost (I-U1): of transfers made by hand, of simulated flows, and
of captures.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ackclock as ac
from ackclock._core import InputError
from ackclock.reproduce.mathis97 import captured
from ackclock.results.responses import Responses, mean
from ackclock.results.transfer import Transfer, transfers


def by_hand():
    """Four packets of 100 bytes. The second is lost and retransmitted 1 s later, the third waits behind it,
    the fourth is never acknowledged.
    """
    sent = [(0.0, 0), (1.0, 100), (1.5, 200), (2.0, 100), (3.0, 300), (4.0, 300), (6.0, 300)]
    acks = [(0.1, 100), (2.1, 300)]
    time, offset = (np.array([row[i] for row in sent]) for i in (0, 1))
    at, acked = (np.array([row[i] for row in acks]) for i in (0, 1))
    return Transfer(time, offset.astype(np.int64), np.full(len(sent), 100), at, acked.astype(np.int64))


def test_a_packet_waits_from_its_first_copy_to_the_ack_that_covers_it():
    found = Responses.of(by_hand())
    assert found.sent.tolist() == [0.0, 1.0, 1.5, 3.0]
    assert found.time[:3] == pytest.approx([0.1, 1.1, 0.6])
    assert np.isnan(found.time[3]), "nothing acknowledged it"
    assert (found.segments, found.lost) == (7, 3)
    assert mean(found.time) == pytest.approx(0.6)
    assert found.own is found.time, "nothing tells more"
    assert found.loss == pytest.approx(3 / 7)


def test_a_mark_falls_on_the_packet_that_is_sent_next():
    found = Responses.of(by_hand()).marked([2.5, 0.5, 1.2, 1.3, 9.0])
    assert found.sent.tolist() == [1.0, 1.5, 3.0]
    assert found.segments == 7


def test_nothing_sent_is_nothing_lost():
    nothing = Responses.of(
        Transfer(*(np.empty(0, kind) for kind in (float, np.int64, np.int64, float, np.int64)))
    )
    assert np.isnan(mean(nothing.time))
    assert np.isnan(nothing.loss)
    assert nothing.marked([1.0]).time.size == 0


@pytest.fixture(scope="module")
def typed():
    link = ac.Link("10Mbit/s", queue=ac.DropTail(limit="1000packets"), faults=ac.fault.Loss(p=0.1, of="data"))
    stack = ac.Stack("sack+no-nagle+ack-every", mss="500B")
    return ac.simulate(
        ac.Single(link, rtt="60ms"), ac.Telnet(think="300ms"), stack, duration="100s", trace=["packets"]
    )


def test_what_is_read_of_a_trace_is_what_the_application_measured(typed):
    (flow,) = typed.flows.to_pylist()
    found = Responses.of_segments(typed.traces["segments"], 0)
    done = np.isfinite(found.time)
    assert done.sum() == pytest.approx(flow["responses"], abs=1)
    assert found.segments == flow["data_segments_sent"]
    # The application counts from typing: what the window holds back waits longer.
    assert mean(found.time) <= flow["response_time"]
    assert Responses.of(transfers(typed.traces["segments"])[0]).time[done] == pytest.approx(found.time[done])


def test_a_packet_that_arrives_behind_a_lost_one_has_its_own_ack(typed):
    rows = typed.traces["segments"]
    (flow,), link = typed.flows.to_pylist(), typed.links.to_pylist()[0]
    found = Responses.of_segments(rows, 0)
    # One may be under way at the end.
    assert found.lost == pytest.approx(link["dropped_wire"], abs=1)
    assert found.loss == found.lost / flow["data_segments_sent"] > 0.05
    done = np.isfinite(found.time)
    assert (found.own[done] <= found.time[done] + 1e-9).all()
    # What arrives at once takes a round trip and the time to send: 540 bytes there, 40 back.
    assert found.own[done].min() == pytest.approx(0.06 + 580 * 8 / 10e6, abs=1e-6)
    assert (found.own[done] < 0.07).mean() == pytest.approx(0.9, abs=0.05)
    assert (found.time[done] < 0.07).mean() < (found.own[done] < 0.07).mean() - 0.05


def test_with_one_end_alone_retransmissions_count_as_losses(typed):
    rows, (flow,) = typed.traces["segments"], typed.flows.to_pylist()
    found = Responses.of_segments(rows.filter(pc.equal(rows["connection"], 0)), 0)
    assert found.lost == flow["retransmitted_segments"]
    assert found.own is found.time


def test_a_capture_gives_the_same(typed, tmp_path):
    rows = typed.traces["segments"]
    path = tmp_path / "typed.pcap"
    path.write_bytes(captured.pcap(rows.filter(pc.equal(rows["connection"], 0)), 500))
    capture = ac.read_capture(path, packets=True)
    found, known = Responses.of_packets(capture.packets, 0), Responses.of_segments(rows, 0)
    assert found.sent.size == known.sent.size
    assert found.segments == known.segments
    assert found.time == pytest.approx(known.time, abs=2e-6, nan_ok=True)


def test_a_selective_ack_is_a_packets_own():
    """Three packets of 100 bytes; the first is lost, and the acks of the others report it."""

    def row(direction, time, kind, offset, size, acked, sack=()):
        values = {
            "time": time,
            "connection": direction,
            "kind": kind,
            "offset": offset,
            "len": size,
            "acked": acked,
            "sack": list(sack),
        }
        return {**values, "again": kind == "timeout", "window": 10_000, "sent": True, "seq": offset, "ack": 0}

    rows = [
        *(row(0, 0.1 * n, "new", 100 * n, 100, None) for n in range(3)),
        row(1, 0.15, "ack", 0, 0, 0, (100, 200)),
        row(1, 0.25, "ack", 0, 0, 0, (100, 300)),
        row(0, 1.0, "timeout", 0, 100, None),
        row(1, 1.05, "ack", 0, 0, 300),
    ]
    schema = pa.schema([pa.field("sack", pa.list_(pa.uint64()))])
    table = pa.Table.from_pylist(rows)
    table = table.set_column(
        table.column_names.index("sack"), schema.field(0), table["sack"].cast(schema.field(0).type)
    )
    found = Responses.of_packets(table, 0)
    assert found.time == pytest.approx([1.05, 0.95, 0.85])
    assert found.own == pytest.approx([1.05, 0.05, 0.05])


def test_an_unknown_connection_is_refused_with_the_known_ones(typed):
    with pytest.raises(InputError, match="connection 8 has no row in the table; expected one of 0, 1"):
        Responses.of_segments(typed.traces["segments"], 8)
