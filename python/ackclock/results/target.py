"""Folders that a command is to write: refused before any work is done where they are not ours to write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ackclock._core import InputError
from ackclock.results import owned

NEEDED = "give a folder that is new, empty or an earlier run"
PARTIAL = ".partial"
"""Suffix of folders that are being written."""


def check_writable(target: Path) -> None:
    """Refuses, before any work is done, a target that `write` would refuse."""
    if target.is_symlink():
        raise InputError(f"`{target}` is a symbolic link; give the folder itself")
    if target.exists() and not target.is_dir():
        raise InputError(f"`{target}` is a file; {NEEDED}")
    parent = next(p for p in placed(target).parents if p.exists())
    if not _takes_folders(parent, target):
        raise InputError(f"`{parent}` cannot be written to; give another folder")
    check_ours(target, target)


def _takes_folders(parent: Path, target: Path) -> bool:
    """Whether a folder can be made there. Permissions alone do not show it: /proc, for one, takes none."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=f".{placed(target).name}.", suffix=PARTIAL, dir=parent))
    except OSError:
        return False
    return True


def check_ours(directory: Path, target: Path) -> None:
    """Refuses a folder that is not ours to replace; errors call it `target`."""
    if not directory.is_dir():
        return
    try:
        found = owned.foreign(directory)
    except OSError as e:
        raise InputError(f"`{target}` cannot be read ({e.strerror}); {NEEDED}") from None
    if found is not None:
        raise InputError(f"`{target}` holds other files, such as `{found}`; {NEEDED}")


def placed(target: Path) -> Path:
    """The whole path of a target, whose last part is a name."""
    return target.resolve() if target.name in ("", "..") else target.absolute()
