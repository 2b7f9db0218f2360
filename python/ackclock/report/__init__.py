"""Self-contained HTML pages: everything is inside, so that they open offline and nothing is asked of the network."""

from ackclock.report.capture import page, write

__all__ = ["page", "write"]
