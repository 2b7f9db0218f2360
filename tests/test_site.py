"""The pages for people: their commands run, and their links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_every_item_has_a_place_in_the_list_of_items() -> None:
    from ackclock.reproduce import ITEMS

    assert anchors(DOCS / "reproductions.md") >= {id.lower() for id in ITEMS}
