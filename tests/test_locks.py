"""The locks of the Python packages: what `make` installs is what they list, file by file."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PIN = re.compile(r"([a-z0-9][a-z0-9-]*)==([0-9][0-9a-z.]*)( ; [^\\]+)?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def requirements(lock: Path) -> list[list[str]]:
    """Each requirement with its hashes, comments left out."""
    lines = [line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")]
    return [[part.strip() for part in text.split("\\\n")] for text in re.split(r"\n(?=\S)", "\n".join(lines))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_one_version_with_the_hashes_of_its_files(lock):
    found = requirements(lock)
    assert found
    for pin, *hashes in found:
        assert PIN.fullmatch(pin.strip()), pin
        assert hashes and all(HASH.fullmatch(h) for h in hashes), pin
        assert len(set(hashes)) == len(hashes), pin


def test_a_lock_holds_files_for_more_than_one_system():
    # NumPy has a file for each Python and system, and its source.
    numpy = [hashes for pin, *hashes in requirements(ROOT / "requirements/main.lock") if pin.startswith("numpy==")]
    assert len(numpy) > 1 and all(len(hashes) > 20 for hashes in numpy)


def test_make_installs_nothing_from_a_lock_without_its_hashes():
    makefile = (ROOT / "Makefile").read_text()
    (flags,) = re.findall(r"^INSTALL := (.*)$", makefile, re.M)
    assert "--require-hashes" in flags and "--no-deps" in flags
    for lock in LOCKS:
        installs = [line for line in makefile.splitlines() if line.startswith("\t") and f"-r requirements/{lock.name}" in line]
        assert len(installs) == 1 and "$(INSTALL)" in installs[0], lock.name
    # Whatever else installs brings pip into an environment without it, and nothing more.
    others = [line for line in makefile.splitlines() if "install -q" in line and not line.startswith("INSTALL")]
    assert all(line.strip().startswith("||") and line.rstrip().endswith("install -q pip; } \\") for line in others), others


def test_make_lock_asks_for_hashes_for_every_system():
    makefile = (ROOT / "Makefile").read_text()
    (compile_,) = re.findall(r"^COMPILE := (.*)$", makefile, re.M)
    assert "--generate-hashes" in compile_ and "--universal" in compile_
    assert all(f"-o requirements/{lock.name}" in makefile for lock in LOCKS)
