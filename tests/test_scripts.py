"""The scripts against the engine: each passes, or is on record as one that the engine does not pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ackclock._core import run_script

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "scripts"
SCRIPTS = sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.pkt"))
DIFFERENCES = tomllib.loads((FOLDER / "differences.toml").read_text(encoding="utf-8"))["difference"]
FAILS = {d["script"] for d in DIFFERENCES if d["world"] == "engine"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_passes_or_is_a_known_difference(name: str) -> None:
    path = FOLDER / name
    text = path.read_text(encoding="utf-8")
    assert re.match(r"// RFC \d+ §?\d", text), "the first line names the RFC and the section"
    outcome = json.loads(
        run_script(str(path), text, path.parent, dialect="linux", stack=None, tolerance=None, defines=[])
    )
    if name in FAILS:
        assert not outcome["passed"], "it passes now: take it out of differences.toml"
    else:
        assert outcome["passed"], outcome["failure"]


def test_differences_are_of_scripts_that_exist() -> None:
    assert {d["script"] for d in DIFFERENCES} <= set(SCRIPTS)
    assert {d["world"] for d in DIFFERENCES} <= {"engine", "kernel"}
    assert all(re.search(r"RFC \d+ §", d["why"]) for d in DIFFERENCES)
    pairs = [(d["script"], d["world"]) for d in DIFFERENCES]
    assert len(pairs) == len(set(pairs))
