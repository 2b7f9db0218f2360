"""The exit codes of the command line."""

from __future__ import annotations

DONE = 0
FELL_SHORT = 1
"""A check fell short."""
BAD_INPUT = 2
"""Bad input or usage."""
FAULT = 3
"""A fault of ackclock itself."""
INTERRUPTED = 130
"""The user stopped it: 128 and the number of SIGINT."""
