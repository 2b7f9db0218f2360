"""The exit codes of the command line."""

from __future__ import annotations

DONE = 0
FELL_SHORT = 1
"""A check fell short."""
BAD_INPUT = 2
"""Bad input or usage."""
FAULT = 3
"""A fault of ackclock itself."""
CANNOT_RUN = 126
"""A command that was given is no program that may be run: as of a shell."""
NOT_FOUND = 127
"""A command that was given does not exist: as of a shell."""
INTERRUPTED = 130
"""The user stopped it: 128 and the number of SIGINT."""
