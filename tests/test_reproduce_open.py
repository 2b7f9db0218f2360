"""The verdict "open", where the interval over the seeds contains the limit: checks, records, counts."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock.reproduce import chance, counted, full, pages, record, verdicts
from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio
from ackclock.reproduce.item import ITEMS, Check, Item, Outcome, Setting, at_least, exactly
from ackclock.reproduce.papers import PAPERS

ID = "J-X13"
"""An item whose place in the records the example takes."""
SEEDS = np.arange(10)
AROUND = 1 + 0.01 * np.where(SEEDS % 2, 1, -1)
"""Ten numbers about 1, whose interval contains 1."""


def undecided(name: str = "ratio") -> Check:
    return ratio(name, AROUND, np.ones(10), least=1.0)


def test_from_ten_seeds_on_the_interval_decides_and_with_fewer_the_number():
    assert undecided().verdict == "open"
    assert ratio("x", AROUND[:9], np.ones(9), least=1.0).verdict == "falls short"
    assert ratio("x", AROUND + 0.1, np.ones(10), least=1.0).verdict == "holds"
    assert ratio("x", AROUND - 0.1, np.ones(10), least=1.0).verdict == "falls short"
    # A mean on the right side of the limit is open as well.
    assert ratio("x", AROUND + 0.001, np.ones(10), least=1.0).verdict == "open"
    assert ratio("x", AROUND, np.ones(10), least=0.9, most=1.1).verdict == "holds"
    assert chance.over_seeds("x", "1", np.nan, AROUND, least=1.0).verdict == "falls short"


@pytest.mark.parametrize(
    ("steps", "verdict"), [((0.1, 0.1), "holds"), ((0.1, -0.1), "falls short"), ((0.1, 0.0), "open")]
)
def test_each_step_of_a_trend_has_its_interval(monkeypatch, steps, verdict):
    means = [np.ones(10), AROUND + steps[0], AROUND[::-1] + sum(steps)]
    m = deployment.Mixes("TCP", "TCP*(inf)", dict.fromkeys((0.0, 0.5, 0.9), Comparison(None, None)))
    monkeypatch.setattr(m, "mean", lambda stack, share: means[(0.0, 0.5, 0.9).index(share)], raising=False)
    assert deployment.trend(m).verdict == verdict


def test_an_outcome_is_open_where_a_check_is_and_none_falls_short():
    holds, short = exactly("a", 1, 1), exactly("b", 1, 2)
    assert Outcome([holds]).verdict == "holds"
    assert Outcome([holds, undecided()]).verdict == "open"
    assert Outcome([short, undecided()]).verdict == "falls short"
    assert not Outcome([undecided()]).holds
    assert undecided().row()["open"] is True
    assert "open" not in holds.row()


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """The records in a folder of their own, and an item that gives what `give` was told."""
    monkeypatch.setattr(record, "file", lambda paper, name: tmp_path / f"{paper.name}-{name}.json")
    given: list[Outcome] = []

    def reproduce(setting: Setting) -> Outcome:
        assert setting.full in (True, False)
        return given[0]

    monkeypatch.setitem(ITEMS, ID, Item(ID, "jacobson88", "SIM", "An example", {}, reproduce))
    return given


def test_the_full_form_records_what_is_open_and_pages_and_counts_have_it_apart(recorded, monkeypatch):
    recorded[:] = [Outcome([exactly("a", 1, 1), undecided()])]
    assert full.main([ID]) == 0
    entry = full.recorded()[ID]
    assert entry["verdict"] == "open"
    assert "is open." in full.sentence(ID)
    verdicts.keep({ID: ITEMS[ID].run()})
    quick = verdicts.recorded()[ID]
    assert (quick["verdict"], counted.decided(ID, quick)[0]) == ("open", "open")
    assert verdicts.disagreement(ID, recorded[0]) is None
    assert verdicts.disagreement(ID, Outcome([exactly("a", 1, 1)])) == f"{ID} now holds, on record it is open"
    counts = counted.count(PAPERS["jacobson88"], {ID: quick})[counted.EXPERIMENTS]
    assert (counts.holds, counts.short, counts.open) == (0, 0, 1)
    assert "fall short: 0, open: 1," in counted.sentence({counted.EXPERIMENTS: counts})
    text = pages.section(ITEMS[ID], quick)
    assert "**Open at the paper's size.**" in text and "| **open** | ratio |" in text
    verdicts.explain(ID, "Few large flows decide.")
    # The claims of a paper need the records of all its items.
    monkeypatch.setattr(pages, "claimed", lambda paper, entries: "")
    head = pages.head(PAPERS["jacobson88"], {ID: verdicts.recorded()[ID]})
    assert "that are open" in head and "that fall short:" not in head


def test_several_sets_of_seeds_decide_a_full_form_by_their_interval(recorded, monkeypatch):
    values = iter(AROUND)

    def reproduce(setting: Setting) -> Outcome:
        assert setting.full
        setting.variation.seeds[:] = [1, 1]
        return Outcome([at_least("a", float(next(values)), 1.0, "")])

    monkeypatch.setitem(ITEMS, ID, Item(ID, "jacobson88", "SIM", "An example", {}, reproduce))
    assert full.main(["--seeds", "10", ID]) == 0
    entry = full.recorded()[ID]
    assert (entry["verdict"], entry["repetitions"]) == ("open", 10)
    assert entry["got"]["a"].endswith("(5 of 10)")
    assert "over 10 sets of seeds" in full.sentence(ID)
    assert full.main(["--seeds", "none", ID]) == full.main([ID, "--seeds", "0"]) == 2
