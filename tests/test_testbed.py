"""The testbed: scenarios on the kernel's TCP, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import _core
from ackclock.cli import run_command, testbed
from ackclock.kernel import expected_seconds
from ackclock.kernel.beside import QUANTITIES, Beside, Compared

LINUX = pytest.mark.skipif(not hasattr(_core, "testbed"), reason="the testbed needs Linux")
SCENARIO = """
duration = "2s"
[path]
kind = "single"
link = { rate = "20Mbit/s", delay = "10ms", queue = { kind = "drop-tail", limit = "1bdp" } }
[workload]
kind = "bulk"
[stacks]
cubic = { kernel = { cc = "cubic" } }
"""


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    return file


def run(*arguments):
    """Runs the command in a process of its own, as a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "ackclock", "testbed", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def permitted(done):
    """Skips the test where the system does not permit real packets, or was too busy for them three times."""
    if done.returncode and ("user namespaces" in done.stderr or "TUN device" in done.stderr):
        pytest.skip(done.stderr)
    return done


def in_time(*arguments):
    """Runs the command until the machine kept time."""
    for _ in range(4):
        done = permitted(run(*arguments))
        if "is void" not in done.stderr:
            break
    return done


def shown() -> list[list[str]]:
    """The arguments of the commands that the README, its page and the help show, for a file in the tree."""
    root = Path(__file__).parents[1]
    texts = [(root / file).read_text(encoding="utf-8") for file in ("README.md", "docs/testbed.md")]
    texts.append(testbed.command.help or "")
    found = [line for text in texts for line in re.findall(r"ackclock testbed (.*bufferbloat.*)", text)]
    assert len(found) == len(texts)
    return [[str(root / "scenarios/bufferbloat.toml"), *shlex.split(line)[1:]] for line in found]


@LINUX
@pytest.mark.parametrize("arguments", shown(), ids=["readme", "page", "help"])
def test_the_command_that_a_reader_sees_first_runs(arguments, tmp_path):
    short = ["--set", "duration=2s", "--set", "warmup=500ms", "--out", tmp_path / "out"]
    done = in_time(*arguments, *short)
    assert done.returncode == 0, done.stderr
    assert "within 5 %" in done.stdout or "differ" in done.stdout or "one seed" in done.stdout


@LINUX
def test_the_table_and_the_folder_are_those_of_a_simulation(scenario, tmp_path):
    out, pcap = tmp_path / "out", tmp_path / "client.pcapng"
    done = in_time(scenario, "--out", out, "--pcap", pcap)
    assert done.returncode == 0, done.stderr
    assert "goodput" in done.stdout and "cubic" in done.stdout
    assert "packets were" in done.stderr and "late on average" in done.stderr
    kernel, simulated = ac.load(out), ac.simulate(scenario)
    assert kernel.flows.column_names == simulated.flows.column_names
    assert kernel.links.column_names == simulated.links.column_names
    assert kernel.stacks[0].keys() == simulated.stacks[0].keys()
    goodput = [r.flows["goodput"][0].as_py() for r in (kernel, simulated)]
    assert goodput[0] == pytest.approx(goodput[1], rel=0.1)
    # What a kernel does not tell is missing, not 0.
    assert kernel.flows["ca_events"].null_count == 1
    summary = json.loads((out / "summary.json").read_text())
    flow, events = kernel.flows.to_pylist()[0], summary["testbed"]["runs"][0]["events"]
    if events["missing"]:
        # Each may be missing alone.
        assert None in (flow["fast_recoveries"], flow["timeouts_by_round"], flow["tail_loss_probes"])
        assert kernel.stacks[0]["spurious_timeouts"] == flow["spurious_timeouts"]
        assert all(f"{why[1:]}." in done.stderr for why in events["missing"])
    else:
        # Its window has grown beyond the queue.
        assert flow["fast_recoveries"] > 0 and events["recorded"] > 0
        assert sum(flow["timeouts_by_round"]) == flow["timeouts"]
        assert kernel.stacks[0]["spurious_timeouts"] == flow["spurious_timeouts"]
    assert 0 <= flow["unneeded_retransmissions"] <= flow["retransmitted_segments"]
    assert flow["busy_time"] == pytest.approx(2, rel=0.1) and simulated.flows["busy_time"].null_count == 1
    for mine, twin in zip(kernel.links.to_pylist(), simulated.links.to_pylist(), strict=True):
        assert mine["unique_bytes"] == pytest.approx(twin["unique_bytes"], rel=0.05)
    link = kernel.links.to_pylist()[0]
    assert link["retransmitted_packets"] <= flow["retransmitted_segments"]
    assert summary["world"] == "kernel" and summary["testbed"]["kernel"].startswith("Linux ")
    counters = {(c["host"], c["name"]): c["value"] for c in summary["testbed"]["runs"][0]["counters"]}
    assert counters["sender", "ActiveOpens"] == counters["receiver", "PassiveOpens"] == 1
    assert (out / "throughput.png").exists()
    captured = ac.read_capture(pcap)
    assert len(captured.connections) == 1
    # The run folder is all that one needs to run it again, in either world.
    again = ac.simulate(out / "scenario.toml")
    assert again.flows.equals(simulated.flows) or again.flows.num_rows == simulated.flows.num_rows


@LINUX
def test_both_worlds_stand_side_by_side(scenario, tmp_path):
    done = in_time(scenario, "--seeds", "2", "--beside", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {row["number"]: row for row in found["beside"]}
    assert rows["goodput"]["seeds"] == 2 and found["seeds"] == [1, 2]
    assert rows["goodput"]["kernel"] == pytest.approx(rows["goodput"]["simulated"], rel=0.1)
    assert (tmp_path / "out" / "beside.png").exists()


@LINUX
def test_datagrams_stand_side_by_side_as_well(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        """
        duration = "4s"
        [path]
        kind = "single"
        link = { rate = "1Mbit/s", delay = "10ms", queue = { kind = "drop-tail", limit = "10packets" } }
        [[workload]]
        kind = "udp-rate"
        control = { kind = "additive", alpha = "1s", interval = "10ms" }
        [[workload]]
        kind = "telnet"
        [stacks]
        x = "linux"
        """
    )
    done = in_time(file, "--beside", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = {row["number"]: row for row in json.loads(done.stdout)["beside"]}
    assert rows["datagrams delivered"]["kernel"] == pytest.approx(
        rows["datagrams delivered"]["simulated"], rel=0.05
    )
    # They are no part of a stack's goodput, in either world.
    assert rows["goodput"]["kernel"] < 0.05 * rows["datagrams delivered"]["kernel"]
    assert rows["goodput"]["kernel"] == pytest.approx(rows["goodput"]["simulated"], rel=0.2)


@LINUX
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("syn_retries=200", "`syn_retries` of stack `cubic` is 200"),
        ("stacks.cubic=sack", "`stacks.cubic` has policies of ackclock's own TCP"),
        ("stacks.cubic.kernel.cc=no such", "`stacks.cubic.kernel.cc` is `no such`"),
        ("stacks.cubic.kernel.cc=nosuch", "which nothing here is like"),
        ("stacks.cubic.kernel.sysctl.kernel.panic=1", "no network parameter of a kernel"),
        ("stacks.cubic.kernel.options.TCP_NODELAY=yes", "expected a whole number"),
        ("stacks.cubic.kernel.route.rto_min=50", "`stacks.cubic.kernel.route.rto_min` is `50`"),
        ("stacks.cubic.kernel.bogus=1", "`stacks.cubic.kernel.bogus` is not a known key"),
    ],
)
def test_what_cannot_be_honoured_is_one_sentence(scenario, tmp_path, change, sentence):
    done = permitted(run(scenario, "--set", change, "--out", tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    if change.startswith(("syn_retries", "stacks.cubic=")):
        # Before anything is said of how long it takes.
        assert "Real time" not in done.stderr


@LINUX
def test_a_trace_has_what_the_kernel_tells(scenario, tmp_path):
    out = tmp_path / "out"
    done = in_time(scenario, "--set", "trace=all", "--out", out)
    if "events inside the kernel's TCP, which cannot be recorded" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    found = ac.load(out)
    samples, episodes = found.traces["samples"], found.traces["episodes"]
    assert samples.num_rows > 500 and set(samples["side"].to_pylist()) == {"client"}
    assert samples["cwnd"].null_count == 0 and samples["rto"].null_count == samples.num_rows
    # Slow start overshoots.
    first = episodes.to_pylist()[0]
    assert first["class"] == "ca" and first["retransmissions"] > 0 and first["losses"] is None
    kinds = set(found.traces["segments"]["kind"].to_pylist())
    assert {"syn", "new", "ack", "fast-retransmit", None} <= kinds
    states = found.traces["state"]
    assert set(states["name"].to_pylist()) == {"ca_state"} and 3.0 in states["value"].to_pylist()


WITHOUT_EVENTS = "mount -t tmpfs none /sys/kernel/tracing && mkdir /sys/kernel/tracing/events && exec"
"""Commands of a shell that hide the kernel's tracepoints from what it starts."""


@LINUX
def test_without_the_kernels_events_numbers_are_missing_and_a_trace_is_refused(scenario, tmp_path):
    def run_without(*arguments):
        command = [sys.executable, "-m", "ackclock", "testbed", *map(str, arguments)]
        shell = ["unshare", "-m", "sh", "-c", f"{WITHOUT_EVENTS} {shlex.join(command)}"]
        return subprocess.run(shell, capture_output=True, text=True, check=False, timeout=300)

    if subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{WITHOUT_EVENTS} true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("mount namespaces are not permitted here")
    done = permitted(run_without(scenario, "--set", "trace=samples", "--out", tmp_path / "out"))
    assert done.returncode == 2 and "Real time" not in done.stderr
    assert "`trace` needs events" in done.stderr and "no tracepoint tcp:tcp_cong_state_set" in done.stderr
    for _ in range(4):
        done = permitted(run_without(scenario, "--out", tmp_path / "out"))
        if "is void" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    assert "Events of the kernel's TCP are not recorded: this kernel has no tracepoint" in done.stderr
    found = ac.load(tmp_path / "out")
    (flow,) = found.flows.to_pylist()
    for column in ("timeouts_by_round", "spurious_timeouts", "tail_loss_probes", "fast_recoveries"):
        assert flow[column] is None
    assert flow["timeouts"] is not None and flow["unneeded_retransmissions"] is not None
    assert "no tracepoint" in found.about["testbed"]["runs"][0]["events"]["missing"][0]


@LINUX
def test_goodput_beside_leaves_out_what_follows_in_a_drain(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        """
        duration = "2s"
        drain = "10s"
        [path]
        kind = "single"
        link = { rate = "2Mbit/s", delay = "10ms", queue = { kind = "drop-tail", limit = "1bdp" } }
        [workload]
        kind = "fixed"
        size = "1MB"
        [stacks]
        x = "linux"
        """
    )
    done = in_time(file, "--beside", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = {row["number"]: row for row in json.loads(done.stdout)["beside"]}
    for world in ("kernel", "simulated"):
        # 4 Mbit in all, over 2 s; without the drain at most the link's rate.
        assert rows["goodput"][world] == pytest.approx(1.9e6, rel=0.05)


def test_a_missing_file_is_one_sentence(tmp_path, capsys):
    assert run_command(["testbed", str(tmp_path / "no.toml")]) == 2
    assert "no.toml" in capsys.readouterr().err


@LINUX
def test_a_run_that_is_killed_leaves_nothing(scenario, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    parent = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ackclock",
            "testbed",
            scenario,
            "--set",
            "duration=60s",
            "--out",
            tmp_path / "o",
            "--pcap",
            tmp_path / "c.pcapng",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    child = None
    deadline = time.monotonic() + 20
    while child is None and parent.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
        child = next(iter(children(parent.pid)), None)
    time.sleep(2)
    parent.kill()
    parent.wait()
    if child is None:
        pytest.skip("real packets are not permitted here")
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{child}").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.toml", "tmp"]
    assert not list(temporary.iterdir())


def children(pid):
    """The processes that a process has started."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                after = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after[1]) == pid:
                yield int(entry)


def test_the_time_is_estimated_from_stacks_and_seeds():
    path = ac.Single(ac.Link("1Mbit/s", delay="10ms"))
    one = ac.Scenario.of(path, ac.Bulk(), {"a": "linux"}, duration="10s", drain="5s")
    three = ac.Scenario.of(
        path, ac.Bulk(), {"a": "linux", "b": "linux-reno"}, duration="10s", seeds=[1, 2, 3]
    )
    assert expected_seconds(one.resolve_tree()) == pytest.approx(15.5)
    assert expected_seconds(three.resolve_tree()) == pytest.approx(6 * 10.5)


def test_a_stack_takes_a_kernel():
    stack = ac.Stack(kernel={"cc": "reno"})
    path = ac.Single(ac.Link("1Mbit/s", delay="10ms"))
    tree = ac.Scenario.of(path, ac.Bulk(), {"x": stack}, duration="1s").resolve_tree()
    assert tree["stacks"]["x"]["kernel"] == {"cc": "reno"}
    # Its twin is Linux with that congestion control.
    twin = ac.Scenario.of(path, ac.Bulk(), {"x": "linux-reno"}, duration="1s").resolve_tree()
    assert {k: v for k, v in tree["stacks"]["x"].items() if k != "kernel"} == twin["stacks"]["x"]
    with pytest.raises(ac.PolicyError, match=r"`kernel` of a stack is .*expected a table"):
        ac.Stack(kernel="cubic")


def compared(kernel, simulated):
    import numpy as np

    return Compared("x", QUANTITIES[0], np.array(kernel, float), np.array(simulated, float))


def test_differences_are_judged_by_the_noise():
    # Welch's test by hand: variances 4/3 and 16/3 over 4 values each, so that 4.41 degrees of freedom count
    # as 4; t(0.975, 4) = 2.776 times sqrt(1/3 + 4/3).
    a = compared([9, 9, 11, 11], [9, 9, 13, 13])
    assert a.kernel.var(ddof=1) == pytest.approx(4 / 3) and a.simulated.var(ddof=1) == pytest.approx(16 / 3)
    assert a.half == pytest.approx(2.776 * (1 / 3 + 4 / 3) ** 0.5, rel=1e-3)
    assert (a.difference, a.verdict) == (pytest.approx(0.1), "within noise")
    assert compared([100, 101], [103, 104]).verdict == "within 5 %"
    assert compared([100, 101], [150, 151]).verdict == "differs"
    one = compared([100], [150])
    assert (one.verdict, one.half) == ("one seed", float("inf"))
    sentence = Beside([compared([100, 101], [150, 151])], 2).sentence()
    assert sentence.startswith("0 of 1 simulated numbers") and "goodput of `x`, +49.8 %" in sentence


def test_times_closer_than_a_touch_are_the_same():
    import numpy as np

    delay = next(q for q in QUANTITIES if q.name == "queueing delay")
    near = Compared("x", delay, np.array([19e-9, 20e-9]), np.array([26e-9, 26e-9]))
    assert (near.difference, near.verdict) == (0.0, "within 5 %")
    apart = Compared("x", delay, np.array([100e-6, 101e-6]), np.array([120e-6, 121e-6]))
    assert apart.verdict == "differs"


@LINUX
def test_finished_seeds_are_kept_and_join_the_others(scenario, tmp_path):
    kept, out = tmp_path / "kept", tmp_path / "out"
    done = in_time(scenario, "--seeds", 2, "--keep", kept, "--out", out)
    assert done.returncode == 0, done.stderr
    two = ac.load(out)
    done = in_time(scenario, "--seeds", 3, "--keep", kept, "--workers", 1, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    three = ac.load(out)
    # Times of real packets differ in every run: those that are the same were not made again.
    assert three.flows.slice(0, 2).equals(two.flows)
    assert three.flows["run"].to_pylist() == ["cubic #1", "cubic #2", "cubic #3"]
    assert three.about["seeds"] == [1, 2, 3] == json.loads(done.stdout)["seeds"]
    assert [r["run"] for r in three.about["testbed"]["runs"]] == three.flows["run"].to_pylist()
    assert three.scenario == ac.Scenario.read(scenario).but({"seeds": [1, 2, 3], "series": "10ms"}).resolve()


@LINUX
def test_a_sweep_has_both_worlds(scenario, tmp_path):
    axes = {"world": ["simulated", "kernel"], "path.link.delay": ["10ms", "40ms"]}
    sweep = ac.Sweep(scenario, axes=axes, seeds=1, fixed={"series": "100ms"})
    try:
        found = sweep.run(keep=tmp_path / "kept")
    except ac.MissingRightError as e:
        pytest.skip(str(e))
    flows = found.flows.to_pylist()
    assert [(f["world"], f["path.link.delay"]) for f in flows] == [
        (world, delay) for world in axes["world"] for delay in (0.01, 0.04)
    ]
    for simulated, kernel in zip(flows[:2], flows[2:], strict=True):
        assert kernel["rtt_min"] == pytest.approx(simulated["rtt_min"], rel=0.05)
        # A kernel does not tell it; the simulator's numbers are still there beside it.
        assert kernel["segments_acked"] is None and simulated["segments_acked"] > 0
    series = found.traced("flow_series")
    assert set(series["world"].to_pylist()) == set(axes["world"])
    # A run of another world is another run, which is kept apart; the same one is found again.
    again = ac.Sweep(scenario, axes=axes, seeds=1, fixed={"series": "100ms"}).run(keep=tmp_path / "kept")
    assert (again.found, again.fresh) == (4, 0) and again.flows.equals(found.flows)


@pytest.mark.parametrize(
    ("axes", "fixed", "sentence"),
    [
        ({"world": ["simulated", "real"]}, {}, "`world` is `real`; expected simulated or kernel"),
        ({"path.rtt": ["1ms"]}, {"world": "ns3"}, "`world` is `ns3`; expected simulated or kernel"),
        ({"world": ["kernel"]}, {"world": "simulated"}, "varied by the axis `world`"),
    ],
)
def test_an_unknown_world_is_one_sentence(scenario, axes, fixed, sentence):
    with pytest.raises(ac.InputError, match=sentence):
        ac.Sweep(scenario, axes=axes, fixed=fixed).cases()


def test_runs_of_one_seed_joined_are_the_run_of_all_seeds():
    from ackclock.results.joined import joined

    path = ac.Single(ac.Link("2Mbit/s", delay="10ms"))
    stacks = {"b": "reno", "a": "sack"}
    whole = ac.Scenario.of(
        path, ac.Web(trace="I", load=0.5), stacks, duration="3s", seeds=[1, 2, 3], series="1s"
    )
    parts = [ac.Scenario(text, "s").simulate() for text in whole.resolve_seeds().values()]
    run = whole.simulate()
    found = joined(whole.resolve(), parts)
    assert found.stacks == run.stacks and found.scenario == run.scenario
    for name, table in run.tables().items():
        assert found.tables()[name].to_pylist() == table.to_pylist(), name
    assert found.about["events"] == run.about["events"] and found.about["seeds"] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["MissingRightError", "VoidRunError", "DriveError"])
def test_what_a_run_on_the_kernel_failed_of_is_still_known_to_a_sweep(kind, monkeypatch, scenario):
    from ackclock.sweep import runs, work, worlds

    def fails(*_, **__):
        raise getattr(_core, kind)("no")

    monkeypatch.setattr(ac.Scenario, "testbed", fails)
    job = worlds.job(ac.Scenario.read(scenario).resolve(), "s", work.KERNEL)
    failure = work.one(job, 1, None, False).outcome
    assert not failure.bad_input
    with pytest.raises(getattr(_core, kind), match="no"):
        raise runs.error(failure)
