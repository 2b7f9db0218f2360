"""Checks the links of the built site: every page, figure and place that a page links to is there, and no link
lies in another. `make site` ends with it.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FOREIGN = ("rust", "_static", "_sources")
"""Folders of rustdoc and of Sphinx's theme: linked to, and not read."""


class Page(HTMLParser):
    """What a page links to, and the places in it that links can name."""

    def __init__(self, text: str):
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.nested: list[str] = []
        self._within: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps its target and its place."""
        given = {name: value for name, value in attrs if value}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given and tag not in ("link", "script"):
                self.targets.append(given[name])
        if tag == "a" and "href" in given:
            if self._within is not None:
                self.nested.append(f"{given['href']} in {self._within}")
            self._within = given["href"]

    def handle_endtag(self, tag: str) -> None:
        """Leaves a link."""
        if tag == "a":
            self._within = None


def problems(root: Path) -> list[str]:
    """What is wrong with the links of a site, in a line each."""
    files = [f for f in sorted(root.rglob("*.html")) if f.relative_to(root).parts[0] not in FOREIGN]
    pages = {f: Page(f.read_text(encoding="utf-8")) for f in files}
    found = []
    for file, page in pages.items():
        here = file.relative_to(root).as_posix()
        found += [f"{here}: a link in a link: {link}" for link in page.nested]
        for target in dict.fromkeys(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not to.exists():
                found.append(f"{here}: {target} is not there")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].places:
                found.append(f"{here}: {target} names no place of its page")
    return found


def main(folder: str) -> int:
    """Prints what is wrong. Exit code 1 if there is anything."""
    root = Path(folder).resolve()
    if not (root / "index.html").is_file():
        print(f"{folder}: no index.html; `make site` builds the site", file=sys.stderr)
        return 2
    found = problems(root)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "target/site"))
