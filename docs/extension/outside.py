"""Files of the repository outside this folder. Pages named in `COPIES` have the text of such a file; other
links to files lead to a copy of the file, and a folder is named without a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIES = {
    "contributing": "CONTRIBUTING.md",
    "security": "SECURITY.md",
    "changelog": "CHANGELOG.md",
    "benchmarks": "bench/README.md",
    "worked-scenarios": "scenarios/README.md",
}
"""The pages that have the text of a file of the repository."""
PAGES = {(ROOT / file).resolve(): DOCS / f"{page}.md" for page, file in COPIES.items()}
PAGES |= {
    (ROOT / "README.md").resolve(): DOCS / "index.md",
    (DOCS / "README.md").resolve(): DOCS / "index.md",
}
LINK = re.compile(
    r"^```.*?^```|`[^`\n]*`"
    r"|(?<!!)\[((?:[^\[\]\n]|\n(?!\s*\n)|\[[^\[\]\n]*\])+)\]\(([^):#\s]+)(#[^)\s]*)?\)",
    re.DOTALL | re.MULTILINE,
)
"""Code, which has no links, or a link; its words may go on in the next line of their paragraph."""
PART = re.compile(r"<!-- from (\S+): (.+) -->\n.*\n")


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Puts the text of a file in the place of a page, and mends links that leave this folder."""
    base = DOCS / docname
    if docname in COPIES:
        file = ROOT / COPIES[docname]
        source[0], base = file.read_text(encoding="utf-8"), file
    source[0] = source[0].replace("{{crates}}", crates())
    source[0] = PART.sub(lambda found: part(DOCS / found[1], found[2]), source[0])
    source[0] = mend(source[0], base.parent, (DOCS / docname).parent)


def mend(text: str, base: Path, here: Path) -> str:
    """A page's text with all its links as the site has them. base: the folder that they are relative to;
    here: that of the page.
    """
    return LINK.sub(lambda found: mended(found, base, here) if found[2] else found[0], text)


def mended(found: re.Match[str], base: Path, here: Path) -> str:
    """A link as the site has it. base: the folder that it is relative to; here: that of the page."""
    words, target, anchor = found[1], (base / found[2]).resolve(), found[3] or ""
    if target in PAGES:
        target = PAGES[target]
    elif target.suffix == ".md" and not target.is_relative_to(DOCS):
        # A page of the repository that is none of the site.
        return words
    elif not target.is_relative_to(DOCS):
        if not target.is_file():
            return words
        # An anchor of a file that is no page leads nowhere.
        anchor = ""
    return f"[{words}]({Path(os.path.relpath(target, here)).as_posix()}{anchor})"


def crates() -> str:
    """The crates, with a link to the pages of rustdoc where `make site` has made them."""
    files = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    there = (DOCS / "_rust" / "rust").is_dir()
    names = ((file.parent.name, folder(file.read_text(encoding="utf-8"))) for file in files)
    lines = (f'<a href="rust/{library}/index.html">{name}</a>' if there else name for name, library in names)
    return "\n".join(f"- {line}" for line in lines)


def folder(manifest: str) -> str:
    """The folder of rustdoc for a crate: the name of its library, which is that of the package unless it is
    named.
    """
    library = re.search(r'(?ms)^\[lib\]\n(?:(?!^\[).*?\n)*?name = "([^"]+)"', manifest)
    package = re.search(r'(?m)^name = "([^"]+)"', manifest)
    found = library or package
    if not found:
        raise ValueError("a Cargo.toml of a crate has no name")
    return found[1].replace("-", "_")


def part(file: Path, heading: str) -> str:
    """The text below a heading of a file, without the heading."""
    text = file.read_text(encoding="utf-8")
    found = re.search(rf"(?ms)^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text)
    if not found:
        raise ValueError(f"{file} has no heading `{heading}`")
    return found[1]


def renewed(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Pages that are read in every build: what they show of other files may have changed, though they have
    not.
    """

    def of_others(page: str) -> bool:
        text = Path(env.doc2path(page)).read_text(encoding="utf-8")
        return page in COPIES or "{{crates}}" in text or bool(PART.search(text))

    return sorted(filter(of_others, env.found_docs))


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", read)
    app.connect("env-get-outdated", renewed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
