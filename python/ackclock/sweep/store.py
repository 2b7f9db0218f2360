"""Kept runs: a run folder each, named by the hash of its resolved scenario, its seed and the engine's
version.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock import files
from ackclock._core import InputError
from ackclock.results import Run, folder, load, owned
from ackclock.results.encoded import DIGESTS, digest, summary_text
from ackclock.results.run import MORE

PARTIAL = ".partial-"
LEFT = re.compile(re.escape(PARTIAL) + r"[a-z0-9_]{8}")
"""The names of folders that are being written or removed."""
KEPT = re.compile(
    rf"(flows|links|{'|'.join(MORE)})\.parquet|scenario\.toml|{re.escape(folder.SUMMARY)}|{re.escape(owned.MARK)}"
)
"""The names of the files of a kept run."""


class Store:
    """A folder of kept runs. Any number of sweeps may share one, also at the same time.

    A run is written beside its place and moved there when it is complete. The digests in its summary reveal a
    damaged run (a full or bad disk, an edit), which is made again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        if root.exists() and not root.is_dir():
            raise InputError(f"`{root}` is a file; give a folder in which finished runs may be kept")
        parent = next(p for p in [root.absolute(), *root.absolute().parents] if p.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise InputError(
                f"`{parent}` cannot be written to; give another folder in which finished runs may be kept"
            )
        self._tidy()

    def place(self, key: str) -> Path:
        """The folder of the run of that key, whether or not it exists."""
        return self.root / key[:2] / key

    def has(self, key: str) -> bool:
        """Whether the run is there and intact. A damaged one is removed."""
        place = self.place(key)
        if not os.path.lexists(place):
            return False
        if _whole(place):
            return True
        self._discard(place)
        return False

    def summary(self, key: str) -> dict[str, Any]:
        """The summary of a run that is there."""
        found = json.loads(_bytes(self.place(key) / folder.SUMMARY))
        return {name: value for name, value in found.items() if name != DIGESTS}

    def read(self, key: str) -> Run:
        """A run that is there."""
        run = load(self.place(key))
        run.about.pop(DIGESTS, None)
        return run

    def write(self, key: str, files: Mapping[str, bytes]) -> None:
        """Stores a run. If another sweep has stored it already, that one stays: it is the same."""
        place = self.place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=self.root))
        try:
            with owned.marked(partial) as mark:
                for name, data in files.items():
                    (partial / name).write_bytes(data)
                partial.chmod(0o755)
                owned.finish(mark, partial)
                try:
                    partial.rename(place)
                except OSError:
                    if not self.has(key):
                        partial.rename(place)
        finally:
            owned.remove(partial)

    def _discard(self, place: Path) -> None:
        """Removes a folder in one step, so that no process sees half of it, if it holds only the files of a
        kept run.
        """
        names = os.listdir(place) if place.is_dir() and not place.is_symlink() else None
        foreign = next(
            (
                n
                for n in sorted(names or [])
                if not KEPT.fullmatch(n) or (place / n).is_symlink() or not (place / n).is_file()
            ),
            None,
        )
        if names is None or foreign is not None:
            what = f"holds other files, such as `{foreign}`" if names else "is no folder"
            raise InputError(
                f"`{place}`, where a finished run would be kept, {what}; move it away, or give another "
                "folder for `--keep`"
            )
        away = self.root / f"{PARTIAL}{uuid.uuid4().hex[:8]}"
        place.rename(away)
        for name in sorted(names, key=lambda n: (n == owned.MARK, n)):
            (away / name).unlink(missing_ok=True)
        away.rmdir()

    def _tidy(self) -> None:
        """Removes partial folders of killed sweeps."""
        if not self.root.is_dir():
            return
        for left in self.root.glob(f"{PARTIAL}*"):
            if LEFT.fullmatch(left.name) and owned.left_over(left):
                owned.remove(left)


def _whole(place: Path) -> bool:
    try:
        summary = json.loads(_bytes(place / folder.SUMMARY))
        digests = summary.pop(DIGESTS)
        if digests.pop(folder.SUMMARY) != digest(summary_text(summary)):
            return False
        return all(KEPT.fullmatch(name) for name in digests) and all(
            digest(_bytes(place / name)) == expected for name, expected in digests.items()
        )
    except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _bytes(path: Path) -> bytes:
    return files.read(path, files.TABLE, "leave kept runs as they are")
