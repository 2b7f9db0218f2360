"""Results: tables, numbers and folders of runs, and of captures."""

from ackclock.results.capture import Capture, read_capture
from ackclock.results.run import Run, load

__all__ = ["Capture", "Run", "load", "read_capture"]
