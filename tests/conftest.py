from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# A shell that runs the tests in the background has them ignore Ctrl-C, and with them the commands that they
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Finished:
    """The output of a finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def is_one_sentence(self) -> bool:
        """Nothing on stdout, one line on stderr, no traceback."""
        return self.out == "" and self.err.count("\n") == 1 and "Traceback" not in self.err


@pytest.fixture
def ackclock(tmp_path: Path):
    """Runs the command line as a process of its own, in an empty folder."""

    def run(*arguments: str | Path, timeout: float = 120) -> Finished:
        command = [sys.executable, "-m", "ackclock", *map(str, arguments)]
        environment = {k: v for k, v in os.environ.items() if k not in ("ACKCLOCK_TRACEBACK", "FORCE_COLOR")}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run
