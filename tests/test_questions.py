"""The page of the open questions is written from what is on record."""

from ackclock.reproduce import questions
from ackclock.reproduce.papers import PAPERS

ASKED = [id for paper in PAPERS.values() for id in questions.questions(paper)]


def entry(answer):
    return {"answer": answer, "figures": []}


def test_every_open_question_of_the_registers_is_asked():
    assert {"I-X10", "B-X16", "B-X17"} <= set(ASKED)
    assert set(questions.SURPRISING) <= set(ASKED)


def test_answers_on_record_are_shown_once_and_the_others_are_named():
    record = {id: entry(f"It is so, says {id}.") for id in ("I-X10", "B-X16")}
    text = questions.page(record)
    assert all(text.count(f"It is so, says {id}.") == 1 for id in record)
    rest = [id for id in ASKED if id not in record]
    assert f"Not answered yet: {', '.join(rest)}." in text


def test_what_would_surprise_comes_first():
    text = questions.page({id: entry(f"Answer of {id}.") for id in ASKED if id in questions.SURPRISING})
    places = [text.index(f"Answer of {id}.") for id in questions.SURPRISING]
    assert places == sorted(places)
    assert text.index("What would surprise") < places[0]


def test_a_question_links_to_its_section():
    assert questions.link("B-X16").startswith("papers/backoff2008.md#b-x16-does-removal-harm")
