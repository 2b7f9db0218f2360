"""Results are written before figures are drawn: a figure that fails is one sentence, and loses nothing
else.
"""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock as ac
import ackclock.plot
from ackclock import cli
from ackclock.results import folder, owned
from test_capture_figures import OUTAGE
from test_owned_folders import POSIX, SCENARIO
from test_run_folder import made_up_run, names
from test_sweep_command import PLAN

SERIES = "time,rtt\n" + "".join(f"{i / 10},{0.1 + 0.01 * (i % 7)}\n" for i in range(50))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with a scenario, a plan and a series in it."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "p.toml").write_text(PLAN)
    (tmp_path / "series.csv").write_text(SERIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "run": (
        ["run", "s.toml", "--plot", "rates", "--plot", "sequence"],
        {"rates", "sequence"},
        "flows.parquet",
    ),
    "sweep": (["sweep", "p.toml", "--plot", "path.rtt,mean", "--workers", "1"], {"plot"}, "sweep.parquet"),
    "capture": (
        ["capture", OUTAGE, "--plot", "rtt", "--plot", "flight"],
        {"rtt-0", "flight-0"},
        "summary.json",
    ),
    "timers": (["timers", "series.csv", "--timer", "eifel"], {"timers"}, "outline.parquet"),
    "model": (["model", "mathis", "--p", "0.001..0.1", "--rtt", "100ms"], {"curve"}, "rows.parquet"),
    "eifel": (["model", "eifel", "--cycles", "3"], {"rto"}, "rows.parquet"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("no\x1b such\nfont"), 3),
        (ac.InputError("too many lines"), 2),
        (OSError(28, "No space left"), 2),
    ],
)
def test_a_figure_that_fails_loses_no_result(here, monkeypatch, capsys, name, error, code):
    def fails(figure: object, stem: Path) -> list[Path]:
        stem.with_suffix(".png").write_bytes(b"half")
        raise error

    monkeypatch.setattr(ackclock.plot, "save", fails)
    arguments, figures, table = COMMANDS[name]
    assert cli._run([*map(str, arguments), "--out", "o"]) == code
    said = capsys.readouterr()
    assert said.out.count("\n") > 1
    notes = [line for line in said.err.splitlines() if "could not be drawn" in line]
    assert {line.split("`")[1] for line in notes} >= figures
    assert all(line.startswith("Note: the figure `") and "\x1b" not in line for line in notes)
    assert table in names(here / "o") and "summary.json" in names(here / "o")
    assert not [n for n in names(here / "o") if n.endswith((".png", ".svg"))]
    assert not [n for n in names(here) if n.startswith(".")]
    # The folder is ackclock's own still: the next command replaces it.
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert cli._run([*map(str, arguments), "--out", "o"]) == 0
    assert {f"{figure}.png" for figure in figures} <= names(here / "o")


def test_a_plot_that_the_results_do_not_allow_is_noted_when_they_are_written(ackclock, tmp_path):
    (tmp_path / "p.toml").write_text(PLAN.replace('kind = "fixed", size = "50kB"', 'kind = "bulk"'))
    done = ackclock("sweep", "p.toml", "--plot", "path.rtt,mean", "--workers", "1")
    assert done.code == 2, done
    assert (
        "Note: the figure `plot` could not be drawn (`--plot path.rtt,mean`: no run has a `mean`; they have "
        in done.err
    )
    assert "reno" in done.out and (tmp_path / "runs/p/sweep.parquet").exists()


def test_tables_are_printed_where_there_is_nothing_to_draw(ackclock, tmp_path):
    head = gzip.decompress(OUTAGE.read_bytes())
    # The first two packets: a handshake without payload.
    size = 24
    for _ in range(2):
        size += 16 + int.from_bytes(head[size + 8 : size + 12], "little")
    (tmp_path / "handshake.pcap").write_bytes(head[:size])
    done = ackclock("capture", "handshake.pcap", "--plot", "sequence")
    assert done.code == 2, done
    assert "nothing to draw" in done.err and "client" in done.out
    assert not (tmp_path / "runs").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from ackclock.results import folder
def fill(directory):
    (directory / "flows.parquet").write_text("whole")
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
folder.write(Path(sys.argv[1]), fill, {"sequence": kill})
"""


@POSIX
def test_results_are_in_place_while_figures_are_drawn(tmp_path):
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"], check=False).returncode < 0
    assert names(tmp_path / "out") == {"flows.parquet", "ackclock.json"}
    assert len(names(tmp_path)) == 2
    made_up_run().save(tmp_path / "out")
    assert names(tmp_path) == {"out"}


def test_figures_come_into_no_folder_of_another_command(tmp_path):
    target = tmp_path / "out"

    def late() -> object:
        made_up_run().save(target)
        return made_up_run().plot.ccdf("response_time")

    folder.write(target, lambda inside: (inside / "flows.parquet").write_text("first"), {"rates": late})
    assert "rates.png" not in names(target) and ac.load(target).about["title"] == "made up"
    assert owned.foreign(target) is None and names(tmp_path) == {"out"}


@pytest.mark.parametrize("name", ["$\\frac{x$.csv", "a\x1b[31m.csv", "\u4e2d.csv"])
@pytest.mark.parametrize(
    "command",
    [
        ["timers", "--out", "o"],
        ["timers", "--timer", "eifel", "--out", "o"],
        ["model", "eifel", "--out", "o", "--series"],
    ],
)
def test_names_of_files_are_plain_words_in_every_figure(ackclock, tmp_path, name, command):
    (tmp_path / name).write_text(SERIES)
    done = ackclock(*command, name)
    assert done.code == 0, done
    assert "could not be drawn" not in done.err and "\x1b" not in done.err and ".py:" not in done.err
    # What the font has no sign for is a box, which is said once.
    assert done.err.count("missing from font") == (name[0] == "\u4e2d")
    assert {"summary.json", "ackclock.json"} < names(tmp_path / "o") and len(names(tmp_path / "o")) == 5


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a system of files that takes none")
@pytest.mark.parametrize("target", ["/proc/out", "/proc/a/b"])
def test_a_place_that_takes_no_folders_is_refused_before_anything_runs(ackclock, tmp_path, target):
    (tmp_path / "p.toml").write_text(PLAN)
    done = ackclock("sweep", "p.toml", "--out", target)
    assert done.code == 2 and done.is_one_sentence(), done
    assert "`/proc` cannot be written to; give another folder" in done.err
    assert names(tmp_path) == {"p.toml"}


def test_a_row_that_is_none_is_not_shown(ackclock, tmp_path):
    (tmp_path / "s.csv").write_text("time,rtt\n1,2\nroot:secret,3,4\n")
    done = ackclock("timers", "s.csv")
    assert done.code == 2 and done.is_one_sentence(), done
    assert "Expected 2 columns, got 3" in done.err and "secret" not in done.err
