"""B-S9: Linux's own TCP over the emulator. The runs are those requested, no process stays behind, and its
checks can fail.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ackclock._core import DriveError, MissingRightError
from ackclock.reproduce import real
from ackclock.reproduce.backoff2008 import linux, rto_program, s9_real_kernel
from ackclock.reproduce.backoff2008.linux import (
    AS_IS,
    CAPPED,
    CLOSED,
    CLOSING,
    LINEAR,
    PLAIN,
    STACKS,
    Kernels,
    Load,
    Measured,
)
from ackclock.reproduce.item import ITEMS, Outcome, Setting
from ackclock.reproduce.saved import save
from ackclock.reproduce.verdicts import disagreement

SHORT = Load("red", 1, 1, 5)


def allowed(found: Kernels) -> Kernels:
    """Skips the test where the system has no right to real packets, or its kernel no such option."""
    if found.missing:
        pytest.skip("; ".join(found.missing.values()))
    return found


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("6.16.9-generic", "RACK off"),
        ("6.17.0", "by RACK whatever"),
        ("7.0-rc1", "by RACK whatever"),
        ("5.4", "RACK off"),
        ("x", "is not known"),
    ],
)
def test_from_linux_6_17_on_rack_cannot_be_switched_off(release, words):
    assert words in linux.recovery(release)


def test_two_kernels_make_the_transfers_that_the_simulator_makes():
    stacks = {AS_IS: STACKS[AS_IS], LINEAR: STACKS[LINEAR]}
    namespaces = network_namespaces()
    found = allowed(linux.kernels(SHORT, stacks, Setting(), (0.0, 1.0)))
    simulated = SHORT.scenario({AS_IS: STACKS[AS_IS]}).simulate().flows
    assert [m.stack for m in found.measured] == [AS_IS, LINEAR]
    for run, measured in zip(found.runs, found.measured, strict=True):
        flows = run["flows"]
        assert flows["size"] == simulated["size"].to_pylist()
        assert np.subtract(flows["start"], flows["late"]) == pytest.approx(
            simulated["start"].to_pylist(), abs=1e-9
        )
        finished = [o == "finished" for o in flows["outcome"]]
        assert np.mean(finished) > 0.98
        assert [n for n, done in zip(flows["bytes_delivered"], finished, strict=True) if done] == [
            n for n, done in zip(flows["size"], finished, strict=True) if done
        ]
        # SYN and SYN-ACK, request and answer: two round trips at least.
        assert all(
            t is None or t >= 2 * rtt for t, rtt in zip(flows["response_time"], flows["rtt"], strict=True)
        )
        assert measured.times.size == len(simulated)
        assert 0 < run["path"]["forward"]["served"] <= run["path"]["forward"]["offered"]
    asked = s9_real_kernel.options(found.runs)
    assert [o["name"] for o in asked] == ["TCP_THIN_LINEAR_TIMEOUTS"] * 2
    assert all(o["value"] == 1 and o["same"] > 0.9 * len(simulated) and o["other"] == 0 for o in asked)
    assert network_namespaces() <= namespaces


def network_namespaces() -> set[str]:
    """Those in which there is a process."""
    found = set()
    for process in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(process))
        except OSError:
            continue
    return found


LONG = """
import json, sys
from ackclock.reproduce import real
from ackclock.reproduce.backoff2008.linux import AS_IS, STACKS, Load
load = Load("red", 1, 30, 30)
print("begun", flush=True)
found = real.side_by_side([[STACKS[AS_IS].run(load.scenario({AS_IS: STACKS[AS_IS]}))]] * 2)
print(json.dumps(found[0]), flush=True)
"""


def children(pid: int) -> list[int]:
    """Processes that `pid` started and that are still there."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after[1]) == pid and after[0] != "Z":
            found.append(int(status.parent.name))
    return found


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="real packets need Linux")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_whoever_is_ended_takes_its_kernels_along(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert parent.stdout and parent.stdout.readline() == "begun\n"
        started = wait_for(lambda: len(children(parent.pid)) == 2, 30) and children(parent.pid)
        # Time to set namespaces and devices up, or to say that they may not be.
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: parent.poll() is not None or all(has_emulator(p) for p in started), 30)
        if parent.poll() is not None:
            pytest.skip(parent.stdout.read())
        assert own == os.readlink("/proc/self/ns/net")
        parent.send_signal(how)
        parent.wait(30)
        assert wait_for(lambda: not any(running(p) for p in started), 30), (
            "a process that made namespaces is still there"
        )
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def has_emulator(pid: int) -> bool:
    """True when the process has got as far as carrying packets."""
    try:
        return any(p.read_text().strip() == "emulator" for p in Path(f"/proc/{pid}/task").glob("*/comm"))
    except OSError:
        return False


def wait_for(condition, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_a_run_that_fails_is_reported_and_ends_the_others():
    began = time.monotonic()
    with pytest.raises(DriveError, match="exit code"):
        real.side_by_side([[{"scenario": "nonsense"}], [{"scenario": "nonsense"}]])
    assert time.monotonic() - began < 30


def test_without_the_right_it_is_skipped_and_neither_passed_nor_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(linux, "side_by_side", lambda sets, **_: ["a right is missing"] * len(sets))
    item = ITEMS["B-S9"]
    outcome = item.run(Setting())
    assert (outcome.skipped, outcome.checks, outcome.figures) == ("a right is missing", [], {})
    kept = save(item, outcome, Setting(), time.monotonic(), tmp_path)
    assert kept["holds"] is None
    assert json.loads((tmp_path / "B-S9" / "summary.json").read_text())["skipped"] == "a right is missing"
    assert disagreement("M-F10", Outcome([], skipped="a right is missing")) is None


def test_an_option_that_the_kernel_lacks_leaves_out_what_needs_it(monkeypatch):
    def kernels(sets, **_):
        return [
            "no such option" if "TCP_RTO_MAX_MS" in runs[0]["options"] else [found_run()] for runs in sets
        ]

    monkeypatch.setattr(linux, "side_by_side", kernels)
    monkeypatch.setattr(
        linux,
        "simulated",
        lambda load, stacks, setting, share: [measured(label, "simulator") for label in (AS_IS, LINEAR)],
    )
    outcome = s9_real_kernel.one(Load("red", 2, 1, 1), STACKS, Setting(), (0.0, 1.0))
    assert not [c for c in outcome.checks if CAPPED in c.name]
    assert [c for c in outcome.checks if LINEAR in c.name]
    assert any(CAPPED in note and "neither passed nor failed" in note for note in outcome.notes)


def found_run() -> dict:
    """The results of a child process for a run with ten transfers."""
    path = {"forward": {"offered": 100, "served": 70, "dropped_queue": 30, "dropped_wire": 0}}
    path |= {"delivered": 100, "undelivered": 0, "late": 0, "mean_lateness": 1e-5, "max_lateness": 1e-4}
    flows = {
        "response_time": [*np.linspace(1, 2, 9), None],
        "outcome": ["finished"] * 9 + ["failed"],
        "timeouts": [1] * 9 + [None],
        "data_segments_sent": [3] * 10,
        "late": [1e-5] * 10,
    }
    counters = [{"name": "RetransSegs", "server": 9, "client": 1}]
    return {
        **{
            "flows": flows,
            "path": path,
            "path_loaded": path,
            "counters": counters,
            "options": {"client": [], "server": []},
        },
        **{"received_loaded": 1_000_000, "seconds": 2.0},
    }


def measured(
    stack: str, world: str = "kernel", scale: float = 1.0, loss: float = 0.3, goodput: float = 8e6
) -> Measured:
    return Measured(world, stack, 1, scale * np.linspace(1, 2, 100), loss, goodput, 300, 50)


def test_flows_that_did_not_finish_took_longer_than_any_other():
    m = linux.of_kernel(AS_IS, 1, found_run(), 1.0)
    assert (m.quantile(0.5), m.quantile(0.99)) == (1.5, np.inf)
    assert m.loss == pytest.approx(0.3)
    assert m.goodput == pytest.approx(8e6)
    assert (m.timeouts, m.sent) == (9, 30)
    assert m.row()["finished"] == 9


def test_its_checks_can_fail():
    def short(kernels=None, twins=None, other=0):
        ours = {label: measured(label) for label in STACKS} | (kernels or {})
        theirs = {label: measured(label, "simulator") for label in (AS_IS, LINEAR, CAPPED)} | (twins or {})
        run = {"options": {"client": [{"name": "x", "value": 1, "same": 5, "other": other}], "server": []}}
        found = s9_real_kernel.checks(Kernels(list(ours.values()), [run], {}), list(theirs.values()), STACKS)
        return {c.name for c in found if not c.holds}

    assert short() == set()
    assert short({LINEAR: measured(LINEAR, scale=1.1)}) == {f"kernel: P99, {LINEAR} over {AS_IS}"}
    assert short({CAPPED: measured(CAPPED, goodput=7.5e6)}) == {f"kernel: goodput, {CAPPED} over {AS_IS}"}
    assert short({PLAIN: measured(PLAIN, scale=1.3)}) == {f"{PLAIN}: median, kernel over twin"}
    # The first and the fourth kernel have one twin.
    slower = {AS_IS: measured(AS_IS, "simulator", loss=0.36)}
    assert short(twins=slower) == {
        f"{label}: loss in the kernels' run against the twin's (%)" for label in (AS_IS, PLAIN)
    }
    assert short(other=1) == {"sockets without an option that was set"}


def test_a_machine_that_is_too_busy_checks_no_kernels():
    run = found_run()
    assert s9_real_kernel.unfit([run]) is None
    late = {**run, "path": {**run["path"], "mean_lateness": 2e-3}}
    assert "2 ms late" in (s9_real_kernel.unfit([run, late]) or "")
    assert "3 packets" in (s9_real_kernel.unfit([{**run, "path": {**run["path"], "undelivered": 3}}]) or "")


def test_twins_are_linux_by_its_documentation():
    resolved = Load("drop-tail", 2, 3, 4).scenario(STACKS | CLOSING).resolve()
    for words in (
        'kind = "thin-linear"',
        'kind = "freebsd-syn"',
        'initial_rto = "1s"',
        'clock_granularity = "200ms"',
        "quick_segs = 16",
    ):
        assert words in resolved, words
    assert [linux.twin_of(label, STACKS | CLOSING) for label in (AS_IS, LINEAR, CAPPED, PLAIN, CLOSED)] == [
        AS_IS,
        LINEAR,
        CAPPED,
        AS_IS,
        AS_IS,
    ]
    asked = replace(STACKS[PLAIN], options={"TCP_NODELAY": 1}).run(
        SHORT.scenario({PLAIN: STACKS[PLAIN]}).but({"seed": 7})
    )
    assert asked["parameters"]["net.ipv4.tcp_recovery"] == "0"
    assert "seeds = [7]" in asked["scenario"]


def test_the_program_of_a_subexponential_backoff_is_whole_instructions():
    one, three = rto_program.program(1), rto_program.program(3)
    assert len(one) == len(three) and len(one) % 8 == 0
    # They differ in the number of expiries alone.
    assert [(a, b) for a, b in zip(one, three, strict=True) if a != b] == [(1, 3)]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_the_kernel_takes_the_program_of_a_subexponential_backoff():
    before = Path("/proc/self/cgroup").read_text()
    try:
        with rto_program.sub_exponential(3):
            assert "ackclock-" in Path("/proc/self/cgroup").read_text()
    except MissingRightError as e:
        pytest.skip(str(e))
    assert Path("/proc/self/cgroup").read_text() == before
