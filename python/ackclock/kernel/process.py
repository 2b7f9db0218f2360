"""Runs a scenario on the testbed in a process of its own: only one with a single thread may enter a user
namespace, and what it creates goes with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.exit_codes import INTERRUPTED
from ackclock.kernel import pipe

if TYPE_CHECKING:
    from ackclock.results import Run

Progress = Callable[[float, str], object]


def check_testbed(
    given: tuple[str, list[tuple[str, str]], str, str | PathLike[str] | None], *, allow_files: bool = False
) -> None:
    """Raises what a run of the scenario would raise for what a kernel cannot honour, before anything runs."""
    text, overrides, name, place = given
    if hasattr(_core, "check_testbed_scenario"):
        _core.check_testbed_scenario(text, overrides, name, place, allow_files)


def run_testbed(
    given: tuple[str, list[tuple[str, str]], str, str | PathLike[str] | None],
    *,
    allow_files: bool = False,
    progress: Progress | None = None,
    capture: str | PathLike[str] | None = None,
) -> Run:
    """Runs a scenario on the kernel's TCP; as `Scenario.testbed`. given: its text, overrides, name and
    folder, as the core reads it.
    """
    from ackclock.results.encoded import decode

    text, overrides, name, place = given
    # A file without a name is gone with the last process that has it open.
    with tempfile.TemporaryFile() as captured:
        files = _ask(
            {
                "text": text,
                "overrides": overrides,
                "name": name,
                "folder": None if place is None else str(place),
                "allow_files": allow_files,
                "capture": None if capture is None else captured.fileno(),
            },
            progress or (lambda share, label: None),
            [] if capture is None else [captured.fileno()],
        )
        if capture is not None:
            # Only now that the run is over, so that one that fails replaces nothing.
            captured.seek(0)
            Path(capture).write_bytes(captured.read())
    return decode(files)


def _ask(work: dict[str, Any], progress: Progress, kept: list[int]) -> dict[str, bytes]:
    """Lets a process do the work, which has the files `kept` open; passes its progress on, and returns the
    files of the run folder, or raises what it raised.
    """
    command = [sys.executable, "-m", "ackclock.kernel.child"]
    files = None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=kept) as process:
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps(work).encode())
            process.stdin.close()
            files = pipe.receive(process.stdout, progress)
        except BrokenPipeError:
            pass
        except BaseException:
            process.kill()
            raise
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode or files is None:
        raise _core.DriveError(f"the process of the testbed ended with exit code {process.returncode}")
    return files
