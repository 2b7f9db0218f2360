"""The search for differences between two stacks."""

import json
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

KNOWN = Path(__file__).parent.parent / "scripts" / "differ.toml"


def test_a_stack_does_what_it_does(ackclock):
    done = ackclock("script", "--differ", "--against", "sack", "--stack", "sack", "--count", "300", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["run"], found["same"], found["found"]) == (300, 300, [])


def test_two_stacks_that_differ(ackclock, tmp_path):
    two = ("--stack", "cubic+rack+ack-every", "--against", "cubic+rack")
    done = ackclock("script", "--differ", *two, "--count", "300", "--out", "found", "--json")
    assert done.code == 1, done.err
    found = json.loads(done.out)
    assert found["run"] == 300 and found["found"]
    assert json.loads((tmp_path / "found" / "summary.json").read_text())["found"] == found["found"]
    for cause in found["found"]:
        script = tmp_path / "found" / cause["file"]
        assert script.read_text() == cause["script"]
        assert script.read_text().startswith(f"// {cause['cause']}.\n")
    # The scripts tell the stacks apart.
    (delayed,) = [
        c for c in found["found"] if c["cause"].startswith("time of ack in ESTABLISHED after data.")
    ] or [next(c for c in found["found"] if c["cause"].startswith("time of ack"))]
    of = {
        stack: ackclock("script", "--stack", stack, f"found/{delayed['file']}").code
        for stack in ("cubic+rack+ack-every", "cubic+rack")
    }
    assert sorted(of.values()) == [0, 1], delayed["script"]
    again = ackclock("script", "--differ", *two, "--count", "300", "--json")
    assert [c["cause"] for c in json.loads(again.out)["found"]] == [c["cause"] for c in found["found"]]
    shown = ackclock("script", "--differ", *two, "--count", "300")
    assert shown.code == 1 and "300 conversations in" in shown.out


def test_foreign_files_stay(ackclock, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    done = ackclock("script", "--differ", "--against", "sack", "--out", "mine")
    assert done.code == 2 and done.is_one_sentence()
    assert (folder / "notes.txt").read_text() == "mine"


def test_what_is_known_is_not_reported(ackclock, tmp_path):
    (tmp_path / "known.toml").write_text('[[difference]]\ncause = "*"\nwhy = "it is"\n')
    two = ("--stack", "cubic+rack+ack-every", "--against", "cubic+rack")
    done = ackclock("script", "--differ", *two, "--count", "100", "--known", "known.toml", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    (explained,) = found["explained"]
    assert explained["why"] == "it is" and explained["count"] + found["same"] == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--differ", "x.pkt"], "`FILE` is for scripts"),
        (["--differ", "--world", "kernel"], "`--world` is for scripts"),
        (["--differ", "--show"], "`--show` is for scripts"),
        (["--seed", "2", "x.pkt"], "`--seed` belongs to `--differ`"),
        (["--count", "2", "x.pkt"], "`--count` belongs to `--differ`"),
        (["--differ", "--against", "no-such-stack"], "no-such-stack"),
        (["--differ", "--against", "sack", "--stack", "no-such-stack"], "no-such-stack"),
        (["--differ", "--against", "sack", "--tolerance", "soon"], "soon"),
        (
            ["--differ", "--against", "sack", "--known", "none.toml"],
            "`none.toml` does not exist; expected a list of differences (TOML)",
        ),
        (["--differ", "--against", "sack", "--known", "bad.toml"], "`bad.toml` is no TOML"),
        (["--differ", "--against", "sack", "--known", "empty.toml"], "has no [[difference]]"),
        (["--differ", "--against", "sack", "--known", "half.toml"], "[[difference]] 1 needs"),
        (["--differ", "--minutes", "0"], "--minutes"),
        (["--differ", "--jobs", "0"], "--jobs"),
        (["--differ", "--count", "0"], "--count"),
        ([], "no scripts are given"),
    ],
)
def test_wrong_input(ackclock, tmp_path, arguments, words):
    (tmp_path / "bad.toml").write_text("[[difference\n")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "half.toml").write_text('[[difference]]\ncause = "*"\n')
    done = ackclock("script", *arguments)
    assert done.code == 2 and words in done.err, done.err


def test_explanations_name_an_rfc():
    entries = tomllib.loads(KNOWN.read_text(encoding="utf-8"))["difference"]
    causes = [e["cause"] for e in entries]
    assert len(set(causes)) == len(causes)
    assert all("RFC" in e["why"] for e in entries)


def test_against_the_kernel(ackclock):
    done = ackclock(
        "script", "--differ", "--count", "40", "--jobs", "8", "--known", str(KNOWN), "--json", timeout=240
    )
    if done.code == 2:
        assert done.is_one_sentence() and ("TUN" in done.err or "namespaces" in done.err)
        pytest.skip(done.err)
    found = json.loads(done.out)
    assert found["run"] == 40 and found["against"] == "kernel"
    counted = (
        found["same"]
        + found["late"]
        + found["timed"]
        + found["fleeting"]
        + sum(c["count"] for c in found["explained"])
        + sum(c["count"] for c in found["found"])
    )
    assert counted == 40
    assert found["same"] + found["late"] > 10
