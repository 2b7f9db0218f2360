"""The pages of the papers agree with the verdicts on record. Nothing is run here: `make papers` does that."""

import re

import pytest

from ackclock.plot import drawn, style
from ackclock.quantities import for_people
from ackclock.reproduce import ITEMS, counted, pages, real_form
from ackclock.reproduce.item import Check, Item, Outcome
from ackclock.reproduce.papers import PAPERS, order
from ackclock.reproduce.verdicts import FALLS_SHORT, HOLDS, entry, recorded

RECORD, REAL = recorded(), real_form.recorded()
CASES = [(i.paper, id, pages.section(i, RECORD[id])) for id, i in ITEMS.items() if id in RECORD]


def check_rows(text, kept):
    """The rows of checks are those on record."""
    rows = re.findall(r"(?m)^\| (yes|\*\*(?:no|open)\*\*) \| (.*) \| (.*) \| (.*) \|$", text)
    assert all(holds == "yes" for holds, *_ in rows) == (kept["verdict"] == HOLDS)
    shown = {name: (expected, got) for _, name, expected, got in rows}
    assert shown == {
        pages.cell(c["name"]): tuple(map(pages.cell, for_people(c["expected"], c["got"], c["holds"])))
        for c in kept["checks"]
    }


@pytest.mark.parametrize(("paper", "id", "text"), CASES, ids=[id for _, id, _ in CASES])
def test_a_section_says_what_is_on_record(paper, id, text):
    assert ITEMS[id].paper == paper
    kept = RECORD[id]
    assert pages.said(id, kept) in text, f"run `python -m ackclock.reproduce.pages {id}`"
    assert kept["reason"] in text
    own, _, real = text.partition("\n**For real: ")
    check_rows(own, kept)
    assert bool(real) == (id in REAL)
    if real:
        check_rows(real, REAL[id])
        assert real.startswith("holds" if REAL[id]["verdict"] == HOLDS else "falls short")
        assert REAL[id]["reason"] in real
    assert all(part in text for part in (f"## {id}: {ITEMS[id].title}\n", *pages.declared(ITEMS[id]))), (
        f"run `python -m ackclock.reproduce.pages {id}`"
    )
    for image in re.findall(r"\(images/([^)]+)\)", text):
        assert (pages.FOLDER / "images" / image).stat().st_size < 150_000


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_has_a_section(paper):
    missing = {i.id for i in ITEMS.values() if i.paper == paper} - set(pages.entries_of(PAPERS[paper]))
    assert not missing, f"run `python -m ackclock.reproduce.verdicts {' '.join(sorted(missing))}`"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_is_what_is_on_record(paper):
    stale = [id for id in pages.stale() if ITEMS[id].paper == paper]
    assert not stale, f"run `python -m ackclock.reproduce.pages {' '.join(stale)}`"
    written = pages.place(PAPERS[paper]).read_text(encoding="utf-8")
    assert written == pages.page(PAPERS[paper]), (
        "run `python -m ackclock.reproduce.pages` for one of its items"
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_the_images_of_a_page_draw_what_is_on_record(paper):
    older = {id: pages.older_images(id, entry) for id, entry in pages.entries_of(PAPERS[paper]).items()}
    named = [id for id, images in older.items() if images]
    assert not named, f"run `python -m ackclock.reproduce.pages {' '.join(named)}`"


def test_an_image_that_is_older_than_its_record_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "IMAGES", tmp_path)
    image = tmp_path / pages.image("B-F1", "x")

    def on_record(y):
        fig, axes = style.figure("Twice", "the same")
        axes.plot([0, 1, 2], [3, 1, y], label="line")
        return fig, entry(Outcome([], figures={"x": fig}))

    (fig, first), (_, second) = on_record(2), on_record(2.5)
    assert pages.older_images("B-F1", first) == [image.name]
    image.write_bytes(pages.png(fig))
    assert pages.older_images("B-F1", first) == []
    assert pages.older_images("B-F1", second) == [image.name]
    # One without a digest is not known to be that of its record.
    assert pages.older_images("B-F1", first | {"figures": {"x": ""}}) == [image.name]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_counts_its_items_and_links_to_those_that_fall_short(paper):
    page = (pages.FOLDER / f"{paper}.md").read_text(encoding="utf-8")
    ids = list(pages.entries_of(PAPERS[paper]))
    assert ids == sorted(ids, key=order)
    counts = counted.count(PAPERS[paper], RECORD)
    assert f"**{counted.sentence(counts)}**" in page
    verdicts = {id: {RECORD[id]["verdict"], counted.decided(id, RECORD[id])[0]} for id in ids}
    assert all(f"- [{id}](#{pages.anchor(id)})" in page for id in ids if FALLS_SHORT in verdicts[id])
    missing = [id for id in PAPERS[paper].ids() if id not in ITEMS]
    assert all(f"{id}" in page.partition("Not in the project yet: ")[2].partition("\n")[0] for id in missing)
    for target in re.findall(r"\]\((\.\./[^)#]+)\)", page):
        assert (pages.FOLDER / target).exists(), target


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_begins_with_what_the_paper_claims_and_what_holds_of_it(paper):
    page, claims = (pages.FOLDER / f"{paper}.md").read_text(encoding="utf-8"), PAPERS[paper].claims
    assert len(claims) >= 4
    assert page.split("\n\n")[2].startswith("| the paper claims | here |")
    assert page.index(claims[-1].words) < page.index("experiments hold") < page.index("that fall short")
    for claim in claims:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {claim.words} |"))
        for id in claim.ids:
            assert ITEMS[id].paper == paper
            before = row.partition(f"[{id}](#{pages.anchor(id)})")[0]
            verdict = counted.decided(id, RECORD[id])[0]
            said = re.split(r"; |\| ", before)[-1]
            assert said.startswith(verdict or f"{RECORD[id]['verdict']} in the quick form"), (id, said)


def test_no_figure_is_left_over():
    shown = {name for _, _, text in CASES for name in re.findall(r"\(images/([^)]+)\)", text)}
    assert {f.name for f in (pages.FOLDER / "images").glob("*.png")} == shown


def test_a_section_shows_checks_choices_and_what_it_points_at():
    i = Item(
        "J-A6",
        "jacobson88",
        "RULE",
        "x | y",
        {"start": "zero"},
        lambda _: Outcome([]),
        ("estimator rfc793(alpha=0.9)",),
        ("tests/t.py::test_x",),
    )
    text = pages.section(i, entry(Outcome([Check("a | b", "1", "2", False)], notes=["A note."])))
    for part in (
        "| **no** | a \\| b | 1 | 2 |",
        "<details><summary>Unstated in the paper, and chosen (1)</summary>\n\n| unstated | chosen |",
        "| start | zero |",
        "`estimator rfc793(alpha=0.9)`",
        "[`test_x`](../../tests/t.py)",
        "- A note.",
    ):
        assert part in text


def test_the_figures_of_a_page_are_the_same_bytes_each_time():
    def once() -> bytes:
        fig, axes = style.figure("Twice", "the same")
        axes.plot([0, 1, 2], [3, 1, 2], label="line")
        axes.legend()
        return pages.png(fig)

    assert once() == once()


def test_a_figure_has_the_same_digest_before_and_after_it_is_drawn():
    fig, axes = style.figure("Twice", "a line below the title that is far too long for the figure " * 3)
    axes.pcolormesh([[0.1, 0.2], [0.3, 0.4]])
    axes.scatter([0, 1], [1, 2], c=[0.5, 0.7])
    axes.plot([0, 1, 2], [3, 1, 2], label="line")
    axes.legend()
    before = drawn.digest(fig)
    pages.png(fig)
    assert drawn.digest(fig) == before
