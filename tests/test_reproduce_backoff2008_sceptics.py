"""The sceptics' questions (B-S1 to B-S6, B-S10): what they count, and that their checks can fall short."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ackclock.reproduce import ITEMS, pages
from ackclock.reproduce.backoff2008 import pairs as pairing
from ackclock.reproduce.backoff2008 import s1_route_change as s1
from ackclock.reproduce.backoff2008 import s2_recovery_time as s2
from ackclock.reproduce.backoff2008 import s4_legacy_harm as s4
from ackclock.reproduce.backoff2008 import s5_counter_case as s5
from ackclock.reproduce.backoff2008 import s6_choices as s6
from ackclock.reproduce.backoff2008 import s10_together as s10
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting
from ackclock.reproduce.verdicts import entry
from ackclock.sweep import plan


def flows(numbers, times, starts=None, sizes=None):
    """A table of flows as a comparison keeps it."""
    n = len(numbers)
    columns = {
        "flow": pa.array(numbers, pa.uint32()),
        "start": starts or [float(i) for i in numbers],
        "size": sizes or [1000] * n,
    }
    return pa.table({**columns, "response_time": pa.array(times, pa.float64())})


def test_flows_are_paired_by_number_where_both_worlds_have_them_finished():
    before, after = flows([0, 1, 2, 3], [1.0, 2.0, 4.0, 1.0]), flows([1, 2, 3, 5], [1.0, 4.1, None, 7.0])
    p = pairing.pairs([before], [after])
    assert p.before.tolist() == [2.0, 4.0]
    assert p.ratio == pytest.approx([0.5, 1.025])
    assert (p.faster, p.slower) == (0.5, 0.0)
    assert p.mean_ratio == pytest.approx(5.1 / 6)


@pytest.mark.parametrize("other", [{"starts": [0.5]}, {"sizes": [999]}])
def test_flows_that_are_not_the_same_are_not_paired(other):
    with pytest.raises(ValueError, match="differ in"):
        pairing.pairs([flows([0], [1.0])], [flows([0], [1.0], **other)])


def test_a_mix_has_the_flows_of_the_world_without_it():
    """Arrivals and sizes do not depend on who backs off, which B-S3 and B-S4 rest on."""
    from ackclock.reproduce.backoff2008 import comparison

    alone = testbed.scenario(
        testbed.dumbbell(10), testbed.web("I", 10), testbed.stacks("200ms", TCP), 2, repeat=1
    )
    mixed = testbed.scenario(
        testbed.dumbbell(10),
        testbed.web("I", 10),
        testbed.stacks("200ms", TCP, NONE),
        2,
        repeat=1,
        mix={TCP: 0.5, NONE: 0.5},
    )
    found = [comparison.run(s, Setting(), "x") for s in (alone, mixed)]
    kept, moved = (pairing.pairs(found[0].of(TCP), found[1].of(label)) for label in (TCP, NONE))
    assert kept.ratio.size + moved.ratio.size == found[0].flows.num_rows
    assert min(kept.ratio.size, moved.ratio.size) > 300


def test_flows_under_way_are_averaged_over_each_second():
    begins, ends = np.array([0.0, 0.5, 2.25]), np.array([1.5, 1.0, np.inf])
    assert s2.average(begins, ends, 4) == pytest.approx([1.5, 0.5, 0.75, 1.0])


def test_recovery_is_back_to_the_busiest_second_before():
    line = np.array(
        [9.0] * s2.SETTLED + [3.0] * (s2.BEGIN - s2.SETTLED) + [50.0] * 10 + [20.0, 4.0, 3.0, 8.0]
    )
    end = s2.BEGIN + 10
    assert s2.recovered(line, end) == 3.0
    assert s2.recovered(line[: end + 2], end) == 2.0, "not within what was watched"
    begins, ends = np.array([1.0, 2.0, 3.0, 50.0]), np.array([30.0, 45.0, 47.0, 90.0])
    assert s2.cleared(begins, ends, 40) == 7.0
    assert s2.newcomers(
        np.array([39.0, 41.0, 50.0, 51.0]), np.array([99.0, 43.0, 54.0, 99.0]), 40
    ) == pytest.approx(3.0)


def test_a_route_change_reaches_every_packet_to_the_clients():
    resolved = s1.scenario(s1.LONG, 0.5, Setting()).resolve()
    for words in (
        'kind = "detour"',
        'extra = "500ms"',
        f'from = "{s1.CHANGE}s"',
        "timestamps = true",
        "karn_backoff = true",
    ):
        assert words in resolved, words


def test_a_rule_that_costs_goodput_is_named():
    def row(rule, stack, goodput):
        return {
            "population": s1.LONG,
            "extra": 2.0,
            "rule": rule,
            "stack": stack,
            "goodput": goodput * 1e6,
            "spurious": 0.5,
        }

    rows = [
        row(rule, label, g)
        for rule, (tcp, none) in zip(s1.RULES, ((9, 9), (9, 2), (2, 2)), strict=True)
        for label, g in ((TCP, tcp), (NONE, none))
    ]
    checks = {
        rule: [Check("x", "", "", holds)] for rule, holds in zip(s1.RULES, (True, False, True), strict=True)
    }
    said = s1.answer(checks, rows)
    assert (
        "With timestamps removal does no harm: at worst 9 Mbit/s without backoff and 9 with it (100 "
        "endless transfers, 2 s longer)"
    ) in said
    assert "With Karn's rule removal does harm" in said
    assert "backoff itself does not help, as timestamps would" in said


def test_harm_that_does_not_grow_and_movers_that_lose_are_reported():
    def by(slowdown, adopters):
        cases = [
            (trace, old, new, share) for trace in s4.SECONDS for old, new in s4.STEPS for share in s4.SHARES
        ]
        return {case: {"slowdown": slowdown(case[-1]), "adopters": adopters} for case in cases}

    assert "Harm grows with the share that has moved, and those who move gain" in s4.answer(
        by(lambda share: 1 + share, 0.8)
    )
    assert "Harm does not grow with the share at every step, and those who move do not gain" in s4.answer(
        by(lambda share: 2 - share, 1.1)
    )


def test_a_collapse_is_reported_by_rule():
    def goodput(none):
        points = [(way, n, r) for way in s5.WAYS for n in s5.FLOWS for r in s5.RATIOS]
        return {
            (way, label, n, r): 0.9 if label == TCP else none(way, n, r)
            for way, n, r in points
            for label in (TCP, NONE)
        }

    checks = [Check("x", "", "", True)] * 5
    said = s5.answer(
        goodput(lambda way, n, r: 0.2 if way == s5.KARN and r <= 0.25 and n >= 640 else 0.9), checks
    )
    assert f"With {s5.KARN}, goodput collapses by the removal of backoff at 4 of 20 points" in said
    assert "at most 0.25 times the round-trip time and at least 640 flows" in said
    assert f"With {s5.STAMPS} it collapses nowhere." in said


def test_a_verdict_that_turns_with_a_choice_is_reported():
    h = s6.HEADLINES[0]
    assert s6.steady(h, np.full(len(s6.CHOICES), True)).holds
    assert s6.steady(h, np.full(len(s6.CHOICES), False)).holds
    held = np.array([c.name == "timestamps" for c in s6.CHOICES])
    assert s6.steady(h, held).got == f"holds under 1 of {held.size}; only with: timestamps"
    assert s6.steady(h, ~held).got == f"holds under {held.size - 1} of {held.size}; not with: timestamps"
    assert not s6.steady(h, held).holds
    every = np.vstack(
        [np.full(len(s6.CHOICES), True), np.full(len(s6.CHOICES), False), *[held] * (len(s6.HEADLINES) - 2)]
    )
    said = s6.answer(every)
    assert f"these checks hold: {h.id}, {h.words}." in said
    assert f"these checks fail: {s6.HEADLINES[1].id}" in said
    assert f"{s6.HEADLINES[2].words} (1)" in said


@pytest.mark.parametrize("choice", s6.CHOICES, ids=lambda c: c.name)
def test_every_choice_makes_scenarios(choice):
    for s in s6.scenarios(choice, full=False):
        assert s.resolve()


def test_choices_differ_in_one_thing():
    def resolved(name):
        return (
            s6.scenarios(next(c for c in s6.CHOICES if c.name == name), full=False)[0].resolve().splitlines()
        )

    base = resolved("as chosen")

    def changed(name):
        return [line.strip() for line in resolved(name) if line not in base]

    assert changed("as chosen") == []
    assert changed("drop-tail") and all(
        "drop-tail" in line or "limit" in line for line in changed("drop-tail")
    )
    assert set(changed("timestamps")) == {"timestamps = true"}
    assert set(changed("backoff kept until a sample")) == {"karn_backoff = true"}
    assert any("freebsd-syn" in line for line in changed("FreeBSD's SYNs for TCP"))
    assert {"syn_retries = 4", "syn_retries = 24"} <= set(changed("gives up as FreeBSD"))


def test_the_answers_of_a_page_stand_together():
    entries = {"B-S1": entry(Outcome([], answer="It is safe.")), "B-F1": entry(Outcome([]))}
    text = pages.together("## When is it safe", entries)
    assert f"[{ITEMS['B-S1'].title}](#{pages.anchor('B-S1')})** (B-S1): It is safe." in text
    assert "B-F1" not in text
    assert pages.together("", entries) == ""


def test_an_answer_is_printed(capsys):
    from ackclock.cli import reproduce

    shown = {
        "id": "B-S1",
        "paper": "x",
        "kind": "SIM",
        "title": "?",
        "checks": [],
        "points_at": [],
        "tests": [],
        "choices": {},
        "notes": [],
        "chance": None,
        "seeds": [1, 4],
        "set": {},
        "refused": {},
        "scenarios": [],
    }
    reproduce._show(
        {**shown, "answer": "It is safe.", "skipped": "", "figures": [], "data": [], "folder": "x"},
        asked=False,
    )
    assert "The answer: It is safe." in capsys.readouterr().out


def test_the_plan_of_the_choices_is_what_the_item_runs():
    """`scenarios/sweeps/backoff-choices.toml` and B-S10 are the same runs under the same names; the quick
    form is a part of them.
    """
    read = plan.read(Path(__file__).parents[1] / "scenarios" / "sweeps" / "backoff-choices.toml")
    cases = (read.cases(), s10.sweep(True).cases(), s10.sweep(False).cases())
    planned, full, quick = ({c.job.text: (c.values, c.seed) for c in mine} for mine in cases)
    assert len(planned) == 3 * 2 * 4 * 3 * s10.SEEDS
    assert planned == full
    assert len(quick) == 6
    assert quick.items() <= full.items()


def test_a_choice_flips_a_verdict_where_it_alone_differs():
    def row(offered, queue, gain, stack):
        tail = {TCP: gain, NONE: 1.0}[stack]
        axes = {"offered": offered, "overload": "20 s", "queue": queue, "reset": "any new ack"}
        return {**axes, "seed": 1, "stack": stack, "p99": tail, "mean": 1.0, "goodput": 1.0, "loss": 0.1}

    gains = {("10", "red"): 1.4, ("10", "tail"): 1.6, ("15", "red"): 1.3, ("15", "tail"): 1.4}
    found = s10.verdicts(
        s10.points(
            pa.Table.from_pylist(
                [row(*at, gain, stack) for at, gain in gains.items() for stack in (TCP, NONE)]
            )
        )
    )
    gain = next(v for v in found if v.headline.id == s10.GAIN)
    assert gain.held == [False, True, False, False]
    assert gain.flips == {"offered": (1, 2), "queue": (1, 2)}, "axes with one value cannot flip anything"
    assert not s10.steady(gain).holds
    assert "the queue in 1 of 2" in s10.described(gain)
    goodput = next(v for v in found if "goodput" in v.name)
    assert s10.steady(goodput).holds
    assert f"the same for {'; '.join(v.name for v in found if v is not gain)}. {gain.name} is" in s10.answer(
        found
    )
