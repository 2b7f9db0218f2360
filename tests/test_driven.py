"""Rules of the papers are driven, so that a wrong policy falls short."""

from __future__ import annotations

import pytest

import ackclock as ac
from ackclock.reproduce import ITEMS, driven
from ackclock.reproduce.jacobson88 import rules as jacobson
from ackclock.reproduce.mathis97 import rules as mathis
from ackclock.reproduce.verdicts import recorded


def test_the_packets_that_were_named_are_lost_and_what_was_sent_is_read():
    found = driven.transfer(mathis.tcp("sack"), 80, lost=[20, 22])
    assert found.again == [19, 21]
    assert [s.number for s in found.sent if not s.again] == list(range(80))
    assert found.by_round()[:4] == [1, 2, 4, 8]
    copy = next(s for s in found.sent if s.again)
    assert found.duplicates(copy.time, 19) == 3
    outstanding, window, _ = found.cut()
    assert window == outstanding / 2
    assert found.flow["ca_events"] == 1


def failing(checks) -> list[str]:
    return [c.name for c in checks if not c.holds]


@pytest.mark.parametrize("change", [{"initial_segs": 2}, {"increase_segs": 2}, {"decrease": 0.7}])
def test_another_window_falls_short(monkeypatch, change):
    assert not failing(jacobson.slow_start() + jacobson.avoidance_alone() + mathis.avoidance())
    monkeypatch.setattr(jacobson, "ONE", {**jacobson.ONE, **change})
    monkeypatch.setattr(mathis, "ONE", {**mathis.ONE, **change})
    assert failing(jacobson.slow_start() + jacobson.avoidance_alone() + mathis.avoidance())


def test_another_recovery_falls_short(monkeypatch):
    other = {"reno": "newreno", "newreno": "reno", "sack": "newreno", "fack": "sack"}
    own = mathis.tcp

    def wrong(recovery, *rest, **more) -> ac.Stack:
        kind = recovery if isinstance(recovery, str) else recovery["kind"]
        return own(other.get(kind, kind), *rest, **more)

    monkeypatch.setattr(mathis, "tcp", wrong)
    for rule in (mathis.reno, mathis.sack, mathis.fack, mathis.lost_retransmission):
        assert failing(rule()), rule


@pytest.mark.parametrize("id", [i.id for i in ITEMS.values() if i.kind in ("RULE", "TOOL")])
def test_every_rule_is_driven(id):
    i = ITEMS[id]
    names = {*i.points_at, "tests of it"}
    assert any(c["name"] not in names for c in recorded()[id]["checks"]), "it checks only that names exist"
