"""Simulating: from the command line and from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock import _core

SCENARIO = """\
seed = 7
duration = "5s"
drain = "20s"
[path]
kind = "dumbbell"
bottleneck = { rate = "2Mbit/s", queue = { kind = "red", limit = "2bdp" } }
rtt = { uniform = ["10ms", "200ms"] }
[workload]
kind = "web"
trace = "I"
load = 1.1
[stacks]
tcp = "sack"
"no backoff" = "sack+no-backoff"
"""


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "short.toml"
    file.write_text(SCENARIO)
    return file


def everything_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_run_prints_a_table_and_writes_a_folder(ackclock, scenario, tmp_path):
    done = ackclock("run", scenario)
    assert done.code == 0
    answer, table = done.out.split("\n\n")
    assert answer.startswith("Transfers ")
    lines = table.splitlines()
    assert lines[0].startswith("Every number c")
    assert lines[1].split() == [
        "stack",
        "flows",
        "finished",
        "mean",
        "median",
        "p99",
        "loss",
        "goodput",
        "timeouts",
        "spurious",
        "retransmissions",
    ]
    assert [line.split("  ")[0] for line in lines[2:4]] == ["tcp", "no backoff"]
    assert "\x1b" not in done.out + done.err
    folder = tmp_path / "runs" / "short"
    assert {p.name for p in folder.iterdir()} == {
        "scenario.toml",
        "flows.parquet",
        "links.parquet",
        "summary.json",
        "ackclock.json",
        "response_time.png",
        "response_time.svg",
    }


def test_json_holds_the_numbers_of_the_table(ackclock, scenario, tmp_path):
    done = ackclock("run", scenario, "--json", "--out", tmp_path / "out")
    assert done.err == ""
    stacks = {row["stack"]: row for row in done.json["stacks"]}
    flows = pq.read_table(tmp_path / "out" / "flows.parquet").to_pylist()
    for label, row in stacks.items():
        own = [f for f in flows if f["stack"] == label]
        assert row["flows"] == len(own)
        assert row["finished"] == sum(f["outcome"] == "finished" for f in own)
        times = [f["response_time"] for f in own if f["outcome"] == "finished"]
        assert row["mean"] == pytest.approx(sum(times) / len(times), rel=1e-9)
        assert row["max"] == max(times)


def test_the_resolved_scenario_gives_the_same_tables_again(ackclock, scenario, tmp_path):
    assert ackclock("run", scenario, "--out", tmp_path / "first").code == 0
    assert ackclock("run", tmp_path / "first" / "scenario.toml", "--out", tmp_path / "second").code == 0
    for name in ("scenario.toml", "flows.parquet", "links.parquet"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_tables_are_the_same_bytes_in_two_processes_and_for_any_number_of_workers(
    ackclock, scenario, tmp_path
):
    for workers in (1, 2, 5):
        assert ackclock("run", scenario, "--workers", workers, "--out", tmp_path / f"w{workers}").code == 0
    for name in ("flows.parquet", "links.parquet", "response_time.svg", "response_time.png"):
        first = (tmp_path / "w1" / name).read_bytes()
        assert all((tmp_path / f"w{w}" / name).read_bytes() == first for w in (2, 5)), name


def test_another_seed_gives_other_tables(ackclock, scenario, tmp_path):
    assert ackclock("run", scenario, "--out", tmp_path / "a").code == 0
    assert ackclock("run", scenario, "--set", "seed=8", "--out", tmp_path / "b").code == 0
    assert (tmp_path / "a" / "flows.parquet").read_bytes() != (tmp_path / "b" / "flows.parquet").read_bytes()


WRONG = [
    ("missing-file", None, [], "does not exist"),
    ("not-toml", "seed = = 1", [], "short.toml:1: this is not TOML"),
    ("unknown-key", SCENARIO.replace("trace =", "trase ="), [], "`workload.trase` is not a known key"),
    ("unknown-key-names-the-nearest", SCENARIO.replace("trace =", "trase ="), [], "`trace`"),
    (
        "unknown-policy",
        SCENARIO.replace('"red"', '"redd"'),
        [],
        "`redd` is not a known queue (did you mean `red`?)",
    ),
    ("unknown-stack", SCENARIO.replace('"sack"', '"sak"'), [], "did you mean `sack`?"),
    (
        "bare-number",
        SCENARIO.replace('"5s"', "5"),
        [],
        "short.toml:2: `duration` is `5`, which is not a time",
    ),
    (
        "negative-rate",
        SCENARIO.replace("2Mbit", "-2Mbit"),
        [],
        "short.toml:6: `path.bottleneck.rate` is `-2Mbit/s`, which is not a rate",
    ),
    ("rate-of-zero", SCENARIO.replace("2Mbit", "0Mbit"), [], "`path.bottleneck.rate` is `0bit/s`"),
    ("tiny-queue", SCENARIO.replace("2bdp", "100B"), [], "less than a packet"),
    ("no-stacks", SCENARIO.split("[stacks]")[0], [], "`stacks` is missing"),
    (
        "no-path",
        """\
        [path]
        kind = "graph"
        edges = [
            { from = "a", to = "b", rate = "1Mbit/s", delay = "1ms" },
            { from = "c", to = "d", rate = "1Mbit/s", delay = "1ms" },
        ]
        [workload]
        kind = "bulk"
        client = "a"
        server = "d"
        [stacks]
        tcp = "sack"
        """,
        [],
        "no path leads from `a` to `d`",
    ),
    (
        "override-of-nothing",
        SCENARIO,
        ["--set", "path.rttt=50ms"],
        "--set path.rttt=50ms: `path.rttt` is not a known key",
    ),
    ("override-without-value", SCENARIO, ["--set", "path.rtt"], "--set path.rtt` is not a key and a value"),
    (
        "override-without-unit",
        SCENARIO,
        ["--set", "path.rtt=50"],
        "--set path.rtt=50: `path.rtt` is `50`, which is not a time",
    ),
]


@pytest.mark.parametrize(("text", "arguments", "says"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_input_is_one_sentence_exit_2_and_nothing_written(ackclock, tmp_path, text, arguments, says):
    if text is not None:
        (tmp_path / "short.toml").write_text(textwrap.dedent(text))
    before = everything_below(tmp_path)
    done = ackclock("run", "short.toml", *arguments)
    assert done.code == 2, done
    assert done.is_one_sentence(), done.err
    assert says in done.err
    assert everything_below(tmp_path) == before


def test_a_folder_with_other_files_is_refused_before_the_run(ackclock, scenario, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    done = ackclock("run", scenario, "--out", tmp_path / "mine")
    assert done.code == 2
    assert done.is_one_sentence()
    assert "holds other files" in done.err


def test_python_and_file_give_the_same_tables(scenario):
    from_file = ac.Scenario.read(scenario).simulate()
    path = ac.Dumbbell(
        bottleneck=ac.Link("2Mbit/s", queue=ac.Red(limit="2bdp")), rtt=ac.Uniform("10ms", "200ms")
    )
    stacks = {"tcp": ac.Stack("sack"), "no backoff": ac.Stack("sack", backoff="none")}
    from_python = ac.simulate(path, ac.Web(trace="I", load=1.1), stacks, seed=7, duration="5s", drain="20s")
    assert from_python.flows.equals(from_file.flows)
    assert from_python.links.equals(from_file.links)
    assert from_python.scenario == from_file.scenario


def test_the_stack_of_the_readme_means_what_it_says():
    path = ac.Single(ac.Link("1Mbit/s", delay="10ms"))
    tcp = ac.Stack(recovery="sack", timer=ac.Rfc6298(min_rto="200ms"))
    text = ac.Scenario.of(path, ac.Fixed(), {"tcp": tcp, "none": tcp.but(backoff="none")}).resolve()
    assert text.count('min_rto = "200ms"') == 2
    assert tcp.but(backoff="none") != tcp
    assert tcp.but(backoff="none").but(backoff=None).to_scenario() == tcp.to_scenario()


def test_wrong_input_from_python_raises_what_it_is():
    path = ac.Single(ac.Link("1Mbit/s", delay="10ms"))
    with pytest.raises(ac.ScenarioError, match="lod"):
        ac.simulate(path, ac.Web(trace="I", lod=1.0), "sack")
    with pytest.raises(ac.PolicyError, match="`limt` is not a parameter of `red`"):
        ac.Red(limt="2bdp")
    with pytest.raises(ac.InputError, match="does not exist"):
        ac.Scenario.read("nowhere.toml")
    with pytest.raises(AttributeError, match=r"recovery\.Reno or window\.Reno"):
        _ = ac.Reno
    assert issubclass(ac.ScenarioError, ac.InputError)
    assert issubclass(ac.InputError, ac.AckclockError)


def test_tables_cross_without_a_copy(scenario):
    result = _core.simulate(SCENARIO, [], "short", None, 1, None)
    table = pa.table(result.flows)
    column = table.column_names.index("start")
    assert table["start"].chunk(0).buffers()[1].address == result.flows.address(column)
    assert table.schema.field("start").metadata[b"unit"] == b"s"
    # The buffers outlive what they came from.
    rows = len(result.flows)
    del result
    assert table.num_rows == rows
    assert sum(table["start"].to_pylist()) > 0


def test_what_is_traced_is_in_the_run_folder(ackclock, scenario, tmp_path):
    assert (
        ackclock(
            "run", scenario, "--set", "trace=all", "--set", "duration=1s", "--out", tmp_path / "out"
        ).code
        == 0
    )
    run = ac.load(tmp_path / "out")
    assert list(run.traces) == ["samples", "episodes", "segments", "state"]
    for table in run.traces.values():
        assert table.column_names[0] == "run"
        assert table["run"].unique().to_pylist() == ["tcp", "no backoff"]
    assert not ac.Scenario.read(scenario).simulate().traces


def test_the_private_state_of_policies_is_a_table():
    path = ac.Single(ac.Link("5Mbit/s", queue=ac.DropTail(limit="50packets")), rtt="40ms")
    state = ac.simulate(path, ac.Bulk(), {"tcp": "cubic"}, trace="state", duration="10s").traces["state"]
    assert state.column_names == ["run", "time", "connection", "flow", "side", "policy", "name", "value"]
    rows = [row for row in state.to_pylist() if row["policy"] == "window"]
    assert {row["name"] for row in rows} == {"w_max", "k", "w_est"}
    # A row is a change, and slow start has ended.
    for name in ("w_max", "w_est"):
        values = [row["value"] for row in rows if row["name"] == name]
        assert len(values) > 2 and all(a != b for a, b in pairwise(values))


WEB = SCENARIO[SCENARIO.index("[workload]") : SCENARIO.index("[stacks]")]
LONG = (
    SCENARIO.replace('"5s"', '"100000s"')
    .replace("2Mbit/s", "50Mbit/s")
    .replace(WEB, '[workload]\nkind = "bulk"\nflows = 100\n')
)


def test_other_threads_run_while_it_simulates():
    ticks = 0
    done = threading.Event()

    def simulate():
        try:
            with pytest.raises(ZeroDivisionError):
                _core.simulate(LONG, [], "long", None, 2, stop_after(1.0))
        finally:
            done.set()

    def stop_after(seconds):
        began = time.monotonic()
        return lambda share, label: 1 / 0 if time.monotonic() - began > seconds else None

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.is_set():
        time.sleep(0.005)
        ticks += 1
    thread.join()
    assert ticks > 20


def test_progress_is_reported_and_reaches_the_end(scenario):
    reported = []
    ac.Scenario.read(scenario).simulate(progress=lambda share, label: reported.append(share))
    assert reported == sorted(reported)
    assert reported[-1] == pytest.approx(1.0)


def test_ctrl_c_ends_quietly_and_leaves_nothing(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    child = subprocess.Popen(
        [sys.executable, "-m", "ackclock", "run", "long.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3.0)
    assert child.poll() is None, child.communicate()
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    took = time.monotonic() - sent
    assert (child.returncode, out, err) == (130, "", "")
    assert everything_below(tmp_path) == ["long.toml"]
    # Half a second is the aim; a machine that is busy with other tests is given more.
    assert took < 2.5 if os.environ.get("CI") is None else took < 10
