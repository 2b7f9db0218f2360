"""Captures: the command, the tables, and the results for traces with known events."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.reproduce.mathis97 import captured
from ackclock.reproduce.mathis97 import f11_overbuffered as f11
from ackclock.reproduce.mathis97 import x14_reordering_outages as x14


@pytest.fixture(scope="module")
def lossy():
    link = ac.Link(
        "10Mbit/s", queue=ac.queue.DropTail(limit="1000packets"), faults=ac.fault.Loss(p=0.02, of="data")
    )
    return captured.transfer(link, "60ms", 100, ac.Fixed(size="3MB"))


@pytest.fixture
def pcap(lossy, tmp_path):
    path = tmp_path / "lossy.pcap"
    path.write_bytes(
        captured.pcap(
            lossy.traces["segments"].filter(pa.compute.equal(lossy.traces["segments"]["connection"], 0)),
            captured.MSS,
        )
    )
    return path


def test_the_command_describes_what_happened(ackclock, pcap, lossy):
    done = ackclock("capture", pcap)
    assert done.code == 0, done
    flow = lossy.flows.to_pylist()[0]
    assert f"{flow['retransmitted_segments']} of " in done.out
    assert "10.0.0.1:40000" in done.out
    first, second = done.out.splitlines()[:2]
    assert first.startswith("It took ")
    assert second.startswith("Stalled" if flow["timeouts"] else "No timeout")


def test_json_holds_what_the_sender_counted(ackclock, pcap, lossy):
    report = ackclock("capture", pcap, "--json").json
    assert (report["format"], report["version"]) == ("ackclock-capture", 2)
    (connection,) = report["connections"]
    assert (connection["client"], connection["server"], connection["state"]) == (
        "10.0.0.1:40000",
        "10.0.0.2:5001",
        connection["state"],
    )
    data, _ = connection["directions"]
    flow = lossy.flows.to_pylist()[0]
    assert data["retransmitted_packets"] == flow["retransmitted_segments"] > 10
    assert len(data["timeouts"]) == flow["timeouts"]
    assert data["unique_bytes"] == 3_000_000
    assert (data["ca_events"], data["non_ca_events"]) == (flow["ca_events"], flow["non_ca_events"])
    assert data["p"] == pytest.approx(flow["p"], rel=0.01)
    assert data["rtt"]["min"] == pytest.approx(flow["rtt_min"], rel=1e-6)
    assert data["view"] == "sender"
    for r in data["retransmissions"]:
        assert r.keys() >= {"t", "seq", "len", "kind", "needed", "evidence"}
        assert r["evidence"]


def test_json_has_the_columns_of_the_tables():
    path = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures/kernel-heavy-loss.pcap.gz"
    found = ac.read_capture(path, what_if="eifel")
    directions = [d for c in found.connections for d in c["directions"]]
    renamed = {"t": "time", "t_start": "begin", "t_end": "end"}
    for table, rows in [
        (found.retransmissions, [r for d in directions for r in d["retransmissions"]]),
        (found.timeouts, [t for d in directions for t in d["timeouts"]]),
        (found.stalls, [s for d in directions for w in d["what_if"] for s in w["episodes"]]),
    ]:
        left_out = [name for name in ("connection", "timer") if name in table.column_names]
        as_json = [{renamed.get(key, key): value for key, value in row.items()} for row in rows]
        assert as_json == table.drop_columns(left_out).to_pylist()
        assert rows


def test_compressed_and_from_a_pipe_it_is_the_same(ackclock, pcap, tmp_path):
    plain = ackclock("capture", pcap, "--json").json
    packed = tmp_path / "lossy.pcap.gz"
    packed.write_bytes(gzip.compress(pcap.read_bytes()))
    assert {**ackclock("capture", packed, "--json").json, "file": plain["file"]} == plain
    piped = subprocess.run(
        [sys.executable, "-m", "ackclock", "capture", "-", "--json"],
        input=pcap.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert {**json.loads(piped.stdout), "file": plain["file"]} == plain


def test_tables_have_the_declared_columns(ackclock, pcap, tmp_path):
    done = ackclock("capture", pcap, "--parquet", tmp_path / "tables", "--csv")
    assert done.code == 0, done
    directions = pq.read_table(tmp_path / "tables" / "directions.parquet")
    assert directions.num_rows == 2
    assert directions.schema.field("stalled").metadata[b"unit"] == b"s"
    again = pq.read_table(tmp_path / "tables" / "retransmissions.parquet")
    assert again.num_rows == sum(directions["retransmitted_packets"].to_pylist())
    samples = pq.read_table(tmp_path / "tables" / "samples.parquet")
    assert pc.sum(pc.is_valid(samples["rtt"])).as_py() == sum(directions["rtt_samples"].to_pylist())
    lines = list(io.StringIO(done.out))
    assert len(lines) == 3
    assert lines[0].startswith("file,connection,sender")


def test_the_clients_view_is_the_same_in_json_tables_and_python(ackclock, tmp_path):
    # Beside the server, which receives what the client sends: silences show the client's timeouts.
    path = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures/kernel-doubled-syn.pcap.gz"
    report = ackclock("capture", path, "--json").json
    listed = [
        {**t, "connection": 2 * c["number"] + side}
        for c in report["connections"]
        for side, d in enumerate(c["directions"])
        for t in d["timeouts"]
    ]
    assert ackclock("capture", path, "--parquet", tmp_path / "tables").code == 0
    written = pq.read_table(tmp_path / "tables" / "timeouts.parquet")
    read = ac.read_capture(path)
    assert read.timeouts.to_pylist() == written.drop_columns("file").to_pylist()
    columns = (
        "seq",
        "of",
        "round",
        "round_certain",
        "rto",
        "eifel_spurious",
        "eifel_certain",
        "outage",
        "remedy",
        "view",
        "rule",
        "connection",
    )
    assert [{key: t[key] for key in columns} for t in listed] == [
        {key: t[key] for key in columns} for t in written.to_pylist()
    ]
    assert [t["t"] for t in listed] == pytest.approx(written["time"].to_pylist())
    client = [t for t in listed if t["view"] == "client"]
    assert {t["rule"] for t in client} == {"gap", "gap-and-content"} and {
        t["connection"] for t in client
    } == {0}
    counts = report["connections"][0]["directions"][0]["timeouts_by_rule"]
    assert counts == {
        rule: sum(t["rule"] == rule for t in client) for rule in ("sent-again", "gap", "gap-and-content")
    }


def test_flows_are_chosen(ackclock, pcap):
    for choice in ("0", ":5001", "10.0.0.1", "10.0.0.2:5001", "7,:40000"):
        assert len(ackclock("capture", pcap, "--flow", choice, "--json").json["connections"]) == 1, choice
    assert ackclock("capture", pcap, "--flow", ":81").is_one_sentence()
    wrong = ackclock("capture", pcap, "--flow", "everything")
    assert wrong.code == 2
    assert wrong.is_one_sentence()


def test_other_files_are_refused_and_damaged_captures_are_read(ackclock, pcap, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("These are no packets, but some words on them.")
    wrong = ackclock("capture", text)
    assert wrong.code == 2
    assert wrong.is_one_sentence()
    assert ackclock("capture", tmp_path / "nowhere.pcap").code == 2
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(pcap.read_bytes()[:50_011])
    done = ackclock("capture", cut)
    assert done.code == 0
    assert "damaged at byte" in done.err
    assert len(ac.read_capture(cut).connections) == 1


def test_p_is_ca_events_over_packets_and_few_are_uncertain():
    for k in (1, 3, 4, 8):
        found = captured.sender(captured.capture(f11.with_losses(k)))
        assert (found["ca_events"], found["non_ca_events"]) == (k, 0)
        assert found["p"] == pytest.approx(k / f11.PACKETS)
        assert found["p_uncertain"] == (k < 4)


def test_an_outage_is_seen_as_one():
    found = captured.sender(captured.capture(f11.with_outage()))
    assert [e["class"] for e in found["episodes"] if e["outage"]] == ["non_ca"]
    assert found["timeouts"][0]["outage"]
    assert not captured.sender(captured.capture(f11.with_losses(2)))["timeouts"]


def test_reordering_is_seen_as_such():
    found = captured.capture(captured.transfer(x14.reordering(), "60ms", 20))
    assert captured.sender(found)["massive_reordering"]
    assert "reorders" in found.summary()[-1]
    link = ac.Link(
        "10Mbit/s", queue=ac.queue.DropTail(limit="1000packets"), faults=ac.fault.Loss(p=0.01, of="data")
    )
    assert not captured.sender(captured.capture(captured.transfer(link, "60ms", 20)))["massive_reordering"]
