"""Real forms: declared beside their items, skipped where the system does not permit them, shown on pages."""

from dataclasses import replace

import pytest

from ackclock._core import InputError, MissingRightError, VoidRunError
from ackclock.cli import reproduce
from ackclock.reproduce import pages, real_form, real_record
from ackclock.reproduce.item import ITEMS, Outcome, Setting, at_most
from ackclock.reproduce.saved import save
from ackclock.reproduce.verdicts import entry


def test_a_form_belongs_to_an_item_and_counts_nowhere():
    assert real_form.FORMS
    for id, form in real_form.FORMS.items():
        assert id in ITEMS
        assert form.paper == ITEMS[id].paper
        assert form.id not in ITEMS


def test_an_item_without_a_form_is_refused():
    with pytest.raises(InputError, match="I-E1 has no form on the kernel"):
        real_form.forms([ITEMS["I-E1"]])
    assert [f.id for f in real_form.forms([ITEMS["I-E1"], ITEMS["B-F2a"]])] == ["B-F2a real"]


@pytest.mark.parametrize("error", [MissingRightError("no namespaces"), VoidRunError("too busy")])
def test_a_form_that_cannot_run_is_skipped(error):
    def fails(setting):
        raise error

    outcome = real_form.guarded(fails)(Setting())
    assert str(error) in outcome.skipped
    assert not outcome.checks


def test_a_form_on_record_is_part_of_its_items_section(monkeypatch):
    outcome = Outcome([at_most("ratio", 0.9, 1.0, "at most")], notes=["kernel so and so"])
    made = entry(outcome) | {"date": "2026-01-02", "wall": 80, "full": False}
    monkeypatch.setattr(real_form, "recorded", lambda: {"B-F2a": made})
    text = pages.section(ITEMS["B-F2a"], entry(outcome))
    assert "**For real: holds.**" in text
    assert "| yes | ratio | at most 1 | 0.9 |" in text
    assert real_form.section("B-F2b") == ""


def test_the_record_of_forms_says_what_may_be_named_where_nothing_is(capsys):
    assert real_record.main([]) == real_record.main(["--full"]) == 2
    said = capsys.readouterr().err
    assert "name the items" in said and all(id in said for id in real_form.FORMS)


def test_a_skipped_form_says_so_once(capsys, monkeypatch, tmp_path):
    def fails(setting):
        raise MissingRightError("no namespaces")

    form = replace(real_form.FORMS["B-F2a"], function=real_form.guarded(fails))
    result = save(form, form.run(), Setting(), 0.0, tmp_path)
    reproduce._show(result, asked=False)
    assert capsys.readouterr().out.lower().count("skipped") == 1
