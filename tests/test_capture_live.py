"""Captures that are still being written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.cli.capture_live import Rates
from ackclock.results.capture import follow_capture

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
SHORT = FIXTURES / "kernel-limited-short-near.pcap.gz"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_it_is_shown_while_it_comes_and_ends_as_the_whole(pipe):
    whole = gzip.decompress(SHORT.read_bytes())
    seen, half_seen = [], threading.Event()

    def write():
        with pipe.open("wb") as out:
            out.write(whole[: len(whole) // 2])
            out.flush()
            half_seen.wait(60)
            out.write(whole[len(whole) // 2 :])

    def show(now):
        seen.append(now)
        if now["connections"] > 2:
            half_seen.set()

    writer = threading.Thread(target=write)
    writer.start()
    found = follow_capture(pipe, show, interval=0.01)
    writer.join()
    assert half_seen.is_set(), "the end did not come before it was shown"
    counts = [now["connections"] for now in seen]
    assert counts == sorted(counts)
    assert 2 < counts[-1] <= 12
    (first, *_) = seen[-1]["shown"]
    assert first["server"].endswith(":8000")
    assert first["rtt"] == pytest.approx(0.0402, abs=0.001)
    expected = ac.read_capture(SHORT, samples=False)
    assert found.report["answer"] == expected.report["answer"]
    assert found.connections == expected.connections


def test_an_error_of_the_one_who_is_shown_is_raised(pipe):
    def write():
        with pipe.open("wb") as out:
            out.write(gzip.decompress(SHORT.read_bytes()))
            out.flush()
            raised.wait(60)

    def show(now):
        raise ValueError("enough")

    raised = threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(ValueError, match="enough"):
        follow_capture(pipe, show, interval=0.0)
    raised.set()
    writer.join()


def test_a_pipe_into_the_command_ends_with_the_answer():
    done = subprocess.run(
        [sys.executable, "-m", "ackclock", "capture", "-"],
        input=gzip.decompress(SHORT.read_bytes()),
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.decode().startswith("12 connections with data took ")


def test_rates_are_those_since_the_last_table():
    def connection(latest, down):
        ends = {"client": "10.0.0.1:40000", "server": "10.0.0.2:80", "start": 100.0, "latest": latest}
        rest = {
            "state": "open",
            "packets": 9,
            "retransmitted": 3,
            "rtt": 0.04,
            "under_way": 5,
            "closed": True,
        }
        return {"connections": 1, "shown": [{**ends, **rest, "bytes": [100, down]}]}

    rates = Rates()

    def cells(now, width):
        columns = rates.table(now, width, 20).columns
        return {str(c.header): next(iter(c.cells)) for c in columns}

    assert cells(connection(101.0, 1_000), 80)["down"] == "8 kbit/s"
    shown = cells(connection(103.0, 26_000), 120)
    assert (shown["up"], shown["down"]) == ("0 bit/s", "100 kbit/s")
    assert (shown["state"], shown["again"]) == ("window closed", "3")
    assert "again" not in cells(connection(104.0, 26_000), 80), (
        "a narrow terminal has room for the first ones"
    )
