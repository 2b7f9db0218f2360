"""Links from pages to files of the repository that are no pages: the site has a copy of each file, and a folder
is named without a link.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)#\s]*)(?:#[^)\s]*)?\)")


def folders(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leaves the words of links to folders."""
    here = (Path(app.srcdir) / docname).parent

    def replaced(found: re.Match[str]) -> str:
        target = (here / found[2]).resolve()
        if target.is_dir() and target.is_relative_to(ROOT):
            return found[1]
        inside = target.is_relative_to(Path(app.srcdir))
        # An anchor of a file that is no page leads nowhere.
        return found[0] if inside else f"[{found[1]}]({found[2]})"

    source[0] = LINK.sub(replaced, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", folders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
