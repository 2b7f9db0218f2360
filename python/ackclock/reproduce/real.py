"""Runs over real packets, each set in a process of its own: only one with a single thread may enter a user
namespace.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from ackclock import _core
from ackclock.exit_codes import INTERRUPTED

LEFT_OUT = "Real packets skipped, neither passed nor failed"
"""The note of an item where real packets are not permitted."""
GLANCE = 0.25
"""Seconds between two polls of the processes."""


def between_kernels(runs: list[dict[str, Any]]) -> list[dict[str, Any]] | str:
    """The results of runs, one after the other, as `ackclock.cli.emulated` prints them, or the sentence that
    names what is missing for them.
    """
    return side_by_side([runs])[0]


def side_by_side(
    sets: Sequence[list[dict[str, Any]]],
    *,
    seconds: float = 0.0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[list[dict[str, Any]] | str]:
    """The same for sets of runs at the same time, each in its own process; results in the same order.
    progress: called with the share of `seconds`, the most that they take. If one fails or is interrupted, all
    end.
    """
    began = time.monotonic()
    started: list[subprocess.Popen[str]] = []
    try:
        for runs in sets:
            process = subprocess.Popen(
                [sys.executable, "-m", "ackclock.cli.emulated"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            started.append(process)
            assert process.stdin
            process.stdin.write(json.dumps(runs))
            process.stdin.close()
            # Nothing more is to be written: `communicate` would.
            process.stdin = None
        outputs = []
        for process in started:
            outputs.append(
                _output(
                    process,
                    lambda: progress(min((time.monotonic() - began) / seconds, 1.0)) if seconds else None,
                )
            )
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
    return [_found(text) for text in outputs]


def _output(process: subprocess.Popen[str], glance: Callable[[], None]) -> str:
    while True:
        try:
            text, _ = process.communicate(timeout=GLANCE)
        except subprocess.TimeoutExpired:
            glance()
            continue
        if process.returncode == INTERRUPTED:
            raise KeyboardInterrupt
        if process.returncode:
            raise _core.DriveError(
                f"what was to run over an emulated path failed with exit code {process.returncode}"
            )
        return text


def _found(text: str) -> list[dict[str, Any]] | str:
    found = json.loads(text)
    if isinstance(found, dict):
        return str(found["missing"])
    return found
