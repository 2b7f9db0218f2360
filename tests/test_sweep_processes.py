"""Sweeps whose workers die, that are interrupted, and whose cluster goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

RUNS = 8
PLAN = """
title = "for a test"
seeds = 4
[scenario]
duration = "SECONDSs"
path = { kind = "single", rtt = "20ms", link = { rate = "400Mbit/s" } }
workload = { kind = "bulk" }
stacks = { reno = { preset = "reno", rcv_buf = "4MiB", snd_buf = "4MiB" } }
[axes]
random_loss = { key = "path.link.faults", values = { none = "[]", some = '[{ kind = "loss", p = 0.0001 }]' } }
"""
WITHIN = 120


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan whose runs take long enough to be hit in the middle."""
    file = tmp_path / "plan.toml"
    file.write_text(PLAN.replace("SECONDS", "30"))
    return file


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    """The tables of the same sweep, made by threads of this process, without a store."""
    from ackclock.results.folder import table_bytes
    from ackclock.sweep import plan

    file = tmp_path_factory.mktemp("undisturbed") / "plan.toml"
    file.write_text(PLAN.replace("SECONDS", "30"))
    found = plan.read(file).sweep.run(workers=2)
    return {
        "sweep": table_bytes(found.table),
        "flows": table_bytes(found.flows),
        "links": table_bytes(found.links),
    }


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in ("sweep", "flows", "links")}


def kept(folder: Path) -> int:
    # Folders of unfinished runs come and go beside those of finished ones.
    return len(list(folder.glob("[0-9a-f][0-9a-f]/*/summary.json")))


@contextmanager
def sweep(plan: Path, *arguments: str):
    """The command in a session of its own, as in a terminal of its own."""
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "sweep",
        plan.name,
        "--keep",
        "kept",
        "--out",
        "out",
        *arguments,
    ]
    # What a sweep that is killed cannot take away stays in this test's folder.
    pipes = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "env": {**os.environ, "TMPDIR": str(plan.parent)},
    }
    process = subprocess.Popen(command, cwd=plan.parent, start_new_session=True, **pipes)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition, what: str):
    """Waits for a condition, however long it takes."""
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"no {what} within {WITHIN} s")


def workers(process: subprocess.Popen) -> list[psutil.Process]:
    """The worker processes of a sweep."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):
            if any("spawn_main" in part for part in child.cmdline()):
                found.append(child)
    return found


def ports(process: subprocess.Popen) -> list:
    """Where a sweep and its workers listen."""
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    return [c.laddr for p in family for c in p.net_connections() if c.status == psutil.CONN_LISTEN]


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WITHIN)
    return process.returncode, out, err


def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(plan, undisturbed):
    folder = plan.parent
    with sweep(plan, "--workers", "2", "--json") as process:
        wait_until(lambda: kept(folder / "kept") >= 1, "finished run")
        listening = ports(process)
        workers(process)[0].send_signal(signal.SIGKILL)
        code, out, err = finish(process)
    assert (code, err) == (0, "")
    assert json.loads(out)["made"] == RUNS == kept(folder / "kept")
    assert tables(folder / "out") == undisturbed
    # Nothing can be reached from elsewhere, and there is no dashboard.
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert 8787 not in {address.port for address in listening}


def test_an_interrupted_sweep_leaves_no_process_and_goes_on_where_it_was(plan, undisturbed):
    folder = plan.parent
    with sweep(plan, "--workers", "2") as process:
        wait_until(lambda: kept(folder / "kept") >= 2, "two finished runs")
        children = psutil.Process(process.pid).children(recursive=True)
        # A terminal sends Ctrl-C to all of them.
        os.killpg(process.pid, signal.SIGINT)
        code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.count("\n") == 1 and err.startswith("Interrupted after ")
    _, alive = psutil.wait_procs(children, timeout=WITHIN)
    assert alive == []
    assert not (folder / "out").exists()
    before = kept(folder / "kept")
    with sweep(plan, "--workers", "1", "--json") as process:
        code, out, err = finish(process)
    assert (code, err) == (0, "")
    assert json.loads(out)["found"] == before
    assert json.loads(out)["made"] == RUNS - before
    assert tables(folder / "out") == undisturbed


def test_a_sweep_that_is_killed_itself_leaves_no_process(plan):
    with sweep(plan, "--workers", "2") as process:
        wait_until(lambda: kept(plan.parent / "kept") >= 1, "finished run")
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.communicate()
        _, alive = psutil.wait_procs(children, timeout=WITHIN)
        assert alive == []


@pytest.fixture
def cluster(tmp_path: Path):
    """A scheduler and two workers, started with Dask's own commands."""
    address = tmp_path / "scheduler.json"
    options = ["--scheduler-file", str(address), "--no-dashboard"]
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    module = [sys.executable, "-m"]
    scheduler = [*module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *options]
    worker = [
        *module,
        "distributed.cli.dask_worker",
        "--host",
        "127.0.0.1",
        "--nthreads",
        "1",
        "--no-nanny",
        *options,
    ]
    started = [subprocess.Popen(scheduler, **quiet)]
    try:
        started += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        wait_until(lambda: address.exists() and address.read_text().strip().endswith("}"), "scheduler")
        yield json.loads(address.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_an_existing_cluster_makes_the_same_tables_though_a_worker_is_killed(plan, cluster, undisturbed):
    address, started = cluster
    with sweep(plan, "--scheduler", address, "--json") as process:
        wait_until(lambda: kept(plan.parent / "kept") >= 1, "finished run")
        started[1].kill()
        code, out, err = finish(process)
    assert code == 0
    assert err.startswith(f"Note: the cluster at `{address}` authenticates nobody: ") and err.count("\n") == 1
    assert json.loads(out)["made"] == RUNS == kept(plan.parent / "kept")
    assert tables(plan.parent / "out") == undisturbed
    # The cluster is not ours: it goes on.
    assert [p.poll() for p in (started[0], started[2])] == [None, None]


def test_a_scheduler_that_is_not_there_or_goes_away_is_one_sentence(plan, cluster):
    with sweep(plan, "--scheduler", "tcp://127.0.0.1:1") as process:
        code, out, err = finish(process)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no scheduler at `tcp://127.0.0.1:1`" in err
    address, started = cluster
    with sweep(plan, "--scheduler", address) as process:
        wait_until(lambda: kept(plan.parent / "kept") >= 1, "finished run")
        started[0].kill()
        code, out, err = finish(process)
    note, sentence = err.splitlines()
    assert (code, out) == (2, ""), err
    assert note.startswith(f"Note: the cluster at `{address}` authenticates nobody: ")
    assert "went away" in sentence
