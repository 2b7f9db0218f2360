"""Jacobson & Karels, "Congestion Avoidance and Control" (1988, revised 1992). The order of the imports is that of the register."""

from ackclock.reproduce.jacobson88 import (  # isort: skip
    algorithms,
    equations,
)

__all__ = ["algorithms", "equations"]
