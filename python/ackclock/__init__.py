"""A laboratory for the part of a transport protocol that decides when to send again and how much."""

from ackclock._core import version as __version__

__all__ = ["__version__"]
