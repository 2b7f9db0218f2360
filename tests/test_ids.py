"""Ids of the papers' items stand where a reader types them, and nowhere else that he reads first: not in help
texts, not in what policies say of themselves, not in figures.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import ackclock as ac
from ackclock import ids
from ackclock.cli import command
from ackclock.plot import style
from ackclock.policy import declarations, modifiers, options, presets
from ackclock.reproduce import ITEMS, PAPERS
from figures import problems


def helps(
    of: click.Command, path: tuple[str, ...], parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Every command with its help, as `ackclock ... --help` prints it."""
    context = click.Context(of, info_name=path[-1], parent=parent)
    yield " ".join(path), of.get_help(context)
    if isinstance(of, click.Group):
        for name in of.list_commands(context):
            below = of.get_command(context, name)
            assert below is not None
            yield from helps(below, (*path, name), context)


HELPS = dict(helps(command, ("ackclock",)))


@pytest.mark.parametrize("name", HELPS)
def test_a_help_text_names_no_item_and_no_register(name):
    # What a reader types stays.
    text = re.sub(r"ackclock reproduce \S+", "", HELPS[name])
    assert not ids.named(text)
    assert not re.search(r"\bregister\b", text)


@pytest.mark.parametrize("name", HELPS)
def test_a_help_text_fits_a_terminal_of_80_columns(name):
    # What is typed is not folded.
    assert not [line for line in HELPS[name].splitlines() if len(line) > 80 and "ackclock" not in line]


def test_help_texts_are_found():
    assert {"ackclock run", "ackclock model mathis", "ackclock model eifel", "ackclock completion"} <= set(
        HELPS
    )


def test_what_policies_say_of_themselves_names_no_item():
    params = [p for d in declarations() for p in d.params] + list(options())
    said = [p.about for p in params] + [m.about for m in modifiers()]
    said += [d.about for d in (*declarations(), *presets())]
    assert not [text for text in said if ids.named(text)]


def test_the_sources_of_policies_have_ids_in_brackets_alone():
    sources = [d.source for d in (*declarations(), *presets())]
    assert any(ids.named(source) for source in sources)
    assert not [source for source in sources if ids.named(ids.without(source))]
    known = {*ITEMS, *(id for paper in PAPERS.values() for id in paper.ids())}
    assert {id for source in sources for id in ids.named(source)} <= known


def test_help_of_a_class_names_the_paper_and_no_item():
    text = ac.estimator.Eifel.__doc__
    assert "Source: Ludwig & Sklower 2000." in text
    assert not ids.named(text)


def test_policies_name_the_paper_and_the_command_that_shows_its_items(ackclock):
    out = ackclock("policies", "rfc793").out
    assert "Source: Jacobson & Karels 1988\nIn the papers: ackclock reproduce J-A16\n" in out


def test_ids_are_known_by_their_form():
    assert ids.named("equation (3), M-E3 and B-F12a; TCP-SF, RFC-1 and M-U1") == ["M-E3", "B-F12a", "M-U1"]
    assert ids.without("Eifel (E-A7, E-E14..E16); RFC 6298 (2011)") == "Eifel; RFC 6298 (2011)"
    assert all(ids.named(id) == [id] for id in ITEMS)


ROOT = Path(__file__).parents[1]
# Pages that say what an id is, or are history; and what other pages are made of.
OTHER = ("docs/reproductions.md", "docs/history.md")


def guides() -> list[Path]:
    """The pages that people read as files, on GitHub."""
    folders = ("docs", "scenarios", "examples", "fuzz", "bench", "crates", ".github")
    found = [*ROOT.glob("*.md"), *(file for folder in folders for file in (ROOT / folder).rglob("*.md"))]
    named = {file.relative_to(ROOT).as_posix(): file for file in found}
    return [
        file
        for name, file in sorted(named.items())
        if name not in OTHER and not name.endswith(".in.md") and "target" not in file.parts
    ]


@pytest.mark.parametrize("page", guides(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_an_id_in_a_guide_is_a_link(page):
    bare = []
    ids.linked(page.read_text(encoding="utf-8"), lambda id: bare.append(id) if id in ITEMS else None)
    assert not bare, "`ackclock.ids.linked` makes links of them"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as M-U1 has it (E-E1..E4)", "as [M-U1](list#m-u1) has it ([E-E1](list#e-e1)..E4)"),
        ("# M-U1: a\n\nM-U1", "# M-U1: a\n\n[M-U1](list#m-u1)"),
        ("| M-U1 |", "| [M-U1](list#m-u1) |"),
        ("`reproduce M-U1` and\n\n    reproduce M-U1", None),
        ("```\nM-U1\n```", None),
        ("[as M-U1 has it](x.md) ![M-U1](M-U1.png) <a id='M-U1'>", None),
        ("M-U99, RFC-1", None),
    ],
)
def test_ids_in_markdown_become_links(text, expected):
    def to(id):
        return f"list#{id.lower()}" if id in ITEMS else None

    assert ids.linked(text, to) == (expected or text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("as in M-U1", "an id in"),
        ("as in the register", "a register in"),
        ("SACK DA", "`DA` in"),
        ("p: CA events per packet", "`CA events` in"),
        ("TCP, S0-C0", "`S0-C0` in"),
        ("word " * 20, "a paragraph in the legend"),
    ],
)
def test_what_is_wrong_with_a_legend_is_found(text, fault):
    fig, axes = style.figure("Title", "one line")
    axes.plot([1, 2], [1, 2], label=text)
    axes.legend()
    assert any(p.startswith(fault) for p in problems(fig))


def test_labels_of_axes_begin_alike():
    fig, axes = style.figure("Title")
    axes.set(xlabel="Time (s)", ylabel="Jain's index")
    assert problems(fig) == ["a capital in the label `Time (s)`"]
    axes.set(xlabel="RTT (s)", ylabel="time (s)")
    assert not problems(fig)


def test_a_long_title_ends_within_its_figure():
    fig, axes = style.figure(
        "What removing backoff does to response times " * 3, "how it was run, in words " * 9
    )
    axes.plot([1, 2], [0.1, 0.3])
    assert not problems(fig, drawn=True)


def test_numbers_at_a_logarithmic_axis_are_written_out_where_few_decades_are_shown():
    fig, axes = style.figure("Title")
    axes.plot([1, 2], [0.1, 0.45])
    axes.set_yscale("log")
    fig.savefig("/dev/null", format="png")
    shown = [t.get_text() for t in axes.get_yticklabels(which="both")]
    assert {"0.1", "0.2", "0.4"} <= set(shown)
    axes.set_ylim(1e-4, 1)
    fig.savefig("/dev/null", format="png")
    assert any("10^{-2}" in t.get_text() for t in axes.get_yticklabels())


def test_titles_of_scenarios_name_no_item():
    # They are below the titles of figures.
    files = sorted((Path(__file__).parents[1] / "scenarios").rglob("*.toml"))
    titles = {f.name: line for f in files for line in f.read_text().splitlines() if line.startswith("title")}
    assert titles
    assert not {name: title for name, title in titles.items() if ids.named(title)}
