"""Which items hold at the paper's own size, and how they are counted."""

from __future__ import annotations

import pytest

from ackclock.reproduce import counted, full
from ackclock.reproduce.papers import PAPERS
from ackclock.reproduce.verdicts import recorded

REGISTER = {"jacobson88": 81, "mathis97": 82, "eifel2000": 59, "interactive2007": 54, "backoff2008": 61}
"""Ids of each register."""


def entry(verdict: str = "holds", full_form: bool = True) -> dict:
    return {"verdict": verdict, "full_form": full_form}


def test_the_full_form_decides_where_it_is_on_record(monkeypatch):
    monkeypatch.setattr(full, "recorded", lambda: {"J-F1": {"verdict": "falls short"}})
    assert counted.decided("J-F1", entry("holds")) == ("falls short", counted.FULL)


def test_the_quick_form_decides_only_where_it_is_the_only_one(monkeypatch):
    monkeypatch.setattr(full, "recorded", dict)
    assert counted.decided("J-F1", entry("holds", full_form=False)) == ("holds", counted.ONLY)
    assert counted.decided("J-F1", entry("holds")) == (None, counted.QUICK)
    # A record that does not say is not taken for one of the paper's size.
    assert counted.decided("J-F1", {"verdict": "holds"}) == (None, counted.QUICK)


def test_rules_closed_forms_context_questions_and_further_questions_are_apart():
    groups = {"J-F8": counted.EXPERIMENTS, "J-N1": counted.EXPERIMENTS, "M-T1a": counted.EXPERIMENTS}
    groups |= {"J-X1": counted.EXPERIMENTS, "J-E1": counted.EQUATIONS, "J-A1": counted.RULES}
    groups |= {
        "J-U1": counted.RULES,
        "J-N5": counted.CONTEXT,
        "B-X11": counted.CONTEXT,
        "B-S1": counted.BEYOND,
    }
    assert {id: counted.group(id) for id in groups} == groups
    assert counted.group("J-X19", ["question", "missing"]) == counted.QUESTIONS


@pytest.mark.parametrize("paper", REGISTER)
def test_the_counts_cover_every_id_of_the_register(paper):
    counts = counted.count(PAPERS[paper], recorded())
    assert sum(c.of for name, c in counts.items() if name != counted.BEYOND) == REGISTER[paper]


def test_all_experiments_questions_and_context_of_the_register_are_185():
    every = [counted.count(p, recorded()) for p in PAPERS.values() if p.name in REGISTER]
    named = (counted.EXPERIMENTS, counted.QUESTIONS, counted.CONTEXT)
    assert [sum(c[name].of for c in every if name in c) for name in named] == [172, 10, 3]


def test_context_is_not_counted_as_holding():
    counts = counted.count(PAPERS["jacobson88"], recorded())[counted.CONTEXT]
    assert (counts.of, counts.holds, counts.quick) == (1, 0, 0)


def test_an_item_without_a_record_is_missing():
    counts = counted.count(PAPERS["jacobson88"], {})
    assert counts[counted.EXPERIMENTS].missing == counts[counted.EXPERIMENTS].of


def test_a_list_begins_with_how_many_hold_at_the_papers_size(ackclock):
    done = ackclock("reproduce", "eifel2000", "--list")
    counts = counted.count(PAPERS["eifel2000"], recorded())
    assert done.out.startswith(f"eifel2000: {counted.sentence(counts)}\n")
    rows = {r["id"]: r for r in ackclock("reproduce", "all", "--list", "--json").json}
    assert rows["J-N5"]["holds"] is None
    assert rows["B-F9a"]["holds"] is (full.recorded()["B-F9a"]["verdict"] == "holds")
    assert rows["B-F9a"]["decides"] == counted.FULL
