"""Self-contained HTML pages: everything is inside, so that they open offline."""

from ackclock.report.capture import check, page, write

__all__ = ["check", "page", "write"]
