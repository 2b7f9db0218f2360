"""`ackclock probe`, and what its reports say. Real packets stay on the loopback device and in namespaces of
their own.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ackclock import _core
from ackclock.cli import probe as cli
from ackclock.cli import run_command
from ackclock.reproduce.mathis97 import probes


def lossy(p, delay="25ms", **more):
    return probes.path(delay, {"kind": "loss", "p": p}, **more)


@pytest.fixture(scope="module")
def tested():
    """A simulated minute over 50 ms and one loss in a hundred."""
    return probes.simulated(lossy(0.01), probes.settings(60, background=40))


def test_a_report_has_capacity_loss_times_and_the_models(tested):
    assert tested["capacity"] > 1e6
    assert tested["answered"] is True
    assert (
        tested["loss"]
        == 1 - tested["probes_answered"] / tested["probes_sent"]
        == pytest.approx(0.01, rel=0.3)
    )
    assert tested["p"] == tested["ca_events"] / tested["segments_acked"]
    assert tested["window"] == pytest.approx(tested["capacity"] * tested["rtt"]["sampled"] / 8 / 1460)
    assert list(tested["rtt"]) == ["min", "mean", "median", "p90", "p99", "max", "sampled"]
    assert tested["rtt"]["min"] == pytest.approx(0.05, rel=1e-4)
    for name, near in (("mathis", 0.3), ("pftk", 0.4)):
        found = tested["model"][name]
        assert found["ratio"] == pytest.approx(tested["capacity"] / found["capacity"])
        assert found["ratio"] == pytest.approx(1, abs=near)
    assert json.loads(json.dumps(tested)) == tested


def test_the_models_follow_the_receivers_rule():
    each = probes.simulated(lossy(0.003), probes.settings(120, stack="sack+ack-every"))
    assert each["model"]["mathis"]["c"] == 1.31
    assert each["model"]["pftk"]["b"] == 1
    assert each["model"]["mathis"]["ratio"] == pytest.approx(1, abs=0.15)


def test_the_background_probe_distinguishes_idle_from_busy():
    queue = {"rate": "2Mbit/s", "queue": {"kind": "drop-tail", "limit": "500ms"}}
    found = probes.simulated(probes.path("20ms", **queue), probes.settings(30, background=60))["background"]
    assert found["ratio"] == found["under_test"] / found["not_under_test"] > 3
    for when in ("before", "after"):
        assert found[when]["answered"] == found[when]["sent"] == 60
        assert found[when]["median_of_means"] == pytest.approx(0.04, rel=0.05)


@pytest.mark.parametrize(("replies", "says"), [((200, 20), "at half the rate"), ((1, 6), "evenly spaced")])
def test_a_limit_on_replies_is_noted(replies, says):
    found = probes.simulated(probes.path("20ms"), probes.settings(60, background=200), replies)
    assert found["limit"]["per_second"] == pytest.approx(replies[0], rel=0.3)
    (said,) = [n for n in found["notes"] if "rate-limited" in n]
    assert says in said


def test_qualifications_are_noted(tested):
    assert tested["notes"] == []
    capped = probes.simulated(probes.path("20ms"), probes.settings(5, max_rate=1e6))
    assert any("largest rate held" in n for n in capped["notes"])
    assert any("initial slow start" in n for n in capped["notes"])
    assert capped["model"]["mathis"]["capacity"] is None
    few = probes.simulated(lossy(0.0005), probes.settings(4))
    assert any("uncertain" in n for n in few["notes"])


def test_progress_takes_a_few_lines():
    state = {"phase": "before", "elapsed": 1.0, "of": 10.0, "window": 1.0, "measured": None}
    rtt = {"min": 0.01, "mean": 0.012, "median": 0.011, "p90": 0.013, "p99": 0.014, "max": 0.02}
    state["before"] = {"sent": 20, "answered": 19, "rtt": rtt}
    assert cli.line(state).splitlines() == [
        "background probes: 1 of 10 s",
        "round trip 10 ms to 20 ms, 19 of 20 back",
    ]
    measured = {"capacity": 1e6, "p": None, "ca_events": 1, "non_ca_events": 2, "other_losses": 3, "rtt": rtt}
    lines = cli.line({**state, "phase": "test", "measured": measured}).splitlines()
    assert lines[1:] == [
        "capacity 1 Mbit/s, window 1.0 segments",
        "p -: 1 CA, 2 non-CA, 3 other losses",
        "round trip 10 ms, mean 12 ms, 99 % 14 ms",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["224.0.0.1"], "multicast"),
        (["255.255.255.255"], "broadcast"),
        (["0.0.0.0"], "not the address of a host"),
        (["no-such-host.invalid"], "no-such-host.invalid"),
        (["127.0.0.1", "-6"], "IPv6"),
        (["127.0.0.1", "--icmp", "--udp-ttl", "3"], "one of them"),
        (["127.0.0.1", "--udp-ttl", "0"], "--udp-ttl"),
        (["127.0.0.1", "--mss", "9"], "--mss"),
        (["127.0.0.1", "--mss", "70000B"], "--mss"),
        (["127.0.0.1", "--max-rate", "1"], "--max-rate"),
        (["127.0.0.1", "--stack", "sock"], "sack"),
        (["127.0.0.1", "--seconds", "0"], "give 1s to 86400s"),
        (["127.0.0.1", "--seconds", "5ms"], "give 1s to 86400s"),
        (["127.0.0.1", "--seconds", "20x"], "--seconds"),
    ],
)
def test_invalid_options_are_refused_in_a_sentence(ackclock, arguments, says):
    done = ackclock("probe", *arguments)
    assert done.code == 2, done
    assert says in done.err
    assert "Traceback" not in done.err and "Probing" not in done.err


def allowed():
    """Whether this machine lets us use ICMP sockets on the loopback device."""
    try:
        _core.probe("127.0.0.1", None, probes.settings(0.1), None)
    except _core.MissingRightError as e:
        return str(e)
    except AttributeError:
        return "not Linux"
    return True


@pytest.fixture
def loopback():
    found = allowed()
    if found is not True:
        pytest.skip(found)


def test_a_probe_over_the_loopback_device_reports(ackclock, loopback):
    done = ackclock(
        "probe", "127.0.0.1", "--seconds", "1", "--background", "10", "--max-rate", "5Mbit/s", "--json"
    )
    assert done.code == 0, done
    found = done.json
    assert found["answered"]
    assert found["capacity"] <= 5e6
    assert found["background"]["before"]["sent"] == 10
    assert found["address"] == "127.0.0.1"
    assert "owners agree" in done.err
    shown = ackclock(
        "probe", "localhost", "-4", "--seconds", "1", "--background", "0", "--max-rate", "5Mbit/s"
    )
    assert shown.code == 0, shown
    assert "capacity" in shown.out
    assert "held the sender back" in shown.out


def test_a_host_that_does_not_reply_is_one_sentence(monkeypatch, capsys):
    silent = json.loads(_core.probe_simulated(lossy(1.0), probes.settings(5, background=20), None))
    assert not silent["answered"]
    monkeypatch.setattr(
        _core, "probe", lambda *_: json.dumps({**silent, "interrupted": False}), raising=False
    )
    assert run_command(["probe", "192.0.2.9", "--json"]) == 2
    done = capsys.readouterr()
    assert done.out == ""
    assert "`192.0.2.9` (192.0.2.9) does not reply" in done.err
    # Ctrl-C before anything came back is no failure of the host.
    monkeypatch.setattr(_core, "probe", lambda *_: json.dumps({**silent, "interrupted": True}), raising=False)
    assert run_command(["probe", "192.0.2.9"]) == 130
    assert "numbers so far" in capsys.readouterr().out


def test_udp_probes_need_no_privilege(ackclock):
    if not hasattr(_core, "probe"):
        pytest.skip("not Linux")
    found = ackclock(
        "probe",
        "127.0.0.1",
        "--udp-ttl",
        "3",
        "--seconds",
        "1",
        "--background",
        "0",
        "--max-rate",
        "1Mbit/s",
        "--json",
    ).json
    assert found["method"] == "UDP, 3 hops"
    assert found["answered"]


def test_interrupting_gives_the_report_so_far(loopback):
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "probe",
        "127.0.0.1",
        "--background",
        "0",
        "--max-rate",
        "1Mbit/s",
        "--json",
    ]
    environment = {k: v for k, v in os.environ.items() if k != "ACKCLOCK_TRACEBACK"}
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    # Said before the first probe; a little later the test is under way.
    assert "Probing" in started.stderr.readline()
    time.sleep(2)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    found = json.loads(out)
    assert found["interrupted"]
    assert found["segments_acked"] > 0
    assert "Traceback" not in err
