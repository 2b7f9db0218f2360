"""M-F9: where real packets are not allowed that is said, and its checks can fail."""

import pytest

from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import f9_treno as f9
from ackclock.reproduce.mathis97 import probes, x3_changed_path
from ackclock.reproduce.real import LEFT_OUT


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(f9, "SIGNALS", 20)
    monkeypatch.setattr(f9, "RUNS", 3)
    monkeypatch.setattr(f9, "SECONDS", 5.0)


def test_real_packets_that_are_not_allowed_are_left_out_and_not_passed(small, monkeypatch):
    monkeypatch.setattr(probes, "emulated", lambda runs: "a right is missing")
    outcome = f9.reproduce(Setting())
    assert not [c for c in outcome.checks if "real packets" in c.name]
    assert f"{LEFT_OUT}: a right is missing" in outcome.notes
    assert x3_changed_path.over_packets() == "a right is missing"


def test_what_was_injected_is_asked_for_over_packets(monkeypatch):
    asked = []
    monkeypatch.setattr(probes, "emulated", lambda runs: asked.extend(runs) or "enough")
    f9.over_packets(full=True)
    assert [run["settings"]["seconds"] for run in asked] == [f9.SECONDS] * 6
    assert ["periodic-loss" in run["path"] for run in asked] == [True] * 3 + [False] * 3


def test_its_checks_can_fail():
    good = {
        "world": "simulated",
        "loss": f9.EVEN,
        "injected": 0.01,
        "injected_rtt": 0.02,
        "p": 0.0105,
        "rtt": 0.021,
        "window": 8.0,
    }
    assert [c.holds for c in f9.judged(good)] == [True] * 3
    for i, wrong in enumerate(({"p": 0.0112}, {"rtt": 0.0223}, {"window": 7.1})):
        assert [c.holds for c in f9.judged({**good, **wrong})] == [j != i for j in range(3)]
