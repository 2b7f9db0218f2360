"""The core returns resolved scenarios and declared tables as data, the same as their text says."""

import json
import sys
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_resolved_scenario_is_the_same_as_text_and_as_data(file):
    scenario = ac.Scenario.read(file)
    tree = scenario.resolve_tree()
    read = tomllib.loads(scenario.resolve())
    assert tree == read
    # In the same order, too: it is that of the stacks in tables.
    assert json.dumps(tree) == json.dumps(read)


def test_the_text_for_each_seed_has_that_seed_alone():
    scenario = ac.Scenario.read(FILES[0]).but({"seed": 5, "repeat": 3})
    assert list(scenario.resolve_seeds()) == [5, 6, 7]
    texts = scenario.resolve_seeds([9, 2])
    assert list(texts) == [9, 2]
    assert texts[9] == scenario.but({"seed": 9, "repeat": 1}).resolve()


def test_arrivals_are_those_of_web_workloads():
    path = ac.Single(ac.Link("10Mbit/s"), rtt="10ms")
    workloads = [ac.Web(trace="II", load=0.5), ac.Bulk()]
    (found,) = ac.Scenario.of(path, workloads, {"tcp": "sack"}).expected_arrivals()
    assert found.workload == "web"
    assert found.mean_size == pytest.approx(7000, rel=1e-3)
    assert found.rate * found.mean_size * 8 == pytest.approx(0.5 * 10e6)


def test_invalid_scenarios_are_refused_by_each():
    wrong = ac.Scenario("path = 3")
    for ask in (wrong.resolve, wrong.resolve_tree, wrong.resolve_seeds, wrong.expected_arrivals):
        with pytest.raises(ac.ScenarioError):
            ask()


def test_the_tables_are_declared_as_the_reference_shows_them():
    tables = json.loads(_core.tables())
    assert {"flows", "links", "samples"} <= {t["name"] for t in tables}
    reference = _core.tables_reference()
    for t in tables:
        assert f"## `{t['name']}`\n\n{t['about']}\n" in reference
        for c in t["columns"]:
            assert f"| {c['unit']} | {c['meaning']} |" in reference, c
