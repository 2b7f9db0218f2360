import json
from pathlib import Path

import pyarrow.parquet as pq

from ackclock.reproduce import ITEMS, Setting
from ackclock.reproduce.item import at_most, exactly, six_digits

FIRST = {"B-F2a", "B-F1", *(f"B-E{n}" for n in range(1, 9))}


def test_the_list_gives_id_paper_kind_and_title(ackclock):
    listed = ackclock("reproduce", "--list", "--json").json
    assert {row["id"] for row in listed} >= FIRST
    assert all(list(row) == ["id", "paper", "kind", "title", "holds", "verdict", "decides"] for row in listed)
    assert all(row["paper"] == "backoff2008" for row in listed if row["id"] in FIRST)
    assert ackclock("reproduce", "--list").code == 0


def test_an_item_gives_data_checks_and_a_verdict(ackclock, tmp_path):
    done = ackclock("reproduce", "b-f1", "--json")
    assert done.code == 0
    result = done.json
    assert result["id"] == "B-F1"
    assert result["holds"] is True
    assert all(set(c) == {"name", "expected", "got", "holds"} for c in result["checks"])
    assert result["choices"]
    for path in result["data"] + result["figures"]:
        assert Path(path).is_file()
        assert tmp_path in Path(path).parents
    assert pq.read_table(result["data"][0]).num_rows == 49
    assert json.loads((tmp_path / "runs/reproduce/B-F1/summary.json").read_text()) == result


def test_the_closed_forms_all_hold():
    for i in ITEMS.values():
        if i.kind == "CF":
            outcome = i.run(Setting())
            assert outcome.checks
            assert outcome.holds, [c for c in outcome.checks if not c.holds]


def test_a_check_can_fall_short():
    assert not six_digits("x", 1.00002, 1.0).holds
    assert six_digits("x", 1.000001, 1.0).holds
    assert not six_digits("x", [1.0], [1.0, 2.0]).holds
    assert not exactly("x", [1.0, 2.5], [1, 2]).holds
    assert not at_most("x", 2.0, 1.9, "limit").holds
    assert not at_most("x", float("nan"), 1.9, "limit").holds


def test_a_figure_comes_out_the_same_twice(ackclock, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        assert ackclock("reproduce", "B-F1", "--out", folder).code == 0
    for name in ("multipliers.png", "multipliers.svg", "multipliers.parquet"):
        first, second = ((folder / "B-F1" / name).read_bytes() for folder in folders)
        assert first == second, name


def test_a_check_that_falls_short_is_exit_1(ackclock, tmp_path, monkeypatch):
    from ackclock.cli import run_command
    from ackclock.reproduce.backoff2008 import f1_multipliers

    monkeypatch.setitem(f1_multipliers.EXPECTED, "TCP", [1, 2, 4, 8, 16, 32, 63])
    assert run_command(["reproduce", "B-F1", "--json", "--out", str(tmp_path)]) == 1


def test_a_changed_figure_says_what_was_set():
    from matplotlib.figure import Figure

    from ackclock.reproduce.saved import label
    from ackclock.scenario.variation import Variation

    fig = Figure()
    label(fig, Variation())
    assert not fig.get_supxlabel()
    v = Variation(overrides=(("path.rtt", "50ms"),), scenarios={"a": 1, "b": 2, "c": 1})
    label(fig, v)
    assert fig.get_supxlabel().endswith("path.rtt = 50ms")
    v.refused["path.rtt"] = {"too short": ["a", "c"]}
    label(fig, v)
    assert fig.get_supxlabel().endswith("path.rtt = 50ms in 1 of 3 scenarios")
