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

REAL_TIME = frozenset(
    {
        "test_eifel2000_testbed",
        "test_link",
        "test_link_elements",
        "test_link_processes",
        "test_probe",
        "test_reproduce_backoff2008_kernel",
        "test_reproduce_interactive2007_real",
        "test_reproduce_mathis97_treno",
        "test_script_differ",
        "test_script_kernel",
        "test_sweep_processes",
        "test_testbed",
    }
)
"""Files whose tests need real time, real packets, or the kernel: they run one after another, and nothing
beside them (`make test`).
"""
EACH = "test_verdicts"
"""A file whose tests share nothing, and take long: each goes to the worker that is free."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs real time, and keeps the tests of a file on one worker, where they share fixtures."""
    for item in items:
        name = item.path.stem
        if name in REAL_TIME:
            item.add_marker(pytest.mark.real_time)
        if item.get_closest_marker("real_time"):
            item.add_marker(pytest.mark.xdist_group("real time"))
        elif name != EACH:
            item.add_marker(pytest.mark.xdist_group(name))


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
