"""Limits of a scenario: its memory, and the disk space of its trace."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest

import ackclock as ac
from ackclock.results import folder, spill
from ackclock.scenario import scenario as whole

DATAGRAMS = [ac.Web(trace="I", load=0.9), ac.Udp(flows=3, rate="1Mbit/s"), ac.Bulk(flows=2)]
PATH = ac.Dumbbell(bottleneck=ac.Link("10Mbit/s"), rtt=ac.Uniform("10ms", "200ms"))
STACKS = {"tcp": "sack", "none": "sack+no-backoff"}


def traced(**options):
    return ac.simulate(PATH, DATAGRAMS, STACKS, duration="4s", trace="all", **options)


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(whole, "TRACED_EVENTS", 20_000)


def test_a_trace_on_disk_is_the_same_trace(monkeypatch, tmp_path):
    in_memory = traced()
    monkeypatch.setattr(whole, "TRACED_EVENTS", 20_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for workers in (1, 2):
        on_disk = traced(workers=workers)
        assert on_disk.flows.equals(in_memory.flows)
        assert list(on_disk.traces) == list(in_memory.traces) == ["samples", "episodes", "segments", "state"]
        for name, table in in_memory.traces.items():
            assert on_disk.traces[name].schema.equals(table.schema, check_metadata=True)
            assert on_disk.traces[name].equals(table), name
        assert on_disk.traces["segments"].column("time").num_chunks > 2
    assert list(tmp_path.iterdir()) == [], "its files have no name"


def test_a_trace_on_disk_gives_the_same_figures_and_folder(monkeypatch, tmp_path):
    in_memory = traced()
    in_memory.save(tmp_path / "a")
    monkeypatch.setattr(whole, "TRACED_EVENTS", 20_000)
    on_disk = traced()
    on_disk.save(tmp_path / "b")
    for name in ("flows", "links", "samples", "episodes", "segments", "state"):
        a, b = (folder.read_table(tmp_path / where / f"{name}.parquet") for where in "ab")
        assert a.equals(b), name
    flow = int(in_memory.traces["segments"]["connection"][0].as_py()) // 2
    assert in_memory.plot.trace(flow, "tcp").end == on_disk.plot.trace(flow, "tcp").end


def test_a_trace_is_read_where_it_lies(little_room):
    # The table's buffers are those of the file, not memory of Arrow.
    before = pa.total_allocated_bytes()
    run = traced()
    assert pa.total_allocated_bytes() - before < run.traces["segments"].nbytes / 4


def test_room_on_disk_is_bounded(little_room, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(
        ac.InputError,
        match=r"the trace takes more than 0.00195 GiB on disk: trace fewer groups of events "
        r"\(`trace`\), make",
    ) as e:
        traced(trace_limit="2MiB")
    assert "--trace-limit" in str(e.value)
    assert list(tmp_path.iterdir()) == []
    assert traced(trace_limit="200MiB").traces["segments"].num_rows > 10_000


def test_a_folder_that_cannot_be_written_to_is_named(little_room, tmp_path):
    scenario = ac.Scenario.of(PATH, DATAGRAMS, STACKS, duration="4s", trace="all")
    with pytest.raises(ac.InputError, match=r"the trace cannot be written to .*nowhere"):
        scenario.simulate(scratch=tmp_path / "nowhere")


def test_an_earlier_attempt_counts_no_more(tmp_path):
    found = spill.Spill(tmp_path)
    empty = pa.table({"time": pa.array([], pa.float64())})

    def part(*times):
        return pa.table(
            {"time": pa.array(times, pa.float64()), "connection": pa.array([0] * len(times), pa.uint32())}
        )

    found.take(0, 0, "tcp", (empty, part(1.0, 2.0), empty))
    found.take(0, 1, "tcp", (empty, part(1.0), empty))
    found.take(1, 0, "none", (empty, part(7.0), empty))
    found.take(0, 1, "tcp", (empty, part(3.0), empty))
    assert found.table("segments", 0, 1, 0)["time"].to_pylist() == [1.0, 3.0]
    assert found.table("segments", 1, 0, 0)["run"].to_pylist() == ["none"]
    assert found.table("samples", 0, 1, 0) is None


def test_memory_is_bounded_and_more_can_be_allowed():
    flows = ac.Bulk(flows=20_000, spread="1s")
    with pytest.raises(
        ac.ScenarioError,
        match=r"about 20000 flows would be active at once and take about 48.2 MiB; the limit "
        r"is 40 MiB",
    ):
        ac.simulate(PATH, flows, "sack", duration="1s", memory="40MiB")
    assert ac.simulate(PATH, flows, "sack", duration="1s", memory="100MiB").flows.num_rows == 20_000
    long = ac.Single(ac.Link("1Gbit/s", delay="80000s"))
    with pytest.raises(
        ac.ScenarioError,
        match=r"run `tcp` with seed 1: at [0-9.]+s it would hold more than 60 MiB of memory, "
        r"with 1 flows, ",
    ):
        ac.simulate(long, ac.Udp(rate="1Gbit/s", bytes="28B"), {"tcp": "sack"}, memory="60MiB")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"memory": "much"}, "`memory`: `much` is not a size"),
        ({"memory": 5}, "`memory` is `5`; expected a size of at least 1 MiB, such as `8GiB`"),
        ({"trace_limit": "1B"}, "`trace_limit` is `1B`; expected a size of at least 1 MiB"),
    ],
)
def test_limits_are_sizes(options, sentence):
    with pytest.raises(ac.InputError) as e:
        traced(**options)
    assert sentence in str(e.value)


TRACED = """
duration = "4s"
trace = "all"
path = { kind = "single", link = { rate = "1Gbit/s", delay = "5ms", queue = { limit = "2bdp" } } }
workload = { kind = "bulk", flows = 4 }
stacks = { tcp = "sack" }
"""


def test_a_large_trace_is_announced(tmp_path):
    (tmp_path / "all.toml").write_text(TRACED)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ackclock",
            "run",
            "all.toml",
            "--out",
            "out",
            "--json",
            "--set",
            "duration=10s",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "The trace may have about 4.7 M events (257 MB); what does not fit in memory is written to disk "
        "during the run." in done.stderr
    )
    assert json.loads(done.stdout)["stacks"][0]["segments"] > 100_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.toml", "out"]
    few = subprocess.run(
        [
            sys.executable,
            "-m",
            "ackclock",
            "run",
            "all.toml",
            "--out",
            "out",
            "--set",
            "duration=10ms",
            "--memory",
            "1kB",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (few.returncode, few.stderr) == (
        2,
        "ackclock: `memory` is `1kB`; expected a size of at least 1 MiB, such as `8GiB`\n",
    )
