"""I-A9: what the comparators do for a packet that is lost alone, and that the statements can fall short."""

import pytest

from ackclock.reproduce.interactive2007 import a9_comparators as a9
from ackclock.reproduce.interactive2007 import seen


def test_a_probe_finds_a_packet_that_was_lost_alone():
    found = {
        name: seen.read(a9.CASES[name].scenario(0.1, 1, 60.0).simulate(), a9.GROUP)
        for name in (a9.PLAIN, a9.TLP)
    }
    assert found[a9.TLP].mean < 0.7 * found[a9.PLAIN].mean
    assert found[a9.TLP].timeouts < 0.3 * found[a9.PLAIN].timeouts


def test_dummies_are_not_counted_as_packets():
    case = a9.CASES[a9.PADDED]
    every, own = (
        seen.read(case.scenario(0.02, 1, 50.0).simulate(), a9.GROUP, larger=larger)
        for larger in (0, a9.DUMMY)
    )
    assert every.own.size == pytest.approx(4 * own.own.size, rel=0.05)


def rows(**latency):
    names = {
        "plain": a9.PLAIN,
        "early": a9.EARLY,
        "tlp": a9.TLP,
        "padded": a9.PADDED,
        "two": a9.PADDED_TWO,
        "both": a9.PADDED_TLP,
        "copies": a9.COPIES,
    }
    return [
        {
            "case": names[k],
            "p": p,
            "seed": s,
            "latency": v * (1 + p),
            "timeouts": v,
            "bytes": 600.0,
            "mean": v,
            "p99": v,
        }
        for k, v in latency.items()
        for p in a9.LOSSES
        for s in (1, 2)
    ]


def test_a_comparator_that_does_nothing_is_reported():
    good = rows(plain=0.5, early=0.4, tlp=0.1, padded=0.2, two=0.15, both=0.1, copies=0.1)
    assert all(c.holds for c in a9.judged(good))
    bad = rows(plain=0.5, early=0.5, tlp=0.5, padded=0.5, two=0.5, both=0.5, copies=0.1)
    assert not any(c.holds for c in a9.judged(bad))


def test_the_answer_says_which_is_faster():
    said = a9.answer(rows(plain=0.5, tlp=0.1, padded=0.2, both=0.1, copies=0.1), rows(plain=0.5, tlp=0.4))
    assert "no slower than padding at every one of these losses" in said
    assert "20 % less time" in said
    said = a9.answer(rows(plain=0.5, tlp=0.3, padded=0.2, both=0.1, copies=0.1), rows(plain=0.5, tlp=0.4))
    assert "at none of these losses" in said
