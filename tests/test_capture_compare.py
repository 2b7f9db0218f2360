"""`ackclock capture --compare`: two ends of a connection, or two captures of different times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
NEAR, FAR = (FIXTURES / f"kernel-limited-loss-{end}.pcap.gz" for end in ("near", "far"))


def test_two_ends_are_recognised_and_what_was_lost_between_them_is_named(ackclock):
    done = ackclock("capture", "--compare", FAR, NEAR)
    assert done.code == 0, done
    found = json.loads(ackclock("capture", "--compare", FAR, NEAR, "--json").out)
    assert (found["kind"], found["figures"]) == ("two-ends", [])
    (c,) = found["ends"]
    assert c["near_client"] == 1
    back = c["ways"][1]
    assert "The two captures are two ends of one connection." in done.out
    assert f"From the server to the client: {back['data_lost']} of {back['data']} data packets" in done.out
    assert f"near the server: {back['lost'][0]['frame']}, " in done.out
    # The two files hold as many packets less.
    counts = [json.loads(ackclock("capture", file, "--json").out)["packets"] for file in (FAR, NEAR)]
    assert counts[0] - counts[1] == back["data_lost"]
    assert back["delay"]["min"] == pytest.approx(0.020, abs=0.001)


def test_captures_of_other_connections_are_shown_side_by_side(ackclock):
    other = FIXTURES / "kernel-limited-queue-near.pcap.gz"
    done = ackclock("capture", "--compare", NEAR, other)
    assert done.code == 0, done
    assert "no connection in common" in done.out
    found = json.loads(ackclock("capture", "--compare", NEAR, other, "--json").out)
    assert found["kind"] == "before-after"
    values = {f["figure"]: f["values"] for f in found["figures"]}
    low, high = values["round trip, lowest"], values["round trip, 95 %"]
    assert low == pytest.approx([0.0402, 0.0304], abs=0.001)
    assert high[0] < 0.06 < 0.9 < high[1]
    assert values["data packets lost"][0] > 0.02 > values["data packets lost"][1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((NEAR,), "`--compare` takes two captures, not 1"),
        ((NEAR, FAR, "--csv"), "`--compare` prints text or `--json`"),
        ((NEAR, NEAR.parent / "README.md"), "README.md: "),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(ackclock, arguments, sentence):
    done = ackclock("capture", "--compare", *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err
