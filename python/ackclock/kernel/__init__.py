"""A scenario on the kernel's TCP: in network namespaces, over ackclock's own link emulator, in real time."""

from __future__ import annotations

from ackclock.kernel.process import run_testbed
from ackclock.kernel.seconds import expected_seconds

__all__ = ["expected_seconds", "run_testbed"]
