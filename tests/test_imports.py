"""No file of the Python package imports itself through others, imports within functions and for type checkers
included.
"""

from __future__ import annotations

import ast
from pathlib import Path

import ackclock

PACKAGE = Path(ackclock.__file__).parent


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by the name of their module."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(source: str, known: set[str]) -> set[str]:
    """The modules among `known` that a file imports, wherever in it. `from a import b` is `a.b` where that is
    a module, and otherwise `a`; the compiled part imports nothing.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name their module in full"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names if name != "ackclock._core"}
    return found & known


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Modules that are reached from themselves, each with those that it shares a circle with."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            todo += (new := edges[todo.pop()] - seen)
            seen |= new
        return seen

    all_reached = {name: reached(name) for name in edges}
    found = {
        tuple(sorted(other for other in far if name in all_reached[other]))
        for name, far in all_reached.items()
        if name in far
    }
    return [list(circle) for circle in sorted(found)]


def test_no_file_imports_one_that_imports_it():
    files = modules(PACKAGE)
    edges = {name: imported(f.read_text(encoding="utf-8"), set(files)) for name, f in files.items()}
    assert len(edges["ackclock.reproduce.item"]) > 2
    assert circles(edges) == []


def test_a_circle_is_noticed():
    known = {"p", "p.a", "p.b", "p.c"}
    sources = {
        "p": "from p import a",
        "p.a": "def late():\n    from p.b import x",
        "p.b": "if TYPE_CHECKING:\n    from p import a",
        "p.c": "import p.a",
    }
    edges = {name: imported(source, known) for name, source in sources.items()}
    assert edges == {"p": {"p.a"}, "p.a": {"p.b"}, "p.b": {"p.a"}, "p.c": {"p.a"}}
    assert circles(edges) == [["p.a", "p.b"]]


POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def test_no_file_needs_posix_as_it_is_imported():
    for name, file in modules(PACKAGE).items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                found = {node.module} if isinstance(node, ast.ImportFrom) else {a.name for a in node.names}
                assert not found & POSIX, name
