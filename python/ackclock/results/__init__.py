"""What a run leaves: tables, numbers, folders."""

from ackclock.results.run import Run, load

__all__ = ["Run", "load"]
