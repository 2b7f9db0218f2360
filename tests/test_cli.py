"""Conventions that every command keeps."""

import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.cli import COMMANDS as COMMANDS_KNOWN

SHORT = """
duration = "1s"
path = { kind = "dumbbell", rtt = "50ms", bottleneck = { rate = "1Mbit/s" } }
workload = { kind = "bulk" }
stacks = { tcp = "sack" }
"""


def test_help_names_every_command(ackclock):
    done = ackclock("--help")
    assert done.code == 0
    for name in ("run", "sweep", "reproduce", "policies", "model", "demo"):
        assert name in done.out
        assert ackclock(name, "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["simulate"], "`simulate` is not a command; expected one of demo, examples, run"),
        (["policies", "red", "--jsn"], "--jsn"),
        (["policies", "rreno"], "did you mean `reno`?"),
        (["model", "B-E10"], "did you mean `B-E1`, `J-E10` or `I-E10`?"),
        (
            ["model", "B-E1", "--rto", "1", "--capacity", "50"],
            "`--rto`: `1` is not a time: give a number with a unit",
        ),
        (["model", "B-E1", "--rto", "1s"], "--capacity"),
        (["model", "B-E1", "--rto", "0s", "--capacity", "50"], "above zero"),
        (
            ["model", "B-E2", "--rto", "1s,2s", "--packets", "1,2,3", "--p", "0"],
            "give one value, or one for each flow",
        ),
        (["model", "B-E2", "--rto", "1s", "--packets", "1", "--p", "1"], "no finite value"),
        (["model", "B-E8", "--p", "150%"], "between 0 and 1"),
        (["model", "B-E8", "--p", "x"], "`x` is not a ratio"),
        (["model", "B-E8", "--p", "0..1:999999"], "more than 100000 rows"),
        (["reproduce", "B-F2"], "did you mean `B-F2"),
        (["reproduce", "--workers", "0", "all"], "--workers"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(ackclock, tmp_path, arguments, says):
    done = ackclock(*arguments)
    assert done.code == 2
    assert done.is_one_sentence(), done.err
    assert says in done.err
    assert list(tmp_path.iterdir()) == []


def test_results_go_to_stdout_and_are_json_when_asked(ackclock):
    done = ackclock("model", "syn-rejection", "--p", "0.1,0.5", "--syns", "3,5", "--json")
    assert done.code == 0
    assert done.err == ""
    assert done.json["rows"][3] == {"p": 0.5, "syns": 5.0, "rejected": 0.03125}


def test_a_list_for_flows_is_one_value_for_each(ackclock):
    done = ackclock("model", "B-E1", "--rto", "1s*120", "--capacity", "50,100", "--json")
    assert [row["p"] for row in done.json["rows"]] == pytest.approx([0.583333, 0.166667], rel=5e-6)


def test_policies_as_json_declare_every_parameter(ackclock):
    found = ackclock("policies", "--json").json
    assert {"kind", "name", "about", "source", "params"} <= set(found[0])
    star = next(d for d in found if d["name"] == "sub-exponential")
    assert star["kind"] == "backoff"
    assert star["params"][0]["name"] == "n"
    linux_bbr = next(d for d in found if (d["kind"], d["name"]) == ("preset", "linux-bbr"))
    assert ["window", "bbr1"] in linux_bbr["settings"]


def test_a_preset_is_shown_with_what_it_sets(ackclock):
    done = ackclock("policies", "macos")
    assert done.code == 0
    assert "macos (preset)" in done.out
    assert "ack.ack_every_segs" in done.out


COMMANDS = (
    "policies --json",
    "policies",
    "policies red",
    "capture FILE --json",
    "capture FILE --csv",
    "capture FILE",
    "reproduce --list",
    "reproduce B-E1",
    "model pftk --p 0.01..0.1 --rtt 100ms",
    "model eifel --cycles 2",
    "run SCENARIO",
    "run SCENARIO --json",
)


@pytest.mark.parametrize(
    "command", ["", "-h", "--version", *COMMANDS, *(f"{name} --help" for name in COMMANDS_KNOWN)]
)
@pytest.mark.parametrize("reader", ["head -c 1", "true"])
def test_a_closed_pipe_ends_a_command_quietly(tmp_path, command, reader):
    file = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures/kernel-heavy-loss.pcap.gz"
    scenario = tmp_path / "short.toml"
    scenario.write_text(SHORT)
    line = command.replace("FILE", str(file)).replace("SCENARIO", str(scenario))
    line = f"{sys.executable} -m ackclock {line} 2>notes | {reader}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    notes = (tmp_path / "notes").read_text()
    assert (done.stderr, done.returncode) == ("", 0)
    assert "Traceback" not in notes
    assert "Broken pipe" not in notes


def test_a_closed_pipe_for_notes_ends_a_command_quietly_too(tmp_path):
    for command in ("", "nonsense", "model B-E1"):
        line = f"{sys.executable} -m ackclock {command} 2>&1 | true"
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stdout + done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("command", ["", "policies", "policies --json"])
def test_a_full_disk_is_one_sentence(tmp_path, command):
    line = f"{sys.executable} -m ackclock {command} >/dev/full"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stderr, done.returncode) == ("ackclock: the system: No space left on device\n", 2)


def test_a_closed_stdout_is_no_fault(tmp_path):
    line = f"{sys.executable} -m ackclock policies red >&-"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert "internal fault" not in done.stderr


def test_the_demo_says_what_its_stacks_are_and_why_the_median_is_worse() -> None:
    from ackclock.cli.demo import _in_words

    def row(stack: str, median: float, p99: float, loss: float, timeouts: int) -> dict[str, object]:
        return {"stack": stack, "median": median, "p99": p99, "loss": loss, "timeouts": timeouts}

    said = _in_words([row("TCP", 10.0, 200.0, 0.5, 10), row("TCP*(inf)", 14.0, 160.0, 0.75, 40)])
    assert "TCP*(inf) never" in said
    assert "the median goes from 10 s to 14 s" in said
    assert "drops 75 % of all packets in place of 50 %" in said
    # Without losses there is nothing to give a reason for.
    said = _in_words([row("TCP", 1.0, 2.0, 0.0, 0), row("TCP*(inf)", 1.0, 2.0, 0.0, 0)])
    assert said.endswith("the 99th percentile from 2 s to 2 s.")


@pytest.mark.parametrize("words", [("demo", "--seconds"), ("passport", "cubic", "--workers")])
def test_what_is_no_number_is_said_in_plain_words(ackclock, words):
    done = ackclock(*words, "x")
    assert done.code == 2
    assert done.err.strip().endswith(f"Invalid value for '{words[-1]}': 'x' is not a whole number.")


@pytest.mark.parametrize("name", ["", *COMMANDS_KNOWN])
def test_help_fits_a_terminal_of_80_columns(ackclock, name):
    done = ackclock(*filter(None, (name,)), "--help")
    assert done.code == 0
    assert not [line for line in done.out.splitlines() if len(line) > 80]
