"""`--out` and its like replace and remove what ackclock wrote, and nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import report
from ackclock.results import folder, owned
from ackclock.sweep.store import Store
from test_run_folder import made_up_run, names

SCENARIO = """
duration = "2s"
path = { kind = "single", rtt = "20ms", link = { rate = "10Mbit/s" } }
workload = { kind = "bulk" }
stacks = { tcp = "reno" }
"""
LONG = f"""
seeds = 8
[scenario]
{SCENARIO.replace("2s", "300s")}
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links and locks of POSIX")


def everything(directory: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(directory)): p.read_bytes() if p.is_file() else None
        for p in sorted(directory.rglob("*"))
    }


def thesis(directory: Path, summary: object) -> dict[str, bytes | None]:
    """A folder with other work, and a summary.json that is not ours."""
    (directory / ".git" / "objects").mkdir(parents=True)
    (directory / ".git" / "objects" / "pack").write_bytes(b"years")
    (directory / "thesis.tex").write_text("x")
    (directory / "summary.json").write_text(json.dumps(summary))
    return everything(directory)


OURS = {
    "stacks": [],
    "seeds": [1],
    "version": "0.1.0",
    "host": {},
    "plan": "p",
    "axes": [],
    "rows": [],
    "engine": "e",
}


@pytest.mark.parametrize("summary", [{}, [], {"title": "mine"}, OURS], ids=str)
def test_a_summary_does_not_make_a_folder_ours(ackclock, tmp_path, summary):
    (tmp_path / "s.toml").write_text(SCENARIO)
    target = tmp_path / "work"
    before = thesis(target, summary)
    done = ackclock("run", "s.toml", "--out", "work")
    assert done.code == 2 and done.is_one_sentence(), done
    assert done.err == (
        "ackclock: `work` holds other files, such as `.git/`; give a folder that is new, empty or an "
        "earlier run\n"
    )
    assert everything(target) == before
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "place",
    [
        lambda run: (run / "notes.md").write_text("mine"),
        lambda run: (run / "photo.png").write_bytes(b"mine"),
        lambda run: (run / "sub").mkdir(),
        lambda run: (run / "flows.parquet").unlink() or (run / "flows.parquet").mkdir(),
        lambda run: (run / ".hidden").write_text("mine"),
    ],
)
def test_what_was_put_into_a_run_stays(tmp_path, place):
    run = made_up_run().save(tmp_path / "run")
    place(run)
    before = everything(run)
    with pytest.raises(
        ac.InputError,
        match=r"holds other files, such as `(notes\.md|photo\.png|sub/|flows\.parquet/|\.hidden)`",
    ):
        made_up_run(2.0).save(run)
    assert everything(run) == before
    assert names(tmp_path) == {"run"}


@pytest.mark.parametrize(
    "mark",
    ["", "{", "[]", "null", '{"written_by": "me"}', '{"written_by": "ackclock", "files": 3}', "[" * 100_000],
)
def test_a_mark_that_is_none_makes_nothing_ours(tmp_path, mark):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ackclock.json").write_text(mark)
    (tmp_path / "run" / "flows.parquet").write_text("mine")
    with pytest.raises(ac.InputError, match=r"holds other files, such as `ackclock\.json`"):
        made_up_run().save(tmp_path / "run")


def test_a_mark_does_not_cover_files_that_ackclock_never_writes(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("mine")
    (tmp_path / "run" / "ackclock.json").write_text('{"written_by": "ackclock", "files": ["thesis.tex"]}')
    with pytest.raises(ac.InputError, match=r"such as `thesis\.tex`"):
        made_up_run().save(tmp_path / "run")


def test_runs_of_versions_without_a_mark_are_replaced(tmp_path):
    about = {"title": "t", "seeds": [1], "warmup": 0.0, "version": "0.1.0", "host": {}, "stacks": []}
    run = tmp_path / "run"
    run.mkdir()
    for name in (
        "scenario.toml",
        "flows.parquet",
        "links.parquet",
        "response_time.png",
        "response_time.svg",
        "sequence-2.svg",
    ):
        (run / name).write_text("old")
    (run / "summary.json").write_text(json.dumps(about))
    made_up_run().save(run)
    assert ac.load(run).about["title"] == "made up"
    (run / "ackclock.json").unlink()
    (run / "summary.json").write_text(json.dumps(about))
    (run / "holiday.png").write_text("mine")
    with pytest.raises(ac.InputError, match=r"such as `holiday\.png`"):
        made_up_run().save(run)


@POSIX
def test_links_are_not_followed(tmp_path):
    run = made_up_run().save(tmp_path / "run")
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(ac.InputError, match="is a symbolic link"):
        made_up_run().save(tmp_path / "link")
    (run / "flows.parquet").rename(tmp_path / "mine.parquet")
    (run / "flows.parquet").symlink_to(tmp_path / "mine.parquet")
    with pytest.raises(ac.InputError, match=r"such as `flows\.parquet`"):
        made_up_run().save(run)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "ackclock.json").symlink_to(run / "ackclock.json")
    with pytest.raises(ac.InputError, match=r"such as `ackclock\.json`"):
        made_up_run().save(tmp_path / "linked")
    assert (tmp_path / "mine.parquet").exists()


def test_a_file_that_comes_while_a_run_is_written_stays(tmp_path):
    run = made_up_run().save(tmp_path / "run")

    def fill(directory: Path) -> None:
        (directory / "flows.parquet").write_text("new")
        (run / "thesis.tex").write_text("mine")

    before = everything(run)
    with pytest.raises(ac.InputError, match=r"such as `thesis\.tex`"):
        folder.write(run, fill)
    assert everything(run) == {**before, "thesis.tex": b"mine"}
    assert names(tmp_path) == {"run"}


KILLED = """
import os, signal, sys
from pathlib import Path
from ackclock.results import folder
def fill(directory):
    (directory / "flows.parquet").write_text("half")
    print("there", flush=True)
    sys.stdin.read()
folder.write(Path(sys.argv[1]), fill)
"""


@POSIX
def test_left_overs_of_killed_runs_go_with_the_next_one_and_nothing_else_does(tmp_path):
    target = tmp_path / "out"

    def begin() -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "there\n"
        return process

    killed = begin()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    (left,) = tmp_path.iterdir()
    alive = begin()
    (living,) = set(tmp_path.iterdir()) - {left}
    mine = tmp_path / ".out.mythesis.partial"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    other = tmp_path / ".out.tables_1.partial"
    other.mkdir()
    (other / "flows.parquet").write_text("not of ackclock")
    link = tmp_path / ".out.linked_1.partial"
    link.symlink_to(left)
    made_up_run().save(target)
    assert names(tmp_path) == {"out", living.name, mine.name, other.name, link.name}
    assert names(mine) == {"thesis.tex"}
    _, err = alive.communicate("")
    assert alive.returncode == 0, err
    assert names(tmp_path) == {"out", mine.name, other.name, link.name}
    assert names(target) == {"flows.parquet", "ackclock.json"}


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(mark, value):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owned, "_write", full)
    with pytest.raises(OSError, match="No space"):
        made_up_run().save(tmp_path / "out")
    assert names(tmp_path) == set()


@POSIX
@pytest.mark.parametrize("mark", [None, ""])
def test_a_folder_without_a_mark_is_removed_once_it_is_old(tmp_path, mark):
    # A command that was killed before it wrote its mark; another one that is about to write it.
    old, young = tmp_path / ".out.killed_1.partial", tmp_path / ".out.living_1.partial"
    for left in (old, young):
        left.mkdir()
        if mark is not None:
            (left / "ackclock.json").write_text(mark)
    ago = time.time() - 2 * owned.ABANDONED
    os.utime(old, (ago, ago))
    assert owned.abandoned(old) and not owned.abandoned(young)
    made_up_run().save(tmp_path / "out")
    assert names(tmp_path) == {"out", young.name}


@POSIX
def test_a_sweep_that_is_killed_leaves_what_the_next_one_takes_away(tmp_path):
    (tmp_path / "p.toml").write_text(LONG)
    (tmp_path / "tmp").mkdir()
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "sweep",
        "p.toml",
        "--workers",
        "1",
        "--keep",
        "kept",
        "--out",
        "out",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    killed = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    # It is killed while it runs one, not in the moment before a mark is in the folder of the next.
    one, next_one = "kept/[!.]*/*", "kept/.partial-*"
    while not list(tmp_path.glob(one)) or list(tmp_path.glob(next_one)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    assert list((tmp_path).glob("kept/[!.]*/*"))
    assert [n for n in names(tmp_path / "tmp") if n.startswith("ackclock-sweep-")]
    mine = tmp_path / "tmp" / "ackclock-sweep-mythesis"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    done = subprocess.run(
        [*command, "--set", "duration=1s"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == {"p.toml", "tmp", "kept", "out"}
    assert not [n for n in names(tmp_path / "kept") if n.startswith(".")]
    assert [n for n in names(tmp_path / "tmp") if n.startswith("ackclock")] == [mine.name]


KILLED_STORE = """
import os, signal, sys
from pathlib import Path
from ackclock.sweep.store import Store

class Files(dict):
    def items(self):
        yield "flows.parquet", b"half of it"
        os.kill(os.getpid(), signal.SIGKILL)

Store(Path(sys.argv[1])).write("0123", Files())
"""


@POSIX
def test_a_run_that_was_being_kept_when_its_sweep_was_killed_goes_with_the_next_one(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    killed = subprocess.run([sys.executable, "-c", KILLED_STORE, kept], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = [n for n in names(kept) if n.startswith(".partial-")]
    assert names(kept / left) == {"ackclock.json", "flows.parquet"}
    Store(kept)
    assert names(kept) == {"01"}


def test_pages_replace_pages_of_ackclock_alone(ackclock, tmp_path):
    page = tmp_path / "page.html"
    for text in (
        "<!doctype html><title>My thesis</title>",
        '<!doctype html><meta name="generator" content="hugo">',
        "",
    ):
        page.write_text(text)
        done = ackclock("capture", Path(__file__).parent / "../scenarios/no-such.pcap", "--html", "page.html")
        assert done.code == 2 and done.is_one_sentence()
        assert "`page.html` exists and is no page that ackclock wrote" in done.err
        assert page.read_text() == text


@POSIX
def test_pages_are_not_written_over_links_and_devices(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere.html")
    for name, why in (("pipe", "no page that"), ("link.html", "symbolic link")):
        with pytest.raises(ac.InputError, match=why):
            report.check(tmp_path / name)


def test_the_store_takes_nothing_away_that_is_not_its_own(tmp_path):
    old = time.time() - 10 * owned.ABANDONED
    for name in (".partial-thesis", ".partial-abcdefgh"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").write_text("x")
        os.utime(tmp_path / name, (old, old))
    store = Store(tmp_path)
    assert names(tmp_path) == {".partial-thesis", ".partial-abcdefgh"}
    place = store.place("ab" * 20)
    place.mkdir(parents=True)
    (place / "notes.md").write_text("mine")
    with pytest.raises(ac.InputError, match=r"holds other files, such as `notes\.md`"):
        store.has("ab" * 20)
    assert names(place) == {"notes.md"}


def test_every_folder_is_looked_at_before_anything_is_run(ackclock, tmp_path):
    (tmp_path / "out" / "J-E2").mkdir(parents=True)
    (tmp_path / "out" / "J-E2" / "thesis.tex").write_text("x")
    done = ackclock("reproduce", "jacobson88", "--out", "out")
    assert done.code == 2 and done.is_one_sentence(), done
    assert names(tmp_path / "out") == {"J-E2"}
    (tmp_path / "d" / "download").mkdir(parents=True)
    (tmp_path / "d" / "download" / "mine.pcapng").write_text("x")
    done = ackclock("demo", "--out", "d")
    assert done.code == 2 and done.is_one_sentence(), done
    assert names(tmp_path / "d") == {"download"}
