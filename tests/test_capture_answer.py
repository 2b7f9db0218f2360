"""The first answer about a capture: what limited a connection, from both ends, in the same words for the
terminal, JSON and the page.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.plot.kinds import KINDS
from ackclock.results.cause_words import BESIDES, WHY

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
# A folder of the same captures made anew by fixtures/limits.sh, which are tested as well: they hold what the
# scenario says, and not the numbers of the kept files.
REMADE = os.environ.get("ACKCLOCK_REMADE_LIMITS")
FOLDERS = [FIXTURES, *([Path(REMADE)] if REMADE else [])]
ENDS = ("near", "far")
LIMITS = {
    # A server that sends to a client: what limits it most, its least share, and words of the kept files.
    "receiver": (
        "receiver_window",
        0.5,
        r"the client's receive window was full \(18.8 kB: 3.7\d Mbit/s at most",
    ),
    "zero": (
        "receiver_window",
        0.75,
        r"the client did not read: it closed its window 3 times, for 1.16 s in all",
    ),
    "application": ("application", 0.85, "the server's application had nothing to send"),
    "application-unstamped": ("application", 0.85, "the server's application had nothing to send"),
    "answer": ("answer", 0.75, "the server's application took its time to answer"),
    "loss": ("congestion_window", 0.45, r"losses \(13 of 4\d\d data packets, 2\.6\d %, in \d episodes\)"),
    "tls": ("tls", 0.45, "the TLS handshake"),
    "nagle": ("nagle", 0.55, r"11 times a small segment of the client waited .*TCP_NODELAY"),
    "slow": ("slow_start", 0.55, "the server's congestion window still grew"),
    "both": ("slow_start", 0.4, r"queueing \(bufferbloat\): round trips rose from 40\.\d ms to 1\d\d ms"),
}
# What the scenarios of limits.py and limits.sh say of any file: words with numbers, and the range of each.
ANY = {
    # SO_RCVBUF of 16 kB, which Linux doubles; a window for each round trip of 40 ms.
    "receiver": (
        r"receive window was full \(([\d.]+) kB: ([\d.]+) Mbit/s at most",
        [(8, 33), (8 * 8 / 41, 33 * 8 / 40)],
    ),
    # Three pauses of half a second; in each the buffer of 120 kB fills first, at 20 Mbit/s.
    "zero": (r"closed its window (\d) times, for ([\d.]+) s", [(2, 4), (0.6, 1.5)]),
    # 2 % of 484 packets: within three standard deviations.
    "loss": (r"losses \(\d+ of \d+ data packets, ([\d.]+) %, in (\d+) episodes\)", [(0.1, 4), (1, 18)]),
    # Twelve requests in two small segments each.
    "nagle": (r"(\d+) times a small segment of the client waited .*TCP_NODELAY", [(10, 12)]),
    # A queue of 50 ms in each direction.
    "both": (r"round trips rose from ([\d.]+) ms to ([\d.]+) ms", [(40, 42), (60, 145)]),
}


def said(c):
    """All sentences on the causes of a connection's time."""
    return " ".join((c["answer"]["sentence"], *c["answer"]["others"]))


def capture(case, end, folder=FIXTURES, **options):
    return ac.read_capture(folder / f"kernel-limited-{case}-{end}.pcap.gz", **options)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("case", LIMITS)
def test_what_limits_a_connection_is_said_from_both_ends(case, end, folder):
    (c,) = capture(case, end, folder).connections
    cause, least, words = LIMITS[case]
    found, kept = c["answer"]["causes"], folder == FIXTURES
    if case == "tls":
        # How long it computes depends on the machine; on a fast one slow start takes longer.
        (tls,) = (f for f in found[:2] if f["cause"] == cause)
        assert tls["time"] == pytest.approx(c["tls"]["handshake"], abs=0.005)
    if kept or case != "tls":
        assert found[0]["cause"] == cause
        assert found[0]["share"] >= least
    if kept or case not in ANY:
        assert re.search(words, said(c))
    if case in ANY:
        pattern, ranges = ANY[case]
        told = re.search(pattern, said(c))
        assert told, said(c)
        for number, (low, high) in zip(told.groups(), ranges, strict=True):
            assert low <= float(number) <= high, told[0]
    assert 0.98 < sum(f["share"] for f in found) < 1.02, "the causes are the whole time"
    assert [f["time"] for f in found if f["cause"] != "idle"] == sorted(
        (f["time"] for f in found if f["cause"] != "idle"), reverse=True
    )
    assert f"from packet {found[0]['frame']:,}" in c["answer"]["sentence"]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("end", ENDS)
def test_a_queue_is_told_by_its_round_trips_and_its_place(end, folder):
    (c,) = capture("queue", end, folder).connections
    trips = c["directions"][1]["round_trips"]
    # 5 Mbit/s and 30 ms.
    assert 0.030 < trips["low"] < 0.032
    # What is under way waits for the link; `high` is the 95th percentile.
    longest = trips["under_way"] * 8 / 5e6
    assert 0.75 * longest < trips["high"] < 1.1 * longest + 0.03
    assert 200_000 < trips["under_way"] < 1_200_000, "a window that no loss cuts, of a transfer of 1.2 MB"
    assert trips["queue_there"] > 0.9 * (trips["high"] - trips["low"])
    assert trips["queue_back"] < 0.03
    high, under_way = r"[\d.]+ m?s", r"[\d.]+ [kM]B"
    if folder == FIXTURES:
        # 600 kB under way take 960 ms.
        assert 0.9 < trips["high"] < 1.0
        assert 600_000 < trips["under_way"] < 610_000
        assert trips["queue_there"] > 0.9
        high, under_way = r"96\d ms", r"60\d kB"
    assert re.search(
        rf"queueing \(bufferbloat\): round trips rose from 3\d\.\d ms to {high} while {under_way} were under "
        "way, in a queue on the way to the client",
        said(c),
    )


def test_without_timestamps_the_receivers_end_guesses_nothing():
    near, far = (capture("queue-unstamped", end).connections[0] for end in ENDS)
    assert "without timestamps, this end cannot tell which" in said(near)
    assert near["directions"][1]["round_trips"]["high"] is None
    assert any("sends no timestamps" in note for note in near["notes"])
    assert "bufferbloat" in said(far)
    # The delays of the queue are no pauses of the application.
    assert near["directions"][1]["limits"]["application"] < 0.05 * near["duration"]


@pytest.mark.parametrize("end", ENDS)
def test_a_pure_client_is_not_limited_by_its_application(ackclock, end):
    done = ackclock("capture", FIXTURES / f"kernel-limited-receiver-{end}.pcap.gz")
    assert done.code == 0, done
    assert "The client sent 100 B and had nothing more to send.\n" in done.out
    assert "The client was limited" not in done.out


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("end", ENDS)
def test_facts_that_an_engineer_asks_first(ackclock, end, folder):
    kept = folder == FIXTURES
    done = ackclock("capture", folder / f"kernel-limited-zero-{end}.pcap.gz")
    assert re.search(r"^Set up in 4\d\.\d ms\.$", done.out, re.MULTILINE)
    closures = re.search(
        r"The client closed its window (\d) times, for ([\d.]+) s in all \(the longest (\d\d\d) ms", done.out
    )
    assert closures, done.out
    if kept:
        assert re.search(r"^Set up in 40\.\d ms\.$", done.out, re.MULTILINE)
        assert closures.groups()[:2] == ("3", "1.16")
        assert closures[3].startswith("3")
    # Three pauses of half a second.
    assert 2 <= int(closures[1]) <= 4
    assert int(closures[3]) / 1000 <= float(closures[2]) < 1.5
    assert int(closures[3]) <= 500
    assert re.search(
        r"The server sent 500 kB in [\d.]+ s, from its first data to its last, without the set-up: \S+ "
        r"Mbit/s on average, .* at most: \|[▁▂▃▄▅▆▇█·]+\|",
        done.out,
    )
    (c,) = capture("tls", end, folder).connections
    if kept:
        assert c["tls"]["handshake"] == pytest.approx(0.384, abs=0.002)
    # A round trip at least, and the machine's time for it.
    assert 0.04 <= c["tls"]["handshake"] < c["duration"]
    assert "its content is TLS" in " ".join(c["answer"]["more"])


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("end", ENDS)
def test_many_short_connections_are_summed_by_server(ackclock, end, folder):
    path = folder / f"kernel-limited-short-{end}.pcap.gz"
    answer = json.loads(ackclock("capture", path, "--json").out)["answer"]
    (server,) = answer["servers"]
    assert (server["connections"], server["bytes"]) == (12, 12 * 8100)
    # A round trip of 40 ms each, which a busy machine makes longer.
    assert 12 * 0.04 <= server["handshake"] < 12 * 0.05
    if folder == FIXTURES:
        assert server["handshake"] == pytest.approx(12 * 0.0403, rel=0.02)
    assert "12 connections with data took" in answer["sentence"]
    assert re.search(r"(?m)^server +connections", ackclock("capture", path).out)


def test_text_json_and_page_have_the_same_answer(ackclock, tmp_path):
    path, page = FIXTURES / "kernel-limited-nagle-near.pcap.gz", tmp_path / "page.html"
    text = ackclock("capture", path, "--html", page).out.splitlines()
    answer = json.loads(ackclock("capture", path, "--json").out)["answer"]
    assert text[0] == answer["sentence"]
    shown = page.read_text(encoding="utf-8").replace("&#39;", "'")
    assert f"<li>{answer['sentence']}</li>" in shown
    assert all(f"<li>{sentence}</li>" in shown for sentence in (*answer["others"], *answer["more"]))
    assert text[1 : 1 + len(answer["others"])] == answer["others"]


def test_segments_of_offload_are_explained_for_either_end():
    for end, words in (
        ("sender", "the capture saw them before the device cut them"),
        ("receiver", "the device had joined them"),
    ):
        (c,) = ac.read_capture(FIXTURES / f"kernel-both-ends-offload-{end}.pcap.gz").connections
        assert any(words in sentence for sentence in c["answer"]["more"]), c["answer"]


SLOW = Path(__file__).parents[1] / "python/ackclock/examples/slow.pcap.gz"


def test_a_lost_syn_has_a_row_of_its_own_and_each_cause_a_sentence():
    (c,) = ac.read_capture(SLOW).connections
    answer = c["answer"]
    first, second = answer["causes"][:2]
    assert (first["cause"], second["cause"]) == ("syn_timeouts", "congestion_window")
    assert first["time"] == pytest.approx(1.033, abs=0.001)
    assert answer["sentence"].endswith(
        "(1.03 s, from packet 2): waiting for the timer of a lost SYN (1 timeout)."
    )
    assert "%" not in answer["sentence"].replace("76 %", ""), "one cause in the first sentence"
    assert answer["others"][0].startswith("Another 19 %")
    assert answer["others"][1] == second["also"][0]


def test_each_rate_of_loss_says_what_it_counts(ackclock):
    out = ackclock("capture", SLOW).out
    lines = [line for line in out.splitlines() if "%" in line]
    assert any("losses (23 of 305 data packets, 7.54 %, in 5 episodes)" in line for line in lines)
    (models,) = (line for line in lines if "Mathis" in line)
    assert models.count("1.8 %") == 1
    assert "p = 1.8 % (p: loss episodes per packet, each counted once however many packets it lost)" in models


def test_why_packets_were_retransmitted_is_told_in_words(ackclock):
    out = ackclock("capture", SLOW).out
    assert (
        "28 of 552 packets were retransmitted, 5 of them spuriously as far as is known: 23 as data sent "
        "later had arrived (RACK), 4 after duplicate acks (fast retransmit), 1 to open the connection "
        "(SYN or SYN-ACK).\n"
    ) in out
    # Every kind of a capture has words; figures know further ones, of simulated runs.
    assert {*WHY, *BESIDES} == {*KINDS} - {"timeout-retransmit", "window-probe"}


def test_a_capture_that_is_not_there_is_one_sentence(ackclock, tmp_path):
    for command in (["capture"], ["sender"]):
        done = ackclock(*command, tmp_path / "missing.pcap")
        assert done.code == 2
        assert done.err == (
            f"ackclock: {tmp_path / 'missing.pcap'}: the file does not exist; expected a capture: pcap or "
            "pcapng, plain, gzip or zstd\n"
        )
    done = ackclock("capture", tmp_path)
    assert "this is a folder; expected a capture: pcap" in done.err


def test_the_rate_of_a_sender_is_that_from_its_first_data_to_its_last():
    (c,) = ac.read_capture(SLOW).connections
    (sent,) = (s for s in c["answer"]["more"] if s.startswith("The client sent"))
    t = c["directions"][0]["throughput"]
    lasted = len(t["bytes"]) * t["interval"]
    assert lasted < c["duration"] - c["handshake"] + t["interval"]
    assert f"in {1e3 * lasted:.0f} ms, from its first data to its last, without the set-up" in sent
    assert f"{8 * sum(t['bytes']) / lasted / 1e6:.1f} Mbit/s on average" in sent


def test_the_guide_shows_the_answer_as_it_is():
    (c,) = ac.read_capture(SLOW).connections
    guide = " ".join((Path(__file__).parents[1] / "docs/captures.md").read_text(encoding="utf-8").split())
    assert said(c) in guide
