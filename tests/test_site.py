"""The pages for people: their commands run, and their links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted((DOCS / "start").glob("*.md")), DOCS / "howto.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save (?:this |it )?as\s+`([\w.-]+)`")
# What it is when a page shows a file without a name.
NAMES = {"csv": "mine.csv"}


def steps(page: Path) -> list[tuple[str, str]]:
    """What a reader does, in order: saves a file, or types a command."""
    text, found = page.read_text(encoding="utf-8"), []
    for block in BLOCK.finditer(text):
        kind, body = block.groups()
        named = SAVED.findall(text[: block.start()][-200:])
        if kind == "console":
            found += [("$", line[2:]) for line in body.splitlines() if line.startswith("$ ")]
        elif named or kind in NAMES:
            found.append((named[-1] if named else NAMES[kind], body))
        elif kind == "python":
            found.append(("python", body))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    # Nothing of the repository is at hand: an installed package is enough.
    command = shutil.which("ackclock", path=str(Path(sys.executable).parent))
    assert command, "ackclock is not installed beside this Python"
    ran = 0
    for what, body in steps(page):
        if what == "$":
            typed = body.replace("ackclock ", f"{command} ", 1)
            done = subprocess.run(["bash", "-c", typed], cwd=tmp_path, capture_output=True, text=True)
            # What a paper expects of its own values may fall short of with others, as the page says.
            allowed = (0, 1) if "reproduce" in body and "--set" in body else (0,)
            assert done.returncode in allowed, f"{body}: {done.stdout[-500:]}{done.stderr[-500:]}"
        elif what == "python":
            done = subprocess.run([sys.executable, "-c", body], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, f"{page.name}: {done.stderr[-500:]}"
        else:
            (tmp_path / what).write_text(body, encoding="utf-8")
        ran += what in ("$", "python")
    assert ran > 0, "no command was found"


def test_every_figure_of_a_paper_in_the_gallery_is_described() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8").partition("\n## Jacobson")[2]
    titled = re.findall(r"^\*\*([^\n]+)\*\*\n\n(.*?)!\[", text, re.MULTILINE | re.DOTALL)
    assert len(titled) > 100
    assert not [title for title, described in titled if not described.strip().endswith(".")]


def test_the_glossary_has_the_words_that_reports_use_in_order() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^- \*\*([^*]+)\*\*(.*?)(?=^- |\Z)", text, re.MULTILINE | re.DOTALL))
    for word in ("CA event", "FACK", "PFTK", "MSS", "Karn's rule"):
        assert "Source: " in entries[word], word


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.strip().lower().replace("`", "")).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = [slug(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {*headings, *re.findall(r'<a id="([^"]+)">', text)}


def test_links_between_pages_lead_to_a_place_that_is_there() -> None:
    missing = []
    for page in sorted(DOCS.rglob("*.md")):
        if page.name.endswith(".in.md") or any(part.startswith("_") for part in page.relative_to(DOCS).parts):
            continue
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = (page.parent / file).resolve() if file else page
            if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
                missing.append(f"{page.relative_to(DOCS)}: {target}")
    assert not missing, "\n".join(missing)


@pytest.fixture(scope="module")
def outside() -> ModuleType:
    """The part of the site that mends links to files outside the folder of the pages."""
    return module("outside", DOCS / "extension" / "outside.py")


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        # The text of a file at the top of the repository, on a page of the site.
        ("changelog", "[captures](docs/captures.md)", "[captures](captures.md)"),
        ("changelog", "[two](docs/captures.md#two-captures)", "[two](captures.md#two-captures)"),
        # Words that go on in the next line, and code in them.
        (
            "changelog",
            "the [two\ncaptures](docs/captures.md#two-captures).",
            "the [two\ncaptures](captures.md#two-captures).",
        ),
        ("changelog", "[`ackclock\n  link`](docs/link.md)", "[`ackclock\n  link`](link.md)"),
        ("changelog", "[a [b] c](docs/link.md)", "[a [b] c](link.md)"),
        # A bracket in one paragraph is no part of a link in the next one.
        ("changelog", "[1\n\n[link](docs/link.md)", "[1\n\n[link](link.md)"),
        # Files that are pages of the site by another name, from the folder of pages and from one in it.
        ("contributing", "[how](SECURITY.md#reporting)", "[how](security.md#reporting)"),
        ("start/maintainer", "[how](../../SECURITY.md#reporting)", "[how](../security.md#reporting)"),
        ("usage", "[all](README.md)", "[all](index.md)"),
        # Files that are no pages lead to a copy, without a place in it; folders and other pages are words.
        ("usage", "[lock](../Cargo.lock#L3)", "[lock](../Cargo.lock)"),
        ("usage", "[tests](../tests)", "tests"),
        ("usage", "[fuzzing](../fuzz/README.md)", "fuzzing"),
        # What is no link to a file stays: figures, other sites, places on the same page, code.
        ("usage", "![figure](../docs/images/receivers.png)", "![figure](../docs/images/receivers.png)"),
        (
            "usage",
            "[site](https://example.org/a.md), [here](#conventions)",
            "[site](https://example.org/a.md), [here](#conventions)",
        ),
        (
            "changelog",
            "`[a](docs/link.md)`\n```\nrows[0](docs)\n```\n",
            "`[a](docs/link.md)`\n```\nrows[0](docs)\n```\n",
        ),
    ],
)
def test_links_of_a_page_are_mended(outside: ModuleType, page: str, text: str, expected: str) -> None:
    source = DOCS / page
    base = (ROOT if page in outside.COPIES else source.parent).resolve()
    assert outside.mend(text, base, source.parent) == expected


def test_links_of_all_pages_are_mended_to_something_that_is_there(outside: ModuleType) -> None:
    # As the site reads them: pages with the text of another file too.
    missing = []
    pages = {p.relative_to(DOCS).with_suffix("").as_posix(): p for p in DOCS.rglob("*.md")}
    for page in (name for name in sorted(pages) if not name.endswith(".in") and not name.startswith("_")):
        file = ROOT / outside.COPIES.get(page, f"docs/{page}.md")
        text = outside.mend(file.read_text(encoding="utf-8"), file.parent, (DOCS / page).parent)
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^):#\s]+)[)#]", text):
            if not ((DOCS / page).parent / target).exists():
                missing.append(f"{page}: {target}")
    assert not missing, "\n".join(missing)


def test_the_pages_of_a_crate_are_named_after_its_library(outside: ModuleType) -> None:
    assert outside.folder('[package]\nname = "ackclock-sim"\n[lib]\ntest = false\n') == "ackclock_sim"
    named = '[package]\nname = "ackclock-module"\n\n[lib]\n# A comment.\nname = "_core"\n\n[dependencies]\n'
    assert outside.folder(named) == "_core"


def module(name: str, file: Path) -> ModuleType:
    """A file of the folder of pages as a module."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#here">x</a> <a href="https://example.org/gone">y</a>', None),
        ('<a href="rust/index.html#anything">x</a> <img src="figure.png">', None),
        ('<a href="gone.html">x</a>', "index.html: gone.html is not there"),
        ('<img src="gone.png">', "index.html: gone.png is not there"),
        ('<a href="other.html#there">x</a>', "index.html: other.html#there names no place of its page"),
        ('<a href="#nowhere">x</a>', "index.html: #nowhere names no place of its page"),
        (
            '<a href="other.html">x <a href="figure.png">y</a></a>',
            "index.html: a link in a link: figure.png in other.html",
        ),
    ],
)
def test_links_of_the_built_site_are_checked(tmp_path: Path, body: str, problem: str | None) -> None:
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "rust").mkdir()
    (tmp_path / "rust" / "index.html").write_text('<a href="gone.html">of rustdoc</a>')
    (tmp_path / "figure.png").touch()
    found = module("check", DOCS / "check.py").problems(tmp_path.resolve())
    assert found == ([problem] if problem else [])


def test_every_item_has_a_place_in_the_list_of_items() -> None:
    from ackclock.reproduce import ITEMS

    assert anchors(DOCS / "reproductions.md") >= {id.lower() for id in ITEMS}
