from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, exactly, item
from ackclock.reproduce.jacobson88 import testbed
from ackclock.results.transfer import Transfer

START = 2**32 - 3000
"""A first sequence number that wraps on the way."""


def known() -> pa.Table:
    """A trace as a capture gives it, without why a segment was sent: a burst of four packets, the second and
    the fourth lost, and two timeouts.
    """
    sent = [
        (0.0, 0),
        (0.0, 512),
        (0.0, 1024),
        (0.0, 1536),
        (1.5, 512),
        (1.5, 1024),
        (1.5, 1536),
        (3.5, 1536),
        (3.8, 2048),
    ]
    acks = [(0.1, 512), (0.2, 512), (1.6, 1536), (3.6, 2048), (3.9, 2560)]
    rows = sorted(
        [(t, True, START + at, 512, 1) for t, at in sent] + [(t, False, 1, 0, START + at) for t, at in acks],
        key=lambda r: r[0],
    )
    time, is_sent, seq, size, ack = zip(*rows, strict=True)
    return pa.table(
        {
            "time": time,
            "connection": pa.array([0] * len(rows), pa.uint32()),
            "sent": is_sent,
            "kind": pa.array([None] * len(rows), pa.string()),
            "seq": pa.array([s % 2**32 for s in seq], pa.uint32()),
            "len": pa.array(size, pa.uint32()),
            "ack": pa.array([a % 2**32 for a in ack], pa.uint32()),
        }
    )


@item(
    "J-U1",
    kind="CAP",
    title="Trace plots: send time against sequence number",
    choices={
        "captures": "the table `segments` of any world; a capture fills it without saying why a segment "
        "was sent, so repeats are recognised by their bytes"
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The tool on a trace whose counts are known, and on a simulated one whose counts the simulator keeps."""
    t = Transfer.of(known())
    edges, times = t.times_sent()
    run = ac.simulate(
        testbed.one_conversation(),
        ac.Fixed(size="200kB"),
        {"old": testbed.old_tcp()},
        duration="60s",
        trace=["packets"],
    )
    flow = run.flows.to_pylist()[0]
    simulated = testbed.only_transfer(run, "old")
    figure = sequence(
        {"200 kB": simulated},
        title="A trace plot",
        subtitle="Old TCP over six hops; the plot tool on a trace of segments",
        available=testbed.LINK_DATA,
    )
    columns = [
        len(line.get_xdata()) for line in figure.axes[0].get_lines() if line.get_marker() in ("o", "x")
    ]
    checks = [
        exactly("segments sent and retransmitted, known trace", [t.time.size, t.retransmissions], [9, 4]),
        exactly(
            "bytes up to which each was sent so often", edges[1:].tolist(), [512, 1024, 1536, 2048, 2560]
        ),
        exactly("times sent, by byte", times.tolist(), [1, 2, 2, 3, 1]),
        exactly("bytes acknowledged, by ack that moved on", t.acked.tolist(), [512, 1536, 2048, 2560]),
        exactly(
            "segments and retransmissions of a simulated transfer, as the sender counts them",
            [simulated.time.size, simulated.retransmissions],
            [flow["data_segments_sent"], flow["retransmitted_segments"]],
        ),
        exactly(
            "bytes times how often each was sent",
            int((simulated.times_sent()[1] * np.diff(simulated.times_sent()[0])).sum()),
            flow["bytes_sent"],
        ),
        exactly(
            "dots drawn, new and again",
            columns,
            [simulated.time.size - simulated.retransmissions, simulated.retransmissions],
        ),
    ]
    return Outcome(
        checks,
        {"times_sent": pa.table({"from": edges[:-1], "to": edges[1:], "times": times})},
        {"sequence": figure},
    )
