"""Reads files that others may have written: regular files only, up to a limit whatever their reported
size.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ackclock._core import InputError

SCENARIO = 4 << 20
"""Bytes of a scenario or a plan."""
EDGES = 64 << 20
"""Bytes of a list of edges, or of a resolved scenario, which may hold one."""
SUMMARY = 1 << 30
"""Bytes of a summary."""
TABLE = 1 << 40
"""Bytes of a table."""
PIECE = 1 << 20


def read(path: Path, most: int, would_do: str) -> bytes:
    """What a regular file holds, of at most so many bytes; `would_do` ends the sentence of an error."""
    try:
        with open(path, "rb", buffering=0, opener=_opened) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                what = "a folder" if stat.S_ISDIR(os.fstat(file.fileno()).st_mode) else "no regular file"
                raise InputError(f"`{path}` is {what}; {would_do}")
            found = bytearray()
            # The size that the system reports is not reliable.
            while piece := file.read(min(PIECE, most + 1 - len(found))):
                found += piece
    except FileNotFoundError:
        raise InputError(f"`{path}` does not exist; {would_do}") from None
    except IsADirectoryError:
        raise InputError(f"`{path}` is a folder; {would_do}") from None
    except ValueError as e:
        raise InputError(f"`{path}` is no path ({e}); {would_do}") from None
    except OSError as e:
        raise InputError(f"`{path}` cannot be read: {e.strerror}") from None
    if len(found) > most:
        raise InputError(f"`{path}` has more than {most:,} bytes; at most these are read")
    return bytes(found)


def text(path: Path, most: int, would_do: str) -> str:
    """The same as text."""
    try:
        return read(path, most, would_do).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as e:
        raise InputError(f"`{path}` is not UTF-8 text at byte {e.start}; {would_do}") from None


def _opened(path: str, flags: int) -> int:
    # Does not wait for the writer of a pipe.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_within(folder: Path, name: str, what: str) -> None:
    """Refuses a file outside a folder, symbolic links followed, whether it is there or not."""
    try:
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside:
        raise InputError(
            f"{what} is `{name}`, which lies outside that file's folder; put it there, or allow it "
            "with `--allow-files`"
        )
