"""Captures near the receiver: one rule decides what counts as a timeout, in sentences, JSON, tables, figures
and on the page.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock import report
from ackclock.results.overview import expiries, overview, stalled
from test_capture_page import arrays, check, data

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
RECEIVER = FIXTURES / "kernel-timeouts-at-the-receiver.pcap.gz"
CAPTURES = [
    RECEIVER,
    *(
        FIXTURES / f"kernel-{name}.pcap.gz"
        for name in (
            "both-ends-receiver",
            "both-ends-offload-receiver",
            "doubled-syn",
            "challenge",
            "heavy-loss",
        )
    ),
]


@pytest.fixture(params=CAPTURES, ids=lambda path: path.name.removeprefix("kernel-").removesuffix(".pcap.gz"))
def path(request):
    return request.param


def test_every_output_counts_the_same_timeouts(path, ackclock, tmp_path):
    done = ackclock("capture", path, "--csv", "--parquet", tmp_path / "tables")
    assert done.code == 0, done
    rows = list(csv.DictReader(io.StringIO(done.out)))
    capture = ac.read_capture(path, packets=True)
    page = check(report.page([capture]))
    figures = {
        f["id"]: {layer["label"]: layer for layer in f["layers"]} for d in data(page) for f in d["figures"]
    }
    timeouts = pq.read_table(tmp_path / "tables" / "timeouts.parquet").to_pylist()
    for c in capture.connections:
        assert stalled(c) <= c["duration"]
        for side, d in enumerate(c["directions"]):
            counted = expiries(d)
            mine = rows[2 * c["number"] + side]
            assert int(mine["timeouts"]) == len(counted) == overview({**c, "directions": [d]})["timeouts"]
            assert int(mine["rounds"]) == max((t["round"] for t in counted), default=0)
            assert float(mine["stalled"]) == pytest.approx(stalled({"directions": [d]}), abs=1e-6)
            assert [t["counts"] for t in timeouts if t["connection"] == 2 * c["number"] + side] == [
                t["counts"] for t in d["timeouts"]
            ]
            assert all(
                0 <= t["rto"] <= c["duration"] and c["start"] <= t["t"] <= c["end"] for t in d["timeouts"]
            )
            if d["view"] == "client":
                assert d["limits"]["timeouts"] == pytest.approx(float(mine["stalled"]), abs=1e-6)
                assert sum(e["timeouts"] for e in d["episodes"]) <= len(counted)
                assert sum(r["kind"] == "timeout" for r in d["retransmissions"]) <= len(counted)
            assert sum(d["limits"].values()) == pytest.approx(c["duration"], abs=1e-6)
            if not d["bytes"]:
                continue
            trace = capture.plot.trace(c["number"], side)
            assert [w.time + trace.origin for w in trace.waits] == pytest.approx([t["t"] for t in counted])
            assert [w.rto for w in trace.waits] == [t["rto"] for t in counted]
            drawn = figures.get(f"c0-{c['number']}-{side}-sequence")
            waits = [layer for layer in drawn.values() if layer["shape"] == "waits"]
            assert [len(arrays(layer)["x"]) for layer in waits] == ([len(counted)] if counted else [])
            words = figures[f"c0-{c['number']}-{side}-rtt"]
            assert (f"timeouts of the sender ({len(counted)})" in words) == bool(counted)


def test_silences_are_drawn_where_the_packet_lies_that_ended_them(path):
    capture = ac.read_capture(path, packets=True)
    for c in capture.connections:
        for side, d in enumerate(c["directions"]):
            if not d["bytes"]:
                continue
            trace = capture.plot.trace(c["number"], side)
            for wait, expiry in zip(trace.waits, expiries(d), strict=True):
                assert expiry["of"] == "syn" or wait.offset in trace.offset
                assert wait.silence == (d["view"] == "client" and expiry["of"] == "data")
            # At the first byte only what is of the first segment.
            begun = [w for w in trace.waits if w.offset == 0 and w.silence]
            assert len(begun) <= int((trace.offset == 0).sum())


def test_the_figure_the_sentences_and_the_page_agree(ackclock, tmp_path):
    done = ackclock("capture", RECEIVER, "--html", tmp_path / "page.html", "--xpl", tmp_path / "xpl")
    assert done.code == 0, done
    capture = ac.read_capture(RECEIVER, packets=True)
    (n,) = {len(expiries(d)) for d in capture.connections[0]["directions"] if d["view"] == "client"}
    assert n == capture.connections[0]["directions"][0]["timeouts_by_rule"]["gap-and-content"] == 8
    assert re.search(
        rf"^Stalled \S+ s of \S+ s in {n} timeouts \(.*; all are inferred from silences near the receiver\.",
        done.out,
        re.MULTILINE,
    )
    shown = [text.get_text() for legend in capture.plot.sequence(0).legends for text in legend.get_texts()]
    side = capture.plot.side(0)
    assert (f"timeouts inferred from silences ({n})" in shown) == (side == 0)
    text = " ".join(" ".join(check((tmp_path / "page.html").read_text("utf-8")).text).split())
    assert f"timeouts {n} " in text
    assert "inferred from a silence near the receiver" in text
    lines = (tmp_path / "xpl" / "sequence-0-client.xpl").read_text().splitlines()
    assert sum(line.startswith("btext") for line in lines) == n
