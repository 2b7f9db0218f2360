"""Round-trip times and timers from a trace of packets."""

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.models import Timer
from ackclock.reproduce.eifel2000 import testbed
from ackclock.results.timing import UNBOUNDED, Timing

ISS = 2**32 - 1500
"""So that the stream wraps."""


def trace(*events):
    """`(time, offset)` for a segment of 1000 bytes sent, `(time, None, acked)` for an ack."""
    rows = [{"time": 0.0, "sent": True, "kind": "syn", "seq": ISS, "len": 0, "ack": 0}]
    rows.append({"time": 0.5, "sent": False, "kind": None, "seq": 7, "len": 0, "ack": (ISS + 1) % 2**32})
    for time, offset, *acked in events:
        if acked:
            rows.append(
                {
                    "time": time,
                    "sent": False,
                    "kind": None,
                    "seq": 8,
                    "len": 0,
                    "ack": (ISS + 1 + acked[0]) % 2**32,
                }
            )
        else:
            rows.append(
                {
                    "time": time,
                    "sent": True,
                    "kind": "new",
                    "seq": (ISS + 1 + offset) % 2**32,
                    "len": 1000,
                    "ack": 8,
                }
            )
    columns = {name: [r[name] for r in rows] for name in rows[0]}
    return pa.table(columns).cast(
        pa.schema(
            [
                ("time", pa.float64()),
                ("sent", pa.bool_()),
                ("kind", pa.string()),
                *((n, pa.uint32()) for n in ("seq", "len", "ack")),
            ]
        )
    )


SEGMENTS = trace(
    *((1.0, 0), (1.1, 1000), (1.2, 2000), (2.0, None, 1000), (2.0, 3000)),
    # The second is lost and retransmitted.
    *((2.3, None, 1000), (4.0, 1000), (5.0, None, 3000), (5.0, 4000), (5.5, None, 4000), (6.5, None, 5000)),
)


def test_samples_follow_karn():
    t = Timing.of(SEGMENTS)
    assert t.time.tolist() == [0.5, 2.0, 5.0, 5.5, 6.5]
    np.testing.assert_allclose(t.rtt, [0.5, 1.0, np.nan, 3.5, 1.5])
    assert t.flight.tolist() == [0, 3000, 3000, 2000, 1000]
    # After the ack at 2 s the oldest one is that of 1.1 s; what was sent at 4 s was acknowledged by the next.
    np.testing.assert_allclose(t.oldest, [np.nan, 1.1, 2.0, 5.0, np.nan])
    assert t.ssthresh.tolist() == [UNBOUNDED, UNBOUNDED, 2000, 2000, 2000]
    assert t.segments.tolist() == [0, 1, 2, 1, 1]


def test_one_segment_after_the_other_is_timed():
    t = Timing.of(SEGMENTS, "once")
    # The timing that begins at 2 s ends with the retransmission; the next is that of the segment sent at 5 s.
    np.testing.assert_allclose(t.rtt, [0.5, 1.0, np.nan, np.nan, 1.5])
    np.testing.assert_allclose(t.rate[1:], [1 / 3, 1 / 3, 1 / 2, 1.0])


def test_a_countdown_is_restarted_or_less_the_age():
    made = Timing.of(SEGMENTS).replay(Timer.parse("jacobson88(min_rto=0s)"))
    rto = made["rto"]
    np.testing.assert_allclose(made["restart"], [np.nan, rto[1], rto[2], rto[3], np.nan])
    np.testing.assert_allclose(
        made["precise"], np.maximum([np.nan, rto[1] - 0.9, rto[2] - 3.0, rto[3] - 0.5, np.nan], 0.0)
    )


@pytest.mark.parametrize(("sampling", "option"), [("every", "every-segment"), ("once", "once-per-rtt")])
@pytest.mark.parametrize(
    ("stack", "timer"),
    [(testbed.lite(), "lite(max_rto=1h)"), (testbed.eifel(), "eifel(tick=500ms,rounded=true,max_rto=1h)")],
)
def test_a_trace_gives_what_the_sender_logged(stack, timer, sampling, option):
    run = testbed.transfer(testbed.line(room=20), {"x": stack.but(rtt_sampling=option)}, 8000)
    t, log = Timing.of(testbed.rows(run, "segments", "x"), sampling), testbed.Log.of(run, "x")
    assert run.flows["fast_recoveries"][0].as_py() > 1
    np.testing.assert_allclose(t.time[t.sampled], log.time)
    np.testing.assert_allclose(t.rtt[t.sampled], log.rtt)
    np.testing.assert_allclose(t.replay(Timer.parse(timer))["rto"][t.sampled], log.rto, rtol=1e-6)


def test_what_cannot_be_timed_is_refused():
    with pytest.raises(ac.InputError, match="expected one of every, once"):
        Timing.of(SEGMENTS, "often")
    with pytest.raises(ac.InputError, match="sent no data"):
        Timing.of(SEGMENTS.slice(0, 2))


def test_a_trace_without_acks_has_no_rows():
    t = Timing.of(SEGMENTS.filter(SEGMENTS["sent"]))
    assert t.time.size == 0
    assert t.replay(Timer.parse("lite"))["rto"].size == 0


def test_the_testbed_s_line_has_its_service_time():
    # E-E17: 1500 bytes at 240 bytes/s, 40 of them in the line.
    run = testbed.transfer(testbed.line(), {"x": testbed.lite()}, 7000)
    t = Timing.of(testbed.rows(run, "segments", "x"))
    assert np.median(np.diff(t.time)) == pytest.approx(6.25)
    assert np.nanmax(t.rtt) == pytest.approx(250.0, rel=1e-3)
