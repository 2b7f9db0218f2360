"""What the process of the testbed tells the one that started it, through a pipe: lines of JSON with its
progress, and why it failed, or at last the sizes of the files of the run folder by name, behind which come
the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from ackclock import _core

ERROR, SENTENCE, SHARE, LABEL, FILES = "error", "sentence", "share", "label", "files"


def say(pipe: BinaryIO, **what: Any) -> None:
    """Writes a line."""
    pipe.write(json.dumps(what).encode() + b"\n")
    pipe.flush()


def send(pipe: BinaryIO, files: Mapping[str, bytes]) -> None:
    """Writes the files."""
    say(pipe, **{FILES: {name: len(data) for name, data in files.items()}})
    for data in files.values():
        pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO, progress: Callable[[float, str], object]) -> dict[str, bytes] | None:
    """Reads until the files are there, passes on the progress, and raises what went wrong. Returns None if
    the pipe ends before.
    """
    for line in pipe:
        told = json.loads(line)
        if ERROR in told:
            raise getattr(_core, told[ERROR], _core.DriveError)(told[SENTENCE])
        if FILES in told:
            files = {name: pipe.read(size) for name, size in told[FILES].items()}
            return files if all(len(files[name]) == size for name, size in told[FILES].items()) else None
        progress(told[SHARE], told[LABEL])
    return None
