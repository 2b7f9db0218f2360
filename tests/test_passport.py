"""The passport of a congestion controller: its criteria, its verdicts, its page and its errors."""

import types

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ackclock.passport import CRITERIA, Answer, Found, Subject, passport
from ackclock.passport.criteria import GROUPS
from ackclock.passport.criterion import FORMATS, HARMFUL, NOTE, OK, at_least, at_most
from ackclock.passport.measure import jain, lost_of, share_of, smallest_share
from ackclock.passport.page import WIDTH, page
from ackclock.passport.subject import split
from ackclock.passport.suite import FULL, QUICK, judged

SECTIONS = {
    *("5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5"),
    *("5.2", "5.2.1", "5.2.2", "5.2.3"),
    *("6.1", "6.2", "6.3", "6.4"),
    *("7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "7.9", "7.10", "7.11"),
}
"""Those of RFC 9743 that have criteria or scenarios."""
FEW = ("backoff", "ecn", "shallow-buffer")


def run_with(goodput, stack="tested", **columns):
    """A run with flows of these goodputs (Mbit/s) over a bottleneck of 10 Mbit/s."""
    n = len(goodput)
    flows = {
        "stack": [stack] * n if isinstance(stack, str) else stack,
        "group": [stack] * n if isinstance(stack, str) else stack,
        "protocol": ["tcp"] * n,
        "size": pa.array([None] * n, pa.uint64()),
        "goodput": pa.array([None if g is None else 1e6 * g for g in goodput], pa.float64()),
        **columns,
    }
    links = {"name": ["bottleneck", "bottleneck.back"], "rate": [1e7, 1e7]}
    return types.SimpleNamespace(flows=pa.table(flows), links=pa.table(links))


@pytest.mark.parametrize(
    ("goodput", "index", "smallest"),
    [
        ([2, 2, 2, 2], 1.0, 1.0),
        ([4, 0, 0, 0], 0.25, 0.0),
        ([3, 1], 16 / 20, 0.5),
        ([None, None], 0.0, 0.0),
    ],
)
def test_fairness(goodput, index, smallest):
    # Jain, Chiu & Hawe 1984: (sum x)^2 / (n sum x^2).
    assert jain(run_with(goodput)) == pytest.approx(index)
    assert smallest_share(run_with(goodput)) == pytest.approx(smallest)


def test_a_share_is_of_the_capacity_for_payload():
    run = run_with([2.0, 5.0, 2.0], ["reno", "tested", "reno"])
    assert share_of("reno")(run) == pytest.approx(4.0 / (10 * 1460 / 1500 * 2 / 3))
    assert share_of("tested")(run) == pytest.approx(5.0 / (10 * 1460 / 1500 / 3))


def test_loss_of_a_stream_is_never_negative():
    def stream(sent, delivered):
        return run_with([1.0], "stream", bytes_sent=[sent], bytes_delivered=[delivered])

    assert lost_of("stream")(stream(1000, 900)) == pytest.approx(0.1)
    # What was under way when the measurement began arrives after it.
    assert lost_of("stream")(stream(1000, 1010)) == 0


def test_the_worse_of_the_standards_sets_the_bound():
    assert at_least(0.5).limit([0.8, 0.6]) == pytest.approx(0.3)
    assert at_most(1.5).limit([2.0, 4.0]) == pytest.approx(6.0)
    assert at_most(1.5, enough=8.0).limit([2.0, 4.0]) == 8.0
    assert at_least(0.5, enough=0.2).limit([0.8, 0.6]) == 0.2
    assert at_least(0.5).room(0.15, 0.3) == pytest.approx(0.5)
    assert at_most(1.5).room(12.0, 6.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("values", "limits", "settled"),
    [
        # Student's t for 3 seeds is 4.303: the half width for differences 0.1, 0.2, 0.3 is 0.248.
        ([0.6, 0.7, 0.8], [0.5, 0.5, 0.5], False),
        ([0.7, 0.8, 0.9], [0.5, 0.5, 0.5], True),
        ([0.2, 0.1, 0.0], [0.5, 0.5, 0.5], True),
        # Pairs: what the seeds do to both is no chance.
        ([0.6, 0.7, 0.8], [0.5, 0.6, 0.7], True),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], True),
    ],
)
def test_a_verdict_is_settled_where_its_interval_is_on_one_side(values, limits, settled):
    criterion = next(c for c in CRITERIA if c.id == "utilisation")
    standards = {"reno": np.array(limits) / criterion.bound.margin, "cubic": np.full(3, 10.0)}
    numbers = {(criterion.id, "here", w): list(v) for w, v in ((None, np.array(values)), *standards.items())}
    found = judged(criterion, "here", numbers)
    assert found.interval == pytest.approx(
        4.303 * np.std(np.subtract(values, limits), ddof=1) / 3**0.5, abs=1e-3
    )
    assert found.settled == settled


def test_one_open_scene_leaves_ok_open_and_one_sure_scene_settles_harm():
    criterion = next(c for c in CRITERIA if c.id == "queue")
    sure, opened = Found("sure", 5.0, {}, 9.0, NOTE, 0.1), Found("open", 8.0, {}, 9.0, NOTE, 2.0)
    assert Answer(criterion, (sure,)).settled
    within = Answer(criterion, (sure, opened))
    assert not within.settled and within.worst is opened
    assert within.room == pytest.approx(9 / 8 - 1)
    outside = Found("outside", 20.0, {}, 9.0, HARMFUL, 1.0)
    assert Answer(criterion, (outside, opened)).settled
    assert Answer(criterion, (outside, opened)).room == pytest.approx(9 / 20 - 1)
    assert not Answer(criterion, (sure, Found("chance", 9.5, {}, 9.0, HARMFUL, 1.0))).settled


def test_the_page_says_how_near_a_bound_is():
    criterion = next(c for c in CRITERIA if c.id == "queue")
    answer = Answer(criterion, (Found("open", 8.5, {"reno": 8.0, "cubic": 8.0}, 9.0, OK, 2.0),))
    text = page(Subject.parse("reno"), [answer], QUICK)
    assert "ok?" in text
    assert "?: the 95 % interval of 3 seeds spans the bound; --full runs 10." in text
    assert "Within 10 %" in text and f"{criterion.title} (6 %)" in text
    assert "--full" not in page(Subject.parse("reno"), [answer], FULL)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "With other seeds hardly a verdict would change." in passport("reno", only=["backoff"]).text


def test_outside_its_bound_a_criterion_is_harmful_or_a_note():
    by_id = {c.id: c for c in CRITERIA}
    queue, used = by_id["queue"], by_id["utilisation"]
    assert [queue.verdict(x, 9.0) for x in (0.9, 8.0, 9.5)] == [OK, NOTE, HARMFUL]
    assert [used.verdict(x, 0.8) for x in (0.9, 0.7)] == [OK, NOTE]


def test_numbers_fit_their_column():
    shown = [FORMATS["packets"](x) for x in (0.4142, 12.0, 431.4, 9999.0, 15_045.0, 999_000.0)]
    assert shown == ["0.41 pkt", "12 pkt", "431 pkt", "9999 pkt", "15k pkt", "999k pkt"]
    assert max(map(len, shown)) <= 8


def test_the_table_of_criteria():
    assert len({c.id for c in CRITERIA}) == len(CRITERIA)
    for c in CRITERIA:
        assert c.section in SECTIONS, c.id
        assert len(c.title) <= 40, c.id
        assert len({s.where for s in c.scenes}) == len(c.scenes), c.id
        assert (c.missed != "") == (c.bound.aim is not None), c.id
    assert sum(len(group) for _, group in GROUPS) == len(CRITERIA)


@pytest.mark.parametrize(
    ("text", "stack", "parts"),
    [
        ("cubic", None, {"window": {"kind": "cubic"}}),
        (
            "cubic(c=0.2, beta_cubic=0.8)",
            "sack",
            {"window": {"kind": "cubic", "c": "0.2", "beta_cubic": "0.8"}},
        ),
        ("linux", None, {}),
        ("newreno+iw(4)", None, {}),
    ],
)
def test_what_a_window_may_be(text, stack, parts):
    subject = Subject.parse(text, stack)
    assert subject.parts == parts
    assert subject.stack()["preset"] == (text if not parts else stack or "rack+prr")
    # The standards have the same rest of the stack, or the default one beside a whole stack.
    assert subject.stack("reno")["preset"] == (stack or "rack+prr")
    assert subject.stack("reno")["window"] == "reno"


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ("cubic", "cubic", None),
        (" cubic (c=1, d=2) ", "cubic", "c=1, d=2"),
        ("ledbat++", "ledbat++", None),
        ("ledbat++(gain=2)", "ledbat++", "gain=2"),
        ("cubic(", "", None),
        ("cubic(c=1)(d=2)", "", None),
        ("", "", None),
    ],
)
def test_a_window_is_a_name_and_brackets(text, name, given):
    assert split(text) == (name, given)


def test_changes_apply_to_the_stack_under_test():
    subject = Subject.parse("cubic", changes={"window.c": "0.2", "slow_start": "hystart", "ecn": "true"})
    assert subject.stack()["window"] == {"kind": "cubic", "c": "0.2"}
    assert subject.stack()["slow_start"] == "hystart"
    assert "slow_start" not in subject.stack("reno")


def test_a_harmful_window_gets_another_verdict():
    def verdicts(window):
        found = passport(window, only=list(FEW))
        return {a.criterion.id: a.verdict for a in found.answers}, found.summary["answer"]

    good, answer = verdicts("reno")
    assert good == dict.fromkeys(FEW, OK)
    assert "harms others no more than Reno and CUBIC do" in answer
    # No reduction at a loss.
    bad, answer = verdicts("reno(decrease=1)")
    assert bad == {"backoff": OK, "ecn": HARMFUL, "shallow-buffer": HARMFUL}
    assert answer.startswith("reno(decrease=1) is harmful by 2 of 3 criteria")
    # Ten segments each round trip.
    bad, _ = verdicts("reno(increase_segs=10)")
    assert bad == {"backoff": OK, "ecn": HARMFUL, "shallow-buffer": HARMFUL}
    # No window at all does not back off either.
    assert passport("receiver-only", only=["backoff"]).harmful == ["backoff"]


def test_workers_make_no_difference():
    one, three = (passport("cubic", only=["ecn", "stream-loss"], workers=n) for n in (1, 3))
    assert one.table == three.table
    assert one.text == three.text


def test_a_second_run_shows_what_splitting_gains():
    # Without byte counting a window grows ten times as fast by split acks.
    found = passport("reno(byte_counting=false)", only=["split-acks"])
    assert found.harmful == ["split-acks"]
    answer = passport("reno", only=["split-acks"]).answers[0]
    assert all(0.8 < scene.value < 1.2 for scene in answer.scenes)


def test_new_worlds_tell_windows_apart():
    # A window that no loss reduces, behind a policer, in an active queue and where the rate falls.
    few = ["aqm-reno", "policer-loss", "policer-reno", "varying-rate-loss"]
    assert passport("reno(decrease=1)", only=few).harmful == few
    assert passport("reno", only=few).harmful == []


def test_the_command(ackclock, tmp_path):
    few = [word for name in FEW for word in ("--only", name)]
    done = ackclock("passport", "reno(increase_segs=20)", *few, "--out", "found", "--json")
    assert done.code == 1, done.err
    assert done.json["harmful"] and done.json["seeds"] == 3
    row = next(c for c in done.json["criteria"] if c["id"] == "ecn")
    assert row["rfc9743"] == "7.1" and row["value"] < row["bound"] and row["verdict"] == "harmful"
    page = (tmp_path / "found/passport.txt").read_text()
    assert page.startswith("reno(increase_segs=20) is harmful by")
    assert max(map(len, page.splitlines())) <= WIDTH
    table = pq.read_table(tmp_path / "found/criteria.parquet")
    assert set(table["criterion"].to_pylist()) == set(FEW)
    assert np.isfinite(table["value"].to_numpy()).all()

    done = ackclock("passport", "reno", "--only", "backoff", "--out", "found")
    assert done.code == 0 and done.out.startswith("reno harms others no more")
    assert (tmp_path / "found/passport.txt").read_text() == done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "`nosuch` is not a known window; expected one of"),
        (["cubic(zz=1)"], "`zz` is not a parameter of `cubic`"),
        (["cubic(c=x)"], "`c` is `x`"),
        (["cubic(c)"], "`c` has no value"),
        (["cubic("], "is not a window such as"),
        (["linux", "--stack", "sack"], "is a whole stack"),
        (["cubic", "--stack", "linu"], "did you mean `linux`?"),
        (["cubic", "--set", "nonsense=1"], "`nonsense` is not a key of a stack"),
        (["cubic", "--set", "window.c.d=1"], "is not a parameter of `cubic`"),
        (["cubic", "--only", "nosuch"], "`nosuch` is not a criterion"),
        (["cubic", "--out", "/proc/found"], "cannot be written to"),
        ([], "no WINDOW is given"),
    ],
)
def test_wrong_input_is_one_sentence(ackclock, arguments, words):
    done = ackclock("passport", *arguments)
    assert done.code == 2
    assert done.is_one_sentence()
    assert words in done.err


def test_the_criteria_are_listed(ackclock):
    listed = ackclock("passport", "--list", "--json").json
    assert [row["id"] for row in listed] == [c.id for c in CRITERIA]


@pytest.mark.slow
@pytest.mark.parametrize("window", ["reno", "cubic", "linux"])
def test_what_is_deployed_harms_nobody(ackclock, window):
    done = ackclock("passport", window, timeout=600)
    assert done.code == 0, done.out
    lines = done.out.splitlines()
    assert len(lines) <= 80 and max(map(len, lines)) <= WIDTH
    assert sum(f" {verdict}" in line[60:] for line in lines for verdict in ("ok", "note")) >= len(CRITERIA)
