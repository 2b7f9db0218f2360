"""`ackclock reproduce --set`: which scenarios took a value, and which keys there are."""

from __future__ import annotations

import json

import pytest

import ackclock as ac
from ackclock._core import ScenarioError
from ackclock.reproduce.item import Setting, find
from ackclock.reproduce.keys import keys
from ackclock.scenario.variation import Variation

ITEM = "M-F3"


def test_it_says_which_scenarios_took_a_value_and_why_the_others_did_not(ackclock, tmp_path):
    # Round trips of 6 to 600 ms: the links of three of the five delays take more than 50 ms.
    done = ackclock("reproduce", ITEM, "--set", "path.rtt=50ms")
    assert "Set in 58 of its 143 scenarios: path.rtt = 50ms. The figure, the data and" in done.out
    assert "its links alone take `60ms`" in done.out
    found = {}
    for file in (tmp_path / "runs/reproduce" / ITEM).glob("scenario-*.toml"):
        found[file.name] = ac.Scenario.read(file).resolve_tree()["path"]["rtt"]
    assert sorted(found.values()).count("50ms") == 58
    summary = json.loads((tmp_path / "runs/reproduce" / ITEM / "summary.json").read_text())
    without = [f.rpartition("/")[2] for r in summary["refused"]["path.rtt"] for f in r["scenarios"]]
    assert sorted(without) == sorted(name for name, rtt in found.items() if rtt == "links")


def test_what_none_takes_is_refused_with_where_the_keys_are(ackclock):
    done = ackclock("reproduce", ITEM, "--set", "path.links.0.rate=1Mbit/s")
    assert done.code == 2 and done.is_one_sentence(), done.err
    assert f"`ackclock reproduce {ITEM} --keys` lists the keys" in done.err


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("rtt=50ms", "; did you mean `path.rtt` or `workload.0.rtt`? "),
        ("path.rtts=50ms", "; did you mean `path.rtt`"),
        ("zzz=1", "; "),
    ],
)
def test_an_unknown_key_has_the_nearest_ones_and_where_all_are(ackclock, given, hint):
    done = ackclock("reproduce", ITEM, "--set", given)
    assert done.code == 2 and done.is_one_sentence(), done.err
    key = given.partition("=")[0]
    assert f"--set {given}: `{key}` is not a known key{hint}" in done.err
    assert done.err.endswith(f"`ackclock reproduce {ITEM} --keys` lists the keys of its scenarios\n")
    assert "expected one of" not in done.err


def test_every_key_that_is_listed_can_be_set():
    item = find("B-F7")[0]
    found, scenarios = keys(item)
    assert scenarios == 1
    listed = {k.key: k for k in found}
    assert listed["stacks.NAME.mss"].stands_for["NAME"] == ["TCP", '"TCP*(inf)"']
    assert listed["path.edges.N.rate"].values == ["10Mbit/s", "50Mbit/s"]
    assert "seeds" not in listed
    handed: list[ac.Scenario] = []

    class First(Variation):
        def take(self, scenarios):
            handed.extend(scenarios)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        item.run(Setting(variation=First()))
    for k in found:
        name = k.key.replace("NAME", "TCP")
        places = k.stands_for.get("N", [""])
        tried = (
            Variation(overrides=((name.replace(".N.", f".{n}."), value),))
            for n in places
            for value in k.values
        )
        assert any(_taken(v, handed) for v in tried), k.key


def _taken(v: Variation, handed: list[ac.Scenario]) -> bool:
    try:
        return bool(v.take(handed)) and not v.refused
    except ScenarioError:
        return False


def test_keys_of_an_item_take_no_time_and_its_own_values_change_nothing(ackclock):
    rows = {r["key"]: r for r in ackclock("reproduce", ITEM, "--keys", "--json").json}
    assert rows["path.link.delay"]["values"] == ["3ms", "10ms", "30ms", "300ms", "100ms"]
    assert rows["path.link.faults.0.of"] == {
        "key": "path.link.faults.0.of",
        "values": ["data"],
        "scenarios": 143,
    }
    assert not any(key.startswith("seed") for key in rows)
    text = ackclock("reproduce", ITEM, "--keys")
    assert "path.link.rate" in text.out and "Such as `--set path.link.delay=3ms`" in text.err
    done = ackclock("reproduce", ITEM, "--set", "path.link.faults.0.of=data", "--json").json
    assert done["refused"] == {} and done["holds"]


def test_keys_of_what_runs_no_scenario_or_of_several_are_refused(ackclock):
    for name, says in (("B-F1", "runs no scenario (formula), so"), ("mathis97", "the keys of one item")):
        done = ackclock("reproduce", name, "--keys")
        assert done.code == 2 and done.is_one_sentence(), done.err
        assert says in done.err
