"""Runs a scenario on the testbed in a process of its own: only one with a single thread may enter a user
namespace, and what it creates goes with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from os import PathLike

    from ackclock.results import Run

Progress = Callable[[float, str], object]
FOLDER = "run"
"""The run folder in the scratch folder."""


def run_testbed(
    given: tuple[str, list[tuple[str, str]], str, str | PathLike[str] | None],
    *,
    allow_files: bool = False,
    progress: Progress | None = None,
    capture: str | PathLike[str] | None = None,
    scratch: str | PathLike[str] | None = None,
) -> Run:
    """Runs a scenario on the kernel's TCP; as `Scenario.testbed`. given: its text, overrides, name and
    folder, as the core reads it.
    """
    from ackclock.results import load

    text, overrides, name, place = given
    with tempfile.TemporaryDirectory(prefix="ackclock-testbed-", dir=scratch) as folder:
        _ask(
            {
                "text": text,
                "overrides": overrides,
                "name": name,
                "folder": None if place is None else str(place),
                "allow_files": allow_files,
                "out": str(Path(folder) / FOLDER),
                "capture": None if capture is None else str(capture),
            },
            progress or (lambda share, label: None),
        )
        return load(Path(folder) / FOLDER)


def _ask(work: dict[str, Any], progress: Progress) -> None:
    """Lets a process do the work; passes its progress on, and raises what it raised."""
    command = [sys.executable, "-m", "ackclock.kernel.child"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin and process.stdout
        try:
            json.dump(work, process.stdin)
            process.stdin.close()
            for line in process.stdout:
                told = json.loads(line)
                if "error" in told:
                    raise getattr(_core, told["error"], _core.DriveError)(told["sentence"])
                progress(told["share"], told["label"])
        except BrokenPipeError:
            pass
        except BaseException:
            process.kill()
            raise
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode:
        raise _core.DriveError(f"the process of the testbed ended with exit code {process.returncode}")
