"""Which folders ackclock may replace: those that it wrote itself and that hold nothing else.

Every folder that ackclock writes has a mark, `ackclock.json`, which lists its files. Folders of
versions before the mark are known by their summary and by the names that those versions wrote. Nothing here
follows a symbolic link, and nothing is removed below a folder's first level.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from ackclock._core import version

if os.name == "posix":
    import fcntl

MARK = "ackclock.json"
"""The file that marks a folder as ours."""
SUMMARY = "summary.json"
LARGEST = 1 << 20
"""Bytes of a mark."""
LARGEST_SUMMARY = 1 << 30
ABANDONED = 3600
"""Seconds after which a folder or file whose lock cannot be checked counts as abandoned."""
WRITER = "ackclock"
FILE = re.compile(r"[^/\\\0]+\.(parquet|png|svg|json|toml|xpl|pcapng|pkt)|passport\.txt")
"""The names of files that ackclock writes into folders."""

_FIGURE = r"(png|svg)"
_TRACED = r"(flows|links|samples|episodes|segments|state|exchanges|rounds|playback)\.parquet"
EARLIER: tuple[tuple[frozenset[str], str], ...] = (
    # A run; a sweep; an item of a paper; a formula, a step-by-step model, timers; a capture's figures and
    # files of xplot.
    (
        frozenset({"seeds", "version", "host", "stacks"}),
        rf"scenario\.toml|{_TRACED}|(response_time|rates|sequence(-\d+)?)\.{_FIGURE}",
    ),
    (
        frozenset({"plan", "axes", "rows", "engine"}),
        rf"(plan|scenario)\.toml|sweep\.parquet|{_TRACED}|plot(-\d+)?\.{_FIGURE}",
    ),
    (frozenset({"id", "name", "result", "unit", "rows", "folder"}), rf"rows\.parquet|curve\.{_FIGURE}"),
    (frozenset({"load", "cycles", "service_time", "timers", "folder"}), rf"rows\.parquet|rto\.{_FIGURE}"),
    (frozenset({"series", "rows", "timers", "folder"}), rf"(rows|outline)\.parquet|(rto|timers)\.{_FIGURE}"),
    (frozenset({"figures", "files"}), rf"(sequence|rtt|flight|what-if)-\d+(-\d+)?\.{_FIGURE}"),
    (frozenset({"xplot", "files"}), r"(sequence|rtt|flight)-\d+(-\d+)?-(client|server)\.xpl"),
)
"""What the summaries of folders without a mark hold, and the names of the files beside them."""
ITEM = frozenset({"id", "paper", "checks", "holds", "data", "figures", "folder"})
"""The summary of an item of a paper, which lists its files."""
CAPTURE = frozenset({"file", "packets", "connections", "notes"})
"""What is in the summary of a capture's tables, a list."""
TABLES = r"(directions|retransmissions|timeouts|episodes|samples|packets|what_if|stalls)\.parquet"


def foreign(directory: Path) -> str | None:
    """The name of the first entry that shows that a folder is not ours to replace; None where it is ours, or
    empty.
    """
    entries = sorted(os.scandir(directory), key=lambda e: e.name)
    if not entries:
        return None
    regular = {e.name for e in entries if e.is_file(follow_symlinks=False)}
    known = _known(directory, regular)
    return next((_shown(e) for e in entries if e.name not in regular or e.name not in known), None)


def _shown(entry: os.DirEntry[str]) -> str:
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def _known(directory: Path, names: set[str]) -> set[str]:
    """Those of the names that ackclock wrote."""
    if MARK in names:
        files = _read(directory / MARK, LARGEST)
        if (
            not isinstance(files, dict)
            or files.get("written_by") != WRITER
            or not isinstance(files.get("files"), list)
        ):
            return set()
        return {name for name in names if name == MARK or (name in files["files"] and FILE.fullmatch(name))}
    if SUMMARY not in names:
        return set()
    pattern = _earlier(_read(directory / SUMMARY, LARGEST_SUMMARY))
    return {name for name in names if name == SUMMARY or re.fullmatch(pattern, name)} if pattern else set()


def _earlier(summary: Any) -> str | None:
    """The names of the files beside the summary of a folder without a mark; None where the summary is none of
    ours.
    """
    if isinstance(summary, list):
        return (
            TABLES if summary and all(isinstance(s, dict) and s.keys() >= CAPTURE for s in summary) else None
        )
    if not isinstance(summary, dict):
        return None
    if summary.keys() >= ITEM:
        listed = (
            [*summary["data"], *summary["figures"]]
            if isinstance(summary["data"], list) and isinstance(summary["figures"], list)
            else []
        )
        names = [os.path.basename(path) for path in listed if isinstance(path, str)]
        return "|".join(re.escape(n) for n in names if re.fullmatch(rf".+\.(parquet|{_FIGURE})", n)) or "(?!)"
    return next((names for keys, names in EARLIER if summary.keys() >= keys), None)


def _read(path: Path, largest: int) -> Any:
    """A JSON file; None where it is none."""
    try:
        with open(path, "rb", opener=regular) as f:
            data = f.read(largest + 1)
        return json.loads(data) if len(data) <= largest else None
    except (OSError, ValueError, RecursionError):
        return None


def regular(path: str, flags: int) -> int:
    """Opens a regular file that is no symbolic link, and nothing else."""
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("no regular file")
    return handle


def remove(directory: Path) -> bool:
    """Removes a folder of ours, file by file, and returns whether it is gone. Files that are not ours
    stay.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            return False
        regular = {e.name for e in os.scandir(directory) if e.is_file(follow_symlinks=False)}
        names = (
            regular if _unfinished(directory) or _empty_or_unmarked(directory) else _known(directory, regular)
        )
        # The mark goes last, so that the next command can finish an interrupted removal.
        for name in sorted(names, key=lambda n: (n in (MARK, SUMMARY), n)):
            if FILE.fullmatch(name):
                os.unlink(directory / name)
        os.rmdir(directory)
    return not os.path.lexists(directory)


def _unfinished(directory: Path) -> bool:
    """Whether a folder was being written."""
    mark = _read(directory / MARK, LARGEST)
    return isinstance(mark, dict) and mark.get("written_by") == WRITER and mark.get("unfinished") is True


def _empty_or_unmarked(directory: Path) -> bool:
    """Whether a folder is empty or has an empty mark: its command was killed at once, or the disk was
    full.
    """
    entries = list(os.scandir(directory))
    return all(
        e.name == MARK and e.is_file(follow_symlinks=False) and not e.stat(follow_symlinks=False).st_size
        for e in entries
    )


@contextlib.contextmanager
def marked(directory: Path) -> Iterator[IO[str]]:
    """Marks a folder as being written, so that no other command removes it meanwhile."""
    with (directory / MARK).open("w", encoding="utf-8") as mark:
        lock(mark)
        _write(mark, {"written_by": WRITER, "version": version, "unfinished": True})
        yield mark


def finish(mark: IO[str], directory: Path, still: Iterable[str] = ()) -> None:
    """Lists the files of a folder in its mark, and those that are still to come into it."""
    names = sorted({*still, *(e.name for e in os.scandir(directory) if e.name != MARK)})
    strange = [n for n in names if not FILE.fullmatch(n)]
    assert not strange, f"{strange} would keep this folder from being replaced"
    _write(mark, {"written_by": WRITER, "version": version, "files": names})
    if os.name != "posix":
        # Elsewhere no folder can be moved that has an open file.
        mark.close()


def _write(mark: IO[str], value: dict[str, Any]) -> None:
    mark.seek(0)
    mark.truncate()
    mark.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    mark.flush()


def left_over(directory: Path) -> bool:
    """Whether a folder was left behind by a command of ours, of the same user, that was killed."""
    try:
        about = os.lstat(directory)
        if not stat.S_ISDIR(about.st_mode) or not mine(about):
            return False
        entries = list(os.scandir(directory))
        if _empty_or_unmarked(directory):
            # A process that has just made it may not hold its lock yet.
            return time.time() - about.st_mtime > ABANDONED
        if not _unfinished(directory):
            return foreign(directory) is None and free(directory / MARK)
        return all(e.is_file(follow_symlinks=False) and FILE.fullmatch(e.name) for e in entries) and free(
            directory / MARK
        )
    except OSError:
        return False


def abandoned(directory: Path) -> bool:
    """Whether a folder, whatever it holds, was marked as being written by a command of ours, of the same
    user, that was killed.
    """
    try:
        about = os.lstat(directory)
        if not stat.S_ISDIR(about.st_mode) or not mine(about):
            return False
        if _empty_or_unmarked(directory):
            return time.time() - about.st_mtime > ABANDONED
        return _unfinished(directory) and free(directory / MARK)
    except OSError:
        return False


def mine(about: os.stat_result) -> bool:
    """Whether a file is this user's."""
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()


def lock(file: IO[Any]) -> None:
    """Locks a file for as long as it is open."""
    if os.name == "posix":
        # Some network file systems have no locks; abandoned folders are recognised by their age there.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def free(path: Path) -> bool:
    """Whether no process holds the lock of a file; where locks do not work, whether the file is old."""
    try:
        with open(path, "rb", opener=regular) as f:
            if os.name != "posix":
                return time.time() - os.fstat(f.fileno()).st_mtime > ABANDONED
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False
