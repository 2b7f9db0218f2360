"""Every id of the register can be run, and the references of an id exist."""

import pytest

from ackclock.reproduce import ITEMS
from ackclock.reproduce.item import KINDS, Item, Outcome
from ackclock.reproduce.papers import PAPERS
from ackclock.reproduce.pointer import Reference, missing_test

# How many ids of each letter the registers have whose numbers have neither gaps nor letters.
REGISTER = {
    "J": {"A": 17, "E": 20, "F": 12, "N": 9, "X": 21, "U": 2},
    "E": {"A": 11, "E": 18, "F": 14, "X": 15, "U": 1},
}

# The ids of mathis97, whose numbers have gaps and letters.
MATHIS = {
    *(f"M-A{n}" for n in range(1, 15)),
    *(f"M-U{n}" for n in range(1, 7)),
    *(f"M-E{n}" for n in (1, 2, 3, 4, 5, 6, 12, 13, 14, 15, 16, 17)),
    *(f"M-T1{row}" for row in "abcd"),
    *("M-T2", "M-T3"),
    *(f"M-T4{row}" for row in "abcdefghij"),
    *(f"M-F{n}" for n in range(1, 16)),
    *(f"M-X{n}" for n in range(1, 20)),
}

# The ids of backoff2008, some with letters.
BACKOFF = {
    *(f"B-A{n}" for n in range(1, 12)),
    *(f"B-U{n}" for n in range(1, 4)),
    *(f"B-E{n}" for n in range(1, 10)),
    *(f"B-F{n}" for n in (1, 3, 4, 7, 8, 10, 11)),
    *(f"B-F{n}{part}" for n in (2, 9, 12) for part in "abc"),
    *(f"B-F{n}{part}" for n in (5, 6) for part in "ab"),
    "B-T1",
    *(f"B-X{n}" for n in range(1, 18)),
}

# The ids of interactive2007.
INTERACTIVE = {
    *(f"I-A{n}" for n in range(1, 11)),
    *(f"I-E{n}" for n in range(1, 17)),
    *(f"I-F{n}" for n in (1, 2, 3, 4, 6, 7, 10, 11)),
    *(f"I-F{n}{part}" for n in (5, 8, 9, 12) for part in "ab"),
    *(f"I-X{n}" for n in range(1, 11)),
    *("I-U1", "I-U2"),
}

# What cannot be run yet: nothing.
MISSING: set[str] = set()

# Ids beyond the register: the questions that sceptics put to backoff2008, how much depends on what it leaves
# unstated, and what real kernels do.
BEYOND = {*(f"B-S{n}" for n in range(1, 7)), "B-S9", "B-S10", "I-S1", "I-S2"}


def ids(paper: str) -> set[str]:
    counts = REGISTER[paper].items()
    return {f"{paper}-{letter}{n}" for letter, count in counts for n in range(1, count + 1)}


@pytest.mark.parametrize(
    ("name", "wanted", "count"),
    [
        ("jacobson88", ids("J"), 81),
        ("mathis97", MATHIS, 82),
        ("eifel2000", ids("E"), 59),
        ("interactive2007", INTERACTIVE, 54),
        ("backoff2008", BACKOFF, 61),
    ],
)
def test_every_id_of_a_register_is_listed_and_can_be_run_or_is_known_to_be_missing(name, wanted, count):
    assert len(wanted) == count
    marked = PAPERS[name].ids()
    assert {id for id, marks in marked.items() if "beyond" not in marks} == wanted
    assert {id for id, marks in marked.items() if "missing" in marks} == wanted & MISSING
    assert {id for id in ITEMS if ITEMS[id].paper == name} - BEYOND == wanted - MISSING


def test_the_ids_beyond_the_register_are_listed():
    assert not BEYOND & (BACKOFF | MATHIS | INTERACTIVE)
    assert {id for p in PAPERS.values() for id, marks in p.ids().items() if "beyond" in marks} == BEYOND
    assert set(ITEMS) >= BEYOND
    assert {id for id in ITEMS if "-S" in id} == BEYOND
    assert all(ITEMS[id].title.endswith("?") for id in BEYOND)


def test_kinds_and_papers_are_known():
    for i in ITEMS.values():
        assert set(i.kind.split(", ")) <= set(KINDS), i
        assert PAPERS[i.paper].prefix == i.id.partition("-")[0], i


@pytest.mark.parametrize("id", [i.id for i in ITEMS.values() if i.points_at or i.tests])
def test_what_an_item_points_at_is_there(id):
    i = ITEMS[id]
    assert i.tests, "it has no tests"
    assert all(c.holds for c in i.pointers()), i.pointers()
    assert len(i.pointers()) == len(i.points_at) + 1


@pytest.mark.parametrize("id", [i.id for i in ITEMS.values() if i.kind in ("RULE", "TOOL")])
def test_a_rule_names_its_implementation_and_its_tests(id):
    assert ITEMS[id].tests
    assert ITEMS[id].run().holds, ITEMS[id].run().checks


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("estimator jacobsen88", "no estimator is called jacobsen88"),
        ("estimator rfc793(gamma=2)", "has no parameter gamma"),
        ("estimator rfc793(alpha=2)", "alpha"),
        ("window reno(initial_window=large)", "initial_window"),
        ("rate additive(alpha=0s)", "alpha"),
        ("option karn", "no option is called karn"),
        ("option rtt_sampling(never)", "rtt_sampling"),
        ("stack tahoe+fast", "fast"),
        ("fault loss(p=2)", "p"),
        ("command fly", "no command fly"),
        ("command model flight", "no command flight"),
        ("formula flight", "no formula"),
        ("item J-A99", "no item J-A99"),
    ],
)
def test_a_reference_to_nothing_is_noticed(text, says):
    assert says in (Reference.parse(text).problem(ITEMS) or "")


@pytest.mark.parametrize(
    "test",
    [
        "crates/ackclock-policy/src/backoff/nowhere.rs::multipliers_of_tcp_star",
        "crates/ackclock-policy/src/backoff/tests.rs::multipliers",
        # A function, but no test.
        "crates/ackclock-policy/src/backoff/tests.rs::star",
        "tests/test_register.py::ids",
        "tests/test_register.py::test_nothing",
    ],
)
def test_a_test_that_is_not_there_is_noticed(test):
    assert missing_test(test)


def test_conservation_is_checked_on_a_transfer_in_equilibrium():
    from ackclock.reproduce.jacobson88 import a1_conservation as a1

    assert all(c.holds for c in a1.equilibrium())


def test_an_item_whose_policy_or_test_is_gone_falls_short():
    gone = Item(
        "J-A2",
        "jacobson88",
        "RULE",
        "x",
        {},
        lambda _: Outcome([]),
        ("window jacobson88",),
        ("tests/test_register.py::test_gone",),
    )
    assert [c.holds for c in gone.run().checks] == [False, False]


def test_a_rule_prints_its_policy_and_its_tests(ackclock):
    done = ackclock("reproduce", "J-A6")
    assert done.code == 0, done
    assert "jacobson88-ticks" in done.out
    assert "golden_rows_when_the_rtt_rises" in done.out
    (reference, _) = ackclock("reproduce", "J-A6", "--json").json["points_at"]
    assert next(p for p in reference["params"] if p["name"] == "form")["here"] == "final"
