"""The sender of a captured connection: the command and the function, on captures of a kernel's senders."""

from pathlib import Path

import pytest

import ackclock as ac

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-shadow/tests/fixtures"
CUBIC = FIXTURES / "kernel-cubic.pcap.gz"


def test_the_command_names_the_stack(ackclock):
    done = ackclock("sender", CUBIC)
    assert done.code == 0, done
    assert "sent as linux sends, window cubic" in done.out
    assert "packet" in done.out.split("linux-reno")[1].splitlines()[0]


def test_a_connection_is_chosen_as_in_captures():
    sender = ac.name_sender(FIXTURES / "kernel-bbr.pcap.gz", "0", ["linux", "linux-bbr"])
    assert sender.stack == "linux-bbr"
    assert [c["stack"] for c in sender.candidates] == ["linux-bbr", "linux"]
    assert sender.report["to"].endswith(":5001")


def test_the_minimum_of_the_timeout_is_a_range():
    found = ac.name_sender(FIXTURES / "kernel-min-rto-300ms.pcap.gz").report["min_rto"]
    assert found["low"] <= 0.3 <= found["high"]


@pytest.mark.parametrize(
    ("more", "says"),
    [(["--flow", "9"], "chooses none"), (["--stack", "linus"], "linux")],
)
def test_a_wrong_choice_is_one_sentence(ackclock, more, says):
    done = ackclock("sender", CUBIC, *more)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err
