"""The sender of a captured connection: the command and the function, on captures of a kernel's senders."""

import gzip
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.cli.sender import minimum, unknown

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
    # Nothing in it is further than a tick from the value, if there is one.
    assert found["value"] is None or abs(found["value"] - 0.3) <= 0.004


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ((0.1, 0.104, 0.1), "Minimum of the timeout 100 ms, to a tick of 4 ms (100 ms to 104 ms)."),
        ((0.1, 0.1, 0.1), "Minimum of the timeout 100 ms, to a tick of 4 ms."),
        ((0.381, 0.42, None), "Minimum of the timeout between 381 ms and 420 ms."),
        (
            (0.19, 0.212, None),
            "Minimum of the timeout between 190 ms and 212 ms (Linux's default is 200 ms).",
        ),
    ],
)
def test_a_minimum_is_a_value_only_where_a_tick_is_left(found, says):
    low, high, value = found
    assert minimum({"low": low, "high": high, "value": value, "timeouts": 1}) == says


@pytest.mark.parametrize(
    ("why", "most", "says"),
    [
        ("no-timeout", None, "No timeout, so its minimum is unknown."),
        (
            "variation",
            0.465,
            "Its minimum does not show in the timeouts (round trips varied by more); it is at most 465 ms.",
        ),
        (
            "unlike",
            None,
            "Its minimum does not show in the timeouts (the stack does not fit well enough for its timers).",
        ),
        (
            "undecided",
            0.324,
            "Its minimum does not show in the timeouts (none explains when its timer fired better than "
            "another); it is at most 324 ms.",
        ),
    ],
)
def test_why_no_minimum_is_known_is_said(why, most, says):
    assert unknown(why, most) == says


def test_without_a_timeout_there_is_no_minimum():
    report = ac.name_sender(CUBIC).report
    assert (report["min_rto"] is None) == (report["min_rto_unknown"] is not None)
    assert report["min_rto"] is None or report["min_rto_at_most"] is None


@pytest.mark.parametrize(
    ("more", "says"),
    [(["--flow", "9"], "chooses none"), (["--stack", "linus"], "linux")],
)
def test_a_wrong_choice_is_one_sentence(ackclock, more, says):
    done = ackclock("sender", CUBIC, *more)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err


CAUSES = FIXTURES / "kernel-causes.pcap.gz"


def test_the_stack_that_fits_names_the_causes(ackclock):
    before = ac.read_capture(CAUSES, samples=False).connections[0]["directions"][0]
    capture = ac.read_capture(CAUSES, samples=False, by_stack=True)
    found = capture.connections[0]["directions"][0]
    said = found["by_stack"]
    assert before["by_stack"] is None
    assert said["stack"].startswith("linux") and said["fit"] > -0.5 and said["why_not"] is None
    assert said["explained"] == said["retransmissions"] == len(found["retransmissions"])
    kinds = {r["frame"]: r["kind"] for r in before["retransmissions"]}
    for change in said["changed"]:
        assert kinds[change["frame"]] == change["rules"] != change["stack"]
    assert len(said["changed"]) == 18
    done = ackclock("capture", CAUSES, "--by-stack")
    assert done.code == 0, done
    assert "95 of 95 retransmissions are explained; 18 have another cause" in done.out


def test_why_no_stack_names_causes_is_said(ackclock):
    far = FIXTURES.parents[2] / "ackclock-capture/tests/fixtures/kernel-lost-tails.pcap.gz"
    done = ackclock("capture", far, "--by-stack")
    assert done.code == 0, done
    assert "No stack names the causes of retransmissions: " in done.out


def test_a_pipe_cannot_be_read_twice(ackclock):
    done = ackclock("capture", "-", "--by-stack")
    assert done.code == 2
    assert "standard input cannot be read twice; expected a file" in done.err


def test_a_capture_that_was_cut_off_is_followed_up_to_there_and_says_so(tmp_path, ackclock):
    whole = gzip.decompress((FIXTURES / "kernel-causes.pcap.gz").read_bytes())
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[:60_000])
    assert "damaged at byte" in ac.name_sender(path).report["damage"]
    assert ac.name_sender(CUBIC).report["damage"] is None
    assert ackclock("sender", path).err.startswith("Note: damaged at byte")


def test_stacks_are_ranked_with_the_timers_that_fit_them():
    # The kernel's minimum was 100 ms, nearer to FreeBSD's timer than to Linux's default.
    best, *others = ac.name_sender(FIXTURES / "kernel-causes.pcap.gz").candidates
    assert best["stack"] == "linux" and best["fit"] > -0.1
    assert min(c["behind"] for c in others) > 20
