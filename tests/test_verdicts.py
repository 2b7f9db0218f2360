"""The verdicts on record are those that the quick forms give: a change in either direction must change the
record too.
"""

import re

import pytest

from ackclock.reproduce import ITEMS, full, pages, record
from ackclock.reproduce.item import Outcome, stated
from ackclock.reproduce.verdicts import digests, disagreement, keep, main, recorded, stale
from ackclock.sweep.work import engine
from figures import problems


def marks(kinds: str) -> list[pytest.MarkDecorator]:
    """Those of an item of these kinds."""
    found = {"SIM": pytest.mark.slow, "REAL": pytest.mark.real_time}
    return [mark for kind, mark in found.items() if kind in kinds.split(", ")]


@pytest.mark.parametrize("id", [pytest.param(id, marks=marks(i.kind)) for id, i in ITEMS.items()])
def test_the_verdict_on_record_is_the_one_found(id):
    outcome = ITEMS[id].run()
    assert disagreement(id, outcome) is None
    if "REAL" not in ITEMS[id].kind and not outcome.skipped:
        assert digests(outcome) == recorded()[id]["figures"], f"run `python -m ackclock.reproduce.pages {id}`"
    # Drawing all of them takes longer than most items: `test_ids` draws some.
    assert not {name: wrong for name, fig in outcome.figures.items() if (wrong := problems(fig))}


def test_no_reason_on_record_was_written_for_other_figures():
    assert not [id for id, kept in recorded().items() if stale(kept)]


def test_a_reason_is_stale_once_the_figures_that_it_explains_change(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(record, "file", lambda paper, name: tmp_path / f"{paper.name}-{name}.json")
    small, smaller = (Outcome([stated("x", got, False), stated("y", "1", True)]) for got in ("2", "3"))
    keep({"B-E1": small})
    assert main(["because", "B-E1", "The load is too low."]) == 0
    assert recorded()["B-E1"]["explains"] == {"x": "2"}
    keep({"B-E1": small})
    assert not stale(recorded()["B-E1"])
    assert "written for other figures" not in capsys.readouterr().err
    keep({"B-E1": smaller})
    assert stale(recorded()["B-E1"])
    assert "B-E1: its reason was written for other figures than these" in capsys.readouterr().err
    assert "Written for other figures" in pages.said("B-E1", recorded()["B-E1"])
    assert main(["because", "B-E1", "The load is far too low."]) == 0
    assert not stale(recorded()["B-E1"])


@pytest.mark.parametrize("args", [["B-E2", "It holds."], ["B-E1", " "], ["B-E1"], []])
def test_a_reason_for_what_does_not_fall_short_or_without_words_is_refused(
    monkeypatch, tmp_path, capsys, args
):
    monkeypatch.setattr(record, "file", lambda paper, name: tmp_path / f"{paper.name}-{name}.json")
    keep({"B-E1": Outcome([stated("x", "2", False)])})
    assert main(["because", *args]) == 2
    assert "expected" in capsys.readouterr().err


def test_an_item_that_gets_or_loses_its_full_form_is_noticed(monkeypatch):
    kept = {"verdict": "holds", "reason": "", "checks": [], "full_form": False}
    monkeypatch.setattr("ackclock.reproduce.verdicts.recorded", lambda: {"B-E1": kept})
    assert disagreement("B-E1", Outcome([stated("x", "1", True)])) is None
    outcome = Outcome([stated("x", "1", True)], full_form=True)
    assert disagreement("B-E1", outcome) == "B-E1 now has two forms, on record one"


def test_the_record_names_no_item_that_is_gone():
    assert set(recorded()) <= set(ITEMS)


def test_a_verdict_that_changes_either_way_is_noticed(monkeypatch):
    good, bad = (Outcome([stated("x", "1", holds)]) for holds in (True, False))
    entry = {"verdict": "holds", "reason": "", "checks": []}
    monkeypatch.setattr("ackclock.reproduce.verdicts.recorded", lambda: {"B-E1": entry})
    assert disagreement("B-E1", good) is None
    assert "now falls short" in disagreement("B-E1", bad)
    assert "no verdict on record" in disagreement("B-E2", good)
    entry["verdict"] = "falls short"
    assert "now holds" in disagreement("B-E1", good)
    assert "no reason" in disagreement("B-E1", bad)
    entry["reason"] = "The load is too low."
    assert disagreement("B-E1", bad) is None


def test_the_record_of_full_forms_names_no_item_that_is_gone():
    assert set(full.recorded()) <= set(ITEMS)


def test_every_full_form_on_record_has_a_date():
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", entry["date"]) for entry in full.recorded().values())


def test_a_full_form_is_described_with_its_time_and_results(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "file", lambda paper, name: tmp_path / f"{paper.name}-{name}.json")
    assert full.sentence("B-F1") == ""
    assert full.main(["B-F1"]) == 0
    entry = full.recorded()["B-F1"]
    assert entry["verdict"] == "holds"
    assert {c.name: c.got for c in ITEMS["B-F1"].run().checks} == entry["got"]
    assert full.sentence("B-F1").startswith(f"`--full` took {entry['cpu']} s of processor time")
    assert entry["build"] == engine()
    assert full.sentence("B-F1").endswith(f"Run of build {engine()}, {entry['date']}.")
    assert any("`--full` took" in part for part in pages.declared(ITEMS["B-F1"]))
