"""A scenario on the kernel's TCP: in network namespaces, over ackclock's own link emulator, in real time."""

from __future__ import annotations

from ackclock.kernel.process import check_testbed, run_testbed
from ackclock.kernel.seconds import expected_seconds

__all__ = ["check_testbed", "expected_seconds", "run_testbed"]
