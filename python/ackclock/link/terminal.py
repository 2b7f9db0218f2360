"""The terminal that a command behind a link has."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ackclock.plain import plain

PUSH, POP = "\x1b[22;0t", "\x1b[23;0t"
"""Keep the title of the terminal, and put it back (xterm's window operations)."""


def set_title(text: str) -> None:
    """Sets the title of the terminal at stderr."""
    _tell(f"\x1b]0;{plain(text)}\x07")


@contextmanager
def own_title() -> Iterator[None]:
    """The terminal has its earlier title again afterwards."""
    _tell(PUSH)
    try:
        yield
    finally:
        _tell(POP)


def _tell(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def given_back() -> Iterator[None]:
    """A shell with job control takes the terminal for its own processes, and may not give it back."""
    try:
        before = os.tcgetpgrp(0)
    except OSError:
        before = None
    try:
        yield
    finally:
        if before is not None:
            old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            try:
                if os.tcgetpgrp(0) != before:
                    os.tcsetpgrp(0, before)
            except OSError:
                pass
            finally:
                signal.signal(signal.SIGTTOU, old)
