"""What a run leaves: tables, numbers, folders."""

from ackclock.results.capture import Capture, read_capture
from ackclock.results.run import Run, load

__all__ = ["Capture", "Run", "load", "read_capture"]
