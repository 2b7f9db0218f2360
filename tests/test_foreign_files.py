"""Files without an end, and files that an untrusted scenario must not read."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import files

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and links of POSIX")
SECRET = "root:$6$secret:19000:0:99999:7:::"
REST = '\nworkload = { kind = "bulk" }\nstacks = { tcp = "reno" }\nduration = "1s"\n'


def graph(edges: str) -> str:
    return f'path = {{ kind = "graph", edges_file = "{edges}" }}{REST}'


def sizes(file: str) -> str:
    return f"""
path = {{ kind = "single", rtt = "20ms", link = {{ rate = "10Mbit/s" }} }}
workload = {{ kind = "web", load = 0.5, sizes = {{ kind = "cdf", file = "{file}" }} }}
stacks = {{ tcp = "reno" }}
"""


def element(table: str) -> str:
    return f'path = {{ kind = "single", rtt = "20ms", link = {{ rate = "1Mbit/s", {table} }} }}{REST}'


def schedule(file: str) -> str:
    return element(f'schedule = {{ file = "{file}" }}')


def trace(file: str) -> str:
    return element(f'mahimahi = {{ file = "{file}" }}')


def jitter(file: str) -> str:
    return element(f'jitter = {{ file = "{file}" }}')


def limited(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """The command with 3 GB of memory: what has no end is refused before."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); from "
        f"ackclock.cli import main; main({list(arguments)!r})"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


@POSIX
@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize("file", ["/dev/zero", "pipe", "."])
def test_devices_and_pipes_are_no_scenarios(tmp_path, command, file):
    os.mkfifo(tmp_path / "pipe")
    done = limited(command, file, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "no regular file" in done.stderr or "is a folder" in done.stderr


@POSIX
@pytest.mark.parametrize("text", [graph, sizes, schedule, trace, jitter])
@pytest.mark.parametrize("file", ["/dev/zero", "pipe"])
def test_devices_and_pipes_are_no_data_even_where_other_files_are_allowed(tmp_path, text, file):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "s.toml").write_text(text(file))
    done = limited("run", "s.toml", "--allow-files", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"`{file}`, which is not a regular file" in done.stderr


@POSIX
def test_reading_ends_at_the_limit_whatever_the_size_is_said_to_be(tmp_path):
    (tmp_path / "long").write_bytes(b"x" * 1001)
    with pytest.raises(ac.InputError, match="more than 1,000 bytes"):
        files.read(tmp_path / "long", 1000, "give less")
    assert files.read(tmp_path / "long", 1001, "give less") == b"x" * 1001
    # A pipe that somebody writes to without an end.
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: os.close(os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)))
    writer.start()
    with pytest.raises(ac.InputError, match="no regular file"):
        files.read(tmp_path / "pipe", 1000, "give less")
    writer.join()


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """An untrusted folder, beside a private file."""
    (tmp_path / "shadow").write_text(f"{SECRET}\nx 0.5 0.7\n")
    folder = tmp_path / "from-a-stranger"
    folder.mkdir()
    if sys.platform != "win32":
        (folder / "link").symlink_to(tmp_path / "shadow")
        (folder / "folder").symlink_to(tmp_path)
    return folder


@POSIX
@pytest.mark.parametrize("text", [graph, sizes, schedule, trace, jitter])
@pytest.mark.parametrize(
    "way", ["../shadow", "{}/shadow", "link", "folder/shadow", "./sub/../../shadow", "../no-such-file"]
)
def test_a_scenario_names_files_of_its_own_folder_alone(ackclock, stranger, tmp_path, text, way):
    (stranger / "s.toml").write_text(text(way.format(tmp_path)))
    done = ackclock("run", stranger / "s.toml")
    assert done.code == 2 and done.is_one_sentence(), done
    assert "lies outside the scenario's folder; put it there, or allow it with `--allow-files`" in done.err
    with pytest.raises(ac.ScenarioError, match="lies outside"):
        ac.Scenario.read(stranger / "s.toml").but({"seed": 2}).resolve()


@POSIX
@pytest.mark.parametrize("text", [graph, sizes, schedule, trace, jitter])
@pytest.mark.parametrize(
    "line",
    [SECRET, "hunter2 passes word", "1 hunter2", "a b hunter2", "a b 1Mbit/s hunter2", "a b 0bit/s hunter2"],
)
def test_no_error_shows_what_a_file_holds(ackclock, stranger, text, line):
    (stranger.parent / "shadow").write_text(f"{line}\n")
    (stranger / "s.toml").write_text(text("../shadow"))
    done = ackclock("run", stranger / "s.toml", "--allow-files")
    assert done.code == 2 and done.is_one_sentence(), done
    assert "secret" not in done.err and "hunter2" not in done.err
    # Two words are an edge.
    assert "shadow" in done.err or line == "1 hunter2"


@POSIX
@pytest.mark.parametrize("way", ["../s.toml", "{}/s.toml", "folder/s.toml", "../no-such-file"])
def test_a_plan_names_scenarios_of_its_own_folder_alone(ackclock, stranger, tmp_path, way):
    (tmp_path / "s.toml").write_text(
        f'path = {{ kind = "single", rtt = "20ms", link = {{ rate = "10Mbit/s" }} }}{REST}'
    )
    (stranger / "plan.toml").write_text(
        f'scenario = "{way.format(tmp_path)}"\n[axes]\n"path.rtt" = ["10ms"]\n'
    )
    done = ackclock("sweep", stranger / "plan.toml")
    assert done.code == 2 and done.is_one_sentence(), done
    assert "lies outside that file's folder" in done.err
    done = ackclock("sweep", stranger / "plan.toml", "--allow-files", "--count")
    assert (done.code == 2) == ("no-such-file" in way), done


@POSIX
def test_files_below_the_folder_and_those_that_are_allowed_are_read(stranger, tmp_path):
    (stranger / "sub").mkdir()
    for place in (stranger / "sub" / "edges", tmp_path / "edges"):
        place.write_text("a b 10Mbit/s 5ms\n")
    for way, allow in (
        ("sub/edges", False),
        ("sub/../sub/edges", False),
        ("../edges", True),
        (str(tmp_path / "edges"), True),
    ):
        (stranger / "s.toml").write_text(graph(way))
        assert "edges" in ac.Scenario.read(stranger / "s.toml", allow_files=allow).resolve()


def test_no_error_shows_the_nodes_of_a_file(tmp_path):
    (tmp_path / "edges").write_text("a b 1Mbit/s 1ms\nhunter2 b 1Mbit/s 1ms\n")
    scenario = f'path = {{ kind = "graph", edges_file = "edges", nodes = ["a", "b"] }}{REST}'
    (tmp_path / "s.toml").write_text(scenario)
    with pytest.raises(ac.InputError) as e:
        ac.Scenario.read(tmp_path / "s.toml").resolve()
    assert "edge 2 of `path.edges_file` names a node that is not one of `path.nodes`" in str(e.value)
    assert "hunter2" not in str(e.value)
